"""The folder of a sweep as it is: whole, under way, or left by a crash.

    found = read_folder(Path("runs/ankles"))
    found.sweep, found.asked, found.problems

A sweep that was killed has no table, or one from an earlier run; each trial that had
ended is a file of its own, and these are read then.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.sweep.keep import keep_from, mark_kept
from experiments.sweep.store import (
    LOCK_FILE,
    SWEEP_FILE,
    TRIALS,
    OtherFormat,
    read_record,
    sweep_meta,
)
from experiments.sweep.table import TABLE_FILE, Sweep, frame_of, read_sweep, row_of
from models import BadInput
from models.files import read_bytes, why
from sim.file_lock import is_locked


@dataclass(frozen=True, kw_only=True, eq=False)
class SweepFolder:
    """What the folder of a sweep holds."""

    folder: Path
    sweep: Sweep
    asked: Mapping[str, int] | None
    """Trials of the whole sweep by controller; with `keep`, of the robots that are kept
    so far; None where the folder does not tell, or each robot draws its own."""
    is_running: bool
    """Whether a process holds the folder now."""
    problems: tuple[str, ...]
    """What is damaged, and what was read in its place, a sentence each."""

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.folder.resolve().name

    @property
    def total(self) -> int | None:
        """Trials of the whole sweep as `asked`; also where each robot draws its own."""
        if self.asked is not None:
            return sum(self.asked.values())
        meta = self.sweep.meta
        is_known = "points" in meta and meta["identity"].get("keep") is None
        return int(meta["points"]) * int(meta["robots"]) if is_known else None

    @property
    def state(self) -> tuple[str, ...]:
        """How far the sweep has come, a sentence each; empty where it is whole."""
        words = []
        here = len(self.sweep.frame)
        if self.is_running:
            words.append("The sweep goes on; this is how far it had come.")
        if self.total is None:
            words.append(f"How many trials there are to be is not known; {here} ended.")
        elif (missing := self.total - here) > 0:
            keeps = self.sweep.meta["identity"].get("keep") is not None
            so_far = ", as far as is known which robots are kept" if keeps else ""
            words.append(
                f"{missing} of {self.total} trials are missing{so_far}. "
                "The command that ran the sweep goes on with them."
            )
        return tuple(words)


def is_sweep_folder(folder: Path) -> bool:
    """Tell whether a folder says that it is a sweep's."""
    return any((folder / name).is_file() for name in (SWEEP_FILE, TABLE_FILE))


def read_folder(folder: Path) -> SweepFolder:
    """Read the table, or the trials one by one where it is absent, damaged or old.

    Raises:
        BadInput: it is no sweep's folder, is of another version's form, or nothing in
            it can be read.
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
            problems.append(f"{str(error).rstrip('.')}. The trials' files are read.")
    if meta is not None and (sweep is None or _is_older(folder / TABLE_FILE, paths)):
        table, sweep = sweep, _from_trials(meta, paths, problems)
        if table is not None and not is_running and not _is_same(table, sweep):
            problems.append(
                f"{TABLE_FILE} is older than its trials, as of a sweep that was "
                "killed. The trials' files are read."
            )
    assert sweep is not None  # without both, the table's error was raised
    if not len(sweep.frame):
        raise BadInput(
            f"{folder} holds the sweep {sweep.meta['name']!r}, of which no trial has "
            "ended yet; run it, or wait for the first ones."
        )
    return SweepFolder(
        folder=folder,
        sweep=sweep,
        asked=_asked(sweep),
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
            f"{SWEEP_FILE} cannot be read: {why(error)}. The table is read."
        )
    except OtherFormat:
        raise
    except BadInput as error:
        problems.append(f"{error} The table is read.")
    return None


def _is_older(table: Path, trials: list[Path]) -> bool:
    newest = max((path.stat().st_mtime_ns for path in trials), default=0)
    return table.stat().st_mtime_ns < newest


def _is_same(table: Sweep, trials: Sweep) -> bool:
    """Whether a table says what its trials say: a copied folder is no killed sweep."""
    columns = table.frame.columns  # an older version's are fewer
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
        files = "1 trial's file" if len(lost) == 1 else f"{len(lost)} trials' files"
        problems.append(
            f"{files} cannot be read: left out, as if missing. {lost[0]}"
            + (" And so on." if len(lost) > 1 else "")
        )
    keep = meta["identity"].get("keep")
    rows = mark_kept(keep and keep_from(keep), map(row_of, records))
    columns = [] if not records else list(records[0].parameters)
    rest = {name: value for name, value in meta.items() if name != "spec"}
    return Sweep(frame=frame_of(rows, columns), spec=meta["spec"], meta=rest)


def _asked(sweep: Sweep) -> dict[str, int] | None:
    """Return how many trials there are of each controller, done or not."""
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
