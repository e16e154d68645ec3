"""How far controllers moved set-points, joint by joint, beside what was misaligned."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import (
    ARM_COLOURS,
    FAINT_INK,
    INK,
    new_figure,
    panel_title,
    plain_frame,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def joint_shifts_figure(
    shifts: "Mapping[str, pd.Series[float]]",
    misalignment_deg: Mapping[str, float],
    title: str,
) -> "Figure":
    """Return bars of set-point shifts in degrees.

    Args:
        shifts: controller to the shift of each joint in °; the same joints for all.
        misalignment_deg: joint to its calibration error, marked where it is among
            them. A shift of the same size against it takes it back.
        title: the finding.
    """
    joints = list(next(iter(shifts.values())).index)
    figure = new_figure(9.0, 3.6)
    axes = figure.subplots()
    place = np.arange(len(joints))
    width = 0.8 / len(shifts)
    for i, (name, shift) in enumerate(shifts.items()):
        axes.bar(
            place - 0.4 + (i + 0.5) * width,
            shift[joints],
            0.92 * width,
            color=ARM_COLOURS[(i + 2) % len(ARM_COLOURS)],
            label=name,
        )
    marked = [joint for joint in joints if misalignment_deg.get(joint)]
    axes.hlines(
        [-misalignment_deg[joint] for joint in marked],
        [joints.index(joint) - 0.45 for joint in marked],
        [joints.index(joint) + 0.45 for joint in marked],
        color=INK,
        lw=1.6,
        label="would take the misalignment back",
    )
    axes.axhline(0.0, color=FAINT_INK, lw=0.8)
    axes.set_xticks(place, joints, rotation=30, ha="right")
    axes.set_ylabel("shift of the set-point in °", fontsize=9)
    axes.legend(frameon=False, fontsize=8)
    plain_frame(axes)
    panel_title(axes, title)
    return figure
