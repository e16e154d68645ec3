"""The whole trace of a run as a file: `trace.jsonl.gz`, a line an event.

    for event in read_trace(Path("runs/scenario")): ...

With it a run can be judged again, by other invariants than those of its time. It is
some hundred bytes for each command of a motor; `events.jsonl` has all but these.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path

import controllers.schemas.trace  # whose events a trace has
import controllers.sync.orders.pipeline_trace
import controllers.sync.transmitter.trace  # noqa: F401
from controllers.resources.trace import Event
from controllers.resources.trace_json import event_from_line
from models import BadInput
from models.files import told_if_not_written

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
