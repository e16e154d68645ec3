"""Command `nao-testbed log-columns`: the detected meaning of a log's columns."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nao_testbed.experiments.common.drawing.number_text import number
from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.common.progress import console_for
from nao_testbed.experiments.heat.logs.columns import (
    TIME,
    Match,
    listed,
    match_columns,
    read_map,
)
from nao_testbed.experiments.heat.logs.log import read_log, table_of
from nao_testbed.experiments.heat.logs.record import Log
from nao_testbed.experiments.heat.logs.signals import find_signal
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.files import check_writable, write_text

UNITS = {
    **{"q": "rad", "v": "rad/s", "target": "rad", "current": "A", "torque": "N·m"},
    **{"temperature": "°C", "fsr": "N", "gyro": "rad/s", "accelerometer": "m/s²"},
    "time_s": "s",
}
NEEDS = (
    ("xray", ("q", "current or torque")),
    ("xray: angles finer than an encoder step, signs of currents", ("target",)),
    ("xray: which leg", ("accelerometer",)),
    ("xray: times to 80 °C", ("temperature",)),
    ("identify", ("temperature", "current or torque")),
)
"""Feature to the signals that it needs."""


def missing_for(log: Log, robot: Robot) -> list[str]:
    """Return the features that lack signals of the leg motors, with these signals."""
    found = []
    for answer, signals in NEEDS:
        lacks = [s for s in signals if not _has(log, s, robot)]
        if lacks:
            found.append(f"{answer}: no {' and '.join(lacks)}")
    return found


def _has(log: Log, wanted: str, robot: Robot) -> bool:
    if wanted == "accelerometer":
        return len(log.signals.get(wanted, {})) == 3
    legs = [robot.joints[robot.joint_index(n)].motor for n in robot.leg_joints]
    columns = [log.signals.get(name, {}) for name in wanted.split(" or ")]
    return any(all(leg in one for leg in legs) for one in columns)


def signals_table(log: Log) -> DataTable:
    """Return a table with one row per signal."""
    rows = []
    for signal, members in log.signals.items():
        of = [m for m in log.matches if _prefix(m) == signal]
        known = [v[np.isfinite(v)] for v in members.values()]
        low = min((float(v.min()) for v in known if v.size), default=None)
        high = max((float(v.max()) for v in known if v.size), default=None)
        dialects = ", ".join(dict.fromkeys(m.dialect for m in of))
        first = of[0].column if of else ""
        cells = (signal, str(len(members)), first, dialects, UNITS.get(signal, ""))
        rows.append((*cells, number(low, 3), number(high, 3)))
    heads = ("signal", "columns", "first column", "names of", "unit")
    return DataTable.of(
        f"Columns of {log.path}, {log.time_s.size} rows",
        (*heads, "minimum", "maximum"),
        rows,
        texts=(0, 2, 3, 4),
    )


def _prefix(match: Match) -> str:
    return (find_signal(match.name) or ("",))[0]


def run_log_columns(
    source: Path, robot: Robot, entries: Sequence[str], write: Path | None
) -> int:
    """Print recognised, guessed and missing columns; write a map; return the status.

    Raises:
        BadInput: the log has no time, or cannot be read; the message lists its columns.
    """
    if write is not None:
        check_writable("--write", write)
    try:
        log = read_log(source, robot, entries)
    except BadInput:
        if write is not None:
            table = table_of(source)
            found = match_columns(table.names, robot, read_map(entries))
            known = {match.column for match in found}
            _write(write, found, [n for n in table.names if n not in known])
        raise
    console = console_for(None)
    console.print(signals_table(log))
    for repair in log.repairs:
        print(f"guessed: {repair.what}" if repair.kind == "unit" else repair.what)
    known = {match.name for match in log.matches}
    others = [name for name in log.names if name not in known]
    if others:
        print(f"unknown: {listed(others)}")
    for lack in missing_for(log, robot):
        print(f"missing: {lack}")
    if write is not None:
        _write(write, log.matches, others)
    return 0


def _write(path: Path, matches: Sequence[Match], others: Sequence[str]) -> None:
    """Write a map file for `--map`, with unknown columns as comments."""
    names = {m.column: "time_s" if m.name == TIME else m.name for m in matches}
    lines = ["# our name: column of the log; for --map"]
    lines += [f"{name}: {_quoted(column)}" for column, name in names.items()]
    lines += [f"# ?: {_quoted(column)}" for column in others]
    write_text(path, "\n".join(lines) + "\n")


def _quoted(column: str) -> str:
    """Return a YAML text; a column may have quotes."""
    return "'{}'".format(column.replace("'", "''"))
