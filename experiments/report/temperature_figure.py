"""The document's four charts: joint temperatures over time (figures 4a to 5b).

A row for the right leg and one for the left, a column for each controller; the five
joints that the document draws, the line of the shut-down and, beside the published
experiment alone, its end values; else the foot says why there are none.
Robots with other legs get one row with their hottest joints.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.report.figure_style import (
    COLOURS,
    INK,
    SIDES,
    SOFT_INK,
    new_figure,
    panel_rows,
    panel_title,
    plain_frame,
    write_foot,
)
from experiments.report.label_heights import free_height, spread
from experiments.report.shown_joints import shown_joints, why_not_beside
from experiments.standing.published import (
    LEG_JOINTS,
    SHUT_DOWN_DEGC,
)
from experiments.standing.results import ArmResult, HeatResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

COLUMN_WIDTH, ROW_HEIGHT = 4.4, 2.9
"""Of a panel, in inches."""
ROOM = 1.3
"""Width of a panel over that of its curves: room for the labels at their ends."""
LABEL_GAP_DEGC = 3.6
"""Labels at the ends of the curves keep this distance."""
NAME_SPAN = (0.685, 0.97)
"""From where to where the name of a published value reaches, of the time shown."""
LEG_COLUMNS = frozenset(side + joint for side in SIDES for joint in LEG_JOINTS)
"""Labels of the curves, by which they are told from lines and marks."""
MOST_POINTS = 600
"""Of a curve: more cannot be seen, and would only make the file long."""


def temperature_figure(
    result: HeatResult, frames: "Mapping[str, pd.DataFrame]"
) -> "Figure":
    """Return the charts: rows are legs, columns are controllers, axes are shared."""
    rows = panel_rows(result)
    n = len(result.arms)
    figure = new_figure(COLUMN_WIDTH * n + 0.3, ROW_HEIGHT * len(rows) + 0.8)
    panels = figure.subplots(len(rows), n, sharex=True, sharey=True, squeeze=False)
    low, high = _temperature_range(result)
    for row, (side, joints) in enumerate(rows.items()):
        for column, (name, arm) in enumerate(result.arms.items()):
            axes = panels[row, column]
            _draw_limits(axes, result)
            _draw_curves(axes, arm, frames.get(name), joints, side, result.minutes)
            if side in SIDES:
                _draw_published(axes, result, arm, side)
            axes.set_ylim(low, high)
            panel_title(axes, f"{name}, {SIDES.get(side, 'hottest joints')}")
    for axes in panels[:, 0]:
        axes.set_ylabel("temperature in °C", fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("time in minutes", fontsize=9, x=0.5 / ROOM, ha="center")
    write_foot(figure, result, why_not_beside(result))
    return figure


def _temperature_range(result: HeatResult) -> tuple[float, float]:
    """Return an axis that holds every temperature, and the shut-down line."""
    values = [SHUT_DOWN_DEGC]
    for arm in result.arms.values():
        for joint in shown_joints(result):
            if joint in arm.joints:
                values += [arm.joints[joint].start_degc, arm.joints[joint].end_degc]
    return min(values) - 9.0, max(values) + 8.0


def _draw_limits(axes: "Axes", result: HeatResult) -> None:
    axes.axhline(SHUT_DOWN_DEGC, xmax=1.0 / ROOM, color=INK, lw=0.8, ls=(0, (4, 3)))
    axes.annotate(
        f"shut-down at {SHUT_DOWN_DEGC:.0f} °C",
        (0.015, SHUT_DOWN_DEGC),
        (0, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=7.5,
        color=SOFT_INK,
    )
    axes.set_xlim(0.0, ROOM * result.minutes)
    axes.set_xticks(_time_ticks(result.minutes))
    plain_frame(axes)
    axes.spines["bottom"].set_bounds(0.0, result.minutes)


def _draw_curves(
    axes: "Axes",
    arm: ArmResult,
    frame: "pd.DataFrame | None",
    joints: Sequence[str],
    side: str,
    minutes_asked: float,
) -> None:
    """Draw temperatures over time, each curve named at its end.

    Names stand right of all lines, also of a robot that ended early: one that ended in
    the first half of the time would need too long a pointer, and is named at its end.
    """
    ends: dict[str, tuple[float, float]] = {}
    for i, joint in enumerate(joints):
        if joint not in arm.joints:
            continue
        minutes, degc = _curve(arm, frame, joint)
        axes.plot(minutes, degc, color=COLOURS[i], lw=1.8, label=joint)
        ends[joint] = (float(minutes[-1]), float(degc[-1]))
    labels = spread([degc for _, degc in ends.values()], LABEL_GAP_DEGC)
    last = max((minutes for minutes, _ in ends.values()), default=0.0)
    place = minutes_asked if last > 0.5 * minutes_asked else last
    for (joint, end), height in zip(ends.items(), labels, strict=True):
        axes.annotate(
            f"{joint.removeprefix(side)} {end[1]:.0f} °C",
            end,
            (place + 0.03 * minutes_asked, float(height)),
            fontsize=7.5,
            color=COLOURS[joints.index(joint)],
            va="center",
            annotation_clip=False,
            zorder=6,
            bbox={"fc": "white", "lw": 0.0, "pad": 0.4, "alpha": 0.85},
            arrowprops={
                "arrowstyle": "-",
                "lw": 0.6,
                "relpos": (0.0, 0.5),
                "shrinkA": 0,
                "shrinkB": 1,
                "color": COLOURS[joints.index(joint)],
            },
        )


def _curve(
    arm: ArmResult, frame: "pd.DataFrame | None", joint: str
) -> tuple[FloatArray, FloatArray]:
    """Return minutes and °C; from the heating model, else from the sensor."""
    row = arm.joints[joint]
    if frame is not None:
        for column in (f"true_temperature.{joint}", f"temperature.{joint}"):
            if column in frame.columns:
                step = max(1, len(frame) // MOST_POINTS)
                keep = np.unique([*range(0, len(frame), step), len(frame) - 1])
                minutes = frame.index.to_numpy(float)[keep] / 60.0
                return minutes, frame[column].to_numpy(float)[keep]
    return np.array([0.0, arm.sim_s / 60.0]), np.array([row.start_degc, row.end_degc])


def _rise_in_words(rise_k: float) -> str:
    kelvins = f"{abs(rise_k):.0f} K"
    return f"cool by {kelvins}" if rise_k <= -0.5 else f"rise by {kelvins}"


def _draw_published(
    axes: "Axes", result: HeatResult, arm: ArmResult, side: str
) -> None:
    """Mark the published end values, and write both sums of rises.

    They belong to one setting: elsewhere they are no end to compare with.
    """
    published = result.published.get(arm.controller)
    ours = arm.left_leg_rise_k if side == "L" else arm.right_leg_rise_k
    words = "" if ours is None else f"the five {_rise_in_words(ours)}"
    if published is not None:
        theirs = (
            published.left_leg_rise_k if side == "L" else published.right_leg_rise_k
        )
        words += f" (published {theirs:.0f} K)"
        for joint, degc in published.end_degc.items():
            if joint.startswith(side):
                colour = COLOURS[LEG_JOINTS.index(joint.removeprefix(side))]
                axes.plot(
                    result.minutes,
                    degc,
                    marker="D",
                    ms=6.5,
                    mfc="white",
                    mec=colour,
                    mew=1.6,
                    ls="none",
                    zorder=4,
                    clip_on=False,
                    label=f"published {joint}",
                )
                _name_mark(axes, result.minutes, degc, colour)
    axes.text(0.015, 0.03, words, transform=axes.transAxes, fontsize=8, color=SOFT_INK)


def _name_mark(axes: "Axes", minutes: float, degc: float, colour: str) -> None:
    """Write a published value left of its mark, where no curve passes."""
    begin, end = NAME_SPAN[0] * minutes, NAME_SPAN[1] * minutes
    taken = [(SHUT_DOWN_DEGC, SHUT_DOWN_DEGC)]
    for line in axes.lines:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        if len(x) > 1 and x[-1] > begin and line.get_label() in LEG_COLUMNS:
            inside = y[(x > begin) & (x < end)]
            across = [*np.interp([begin, end], x, y), *inside]
            taken.append((min(across), max(across)))
    height = free_height(degc, taken, LABEL_GAP_DEGC / 2.0)
    axes.text(
        end,
        height,
        f"published {degc:.0f} °C",
        ha="right",
        va="center",
        fontsize=7.5,
        color=colour,
        zorder=5,
    )


def _time_ticks(minutes: float) -> FloatArray:
    """Return a handful of round minutes from 0 to the end."""
    rough = minutes / 4.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(s for s in (1.0, 2.0, 2.5, 5.0, 10.0) if s * power >= rough) * power
    return np.arange(0.0, minutes + 1e-9, step)
