"""Panels of a timeline beside the resources, and what stands around them.

- marks: labels of events, in as few lines as keep them apart;
- outputs: what was played, in a row for each unit; synchronous groups start at one
  line;
- temperatures: the hottest motors over time, with the limits that are expected;
- frame: axes, title, verdicts, foot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from controllers.transmitter.receipt import EndReason
from experiments.common.drawing.style import (
    COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    plain_frame,
    spread_labels,
)
from experiments.heat.figures.temperatures import MOST_POINTS
from experiments.scenarios.scenario import Scenario
from experiments.scenarios.timeline.canvas import (
    BAR,
    BROKEN,
    LETTER,
    OWNER_COLOURS,
    THIN,
    Canvas,
    lanes,
)
from experiments.scenarios.timeline.spans import GroupStart, Span, SpanKind, StreamSpan
from experiments.scenarios.vocabulary.expectations import TemperatureExpectation
from models.library import Library, Unit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DASHES = (0, (3, 3))
SIZE = 7.0
"""Of the letters, in points."""
MOST_LEVELS = 4
"""Lines of labels; what has no room in them is only a line in the panels."""
LONGEST = 56
"""Letters of a label."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Something that the scenario did to the robot, or that went wrong."""

    time_s: float
    text: str
    is_failure: bool = False
    """Whether it went wrong, rather than was done on purpose."""


def label_span(mark: Mark, duration_s: float, width: float) -> tuple[float, float]:
    """Return where a label begins and ends, in inches from the panel's left edge.

    It begins at its mark. Where it would run out of the panel it ends there instead.
    """
    at = mark.time_s / duration_s * width
    length = (min(len(mark.text), LONGEST) + 2) * LETTER * SIZE
    is_late = at + length > width and at >= length
    return (at - length, at) if is_late else (at, at + length)


def level_marks(marks: Sequence[Mark], duration_s: float, width: float) -> list[int]:
    """Return the line of each label, 0 the lowest; MOST_LEVELS or more: no room.

    Args:
        marks: in any order.
        duration_s: of the panel, in s.
        width: of the panel, in inches.
    """
    ends: list[float] = []
    levels = [0] * len(marks)
    spans = [label_span(mark, duration_s, width) for mark in marks]
    for i in sorted(range(len(marks)), key=lambda i: spans[i]):
        start, end = spans[i]
        level = next((k for k, e in enumerate(ends) if e <= start), len(ends))
        levels[i] = min(level, MOST_LEVELS)
        if level < MOST_LEVELS:
            ends[level : level + 1] = [end]
    return [level if level < MOST_LEVELS else -1 for level in levels]


def draw_marks(
    panels: "Sequence[Axes]",
    marks: Sequence[Mark],
    levels: Sequence[int],
    duration_s: float,
    line: float,
    size: tuple[float, float],
) -> None:
    """Draw a line through all panels for each mark, its label above the first.

    Args:
        panels: from the top.
        marks: as `level_marks` got them.
        levels: as it returned them.
        duration_s: of the panels, in s.
        line: height of a line of labels, in inches.
        size: width and height of the first panel, in inches.
    """
    width, height = size
    for mark, level in zip(marks, levels, strict=True):
        colour = BROKEN if mark.is_failure else SOFT_INK
        for axes in panels:
            axes.axvline(mark.time_s, color=colour, lw=0.7, ls=DASHES, zorder=0.9)
        if level < 0:
            continue
        text = mark.text
        is_left = (
            label_span(mark, duration_s, width)[0] < mark.time_s / duration_s * width
        )
        panels[0].annotate(
            text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…",
            (mark.time_s, 1.0),
            (-1 if is_left else 1, 72.0 * line * level + 3.0),
            xycoords=panels[0].get_xaxis_transform(),
            textcoords="offset points",
            fontsize=SIZE,
            color=colour,
            ha="right" if is_left else "left",
            va="bottom",
            annotation_clip=False,
            bbox={"fc": "white", "lw": 0.0, "pad": 0.6},
            zorder=5,
        )
        panels[0].plot(
            [mark.time_s] * 2,
            [1.0, 1.0 + line * level / height],
            color=colour,
            lw=0.7,
            ls=DASHES,
            transform=panels[0].get_xaxis_transform(),
            clip_on=False,
        )


WELL = frozenset({None, EndReason.DONE, EndReason.REPLACED})
"""Ends of a stream that nobody need look at."""
INDEPENDENT = "#9aa4ae"
"""Colour of streams of no group."""


def draw_outputs(
    canvas: Canvas,
    streams: Sequence[StreamSpan],
    starts: Sequence[GroupStart],
    library: Library,
) -> None:
    """Draw the streams of each unit: hatched while they wait, then what they play.

    Args:
        canvas: where.
        streams: of all units.
        starts: of synchronous groups.
        library: with the colours of light patterns.
    """
    groups = dict.fromkeys(s.group for s in streams if s.group is not None)
    tint = {
        group: OWNER_COLOURS[-1 - i % len(OWNER_COLOURS)]
        for i, group in enumerate(groups)
    }
    top = canvas.y
    for unit in Unit:
        of_unit = [s for s in streams if s.unit is unit]
        if not of_unit:
            continue
        begin = canvas.y
        for lane in lanes(of_unit, lambda s: (s.received_s, s.end_s)):
            canvas.begins = [stream.received_s for stream in lane]
            for stream in lane:
                _draw_stream(canvas, stream, tint, library)
            canvas.y += BAR + 0.02
        canvas.next_row(begin, unit.value)
    free = 0.0
    for start in starts:
        canvas.axes.plot(
            [start.time_s] * 2, [top - 0.06, canvas.y], color=INK, lw=1.4, zorder=4
        )
        if start.time_s < free:
            continue  # the label before it is still there
        text = f"▾ {start.group}"
        free = start.time_s + canvas.seconds((len(text) + 1) * LETTER * 7.0)
        canvas.axes.text(
            start.time_s,
            top - 0.08,
            text,
            fontsize=7,
            color=INK,
            ha="left",
            va="bottom",
        )


def _draw_stream(
    canvas: Canvas, stream: StreamSpan, tint: dict[str, str], library: Library
) -> None:
    colour = INDEPENDENT if stream.group is None else tint[stream.group]
    start = stream.end_s if stream.start_s is None else stream.start_s
    if start > stream.received_s:
        waits = (stream.received_s, start - stream.received_s)
        canvas.axes.broken_barh(
            [waits],
            (canvas.y + 0.5 * (BAR - THIN), THIN),
            facecolor="white",
            edgecolor=colour,
            hatch="/////",
            lw=0.6,
        )
    if stream.start_s is not None:
        _draw_playing(canvas, stream, stream.start_s, colour, library)
    if stream.reason is not None and stream.reason not in WELL:
        canvas.axes.plot(stream.end_s, canvas.y + 0.5 * BAR, "x", color=BROKEN, ms=5)
        why = stream.reason.value
        text = f"{stream.label}: {why}" if start == stream.end_s else why
        _write_beside(canvas, stream, text, BROKEN)


def _draw_playing(
    canvas: Canvas, stream: StreamSpan, start_s: float, colour: str, library: Library
) -> None:
    pattern = library.lights.get(stream.label)
    if stream.unit is Unit.LIGHT and pattern is not None:
        canvas.strip(pattern, start_s, stream.end_s)
        _write_beside(canvas, stream, stream.label)
        return
    text = f"“{stream.label}”" if stream.unit is Unit.SOUND else stream.label
    span = Span(
        name=stream.label, start_s=start_s, end_s=stream.end_s, kind=SpanKind.HOLDS
    )
    has_room = canvas.bar(span, BAR, text, colour)
    if not has_room and stream.reason in WELL:
        _write_beside(canvas, stream, text)


def _write_beside(
    canvas: Canvas, stream: StreamSpan, text: str, colour: str = SOFT_INK
) -> None:
    """Write at the right of a bar, unless the next one is there."""
    room = canvas.seconds(LETTER * 7.0 * (len(text) + 1))
    if canvas.free_until(stream.end_s) < stream.end_s + room:
        return
    canvas.axes.text(
        stream.end_s + canvas.seconds(0.05),
        canvas.y + 0.5 * BAR,
        text,
        fontsize=7,
        color=colour,
        va="center_baseline",
    )


MOST_CURVES = 5
LABEL_HEIGHT = 0.095
"""Of a label at the end of a curve, over the panel's height."""


def draw_temperatures(
    axes: "Axes", frame: "pd.DataFrame", scenario: Scenario, end_s: float
) -> None:
    """Draw the joints that were hottest, each named at its end.

    Args:
        axes: where.
        frame: index time in s, a column a joint, in °C.
        scenario: with expected limits.
        end_s: of the run.
    """
    motors = dict.fromkeys(frame.columns)
    peaks = frame[list(motors)].max().sort_values(ascending=False, kind="stable")
    joints = _one_a_motor(list(peaks.index), scenario)[:MOST_CURVES]
    step = max(1, len(frame) // MOST_POINTS)
    keep = np.unique([*range(0, len(frame), step), len(frame) - 1])
    time_s = frame.index.to_numpy(float)[keep]
    curves = {joint: frame[joint].to_numpy(float)[keep] for joint in joints}
    limits = _limits(scenario, joints)
    values = np.concatenate([*curves.values(), np.array(limits or [np.nan])])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = max(1.0, 0.08 * (high - low))
    axes.set_ylim(low - pad, high + pad)
    for limit in limits:
        axes.axhline(limit, color=INK, lw=0.8, ls=(0, (4, 3)))
    ends = [float(curve[-1]) for curve in curves.values()]
    heights = spread_labels(ends, LABEL_HEIGHT * (high - low + 2.0 * pad))
    for i, (joint, curve) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(time_s, curve, color=colour, lw=1.6)
        axes.annotate(
            f"{joint} {ends[i]:.1f} °C",
            (end_s, ends[i]),
            (end_s * 1.012, float(heights[i])),
            fontsize=7.5,
            color=colour,
            va="center",
            annotation_clip=False,
        )
    axes.set_ylabel("temperature in °C", fontsize=9, color=SOFT_INK)


def _one_a_motor(joints: list[str], scenario: Scenario) -> list[str]:
    """Leave out joints whose motor is shown by another one."""
    robot = scenario.robot
    motor = {joint.name: joint.motor for joint in robot.joints}
    shown: dict[str, str] = {}
    for joint in joints:
        shown.setdefault(motor.get(joint, joint), joint)
    return list(shown.values())


def _limits(scenario: Scenario, joints: list[str]) -> list[float]:
    found: set[float] = set()
    for one in scenario.expectations:
        item = one.means
        if isinstance(item, TemperatureExpectation) and set(item.joints) & set(joints):
            limits = (item.degc_below, item.degc_above)
            found.update(limit for limit in limits if limit is not None)
    return sorted(found)


MINUTES_FROM_S = 240.0
"""Runs of this length or more have minutes on the axis."""


def frame_panels(panels: "Sequence[Axes]", end_s: float) -> None:
    """Give all panels one axis of time, and the rows no other."""
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


def write_head(
    figure: "Figure",
    title: str,
    said: str,
    ends: tuple[float, float],
    *,
    all_hold: bool,
) -> None:
    """Write the title at the left end of the panels, the verdicts at the right one.

    Args:
        figure: of its final size.
        title: what is shown.
        said: about the verdicts.
        ends: of the panels, as fractions of the figure's width.
        all_hold: whether that is good news.
    """
    y = 1.0 - 0.2 / figure.get_size_inches()[1]
    left, right = ends
    figure.text(left, y, title, fontsize=12, fontweight="bold", color=INK, va="center")
    colour = SOFT_INK if all_hold else BROKEN
    figure.text(right, y, said, fontsize=9, color=colour, ha="right", va="center")


def write_scenario(figure: "Figure", scenario: Scenario, left: float) -> None:
    """Write what a reader needs to repeat the run below everything, small."""
    foot = (
        f"{scenario.path.name} · {scenario.robot.name} from {scenario.posture} · "
        f"{scenario.duration_s:g} s · controller {scenario.controller} · "
        f"seed {scenario.seed} · hatched: waits"
    )
    y = 0.12 / figure.get_size_inches()[1]
    figure.text(left, y, foot, fontsize=7, color=SOFT_INK, va="center")
