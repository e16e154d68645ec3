"""How hard the joints worked, beside the limits that were in force."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.report.figure_style import (
    ARM_COLOURS,
    INK,
    SIDES,
    new_figure,
    panel_rows,
    panel_title,
    plain_frame,
    write_foot,
)
from experiments.standing.results import HeatResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]


def effort_figure(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    effort_limits: Mapping[str, float],
) -> "Figure":
    """Return bars of mean |torque|, with the mean limit in force as a mark.

    The limit is the mean stiffness over the run times the torque at stiffness 1; it is
    left out where either is not known.
    """
    rows = panel_rows(result)
    n = len(result.arms)
    figure = new_figure(
        1.2 + 0.62 * max(map(len, rows.values())) * max(n, 2), 2.6 * len(rows) + 0.8
    )
    panels = figure.subplots(len(rows), 1, sharey=True, squeeze=False)[:, 0]
    width = 0.8 / n
    for axes, (side, joints) in zip(panels, rows.items(), strict=True):
        place = np.arange(len(joints))
        for i, (name, arm) in enumerate(result.arms.items()):
            x = place + (i - (n - 1) / 2.0) * width
            efforts = [arm.joints[joint].mean_abs_effort_nm for joint in joints]
            axes.bar(
                x,
                efforts,
                0.9 * width,
                color=ARM_COLOURS[i % len(ARM_COLOURS)],
                label=name,
            )
            limits = _mean_limits(frames.get(name), joints, effort_limits)
            axes.hlines(
                limits,
                x - 0.45 * width,
                x + 0.45 * width,
                color=INK,
                lw=1.6,
                label="mean limit in force" if i == n - 1 else None,
            )
        axes.set_xticks(place, [joint.removeprefix(side) for joint in joints])
        axes.set_ylabel("mean |torque| in N·m", fontsize=9)
        panel_title(axes, SIDES.get(side, "hottest joints"))
        plain_frame(axes)
    panels[0].legend(
        frameon=False,
        fontsize=8,
        ncols=n + 1,
        loc="upper right",
        bbox_to_anchor=(1.0, 1.16),
    )
    write_foot(figure, result)
    return figure


def _mean_limits(
    frame: "pd.DataFrame | None",
    joints: Sequence[str],
    effort_limits: Mapping[str, float],
) -> FloatArray:
    """Return mean limits in force in N·m, NaN where they are not known."""
    limits = np.full(len(joints), np.nan)
    if frame is None:
        return limits
    time_s = frame.index.to_numpy(float)
    for i, joint in enumerate(joints):
        column = f"stiffness.{joint}"
        if column in frame.columns and joint in effort_limits and len(frame) > 1:
            stiffness = np.trapezoid(frame[column].to_numpy(float), time_s)
            limits[i] = effort_limits[joint] * stiffness / (time_s[-1] - time_s[0])
    return limits
