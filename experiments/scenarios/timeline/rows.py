"""Rows of a timeline: spans arranged in lines, with names and colours.

An owner keeps one colour in all rows; LEDs show their own. Leaves that move together
share a row, and the number of rows is limited for legibility. `DrawnRows` draws them on
axes whose vertical unit is the inch.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.common.drawing.style import FAINT_INK, INK, SOFT_INK
from nao_testbed.experiments.scenarios.timeline.spans import (
    Span,
    SpanKind,
    StreamSpan,
    group_starts,
    stream_spans,
)
from nao_testbed.models.library import Library, LightPattern, Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OWNER_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#8f7500", "#6a5acd", "#7fb77e", "#b07d62"),
)
"""Colours of owners: six of Okabe and Ito's, repeated for further owners."""
BODY_COLOUR = SOFT_INK
"""Colour of faults of the body: hot, broken, absent."""
STATE_COLOURS = ("#57606a", "#a8b1ba", "#3d444d", "#8c959f")
"""Colours of the robot's states, which have no owner."""
BROKEN = "#b3261e"
"""Colour of failures."""
Colour = tuple[float, float, float]


def owner_colours(names: Iterable[str], virtual: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name, in the order of their first appearance."""
    body = set(virtual)
    colours = dict.fromkeys(body, BODY_COLOUR)
    i = 0
    for name in names:
        if name not in colours:
            colours[name] = OWNER_COLOURS[i % len(OWNER_COLOURS)]
            i += 1
    return colours


def ink_on(colour: str) -> str:
    """Return the colour of letters that is legible on another colour."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    return "white" if luminance < 0.62 else INK


def pattern_colour(pattern: LightPattern, time_s: float) -> Colour:
    """Return the mean colour of a pattern's LEDs at a time; dark before its start."""
    shown: dict[str, Colour] = dict.fromkeys(pattern.leds, (0.0, 0.0, 0.0))
    for step in pattern.steps:
        if step.at_s > time_s:
            break
        part = 1.0
        if step.fade_s > 0.0:
            part = min(1.0, (time_s - step.at_s) / step.fade_s)
        for led in step.leds:
            shown[led] = _between(shown[led], step.colour, part)
    n = max(1, len(shown))
    red, green, blue = (sum(colour[i] for colour in shown.values()) for i in range(3))
    return red / n, green / n, blue / n


def _between(start: Colour, end: Colour, part: float) -> Colour:
    red, green, blue = (a + (b - a) * part for a, b in zip(start, end, strict=True))
    return red, green, blue


MAX_ROWS = 14
"""Maximum rows of resources, for legibility."""

MAX_LABEL = 20
"""Maximum letters of two names side by side."""


@dataclass(frozen=True, kw_only=True)
class TimelineRow:
    """Row of bars; overlapping bars go to separate lanes."""

    label: str
    lanes: tuple[list[Span], ...]
    """Lanes of holders first, waiters below."""
    n_holding: int
    """Number of lanes with holders."""


def resource_rows(
    spans: Mapping[str, Sequence[Span]],
    tree: ResourceTree,
    hidden: frozenset[str] = frozenset(),
    most: int = MAX_ROWS,
) -> tuple[list[TimelineRow], int]:
    """Return the rows of resources in tree order, and the number of omitted rows.

    Args:
        spans: leaf to its spans.
        tree: tree of the robot; leaves that it lacks come last.
        hidden: owners whose spans are not shown.
        most: maximum number of rows; rows with most changes are kept.
    """
    together: dict[tuple[Span, ...], list[str]] = {}
    order = {leaf: i for i, leaf in enumerate(_in_order(tree, spans))}
    for leaf in sorted(spans, key=order.__getitem__):
        shown = tuple(span for span in spans[leaf] if span.name not in hidden)
        if shown:
            together.setdefault(shown, []).append(leaf)
    busiest = sorted(together, key=_interest, reverse=True)[:most]
    kept = [row for row in together if row in set(busiest)]
    rows = [row_of(cover(together[row], tree), row) for row in kept]
    return rows, len(together) - len(kept)


def cover(leaves: Sequence[str], tree: ResourceTree) -> str:
    """Return few names that cover these leaves, largest composites first."""
    left = {leaf for leaf in leaves if leaf in tree}
    names = []
    for name in tree.names:  # parents precede their parts
        below = tree.leaves(name)
        if below and left.issuperset(below):
            names.append(name)
            left.difference_update(below)
    names.sort(key=lambda name: -len(tree.leaves(name)))
    names += [leaf for leaf in leaves if leaf not in tree]
    n = 2 if len(", ".join(names[:2])) <= MAX_LABEL else 1
    more = len(names) - n
    return ", ".join(names[:n]) + (f" + {more}" if more > 0 else "")


def row_of(label: str, spans: Iterable[Span]) -> TimelineRow:
    """Return a row of one label."""
    holding: list[Span] = []
    waiting: list[Span] = []
    for span in spans:
        (waiting if span.kind is SpanKind.WAITS else holding).append(span)
    upper, lower = (
        lanes(some, lambda s: (s.start_s, s.end_s, s.name))
        for some in (holding, waiting)
    )
    return TimelineRow(label=label, lanes=(*upper, *lower), n_holding=len(upper))


def _in_order(tree: ResourceTree, spans: Mapping[str, Sequence[Span]]) -> list[str]:
    known = [name for name in tree.names if name in spans]
    return known + sorted(set(spans) - set(known))


def _interest(row: tuple[Span, ...]) -> tuple[int, int]:
    """Return the number of participants and the number of changes."""
    return len({span.name for span in row}), len(row)


SpanT = TypeVar("SpanT", Span, StreamSpan)


def lanes(
    spans: Iterable[SpanT], key: Callable[[SpanT], tuple[Any, ...]]
) -> list[list[SpanT]]:
    """Distribute overlapping spans over lanes, the earliest at the top.

    Args:
        spans: spans in any order.
        key: sort key of spans; its first number is the start of the span.
    """
    found: list[list[SpanT]] = []
    for span in sorted(spans, key=key):
        begin = key(span)[0]
        for lane in found:
            if lane[-1].end_s <= begin + 1e-9:
                lane.append(span)
                break
        else:
            found.append([span])
    return found


WIDTH, LEFT, RIGHT = 12.0, 1.6, 1.55
"""Width of the figure and its margins, in inches."""
PANEL = WIDTH - LEFT - RIGHT
BAR, THIN, GAP, HEADING = 0.25, 0.13, 0.11, 0.30
"""Heights of a lane of holders, of waiters, between rows, of a heading, in inches."""
LETTER = 0.0083
"""Width of a letter in inches, divided by its size in points."""
SIZE = 7.0
"""Font size in points."""
HATCHES = {SpanKind.WAITS: "/////", SpanKind.FROZEN: "xxx"}
BACKING = {"fc": "white", "lw": 0.0, "pad": 0.5, "alpha": 0.9}
"""Background of text on a hatched area."""
SAMPLES = 48
"""Maximum number of colours in the strip of a light pattern."""


@dataclass
class DrawnRows:
    """Drawing of rows from the top down; `y` is the top of the next row."""

    axes: "Axes"
    end_s: float
    colours: Mapping[str, str]
    y: float = 0.0
    labels: list[tuple[float, str, bool]] = field(default_factory=list)
    """Height, text, and True for a heading."""
    drawn: dict[str, str] = field(default_factory=dict)
    """Colour of each name that has a bar."""
    named: set[str] = field(default_factory=set)
    """Names written in or beside a bar; they need no legend."""

    def heading(self, text: str) -> None:
        """Write the name of a section."""
        self.labels.append((self.y + 0.6 * HEADING, text, True))
        self.y += HEADING

    def end_row(self, top: float, label: str) -> None:
        """Draw a line below the row that began at `top`, and label it."""
        self.labels.append((0.5 * (top + self.y), label, False))
        self.y += 0.5 * GAP
        self.axes.axhline(self.y, color=FAINT_INK, lw=0.4, alpha=0.7, zorder=0)
        self.y += 0.5 * GAP

    def row(self, row: TimelineRow) -> None:
        """Draw holders, and the waiters below them."""
        top = self.y
        for i, lane in enumerate(row.lanes):
            height = BAR if i < row.n_holding else THIN
            for span in lane:
                colour = self.colours.get(span.name, SOFT_INK)
                self.drawn.setdefault(span.name, colour)
                self.bar(span, height, colour)
                if self.write(span, span.name.rpartition("/")[2], height, colour):
                    self.named.add(span.name)
            self.y += height + 0.02
        self.end_row(top, row.label)

    def bar(self, span: Span, height: float, colour: str, below: float = 0.0) -> None:
        """Draw one span in the present lane, lowered by `below` inches."""
        waits = span.kind is SpanKind.WAITS
        self.axes.broken_barh(
            [(span.start_s, span.end_s - span.start_s)],
            (self.y + below, height),
            facecolor="white" if waits else colour,
            edgecolor=colour if waits else "white",
            hatch=HATCHES.get(span.kind),
            alpha=0.45 if span.kind is SpanKind.LENT else 1.0,
            lw=0.6,
        )

    def strip(self, pattern: LightPattern, start_s: float, end_s: float) -> None:
        """Draw the colours of a light pattern in the present lane."""
        n = int(np.clip((end_s - start_s) / self.end_s * PANEL * 40.0, 4, SAMPLES))
        times = (np.arange(n) + 0.5) / n * (end_s - start_s)
        shown = [[pattern_colour(pattern, float(t)) for t in times]]
        place = (start_s, end_s, self.y + BAR, self.y)
        self.axes.imshow(shown, extent=place, aspect="auto", interpolation="nearest")

    def write(
        self, span: Span, text: str, height: float, colour: str, free_s: float = 0.0
    ) -> bool:
        """Write a text into a bar if there is room; return True if it was written.

        Args:
            span: span of the bar.
            text: text to write.
            height: height of the bar, in inches.
            colour: colour of the bar.
            free_s: end of the free space right of the bar, which may be used too.
        """
        size = SIZE + 0.5 if height > THIN else SIZE - 1.0
        needed_s = (LETTER * size * len(text) + 0.08) / PANEL * self.end_s
        is_inside = needed_s <= span.end_s - span.start_s
        if not (is_inside or span.end_s + needed_s <= free_s):
            return False
        is_hatched = is_inside and span.kind in HATCHES
        ink = ink_on(colour) if is_inside and not is_hatched else INK
        self.axes.annotate(
            text,
            (span.start_s if is_inside else span.end_s, self.y + 0.5 * height),
            (3, 0),
            textcoords="offset points",
            fontsize=size,
            color=ink if is_inside else SOFT_INK,
            va="center_baseline",
            bbox=BACKING if is_hatched else None,
        )
        return True


WELL = frozenset({None, EndReason.DONE, EndReason.REPLACED})
"""End reasons of a stream that are normal."""
INDEPENDENT = "#9aa4ae"
"""Colour of streams without a group."""


def draw_outputs(
    rows: DrawnRows, events: Sequence[Event], tick_s: float, library: Library
) -> None:
    """Draw the streams of each unit: hatched while waiting, then with their content."""
    streams = stream_spans(events, tick_s, round(rows.end_s / tick_s))
    if not streams:
        return
    rows.heading("outputs")
    groups = dict.fromkeys(s.group for s in streams if s.group is not None)
    tint = {g: OWNER_COLOURS[-1 - i % len(OWNER_COLOURS)] for i, g in enumerate(groups)}
    top = rows.y
    for unit in Unit:
        of_unit = [s for s in streams if s.unit is unit]
        begin = rows.y
        for lane in lanes(of_unit, lambda s: (s.received_s, s.end_s)):
            nexts = [stream.received_s for stream in lane[1:]] + [rows.end_s]
            for stream, free_s in zip(lane, nexts, strict=True):
                colour = tint.get(stream.group or "", INDEPENDENT)
                _draw_stream(rows, stream, colour, library, free_s)
            rows.y += BAR + 0.02
        if of_unit:
            rows.end_row(begin, unit.value)
    free_s = 0.0
    for start in group_starts(events, tick_s):
        line = [top - 0.06, rows.y]
        rows.axes.plot([start.time_s] * 2, line, color=INK, lw=1.4, zorder=4)
        text = f"▾ {start.group}"
        if start.time_s >= free_s:  # otherwise overlapped by the previous label
            free_s = start.time_s + LETTER * SIZE * len(text) / PANEL * rows.end_s
            at = start.time_s, top - 0.08
            rows.axes.text(*at, text, fontsize=SIZE, color=INK, va="bottom")


def _draw_stream(
    rows: DrawnRows, stream: StreamSpan, colour: str, library: Library, free_s: float
) -> None:
    start_s = stream.end_s if stream.start_s is None else stream.start_s
    plays = Span(name=stream.label, start_s=start_s, end_s=stream.end_s)
    if start_s > stream.received_s:
        waits = Span(
            name=stream.label,
            start_s=stream.received_s,
            end_s=start_s,
            kind=SpanKind.WAITS,
        )
        rows.bar(waits, THIN, colour, below=0.5 * (BAR - THIN))
    pattern = library.lights.get(stream.label) if stream.unit is Unit.LIGHT else None
    text = f"“{stream.label}”" if stream.unit is Unit.SOUND else stream.label
    if pattern is not None and stream.start_s is not None:
        rows.strip(pattern, start_s, stream.end_s)
    elif stream.start_s is not None:
        rows.bar(plays, BAR, colour)
    if stream.reason not in WELL:
        rows.axes.plot(stream.end_s, rows.y + 0.5 * BAR, "x", color=BROKEN, ms=5)
        text = f"{text}: {stream.reason}"
    end = Span(name=stream.label, start_s=stream.end_s, end_s=stream.end_s)
    is_bar = pattern is None and stream.reason in WELL
    rows.write(plays if is_bar else end, text, BAR, colour, free_s)
