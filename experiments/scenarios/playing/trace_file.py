"""Keep the trace of a run: in memory for figures, in the run folder, and as hashes.

    for event in read_trace(Path("runs/scenario")): ...

`trace.jsonl.gz` is the whole trace, a line an event: with it a run can be judged again,
by other invariants than those of its time. It is some hundred bytes for each command of
a motor; `events.jsonl` has all but these.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import nao_testbed.controllers.schemas.events  # noqa: F401  # which a trace has, too
from nao_testbed.controllers.arbitration.events import (
    Commanded,
    Event,
    Executed,
    Settled,
    Ticked,
    event_from_line,
    event_to_line,
    event_to_record,
)
from nao_testbed.controllers.transmitter.events import Sent
from nao_testbed.models import BadInput
from nao_testbed.models.files import told_if_not_written

MANY = frozenset({Commanded, Executed, Sent})
"""Events of which there are some in every slot, if they are told at all
(`LedgerCfg.tells_commands`): they are hashed by themselves, and not kept."""
MARKS = frozenset({Settled, Ticked})
"""Events that only say that a call, or a slot, is over: they are left out."""


class WholeTrace(Protocol):
    """Takes every line of a trace."""

    def write(self, line: str) -> None:
        """Take the next one, without its end."""


Write = Callable[[str, int, dict[str, object]], None]
"""Takes the kind of an event, its tick, and its fields."""


class TraceKeeper:
    """A listener of the ledger."""

    def __init__(
        self, write: Write | None = None, whole: WholeTrace | None = None
    ) -> None:
        """Begin with nothing.

        Args:
            write: takes every event that is kept, for the run folder; None writes none.
            whole: takes the line of every event, commands and items too; None: nobody.
        """
        self.kept: list[Event] = []
        """All but `MANY` and `MARKS`, in their order."""
        self.count = 0
        """Of all events but the marks."""
        self._digest = hashlib.sha256()
        self._whole_digest = hashlib.sha256()
        self._write = write
        self._whole = whole

    def hear(self, event: Event) -> None:
        """Take the next event."""
        kind = type(event)
        if kind in MARKS:
            if self._whole is not None:
                self._whole.write(event_to_line(event))
            return
        self.count += 1
        text = event_to_line(event)
        line = text.encode() + b"\n"
        self._whole_digest.update(line)
        if self._whole is not None:
            self._whole.write(text)
        if kind in MANY:
            return
        self._digest.update(line)
        self.kept.append(event)
        if self._write is not None:
            record = event_to_record(event)
            del record["event"], record["tick"]
            self._write(kind.__name__, event.tick, record)

    def feel(self, *arrays: NDArray[np.float64]) -> None:
        """Take the state of the robot after a slot into the hashes, bit by bit."""
        state = b"".join([array.tobytes() for array in arrays])
        self._digest.update(state)
        self._whole_digest.update(state)

    @property
    def hash(self) -> str:
        """SHA-256 of all that is kept or felt, in hexadecimal; without secrets."""
        return self._digest.hexdigest()

    @property
    def whole_hash(self) -> str:
        """SHA-256 of all that was counted or felt, commands and items too."""
        return self._whole_digest.hexdigest()


TRACE_FILE = "trace.jsonl.gz"


class TraceFile:
    """Writes lines; `close` at the end, or the last ones are lost."""

    def __init__(self, folder: Path) -> None:
        """Begin an empty file in a run folder."""
        self._path = folder / TRACE_FILE
        with told_if_not_written(self._path):
            self._file = gzip.open(  # noqa: SIM115  # closed by `close`
                self._path, "wt", compresslevel=1, encoding="utf-8"
            )

    def write(self, line: str) -> None:
        """Write a line.

        Raises:
            NotWritten: the operating system refuses.
        """
        with told_if_not_written(self._path):
            self._file.write(line + "\n")

    def close(self) -> None:
        """End the file; may be called twice.

        Raises:
            NotWritten: the operating system refuses.
        """
        with told_if_not_written(self._path):
            self._file.close()


def read_trace(folder: Path) -> Iterator[Event]:
    """Yield the events of a run, in their order.

    Raises:
        BadInput: the run has no whole trace, or a line of it is none.
    """
    path = folder / TRACE_FILE
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield event_from_line(line)
    except FileNotFoundError:
        raise BadInput(
            f"{folder} has no {TRACE_FILE}: it is no scenario, or was run without "
            "proof. Run it again, without --no-proof."
        ) from None
    except EOFError:
        return  # killed: what was written until then is whole
