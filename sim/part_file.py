"""One Parquet file of a recording, written whole or not at all."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from models import TestbedError
from sim.channels import TIME_COLUMN, FloatArray, Layout


class RecordingError(TestbedError):
    """A recording cannot be written any more, such as when the disk is full."""


def write_part(
    path: Path, layout: Layout, time_s: FloatArray, rows: FloatArray
) -> None:
    """Write rows to a file that appears under its name only when it is complete.

    Args:
        path: of the file; `path` with the suffix `.tmp` is used on the way.
        layout: of the columns; units become metadata of the fields.
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
        # Not `pa.array`, which imports pandas to see whether this is of that.
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
            os.fsync(file.fileno())  # a power cut must not leave an empty part
        unfinished.replace(path)
    except OSError as error:
        raise RecordingError(
            f"cannot write {path}: {error.strerror or error}. The parts before it are "
            f"complete; make room and run again."
        ) from error
