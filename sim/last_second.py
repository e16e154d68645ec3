"""The last second of a run at full rate, kept for the day when a NaN appears."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from models import BadInput
from sim.channels import Channel, FloatArray, Layout
from sim.part_file import write_part

LAST_SECOND_FILE = "last_second.parquet"


class LastSecond:
    """A ring of rows; `push_row` at every tick, `save` when the run must stop."""

    def __init__(self, channels: Sequence[Channel], rows: int = 1000) -> None:
        """Reserve the ring.

        Args:
            channels: what a row holds, side by side in this order.
            rows: how many are kept: 1000 are a second at 1 kHz.

        Raises:
            BadInput: two columns have the same name.
        """
        self._layout = Layout(channels)
        self._rows = rows
        self._time = np.empty(rows)
        self._block = np.empty((rows, len(self._layout.columns)))
        self._n_pushed = 0

    def push_row(self, time_s: float, row: FloatArray) -> None:
        """Keep a row and forget the oldest.

        Args:
            time_s: simulated time in s.
            row: (n_columns,) all channels side by side; it is copied.
        """
        place = self._n_pushed % self._rows
        self._block[place] = row
        self._time[place] = time_s
        self._n_pushed += 1

    def newest(self, rows: int) -> FloatArray:
        """Return a copy of the newest rows, oldest first, (rows, n_columns).

        Raises:
            BadInput: so many were not pushed, or the ring is shorter.
        """
        n_kept = min(self._n_pushed, self._rows)
        if not 0 <= rows <= n_kept:
            raise BadInput(f"{rows} rows asked for; the ring holds {n_kept}.")
        places = np.arange(self._n_pushed - rows, self._n_pushed) % self._rows
        return np.asarray(self._block[places])

    def save(self, folder: Path) -> Path:
        """Write the rows, oldest first, beside the parts of a run; return the file.

        Raises:
            RecordingError: the file system refuses.
        """
        n_kept = min(self._n_pushed, len(self._time))
        order = np.arange(self._n_pushed - n_kept, self._n_pushed) % len(self._time)
        path = folder / LAST_SECOND_FILE
        write_part(path, self._layout, self._time[order], self._block[order])
        return path
