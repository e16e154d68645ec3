"""The folder of a sweep: what it is, and a file for each trial that has ended.

OUT/sweep.json            what is swept, by which version
OUT/trials/KEY.json       one trial each, written whole or not at all
OUT/table.parquet         all of them (`experiments.sweep.table`)
"""

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from experiments.sweep.identity import differences, identity
from experiments.sweep.spec import SweepSpec
from experiments.sweep.trial import Trial, TrialOutcome
from models import BadInput
from models.files import read_text, told_if_not_written, why
from sim.run_meta import describe_run, plain

FORMAT = 1
"""Version of the files of a sweep."""
SWEEP_FILE, TRIALS, LOCK_FILE = "sweep.json", "trials", ".lock"


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """A trial's file: what it was, and what came of it."""

    key: str
    number: int
    robot: int
    parameters: dict[str, Any]
    seed: int
    commit: str | None
    """Of the source that ran it."""
    result: dict[str, Any] | None
    error: str | None
    wall_s: float | None = None
    """Of the worker, over all of the trial."""


class TrialStore:
    """Files of a sweep's trials; `with` it, only one process writes the folder."""

    def __init__(self, folder: Path, spec: SweepSpec) -> None:
        """Choose the folder; nothing is made before `with`."""
        self.folder = folder
        self._spec = spec
        self._lock: IO[str] | None = None
        self.meta: dict[str, Any] = {}
        """What `sweep.json` says."""

    def __enter__(self) -> Self:
        """Make the folder, or go on with the sweep that it holds.

        Raises:
            BadInput: it holds another sweep or something else, cannot be written, or
                another process writes it.
        """
        self.check()
        try:
            (self.folder / TRIALS).mkdir(parents=True, exist_ok=True)
            lock = (self.folder / LOCK_FILE).open("w")
        except OSError as error:
            raise BadInput(
                f"{self.folder} cannot be written: {error.strerror}. Give another "
                "folder by --out."
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise BadInput(
                f"another sweep is running in {self.folder}; wait for it, or give "
                "another folder by --out."
            ) from None
        self._lock = lock
        self._write_meta()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others write the folder."""
        if self._lock is not None:
            self._lock.close()

    def check(self) -> None:
        """Look whether the folder is free, or holds this sweep.

        Raises:
            BadInput: it holds another one, or something else.
        """
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise BadInput(f"{self.folder} is a file; give a folder by --out.")
        path = self.folder / SWEEP_FILE
        try:
            before = json.loads(read_text(path))
            there = before["identity"]
        except FileNotFoundError:
            if any(p.name not in {LOCK_FILE, TRIALS} for p in self.folder.iterdir()):
                raise BadInput(
                    f"{self.folder} holds files, but no sweep; give another folder by "
                    "--out."
                ) from None
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f"{path} cannot be read: {why(error)}. Remove {self.folder}, or give "
                "another folder by --out."
            ) from error
        if before.get("format") != FORMAT:
            raise BadInput(
                f"{path} has format {before.get('format')!r}; this version reads "
                f"{FORMAT}. Give another folder by --out."
            )
        differs = differences(there, identity(self._spec))
        if differs:
            raise BadInput(
                f"{self.folder} holds another sweep: {'; '.join(differs)}. Give "
                "another folder by --out, or undo the change to go on with it."
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
            "identity": plain(identity(self._spec)),
            "versions": dict(run.versions),
            "commit": run.commit,
            "started_utc": run.started_utc,
        }
        write_whole(self.folder / SWEEP_FILE, self.meta)

    def write(self, trial: Trial, outcome: TrialOutcome) -> None:
        """Write the file of a trial that has ended."""
        record = TrialRecord(
            key=trial.key,
            number=trial.number,
            robot=trial.robot,
            parameters=dict(trial.parameters),
            seed=trial.seed,
            commit=self.meta.get("commit"),
            result=None if outcome.result is None else dict(outcome.result),
            error=outcome.error,
            wall_s=outcome.wall_s,
        )
        data = {"format": FORMAT, **vars(record)}
        write_whole(self._path(trial.key), data)

    def read(self, key: str) -> TrialRecord | None:
        """Return what is known of a trial; None where it has no whole file."""
        return read_record(self._path(key))

    def records(self) -> list[TrialRecord]:
        """Return the records of all trials that have one, in the sweep's order."""
        paths = (self.folder / TRIALS).glob("*.json")
        found = [self.read(path.stem) for path in paths]
        by_number = {record.number: record for record in found if record is not None}
        return [by_number[number] for number in sorted(by_number)]

    def _path(self, key: str) -> Path:
        return self.folder / TRIALS / f"{key}.json"


def read_record(path: Path) -> TrialRecord | None:
    """Return the record in a trial's file; None where it is not whole, or not ours."""
    try:
        data = json.loads(read_text(path))
        if data.pop("format") != FORMAT:
            return None
        return TrialRecord(**data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def write_whole(path: Path, data: Any) -> None:
    """Write JSON so that the file is there whole or not at all, even after a crash.

    Raises:
        NotWritten: the operating system refuses.
    """
    unfinished = path.with_name(f"{path.name}.tmp")
    with told_if_not_written(path), unfinished.open("w", encoding="utf-8") as file:
        json.dump(data, file, ensure_ascii=False, allow_nan=False, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
