"""Reads measured temperatures and currents from a CSV file, whatever its units.

A header names the columns; units stand in the names:

    time_s | time_ms | time_min     temperature_degc | _degf | _k     current_a | _ma
"""

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.identify_heating.csv_cells import header_of, read_columns
from experiments.identify_heating.heat_log import HeatLog, Repair, build_heat_log
from models import BadInput

FloatArray = NDArray[np.float64]

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
class CsvCfg:
    """What a file does not say itself."""

    torque_constant: float | None = None
    """K in N·m/A, joint side: makes currents of a column `effort_nm`."""
    gap_s: float | None = None
    """As in `build_heat_log`."""
    trusts_units: bool = False
    """Take temperatures as the header says, however unlikely they are."""

    def __post_init__(self) -> None:
        """Refuse numbers that no file can have.

        Raises:
            BadInput: a number is not above 0.
        """
        for name, value, unit in (
            ("torque constant", self.torque_constant, "N·m/A"),
            ("gap", self.gap_s, "s"),
        ):
            if value is not None and not 0.0 < value < np.inf:
                raise BadInput(f"{name} is {value} {unit}; give a number above 0.")


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
    header = header_of(path)
    time_name = _one_of(path, header, tuple(TIMES))
    degree_name = _one_of(path, header, tuple(TEMPERATURES))
    drives = (*CURRENTS, TORQUE)
    drive_name = _one_of(path, header, drives)
    if drive_name == TORQUE and cfg.torque_constant is None:
        raise BadInput(
            f"{path} has torques ({TORQUE}) and no currents; give the torque constant "
            f"too, or name a joint of the robot."
        )
    cells = read_columns(path, {time_name, degree_name, drive_name})
    repairs = []
    if cells.has_decimal_commas:
        what = "decimal commas read as points"
        repairs.append(
            Repair(kind="unit", rows=len(cells.columns[time_name]), what=what)
        )
    if cells.n_infinite:
        what = f"{cells.n_infinite} infinite numbers: taken as missing"
        repairs.append(Repair(kind="missing", rows=cells.n_infinite, what=what))
    factor, offset = TEMPERATURES[degree_name]
    degc = factor * cells.columns[degree_name] + offset
    if degree_name != "temperature_degc":
        what = f"{degree_name} converted to °C"
        repairs.append(Repair(kind="unit", rows=degc.size, what=what))
    _refuse_impossible(path, degree_name, degc, trusts_units=cfg.trusts_units)
    if drive_name == TORQUE and cfg.torque_constant is not None:
        current = cells.columns[drive_name] / cfg.torque_constant
    else:
        current = CURRENTS[drive_name] * cells.columns[drive_name]
    largest = np.nanmax(np.abs(current), initial=0.0)
    if largest > LARGEST_CURRENT_A:
        raise BadInput(
            f"{path}: a current in {drive_name} is {largest:g} A, more than any joint "
            f"draws ({LARGEST_CURRENT_A:g} A); if it is in mA, call the column "
            f"current_ma."
        )
    return build_heat_log(
        str(path),
        TIMES[time_name] * cells.columns[time_name],
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
