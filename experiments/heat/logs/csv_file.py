"""Rows and columns of a CSV file with any separator and decimal point.

Separators, decimal commas and missing cells are detected; every error names the file,
and the line if there is one.
"""

import csv
import re
from pathlib import Path

import numpy as np

from nao_testbed.models import BadInput
from nao_testbed.models.files import read_text
from nao_testbed.models.values import FloatArray, number_of

SEPARATORS = (",", ";", "\t")
MISSING = frozenset({"", "-", "na", "n/a", "nan", "none", "null"})
"""Cells that stand for no value, in any case."""
MAX_BAD_CELLS = 5
"""That a message names."""
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


Rows = list[tuple[int, list[str]]]
"""Number of the line, and its cells."""


def read_rows(path: Path) -> tuple[list[str], Rows]:
    """Return the names of the columns, and the rows that are no comment (#).

    Raises:
        BadInput: it cannot be read, has no header or no rows, names a column twice, or
            a row has another number of cells.
    """
    try:
        text = read_text(path, "utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is not UTF-8 text; save it as CSV (UTF-8).") from None
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror or error}; give a run folder, "
            "a CSV file or a Parquet file."
        ) from error
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines or "\0" in text:
        raise BadInput(
            f"{path} has no rows of text; give a CSV file whose first row names the "
            f"columns."
        )
    separator = max(SEPARATORS, key=lines[0][1].count)
    rows: Rows = []
    for number, line in lines:
        try:
            rows.append((number, next(csv.reader([line], delimiter=separator))))
        except csv.Error as error:
            raise BadInput(
                f"{path}:{number}: a cell cannot be read: {error}; check its "
                "quotation marks."
            ) from error
    (first, names), *body = rows
    header = [name.strip() for name in names]
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise BadInput(
            f"{path}:{first}: the header names {', '.join(twice)} more than once; keep "
            f"one column of each name."
        )
    if not body:
        raise BadInput(f"{path} has a header and no rows; give a file with data.")
    for number, cells in body:
        if len(cells) != len(header):
            raise BadInput(
                f"{path}:{number}: {len(cells)} cells in this row, {len(header)} in "
                "the header; give every row as many."
            )
    return header, body


def read_column(
    path: Path, header: list[str], rows: Rows, name: str
) -> tuple[FloatArray, bool]:
    """Return the numbers of a column, and whether they have decimal commas.

    NaN stands for an empty cell.

    Raises:
        BadInput: a cell is not a number.
    """
    place = header.index(name)
    texts = [cells[place] for _, cells in rows]
    if "_" not in "".join(texts):  # `float` is as strict as `number_of` then
        try:
            return np.array([float(text) for text in texts]), False
        except ValueError:
            pass  # empty cells, decimal commas, or what is no number
    values, bad = [], []
    for number, cells in rows:
        cell = cells[place]
        text = cell.strip()
        text = text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text
        try:
            is_missing = text.lower() in MISSING
            values.append(np.nan if is_missing else number_of(text))
        except ValueError:
            bad.append(f"{path}:{number}: column {name!r} holds {cell!r}")
    if bad:
        more = len(bad) - MAX_BAD_CELLS
        rest = [f"and {more} more"] if more > 0 else []
        listed = "\n".join([*bad[:MAX_BAD_CELLS], *rest])
        raise BadInput(f"{listed}\ngive numbers; leave cells without a value empty.")
    return np.array(values), any(map(_DECIMAL_COMMA.fullmatch, map(str.strip, texts)))
