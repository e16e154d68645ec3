"""A scenario as one figure: who had what, what was played, what was said, how hot.

From the top: events; resources with their owners and, hatched, those who waited;
behaviours that compete; streams by unit with the starts of synchronous groups; the
temperatures of the hottest motors on the same time axis.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controllers.resources.resource_tree import ResourceTree
from controllers.resources.trace import (
    Event,
    Frozen,
    Granted,
    Requested,
    StateChanged,
)
from experiments.coupled.stiffness_owner import NAME as STIFFNESS_OWNER
from experiments.report.figure_style import (
    new_figure,
)
from experiments.report.timeline.canvas import Canvas
from experiments.report.timeline.colours import STATE_COLOURS, owner_colours
from experiments.report.timeline.frame import (
    frame_panels,
    write_head,
    write_scenario,
)
from experiments.report.timeline.marks import draw_marks, level_marks
from experiments.report.timeline.outputs import draw_outputs
from experiments.report.timeline.rows import Row, resource_rows, row_of
from experiments.report.timeline.spans import (
    Span,
    acting_spans,
    holding_spans,
    state_spans,
)
from experiments.report.timeline.streams import group_starts, stream_spans
from experiments.report.timeline.temperatures import draw_temperatures
from experiments.scenarios.plan.scenario import Scenario
from models.resource_node import DeviceKind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT = 12.0, 1.6, 1.55
"""Of the figure and of its margins, in inches."""
TOP, MARK, FOOT, HEAT = 0.45, 0.17, 0.75, 1.9
"""Heights in inches: title, a line of event labels, foot, temperatures."""
LEAST = 0.4
"""Height of rows where nobody did anything, in inches."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something that the scenario did to the robot, or that went wrong."""

    time_s: float
    text: str
    is_mishap: bool = False
    """Whether it went wrong, rather than was done on purpose."""


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
        scenario: whose robot, names and length.
        events: the trace.
        temperatures: index time in s, a column a joint, in °C; None: no such panel.
        marks: what the scenario did, at its times.
        end_s: where the run ended; None: the scenario's length.
        said: at the right of the title.
        all_hold: whether that is good news.
    """
    from matplotlib import rc_context  # noqa: PLC0415  # heavy

    end = scenario.duration_s if end_s is None else end_s
    with rc_context({"text.parse_math": False}):  # names may hold dollar signs
        return _drawn(scenario, events, temperatures, marks, end, said, all_hold)


def _drawn(
    scenario: Scenario,
    events: Sequence[Event],
    temperatures: "pd.DataFrame | None",
    marks: Sequence[Mark],
    end: float,
    said: str,
    all_hold: bool,
) -> "Figure":
    width = WIDTH - LEFT - RIGHT
    levels = level_marks(marks, end, width)
    figure = new_figure(WIDTH, 4.0)
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    colours = _colours(events, scenario)
    canvas = Canvas(axes=axes, duration_s=end, width=width, colours=colours)
    _draw_rows(canvas, scenario, events, end)
    canvas.y = max(canvas.y, LEAST)
    heat = 0.0 if temperatures is None or temperatures.empty else HEAT
    room = MARK * (1 + max(levels, default=-1)) + 0.05
    height = TOP + room + canvas.y + heat + FOOT + (0.15 if heat else 0.0)
    figure.set_size_inches(WIDTH, height)
    bottom = (FOOT + heat + (0.15 if heat else 0.0)) / height
    axes.set_position((LEFT / WIDTH, bottom, width / WIDTH, canvas.y / height))
    axes.set_ylim(canvas.y, 0.0)
    panels = [axes]
    if heat and temperatures is not None:
        place = (LEFT / WIDTH, FOOT / height, width / WIDTH, heat / height)
        panels.append(figure.add_axes(place))
        draw_temperatures(panels[-1], temperatures, scenario, end)
    draw_marks(panels, marks, levels, end, MARK, (width, canvas.y))
    frame_panels(panels, end)
    ends = (LEFT / WIDTH, 1.0 - RIGHT / WIDTH)
    write_head(figure, scenario.name, said, ends, all_hold=all_hold)
    write_scenario(figure, scenario, ends[0])
    canvas.legend(figure, 0.30 / height)
    return figure


def _draw_rows(
    canvas: Canvas, scenario: Scenario, events: Sequence[Event], end_s: float
) -> None:
    tree = ResourceTree(scenario.robot.resources)
    tick_s = scenario.tick_s
    end = round(end_s / tick_s)
    held = holding_spans(events, tick_s, end)
    rows, left_out = resource_rows(_shown(held, tree), tree)
    states = [row_of(group, s) for group, s in state_spans(events, tick_s, end).items()]
    if rows or states:
        canvas.heading("resources")
        for row in (*rows, *states):
            canvas.row(row)
    if left_out:
        canvas.heading(f"and {left_out} more rows")
    acting = _competing(acting_spans(events, tick_s, end), held)
    if acting:
        canvas.heading("behaviours")
        for row in acting:
            canvas.row(row)
    streams = stream_spans(events, tick_s, end)
    if streams:
        canvas.heading("outputs")
        draw_outputs(canvas, streams, group_starts(events, tick_s), scenario.library)


def _shown(
    held: Mapping[str, Sequence[Span]], tree: ResourceTree
) -> dict[str, Sequence[Span]]:
    """Leave out torque limits that nobody but the stiffness controller asked for."""
    return {
        leaf: spans
        for leaf, spans in held.items()
        if not _is_stiffness(leaf, tree)
        or any(span.name != STIFFNESS_OWNER for span in spans)
    }


def _is_stiffness(leaf: str, tree: ResourceTree) -> bool:
    device = tree.node(leaf).device if leaf in tree else None
    return device is not None and device.kind is DeviceKind.STIFFNESS


def _competing(
    acting: Mapping[str, Sequence[Span]], held: Mapping[str, Sequence[Span]]
) -> list[Row]:
    """Return rows of behaviours that are not to be seen as owners, by parent."""
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
