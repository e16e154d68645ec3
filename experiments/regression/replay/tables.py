"""Tables and a figure of controllers' answers to one recording.

The tables have at most 100 columns on a terminal.

The figure shows the answers over time of the joints with the largest changes.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.table import Table

from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.experiments.common.drawing.style import (
    controller_colours,
    new_figure,
    panel_title,
    plain_frame,
    save_figure,
    time_axis,
)
from nao_testbed.experiments.regression.replay.answers import (
    ControllerAnswers,
    RecordedRun,
    ReplayResult,
    ShiftAnswers,
)
from nao_testbed.models.values import FloatArray

MAX_JUMPS = 3
"""Maximum number of jumps that are listed."""
MAX_ROWS = 12
"""Largest number of shown joints per controller."""


def replay_tables(result: ReplayResult) -> list[Table]:
    """Return the table of controllers, and a table of joints for each differing one.

    If no stiffness differs, that of the reference is shown.
    """
    reference = result.answers[result.reference]
    others = [
        one
        for one in result.answers.values()
        if one is not reference and one.joints and not one.is_identical
    ]
    stiffness = [
        _joints(reference, other) for other in others if other.largest_difference > 0.0
    ] or [_joints(reference)]
    shifts = [
        _shifts(other.controller, result.reference, other.shift, reference.shift)
        for other in others
        if other.shift and reference.shift and not other.shift.is_identical
    ]
    return [_controllers(result), *stiffness, *shifts]


def _controllers(result: ReplayResult) -> Table:
    title, notes = f"Controllers on {_text(result.run)}", "\n".join(_notes(result))
    table = plain_table(title, notes)
    table.add_column("controller", no_wrap=True)
    table.add_column(f"equal to {result.reference}", justify="right", no_wrap=True)
    shift = ("shift difference",) if result.has_shift else ()
    for name in ("rms", "largest", *shift, "median step", "99 % step"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("flags (observations)")
    for one in result.answers.values():
        is_reference = one.controller == result.reference
        table.add_row(
            one.controller,
            "" if is_reference else _same(one),
            "" if is_reference else _number(one.rms_difference),
            "" if is_reference else _number(one.largest_difference),
            *(("" if is_reference else _shift_difference(one),) if shift else ()),
            _time(one.step_us),
            _time(one.step_us_99),
            ", ".join(f"{name} {n}" for name, n in one.flags.items()),
        )
    return table


def _joints(
    reference: ControllerAnswers, other: ControllerAnswers | None = None
) -> Table:
    """Return the stiffness of the joints that differ most, or are stiffest."""
    shown = [reference] if other is None else [reference, other]
    heads = [head for one in shown for head in (f"{one.controller}, mean", "largest")]
    heads += [] if other is None else ["rms difference"]
    table = plain_table("Stiffness by joint", None, "joint", heads)
    newest = reference if other is None else other
    rows = sorted(
        newest.joints,
        key=lambda name: (newest.joints[name].rms_difference, newest.joints[name].mean),
        reverse=True,
    )
    if len(rows) > MAX_ROWS:
        table.caption = f"{len(rows) - MAX_ROWS} more joints are in the JSON."
    for name in rows[:MAX_ROWS]:
        cells = [
            _number(value)
            for one in shown
            for value in (one.joints[name].mean, one.joints[name].largest)
        ]
        if other is not None:
            cells.append(_number(other.joints[name].rms_difference))
        table.add_row(name, *cells)
    return table


def _shifts(
    name: str, reference_name: str, other: ShiftAnswers, reference: ShiftAnswers
) -> Table:
    """Return the shifts in degrees of the joints that differ most."""
    heads = [
        head for of in (reference_name, name) for head in (f"{of}, mean", "largest")
    ]
    title = "Set-point shift by joint, in °"
    table = plain_table(title, None, "joint", [*heads, "largest difference"])
    differ = [n for n, j in other.joints.items() if j.largest_difference_deg > 0.0]
    differ.sort(key=lambda n: other.joints[n].largest_difference_deg, reverse=True)
    if len(differ) > MAX_ROWS:
        table.caption = f"{len(differ) - MAX_ROWS} more joints are in the JSON."
    for joint in differ[:MAX_ROWS]:
        values = [
            value
            for one in (reference.joints[joint], other.joints[joint])
            for value in (one.mean_deg, one.largest_deg)
        ]
        values.append(other.joints[joint].largest_difference_deg)
        table.add_row(joint, *map(_number, values))
    return table


def _shift_difference(one: ControllerAnswers) -> str:
    shift = one.shift
    return "" if shift is None else f"{_number(shift.largest_difference_deg)}°"


def _same(one: ControllerAnswers) -> str:
    if one.is_identical:
        return "bit for bit"
    if one.first_difference_s is None:
        return "until it ended"
    return f"until {one.first_difference_s:.2f} s"


def _text(run: RecordedRun) -> str:
    return (
        f"{run.folder}: {run.observations} observations, {run.begin_s:.2f} to "
        f"{run.end_s:.2f} s, every {1e3 * run.period_s:g} ms"
    )


def _notes(result: ReplayResult) -> list[str]:
    """Return notes on the recording."""
    run, notes = result.run, []
    if not run.knows_shift:
        notes.append(
            "The recording has no set-point shifts: only stiffness is compared."
        )
    elif result.has_shift:
        notes.append(
            "Shift difference: the largest one of a set-point. A recording does not "
            "react: a shift changes no current."
        )
    if not run.is_exact:
        notes.append(
            "Recorded with seven digits: all controllers get the same input, rounded "
            "from that of the robot."
        )
    if run.state != "done":
        notes.append(f"The run: {run.state}; the replay covers its recorded part.")
    if n := run.damaged_events:
        lines = "1 line of the events is" if n == 1 else f"{n} lines of the events are"
        notes.append(f"{lines} damaged; the replay does not need them.")
    if run.jumps:
        jumps = [f"{a:.2f} to {b:.2f} s" for a, b in run.jumps[:MAX_JUMPS]]
        more = len(run.jumps) - MAX_JUMPS
        notes.append(
            f"Fast-forward from {', '.join(jumps)}"
            + (f" and {more} more times" if more > 0 else "")
            + ": no controller ran, and the clock jumps in the replay too."
        )
    return notes


def _number(value: float) -> str:
    return f"{value:.3f}" if value == 0.0 or abs(value) >= 1e-3 else f"{value:.1e}"


def _time(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} µs"


PANELS = 4
MAX_POINTS = 4000
"""Largest number of points of a line; more are invisible."""


def write_replay_figure(
    path: Path,
    result: ReplayResult,
    answers: Mapping[str, FloatArray],
    time_s: FloatArray,
    label: str = "stiffness (1)",
) -> Path:
    """Draw the joints whose answers vary most over time, and write the file.

    Args:
        path: path of the PNG file.
        result: the comparison.
        answers: controller to its stiffness or shifts, (m, n_joints), m >= 1; the
            reference is first.
        time_s: (n,) times of the observations in s.
        label: quantity of the answers, with unit.

    Raises:
        WriteError: the file cannot be written.
    """
    names = list(result.answers[result.reference].joints)
    spread = np.max([np.ptp(values, axis=0) for values in answers.values()], axis=0)
    joints = [names[j] for j in np.argsort(-spread, kind="stable")[:PANELS]]
    figure = new_figure(8.0, 1.4 + 1.5 * len(joints))
    panels = figure.subplots(len(joints), 1, sharex=True, squeeze=False)[:, 0]
    every = -(-len(time_s) // MAX_POINTS)
    for axes, joint in zip(panels, joints, strict=True):
        colours = controller_colours(answers)
        for i, (controller, values) in enumerate(answers.items()):
            axes.plot(
                time_s[: len(values) : every] / 60.0,
                values[::every, names.index(joint)],
                color=colours[controller],
                lw=3.0 if i == 0 else 0.9,
                alpha=0.5 if i == 0 else 1.0,
                label=controller,
            )
        panel_title(axes, joint)
        plain_frame(axes)
        axes.set_ylabel(label, fontsize=9)
    time_axis(panels[-1])
    panels[0].legend(
        frameon=False,
        fontsize=8,
        ncols=len(answers),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
    )
    settings = {"run": asdict(result.run), "controllers": list(result.answers)}
    title = f"{label.partition(' ')[0].capitalize()} on one recording"
    return save_figure(figure, path, title, settings)
