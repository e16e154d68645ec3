"""Trace of a run: in memory for figures, in the run folder, and as hashes.

    for event in read_trace(Path("runs/scenario")): ...

`trace.jsonl.gz` is the whole trace, one line per event. With it a run can be judged
again with other invariants. It takes some hundred bytes per motor command;
`events.jsonl` has all other events.
"""

import gzip
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import nao_testbed.controllers.schemas.events  # noqa: F401  # registers its events
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
from nao_testbed.models.files import convert_write_errors

MANY = frozenset({Commanded, Executed, Sent})
"""Events that occur in every slot if they are emitted (`LedgerCfg.tells_commands`):
they are hashed separately and not stored."""
MARKS = frozenset({Settled, Ticked})
"""Events that only mark the end of a call or a slot; omitted."""


class WholeTrace(Protocol):
    """Writer of every line of a trace."""

    def write(self, line: str) -> None:
        """Write the next line, given without its line end."""


Write = Callable[[str, int, dict[str, object]], None]
"""Function that writes an event: kind, tick, and fields."""


class TraceKeeper:
    """Listener of the ledger that keeps and hashes the trace."""

    def __init__(
        self, write: Write | None = None, whole: WholeTrace | None = None
    ) -> None:
        """Create an empty trace.

        Args:
            write: function called with every stored event, for the run folder; None: no
                events.
            whole: writer of every event, including commands and items; None: no trace
                file.
        """
        self.kept: list[Event] = []
        """Events except `MANY` and `MARKS`, in order."""
        self.count = 0
        """Number of events without the marks."""
        self._digest = hashlib.sha256()
        self._whole_digest = hashlib.sha256()
        self._write = write
        self._whole = whole

    def on_event(self, event: Event) -> None:
        """Record the next event."""
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

    def add_state(self, *arrays: NDArray[np.float64]) -> None:
        """Add the state of the robot after a slot to the hashes, bit by bit."""
        state = b"".join([array.tobytes() for array in arrays])
        self._digest.update(state)
        self._whole_digest.update(state)

    @property
    def hash(self) -> str:
        """SHA-256 of kept events and states, in hexadecimal; without secrets."""
        return self._digest.hexdigest()

    @property
    def whole_hash(self) -> str:
        """SHA-256 of all events and states, commands and items included."""
        return self._whole_digest.hexdigest()


TRACE_FILE = "trace.jsonl.gz"


class TraceFile:
    """Writer of lines; without `close` the last lines are lost."""

    def __init__(self, folder: Path) -> None:
        """Create an empty file in a run folder."""
        self._path = folder / TRACE_FILE
        with convert_write_errors(self._path):
            self._file = gzip.open(  # noqa: SIM115  # closed by `close`
                self._path, "wt", compresslevel=1, encoding="utf-8"
            )

    def write(self, line: str) -> None:
        """Write a line.

        Raises:
            WriteError: the operating system refuses.
        """
        with convert_write_errors(self._path):
            self._file.write(line + "\n")

    def close(self) -> None:
        """Close the file; may be called twice.

        Raises:
            WriteError: the operating system refuses.
        """
        with convert_write_errors(self._path):
            self._file.close()


def read_trace(folder: Path) -> Iterator[Event]:
    """Yield the events of a run in order.

    Raises:
        BadInput: the run has no whole trace, or a line is invalid.
    """
    path = folder / TRACE_FILE
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield event_from_line(line)
    except FileNotFoundError:
        raise BadInput(
            f"{folder} has no {TRACE_FILE}: it is not a scenario run, or it was run "
            "with --no-proof. Run it again without --no-proof."
        ) from None
    except EOFError:
        return  # killed: the lines written so far are complete
