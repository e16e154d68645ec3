"""Makes the folder of a new run, and opens that of an old one.

    frame = read_run(Path("runs/heat")).frame

A folder opens whatever became of its process: killed, it lacks the rows since the last
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
from nao_testbed.models.files import check_kind, read_bytes, why
from nao_testbed.sim.recording.channels import TIME_COLUMN
from nao_testbed.sim.recording.recorder import EVENTS_FILE, LAST_SECOND_FILE
from nao_testbed.sim.recording.run_meta import RunMeta, read_meta

LONGEST_S = 1e12
"""Of a run, in s; what is later, or NaN, is no time."""
LARGEST_RAD = 1e6
"""What is larger is no angle: its sine has no digits left long before 1e300."""
ANGLES = "q."
"""Before a joint's name: a column without which nothing can be drawn."""

if TYPE_CHECKING:
    import pandas as pd


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file; False where there is none.

    The lock is the system's: a process that is killed holds none any more.
    """
    try:
        check_kind(path)
        with path.open("rb") as file:
            return system.is_locked(file)
    except OSError:
        return False


_MOST_RUNS_OF_A_NAME = 10_000


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened in a run."""

    kind: str
    time_s: float
    """Simulated time in s."""
    data: Mapping[str, object]


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A recorded run, read when it is asked for."""

    folder: Path
    meta: RunMeta
    state: str
    """`done`, `failed: why`, `running`, or `interrupted`: ended without a word."""
    events: tuple[Event, ...]
    """In the order in which they happened."""
    damaged_events: int = 0
    """Lines of `events.jsonl` that nobody can read any more, left out of `events`."""

    def __repr__(self) -> str:
        """Return a line for a notebook; `meta` alone would fill a page."""
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
        """The rows at full rate before a failure, or None when there was none."""
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


_IN_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]+$')
_OF_DEVICES = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(?=[. ]|$)", re.IGNORECASE)


def plain_name(name: str) -> str:
    """Return a folder's name for what is named, such as a controller `constant:0.6`.

    Every system takes it: Windows keeps some signs, names and ends to itself.
    """
    return _OF_DEVICES.sub(r"\1-", _IN_NO_NAME.sub("-", name), count=1)


def create_run_folder(base: Path, name: str) -> Path:
    """Make the folder of a new run, `base/name`, or `base/name-2` and so on.

    An existing folder is never used again.

    Raises:
        BadInput: the name is no plain name, or the folder cannot be made.
    """
    if name in {"", ".", ".."} or Path(name).name != name or "\0" in name:
        raise BadInput(f"run name is {name!r}; give a plain name without slashes.")
    try:
        base.mkdir(parents=True, exist_ok=True)
        for i in range(1, _MOST_RUNS_OF_A_NAME):
            folder = base / (name if i == 1 else f"{name}-{i}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise BadInput(
            f"output folder {base / name} cannot be written: "
            f"{error.strerror or error}. Give another by --out."
        ) from error
    raise BadInput(f"{base} holds {_MOST_RUNS_OF_A_NAME} runs called {name!r}.")


def read_run(folder: Path | str) -> Run:
    """Open a run folder.

    Args:
        folder: as `create_run_folder` returned it.

    Lines of its events that are damaged are left out and counted.

    Raises:
        BadInput: it is no run folder.
    """
    folder = Path(folder)
    meta = read_meta(folder)
    state = meta.state
    if state == "running" and not is_locked(folder / EVENTS_FILE):
        meta = read_meta(folder)  # it may have ended in between
        state = "interrupted" if meta.state == "running" else meta.state
    events, damaged = _read_events(folder / EVENTS_FILE)
    return Run(
        folder=folder, meta=meta, state=state, events=events, damaged_events=damaged
    )


def _read_events(path: Path) -> tuple[tuple[Event, ...], int]:
    """Return the events of whole lines, and how many lines are damaged.

    The last line may have been cut by the end of the process: that is no damage.
    """
    if not path.exists():
        return (), 0
    try:
        text = read_bytes(path).decode("utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {why(error)}.") from error
    found = [_event(line) for line in text.split("\n")[:-1]]
    events = tuple(event for event in found if event is not None)
    return events, len(found) - len(events)


def _event(line: str) -> Event | None:
    """Return what a line tells; None where no recorder has written it."""
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
    """Read one part of a run's rows: numbers, by times in s that are known.

    Raises:
        BadInput: it was damaged after it had been written.
    """
    import pyarrow as pa  # noqa: PLC0415  # slow, and few commands read runs
    import pyarrow.parquet as pq  # noqa: PLC0415  # likewise

    try:
        check_kind(path)
        frame: pd.DataFrame = pq.read_table(path).to_pandas()
    except (OSError, ValueError, pa.ArrowException) as error:
        cause = why(error)
        raise BadInput(
            f"{path} cannot be read: {cause}. A part is written whole, so the file was "
            f"damaged later; bring it back, or move it away to read the others."
        ) from error
    problem = _problem_of(path, frame)
    if problem is not None:
        raise BadInput(
            f"{path} is damaged: {problem}; bring it back, or move it away to read the "
            "others."
        )
    return frame.set_index(TIME_COLUMN)


def _problem_of(path: Path, frame: "pd.DataFrame") -> str | None:
    """Return what no recorder writes into a part; None: all is well."""
    if path.is_dir():
        return "it is a folder"
    if TIME_COLUMN not in frame:
        return f"it has no column {TIME_COLUMN}"
    for name, kind in frame.dtypes.items():
        if getattr(kind, "kind", "O") not in "fiu":
            return f"column {name} holds no numbers"
    if not np.isfinite(frame[TIME_COLUMN]).all():
        return f"column {TIME_COLUMN} holds what is no time"
    angles = [str(n) for n in frame if str(n).startswith(ANGLES)]
    for name in angles if path.name != LAST_SECOND_FILE else ():
        if not (frame[name].abs() < LARGEST_RAD).all():  # nor is NaN
            return f"column {name} holds what is no angle"
    return None


def _join(frames: "list[pd.DataFrame]", columns: tuple[str, ...]) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415  # slow, and few commands read runs

    names = [c for c in columns if c != TIME_COLUMN]
    if not frames:
        index = pd.Index([], dtype="float64", name=TIME_COLUMN)
        return pd.DataFrame(index=index, columns=names, dtype="float32")
    frame = pd.concat(frames)
    # A stop in the middle of `Recorder.flush` may have written rows twice.
    frame = frame[~frame.index.duplicated()]
    # A stop after `Recorder.add` leaves columns of which no part was written.
    late = [c for c in names if c not in frame.columns]
    return frame.assign(**dict.fromkeys(late, np.float32("nan")))
