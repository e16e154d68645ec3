"""Tables of CSV files from any program.

Separators, decimal commas, missing cells, title lines, units below the header, repeated
headers and an incomplete last row are detected.
"""

import csv
import re
from contextlib import suppress
from functools import cached_property, partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.experiments.heat.logs.bags import JOINT_FIELDS
from nao_testbed.experiments.heat.logs.record import Repair
from nao_testbed.experiments.heat.logs.tables import (
    LogTable,
    array_of,
    is_records,
    read_records,
    times_of,
)
from nao_testbed.models import BadInput
from nao_testbed.models.files.packed import open_log, text_of
from nao_testbed.models.values import FloatArray, number_of

SEPARATORS = (",", ";", "\t", "|")
MISSING = frozenset(
    {
        *("", "-", "--", "---", "...", "?", "na", "n/a", "nan", "-nan", "none", "null"),
        *("nil", "undefined", "#n/a", "#value!", "#num!", "#div/0!", "over range"),
        *("1.#qnan", "-1.#ind", "nan(ind)", "-nan(ind)"),
    }
)
"""Cells that mean a missing value; case is ignored."""
MAX_BAD_CELLS = 5
"""Largest number of invalid cells listed in a message."""
MAX_TITLE_LINES = 20
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")
_OTHER = re.compile(r"[+-]?\d+,\d+|.*\d:\d\d|\s*\d{8}T\d|[\[(]")
"""First cell of a column that is not plain: decimal comma, date, time, list."""
_LIST = re.compile(
    r"\s*(?:array\()?(?:'\w', *)?[\[(](.*?)[\])](?:, dtype=\w+)?\)?\s*", re.DOTALL
)
_QUOTED = re.compile(r'"[^"]*"')
_COMMENT = re.compile(r"#|//|%(?!time)")


_Rows = list[tuple[int, list[str]]]
"""Line number and cells of each row."""


def _read_rows(path: Path) -> tuple[list[str], _Rows, list[Repair]]:
    """Return the names of the columns, and all rows except comments (#).

    Raises:
        BadInput: the file cannot be read, has no header or no rows, names a column
            twice, or its rows differ in length.
    """
    text = text_of(path)
    every = [one for one in enumerate(text.splitlines(), start=1) if one[1].strip()]
    lines = [one for one in every if not _COMMENT.match(one[1])]
    if not lines or "\0" in text:
        raise BadInput(
            f"{path} has no rows of text; give a CSV file that begins with the names "
            "of the columns."
        )
    before = every[: every.index(lines[0])]
    if before and _is_numbers(lines[0][1]):  # the header is a comment
        lines.insert(0, (before[-1][0], before[-1][1].lstrip("#/% ")))
    repairs = []
    if first := _title_lines(lines):
        what = f"lines above the header: {first}, left out"
        repairs.append(Repair(kind="missing", rows=first, what=what))
        lines = lines[first:]
    separator = _separator(lines[0][1])
    if separator in lines[0][1]:
        rows = _cells(path, lines, separator)
    else:
        rows = [(number, line.split()) for number, line in lines]
    if rows[0][1][-1] == "" or all(len(c) > len(rows[0][1]) for _, c in rows[1:]):
        rows = [(n, c[:-1] if c and not c[-1].strip() else c) for n, c in rows]
    rows = _with_one_header(rows)
    header = _echoed(rows[0][1])
    body = rows if header else rows[1:]
    header = header or _header_of(path, *rows[0])
    again = [number for number, cells in body if cells == rows[0][1] and body != rows]
    if again:
        what = f"the header again in line {again[0]}: left out"
        repairs.append(Repair(kind="missing", rows=len(again), what=what))
        body = [one for one in body if one[0] not in {*again}]
    if not body:
        raise BadInput(f"{path} has a header and no rows; give a file with data.")
    if len(body) > 1 and len(body[0][1]) == len(header) and _is_units(body):
        units = body.pop(0)[1]
        header = [f"{n} [{u.strip()}]" for n, u in zip(header, units, strict=True)]
    if len(body) > 1 and len(body[-1][1]) < len(header):
        repairs.append(_cut_row(body.pop()[0]))
    for number, cells in body:
        if len(cells) != len(header):
            raise BadInput(
                f"{path}:{number}: {len(cells)} cells in this row, {len(header)} in "
                "the header; give every row as many."
            )
    return *_without_list_cells(path, header, body), repairs


def _with_one_header(rows: _Rows) -> _Rows:
    """Join the lines of a header of pandas: signals, joints, name of the index."""
    if len(rows) < 4 or len(rows[0][1]) != len(rows[1][1]):
        return rows
    (number, first), (_, second), (_, third), *_ = rows
    known = [*filter(None, first)]
    if len({*known}) == len(known) or any(map(_is_numbers, filter(None, second[1:]))):
        return rows
    names = [".".join(filter(None, pair)) for pair in zip(first, second, strict=True)]
    has_name = not any(third[1:])
    if has_name or (first[0] and second[0]):  # names of the index; of the levels
        names[0] = third[0] if has_name else ""
    return [(number, names), *rows[3 if has_name else 2 :]]


def _cut_row(line: int) -> Repair:
    what = f"the last row, line {line}, is incomplete: left out"
    return Repair(kind="missing", rows=1, what=what)


def _separator(line: str) -> str:
    return max(SEPARATORS, key=line.count)


def _title_lines(lines: list[tuple[int, str]]) -> int:
    """Return the number of lines above the header, such as a title.

    The header has as many cells as the rows at the end, most of them with text.
    """
    rows = [_QUOTED.sub("", line) for _, line in lines[-3:]]
    for k, (_, whole) in enumerate(lines[: min(MAX_TITLE_LINES, len(lines) - 1)]):
        line = _QUOTED.sub("text", whole)
        separator = _separator(line)
        cells = line.split(separator)
        has_names = 2 * sum(map(bool, map(str.strip, cells))) > len(cells) > 1
        is_wide = line.count(separator) in {row.count(separator) for row in rows}
        if k == 0 and _is_numbers(line):
            return 0
        if has_names and is_wide and 2 * sum(map(_is_numbers, cells)) <= len(cells):
            return k
    return 0


def _cells(path: Path, lines: list[tuple[int, str]], separator: str) -> _Rows:
    """Return the cells of each row; a cell in quotation marks may have several lines.

    Raises:
        BadInput: a cell cannot be read.
    """
    reader = csv.reader(
        (line + "\n" for _, line in lines), delimiter=separator, skipinitialspace=True
    )
    rows: _Rows = []
    while (begin := reader.line_num) < len(lines):
        try:
            cells = next(reader)
            if long := [c for c in cells if "\n" in c and not _LIST.fullmatch(c)]:
                raise csv.Error(f"{long[0][:20]!r} goes on in the next line")
        except csv.Error as error:
            raise BadInput(
                f"{path}:{lines[begin][0]}: a cell cannot be read: {error}; check its "
                "quotation marks."
            ) from error
        rows.append((lines[begin][0], cells))
    return rows


def _echoed(cells: list[str]) -> list[str]:
    """Return names for a JointState of `ros2 topic echo --csv`, which writes none.

    A row has seconds, nanoseconds and frame; the names of the joints; their positions,
    velocities and efforts, or an empty cell. Empty for the cells of another file.
    """
    n = next((k for k, cell in enumerate(cells[3:]) if _is_numbers(cell)), 0)
    if not n or not all(cell.isdecimal() for cell in cells[:2]):
        return []
    names = ["stamp.sec", "stamp.nanosec", "frame_id", *(f"name.{i}" for i in range(n))]
    for field in JOINT_FIELDS:
        is_empty = len(names) < len(cells) and not cells[len(names)].strip()
        names += [field] if is_empty else [f"{field}.{i}" for i in range(n)]
    names = names[: len(cells)]
    return names if len(names) == len(cells) else []


def _without_list_cells(
    path: Path, header: list[str], body: _Rows
) -> tuple[list[str], _Rows]:
    """Return rows in which each item of a list in a cell has its own column.

    Raises:
        BadInput: the lists of a column differ in length.
    """
    sizes = {k: len(_items(c)) for k, c in enumerate(body[0][1]) if _LIST.fullmatch(c)}
    if not sizes:
        return header, body
    spread: _Rows = []
    for number, cells in body:
        row: list[str] = []
        for k, cell in enumerate(cells):
            items = _items(cell) if k in sizes else [cell]
            if k in sizes and not cell.strip():
                items = [""] * sizes[k]
            if len(items) != sizes.get(k, 1):
                raise BadInput(
                    f"{path}:{number}: the list of column {header[k]!r} has "
                    f"{len(items)} items, that of the first row {sizes[k]}; give "
                    "every row as many."
                )
            row += items
        spread.append((number, row))
    names = []
    for k, name in enumerate(header):
        names += [f"{name}.{i}" for i in range(sizes[k])] if k in sizes else [name]
    return names, spread


def _items(cell: str) -> list[str]:
    """Return the items of a list such as `[0.1, 0.2]`, `['a' 'b']` or `(1; 2)`."""
    found = _LIST.fullmatch(re.sub(r"np\.\w+\((.*?)\)", r"\1", cell))
    items = re.split(r"[,;\s]+", found[1].strip(" ,;\n")) if found else [cell]
    return [item.strip("'\"") for item in items]


def _header_of(path: Path, first: int, names: list[str]) -> list[str]:
    """Return the names of the columns.

    Raises:
        BadInput: the row has numbers, or a name twice.
    """
    header = [name.strip() for name in names]
    if sum(map(_is_numbers, filter(None, header))) > len(header) / 2:
        raise BadInput(
            f"{path}:{first}: the first row has numbers; add a row with the names of "
            "the columns above it."
        )
    if header[0] == "" and "index" not in header:
        header[0] = "index"  # as pandas writes it
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise BadInput(
            f"{path}:{first}: the header names {', '.join(twice)} more than once; keep "
            f"one column of each name."
        )
    return header


def _is_units(body: _Rows) -> bool:
    """Return True if the first row has words where the second one has numbers."""
    first, second = (",".join(filter(None, cells)) for _, cells in body[:2])
    has_words = any(c.strip().lower() not in MISSING for c in body[0][1])
    return has_words and not re.search(r"\d", first) and _is_numbers(second)


def _is_numbers(line: str) -> bool:
    cells = re.split(r"[,;|\s]+", line.strip())
    return all(re.fullmatch(r"[-+.\deE]+|nan", cell, re.IGNORECASE) for cell in cells)


class CsvTable(LogTable):
    """Table from a text file."""

    def __init__(self, path: Path) -> None:
        """Read the rows of a file."""
        self.path = path
        self.names, self._rows, self.repairs = _read_rows(path)
        self.lines = tuple(number for number, _ in self._rows)

    def texts(self, name: str) -> list[str]:
        """Return the (n,) cells of a column."""
        place = self.names.index(name)
        return [cells[place].strip() for _, cells in self._rows]

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN for empty cells, dates in s.

        Raises:
            BadInput: a cell is not a number.
        """
        place = self.names.index(name)
        texts = [cells[place] for _, cells in self._rows]
        if "_" not in "".join(texts):  # `float` is then as strict as `number_of`
            try:
                return np.array([float(text) for text in texts])
            except ValueError:
                pass  # empty cells, decimal commas, dates, or not a number
        if (times := times_of(texts)) is not None:
            return times
        values, bad = [], []
        for (number, _), cell in zip(self._rows, texts, strict=True):
            text = cell.strip().removesuffix(" sec")  # as MATLAB writes it
            text = text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text
            try:
                is_missing = text.lower() in MISSING
                values.append(np.nan if is_missing else number_of(text))
            except ValueError:
                bad.append(f"{self.path}:{number}: column {name!r} holds {cell!r}")
        if bad:
            more = len(bad) - MAX_BAD_CELLS
            rest = [f"and {more} more"] if more > 0 else []
            listed = "\n".join([*bad[:MAX_BAD_CELLS], *rest])
            raise BadInput(
                f"{listed}\ngive numbers; leave cells without a value empty."
            )
        if any(map(_DECIMAL_COMMA.fullmatch, map(str.strip, texts))):
            what = "decimal commas read as points"
            comma = Repair(kind="unit", rows=len(texts), what=what)
            self.repairs = [one for one in self.repairs if one != comma] + [comma]
        return np.array(values)


LONG_BYTES = 20_000_000
"""Size above which a plain CSV file is read by pyarrow, in blocks."""
BLOCK_BYTES = 500_000
LAST_BYTES = 100_000
CLOCK = 0.7
"""Share of rows in which a clock advances; its column keeps double precision."""


class LongCsvTable(LogTable):
    """Table from a long, plain CSV file; signals are kept in single precision.

    A file is plain if its first line names the columns and every cell below is a number
    or missing, except in columns of text. `read_csv` reads other files.
    """

    def __init__(self, path: Path) -> None:
        """Read the rows of a file.

        Raises:
            ValueError, OSError, pyarrow.ArrowException: the file is not plain.
        """
        import pyarrow as pa  # noqa: PLC0415  # slow
        from pyarrow import csv as pacsv  # noqa: PLC0415  # slow

        self.path = path
        with open_log(path) as file:
            lines = TextIOWrapper(file, "utf-8-sig")
            head, first, second = (lines.readline() for _ in range(3))
            lines.detach()
        separator = _separator(head)
        top = [head, first, second]
        rows = csv.reader(top, delimiter=separator, skipinitialspace=True)
        names, self._first, other = ([cell.strip() for cell in row] for row in rows)
        is_plain = len(names) == len(self._first) == len({*names, ""}) - 1
        is_other = any(map(_OTHER.match, self._first))
        is_other |= separator not in head or any(map(_is_number, names))
        # joints of messages by two programs
        pairs = zip(self._first, other, strict=False)
        texts = [p for p in pairs if not {c.lower() for c in p} & MISSING]
        is_other |= any(a != b and not _is_number(a) for a, b in texts)
        if not is_plain or is_other or _COMMENT.match(head) or _is_numbers(head):
            raise ValueError(head)
        self.names = names
        cells = dict(zip(names, self._first, strict=True))
        numeric = [n for n, c in cells.items() if c.lower() in MISSING or _is_number(c)]
        kinds = dict.fromkeys(names, pa.string()) | dict.fromkeys(numeric, pa.float64())
        bad: list[str] = []

        def skip(row: pacsv.InvalidRow) -> str:
            bad.append(row.text)
            return "skip"

        reader = pacsv.open_csv(
            path,
            pacsv.ReadOptions(column_names=names, skip_rows=1, block_size=BLOCK_BYTES),
            pacsv.ParseOptions(
                delimiter=separator, ignore_empty_lines=False, invalid_row_handler=skip
            ),
            pacsv.ConvertOptions(
                column_types=kinds,
                include_columns=numeric,
                null_values=[
                    v for m in MISSING for v in (m, m.upper(), m.title(), "NaN")
                ],
            ),
        )
        count, last = _count_lines(path)
        block = np.empty((len(numeric), count), np.float32)
        self._columns: dict[str, NDArray[Any]] = {}
        n = 0
        for batch in reader:
            to = n + batch.num_rows
            for k, column in enumerate(batch.columns):
                values = array_of(column)
                name = numeric[k]
                if not n:
                    is_clock = (np.diff(values) > 0.0).mean() > CLOCK
                    whole = np.empty(block.shape[1]) if is_clock else block[k]
                    self._columns[name] = whole
                self._columns[name][n:to] = values
            n = to
        if bad:
            if bad != [last] or last.count(separator) >= len(names) - 1:
                raise ValueError(bad[0])
            self.repairs = (_cut_row(n + 2),)
        self._columns = {name: values[:n] for name, values in self._columns.items()}
        self.lines = range(2, 2 + n)

    def numbers(self, name: str) -> FloatArray:
        """Return the (n,) numbers of a column, NaN for empty cells.

        Raises:
            BadInput: a cell is not a number.
        """
        if name in self._columns:
            return self._columns[name]
        return self._texts.numbers(name)  # the error names the cells

    @cached_property
    def _texts(self) -> CsvTable:
        return CsvTable(self.path)

    def first_text(self, name: str) -> str:
        """Return the first cell of a column."""
        return self._first[self.names.index(name)]

    def texts(self, name: str) -> list[str]:
        """Return the (n,) cells of a column."""
        return self._texts.texts(name)

    def distinct_texts(self, name: str) -> set[str]:
        """Return the first cell, which equals that of the second row."""
        return {self.first_text(name)}


def _count_lines(path: Path) -> tuple[int, str]:
    """Return the number of lines of a file, and the text of the last one."""
    n, end = 1, b""
    with open_log(path) as file:
        for part in iter(partial(file.read, 1 << 20), b""):
            n += part.count(b"\n")
            end = (end + part)[-LAST_BYTES:]
    lines = end.decode("utf-8", "replace").splitlines()
    return n, lines[-1] if lines else ""


def _is_number(cell: str) -> bool:
    try:
        number_of(cell)
    except ValueError:
        return False
    return True


def read_csv(path: Path) -> LogTable:
    """Read a text file: CSV, JSON or messages of `ros2 topic echo`.

    Raises:
        BadInput: the file cannot be read, or has no rows.
    """
    with open_log(path) as file:
        head = file.read(200)
    if is_records(head.decode("utf-8-sig", "replace")):
        return read_records(path)
    if path.stat().st_size > LONG_BYTES:
        import pyarrow as pa  # noqa: PLC0415  # slow

        with suppress(ValueError, StopIteration, OSError, csv.Error, pa.ArrowException):
            return LongCsvTable(path)
    return CsvTable(path)
