"""Bars, waiters and words on one panel whose vertical unit is the inch.

An owner keeps one colour through all rows; LEDs show their own. Leaves that move
together are one row, and rows are few enough to be read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from controllers.arbitration.resource_tree import ResourceTree
from experiments.common.drawing.style import FAINT_INK, INK, SOFT_INK
from experiments.scenarios.timeline.spans import Span, SpanKind, StreamSpan
from models.library import LightPattern

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


OWNER_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00"),
    *("#8f7500", "#6a5acd", "#7fb77e", "#b07d62"),
)
"""The first six are Okabe and Ito's; further ones repeat, names tell them apart."""
BODY_COLOUR = SOFT_INK
"""Of what the body itself has: hot, broken, absent."""
STATE_COLOURS = ("#57606a", "#a8b1ba", "#3d444d", "#8c959f")
"""Of the robot's states, which are nobody's."""
BROKEN = "#b3261e"
"""Of what went wrong."""
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
    """Return the colour of letters that can be read on another one."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    luminance = 0.299 * red + 0.587 * green + 0.114 * blue
    return "white" if luminance < 0.62 else INK


def pattern_colour(pattern: LightPattern, time_s: float) -> Colour:
    """Return the mean colour of a pattern's LEDs, dark before it, at a time of it."""
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


MOST_ROWS = 14
"""Of resources: more could not be read."""

LONGEST_LABEL = 20
"""Letters of two names that stand beside each other."""


@dataclass(frozen=True, kw_only=True)
class TimelineRow:
    """A line of bars, with lanes below each other where they overlap."""

    label: str
    lanes: tuple[list[Span], ...]
    """Holders in the first ones, waiters below."""
    n_holding: int
    """How many lanes holders have."""


def resource_rows(
    spans: Mapping[str, Sequence[Span]],
    tree: ResourceTree,
    hidden: frozenset[str] = frozenset(),
    most: int = MOST_ROWS,
) -> tuple[list[TimelineRow], int]:
    """Return the rows of resources in the order of the tree, and how many are left out.

    Args:
        spans: leaf to its spans.
        tree: of the robot; leaves that it has not stand at the end.
        hidden: owners whose spans are not shown.
        most: rows; those in which most happens stay.
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
    """Return few names that mean all these leaves, the largest composites first."""
    left = {leaf for leaf in leaves if leaf in tree}
    names = []
    for name in tree.names:  # parents come before their parts
        below = tree.leaves(name)
        if below and left.issuperset(below):
            names.append(name)
            left.difference_update(below)
    names.sort(key=lambda name: -len(tree.leaves(name)))
    names += [leaf for leaf in leaves if leaf not in tree]
    n = 2 if len(", ".join(names[:2])) <= LONGEST_LABEL else 1
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
    """How many took part, and how often something changed."""
    return len({span.name for span in row}), len(row)


SpanT = TypeVar("SpanT", Span, StreamSpan)


def lanes(
    spans: Iterable[SpanT], key: Callable[[SpanT], tuple[Any, ...]]
) -> list[list[SpanT]]:
    """Put spans that overlap into lanes below each other, the earliest at the top.

    Args:
        spans: in any order.
        key: their order; its first number is when a span begins.
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


BAR, THIN = 0.25, 0.13
"""Heights of a lane of holders and of waiters, in inches."""
GAP = 0.11
"""Between rows, in inches."""
HEADING = 0.30
"""Height of a section's heading, in inches."""
LETTER = 0.0083
"""Width of a letter over its size in points, in inches."""
BACKING = {"fc": "white", "lw": 0.0, "pad": 0.5, "alpha": 0.9}
"""Behind words on a hatched ground."""
FEWEST = 6
"""Letters of a name that are still worth reading."""
SAMPLES = 48
"""Colours in the strip of a light pattern, at most."""


@dataclass
class Canvas:
    """Draws rows from the top downwards; `y` is where the next one begins."""

    axes: "Axes"
    duration_s: float
    width: float
    """Of the panel, in inches."""
    colours: dict[str, str]
    y: float = 0.0
    named: set[str] = field(default_factory=set)
    """Names that stand in a bar: they need no legend."""
    begins: list[float] = field(default_factory=list)
    """Of the bars of the present lane, where that matters, in s."""
    drawn: dict[str, str] = field(default_factory=dict)
    """Names that have bars, and their colours."""

    def free_until(self, time_s: float) -> float:
        """Return when the next bar of the present lane begins, or the end."""
        later = [begin for begin in self.begins if begin >= time_s - 1e-9]
        return min(later, default=self.duration_s)

    def heading(self, text: str) -> None:
        """Write the name of a section."""
        self._side(self.y + 0.6 * HEADING, text, weight="bold", colour=INK)
        self.y += HEADING

    def row(self, row: TimelineRow) -> None:
        """Draw holders, and below them those who wait."""
        top = self.y
        for i, lane in enumerate(row.lanes):
            height = BAR if i < row.n_holding else THIN
            for span in lane:
                self.bar(span, height)
            self.y += height + 0.02
        self._side(0.5 * (top + self.y), row.label)
        self._rule()

    def bar(
        self,
        span: Span,
        height: float,
        text: str | None = None,
        colour: str | None = None,
    ) -> bool:
        """Draw one span in the present lane; return whether any of its name has room.

        Args:
            span: what.
            height: of the bar, in inches.
            text: None: its name.
            colour: None: by its name.
        """
        if colour is None:
            colour = self.colours.get(span.name, SOFT_INK)
            self.drawn.setdefault(span.name, colour)
        text = short(span.name) if text is None else text
        box = [(span.start_s, span.end_s - span.start_s)]
        lane = (self.y, height)
        if span.kind is SpanKind.WAITS:
            self.axes.broken_barh(
                box, lane, facecolor="white", edgecolor=colour, hatch="/////", lw=0.6
            )
        else:
            is_light = span.kind is SpanKind.LENT
            self.axes.broken_barh(
                box,
                lane,
                facecolor=colour,
                edgecolor="white",
                lw=0.5,
                alpha=0.45 if is_light else 1.0,
                hatch="xxx" if span.kind is SpanKind.FROZEN else None,
            )
        size = 7.5 if height > THIN else 6.0
        is_backed = span.kind in {SpanKind.WAITS, SpanKind.FROZEN}  # hatched
        ink = INK if is_backed else ink_on(colour)
        ends = span.start_s, span.end_s
        room = self.room(*ends, size)
        if room < min(FEWEST, len(text)):
            return False
        if self.write_in(*ends, height, text, size, ink, is_backed):
            self.named.add(span.name)
        return True

    def strip(self, pattern: LightPattern, start_s: float, end_s: float) -> None:
        """Draw the colours of a light pattern in the present lane."""
        n = int(np.clip(self.inches(end_s - start_s) * 40.0, 4, SAMPLES))
        edges = np.linspace(start_s, end_s, n + 1)
        middles = 0.5 * (edges[1:] + edges[:-1]) - start_s
        shown = [pattern_colour(pattern, float(t)) for t in middles]
        boxes = [(a, b - a) for a, b in pairwise(edges)]
        self.axes.broken_barh(boxes, (self.y, BAR), facecolors=shown, lw=0.0)
        whole = [(start_s, end_s - start_s)]
        self.axes.broken_barh(
            whole, (self.y, BAR), facecolor="none", edgecolor=FAINT_INK, lw=0.6
        )

    def write_in(
        self,
        start_s: float,
        end_s: float,
        height: float,
        text: str,
        size: float,
        ink: str,
        is_backed: bool = False,
    ) -> bool:
        """Write into a bar as much as has room; return whether all of it had."""
        room = self.room(start_s, end_s, size)
        shown = text if len(text) <= room else f"{text[: max(1, room - 1)]}…"
        self.axes.text(
            start_s + self.seconds(0.04),
            self.y + 0.5 * height,
            shown,
            fontsize=size,
            color=ink,
            va="center_baseline",
            ha="left",
            clip_on=True,
            bbox=BACKING if is_backed else None,
        )
        return shown == text

    def room(self, start_s: float, end_s: float, size: float) -> int:
        """Return how many letters of a size in points fit into a bar."""
        return int((self.inches(end_s - start_s) - 0.06) / (LETTER * size))

    def inches(self, seconds: float) -> float:
        """Return the length of a time on the panel."""
        return seconds / self.duration_s * self.width

    def seconds(self, inches: float) -> float:
        """Return the time that so much of the panel stands for."""
        return inches / self.width * self.duration_s

    def next_row(self, top: float, label: str) -> None:
        """End a row whose lanes were drawn one by one."""
        self._side(0.5 * (top + self.y), label)
        self._rule()

    def legend(self, figure: "Figure", y: float) -> None:
        """Name the colours of those who found no room in any of their bars."""
        x = self.axes.get_position().x0
        for name, colour in self.drawn.items():
            if name in self.named:
                continue
            figure.text(x, y, "■ ", fontsize=8, color=colour, va="center")
            figure.text(x + 0.011, y, name, fontsize=7, color=SOFT_INK, va="center")
            x += 0.011 + (len(name) + 2) * LETTER * 7.0 / figure.get_size_inches()[0]

    def _rule(self) -> None:
        self.y += 0.5 * GAP
        self.axes.axhline(self.y, color=FAINT_INK, lw=0.4, alpha=0.7, zorder=0)
        self.y += 0.5 * GAP

    def _side(
        self, y: float, text: str, weight: str = "normal", colour: str = SOFT_INK
    ) -> None:
        self.axes.annotate(
            text,
            (0.0, y),
            (-6, 0),
            xycoords=self.axes.get_yaxis_transform(),
            textcoords="offset points",
            ha="right",
            va="center_baseline",
            fontsize=8,
            color=colour,
            fontweight=weight,
            annotation_clip=False,
        )


def short(path: str) -> str:
    """Return the last name of a path."""
    return path.rpartition("/")[2]
