"""Tables printed by commands, and their layout on narrow terminals.

A value is never cut or separated from its unit. On a narrow terminal, first texts are
wrapped, then rows and columns are exchanged, and finally the columns are split into
several tables, each with the first column.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

BETWEEN = 3
"""Number of spaces between two columns."""
LONGEST_VALUE = 24
"""Longest value; longer cells are texts, which may be wrapped."""
BLANK_OF_VALUES = re.compile(r" (?=\()|(?<=[^\W\d])(?<! to) (?=[+-]?\d)")
BLANK_OF_TEXTS = re.compile(r"(?<!\d) +| +(?=[\d(])")
MAX_TURNED = 12
"""Largest number of rows that may become columns."""


_LOOK: dict[str, Any] = {
    **{"title_justify": "left", "caption_justify": "left", "caption_style": ""},
    **{"box": box.SIMPLE_HEAD, "pad_edge": False, "show_edge": False},
}


def plain_table(
    title: str, caption: str | None = None, texts: str = "", numbers: Sequence[str] = ()
) -> "PlainTable":
    """Return an empty table with a line below the heads, and texts on the left.

    Args:
        title: bold title above it, without markup; empty: no title.
        caption: caption below it; None or empty: no caption.
        texts: head of the first column, which is not wrapped if there are `numbers`.
        numbers: heads of the other columns, which are aligned to the right.
    """
    table = PlainTable(**_LOOK, title=Text(title, style="bold") if title else None)
    table.caption = caption or None
    if numbers:
        table.add_column(texts, no_wrap=True)
    for head in numbers:
        table.add_column(head, justify="right")
    return table


class PlainTable(Table):
    """Table that never splits values, at any width."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        """Render it unchanged, transposed, or in parts."""
        most = options.max_width
        if not self.columns or _total(map(self._widest, self.columns)) <= most:
            yield from super().__rich_console__(console, options)
            return
        if _total(map(self._needed, self.columns)) > most:
            turned = self._turned()
            if turned is not None and _total(map(self._needed, turned.columns)) <= most:
                yield turned
                return
        parts = self._parts(most)
        for i, columns in enumerate(parts):
            part = self._like_this(columns, most)
            part.title = self.title if i == 0 else None
            part.caption = self.caption if i == len(parts) - 1 else None
            if i > 0:
                yield Text("")
            yield from Table.__rich_console__(part, console, options)

    def _widest(self, column: Column) -> int:
        return max(len(line) for text in _texts(column) for line in _lines(text))

    def _needed(self, column: Column) -> int:
        """Return the minimum width in which numbers and units are not split."""
        if column.overflow == "fold" and column.justify != "right":
            return min(LONGEST_VALUE, self._widest(column))
        heads, *cells = _texts(column)
        needed = max((len(word) for word in heads.split()), default=1)
        for text in cells:
            pieces = [text] if column.no_wrap else _pieces(text)
            needed = max(needed, *(len(piece) for piece in pieces))
        return needed

    def _parts(self, most: int) -> list[list[Column]]:
        """Return the columns of each part."""
        first, *others = self.columns
        parts: list[list[Column]] = [[first]]
        for column in others:
            wider = [*parts[-1], column]
            if len(parts[-1]) > 1 and _total(map(self._needed, wider)) > most:
                parts.append([first, column])
            else:
                parts[-1] = wider
        return parts

    def _like_this(self, columns: Sequence[Column], most: int) -> Table:
        """Return a part: columns at their natural width, texts share the remainder."""
        widths = [self._needed(column) for column in columns]
        left = most - _total(widths)
        while left > 0:
            widest = map(self._widest, columns)
            short = [i for i, width in enumerate(widest) if width > widths[i]]
            if not short:
                break
            for i in short[:left]:
                widths[i] += 1
            left -= len(short[:left])
        part = Table(**_LOOK, show_header=self.show_header)
        for column, width in zip(columns, widths, strict=True):
            justify = column.justify
            part.add_column(
                column.header, justify=justify, overflow="fold", width=width
            )
        for row, *cells in zip(self.rows, *(c.cells for c in columns), strict=True):
            part.add_row(
                *map(_wrapped, cells, widths),
                style=row.style,
                end_section=row.end_section,
            )
        return part

    def _turned(self) -> "PlainTable | None":
        """Return the transposed table, if it has few rows."""
        heads = [_texts(column)[0] for column in self.columns]
        if len(self.rows) > MAX_TURNED or any("\n" in head for head in heads):
            return None
        turned = PlainTable(**_LOOK, title=self.title, caption=self.caption)
        first, *others = (list(column.cells) for column in self.columns)
        turned.add_column(heads[0])
        for name in first:
            turned.add_column(name, justify="right")
        for head, cells in zip(heads[1:], others, strict=True):
            turned.add_row(" ".join(head.split()), *cells)
        return turned


def _texts(column: Column) -> list[str]:
    """Return the displayed head and cells of a column."""
    return [_text(cell) for cell in (column.header, *column.cells)]


def _text(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _pieces(text: str) -> list[str]:
    """Return the unbreakable pieces of a cell: a number with its unit, a word.

    A short cell may be broken before a number that follows a word, and before a
    bracket.
    """
    blank = BLANK_OF_VALUES if len(text) <= LONGEST_VALUE else BLANK_OF_TEXTS
    return [piece for line in _lines(text) for piece in blank.split(line)] or [""]


def _wrapped(cell: RenderableType, width: int) -> RenderableType:
    """Return a cell wrapped to the width between its pieces."""
    text = _text(cell)
    if max(map(len, _lines(text))) <= width:
        return cell
    lines = [""]
    for piece in _pieces(text):
        joined = f"{lines[-1]} {piece}" if lines[-1] else piece
        if len(joined) <= width or not lines[-1]:
            lines[-1] = joined
        else:
            lines.append(piece)
    style = cell.style if isinstance(cell, Text) else ""
    return Text("\n".join(lines), style)


def _total(widths: Iterable[int]) -> int:
    """Return the width of a table from the widths of its columns."""
    each = list(widths)
    return sum(each) + BETWEEN * (len(each) - 1)
