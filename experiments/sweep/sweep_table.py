"""Table of all trials of a sweep, with its origin in the metadata.

sweep = read_sweep(Path("runs/ankles"))
sweep.frame.groupby("controller").legs_power_w.median()

found = read_folder(Path("runs/ankles"))
found.sweep, found.expected, found.problems

A folder is readable in any state: complete, running, or after a crash. A killed sweep
has no table, or that of an earlier run; then the files of the ended trials are read.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from nao_testbed.controllers.policies.text import short_names
from nao_testbed.controllers.stiffness.flags import StiffnessFlag
from nao_testbed.experiments.closed_loop.trial_result import JointResult, TrialResult
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.experiments.sweep.spec import Keep, mark_kept
from nao_testbed.experiments.sweep.sweep_trial import PERIOD, SIZE
from nao_testbed.experiments.sweep.trial_store import (
    JOINT_OUTCOMES,
    LOCK_FILE,
    OUTCOMES,
    SWEEP_FILE,
    TRIALS,
    OtherFormat,
    TrialRecord,
    read_record,
    sweep_meta,
)
from nao_testbed.models import BadInput
from nao_testbed.models.files import cause_of, convert_write_errors, read_bytes
from nao_testbed.sim.recording.run_folder import is_locked

if TYPE_CHECKING:
    import pandas as pd


TABLE_FILE = "table.parquet"
METADATA_KEY = b"nao_testbed.sweep"
"""Key of the Parquet schema's metadata: JSON with the sweep file, versions, commit and
seed."""
_KEEP: TypeAdapter[Keep | None] = TypeAdapter(Keep | None)
_FOUND = ("until_80_degc_s", "hottest_degc", "caught_s", "fell_s", "trial_s")
"""Numeric columns of a table besides the outcomes."""
_TEXTS = ("failure", "error", "hottest_joint", "commit", "trial")


@dataclass(frozen=True, kw_only=True, eq=False)
class Sweep:
    """Complete or partial sweep."""

    frame: "pd.DataFrame"
    """A row per trial: parameters, then outcomes; NaN and None for missing values."""
    spec: str
    """Text of the sweep file."""
    meta: Mapping[str, Any]
    """Name, seed, number of robots, names of the grid columns and the drawn columns,
    versions of all packages, commit, start time."""

    def with_short_names(self) -> "Sweep":
        """Return the sweep for display: policies without folder and suffix."""
        if "controller" not in self.frame:
            return self
        names = [str(name) for name in dict.fromkeys(self.frame["controller"])]
        short = dict(zip(names, short_names(names), strict=True))
        column = self.frame["controller"].map(short)
        return replace(self, frame=self.frame.assign(controller=column))


def row_of(record: TrialRecord) -> dict[str, Any]:
    """Return column to value of a trial's row."""
    row: dict[str, Any] = {
        "trial": record.key,
        "robot": record.robot,
        **record.parameters,
        "noise_seed": record.seed,
        "error": record.error,
    }
    result = record.result
    row.update({name: getattr(result, name, None) for name in OUTCOMES})
    joints = {} if result is None else result.joints
    if result is not None:
        caught = result.flags.get(StiffnessFlag.CATCHING.name, 0)
        row["caught_s"] = caught * float(record.parameters.get(PERIOD, CONTROL_PERIOD))
    if joints:
        hottest = max(joints, key=lambda name: joints[name].end_degc)
        row |= {
            "hottest_joint": hottest,
            "hottest_degc": joints[hottest].end_degc,
            "until_80_degc_s": _first_at_80_degc(joints.values()),
        }
    if SIZE in record.parameters:
        row |= _after_a_push(result)
        joints = {} if row["fell"] else joints
    row["trial_s"] = record.wall_s
    row["commit"] = record.commit
    for field in JOINT_OUTCOMES:
        row |= {f"{field}.{name}": getattr(j, field) for name, j in joints.items()}
    return row


def _first_at_80_degc(joints: Iterable[JointResult]) -> float:
    """Return the time at which the first joint reached 80 °C, in s; inf: none did."""
    times = (joint.time_to_80_degc_s for joint in joints)
    return min((time for time in times if time is not None), default=math.inf)


HEAT = (
    "legs_joule_loss_j",
    "left_leg_rise_k",
    "right_leg_rise_k",
    "hottest_degc",
    "until_80_degc_s",
)
"""Outcomes that are meaningless for a robot on the ground."""


def _after_a_push(result: TrialResult | None) -> dict[str, Any]:
    """Return the time of a pushed robot's fall; clear its heat after a fall.

    The trial ended early, so a fallen robot would appear cool.
    """
    if result is None or not result.fell:
        return {"fell_s": None}
    no_heat = dict.fromkeys((*HEAT, "hottest_joint", "legs_power_w"))
    return {"fell_s": result.sim_s, **no_heat}


def frame_of(
    rows: Sequence[Mapping[str, Any]], columns: Iterable[str]
) -> "pd.DataFrame":
    """Return rows as a frame with correct types, even if all outcomes are missing.

    Args:
        rows: rows from `row_of`.
        columns: columns of the parameters, present even without rows.
    """
    import pandas as pd  # noqa: PLC0415  # heavy

    names = ["trial", "robot", *columns, "noise_seed", "error", *OUTCOMES]
    for row in rows:
        names += [name for name in row if name not in names]
    names = list(dict.fromkeys(names))
    frame = pd.DataFrame([dict(row) for row in rows], columns=names)
    for name in OUTCOMES:
        if name == "fell":
            frame[name] = frame[name].astype("boolean")
        elif name not in _TEXTS:
            frame[name] = frame[name].astype("float64")
    for name in _TEXTS:
        if name in frame:
            frame[name] = frame[name].astype("string")
    return frame


def write_table(folder: Path, frame: "pd.DataFrame", meta: Mapping[str, Any]) -> Path:
    """Write a sweep's table atomically, and return its path.

    Raises:
        WriteError: the operating system refuses.
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    table = pa.Table.from_pandas(frame, preserve_index=False)
    text = json.dumps(meta, ensure_ascii=False, allow_nan=False)
    known = table.schema.metadata or {}
    table = table.replace_schema_metadata({**known, METADATA_KEY: text.encode()})
    path = folder / TABLE_FILE
    unfinished = path.with_name(f"{path.name}.tmp")
    with convert_write_errors(path):
        pq.write_table(table, unfinished)
        unfinished.replace(path)
    return path


def read_sweep(path: Path | str) -> Sweep:
    """Read a sweep's table.

    Args:
        path: path of the folder or of its table.

    Raises:
        BadInput: the table is missing, or is not that of a sweep.
    """
    import pyarrow as pa  # noqa: PLC0415  # heavy
    import pyarrow.parquet as pq  # noqa: PLC0415  # heavy

    path = Path(path)
    file = path / TABLE_FILE if path.is_dir() else path
    if not file.is_file():
        raise BadInput(
            f"there is no table {file}; give the folder of a sweep: "
            "nao-testbed sweep SPEC writes it, also after Ctrl-C."
        )
    try:
        with pq.ParquetFile(file) as opened:  # read_table would import data sets
            table = opened.read()
        text = (table.schema.metadata or {})[METADATA_KEY]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{file} cannot be read: {error}.") from error
    except KeyError:
        raise BadInput(
            f"{file} is not the table of a sweep: its metadata lack "
            f"{METADATA_KEY.decode()!r}."
        ) from None
    meta = sweep_meta(file, text)
    spec = str(meta.pop("spec"))
    nested = [field.name for field in table.schema if field.type.num_fields]
    if nested:
        raise BadInput(f"{file} is damaged: its column {nested[0]} holds lists.")
    try:
        frame = table.to_pandas()
    except (TypeError, ValueError) as error:  # its types contradict its metadata
        raise BadInput(f"{file} is damaged: {error}.") from error
    _check_columns(file, frame)
    for name in OUTCOMES:  # columns that an older version lacks
        if name not in frame:
            frame[name] = float("nan")
    return Sweep(frame=frame, spec=spec, meta=meta)


def _check_columns(file: Path, frame: "pd.DataFrame") -> None:
    """Check that a table was written by a sweep.

    Raises:
        BadInput: a column is missing, or has another type.
    """
    for name in ("trial", "robot", "controller", "error"):
        if name not in frame:
            raise BadInput(f"{file} is damaged: it has no column {name}.")
    fields = tuple(f"{field}." for field in JOINT_OUTCOMES)
    for name in map(str, frame.columns):
        values = frame[name]
        is_outcome = name in {"robot", *OUTCOMES, *_FOUND} or name.startswith(fields)
        if name in _TEXTS or not is_outcome:
            continue
        is_number = values.dtype.kind in "fiub" or bool(values.isna().all())
        if not is_number:
            raise BadInput(f"{file} is damaged: its column {name} has no numbers.")


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepFolder:
    """Content of a sweep's folder."""

    folder: Path
    sweep: Sweep
    expected: Mapping[str, int] | None
    """Controller to the number of trials of the whole sweep; with `keep`, of the robots
    kept so far. None if unknown, or if each robot draws its controller."""
    is_running: bool
    """True if a process has locked the folder."""
    problems: tuple[str, ...]
    """Sentences on damaged files and their replacements."""

    def with_short_names(self) -> "SweepFolder":
        """Return the folder for display: policies without folder and suffix."""
        expected = self.expected
        if expected is not None:
            names = short_names(list(expected))
            expected = dict(zip(names, expected.values(), strict=True))
        return replace(self, sweep=self.sweep.with_short_names(), expected=expected)

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.resolve().name

    @property
    def total(self) -> int | None:
        """Number of trials of the sweep, also if each robot draws a controller."""
        if self.expected is not None:
            return sum(self.expected.values())
        meta = self.sweep.meta
        is_known = "points" in meta and meta["identity"].get("keep") is None
        return int(meta["points"]) * int(meta["robots"]) if is_known else None

    @property
    def state(self) -> tuple[str, ...]:
        """Sentences on the progress of the sweep; empty if it is complete."""
        words = []
        here = len(self.sweep.frame)
        if self.is_running:
            words.append("The sweep is still running; these are its results so far.")
        if self.total is None:
            words.append(f"The total number of trials is unknown; {here} finished.")
        elif (missing := self.total - here) > 0:
            keeps = self.sweep.meta["identity"].get("keep") is not None
            so_far = " (of the robots kept so far)" if keeps else ""
            words.append(
                f"{missing} of {self.total} trials are missing{so_far}. "
                "The command of the sweep resumes it."
            )
        return tuple(words)


def is_sweep_folder(folder: Path) -> bool:
    """Return True if a folder is that of a sweep."""
    return any((folder / name).is_file() for name in (SWEEP_FILE, TABLE_FILE))


def read_folder(folder: Path) -> SweepFolder:
    """Read the table, or the single trials if it is missing, damaged or old.

    Raises:
        BadInput: the folder is not that of a sweep, has the format of another version,
            or is unreadable.
    """
    problems: list[str] = []
    meta = _read_meta(folder, problems)
    paths = sorted((folder / TRIALS).glob("*.json"))
    is_running = is_locked(folder / LOCK_FILE)
    sweep = None
    try:
        sweep = read_sweep(folder)
    except BadInput as error:
        if meta is None:
            raise
        if (folder / TABLE_FILE).exists():
            problems.append(f"{str(error).rstrip('.')}. The trial files are used.")
    if meta is not None and (sweep is None or _is_older(folder / TABLE_FILE, paths)):
        table, sweep = sweep, _from_trials(meta, paths, problems)
        if table is not None and not is_running and not _is_same(table, sweep):
            problems.append(
                f"{TABLE_FILE} is older than the trials; the sweep was probably "
                "killed. The trial files are used."
            )
    assert sweep is not None  # otherwise the table's error was raised
    if not len(sweep.frame):
        raise BadInput(
            f"{folder} holds the sweep {sweep.meta['name']!r}, but no finished "
            "trial; run the sweep, or wait for the first trial."
        )
    return SweepFolder(
        folder=folder,
        sweep=sweep,
        expected=_expected(sweep),
        is_running=is_running,
        problems=tuple(problems),
    )


def _read_meta(folder: Path, problems: list[str]) -> dict[str, Any] | None:
    path = folder / SWEEP_FILE
    try:
        return sweep_meta(path, read_bytes(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        problems.append(
            f"{SWEEP_FILE} cannot be read: {cause_of(error)}. The table is used."
        )
    except OtherFormat:
        raise
    except BadInput as error:
        problems.append(f"{error} The table is used.")
    return None


def _is_older(table: Path, trials: list[Path]) -> bool:
    newest = max((path.stat().st_mtime_ns for path in trials), default=0)
    return table.stat().st_mtime_ns < newest


def _is_same(table: Sweep, trials: Sweep) -> bool:
    """Return True if a table matches its trials, also in a copied folder."""
    columns = table.frame.columns  # an older version has fewer
    return trials.frame.reindex(columns=columns).equals(table.frame)


def _from_trials(
    meta: Mapping[str, Any], paths: list[Path], problems: list[str]
) -> Sweep:
    records, lost = [], []
    for path in paths:
        try:
            records.append(read_record(path))
        except BadInput as error:
            lost.append(str(error))
    records.sort(key=lambda record: record.number)
    if lost:
        files = "1 trial file" if len(lost) == 1 else f"{len(lost)} trial files"
        problems.append(
            f"{files} cannot be read and counted as missing. {lost[0]}"
            + (" The others have the same problem." if len(lost) > 1 else "")
        )
    keep = _KEEP.validate_python(meta["identity"].get("keep"))
    rows = mark_kept(keep, map(row_of, records))
    columns = [] if not records else list(records[0].parameters)
    rest = {name: value for name, value in meta.items() if name != "spec"}
    return Sweep(frame=frame_of(rows, columns), spec=meta["spec"], meta=rest)


def _expected(sweep: Sweep) -> dict[str, int] | None:
    """Return controller to the total number of its trials."""
    points = sweep.meta.get("points")  # older folders do not have it
    identity = sweep.meta["identity"]
    match identity.get("controller"):
        case {"grid": {"values": list(names)}}:
            pass
        case {"fixed": {"value": str(name)}}:
            names = [name]
        case _:
            return None
    if points is None:
        return None
    of_robot = int(points) // len(names)
    keep = identity.get("keep")
    frame = sweep.frame
    kept = int(frame.loc[frame["kept"].astype(bool), "robot"].nunique())
    everywhere = names if keep is None else [keep["controller"]]
    return {
        name: of_robot * (sweep.meta["robots"] if name in everywhere else kept)
        for name in names
    }
