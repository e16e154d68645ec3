"""Figure of a scenario: holders, streams, speech and temperatures over time.

From the top: events; resources with their owners and, hatched, their waiters; competing
behaviours; streams by unit with the starts of synchronous groups; the temperatures of
the hottest motors on the same time axis. `draw_timeline` writes it to the run folder.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nao_testbed.controllers.arbitration.events import (
    Event,
    Frozen,
    Granted,
    Requested,
    StateChanged,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.experiments.common.drawing.style import (
    FAINT_INK,
    INK,
    SOFT_INK,
    is_right,
    joint_colours,
    new_figure,
    plain_frame,
    save_figure,
    spread_labels,
    time_axis,
    time_ticks,
)
from nao_testbed.experiments.heat.figures.temperatures import MAX_POINTS
from nao_testbed.experiments.scenarios.playing.result import TIMELINE
from nao_testbed.experiments.scenarios.scenario import Scenario
from nao_testbed.experiments.scenarios.timeline.rows import (
    BROKEN,
    LEFT,
    LETTER,
    PANEL,
    SIZE,
    STATE_COLOURS,
    WIDTH,
    DrawnRows,
    TimelineRow,
    draw_outputs,
    owner_colours,
    resource_rows,
    row_of,
)
from nao_testbed.experiments.scenarios.timeline.spans import (
    Span,
    acting_spans,
    holding_spans,
    state_spans,
)
from nao_testbed.experiments.scenarios.vocabulary.expectations import (
    TemperatureExpectation,
)
from nao_testbed.experiments.shared_robot.behaviours import STIFFNESS_OWNER
from nao_testbed.models.resources import DeviceKind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nao_testbed.experiments.scenarios.playing.runner import ScenarioRun


TOP, MARK, FOOT, HEAT, BETWEEN = 0.45, 0.17, 0.75, 1.9, 0.15
"""Heights in inches: title, a line of event labels, footer, temperatures, gap."""
LEAST = 0.4
"""Height of rows without any bar, in inches."""
DASHES = (0, (3, 3))


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Event of the scenario, or failure, at a time."""

    time_s: float
    text: str
    is_failure: bool = False
    """True for a failure, False for an intended event."""

    @property
    def colour(self) -> str:
        """Colour of the line and its label."""
        return BROKEN if self.is_failure else SOFT_INK


MAX_LEVELS = 4
"""Maximum lines of labels; a mark without room for a label is only a line."""
MAX_LETTERS = 56
"""Maximum letters of a label."""


def label_span(mark: Mark, duration_s: float, width: float) -> tuple[float, float]:
    """Return start and end of a label, in inches from the panel's left edge.

    A label starts at its mark; near the right edge it ends at its mark instead.
    """
    at = mark.time_s / duration_s * width
    length = (min(len(mark.text), MAX_LETTERS) + 2) * LETTER * SIZE
    is_late = at + length > width and at >= length
    return (at - length, at) if is_late else (at, at + length)


def level_marks(marks: Sequence[Mark], duration_s: float, width: float) -> list[int]:
    """Return the line of each label, 0 the lowest; -1: no room.

    Args:
        marks: marks in any order.
        duration_s: duration of the panel, in s.
        width: width of the panel, in inches.
    """
    ends = [0.0] * MAX_LEVELS
    levels = [-1] * len(marks)
    spans = [label_span(mark, duration_s, width) for mark in marks]
    for i in sorted(range(len(marks)), key=lambda i: spans[i]):
        start, end = spans[i]
        levels[i] = next((k for k, taken in enumerate(ends) if taken <= start), -1)
        if levels[i] >= 0:
            ends[levels[i]] = end
    return levels


def _draw_marks(panels: "Sequence[Axes]", marks: Sequence[Mark], end_s: float) -> float:
    """Draw a line through all panels for each mark, with a label above the first panel.

    Returns:
        Height of the labels in inches.
    """
    levels = level_marks(marks, end_s, PANEL)
    for mark, level in zip(marks, levels, strict=True):
        for axes in panels:
            axes.axvline(mark.time_s, color=mark.colour, lw=0.7, ls=DASHES, zorder=0.9)
        if level < 0:
            continue
        text = mark.text
        at = mark.time_s / end_s * PANEL
        is_left = label_span(mark, end_s, PANEL)[0] < at
        panels[0].annotate(
            text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 1]}…",
            (mark.time_s, 1.0),
            (-1 if is_left else 1, 72.0 * MARK * level + 3.0),
            xycoords=panels[0].get_xaxis_transform(),
            textcoords="offset points",
            fontsize=SIZE,
            color=mark.colour,
            ha="right" if is_left else "left",
            va="bottom",
            annotation_clip=False,
            bbox={"fc": "white", "lw": 0.0, "pad": 0.6},
            arrowprops={"arrowstyle": "-", "color": mark.colour, "ls": DASHES}
            if level
            else None,
            zorder=5,
        )
    return MARK * (1 + max(levels, default=-1)) + 0.05


def _draw_rows(rows: DrawnRows, scenario: Scenario, events: Sequence[Event]) -> None:
    tree = ResourceTree(scenario.robot.resources)
    tick_s, end = scenario.tick_s, round(rows.end_s / scenario.tick_s)
    held = holding_spans(events, tick_s, end)
    shown, left_out = resource_rows(_requested_rows(held, tree), tree)
    shown += [row_of(name, s) for name, s in state_spans(events, tick_s, end).items()]
    acting = _competing(acting_spans(events, tick_s, end), held)
    for heading, some in (("resources", shown), ("behaviours", acting)):
        if some:
            rows.heading(heading)
        for row in some:
            rows.row(row)
        if left_out and some is shown:
            rows.heading(f"and {left_out} more rows")
    draw_outputs(rows, events, tick_s, scenario.library)


def _requested_rows(
    held: Mapping[str, Sequence[Span]], tree: ResourceTree
) -> dict[str, Sequence[Span]]:
    """Remove torque limits that only the stiffness controller requested."""

    def is_limit(leaf: str) -> bool:
        device = tree.node(leaf).device if leaf in tree else None
        return device is not None and device.kind is DeviceKind.STIFFNESS

    return {
        leaf: spans
        for leaf, spans in held.items()
        if not is_limit(leaf) or any(span.name != STIFFNESS_OWNER for span in spans)
    }


def _competing(
    acting: Mapping[str, Sequence[Span]], held: Mapping[str, Sequence[Span]]
) -> list[TimelineRow]:
    """Return rows of behaviours that are not shown as owners, by parent."""
    owners = {span.name for spans in held.values() for span in spans}
    levels: dict[str, list[Span]] = {}
    for path, spans in acting.items():
        above = path.rpartition("/")[0]
        if above or path not in owners:
            levels.setdefault(above, []).extend(spans)
    return [
        row_of(parent or "top level", sorted(spans, key=lambda s: s.start_s))
        for parent, spans in sorted(levels.items())
    ]


def _colours(events: Iterable[Event], scenario: Scenario) -> dict[str, str]:
    names = [behaviour.path for behaviour in scenario.walk()]
    virtual = []
    states: dict[str, str] = {}
    for event in events:
        if isinstance(event, Requested | Granted):
            names.append(event.owner)
        elif isinstance(event, Frozen):
            virtual.append(event.by)
        elif isinstance(event, StateChanged) and event.active is not None:
            grey = STATE_COLOURS[len(states) % len(STATE_COLOURS)]
            states.setdefault(event.active, grey)
    return states | owner_colours(names, virtual)


MAX_CURVES = 5
LABEL_HEIGHT = 0.095
"""Height of a label at the end of a curve, over the panel's height."""


def _draw_temperatures(
    axes: "Axes", frame: "pd.DataFrame", scenario: Scenario, end_s: float
) -> None:
    """Draw the hottest joints, one per motor, each labelled at its end."""
    peaks = frame.max().sort_values(ascending=False, kind="stable")
    motor = {joint.name: joint.motor for joint in scenario.robot.joints}
    of_motor: dict[str, str] = {}
    for joint in peaks.index:
        of_motor.setdefault(motor.get(joint, joint), joint)
    joints = list(of_motor.values())[:MAX_CURVES]
    step = max(1, len(frame) // MAX_POINTS)
    keep = np.unique([*range(0, len(frame), step), len(frame) - 1])
    curves = frame[joints].iloc[keep]
    limits = _expected_limits(scenario, joints)
    values = np.array([*curves.to_numpy(float).ravel(), *limits])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = max(1.0, 0.08 * (high - low))
    axes.set_ylim(low - pad, high + pad)
    for limit in limits:
        axes.axhline(limit, color=INK, lw=0.8, ls=(0, (4, 3)))
    ends = curves.iloc[-1].to_numpy(float)
    heights = spread_labels(list(ends), LABEL_HEIGHT * (high - low + 2.0 * pad))
    colours = joint_colours(joints)
    for joint, end, height in zip(joints, ends, heights, strict=True):
        colour, line = colours[joint], (0, (4, 1.5)) if is_right(joint) else "-"
        axes.plot(curves.index, curves[joint], color=colour, lw=1.6, ls=line)
        label, at = f"{joint} {end:.1f} °C", (end_s * 1.012, float(height))
        axes.text(*at, label, fontsize=7.5, color=colour, va="center")
    axes.set_ylabel("Temperature (°C)", fontsize=9, color=SOFT_INK)


def _expected_limits(scenario: Scenario, joints: Iterable[str]) -> list[float]:
    limits = {
        limit
        for one in scenario.expectations
        if isinstance(one, TemperatureExpectation) and set(one.joints) & set(joints)
        for limit in (one.degc_below, one.degc_above)
        if limit is not None
    }
    return sorted(limits)


def _frame_panels(panels: "Sequence[Axes]", rows: DrawnRows) -> None:
    """Set one time axis for all panels, and label the rows."""
    from matplotlib.ticker import FuncFormatter  # noqa: PLC0415  # heavy

    for axes in panels:
        plain_frame(axes)
        axes.set_xlim(0.0, rows.end_s)
        axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.5)
        axes.tick_params(labelbottom=axes is panels[-1])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda s, _: f"{s / 60.0:.4g}"))
        axes.set_xticks(60.0 * time_ticks(rows.end_s / 60.0, 10))
    rows.axes.set_ylim(rows.y, 0.0)
    rows.axes.grid(visible=False, axis="y")
    rows.axes.spines["left"].set_visible(False)
    heights = [height for height, _, _ in rows.labels]
    rows.axes.set_yticks(heights, [text for _, text, _ in rows.labels])
    rows.axes.tick_params(axis="y", length=0)
    for tick, (_, _, is_heading) in zip(
        rows.axes.get_yticklabels(), rows.labels, strict=True
    ):
        tick.set(fontweight="bold" if is_heading else "normal")
    time_axis(panels[-1])


def timeline_figure(
    scenario: Scenario,
    events: Sequence[Event],
    temperatures: "pd.DataFrame | None" = None,
    marks: Sequence[Mark] = (),
    *,
    end_s: float | None = None,
    said: str = "",
    all_hold: bool = True,
) -> "Figure":
    """Return the figure of a run.

    Args:
        scenario: scenario with robot, names and length.
        events: the trace.
        temperatures: index time in s, one column per joint in °C; None: no such panel.
        marks: events of the scenario, at their times.
        end_s: end of the run; None: the scenario's length.
        said: text at the right of the title.
        all_hold: True if all expectations hold.
    """
    from matplotlib import rc_context  # noqa: PLC0415  # heavy
    from matplotlib.patches import Patch  # noqa: PLC0415  # heavy

    end_s = scenario.duration_s if end_s is None else end_s
    with rc_context({"text.parse_math": False}):  # names may contain dollar signs
        figure = new_figure(WIDTH, 4.0)
        figure.set_layout_engine("none")
        has_heat = temperatures is not None and not temperatures.empty
        panels = list(figure.subplots(1 + has_heat, squeeze=False)[:, 0])
        rows = DrawnRows(
            axes=panels[0], end_s=end_s, colours=_colours(events, scenario)
        )
        _draw_rows(rows, scenario, events)
        rows.y = max(rows.y, LEAST)
        if has_heat and temperatures is not None:
            _draw_temperatures(panels[1], temperatures, scenario, end_s)
        _frame_panels(panels, rows)
        head = TOP + _draw_marks(panels, marks, end_s)
        heat = HEAT + BETWEEN if has_heat else 0.0
        height = head + rows.y + heat + FOOT
        figure.set_size_inches(WIDTH, height)
        left, width = LEFT / WIDTH, PANEL / WIDTH
        bottom = (FOOT + heat) / height
        panels[0].set_position((left, bottom, width, rows.y / height))
        panels[-1].set_position(
            (left, FOOT / height, width, HEAT / height)
            if has_heat
            else panels[0].get_position()
        )
        top = 1.0 - 0.2 / height
        title: dict[str, Any] = {
            "fontsize": 12,
            "fontweight": "bold",
            "color": INK,
            "va": "center",
        }
        figure.text(left, top, scenario.name, **title)
        colour = SOFT_INK if all_hold else BROKEN
        verdicts: dict[str, Any] = {
            "fontsize": 9,
            "color": colour,
            "ha": "right",
            "va": "center",
        }
        figure.text(left + width, top, said, **verdicts)
        foot = (
            f"{scenario.path.name} · {scenario.robot.name} from {scenario.posture} · "
            f"{scenario.duration_s:g} s · controller {scenario.controller} · seed "
            f"{scenario.seed} · hatched: waiting"
        )
        figure.text(left, 0.06 / height, foot, fontsize=SIZE, color=SOFT_INK)
        figure.legend(
            handles=[
                Patch(color=colour, label=name)
                for name, colour in rows.drawn.items()
                if name not in rows.named
            ],
            loc="lower left",
            bbox_to_anchor=(left, 0.16 / height),
            ncols=8,
            fontsize=SIZE,
            frameon=False,
            borderpad=0.0,
            borderaxespad=0.0,
        )
    return figure


MAX_FAILURES = 6
"""Maximum number of marked failures; the table and the JSON have all."""


def draw_timeline(scenario: Scenario, run: "ScenarioRun", folder: Path) -> list[Path]:
    """Write `timeline.png` and `.svg` into a folder; return the PNG's path.

    Raises:
        BadInput: a file cannot be written.
    """
    marks = [
        Mark(time_s=tick * scenario.tick_s, text=event.label())
        for tick, event in run.happened
    ]
    marks += [
        Mark(time_s=one.time_s, text=f"✗ {one.what}", is_failure=True)
        for one in run.result.failures[:MAX_FAILURES]
    ]
    fell = ", the robot fell" if run.result.fell else ""
    figure = timeline_figure(
        scenario,
        run.events,
        run_temperatures(run),
        marks,
        end_s=run.result.sim_s,
        said=run.result.verdict_summary + fell,
        all_hold=run.result.all_hold,
    )
    settings = {
        "scenario": scenario.name,
        "file": scenario.path.name,
        "seed": scenario.seed,
        "controller": scenario.controller,
        "trace": run.result.trace_hash,
    }
    paths = [folder / "timeline.png", folder / TIMELINE]
    with warnings.catch_warnings():
        # Matplotlib draws a box for a character that the font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for path in paths:
            save_figure(figure, path, f"Scenario {scenario.name}", settings)
    return paths[:1]


def run_temperatures(run: "ScenarioRun") -> "pd.DataFrame":
    """Return a run's temperatures in °C: index time in s, one column per joint."""
    import pandas as pd  # noqa: PLC0415  # heavy

    index = pd.Index(run.times_s, name="time_s")
    joints = list(run.scenario.robot.joint_names)
    return pd.DataFrame(run.degc, index=index, columns=joints)
