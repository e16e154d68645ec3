"""Measured temperatures and currents from a CSV file, whatever its units.

A header names the columns; units stand in the names:

    time_s | time_ms | time_min     temperature_degc | _degf | _k     current_a | _ma

Separators, decimal commas and missing cells are told apart; every error says the file,
and the line where there is one.
"""

import csv
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.experiments.heat.identification.heat_log import (
    HeatLog,
    Repair,
    build_heat_log,
)
from nao_testbed.models import BadInput
from nao_testbed.models.files import read_text
from nao_testbed.models.values import FloatArray, number_of

SEPARATORS = (",", ";", "\t")
MISSING = frozenset({"", "-", "na", "n/a", "nan", "none", "null"})
"""Cells that stand for no value, in any case."""
MOST_BAD_CELLS = 5
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
        raise BadInput(f"{path} is no text in UTF-8; save it as CSV (UTF-8).") from None
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror or error}; give a CSV file."
        ) from error
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines or "\0" in text:
        raise BadInput(
            f"{path} holds no rows of text; give a CSV file whose first row names the "
            f"columns."
        )
    separator = max(SEPARATORS, key=lines[0][1].count)
    rows: Rows = []
    for number, line in lines:
        try:
            rows.append((number, next(csv.reader([line], delimiter=separator))))
        except csv.Error as error:
            raise BadInput(
                f"{path}:{number}: a cell cannot be read: {error}; is a quotation mark "
                "left open?"
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
                "the header; every row needs as many."
            )
    return header, body


def read_column(path: Path, header: list[str], rows: Rows, name: str) -> FloatArray:
    """Return the numbers of a column; NaN where a cell is empty.

    Raises:
        BadInput: a cell is no number.
    """
    place = header.index(name)
    texts = [cells[place] for _, cells in rows]
    if "_" not in "".join(texts):  # `float` is as strict as `number_of` then
        try:
            return np.array([float(text) for text in texts])
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
        more = len(bad) - MOST_BAD_CELLS
        rest = [f"and {more} more"] if more > 0 else []
        listed = "\n".join([*bad[:MOST_BAD_CELLS], *rest])
        raise BadInput(
            f"{listed}\ncells must be numbers; leave those without a value empty."
        )
    return np.array(values)


TIMES = {"time_s": 1.0, "time_ms": 1e-3, "time_min": 60.0}
"""Column to seconds."""
CURRENTS = {"current_a": 1.0, "current_ma": 1e-3}
"""Column to A."""
TEMPERATURES = {
    "temperature_degc": (1.0, 0.0),
    "temperature_degf": (5.0 / 9.0, -32.0 * 5.0 / 9.0),
    "temperature_k": (1.0, -273.15),
}
"""Column to factor and offset that make °C of it."""
TORQUE = "effort_nm"
"""Column that stands in for a current where the torque constant is given."""

LARGEST_CURRENT_A = 20.0
"""No joint of a humanoid of this size draws more."""
COLDEST_DEGC, HOTTEST_DEGC = -40.0, 200.0
"""What a motor in use can have."""
WARM_DEGC = 60.0
"""A motor in use that was never colder, and got hot, is rather one in °F."""
HOT_DEGC = 90.0


@dataclass(frozen=True, kw_only=True)
class CsvCfg(Checked):
    """What a file does not say itself."""

    torque_constant: (
        Annotated[float, Field(gt=0.0, title="torque constant in N·m/A")] | None
    ) = None
    """K in N·m/A, joint side: makes currents of a column `effort_nm`."""
    gap_s: Annotated[float, Field(gt=0.0, title="gap")] | None = None
    """As in `build_heat_log`."""
    trusts_units: bool = False
    """Take temperatures as the header says, however unlikely they are."""


def read_heat_log(path: Path, cfg: CsvCfg | None = None) -> HeatLog:
    """Read a CSV file as records of one motor.

    Rows out of order, doubled, or without a value are repaired, and `repairs` says so;
    what could mean two things is refused.

    Args:
        path: of the file; a line that begins with # is a comment.
        cfg: what the file does not say; None: nothing.

    Raises:
        BadInput: a column is missing or there twice, a cell is no number, a value is
            impossible in its unit, or too little is left.
    """
    cfg = cfg or CsvCfg()
    header, rows = read_rows(path)
    time_name = _one_of(path, header, tuple(TIMES))
    degree_name = _one_of(path, header, tuple(TEMPERATURES))
    drives = (*CURRENTS, TORQUE)
    drive_name = _one_of(path, header, drives)
    if drive_name == TORQUE and cfg.torque_constant is None:
        raise BadInput(
            f"{path} has torques ({TORQUE}) and no currents; give the torque constant "
            f"too, or name a joint of the robot."
        )
    names = (time_name, degree_name, drive_name)
    time_s, degc, drive = (read_column(path, header, rows, name) for name in names)
    repairs = []
    read = [cells[header.index(name)].strip() for _, cells in rows for name in names]
    if any(map(_DECIMAL_COMMA.fullmatch, read)):
        what = "decimal commas read as points"
        repairs.append(Repair(kind="unit", rows=len(rows), what=what))
    if n_infinite := sum(
        int(np.isinf(column).sum()) for column in (time_s, degc, drive)
    ):
        what = f"{n_infinite} infinite numbers: taken as missing"
        repairs.append(Repair(kind="missing", rows=n_infinite, what=what))
        for column in (time_s, degc, drive):
            column[np.isinf(column)] = np.nan
    factor, offset = TEMPERATURES[degree_name]
    degc = factor * degc + offset
    if degree_name != "temperature_degc":
        what = f"{degree_name} converted to °C"
        repairs.append(Repair(kind="unit", rows=degc.size, what=what))
    _refuse_impossible(path, degree_name, degc, trusts_units=cfg.trusts_units)
    if drive_name == TORQUE and cfg.torque_constant is not None:
        current = drive / cfg.torque_constant
    else:
        current = CURRENTS[drive_name] * drive
    largest = np.nanmax(np.abs(current), initial=0.0)
    if largest > LARGEST_CURRENT_A:
        raise BadInput(
            f"{path}: a current in {drive_name} is {largest:g} A, more than any joint "
            f"draws ({LARGEST_CURRENT_A:g} A); if it is in mA, call the column "
            f"current_ma."
        )
    return build_heat_log(
        str(path),
        TIMES[time_name] * time_s,
        degc,
        current,
        gap_s=cfg.gap_s,
        repairs=tuple(repairs),
    )


def _one_of(path: Path, header: list[str], names: tuple[str, ...]) -> str:
    """Return the one name that the header has.

    Raises:
        BadInput: it has none of them, or several.
    """
    found = [name for name in names if name in header]
    if len(found) > 1:
        raise BadInput(f"{path} has the columns {' and '.join(found)}; keep one.")
    if found:
        return found[0]
    close = [n for name in names for n in get_close_matches(name, header, n=1)]
    hint = f" (is it {close[0]!r}?)" if close else ""
    raise BadInput(
        f"{path}: there is no column {' or '.join(names)}{hint}; the header has "
        f"{', '.join(header)}. Name the column so, with its unit."
    )


def _refuse_impossible(
    path: Path, name: str, degc: FloatArray, *, trusts_units: bool
) -> None:
    """Refuse temperatures that are none, or look like those of another unit."""
    known = degc[np.isfinite(degc)]
    if known.size == 0 or trusts_units:
        return
    low, high = float(known.min()), float(known.max())
    if low > 250.0 and high < HOTTEST_DEGC + 273.15:
        looks = "K: call the column temperature_k"
    elif low >= WARM_DEGC and high >= HOT_DEGC:
        looks = "°F: call the column temperature_degf"
    elif low < COLDEST_DEGC or high > HOTTEST_DEGC:
        raise BadInput(
            f"{path}: temperatures in {name} go from {low:g} to {high:g} °C; a motor "
            f"has {COLDEST_DEGC:g} to {HOTTEST_DEGC:g} °C. Leave lost readings empty."
        )
    else:
        return
    raise BadInput(
        f"{path}: temperatures in {name} go from {low:g} to {high:g} °C, which looks "
        f"like {looks}. If they are right as they are, say so (trusts_units)."
    )
