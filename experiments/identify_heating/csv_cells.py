"""A CSV file as columns of numbers: separators, decimal commas, missing cells.

Every error says the file, and the line where there is one.
"""

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import BadInput
from models.files import read_text
from models.values import number_of

FloatArray = NDArray[np.float64]

SEPARATORS = (",", ";", "\t")
MISSING = frozenset({"", "-", "na", "n/a", "nan", "none", "null"})
"""Cells that stand for no value, in any case."""
MOST_BAD_CELLS = 5
"""That a message names."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


@dataclass(frozen=True, kw_only=True, eq=False)
class CsvColumns:
    """The columns of a file, each with all its rows."""

    path: Path
    columns: dict[str, FloatArray]
    """Name as in the header, to (n,) numbers; NaN where a cell is empty."""
    has_decimal_commas: bool
    n_infinite: int
    """Cells that held an infinite number; they count as missing."""


def read_columns(path: Path, wanted: set[str] | None = None) -> CsvColumns:
    """Read a CSV file with a header.

    Args:
        path: of the file.
        wanted: columns to read; None: all. The others may hold text.

    Raises:
        BadInput: it cannot be read, has no header or no rows, names a column twice, a
            row has another number of cells, or a cell that is read is no number.
    """
    rows = _rows(path)
    header = _names(path, rows)
    body = rows[1:]
    if not body:
        raise BadInput(f"{path} has a header and no rows; give a file with data.")
    for line, cells in body:
        if len(cells) != len(header):
            raise BadInput(
                f"{path}:{line}: {len(cells)} cells in this row, {len(header)} in the "
                f"header; every row needs as many."
            )
    columns: dict[str, FloatArray] = {}
    bad: list[str] = []
    has_commas, n_infinite = False, 0
    for i, name in enumerate(header):
        if wanted is not None and name not in wanted:
            continue
        values = np.empty(len(body))
        for k, (line, cells) in enumerate(body):
            text = cells[i].strip()
            if _DECIMAL_COMMA.fullmatch(text):
                text, has_commas = text.replace(",", "."), True
            values[k], is_number = _number(text)
            if not is_number:
                bad.append(f"{path}:{line}: column {name!r} holds {cells[i]!r}")
            elif math.isinf(values[k]):
                values[k] = np.nan
                n_infinite += 1
        columns[name] = values
    if bad:
        more = len(bad) - MOST_BAD_CELLS
        rest = [f"and {more} more"] if more > 0 else []
        listed = "\n".join([*bad[:MOST_BAD_CELLS], *rest])
        raise BadInput(
            f"{listed}\ncells must be numbers; leave those without a value empty."
        )
    return CsvColumns(
        path=path,
        columns=columns,
        has_decimal_commas=has_commas,
        n_infinite=n_infinite,
    )


def header_of(path: Path) -> list[str]:
    """Return the names of the columns of a file.

    Raises:
        BadInput: as `read_columns`.
    """
    return _names(path, _rows(path))


def _names(path: Path, rows: list[tuple[int, list[str]]]) -> list[str]:
    line, cells = rows[0]
    header = [name.strip() for name in cells]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise BadInput(
            f"{path}:{line}: the header names {', '.join(twice)} more than once; keep "
            f"one column of each name."
        )
    return header


def _number(text: str) -> tuple[float, bool]:
    if text.lower() in MISSING:
        return np.nan, True
    try:
        return number_of(text), True
    except ValueError:
        return np.nan, False


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty or a comment (#), with their lines."""
    try:
        text = read_text(path, "utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no text in UTF-8; save it as CSV (UTF-8).") from None
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror or error}; give a CSV file."
        ) from error
    lines = text.splitlines()
    kept = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not kept or "\0" in text:
        raise BadInput(
            f"{path} holds no rows of text; give a CSV file whose first row names the "
            f"columns."
        )
    separator = max(SEPARATORS, key=kept[0][1].count)
    return [(number, _cells(path, number, line, separator)) for number, line in kept]


def _cells(path: Path, number: int, line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error as error:
        raise BadInput(
            f"{path}:{number}: a cell cannot be read: {error}; is a quotation mark "
            "left open?"
        ) from error
