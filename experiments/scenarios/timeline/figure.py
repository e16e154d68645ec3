"""A scenario as one figure: who had what, what was played, what was said, how hot.

From the top: events; resources with their owners and, hatched, those who waited;
behaviours that compete; streams by unit with the starts of synchronous groups; the
temperatures of the hottest motors on the same time axis. `draw_timeline` writes it to
the run folder.

`waits_figure` shows how long each behaviour waited and had what it asked for, a bar a
request.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from controllers.arbitration.events import (
    Event,
    Expired,
    Frozen,
    Granted,
    Released,
    Requested,
    Revoked,
    StateChanged,
)
from controllers.arbitration.resource_tree import ResourceTree
from controllers.arbitration.tokens import TokenId
from experiments.closed_loop.behaviours import STIFFNESS_OWNER
from experiments.common.drawing.style import (
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
    save_figure,
)
from experiments.scenarios.scenario import Scenario
from experiments.scenarios.timeline.canvas import (
    BROKEN,
    STATE_COLOURS,
    Canvas,
    TimelineRow,
    owner_colours,
    resource_rows,
    row_of,
)
from experiments.scenarios.timeline.panels import (
    Mark,
    draw_marks,
    draw_outputs,
    draw_temperatures,
    frame_panels,
    level_marks,
    write_head,
    write_scenario,
)
from experiments.scenarios.timeline.spans import (
    Span,
    Wait,
    acting_spans,
    group_starts,
    holding_spans,
    state_spans,
    stream_spans,
)
from models.resources import DeviceKind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from experiments.scenarios.playing.runner import ScenarioRun


WIDTH, LEFT, RIGHT = 12.0, 1.6, 1.55
"""Of the figure and of its margins, in inches."""
TOP, MARK, FOOT, HEAT = 0.45, 0.17, 0.75, 1.9
"""Heights in inches: title, a line of event labels, foot, temperatures."""
LEAST = 0.4
"""Height of rows where nobody did anything, in inches."""


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
) -> list[TimelineRow]:
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


MOST_FAILURES = 6
"""That are marked; the table and the JSON have all."""


def draw_timeline(scenario: Scenario, run: "ScenarioRun", folder: Path) -> list[Path]:
    """Write `timeline.png` and `.svg` into a folder; return the PNG's path.

    Raises:
        BadInput: a file cannot be written.
    """
    marks = [
        Mark(time_s=tick * scenario.tick_s, text=event.action.in_words())
        for tick, event in run.happened
    ]
    marks += [
        Mark(time_s=one.time_s, text=f"✗ {one.what}", is_failure=True)
        for one in run.result.mishaps[:MOST_FAILURES]
    ]
    fell = ", the robot fell" if run.result.fell else ""
    figure = timeline_figure(
        scenario,
        run.events,
        run_temperatures(run),
        marks,
        end_s=run.result.sim_s,
        said=run.result.verdicts_in_words + fell,
        all_hold=run.result.all_hold,
    )
    settings = {
        "scenario": scenario.name,
        "file": scenario.path.name,
        "seed": scenario.seed,
        "controller": scenario.controller,
        "trace": run.result.trace_hash,
    }
    paths = [folder / "timeline.png", folder / "timeline.svg"]
    with warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for path in paths:
            save_figure(figure, path, f"Scenario {scenario.name}", settings)
    return paths[:1]


def run_temperatures(run: "ScenarioRun") -> "pd.DataFrame":
    """Return a run's temperatures: index time in s, a column a joint, in °C."""
    import pandas as pd  # noqa: PLC0415  # heavy

    index = pd.Index(run.times_s, name="time_s")
    joints = list(run.scenario.robot.joint_names)
    return pd.DataFrame(run.degc, index=index, columns=joints)


WAITS_WIDTH, WAITS_ROW_HEIGHT, WAITS_REST = 9.0, 0.42, 1.1
"""In inches."""


def waits_figure(
    waits: Sequence[Wait], held: Mapping[int, float], title: str
) -> "Figure":
    """Return bars of the time that each request waited (hatched) and had its leaves.

    Args:
        waits: the requests, the first at the top.
        held: request to the time in s for which it had what it got.
        title: the finding.
    """
    figure = new_figure(WAITS_WIDTH, WAITS_REST + WAITS_ROW_HEIGHT * max(1, len(waits)))
    axes = figure.subplots()
    colours = owner_colours([wait.owner for wait in waits], ())
    for row, wait in enumerate(waits):
        colour = colours[wait.owner]
        axes.barh(
            row,
            wait.waited_s,
            0.62,
            facecolor="white",
            edgecolor=colour,
            hatch="////",
            lw=0.8,
        )
        had = held.get(wait.request, 0.0)
        axes.barh(row, had, 0.62, left=wait.waited_s, color=colour)
        axes.annotate(
            _wait_words(wait, had),
            (wait.waited_s + had, row),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=SOFT_INK if wait.outcome == "granted" else BROKEN,
        )
    axes.set_yticks(range(len(waits)), [wait.owner for wait in waits])
    axes.invert_yaxis()
    longest = max((w.waited_s + held.get(w.request, 0.0) for w in waits), default=1.0)
    axes.set_xlim(0.0, 1.55 * longest)
    axes.set_xlabel(
        "time since it asked in s; hatched: waits, solid: has it", fontsize=9
    )
    plain_frame(axes)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.6)
    axes.tick_params(axis="y", labelsize=9, colors=INK, length=0)
    panel_title(axes, title)
    return figure


def held_times(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> dict[int, float]:
    """Return for each granted request how long its token lived, in s."""
    begun: dict[TokenId, tuple[int, int]] = {}
    held: dict[int, float] = {}
    for event in events:
        match event:
            case Granted(request=number, token=token):
                begun.setdefault(token, (number, event.tick))
            case (
                Released(token=token, is_whole=True)
                | Revoked(token=token, is_whole=True)
            ):
                _end_hold(begun, held, token, event.tick, tick_s)
            case Expired(token=token):
                _end_hold(begun, held, token, event.tick, tick_s)
            case _:
                pass
    for token in tuple(begun):
        _end_hold(begun, held, token, end_tick, tick_s)
    return held


def _end_hold(
    begun: dict[TokenId, tuple[int, int]],
    held: dict[int, float],
    token: TokenId,
    tick: int,
    tick_s: float,
) -> None:
    if token in begun:
        number, first = begun.pop(token)
        held[number] = (tick - first) * tick_s


def _wait_words(wait: Wait, had_s: float) -> str:
    behind = f" behind {', '.join(wait.behind)}" if wait.behind else ""
    if wait.outcome != "granted":
        return f"{wait.outcome.replace('_', ' ')} after {wait.waited_s:.1f} s{behind}"
    waited = f"waited {wait.waited_s:.1f} s{behind}" if wait.waited_s else "at once"
    return f"{waited}, had it {had_s:.1f} s"
