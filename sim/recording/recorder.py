"""Recorder that writes a run to its folder and survives a killed process.

    with Recorder(create_run_folder(Path("runs"), "heat"), channels, meta) as recorder:
        recorder.append(time_s, q, target, effort)      # every 20 ms
        recorder.event("protection", time_s, motor="LAnklePitch", status=1)

The folder holds `meta.json`, whose state goes from `running` to `done` or `failed:
why`; `events.jsonl`, one line per event, written at once; and parts
`part-00000.parquet` and so on, each with at most 1500 rows (30 s of physics at 50 Hz),
complete or absent. Rows younger than the last part are in memory and lost on kill -9:
at most 30 s of wall time, at first 2 s, and never more than the later half of the run.
`LastSecond` keeps the last second at full rate, for the diagnosis of a diverged
simulation.
"""

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.system import lock
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN, Channel, Layout
from nao_testbed.sim.recording.run_meta import META_FILE, RunMeta, plain, write_meta


class RecordingError(TestbedError):
    """Error: a recording can no longer be written, such as on a full disk."""


def write_part(
    path: Path, layout: Layout, time_s: FloatArray, rows: FloatArray
) -> None:
    """Write rows to a file, and rename the file when it is complete.

    Args:
        path: path of the file; the suffix `.tmp` is added until then.
        layout: layout of the columns; units become metadata of the fields.
        time_s: (n,) in s.
        rows: (n, n_columns).

    Raises:
        RecordingError: the file system refuses.
    """
    import pyarrow as pa  # noqa: PLC0415  # slow to import; only runs that record need it
    import pyarrow.parquet as pq  # noqa: PLC0415  # the same

    columns = [(TIME_COLUMN, "s", np.ascontiguousarray(time_s))]
    for i, name in enumerate(layout.columns):
        column = np.ascontiguousarray(rows[:, i], dtype=layout.stored[i])
        columns.append((name, layout.units[name], column))
    fields: list[Any] = []
    arrays: list[Any] = []
    for name, unit, column in columns:
        kind = pa.from_numpy_dtype(column.dtype)
        fields.append(pa.field(name, kind, metadata={"unit": unit}))
        # `pa.array` would import pandas to check the type.
        buffers = [None, pa.py_buffer(column)]
        arrays.append(pa.Array.from_buffers(kind, len(column), buffers))
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    unfinished = path.with_suffix(".tmp")
    try:
        with unfinished.open("wb") as file:
            pq.write_table(
                table,
                file,
                compression="zstd",
                use_dictionary=False,
                use_byte_stream_split=True,
            )
            file.flush()
            os.fsync(file.fileno())  # a power failure must not leave an empty part
        unfinished.replace(path)
    except OSError as error:
        raise RecordingError(
            f"cannot write {path}: {error.strerror or error}. The parts before it are "
            f"complete; free disk space and run again."
        ) from error


LAST_SECOND_FILE = "last_second.parquet"


class LastSecond:
    """Ring buffer of rows; `push_row` at every tick, `save` before the run stops."""

    def __init__(self, channels: Sequence[Channel], rows: int = 1000) -> None:
        """Allocate the ring.

        Args:
            channels: contents of a row, side by side in this order.
            rows: size of the ring: 1000 are a second at 1 kHz.

        Raises:
            BadInput: two columns have the same name.
        """
        self._layout = Layout(channels)
        self.times = np.empty(rows)
        """(rows,) time of each row in s; the k-th row is at k % rows."""
        self.rows = np.empty((rows, len(self._layout.columns)))
        """(rows, n_columns) in the same order."""
        self.n_pushed = np.zeros(1, dtype=np.int64)
        """(1,) rows so far."""

    def push_row(self, time_s: float, row: FloatArray) -> None:
        """Add a row and drop the oldest.

        Args:
            time_s: simulated time in s.
            row: (n_columns,) all channels side by side; it is copied.
        """
        place = self.n_pushed[0] % len(self.times)
        self.rows[place] = row
        self.times[place] = time_s
        self.n_pushed[0] += 1

    def newest(self, rows: int) -> FloatArray:
        """Return a copy of the newest rows, oldest first, (rows, n_columns).

        Raises:
            BadInput: the ring holds fewer rows.
        """
        n_pushed = int(self.n_pushed[0])
        n_kept = min(n_pushed, len(self.times))
        if not 0 <= rows <= n_kept:
            raise BadInput(f"{rows} rows requested; the ring holds {n_kept}.")
        places = np.arange(n_pushed - rows, n_pushed) % len(self.times)
        return np.asarray(self.rows[places])

    def save(self, folder: Path) -> Path:
        """Write the rows, oldest first, beside the parts of a run; return the file.

        Raises:
            RecordingError: the file system refuses.
        """
        n_pushed = int(self.n_pushed[0])
        n_kept = min(n_pushed, len(self.times))
        order = np.arange(n_pushed - n_kept, n_pushed) % len(self.times)
        path = folder / LAST_SECOND_FILE
        write_part(path, self._layout, self.times[order], self.rows[order])
        return path


WALL_S = 30.0
"""Longest time that a row waits for its part, in s of the wall clock."""

FIRST_WALL_S = 2.0
"""Longest wait of the first row; it grows with the run time, up to `WALL_S`."""

EVENTS_FILE = "events.jsonl"

_ROWS = 1500
"""Largest number of rows of a part: 30 s at 50 Hz."""


class Recorder:
    """Writer of rows of numbers and of events; for its use see the module."""

    def __init__(
        self, folder: Path, channels: Sequence[Channel], meta: RunMeta
    ) -> None:
        """Start a recording.

        Args:
            folder: empty folder, from `create_run_folder`.
            channels: contents of a row, in the order of `append`.
            meta: description of the run; columns and state are filled in.

        Raises:
            BadInput: the folder holds a run already, or two columns have the same name.
            RecordingError: the file system refuses.
        """
        self._layout = Layout(channels)
        self._folder = folder
        if (folder / META_FILE).exists():
            raise BadInput(f"{folder} already has a run; record into a new folder.")
        self._meta = dataclasses.replace(
            _with_columns(meta, self._layout), state="running"
        )
        try:
            write_meta(folder, self._meta)
            self._events = (folder / EVENTS_FILE).open(
                "a", buffering=1, encoding="utf-8"
            )
        except OSError as error:
            raise RecordingError(
                f"cannot record into {folder}: {error.strerror or error}."
            ) from error
        # Held while this process lives: readers see that the run continues. On a file
        # system without locks, readers report `interrupted` too early.
        with contextlib.suppress(OSError):
            lock(self._events)
        self._time = np.empty(_ROWS)
        self._block = np.empty((_ROWS, len(self._layout.columns)))
        self._n_rows = 0
        self._n_written = 0
        self._n_parts = 0
        self._last_s = -np.inf
        self._begin = self._deadline = np.inf
        self._is_closed = False

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self._folder

    def append(self, time_s: float, *values: FloatArray | float) -> None:
        """Add a row.

        Args:
            time_s: simulated time in s, later than that of the previous row.
            values: one vector per channel, in their order; they are copied.

        Raises:
            BadInput: the time does not advance, or values are missing.
            RecordingError: the file system refuses.
        """
        if not time_s > self._last_s:
            raise BadInput(
                f"row at {time_s} s after one at {self._last_s} s; rows must advance "
                f"in time. Start another run after going back to a snapshot."
            )
        n = self._n_rows
        if n and (n == _ROWS or time.monotonic() >= self._deadline):
            self.flush()
            n = 0
        self._layout.fill(self._block[n], values)
        self._time[n] = time_s
        if n == 0:
            now = time.monotonic()
            self._begin = min(self._begin, now)
            wait_s = max(FIRST_WALL_S, now - self._begin)
            self._deadline = now + min(WALL_S, wait_s)
        self._last_s = time_s
        self._n_rows = n + 1

    def add(self, channel: Channel) -> None:
        """Record another channel from the next row on, as the last one.

        Earlier rows have no value for it: `read_run` gives NaN.

        Raises:
            BadInput: a column of that name is recorded already.
            RecordingError: the file system refuses; the rows are unchanged.
        """
        layout = Layout((*self._layout.channels, channel))
        self.flush()
        meta = _with_columns(self._meta, layout)
        self._write_meta(meta)
        self._layout, self._meta = layout, meta
        self._block = np.empty((_ROWS, len(layout.columns)))

    def event(self, kind: str, time_s: float, /, **data: object) -> None:
        """Write an event at once.

        Args:
            kind: type of the event.
            time_s: simulated time in s.
            data: numbers, text, arrays, dataclasses.

        Raises:
            RecordingError: the file system refuses.
        """
        record = {"kind": kind, "time_s": time_s, "data": data}
        line = json.dumps(plain(record), ensure_ascii=False, allow_nan=False)
        try:
            self._events.write(line + "\n")
        except OSError as error:
            raise RecordingError(
                f"cannot write an event into {self._folder}: {error.strerror}."
            ) from error

    def flush(self) -> None:
        """Write the waiting rows as a part.

        Raises:
            RecordingError: the file system refuses; the rows keep waiting.
        """
        n = self._n_rows
        if n == 0:
            return
        path = self._folder / f"part-{self._n_parts:05d}.parquet"
        write_part(path, self._layout, self._time[:n], self._block[:n])
        # An interruption here writes the rows twice; readers drop duplicates.
        self._n_parts += 1
        self._n_written += n
        self._n_rows = 0

    def close(self, reason: str = "done") -> None:
        """Write waiting rows and the final state; a second call has no effect.

        Args:
            reason: `done`, or `failed: why`.

        Raises:
            RecordingError: the file system refuses.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.flush()
        except RecordingError as error:
            reason = f"failed: {error}"
            raise
        finally:
            meta = dataclasses.replace(self._meta, state=reason, rows=self._n_written)
            try:
                self._write_meta(meta)
            finally:
                self._events.close()

    def _write_meta(self, meta: RunMeta) -> None:
        try:
            write_meta(self._folder, meta)
        except OSError as error:
            raise RecordingError(
                f"cannot record into {self._folder}: {error.strerror or error}. Data "
                "written before is kept; free disk space and run again."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        elif issubclass(kind, KeyboardInterrupt):
            self.close("failed: stopped by the user (Ctrl-C)")
        else:
            self.close(f"failed: {error or kind.__name__}")


def _with_columns(meta: RunMeta, layout: Layout) -> RunMeta:
    """Return the description with units of columns and descriptions of channels."""
    return dataclasses.replace(
        meta,
        columns={TIME_COLUMN: "s", **layout.units},
        channels={c.name: c.about for c in layout.channels if c.about and c.columns},
    )
