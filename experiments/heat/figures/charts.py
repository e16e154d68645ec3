"""Charts of Joule loss, internal forces and shifts of the set-points.

- power: Joule loss of the legs over time, and the minimum of the posture;
- shares: contribution of each joint to torque and heat;
- internal forces: leg torques that carry the weight, and those that oppose each other;
- shifts of set-points: by joint beside the misalignment, and over time.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.experiments.closed_loop.leg_forces import InternalForces
from nao_testbed.experiments.closed_loop.loop import APPROACH_TIME
from nao_testbed.experiments.closed_loop.recording import recorded_channel
from nao_testbed.experiments.common.drawing.power_unit import PowerUnit, W
from nao_testbed.experiments.common.drawing.style import (
    COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    controller_colours,
    is_right,
    joint_colours,
    joint_kind,
    new_figure,
    panel_title,
    plain_frame,
    spread_labels,
    time_axis,
    time_ticks,
)
from nao_testbed.models import Robot, UnknownName
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.run_folder import Run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


SMOOTH_S = 0.5
"""Averaging time of powers in s."""
TICKS_W = tuple(m * 10.0**e for e in range(-3, 4) for m in (1.0, 2.0, 5.0))
"""Ticks of the power axis."""
SMALLEST_W = 1e-3
"""Lower end of the axis: limp legs have loss 0, which has no logarithm."""
ROOM = 1.4
"""Width of the panel divided by that of its curves: room for labels at their ends."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PowerCurve:
    """Joule loss of the leg motors over a run."""

    time_s: FloatArray
    watts: FloatArray


def legs_power_of(run: Run, robot: Robot) -> PowerCurve:
    """Return the legs' joule loss over a run, averaged over half a second.

    Raises:
        UnknownName: the run has no motor torques.
    """
    return legs_power_from(run.frame, robot)


def legs_power_from(frame: "pd.DataFrame", robot: Robot) -> PowerCurve:
    """Return the legs' joule loss from rows that were read before.

    Raises:
        UnknownName: the rows have no motor torques.
    """
    columns = [f"motor_torque.{name}" for name in robot.motor_names]
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise UnknownName("Channel", absent[0], frame.columns, "these rows")
    watts = frame[columns].to_numpy(np.float64) ** 2 @ joule_loss(robot)
    time_s = frame.index.to_numpy(np.float64)
    slot = np.floor(time_s / SMOOTH_S).astype(int)
    _, place = np.unique(slot, return_inverse=True)
    count = np.bincount(place)
    return PowerCurve(
        time_s=np.bincount(place, time_s) / count,
        watts=np.bincount(place, watts) / count,
    )


def power_figure(
    curves: Mapping[str, PowerCurve],
    least_w: Mapping[str, float],
    title: str,
    unit: PowerUnit = W,
) -> "Figure":
    """Return a figure of powers on a logarithmic axis, each curve named at its end.

    Args:
        curves: controller to curve.
        least_w: name to lower bound of the power in W; drawn as lines.
        title: title with the finding.
        unit: unit of the powers.
    """
    curves = {n: replace(c, watts=c.watts / unit.size) for n, c in curves.items()}
    least_w = {name: unit.of(watts) for name, watts in least_w.items()}
    figure = new_figure(9.0, 4.2)
    axes = figure.subplots()
    longest = max(float(curve.time_s[-1]) for curve in curves.values()) / 60.0
    ends = {}
    colours = controller_colours(curves)
    for name, curve in curves.items():
        colour = colours[name]
        axes.plot(curve.time_s / 60.0, curve.watts, color=colour, lw=1.8)
        ends[name] = (float(curve.watts[-1]), colour)
    axes.set_yscale("log")
    for watts in least_w.values():
        axes.axhline(watts, xmax=1.0 / ROOM, color=INK, lw=1.0, ls=(0, (4, 3)))
    lowest = [*least_w.values(), *(float(c.watts.min()) for c in curves.values())]
    low = max(SMALLEST_W, min(lowest))
    axes.set_ylim(0.6 * low, 1.4 * max(float(c.watts.max()) for c in curves.values()))
    ends |= {name: (watts, SOFT_INK) for name, watts in least_w.items()}
    heights = [max(watts, SMALLEST_W) for watts, _ in ends.values()]
    places = spread_labels([np.log(watts) for watts in heights], 0.22)
    for (name, (watts, colour)), place in zip(ends.items(), places, strict=True):
        axes.annotate(
            f"{name} {watts:.2f} {unit.symbol}",
            (longest, max(watts, SMALLEST_W)),
            (1.03 * longest, float(np.exp(place))),
            fontsize=8.5,
            color=colour,
            va="center",
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": colour},
        )
    axes.set_xlim(0.0, ROOM * longest)
    plain_frame(axes)
    axes.grid(axis="y", which="both", lw=0.3, alpha=0.5)
    axes.set_yticks([w for w in TICKS_W if low <= w <= axes.get_ylim()[1]], minor=False)
    axes.yaxis.set_major_formatter(lambda watts, _: f"{watts:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set_xticks(time_ticks(longest, 6))
    axes.spines["bottom"].set_bounds(0.0, longest)
    axes.set_ylabel(unit.label("Joule loss of the legs"), fontsize=9)
    time_axis(axes, 1.0 / ROOM)
    panel_title(axes, title)
    return figure


def time_mean(frame: "pd.DataFrame") -> "pd.Series[float]":
    """Return the mean over time of each column.

    Rows of a run are not equally spaced: each is weighted with the time since the
    previous one.

    Args:
        frame: rows with ascending times in s as index.
    """
    step_s = frame.index.to_series().diff().fillna(0.0)
    mean: pd.Series[float] = frame.mul(step_s, axis=0).sum() / step_s.sum()
    return mean


def heat_share_figure(
    torque: "pd.Series[float]",
    watts: "Mapping[str, pd.Series[float]]",
    title: str,
    unit: PowerUnit = W,
) -> "Figure":
    """Return a figure of torque and heat by joint, as shares and as powers.

    Args:
        torque: mean |torque| of each joint under the first controller.
        watts: controller to the heat of each joint in W.
        title: title with the finding.
        unit: unit of the powers.
    """
    first = next(iter(watts))
    order = watts[first].sort_values().index
    place = np.arange(len(order))
    figure = new_figure(9.0, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    share = watts[first][order] / watts[first].sum()
    left.barh(place + 0.2, torque[order] / torque.sum(), 0.38, color=FAINT_INK)
    colours = controller_colours(watts)
    left.barh(place - 0.2, share, 0.38, color=colours[first])
    left.set_xlabel(
        f"Share of the torque (grey) and of the Joule loss under {first}", fontsize=9
    )
    left.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    height = 0.8 / len(watts)
    for i, (name, heat) in enumerate(watts.items()):
        right.barh(
            place + 0.4 - (i + 0.5) * height,
            heat[order] / unit.size,
            0.95 * height,
            color=colours[name],
            label=f"{name}, {unit.text(heat.sum(), 1)} in total",
        )
    right.set_xlabel(unit.label("Mean Joule loss"), fontsize=9)
    right.legend(frameon=False, fontsize=8, loc="lower right")
    left.set_yticks(place, list(order))
    for axes in (left, right):
        plain_frame(axes)
        axes.grid(visible=False, axis="y")
    panel_title(left, title)
    return figure


def internal_figure(forces: InternalForces, title: str) -> "Figure":
    """Return a bar chart of measured, minimum and fitted internal torques."""
    from matplotlib.artist import Artist  # noqa: PLC0415  # heavy
    from matplotlib.lines import Line2D  # noqa: PLC0415  # heavy
    from matplotlib.patches import Patch  # noqa: PLC0415  # heavy

    figure = new_figure(9.0, 3.8)
    axes = figure.subplots()
    place = np.arange(len(forces.motors))
    for side, colour in ((~forces.is_right, SOFT_INK), (forces.is_right, FAINT_INK)):
        axes.bar(place[side], forces.measured[side], 0.62, color=colour)
    axes.hlines(forces.least, place - 0.38, place + 0.38, color=INK, lw=1.2, ls=":")
    explained = forces.least + forces.internal
    axes.hlines(explained, place - 0.38, place + 0.38, color=INK, lw=2.2)
    handles: list[Artist] = [
        Patch(color=SOFT_INK),
        Patch(color=FAINT_INK),
        Line2D([], [], color=INK, lw=1.2, ls=":"),
        Line2D([], [], color=INK, lw=2.2),
    ]
    labels = [
        "measured, left leg",
        "measured, right leg",
        "minimum joule loss",
        f"with {forces.patterns.shape[1]} internal forces",
    ]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8,
                  frameon=False)  # fmt: skip
    axes.set_xticks(place, forces.motors, rotation=30, ha="right")
    axes.axhline(0.0, color=FAINT_INK, lw=0.8)
    axes.set_ylabel("Joint torque (N·m)", fontsize=9)
    plain_frame(axes)
    panel_title(axes, title)
    return figure


def joint_shifts_figure(
    shifts: "Mapping[str, pd.Series[float]]",
    misalignment_deg: Mapping[str, float],
    title: str,
) -> "Figure":
    """Return a bar chart of set-point shifts in degrees.

    Args:
        shifts: controller to joint to shift in degrees; the same joints for all
            controllers.
        misalignment_deg: joint to its calibration error, marked in the chart. A shift
            of the same size and opposite sign compensates it.
        title: title with the finding.
    """
    joints = list(next(iter(shifts.values())).index)
    figure = new_figure(9.0, 3.6)
    axes = figure.subplots()
    place = np.arange(len(joints))
    width = 0.8 / len(shifts)
    colours = controller_colours(shifts)
    for i, (name, shift) in enumerate(shifts.items()):
        axes.bar(
            place - 0.4 + (i + 0.5) * width,
            shift[joints],
            0.92 * width,
            color=colours[name],
            label=name,
        )
    marked = [joint for joint in joints if misalignment_deg.get(joint)]
    axes.hlines(
        [-misalignment_deg[joint] for joint in marked],
        [joints.index(joint) - 0.45 for joint in marked],
        [joints.index(joint) + 0.45 for joint in marked],
        color=INK,
        lw=1.6,
        label="compensates the misalignment",
    )
    axes.axhline(0.0, color=FAINT_INK, lw=0.8)
    axes.set_xticks(place, joints, rotation=30, ha="right")
    axes.set_ylabel("Set-point shift (°)", fontsize=9)
    axes.legend(frameon=False, fontsize=8)
    plain_frame(axes)
    panel_title(axes, title)
    return figure


MIN_DEG = 0.02
"""Smallest drawn shift in degrees; rounding of recorded set-points is much smaller."""
MAX_POINTS = 600


def shift_history_figure(
    frames: "Mapping[str, pd.DataFrame]", robot: Robot, posture: FloatArray
) -> "Figure | None":
    """Draw the most shifted joints over time, one panel per controller.

    Args:
        frames: controller to the rows of its run.
        robot: robot of the runs.
        posture: (n_joints,) set-points of the posture held, in rad.

    Returns:
        The figure; None if no controller shifted a set-point.
    """
    shifts = {
        name: shift
        for name, frame in frames.items()
        if (shift := shifts_deg(frame, robot, posture)) is not None
        and np.abs(shift).max(initial=0.0) >= MIN_DEG
    }
    if not shifts:
        return None
    figure = new_figure(7.6, 2.6 * len(shifts) + 0.3)
    panels = figure.subplots(len(shifts), 1, sharex=True, sharey=True, squeeze=False)
    drawn = _drawn_joints(list(shifts.values()), robot)
    for axes, (name, shift) in zip(panels[:, 0], shifts.items(), strict=True):
        time = frames[name].index.to_numpy(float) / 60.0
        keep = np.arange(0, len(time), max(1, len(time) // MAX_POINTS))
        axes.axhline(0.0, color=SOFT_INK, lw=0.6)
        for j, style in drawn.items():
            if np.abs(shift[:, j]).max() >= MIN_DEG:
                label = robot.joint_names[j]
                axes.plot(time[keep], shift[keep, j], label=label, lw=1.6, **style)
        axes.set_ylabel("Set-point shift (°)", fontsize=9)
        axes.legend(
            frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5)
        )
        panel_title(axes, name)
        plain_frame(axes)
    time_axis(panels[-1, 0])
    return figure


def _drawn_joints(
    shifts: Sequence[FloatArray], robot: Robot
) -> dict[int, dict[str, Any]]:
    """Return the most shifted joints over all controllers, with their line styles.

    A joint has the same style in every panel: the colour of its kind, as for
    temperatures, and a dashed line on the right side if the left joint is drawn too.
    """
    names = robot.joint_names
    largest = np.max([np.abs(shift).max(axis=0) for shift in shifts], axis=0)
    order = [int(j) for j in np.argsort(-largest) if largest[j] >= MIN_DEG]

    kinds = list(dict.fromkeys(joint_kind(names[j]) for j in order))[: len(COLOURS)]
    order = [j for j in order if joint_kind(names[j]) in kinds]
    colours = joint_colours(names[j] for j in order)
    n_of_kind = Counter(map(joint_kind, names))
    drawn: dict[int, dict[str, Any]] = {}
    for j in order:
        has_twin = n_of_kind[joint_kind(names[j])] > 1
        line = (0, (4, 1.5)) if has_twin and is_right(names[j]) else "-"
        drawn[j] = {"color": colours[names[j]], "ls": line}
    return dict(sorted(drawn.items()))


def shifts_deg(
    frame: "pd.DataFrame", robot: Robot, posture: FloatArray
) -> FloatArray | None:
    """Return set-points minus the posture, (n_rows, n_joints) in degrees.

    It is 0 while the robot moves to the posture. None if the rows have no set-points.
    """
    target = recorded_channel(frame, "target", robot.joint_names)
    if target is None or not len(frame):
        return None
    shift: FloatArray = np.rad2deg(target - posture)
    shift[frame.index.to_numpy(float) <= frame.index[0] + APPROACH_TIME] = 0.0
    return shift
