"""Folders of runs: creation and reading.

    frame = read_run(Path("runs/heat")).frame

The folder of a killed process can also be read. It lacks the rows since the last
complete part, and its state is `interrupted`: no living process holds its lock.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.models import BadInput, UnknownName, system
from nao_testbed.models.files import cause_of, check_kind, read_bytes
from nao_testbed.sim.recording.channels import TIME_COLUMN
from nao_testbed.sim.recording.recorder import EVENTS_FILE, LAST_SECOND_FILE
from nao_testbed.sim.recording.run_meta import RunMeta, read_meta

LONGEST_S = 1e12
"""Longest run, in s; later times, or NaN, are invalid."""
LARGEST_RAD = 1e6
"""Largest valid angle: the sine of larger numbers has no exact digits."""
ANGLES = "q."
"""Prefix of the columns of joint angles, which every figure needs."""

if TYPE_CHECKING:
    import pandas as pd


def is_locked(path: Path) -> bool:
    """Return True if a process holds the lock of a file; False without a lock.

    The lock is the operating system's: it ends with the process.
    """
    try:
        check_kind(path)
        with path.open("rb") as file:
            return system.is_locked(file)
    except OSError:
        return False


_MAX_RUNS_PER_NAME = 10_000


@dataclass(frozen=True, kw_only=True)
class Event:
    """Event of a run."""

    kind: str
    time_s: float
    """Simulated time in s."""
    data: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """Recorded run; its data are read on first access."""

    folder: Path
    meta: RunMeta
    state: str
    """`done`, `failed: why`, `running`, or `interrupted`: the process was killed."""
    events: tuple[Event, ...]
    """Events in order."""
    damaged_events: int = 0
    """Unreadable lines of `events.jsonl`, left out of `events`."""

    def __repr__(self) -> str:
        """Return one line for a notebook; `meta` alone would fill a page."""
        meta, n = self.meta, len(self.events)
        rows = "" if meta.rows is None else f"{meta.rows} rows, "
        return (
            f"Run({str(self.folder)!r}: {meta.experiment} of {meta.robot}, seed "
            f"{meta.seed}, {rows}{n} event{'s' * (n != 1)}, {self.state})"
        )

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """All rows: index simulated time in s, columns such as `q.LKneePitch`."""
        frames = [
            read_part(path) for path in sorted(self.folder.glob("part-*.parquet"))
        ]
        return _join(frames, tuple(self.meta.columns))

    @cached_property
    def last_second(self) -> "pd.DataFrame | None":
        """Rows at full rate before a failure, or None without a failure."""
        path = self.folder / LAST_SECOND_FILE
        return read_part(path) if path.exists() else None

    def channel(self, name: str) -> "pd.DataFrame":
        """Return the columns of one channel, under the names of its members.

        Raises:
            UnknownName: the run has no such channel.
        """
        prefix = f"{name}."
        columns = [c for c in self.frame.columns if c == name or c.startswith(prefix)]
        if not columns:
            known = dict.fromkeys(c.partition(".")[0] for c in self.frame.columns)
            raise UnknownName("Channel", name, known, f"run {self.folder}")
        return self.frame[columns].rename(columns=lambda c: c.removeprefix(prefix))


_FORBIDDEN_IN_NAMES = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]+$')
_OF_DEVICES = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(?=[. ]|$)", re.IGNORECASE)


def plain_name(name: str) -> str:
    """Return a valid folder name for a name such as the controller `constant:0.6`.

    The result is valid on every system: Windows reserves some signs, names and ends.
    """
    return _OF_DEVICES.sub(r"\1-", _FORBIDDEN_IN_NAMES.sub("-", name), count=1)


def create_run_folder(base: Path, name: str) -> Path:
    """Create the folder of a new run, `base/name`, or `base/name-2` and so on.

    An existing folder is never reused.

    Raises:
        BadInput: the name is not a plain name, or the folder cannot be created.
    """
    if name in {"", ".", ".."} or Path(name).name != name or "\0" in name:
        raise BadInput(f"run name is {name!r}; give a plain name without slashes.")
    try:
        base.mkdir(parents=True, exist_ok=True)
        for i in range(1, _MAX_RUNS_PER_NAME):
            folder = base / (name if i == 1 else f"{name}-{i}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise BadInput(
            f"output folder {base / name} cannot be written: "
            f"{error.strerror or error}. Give another with --out."
        ) from error
    raise BadInput(f"{base} holds {_MAX_RUNS_PER_NAME} runs named {name!r}.")


def read_run(folder: Path | str) -> Run:
    """Open a run folder.

    Damaged lines of its events are left out and counted.

    Args:
        folder: folder of the run.

    Raises:
        BadInput: the folder is not a run folder.
    """
    folder = Path(folder)
    meta = read_meta(folder)
    state = meta.state
    if state == "running" and not is_locked(folder / EVENTS_FILE):
        meta = read_meta(folder)  # the run may have ended in between
        state = "interrupted" if meta.state == "running" else meta.state
    events, damaged = _read_events(folder / EVENTS_FILE)
    return Run(
        folder=folder, meta=meta, state=state, events=events, damaged_events=damaged
    )


def _read_events(path: Path) -> tuple[tuple[Event, ...], int]:
    """Return the events of complete lines, and the number of damaged lines.

    The end of the process may have cut the last line; it does not count as damaged.
    """
    if not path.exists():
        return (), 0
    try:
        text = read_bytes(path).decode("utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {cause_of(error)}.") from error
    found = [_event(line) for line in text.split("\n")[:-1]]
    events = tuple(event for event in found if event is not None)
    return events, len(found) - len(events)


def _event(line: str) -> Event | None:
    """Return the event of a line, or None for an invalid line."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match data:
        case {
            "kind": str(kind),
            "time_s": int() | float() as time_s,
            "data": dict(),
        } if abs(time_s) < LONGEST_S:
            return Event(kind=kind, time_s=time_s, data=data["data"])
    return None


def read_part(path: Path) -> "pd.DataFrame":
    """Read one part of a run's rows: numbers, by times in s that are valid.

    Raises:
        BadInput: the file is damaged.
    """
    import pyarrow as pa  # noqa: PLC0415  # slow, and few commands read runs
    import pyarrow.parquet as pq  # noqa: PLC0415  # likewise

    if path.is_dir():
        raise _damaged(path, "it is a folder")
    try:
        check_kind(path)
        with pq.ParquetFile(path) as file:  # read_table would import data sets
            frame: pd.DataFrame = file.read().to_pandas()
    except (OSError, ValueError, pa.ArrowException) as error:
        cause = cause_of(error)
        raise BadInput(
            f"{path} cannot be read: {cause}. Parts are written whole, so the file was "
            f"damaged later; restore it, or move it away to read the others."
        ) from error
    problem = _problem_of(path, frame)
    if problem is not None:
        raise _damaged(path, problem)
    return frame.set_index(TIME_COLUMN)


def _damaged(path: Path, problem: str) -> BadInput:
    return BadInput(
        f"{path} is damaged: {problem}; restore it, or move it away to read the others."
    )


def _problem_of(path: Path, frame: "pd.DataFrame") -> str | None:
    """Return the first invalid content of a part, or None."""
    if TIME_COLUMN not in frame:
        return f"it has no column {TIME_COLUMN}"
    for name, kind in frame.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiu":
            return f"column {name} has no numbers"
    if not np.isfinite(frame[TIME_COLUMN]).all():
        return f"column {TIME_COLUMN} has invalid times"
    angles = [str(n) for n in frame if str(n).startswith(ANGLES)]
    if path.name != LAST_SECOND_FILE:
        is_valid = (np.abs(frame[angles].to_numpy()) < LARGEST_RAD).all(axis=0)
        if not is_valid.all():  # NaN is not valid either
            return f"column {angles[int(is_valid.argmin())]} has invalid angles"
    return None


def _join(frames: "list[pd.DataFrame]", columns: tuple[str, ...]) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415  # slow, and few commands read runs

    names = [c for c in columns if c != TIME_COLUMN]
    if not frames:
        index = pd.Index([], dtype="float64", name=TIME_COLUMN)
        return pd.DataFrame(index=index, columns=names, dtype="float32")
    frame = pd.concat(frames)
    # A stop within `Recorder.flush` may have written rows twice.
    frame = frame[~frame.index.duplicated()]
    # A stop after `Recorder.add` leaves columns without a written part.
    late = [c for c in names if c not in frame.columns]
    return frame.assign(**dict.fromkeys(late, np.float32("nan")))
