"""What a page shows, as plain data: the template reads it and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Column:
    """Head of a column."""

    label: str
    group: str = ""
    """Written once above neighbours of the same group, such as a controller."""
    is_number: bool = True
    """Whether the cells are aligned to the right."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row: its first cell is its head."""

    cells: tuple[str, ...]
    is_sum: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with its caption; every number in it has its unit in head or cell."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    is_sortable: bool = False
    """Whether a click on a head sorts the rows."""
    is_folded: bool = False
    """Whether it is closed until the reader opens it."""

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Neighbouring groups and how many columns each spans; empty without any."""
        if not any(column.group for column in self.columns):
            return ()
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and column.group and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return tuple(spans)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: either an SVG element of ours or a picture as a data URI."""

    caption: str
    alt: str
    svg: str = ""
    """Made by us, safe to stand in a page as it is."""
    uri: str = ""
    is_photo: bool = False
    """Shown smaller than a chart: it has no fine print."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """The 3-D replay: a whole page of its own, for a frame in ours."""

    html: str
    caption: str
    notes: tuple[str, ...]
    scale: tuple[str, ...]
    """Colours of the temperature scale, coldest first."""
    coldest_degc: float
    hottest_degc: float


@dataclass(frozen=True, kw_only=True)
class Sound:
    """What was heard in a run, for a player."""

    uri: str
    """A data URI."""
    named: tuple[str, ...]
    """What was heard when, one by one."""


@dataclass(frozen=True, kw_only=True)
class TextBlock:
    """A text that is shown as it was written, such as a scenario's file."""

    caption: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """One run, or one sweep."""

    name: str
    title: str
    lead: str
    """One sentence that says what it was."""
    warnings: tuple[str, ...] = ()
    """What is missing or damaged, and what was done about it."""
    outcome: Sequence[Row] = ()
    """Its rows of the table that sets runs side by side; empty where it has none."""
    results: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    replay: Replay | None = None
    sound: Sound | None = None
    events: Sequence[Table] = ()
    trials: Sequence[Table] = ()
    """Of a sweep, one by one."""
    settings: Sequence[Table] = ()
    texts: Sequence[TextBlock] = ()
