"""Folder of a sweep: its identity, and one file per ended trial.

OUT/sweep.json            parameters and version
OUT/trials/KEY.json       one trial each, written atomically
OUT/table.parquet         all trials (`experiments.sweep.sweep_table`)

A folder with the trials of an earlier run is resumed only if the *identity* of the
sweep is the same.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Self

from pydantic import BaseModel

from nao_testbed.controllers.policies.text import policy_file
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.sweep.spec import Keep, SweepSpec
from nao_testbed.experiments.sweep.sweep_trial import (
    SweepTrial,
    TrialOutcome,
    robot_number_of,
)
from nao_testbed.models import BadInput, default_robot_folder, load_robot
from nao_testbed.models.files import cause_of, convert_write_errors, read_bytes
from nao_testbed.models.files.csv_tables import json_as
from nao_testbed.models.system import lock
from nao_testbed.sim.recording.run_meta import describe_run, plain


@lru_cache(maxsize=8)
def robot_digest(folder: Path | None) -> str:
    """Return a short hash of all data of a robot: its tables and its URDF.

    Read once per process. Two machines whose robots have the same digest run the same
    trials.

    Args:
        folder: folder of the robot; None: the NAO.

    Raises:
        RobotDataError: the folder is not a robot folder.
    """
    robot = load_robot(folder or default_robot_folder())
    files = [p for p in robot.folder.rglob("*") if p.suffix in {".csv", ".yaml"}]
    digest = hashlib.sha256()
    for path in (*sorted(files), robot.urdf):
        digest.update(path.name.encode())
        digest.update(read_bytes(path))
    return digest.hexdigest()[:12]


def policy_digest(controllers: Iterable[object]) -> str:
    """Return a short hash of the files of all policies among controllers.

    Returns:
        The hash, empty without policies.

    Raises:
        OSError: a file cannot be read.
    """
    named = map(policy_file, map(str, controllers))
    files = [path for path in map(Path, filter(None, named)) if path.is_file()]
    digest = hashlib.sha256()
    for path in files:
        digest.update(read_bytes(path))
    return digest.hexdigest()[:12] if files else ""


def identity(spec: SweepSpec) -> dict[str, Any]:
    """Return the data that define the trials of a sweep, for JSON."""
    return {
        "robot": f"{spec.robot_name} {spec.robot_digest}",
        "robots": spec.robots,
        "seed": spec.seed,
        **{name: _words(p.values) for p in spec.parameters for name in p.columns},
        **({"policies": spec.policy_digest} if spec.policy_digest else {}),
        "pushes": plain(spec.pushes),
        "fast_forward": plain(spec.fast_forward),
        "keep": plain(spec.keep),
        **({"cases": plain(spec.cases)} if spec.cases else {}),
    }


def identity_differences(
    there: Mapping[str, Any], here: Mapping[str, Any]
) -> list[str]:
    """Return the differences as text; another number of robots is no difference."""
    found = []
    for name in dict.fromkeys([*there, *here]):
        before, now = there.get(name), here.get(name)
        if before == now:
            continue
        if name == "robots" and before is not None and now is not None and before < now:
            continue  # robots do not depend on their number
        found.append(f"{name} was {_value_text(before)} and is {_value_text(now)}")
    return found


def _words(values: Any) -> dict[str, Any]:
    return {type(values).__name__.lower(): plain(values)}


def _value_text(value: Any) -> str:
    """Return a value in the format of the sweep file."""
    if value is None:
        return "absent"
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inside),) = value.items()
        found = list(inside.values()) if isinstance(inside, dict) else [inside]
        is_one = kind in {"fixed", "grid"} and len(found) == 1
        value = found[0] if is_one else {kind: found}
    text = str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 100 else f"{text[:97]}..."


FORMAT = 1
"""Version of the files of a sweep."""
SWEEP_FILE, TRIALS, LOCK_FILE = "sweep.json", "trials", ".lock"


class OtherFormat(BadInput):
    """Error: the file has the format of another version."""


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """File of a trial: its parameters and its outcome."""

    key: str
    number: int
    robot: int
    parameters: dict[str, float | str]
    seed: int
    commit: str | None
    """Commit of the source that ran it."""
    result: TrialResult | None
    error: str | None
    wall_s: float | None = None
    """Wall time of the worker for the whole trial, in s."""


class _Parameters(BaseModel):
    """Parameters from which a table is computed."""

    control_period: float = 1.0


OUTCOMES = (
    "fell",
    "failure",
    "legs_joule_loss_j",
    "legs_power_w",
    "least_power_w",
    "least_with_gears_w",
    "largest_shift_deg",
    "accepted_share",
    "settled_s",
    "drift_m",
    "left_leg_rise_k",
    "right_leg_rise_k",
    "shut_down_s",
    "sim_s",
    "physics_s",
    "wall_s",
)
"""Fields of `TrialResult` that are columns of the table."""
JOINT_OUTCOMES = (
    "end_degc",
    "rise_k",
    "time_to_80_degc_s",
    "joule_loss_j",
    "power_w",
    "least_w",
)
"""Fields of `JointResult` that are columns, as `end_degc.LAnklePitch`."""


class RecordedPush(BaseModel):
    """File format of an `experiments.closed_loop.trial.Push`."""

    at_s: float
    duration_s: float
    force_n: tuple[float, float, float]
    link: str | None


class _Identity(BaseModel):
    """Fixed keys of an identity; further keys are the parameters."""

    keep: Keep | None = None
    pushes: list[RecordedPush] = []
    fast_forward: dict[str, float] | None = {}


class _SweepFile(BaseModel):
    """`sweep.json`, and the metadata of the table."""

    name: str
    about: str | None = None
    spec: str
    seed: int
    robots: int
    points: int = 1
    identity: _Identity
    versions: dict[str, str]
    commit: str | None
    started_utc: str


class TrialStore:
    """Files of a sweep's trials; the `with` block locks the folder for one process."""

    def __init__(self, folder: Path, spec: SweepSpec) -> None:
        """Set the folder; it is created by `with`."""
        self.folder = folder
        self._spec = spec
        self._lock: IO[str] | None = None
        self.meta: dict[str, Any] = {}
        """Content of `sweep.json`."""

    def __enter__(self) -> Self:
        """Create the folder, or resume its sweep.

        Raises:
            BadInput: the folder has another sweep or other files, is not writable, or
                is used by another process.
        """
        self.check()
        try:
            (self.folder / TRIALS).mkdir(parents=True, exist_ok=True)
            file = (self.folder / LOCK_FILE).open("w", encoding="utf-8")
        except OSError as error:
            raise BadInput(
                f"{self.folder} cannot be written: {error.strerror}. Give another "
                "folder with --out."
            ) from error
        try:
            lock(file, waits=False)
        except OSError:
            file.close()
            raise BadInput(
                f"another sweep is running in {self.folder}; wait for it, or give "
                "another folder with --out."
            ) from None
        self._lock = file
        self._write_meta()
        return self

    def __exit__(self, *error: object) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.close()

    def check(self) -> None:
        """Check that the folder is empty or has this sweep.

        Raises:
            BadInput: the folder has another sweep or other files.
        """
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise BadInput(f"{self.folder} is a file; give a folder with --out.")
        path = self.folder / SWEEP_FILE
        try:
            there = sweep_meta(path, read_bytes(path))["identity"]
        except FileNotFoundError:
            if any(p.name not in {LOCK_FILE, TRIALS} for p in self.folder.iterdir()):
                raise BadInput(
                    f"{self.folder} has files, but no sweep; give another folder "
                    "with --out."
                ) from None
            return
        except OSError as error:
            raise BadInput(
                f"{path} cannot be read: {cause_of(error)}. Remove {self.folder}, or "
                "give another folder with --out."
            ) from error
        except BadInput as error:
            raise BadInput(
                f"{error} Remove {self.folder}, or give another folder with --out."
            ) from error
        differs = identity_differences(there, identity(self._spec))
        if differs:
            raise BadInput(
                f"{self.folder} holds another sweep: {'; '.join(differs)}. Give "
                "another folder with --out, or undo the change to resume it."
            )

    def _write_meta(self) -> None:
        run = describe_run(
            experiment="sweep",
            robot=self._spec.robot_name,
            seed=self._spec.seed,
            config=self._spec,
        )
        self.meta = {
            "format": FORMAT,
            "name": self._spec.name,
            "about": self._spec.about,
            "spec": self._spec.text,
            "seed": self._spec.seed,
            "robots": self._spec.robots,
            "points": self._spec.points,
            "grid": [column for p in self._spec.grids for column in p.columns],
            "drawn": [column for p in self._spec.drawn for column in p.columns],
            "thermal": self._spec.thermal,
            "identity": plain(identity(self._spec)),
            "versions": dict(run.versions),
            "commit": run.commit,
            "started_utc": run.started_utc,
        }
        write_whole(self.folder / SWEEP_FILE, self.meta)

    def write(self, trial: SweepTrial, outcome: TrialOutcome) -> None:
        """Write the file of a trial that has ended."""
        record = TrialRecord(
            key=trial.key,
            number=trial.number,
            robot=trial.robot,
            parameters=dict(trial.parameters),
            seed=trial.seed,
            commit=self.meta.get("commit"),
            result=outcome.result,
            error=outcome.error,
            wall_s=outcome.wall_s,
        )
        result = None if outcome.result is None else outcome.result.as_json()
        data = {"format": FORMAT, **vars(record), "result": result}
        write_whole(self._path(trial.key), data)

    def read(self, trial: SweepTrial) -> TrialRecord | None:
        """Return the outcome of a trial; None without a complete file."""
        try:
            record = read_record(self._path(trial.key))
        except BadInput:
            return None  # the trial runs again
        names = ("key", "number", "robot", "parameters", "seed")
        is_it = all(getattr(record, name) == getattr(trial, name) for name in names)
        return record if is_it else None

    def records(self) -> list[TrialRecord]:
        """Return the records of all ended trials, in the sweep's order."""
        keys = {path.stem for path in (self.folder / TRIALS).glob("*.json")}
        numbers = {robot_number_of(key) for key in keys}
        robots = [robot for robot in range(self._spec.robots) if robot in numbers]
        trials = (trial for trial in self._spec.trials(robots) if trial.key in keys)
        found = map(self.read, trials)
        return [record for record in found if record is not None]

    def _path(self, key: str) -> Path:
        return self.folder / TRIALS / f"{key}.json"


def read_record(path: Path) -> TrialRecord:
    """Return the record in a trial's file.

    Raises:
        BadInput: the file is incomplete or of another kind.
    """
    try:
        text = read_bytes(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {cause_of(error)}.") from error
    _check_format(path, text)
    record = json_as(path, text, TrialRecord)
    json_as(path, json.dumps(record.parameters), _Parameters, "parameters")
    return record


def sweep_meta(path: Path, text: str | bytes) -> dict[str, Any]:
    """Return the metadata of a sweep from its JSON.

    Raises:
        BadInput: the file has the format of another version, or is damaged.
    """
    data = _check_format(path, text)
    json_as(path, text, _SweepFile)
    return data


def _check_format(path: Path, text: str | bytes) -> dict[str, Any]:
    data = json_as(path, text, dict[str, Any])
    if data.get("format") != FORMAT:
        raise OtherFormat(
            f"{path} has format {data.get('format')!r}; this version reads {FORMAT}."
        )
    return data


def write_whole(path: Path, data: Any) -> None:
    """Write JSON atomically, also in case of a crash.

    Raises:
        WriteError: the operating system refuses.
    """
    unfinished = path.with_name(f"{path.name}.tmp")
    with convert_write_errors(path), unfinished.open("w", encoding="utf-8") as file:
        json.dump(data, file, ensure_ascii=False, allow_nan=False, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
