"""A scenario as one figure: who had what, what was played, what was said, how hot.

From the top: events; resources with their owners and, hatched, those who waited;
behaviours that compete; streams by unit with the starts of synchronous groups; the
temperatures of the hottest motors on the same time axis.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from controllers.resources.resource_tree import ResourceTree
from controllers.resources.trace import Event, Frozen, Granted, Requested
from experiments.report.figure_file import save_figure
from experiments.report.figure_style import (
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    plain_frame,
)
from experiments.report.timeline_canvas import Canvas
from experiments.report.timeline_colours import owner_colours
from experiments.report.timeline_marks import draw_marks, level_marks
from experiments.report.timeline_outputs import draw_outputs
from experiments.report.timeline_rows import Row, resource_rows, row_of
from experiments.report.timeline_spans import (
    Span,
    acting_spans,
    holding_spans,
    state_spans,
)
from experiments.report.timeline_streams import group_starts, stream_spans
from experiments.report.timeline_temperatures import draw_temperatures
from experiments.scenarios.plan import Scenario
from experiments.stiffness_owner import NAME as STIFFNESS_OWNER
from models.resource_node import DeviceKind

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from experiments.scenarios.run import ScenarioRun

WIDTH, LEFT, RIGHT = 12.0, 1.6, 1.55
"""Of the figure and of its margins, in inches."""
TOP, MARK, FOOT, HEAT = 0.45, 0.17, 0.75, 1.9
"""Heights in inches: title, a line of event labels, foot, temperatures."""
LEAST = 0.4
"""Height of rows where nobody did anything, in inches."""
MINUTES_FROM_S = 240.0
"""Runs of this length or more have minutes on the axis."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something that the scenario did to the robot."""

    time_s: float
    text: str


def draw_timeline(scenario: Scenario, run: "ScenarioRun", folder: Path) -> list[Path]:
    """Write `timeline.png` and `.svg` into a folder; return the PNG's path.

    Raises:
        BadInput: a file cannot be written.
    """
    marks = [
        Mark(time_s=tick * scenario.tick_s, text=mark_text(event.text))
        for tick, event in run.happened
    ]
    held = sum(verdict.holds for verdict in run.result.verdicts)
    figure = timeline_figure(
        scenario,
        run.events,
        run_temperatures(run),
        marks,
        end_s=run.result.sim_s,
        said=f"{held} of {len(run.result.verdicts)} expectations hold",
    )
    settings = {
        "scenario": scenario.name,
        "file": scenario.path.name,
        "seed": scenario.seed,
        "controller": scenario.controller,
        "trace": run.result.trace_hash,
    }
    paths = [folder / "timeline.png", folder / "timeline.svg"]
    for path in paths:
        save_figure(figure, path, f"Scenario {scenario.name}", settings)
    return paths[:1]


def timeline_figure(
    scenario: Scenario,
    events: Sequence[Event],
    temperatures: "pd.DataFrame | None" = None,
    marks: Sequence[Mark] = (),
    *,
    end_s: float | None = None,
    said: str = "",
) -> "Figure":
    """Return the figure of a run.

    Args:
        scenario: whose robot, names and length.
        events: the trace.
        temperatures: index time in s, a column a joint, in °C; None: no such panel.
        marks: what the scenario did, at its times.
        end_s: where the run ended; None: the scenario's length.
        said: at the right of the title.
    """
    end = scenario.duration_s if end_s is None else end_s
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
    draw_marks(panels, marks, levels, MARK, canvas.y)
    _frame(panels, end)
    _write_around(figure, scenario, canvas, said, height)
    return figure


def run_temperatures(run: "ScenarioRun") -> "pd.DataFrame":
    """Return a run's temperatures: index time in s, a column a joint, in °C."""
    import pandas as pd  # noqa: PLC0415  # heavy

    index = pd.Index(run.times_s, name="time_s")
    joints = list(run.scenario.robot.joint_names)
    return pd.DataFrame(run.degc, index=index, columns=joints)


def mark_text(text: str) -> str:
    """Return what an event does, in few words, of its line in the file."""
    words = [
        part
        for part in text.replace("{", "").replace("}", "").split(", ")
        if not part.startswith(("at_s:", "name:", "when:", "after_s:"))
    ]
    return " ".join(words).replace(":", "")


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
    for event in events:
        if isinstance(event, Requested | Granted):
            names.append(event.owner)
        elif isinstance(event, Frozen):
            virtual.append(event.by)
    return owner_colours(names, virtual)


def _frame(panels: "Sequence[Axes]", end_s: float) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415  # heavy

    is_long = end_s >= MINUTES_FROM_S
    for axes in panels:
        plain_frame(axes)
        axes.set_xlim(0.0, end_s)
        axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.5)
        if is_long:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda s, _: f"{s / 60.0:g}"))
            step = max(1, round(end_s / 60.0 / 10.0)) * 60.0
            axes.set_xticks([i * step for i in range(int(end_s / step) + 1)])
        else:
            axes.xaxis.set_major_locator(MaxNLocator(nbins=12, steps=[1, 2, 5, 10]))
    rows = panels[0]
    rows.set_yticks([])
    rows.grid(visible=False, axis="y")
    rows.spines["left"].set_visible(False)
    if len(panels) > 1:
        rows.tick_params(labelbottom=False)
    panels[-1].set_xlabel(f"time in {'minutes' if is_long else 's'}", fontsize=9)


def _write_around(
    figure: "Figure", scenario: Scenario, canvas: Canvas, said: str, height: float
) -> None:
    """Title, verdicts, foot, and a legend for names that found no room in a bar."""
    top = 1.0 - 0.2 / height
    left, right = LEFT / WIDTH, 1.0 - RIGHT / WIDTH
    figure.text(
        left, top, scenario.name, fontsize=12, fontweight="bold", color=INK, va="center"
    )
    figure.text(right, top, said, fontsize=9, color=SOFT_INK, ha="right", va="center")
    foot = (
        f"{scenario.path.name} · {scenario.robot.name} from {scenario.posture} · "
        f"{scenario.duration_s:g} s · controller {scenario.controller} · "
        f"seed {scenario.seed} · hatched: waits"
    )
    figure.text(left, 0.12 / height, foot, fontsize=7, color=SOFT_INK, va="center")
    canvas.legend(figure, 0.30 / height)
