"""The document's four charts, and the joints' efforts beside their limits.

`temperatures.png`: a row for the right leg and one for the left, a column for each
controller; the five joints that the document draws (figures 4a, 4b, 5a, 5b), the
published end values, the line of the shut-down. `effort.png`: mean |torque| of these
joints. Robots with other legs get one row with their hottest joints.
"""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.figure_file import (
    ARM_COLOURS,
    COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    run_line,
    save_figure,
    settings_of,
)
from experiments.published import LEG_JOINTS, PUBLISHED, SHUT_DOWN_DEGC
from experiments.results import ArmResult, HeatResult
from experiments.table import has_document_legs, shown_joints

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

SIDES = {"R": "right leg", "L": "left leg"}
"""In the order of the rows, as the document's figures a and b."""
COLUMN_WIDTH, ROW_HEIGHT = 4.4, 2.9
"""Of a panel, in inches."""
ROOM = 1.3
"""Width of a panel over that of its curves: room for the labels at their ends."""
LABEL_GAP_DEGC = 3.6
"""Labels at the ends of the curves keep this distance."""
MOST_POINTS = 600
"""Of a curve: more cannot be seen, and would only make the file long."""
MOST_LINES = 7
"""Curves in a panel of a robot whose legs are not those of the document."""


def draw_heat_figures(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    folder: Path,
    effort_limits: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write the figures of an experiment as PNG and SVG.

    Args:
        result: what was found.
        frames: controller to the rows of its run (`sim.run_folder.read_run`); an arm
            without one is drawn from its first to its last temperature.
        folder: where the files go.
        effort_limits: joint to torque at stiffness 1 in N·m; None takes those that
            the result's settings name.

    Returns:
        The PNG files.

    Raises:
        BadInput: a file cannot be written.
    """
    limits = effort_limits
    if limits is None:
        limits = result.settings.get("effort_limits_nm") or {}
    figures = {
        "temperatures": (
            "Joint temperatures over time",
            temperature_figure(result, frames),
        ),
        "effort": ("Joint efforts", effort_figure(result, frames, limits)),
    }
    settings = settings_of(result)
    for name, (title, figure) in figures.items():
        save_figure(figure, folder / f"{name}.png", title, settings)
        figure.set_layout_engine("none")  # settled: not again for the second file
        save_figure(figure, folder / f"{name}.svg", title, settings)
    return [folder / f"{name}.png" for name in figures]


def temperature_figure(
    result: HeatResult, frames: "Mapping[str, pd.DataFrame]"
) -> "Figure":
    """Return the charts: rows are legs, columns are controllers, axes are shared."""
    rows = _rows(result)
    n = len(result.arms)
    figure = new_figure(COLUMN_WIDTH * n + 0.3, ROW_HEIGHT * len(rows) + 0.8)
    panels = figure.subplots(len(rows), n, sharex=True, sharey=True, squeeze=False)
    low, high = _temperature_range(result)
    for row, (side, joints) in enumerate(rows.items()):
        for column, (name, arm) in enumerate(result.arms.items()):
            axes = panels[row, column]
            _draw_limits(axes, result)
            _draw_curves(axes, arm, frames.get(name), joints, side)
            if side in SIDES:
                _draw_published(axes, result, arm, side)
            axes.set_ylim(low, high)
            axes.set_title(
                f"{name}, {SIDES.get(side, 'hottest joints')}",
                loc="left",
                fontsize=10,
                color=INK,
                fontweight="bold",
            )
    for axes in panels[:, 0]:
        axes.set_ylabel("temperature in °C", fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("time in minutes", fontsize=9, x=0.5 / ROOM, ha="center")
    _foot(figure, result)
    return figure


def effort_figure(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    effort_limits: Mapping[str, float],
) -> "Figure":
    """Return bars of mean |torque|, with the mean limit in force as a mark.

    The limit is the mean stiffness over the run times the torque at stiffness 1; it is
    left out where either is not known.
    """
    rows = _rows(result)
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
        axes.set_title(
            SIDES.get(side, "hottest joints"),
            loc="left",
            fontsize=10,
            color=INK,
            fontweight="bold",
        )
        _plain(axes)
    panels[0].legend(
        frameon=False,
        fontsize=8,
        ncols=n + 1,
        loc="upper right",
        bbox_to_anchor=(1.0, 1.16),
    )
    _foot(figure, result)
    return figure


def _rows(result: HeatResult) -> dict[str, tuple[str, ...]]:
    """Return the joints of each row of panels, by the side they begin with."""
    if has_document_legs(result):
        return {s: tuple(s + joint for joint in LEG_JOINTS) for s in SIDES}
    return {"": shown_joints(result)[:MOST_LINES]}


def _temperature_range(result: HeatResult) -> tuple[float, float]:
    """Return an axis that holds every temperature, and the shut-down line."""
    values = [SHUT_DOWN_DEGC]
    for arm in result.arms.values():
        for joint in shown_joints(result):
            if joint in arm.joints:
                values += [arm.joints[joint].start_degc, arm.joints[joint].end_degc]
    return min(values) - 9.0, max(values) + 8.0


def _draw_limits(axes: "Axes", result: HeatResult) -> None:
    axes.axhline(SHUT_DOWN_DEGC, color=INK, lw=0.8, ls=(0, (4, 3)))
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
    _plain(axes)
    axes.spines["bottom"].set_bounds(0.0, result.minutes)


def _draw_curves(
    axes: "Axes",
    arm: ArmResult,
    frame: "pd.DataFrame | None",
    joints: Sequence[str],
    side: str,
) -> None:
    """Draw temperatures over time, each curve named at its end."""
    ends: dict[str, tuple[float, float]] = {}
    for i, joint in enumerate(joints):
        if joint not in arm.joints:
            continue
        minutes, degc = _curve(arm, frame, joint)
        axes.plot(minutes, degc, color=COLOURS[i], lw=1.8, label=joint)
        ends[joint] = (float(minutes[-1]), float(degc[-1]))
    labels = spread([degc for _, degc in ends.values()], LABEL_GAP_DEGC)
    for (joint, end), height in zip(ends.items(), labels, strict=True):
        axes.annotate(
            f"{joint.removeprefix(side)} {end[1]:.0f} °C",
            end,
            (end[0] * 1.03, float(height)),
            fontsize=7.5,
            color=COLOURS[joints.index(joint)],
            va="center",
            annotation_clip=False,
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


def _draw_published(
    axes: "Axes", result: HeatResult, arm: ArmResult, side: str
) -> None:
    """Mark the published end values, and write both sums of rises."""
    published = PUBLISHED.get(arm.controller)
    ours = arm.left_leg_rise_k if side == "L" else arm.right_leg_rise_k
    words = f"the five rise by {ours:.0f} K" if ours is not None else ""
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
                axes.annotate(
                    f"published {degc:.0f} °C",
                    (result.minutes, degc),
                    (-7, -2),
                    textcoords="offset points",
                    ha="right",
                    va="top",
                    fontsize=7.5,
                    color=colour,
                    zorder=5,
                    bbox={"fc": "white", "alpha": 0.8, "lw": 0.0, "pad": 0.6},
                )
    axes.text(0.015, 0.03, words, transform=axes.transAxes, fontsize=8, color=SOFT_INK)


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


def spread(values: Sequence[float], gap: float) -> FloatArray:
    """Return heights for labels: near their values, at least `gap` apart.

    With the values sorted, h_i - i·gap must not fall: the nearest such heights in the
    least-squares sense are an isotonic regression.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  # heavy

    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(order))
    heights = np.empty(len(order))
    if len(order):
        heights[order] = isotonic_regression(np.array(values)[order] - steps).x + steps
    return heights


def _time_ticks(minutes: float) -> FloatArray:
    """Return a handful of round minutes from 0 to the end."""
    rough = minutes / 4.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(s for s in (1.0, 2.0, 2.5, 5.0, 10.0) if s * power >= rough) * power
    return np.arange(0.0, minutes + 1e-9, step)


def _plain(axes: "Axes") -> None:
    """Leave out of the frame what nobody reads."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT_INK)
    axes.tick_params(colors=SOFT_INK, labelsize=8, length=3)
    axes.xaxis.label.set_color(SOFT_INK)
    axes.yaxis.label.set_color(SOFT_INK)
    axes.grid(axis="y", color=FAINT_INK, lw=0.4, alpha=0.6)
    axes.set_axisbelow(True)


def _foot(figure: "Figure", result: HeatResult) -> None:
    """Write the run's settings below everything, small."""
    letters = int(20 * figure.get_size_inches()[0])
    figure.supxlabel(
        textwrap.fill(run_line(result), letters),
        fontsize=7,
        color=SOFT_INK,
        x=0.01,
        ha="left",
    )
