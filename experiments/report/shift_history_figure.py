"""How far a controller has shifted set-points from the posture, over time."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments.loop import APPROACH_TIME
from experiments.report.figure_style import (
    COLOURS,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
)
from experiments.standing.published import LEG_JOINTS
from models import Robot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

LEAST_DEG = 0.02
"""Shifts below this are not drawn: rounding of a recorded set-point is far less."""
MOST_POINTS = 600
MINUTES_FROM_S = 120.0
"""From this length on the time is in minutes."""


def shift_history_figure(
    frames: "Mapping[str, pd.DataFrame]", robot: Robot, posture: FloatArray
) -> "Figure | None":
    """Draw the joints that were shifted most, a panel a controller.

    Args:
        frames: controller to the rows of its run.
        robot: that ran.
        posture: (n_joints,) set-points of the posture held, in rad.

    Returns:
        The figure; None where no controller shifted anything.
    """
    shifts = {
        name: shift
        for name, frame in frames.items()
        if (shift := shifts_deg(frame, robot, posture)) is not None
        and np.abs(shift).max(initial=0.0) >= LEAST_DEG
    }
    if not shifts:
        return None
    end_s = max(float(frames[name].index[-1]) for name in shifts)
    unit, unit_s = ("minutes", 60.0) if end_s >= MINUTES_FROM_S else ("s", 1.0)
    figure = new_figure(7.6, 2.6 * len(shifts) + 0.3)
    panels = figure.subplots(len(shifts), 1, sharex=True, sharey=True, squeeze=False)
    drawn = _drawn_joints(list(shifts.values()), robot)
    for axes, (name, shift) in zip(panels[:, 0], shifts.items(), strict=True):
        time = frames[name].index.to_numpy(float) / unit_s
        keep = np.arange(0, len(time), max(1, len(time) // MOST_POINTS))
        axes.axhline(0.0, color=SOFT_INK, lw=0.6)
        for j, style in drawn.items():
            if np.abs(shift[:, j]).max() >= LEAST_DEG:
                label = robot.joint_names[j]
                axes.plot(time[keep], shift[keep, j], label=label, lw=1.6, **style)
        axes.set_ylabel("shift of the set-point in °", fontsize=9)
        axes.legend(
            frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5)
        )
        panel_title(axes, name)
        plain_frame(axes)
    panels[-1, 0].set_xlabel(f"time in {unit}", fontsize=9)
    return figure


def _drawn_joints(
    shifts: Sequence[FloatArray], robot: Robot
) -> dict[int, dict[str, Any]]:
    """Return the joints that any controller shifted most, and how each is drawn.

    A joint looks the same in every panel: the colour is that of its kind, as among the
    temperatures, and lines of the right side are dashed where the left has a twin.
    """
    names = robot.joint_names
    largest = np.max([np.abs(shift).max(axis=0) for shift in shifts], axis=0)
    order = [int(j) for j in np.argsort(-largest) if largest[j] >= LEAST_DEG]

    def kind_of(name: str) -> str:
        has_twin = name[0] in "LR" and {f"{s}{name[1:]}" for s in "LR"} <= set(names)
        return name[1:] if has_twin else name

    kinds = {kind_of(names[j]): None for j in order}
    known = [kind for kind in LEG_JOINTS if f"L{kind}" in names]
    colours = dict(zip(dict.fromkeys([*known, *kinds]), COLOURS, strict=False))
    drawn: dict[int, dict[str, Any]] = {}
    for j in order:
        kind = kind_of(names[j])
        if kind in colours:
            is_right = kind != names[j] and names[j][0] == "R"
            line = (0, (4, 1.5)) if is_right else "-"
            drawn[j] = {"color": colours[kind], "ls": line}
    return dict(sorted(drawn.items()))


def shifts_deg(
    frame: "pd.DataFrame", robot: Robot, posture: FloatArray
) -> FloatArray | None:
    """Return set-points less the posture, (n_rows, n_joints) in degrees.

    The way into the posture counts as none. None where the rows hold no set-points.
    """
    columns = [f"target.{joint}" for joint in robot.joint_names]
    if not len(frame) or any(column not in frame.columns for column in columns):
        return None
    shift: FloatArray = np.rad2deg(frame[columns].to_numpy(float) - posture)
    shift[frame.index.to_numpy(float) <= frame.index[0] + APPROACH_TIME] = 0.0
    return shift
