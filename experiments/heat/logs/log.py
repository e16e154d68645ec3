"""A log of a robot as columns in SI units, from any of three kinds of source.

Nothing is judged here but the file itself: each command checks what it needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.heat.logs.csv_file import read_column, read_rows
from nao_testbed.experiments.heat.logs.dialect import (
    OWN,
    Dialect,
    Scale,
    column_names,
    find_signal,
)
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN
from nao_testbed.sim.recording.run_folder import read_run

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, FloatArray]
"""Member to (n,) values."""
LARGEST_CURRENT_A = 20.0
"""No joint of a humanoid of this size draws more."""
COLDEST_DEGC, HOTTEST_DEGC = -40.0, 200.0
"""What a motor in use can have."""


@dataclass(frozen=True, kw_only=True)
class Repair:
    """Something that was wrong with the data, and what was done about it."""

    kind: str
    """`unit`, `order`, `duplicate`, `missing`, `gap` or `short`."""
    rows: int
    """How many rows it concerns."""
    what: str
    """In words."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Log:
    """Rows of a log, in the order of the source; NaN where a value is missing."""

    path: Path
    names: tuple[str, ...]
    """All columns of the source."""
    dialect: Dialect
    signals: Mapping[str, Columns]
    """Signal of the dialect to its columns, each (n,) in SI units (temperatures in °C);
    a signal that the log lacks is not in it."""
    lines: Sequence[int] = ()
    """(n,) line of each row in a text file."""
    run_state: str | None = None
    """`Run.state`; None for a file."""
    repairs: tuple[Repair, ...] = ()

    @property
    def time_s(self) -> FloatArray:
        """(n,) in s."""
        return self.signals[TIME_COLUMN][""]

    def place(self, row: int) -> str:
        """Return the place of a row, for messages."""
        if self.lines:
            return f"{self.path}:{self.lines[row]}"
        return f"{self.path}, row {row + 1}"

    def column(self, member: str, *signals: str) -> str:
        """Return the only column with any of some signals of a member.

        Raises:
            BadInput: there is no such column, or several.
        """
        wanted = [n for one in signals for n in column_names(one, member, self.dialect)]
        found = [name for name in wanted if name in self.names]
        if len(found) > 1:
            raise BadInput(
                f"{self.path} has the columns {' and '.join(found)}; keep one."
            )
        if found:
            return found[0]
        close = [n for name in wanted for n in get_close_matches(name, self.names, n=1)]
        hint = f" (is it {close[0]!r}?)" if close else ""
        raise BadInput(
            f"{self.path}: there is no column {' or '.join(wanted)}{hint}; the header "
            f"has {', '.join(self.names)}. Add or rename the column."
        )


def read_log(source: Path | str, dialect: Dialect = OWN) -> Log:
    """Read a run folder, a CSV file, or a Parquet file (`.parquet`).

    Raises:
        BadInput: it is none of these, has no time, names a signal twice, or a cell is
            no number.
    """
    source = Path(source)
    if source.is_dir():
        run = read_run(source)
        log = _log_of_frame(run.folder, run.frame.reset_index(), dialect)
        return replace(log, run_state=run.state)
    if source.suffix.lower() in {".parquet", ".pq"}:
        return _log_of_frame(source, _read_parquet(source), dialect)
    header, rows = read_rows(source)
    columns, has_commas = {}, False
    for name in header:
        if find_signal(name, dialect):
            columns[name], is_comma = read_column(source, header, rows, name)
            has_commas |= is_comma
    what = "decimal commas read as points"
    repairs = [Repair(kind="unit", rows=len(rows), what=what)] * has_commas
    log = _build(source, header, columns, dialect)
    lines = tuple(number for number, _ in rows)
    return replace(log, lines=lines, repairs=(*repairs, *log.repairs))


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415  # slow
    import pyarrow as pa  # noqa: PLC0415  # slow

    try:
        frame = pd.read_parquet(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise BadInput(
            f"{path} cannot be read as Parquet: {str(error).splitlines()[0]} Give a "
            "Parquet file, a CSV file (.csv) or a run folder."
        ) from error
    return frame if frame.index.name is None else frame.reset_index()


def _log_of_frame(path: Path, frame: "pd.DataFrame", dialect: Dialect) -> Log:
    columns = {}
    for name, values in frame.items():
        if find_signal(str(name), dialect) is None:
            continue
        if values.dtype.kind not in "iuf":
            example = values.iloc[0] if len(values) else values.dtype
            raise BadInput(
                f"{path}: column {name!r} holds {example!r} ({values.dtype}); give "
                "numbers."
            )
        columns[str(name)] = values.to_numpy(np.float64, na_value=np.nan)
    return _build(path, list(map(str, frame)), columns, dialect)


def _build(path: Path, names: list[str], columns: Columns, dialect: Dialect) -> Log:
    """Sort the columns of a source by signal, and convert them."""
    signals: dict[str, dict[str, FloatArray]] = {}
    log = Log(path=path, names=tuple(names), dialect=dialect, signals=signals)
    log.column("", TIME_COLUMN)
    repairs = {}
    if n := sum(int(np.isinf(values).sum()) for values in columns.values()):
        repairs[f"{n} infinite numbers: treated as missing"] = ("missing", n)
    for name, values in columns.items():
        signal, member, unit = find_signal(name, dialect) or ("", "", Scale())
        log.column(member, signal)
        known = np.where(np.isfinite(values), values, np.nan)
        signals.setdefault(signal, {})[member] = unit.factor * known + unit.offset
        if unit.offset:
            what = f"{name.partition('.')[0]} converted to °C"
            repairs[what] = ("unit", values.size)
    done = [Repair(kind=k, rows=n, what=what) for what, (k, n) in repairs.items()]
    return replace(log, repairs=tuple(done))
