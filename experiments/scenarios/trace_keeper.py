"""Keeps the trace of a run: in memory for figures, in the run folder, and as a hash."""

import hashlib
from collections.abc import Callable

from controllers.resources.trace import Commanded, Event, Executed, Settled, Ticked
from controllers.resources.trace_json import event_to_line, event_to_record
from controllers.sync.transmitter.trace import Sent

MANY = frozenset({Commanded, Executed, Sent})
"""Events of which there are some in every slot: they are hashed, and not kept."""
MARKS = frozenset({Settled, Ticked})
"""Events that only say that a call, or a slot, is over: they are left out."""

Write = Callable[[str, int, dict[str, object]], None]
"""Takes the kind of an event, its tick, and its fields."""


class TraceKeeper:
    """A listener of the ledger."""

    def __init__(self, write: Write | None = None) -> None:
        """Begin with nothing.

        Args:
            write: takes every event that is kept, for a file; None writes none.
        """
        self.kept: list[Event] = []
        """All but `MANY` and `MARKS`, in their order."""
        self.count = 0
        """Of all events but the marks."""
        self._digest = hashlib.sha256()
        self._write = write

    def hear(self, event: Event) -> None:
        """Take the next event."""
        kind = type(event)
        if kind in MARKS:
            return
        self.count += 1
        self._digest.update(event_to_line(event).encode() + b"\n")
        if kind in MANY:
            return
        self.kept.append(event)
        if self._write is not None:
            record = event_to_record(event)
            del record["event"], record["tick"]
            self._write(kind.__name__, event.tick, record)

    @property
    def hash(self) -> str:
        """SHA-256 of all that was counted, in hexadecimal; without secrets."""
        return self._digest.hexdigest()
