"""Labels of events above a timeline, in as few lines as keep them apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from experiments.report.figure_style import SOFT_INK
from experiments.report.timeline.canvas import LETTER
from experiments.report.timeline.colours import BROKEN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHES = (0, (3, 3))
SIZE = 7.0
"""Of the letters, in points."""
MOST_LEVELS = 4
"""Lines of labels; what has no room in them is only a line in the panels."""
LONGEST = 56
"""Letters of a label."""


class Marked(Protocol):
    """Something at a time."""

    @property
    def time_s(self) -> float:
        """When, in s."""

    @property
    def text(self) -> str:
        """What."""

    @property
    def is_mishap(self) -> bool:
        """Whether it went wrong, rather than was done on purpose."""


def label_span(mark: Marked, duration_s: float, width: float) -> tuple[float, float]:
    """Return where a label begins and ends, in inches from the panel's left edge.

    It begins at its mark. Where it would run out of the panel it ends there instead.
    """
    at = mark.time_s / duration_s * width
    length = (min(len(mark.text), LONGEST) + 2) * LETTER * SIZE
    is_late = at + length > width and at >= length
    return (at - length, at) if is_late else (at, at + length)


def level_marks(marks: Sequence[Marked], duration_s: float, width: float) -> list[int]:
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
    marks: Sequence[Marked],
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
        colour = BROKEN if mark.is_mishap else SOFT_INK
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
