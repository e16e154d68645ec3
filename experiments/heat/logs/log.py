"""Reader of logs of all supported formats: `read_log`."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.experiments.heat.logs.bags import is_bag, read_bag
from nao_testbed.experiments.heat.logs.columns import (
    GIVEN,
    OWN,
    TIME,
    Match,
    listed,
    match_columns,
    nanoseconds_beside,
    of_motor,
    order_of_numbers,
    read_map,
    time_unit,
)
from nao_testbed.experiments.heat.logs.csv_tables import read_csv
from nao_testbed.experiments.heat.logs.doubts import doubt
from nao_testbed.experiments.heat.logs.record import LONG_ROWS, Columns, Log, Repair
from nao_testbed.experiments.heat.logs.signals import SIGNALS, Scale, find_signal
from nao_testbed.experiments.heat.logs.tables import (
    FrameTable,
    LogTable,
    is_parquet,
    read_arrays,
    read_data_set,
    read_parquet,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN
from nao_testbed.sim.recording.recorder import EVENTS_FILE
from nao_testbed.sim.recording.run_folder import read_run
from nao_testbed.sim.recording.run_meta import META_FILE

LOG_ENDINGS = frozenset({".csv", ".parquet", ".jsonl", ".gz", ".mcap", ".bag", ".db3"})
"""Endings of files by which a folder of logs is recognised."""
NO_TEXT = ("", "nan", "None")
NOT_READ = {".pkl", ".pickle", ".pt", ".npy", ".h5", ".hdf5", ".mat", ".xls", ".xlsx"}
NOT_READ |= {".tar", ".tgz", ".feather", ".arrow", ".html", ".xml"}
"""Endings of files that are not read, some of them because they may run a program."""

WHOSE = frozenset(
    f"{one}{part}"
    for one in ("joint", "motor", "actuator", "servo", "")
    for part in ("", "name", "id", "index")
) - {"", "id", "index"}
"""Names of a column that holds the joint of each row: its letters."""
SERIES = frozenset({"topic", "series", "signal", "variable"})
"""Names of a column that holds the signal of each row, beside a column `value`."""
MOST_RAD, MOST_DEG = 7.0, 400.0
"""Angles of joints above these are in degrees, and in 0.1°."""
_TIMES = re.compile(r"t$|t[^a-z]|.*(time|stamp|date|sec)", re.IGNORECASE)


def read_log(
    source: Path | str, robot: Robot | None = None, entries: Sequence[str] = ()
) -> Log:
    """Read a run folder, a CSV or Parquet file, a bag, or a LeRobot data set.

    Args:
        source: path of the log.
        robot: robot of the log: its joints are recognised in any spelling, or by
            number.
        entries: user's map: `NAME=PATTERN` or a YAML file, as in `columns`.

    Raises:
        BadInput: the source is none of these, has no time or a signal twice, or a cell
            is not a number.
    """
    log = _log_of(table_of(Path(source)), robot, read_map(entries))
    return doubt(log, robot) if log.run_state is None else log


def table_of(path: Path) -> LogTable:
    """Open a run folder, bag, LeRobot data set, Parquet, JSON or CSV file.

    A table with a row per joint is returned with a row per time.

    Raises:
        BadInput: the source cannot be read, or has no rows.
    """
    if is_bag(path):
        return read_bag(path)
    if (path / "meta" / "info.json").is_file():
        files = sorted(path.glob("data/**/*.parquet"))
        if not files:
            raise BadInput(f"{path} has no data/**/*.parquet; give a whole data set.")
        return read_data_set(path, files)
    if path.is_dir():
        logs = sorted(one.name for one in path.iterdir() if one.suffix in LOG_ENDINGS)
        if logs and not any((path / one).exists() for one in (META_FILE, EVENTS_FILE)):
            raise BadInput(
                f"{path} is a folder with {listed(logs, 5)}, not a run folder; give "
                "one file."
            )
        run = read_run(path)
        return FrameTable(run.folder, run.frame.reset_index(), run.state)
    endings = {ending.lower() for ending in path.suffixes}
    if found := NOT_READ & endings:
        raise BadInput(
            f"{path}: {', '.join(found)} files are not read; save the log as CSV, "
            "JSON, Parquet or NPZ (numpy.savez)."
        )
    if ".npz" in endings:
        return read_arrays(path)
    if endings & {".parquet", ".pq"} or is_parquet(path):
        return _with_rows_joined(read_parquet(path))
    return _with_rows_joined(read_csv(path))


def _with_rows_joined(table: LogTable) -> LogTable:
    """Join the rows of one time, if a column names the joint of each row.

    Rows belong together while the time is the same and no joint comes again. If every
    row has a time of its own, the k-th rows of all joints belong together.
    """
    words = {n: re.sub("[^a-z]", "", n.lower()) for n in table.names}
    whose = [n for n, word in words.items() if word in WHOSE]
    if not whose and "value" in words.values():
        whose = [n for n, word in words.items() if word in SERIES]
    times = [n for n in table.names if _TIMES.match(n) and n not in whose]
    if len(whose) != 1 or not times:
        return table
    joints = table.texts(whose[0])
    if len(set(joints)) < 2:  # a remark, not the joint of each row
        return table
    import pandas as pd  # noqa: PLC0415  # slow

    time = table.numbers(times[0])
    columns: dict[str, FloatArray] = {}
    for name in table.names:
        if name not in {*whose, times[0]}:
            with suppress(BadInput):  # texts
                columns[name] = table.numbers(name)
    frame = pd.DataFrame(columns)
    frame["joint"] = joints
    group = np.cumsum(np.diff(time, prepend=np.nan) != 0.0)
    is_alone = group[-1] == len(group)
    frame["group"] = 0 if is_alone else group
    frame["again"] = frame.groupby(["group", "joint"]).cumcount()
    rows = frame.groupby(["group", "again"], sort=False).head(1).index
    wide = pd.DataFrame(frame.set_index(["group", "again", "joint"]).unstack())
    wide.columns = wide.columns.map(".".join)
    wide.insert(0, times[0], time[rows])
    found = FrameTable(table.path, wide.reset_index(drop=True))
    found.lines = [table.lines[k] for k in rows] if table.lines else ()
    what = f"rows of {len(set(joints))} joints, by {whose[0]}, joined by {times[0]}"
    joined = Repair(kind="name", rows=len(joints), what=what)
    found.repairs = (*table.repairs, joined)
    return found


def _log_of(table: LogTable, robot: Robot | None, entries: Sequence[str]) -> Log:
    matches = match_columns(table.names, robot, entries, partial(_label, table))
    if table.run_state is not None:
        matches = [one for one in matches if one.dialect in {OWN, GIVEN}]
    columns = _read_columns(table, matches)
    repairs = [*table.repairs]
    done = []
    for one in matches:
        name = one.name
        if name == TIME:
            is_clock = ":" in table.first_text(one.column)
            values = columns[one.column]
            name = "time_s" if is_clock else time_unit(table.path, one.column, values)
            what = f"times in {one.column} read as {name.removeprefix('time_')}"
            repairs.append(Repair(kind="unit", rows=values.size, what=what))
        done.append(one._replace(name=name))
    done, said = _named(done, columns, robot)
    dialects = dict.fromkeys(m.dialect for m in done if m.dialect not in {OWN, TIME})
    if dialects:
        what = f"columns as of {', '.join(dialects)}"
        repairs.append(Repair(kind="name", rows=len(done), what=what))
    if twice := [match for match in done if match.other]:
        what = f"angles twice: {twice[0].column} is used, not {twice[0].other}; "
        what += "choose by --map"
        repairs.append(Repair(kind="name", rows=len(twice), what=what))
    ours = {match.column: match.name for match in done}
    names = [ours.get(name, name) for name in table.names]
    data = {match.name: columns.pop(match.column) for match in done}
    log = _build(table.path, names, data)
    return replace(
        log,
        lines=table.lines,
        run_state=table.run_state,
        repairs=(*repairs, *said, *log.repairs),
        matches=tuple(done),
    )


def _label(table: LogTable, column: str) -> str:
    """Return the joint that a column of texts names.

    Raises:
        BadInput: the column names several, as messages of two programs do.
    """
    first = table.first_text(column)
    if others := table.distinct_texts(column) - {first, *NO_TEXT}:
        raise BadInput(
            f"{table.path}: column {column!r} names {first} and {min(others)}; give "
            "messages with the same joints in one order, or record a bag."
        )
    return first


def _read_columns(table: LogTable, matches: list[Match]) -> dict[str, FloatArray]:
    """Return the values of columns; signals of a long log in single precision."""
    columns: dict[str, FloatArray] = {}
    block: NDArray[Any] = np.empty((0, 0), np.float32)  # one: the heap stays compact
    for k, match in enumerate(matches):
        values = table.numbers(match.column)
        if rest := nanoseconds_beside(match.column, table.names):
            values = values + 1e-9 * table.numbers(rest)
        is_long = values.size > LONG_ROWS and values.dtype != np.float32
        if is_long and match.name not in {TIME, *SIGNALS[TIME_COLUMN]}:
            if not block.size:
                block = np.empty((len(matches), values.size), np.float32)
            block[k] = values
            values = block[k]
        columns[match.column] = values
    return columns


def _named(
    matches: list[Match], columns: Columns, robot: Robot | None
) -> tuple[list[Match], list[Repair]]:
    """Return the matches with joint names in place of numbers."""
    members = {match: match.name.partition(".")[2] for match in matches}
    numbers = {m: int(member) for m, member in members.items() if member.isdecimal()}
    if robot is None or not numbers:
        return matches, []
    named = [match for match in matches if match not in numbers]
    angles: dict[int, float] = {}
    for match, number in numbers.items():
        signal, _, unit = find_signal(match.name) or ("", "", Scale())
        values = columns[match.column]
        if signal == "q" and np.isfinite(values).any():
            angles[number] = unit.factor * float(np.nanmedian(values))
    largest = max(map(abs, angles.values()), default=0.0)
    tenths = 0.1 if largest > MOST_DEG else 1.0
    if largest > MOST_RAD:
        angles = {i: tenths * np.pi / 180.0 * angle for i, angle in angles.items()}
    dialects = {match.dialect for match in numbers}
    distinct = sorted({*numbers.values()})
    what = f"{len(distinct)} numbered columns in an unknown order: left out"
    try:
        title, joints = order_of_numbers(distinct, angles, robot, dialects)
        what = f"joints by number, in {title} order"
    except BadInput:
        if not any(match.name.startswith("q") for match in named):
            raise
        joints = {}
    for match, number in numbers.items():
        signal = match.name.partition(".")[0]
        if joint := joints.get(number):
            named.append(match._replace(name=of_motor(f"{signal}.{joint}", robot)))
    return named, [Repair(kind="name", rows=len(distinct), what=what)]


def _build(path: Path, names: list[str], columns: dict[str, FloatArray]) -> Log:
    """Group the columns of a source by signal, and convert their units."""
    signals: dict[str, dict[str, FloatArray]] = {}
    log = Log(path=path, names=tuple(names), signals=signals)
    log.column("", TIME_COLUMN)
    repairs = {}
    if n := sum(int(np.isinf(values).sum()) for values in columns.values()):
        repairs[f"{n} infinite numbers: treated as missing"] = ("missing", n)
    for name in list(columns):
        values = columns.pop(name)
        signal, member, unit = find_signal(name) or ("", "", Scale())
        log.column(member, signal)
        if np.isinf(values).any():
            values = np.where(np.isfinite(values), values, np.nan)
        if unit != Scale():
            values = unit.factor * values + unit.offset
        signals.setdefault(signal, {})[member] = values
        if unit.offset:
            what = f"{name.partition('.')[0]} converted to °C"
            repairs[what] = ("unit", values.size)
    done = [Repair(kind=k, rows=n, what=what) for what, (k, n) in repairs.items()]
    return replace(log, repairs=tuple(done))
