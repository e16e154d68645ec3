"""Charts of joint temperatures and efforts, as in ES2659053T3, fig. 4a to 5b.

Temperatures: a row per leg, a column per controller. Each panel shows the five joints
    of the patent, its shut-down temperature and, for the published experiment only, its
    end values; otherwise the footer gives the reason for their absence. Robots with
    other legs get one row with their hottest joints.

Efforts: mean torques of the joints, and the mean limits in force.

`draw_heat_figures` writes both to the run folder, as PNG and SVG.
"""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.closed_loop.trial_result import (
    LEG_JOINTS,
    SHUT_DOWN_DEGC,
    TrialResult,
)
from nao_testbed.experiments.common.drawing.style import (
    INK,
    MAX_JOINTS,
    SIDES,
    SOFT_INK,
    controller_colours,
    free_height,
    joint_colours,
    new_figure,
    panel_title,
    plain_frame,
    save_figure,
    spread_labels,
    time_axis,
    time_ticks,
)
from nao_testbed.experiments.heat.figures.tables import (
    has_published_legs,
    shown_joints,
    why_not_comparable,
)
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLUMN_WIDTH, ROW_HEIGHT = 4.4, 2.9
"""Size of a panel, in inches."""
ROOM = 1.3
"""Width of a panel divided by that of its curves: room for labels at their ends."""
LABEL_GAP_DEGC = 3.6
"""Minimum distance between labels at the ends of curves, in °C."""
NAME_SPAN = (0.685, 0.97)
"""Extent of the name of a published value, as fractions of the time axis."""
LEG_COLUMNS = frozenset(side + joint for side in SIDES for joint in LEG_JOINTS)
"""Labels of the curves, which distinguish them from lines and marks."""
MAX_POINTS = 600
"""Largest number of points of a curve; more are invisible and enlarge the file."""


def temperature_figure(
    result: HeatResult, frames: "Mapping[str, pd.DataFrame]"
) -> "Figure":
    """Return the charts: rows are legs, columns are controllers, axes are shared."""
    rows = panel_rows(result)
    n = len(result.trials)
    figure = new_figure(COLUMN_WIDTH * n + 0.3, ROW_HEIGHT * len(rows) + 0.8)
    panels = figure.subplots(len(rows), n, sharex=True, sharey=True, squeeze=False)
    low, high = _temperature_range(result)
    for row, (side, joints) in enumerate(rows.items()):
        for column, (name, trial) in enumerate(result.trials.items()):
            axes = panels[row, column]
            _draw_limits(axes, result, trial)
            _draw_curves(axes, trial, frames.get(name), joints, side, result)
            if side in SIDES:
                _draw_published(axes, result, trial, side)
            axes.set_ylim(low, high)
            panel_title(axes, f"{name}, {SIDES.get(side, 'hottest joints')}")
    for axes in panels[:, 0]:
        axes.set_ylabel("Temperature (°C)", fontsize=9)
    for axes in panels[-1]:
        time_axis(axes, 1.0 / ROOM)
    write_footer(figure, result, why_not_comparable(result))
    return figure


def _temperature_range(result: HeatResult) -> tuple[float, float]:
    """Return the range of an axis with all temperatures and the shut-down line."""
    values = [SHUT_DOWN_DEGC]
    for trial in result.trials.values():
        for joint in shown_joints(result):
            if joint in trial.joints:
                values += [trial.joints[joint].start_degc, trial.joints[joint].end_degc]
    return min(values) - 9.0, max(values) + 8.0


def _ends_early(result: HeatResult, trial: TrialResult) -> bool:
    """Return True if names are placed at the ends of curves, not at the right edge."""
    return trial.sim_s <= 0.5 * 60.0 * result.minutes


def _draw_limits(axes: "Axes", result: HeatResult, trial: TrialResult) -> None:
    axes.axhline(SHUT_DOWN_DEGC, xmax=1.0 / ROOM, color=INK, lw=0.8, ls=(0, (4, 3)))
    is_shut_down = result.settings.get("protection") == "document"
    early = _ends_early(result, trial)
    axes.annotate(
        f"{'shut-down at ' if is_shut_down else ''}{SHUT_DOWN_DEGC:.0f} °C",
        (1.0 / ROOM if early else 0.015, SHUT_DOWN_DEGC),
        (3, 0) if early else (0, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center" if early else "baseline",
        fontsize=7.5,
        color=SOFT_INK,
    )
    axes.set_xlim(0.0, ROOM * result.minutes)
    axes.set_xticks(time_ticks(result.minutes))
    plain_frame(axes)
    axes.spines["bottom"].set_bounds(0.0, result.minutes)


def _draw_curves(
    axes: "Axes",
    trial: TrialResult,
    frame: "pd.DataFrame | None",
    joints: Sequence[str],
    side: str,
    result: HeatResult,
) -> None:
    """Draw temperatures over time, with a name at the end of each curve.

    Names are right of all lines. The exception is a robot that ended in the first half
    of the time: the pointer would be too long, so the names are at the ends of its
    curves.
    """
    ends: dict[str, tuple[float, float]] = {}
    colours = joint_colours(joints)
    for joint in joints:
        if joint not in trial.joints:
            continue
        minutes, degc = _curve(trial, frame, joint)
        axes.plot(minutes, degc, color=colours[joint], lw=1.8, label=joint)
        ends[joint] = (float(minutes[-1]), float(degc[-1]))
    labels = spread_labels([degc for _, degc in ends.values()], LABEL_GAP_DEGC)
    last = max((minutes for minutes, _ in ends.values()), default=0.0)
    place = last if _ends_early(result, trial) else result.minutes
    for (joint, end), height in zip(ends.items(), labels, strict=True):
        axes.annotate(
            f"{joint.removeprefix(side)} {end[1]:.0f} °C",
            end,
            (place + 0.03 * result.minutes, float(height)),
            fontsize=7.5,
            color=colours[joint],
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
                "color": colours[joint],
            },
        )


def _curve(
    trial: TrialResult, frame: "pd.DataFrame | None", joint: str
) -> tuple[FloatArray, FloatArray]:
    """Return minutes and °C, from the heating model if recorded, or from the sensor."""
    row = trial.joints[joint]
    if frame is not None:
        for column in (f"true_temperature.{joint}", f"temperature.{joint}"):
            if column in frame.columns:
                step = max(1, len(frame) // MAX_POINTS)
                keep = np.unique([*range(0, len(frame), step), len(frame) - 1])
                minutes = frame.index.to_numpy(float)[keep] / 60.0
                return minutes, frame[column].to_numpy(float)[keep]
    return np.array([0.0, trial.sim_s / 60.0]), np.array([row.start_degc, row.end_degc])


def _draw_published(
    axes: "Axes", result: HeatResult, trial: TrialResult, side: str
) -> None:
    """Mark the published end values, and write both sums of rises.

    Published values are drawn only for the published setting.
    """
    published = result.published.get(trial.controller)
    simulated = trial.left_leg_rise_k if side == "L" else trial.right_leg_rise_k
    text = "" if simulated is None else f"sum of rises {simulated:z.0f} K"
    if published is not None:
        rise = published.left_leg_rise_k if side == "L" else published.right_leg_rise_k
        text += f" (published {rise:.0f} K)"
        for joint, degc in published.end_degc.items():
            if joint.startswith(side):
                colour = joint_colours([joint])[joint]
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
    early = _ends_early(result, trial)
    axes.text(
        0.985 if early else 0.015,
        0.03,
        text,
        transform=axes.transAxes,
        ha="right" if early else "left",
        fontsize=8,
        color=SOFT_INK,
    )


def _name_mark(axes: "Axes", minutes: float, degc: float, colour: str) -> None:
    """Write a published value left of its mark, at a place without a curve."""
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


def effort_figure(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    effort_limits: Mapping[str, float],
) -> "Figure":
    """Return a bar chart of mean |torque|, with the mean limit in force as a mark.

    The limit is the mean stiffness over the run times the torque at stiffness 1. It is
    omitted if either is unknown, or if a current was limited too.
    """
    rows = panel_rows(result)
    n = len(result.trials)
    figure = new_figure(
        1.2 + 0.62 * max(map(len, rows.values())) * max(n, 2), 2.6 * len(rows) + 0.8
    )
    panels = figure.subplots(len(rows), 1, sharey=True, squeeze=False)[:, 0]
    width = 0.8 / n
    colours = controller_colours(result.trials)
    for axes, (side, joints) in zip(panels, rows.items(), strict=True):
        place = np.arange(len(joints))
        for i, (name, trial) in enumerate(result.trials.items()):
            x = place + (i - (n - 1) / 2.0) * width
            efforts = [trial.joints[joint].mean_abs_effort_nm for joint in joints]
            axes.bar(
                x,
                efforts,
                0.9 * width,
                color=colours[name],
                label=name,
            )
            limits = _mean_limits(frames.get(name), joints, effort_limits)
            axes.hlines(
                limits,
                x - 0.45 * width,
                x + 0.45 * width,
                color=INK,
                lw=1.6,
                label="mean torque limit" if i == n - 1 else None,
            )
        axes.set_xticks(place, [joint.removeprefix(side) for joint in joints])
        axes.set_ylabel("Mean |torque| (N·m)", fontsize=9)
        panel_title(axes, SIDES.get(side, "hottest joints"))
        plain_frame(axes)
    panels[0].legend(
        frameon=False,
        fontsize=8,
        ncols=n + 1,
        loc="upper right",
        bbox_to_anchor=(1.0, 1.16),
    )
    write_footer(figure, result)
    return figure


def _mean_limits(
    frame: "pd.DataFrame | None",
    joints: Sequence[str],
    effort_limits: Mapping[str, float],
) -> FloatArray:
    """Return mean limits in force in N·m; NaN if unknown."""
    limits = np.full(len(joints), np.nan)
    if frame is None:
        return limits
    time_s = frame.index.to_numpy(float)
    for i, joint in enumerate(joints):
        column = f"stiffness.{joint}"
        if f"current_limit.{joint}" in frame.columns:
            continue  # the current limit in A may be the smaller one
        if column in frame.columns and joint in effort_limits and len(frame) > 1:
            stiffness = np.trapezoid(frame[column].to_numpy(float), time_s)
            limits[i] = effort_limits[joint] * stiffness / (time_s[-1] - time_s[0])
    return limits


def draw_heat_figures(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    folder: Path,
    effort_limits: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write the figures of an experiment as PNG and SVG.

    Args:
        result: result of the experiment.
        frames: controller to the rows of its run (`sim.recording.run_folder.read_run`);
            a trial without rows is drawn as a line from its first to its last
            temperature.
        folder: folder of the files.
        effort_limits: joint to torque at stiffness 1 in N·m; None: those of the
            result's settings.

    Returns:
        The PNG files.

    Raises:
        WriteError: a file cannot be written.
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
        figure.set_layout_engine("none")  # computed once, not again for the second file
        save_figure(figure, folder / f"{name}.svg", title, settings)
    return [folder / f"{name}.png" for name in figures]


def panel_rows(result: HeatResult) -> dict[str, tuple[str, ...]]:
    """Return side to the joints of its row of panels."""
    if has_published_legs(result):
        return {s: tuple(s + joint for joint in LEG_JOINTS) for s in SIDES}
    return {"": shown_joints(result)[:MAX_JOINTS]}


def run_line(result: HeatResult) -> str:
    """Return the run's settings as one short line for the footer of a figure."""
    offsets = [f"{n} {a:+.2f}°" for n, a in result.misalignment_deg.items() if a]
    if len(offsets) > 3:
        largest = max(abs(a) for a in result.misalignment_deg.values())
        offsets = [f"{len(offsets)} joints by up to {largest:.2f}°"]
    parts = [f"{result.posture} for {result.minutes:g} min"]
    parts += [
        f"{key} {result.settings[key]}"
        for key in ("preset", "servo", "heating", "protection")
        if result.settings.get(key) is not None
    ]
    parts += [f"misaligned: {', '.join(offsets) or 'none'}", f"seed {result.seed}"]
    return " · ".join(parts)


def write_footer(
    figure: "Figure", result: HeatResult, remark: str | None = None
) -> None:
    """Write the run's settings small at the bottom, and a remark below them."""
    letters = int(20 * figure.get_size_inches()[0])
    lines = [run_line(result), *([] if remark is None else [remark])]
    figure.supxlabel(
        "\n".join(textwrap.fill(line, letters) for line in lines),
        fontsize=7,
        color=SOFT_INK,
        x=0.01,
        ha="left",
    )


def settings_of(result: HeatResult) -> dict[str, object]:
    """Return the settings that are needed to repeat the run."""
    return {
        "minutes": result.minutes,
        "posture": result.posture,
        "seed": result.seed,
        "controllers": list(result.trials),
        "misalignment_deg": result.misalignment_deg,
        "settings": result.settings,
    }
