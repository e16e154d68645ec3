"""Elements of a page: tables, figures, replay, sections, as plain data.

The template of the report reads only these elements. A table is defined once for pages
and terminals; a `Quantity` describes one column, or one row with a cell for each
result.

matplotlib writes text, background and curve colours as fixed values. `themed_svg`
replaces them by CSS variables of the page, so that a figure is readable in a light and
in a dark theme and in print. IDs within a figure get a prefix, because a page has
several figures. A figure that cannot be drawn is reported; the others are drawn.
"""

import io
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.text import Text

from nao_testbed.experiments.common.drawing.number_text import (
    NOTHING,
    join_unit,
    number,
    signed,
)
from nao_testbed.experiments.common.drawing.plain_table import PlainTable, plain_table
from nao_testbed.experiments.common.drawing.style import (
    COLOURS,
    EQUAL_IDS,
    FAINT_INK,
    INK,
    SHADE,
    SOFT_INK,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.figure import Figure as Drawn
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True, kw_only=True)
class Column:
    """Head of a column."""

    label: str
    unit: str = ""
    """Unit of all its numbers; empty if there is none or each cell has its own."""
    group: str = ""
    """Common head of neighbouring columns, such as a controller; empty: none."""
    is_number: bool = True
    """True if the cells are aligned to the right."""
    is_extra: bool = False
    """True if terminals omit the column."""

    @property
    def head(self) -> str:
        """Label with the unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label


def text_columns(*labels: str) -> tuple[Column, ...]:
    """Return text columns."""
    return tuple(Column(label=label, is_number=False) for label in labels)


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row; the first cell is the row head."""

    cells: tuple[str, ...]
    is_sum: bool = False
    is_extra: bool = False
    """True if terminals show the row only on request."""


T = TypeVar("T")


@dataclass(frozen=True)
class Quantity(Generic[T]):
    """Quantity of a table: a column, or a row with one cell per result."""

    label: str
    of: Callable[[T], float | str | None]
    """Function that returns the value for a result: number, text, or None."""
    unit: str = ""
    digits: int = 1
    is_signed: bool = False
    is_text: bool = False
    """True if the quantity is a text; its column is aligned to the left."""
    is_extra: bool = False
    """True if terminals show the row of the quantity only on request."""

    def bare(self, result: T) -> str:
        """Return the value for a result without a unit, for a column with it."""
        value = self.of(result)
        if isinstance(value, str):
            return value
        return (signed if self.is_signed else number)(value, self.digits)

    def text(self, result: T) -> str:
        """Return the value for a result with its unit."""
        text = self.bare(result)
        if text == NOTHING or isinstance(self.of(result), str):
            return text
        return join_unit(text, self.unit)

    def column(self, group: str = "", *, is_extra: bool = False) -> Column:
        """Return the column of the quantity."""
        return Column(
            label=self.label,
            unit=self.unit,
            group=group,
            is_number=not self.is_text,
            is_extra=is_extra,
        )


def rows_across(
    quantities: Sequence[Quantity[T]], results: Sequence[T]
) -> tuple[Row, ...]:
    """Return a row for each quantity that has a value, with a cell for each result."""
    rows = [
        Row(
            cells=(quantity.label, *map(quantity.text, results)),
            is_extra=quantity.is_extra,
        )
        for quantity in quantities
    ]
    return tuple(row for row in rows if {*row.cells[1:]} - {NOTHING})


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """A table with its caption; the head or the cell of each number has its unit.

    The template of the page shows it on a page, `Console.print` on a terminal.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    is_sortable: bool = False
    """True if a click on a column head sorts the rows."""
    is_folded: bool = False
    """True if the table is collapsed until the reader opens it."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise AssertionError(f"{row.cells} for {len(self.columns)} columns")

    @classmethod
    def of(
        cls,
        caption: str,
        heads: Iterable[str | Column],
        rows: Iterable[Row | Sequence[str]],
        note: str = "",
        *,
        texts: Collection[int] = (0,),
        **more: bool,
    ) -> "DataTable":
        """Return a table of labels and cells.

        Args:
            caption: caption of the table.
            heads: labels or `Column`s.
            rows: sequences of cells or `Row`s.
            note: text below the table.
            texts: indices of the labels whose columns contain text.
            more: other fields of the table, such as `is_sortable`.
        """
        columns = (
            head
            if isinstance(head, Column)
            else Column(label=head, is_number=place not in texts)
            for place, head in enumerate(heads)
        )
        whole = (r if isinstance(r, Row) else Row(cells=tuple(r)) for r in rows)
        return cls(
            caption=caption,
            columns=tuple(columns),
            rows=tuple(whole),
            note=note,
            **more,
        )

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """Groups with the number of columns of each; empty if no column has one."""
        if not any(column.group for column in self.columns):
            return ()
        spans: list[tuple[str, int]] = []
        for column in self.columns:
            if spans and column.group and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        return tuple(spans)

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "RenderResult":
        """Print the table on a terminal, with its note below it."""
        yield self.plain
        if self.note:
            yield Text(self.note)

    @property
    def plain(self) -> PlainTable:
        """Text form: a group is one column, numbers have an ASCII minus."""
        rows = [row for row in self.rows if not row.is_extra]
        table = plain_table(f"\n{self.caption}")
        begin, columns = 0, []
        for group, span in self.groups or (("", 1),) * len(self.columns):
            shown = [
                k for k in range(begin, begin + span) if not self.columns[k].is_extra
            ]
            begin += span
            first = self.columns[shown[0]]
            cells = [tuple(row.cells[k] for k in shown) for row in rows]
            if first.is_number:
                cells = [tuple(c.replace("−", "-") for c in row) for row in cells]
            if group:
                parts = [self.columns[k] for k in shown]
                heads = [tuple(c.label for c in parts), tuple(c.unit for c in parts)]
                heads = [head for head in heads if any(head)]
                table.add_column(no_wrap=True)
                lines = _joined([*heads, *cells])
                head = "\n".join([group.rjust(len(lines[0])), *lines[: len(heads)]])
                table.columns[-1].header = Text(head)
                columns.append([Text(line) for line in lines[len(heads) :]])
            else:
                table.add_column(
                    Text(f"{first.label}\n{first.unit}" if self.groups else first.head),
                    justify="right" if first.is_number else "left",
                    overflow="fold",
                )
                columns.append([Text(cell) for (cell,) in cells])
        for row, *texts in zip(rows, *columns, strict=True):
            style = "bold" if row.is_sum else None
            table.add_row(*texts, style=style, end_section=row.is_sum)
        return table


def _joined(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the joined cells of neighbouring columns, aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


@dataclass(frozen=True, kw_only=True)
class PageFigure:
    """A figure: an SVG element from `themed_svg`, or a picture as a data URI."""

    caption: str
    alt: str
    svg: str = ""
    """Generated by this package; safe to embed without escaping."""
    uri: str = ""
    is_photo: bool = False
    """True if it is shown smaller than a chart, because it has no small text."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """3-D replay: a complete HTML page for an embedded frame."""

    html: str
    caption: str
    notes: tuple[str, ...]
    scale: tuple[str, ...]
    """Colours of the temperature scale, coldest first."""
    coldest_degc: float
    hottest_degc: float


@dataclass(frozen=True, kw_only=True)
class SoundPlayer:
    """Player with the sound of a run."""

    uri: str
    """Data URI of the sound."""
    named: tuple[str, ...]
    """Time and label of each sound."""


@dataclass(frozen=True, kw_only=True)
class TextBlock:
    """A text that is shown unchanged, such as a scenario file."""

    caption: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """Section of a page for one run or one sweep."""

    name: str
    title: str
    lead: str
    """One sentence that describes the run or the sweep."""
    warnings: tuple[str, ...] = ()
    """Missing or damaged data, and how they were handled."""
    outcome: Sequence[Row] = ()
    """Rows for the comparison table of the runs; may be empty."""
    results: Sequence[DataTable] = ()
    pictures: Sequence[PageFigure] = ()
    """Pictures of the robots, at the top beside the replay."""
    figures: Sequence[PageFigure] = ()
    replay: Replay | None = None
    sound: SoundPlayer | None = None
    events: Sequence[DataTable] = ()
    trials: Sequence[DataTable] = ()
    """Tables of the trials of a sweep."""
    settings: Sequence[DataTable] = ()
    texts: Sequence[TextBlock] = ()


VARIABLES = {
    INK: "--ink",
    SOFT_INK: "--soft",
    FAINT_INK: "--faint",
    SHADE: "--shade",
    "#ffffff": "--paper",
    "#000000": "--ink",
    **{colour: f"--c{i}" for i, colour in enumerate(COLOURS)},
}
"""CSS variables of the page by colour of the figures."""


def themed_svg(figure: "Figure", prefix: str) -> str:
    """Return a figure as an `<svg>` element for a page.

    Args:
        figure: matplotlib figure.
        prefix: prefix of every id; letters, digits and hyphens.
    """
    from matplotlib import rc_context  # noqa: PLC0415  # heavy

    buffer = io.StringIO()
    with rc_context(EQUAL_IDS):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'xlink:href="#', f'xlink:href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    # The background of the figure becomes transparent; other white patches, which
    # hide lines, stay opaque.
    text = re.sub(
        r'(<g id="\S+-patch_1">\s*<path [^>]*style="fill: )#ffffff',
        r"\1none",
        text,
        count=1,
    )
    for colour, variable in VARIABLES.items():
        text = re.sub(rf"\b(fill|stroke): {colour}", rf"\1: var({variable})", text)
    # Elements without a fill get the text colour; the SVG default is black.
    begin = text.index("<svg") + len("<svg")
    return f'{text[:begin]} aria-hidden="true" fill="var(--ink)"{text[begin:]}'


@dataclass(frozen=True, kw_only=True)
class PlannedFigure:
    """A figure to draw for a page."""

    caption: str
    """One or more sentences below the figure."""
    draw: "Callable[[], Drawn | None]"
    """Function that draws the figure; it returns None if there is no data."""
    alt: str
    """Text alternative."""


def draw_figures(
    plans: Sequence[PlannedFigure], prefix: str, problems: list[str]
) -> list[PageFigure]:
    """Draw the figures; report those that fail.

    Args:
        plans: figures in the order of the page.
        prefix: prefix of the IDs within the figures; different for each run of a page.
        problems: list to which a line is appended for each failed figure.
    """
    figures = []
    for k, plan in enumerate(plans):
        try:
            drawn = plan.draw()
            svg = None if drawn is None else themed_svg(drawn, f"{prefix}-{k}")
        except Exception as error:  # noqa: BLE001  # the tables do not depend on it
            what, why = plan.caption[:-1], str(error) or type(error).__name__
            problems.append(f"A figure could not be drawn ({what}): {why}.")
            continue
        if svg is not None:
            figures.append(PageFigure(caption=plan.caption, alt=plan.alt, svg=svg))
    return figures
