"""The small table of a golden run: a few columns of a recording on an even time grid.

Fast-forward may begin a second earlier or later after a small change, so rows are not
compared one by one: at each time of the grid stands the newest value there was.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import BadInput, UnknownName, load_robot
from models.files import read_text, why
from sim.run_folder import Run

FloatArray = NDArray[np.float64]

CHANNELS = ("limits", "target", "motor_torque", "true_temperature")
"""Recorded unless others are asked for: decisions, what they cost, what they heat."""
EVERY_S = 0.5
"""Time between two rows."""
DECIMALS = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class GoldenTable:
    """Columns with units, and a row for every time."""

    units: Mapping[str, str]
    """Column to unit, in the order of the columns."""
    time_s: FloatArray
    """(m,)"""
    rows: FloatArray
    """(m, n_columns)"""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names such as `limits.LKneePitch`."""
        return tuple(self.units)


def table_of(
    run: Run, robot: Path, columns: Sequence[str], every_s: float = EVERY_S
) -> GoldenTable:
    """Return the table of a run.

    Args:
        run: the recording.
        robot: its folder. Of a channel the legs' columns are taken, all of a robot
            without legs.
        columns: channels such as `limits`, or single columns such as
            `limits.LKneePitch`.
        every_s: time between two rows in s.

    Raises:
        BadInput: a channel or column is unknown, or the time between rows too short or
            too long.
    """
    frame = run.frame
    end = float(frame.index[-1])
    if not (np.isfinite(every_s) and 0.02 <= every_s <= end):
        raise BadInput(
            f"every_s is {every_s} s; give 0.02 s to the {end:g} s of the trial."
        )
    names = _names(run, frozenset(load_robot(robot).leg_joints), columns)
    n_rows = int(end / every_s + 1e-6)
    time_s: FloatArray = every_s * np.arange(1.0, n_rows + 1.0)
    newest = np.searchsorted(frame.index.to_numpy(), time_s + 1e-6) - 1
    values = frame[names].ffill().to_numpy(dtype=np.float64)
    return GoldenTable(
        units={name: run.meta.columns[name] for name in names},
        time_s=time_s,
        rows=np.round(values[newest], DECIMALS) + 0.0,  # no minus zero
    )


def write_table(path: Path, table: GoldenTable) -> None:
    """Write the table as CSV."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(("time_s", *table.columns))]
    for time_s, row in zip(table.time_s, table.rows, strict=True):
        lines.append(",".join([f"{time_s:.2f}", *(f"{x:.{DECIMALS}f}" for x in row)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_table(path: Path, units: Mapping[str, str]) -> GoldenTable:
    """Read a table that `write_table` wrote.

    Raises:
        BadInput: it is damaged, or has other columns than its description says.
    """
    try:
        header, *lines = read_text(path).splitlines()
        rows = np.array([[float(x) for x in line.split(",")] for line in lines])
    except (OSError, ValueError) as error:
        raise BadInput(f"{path} cannot be read: {why(error)}. Make it anew.") from error
    columns = tuple(header.split(","))[1:]
    if columns != tuple(units) or rows.shape[1:] != (len(columns) + 1,):
        raise BadInput(f"{path} and {path.stem}.json name other columns. Make it anew.")
    return GoldenTable(units=dict(units), time_s=rows[:, 0], rows=rows[:, 1:])


def _names(run: Run, legs: frozenset[str], columns: Sequence[str]) -> list[str]:
    known = [str(name) for name in run.frame.columns]
    channels = {name.partition(".")[0] for name in known}
    names: list[str] = []
    for wanted in columns:
        if wanted in known:
            found = [wanted]
        elif wanted in channels:
            found = [name for name in known if name.partition(".")[0] == wanted]
            of_legs = [name for name in found if name.partition(".")[2] in legs]
            found = of_legs or found
        else:
            raise UnknownName("Column", wanted, sorted(channels), f"run {run.folder}")
        names += [name for name in found if name not in names]
    if not names:
        raise BadInput("a golden run without columns; give channels such as 'limits'.")
    return names
