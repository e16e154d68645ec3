"""Bars, waiters and words on one panel whose vertical unit is the inch."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import FAINT_INK, INK, SOFT_INK
from experiments.report.timeline.colours import ink_on, pattern_colour
from experiments.report.timeline.rows import Row
from experiments.report.timeline.spans import Span, SpanKind
from models.library import LightPattern

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

    def row(self, row: Row) -> None:
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
