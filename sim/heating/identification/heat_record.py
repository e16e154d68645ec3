"""What was measured of one motor over a stretch of time without gaps."""

from dataclasses import dataclass

import numpy as np

from models import BadInput
from sim.heating.exponentials import FloatArray

FEWEST_TEMPERATURES = 5
"""Of a record; fewer say nothing about a curve."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatRecord:
    """Times, temperatures, and the heating between them.

    A temperature may be missing, what heated may not.
    """

    time_s: FloatArray
    """(n,) strictly rising, in s."""
    degc: FloatArray
    """(n,) measured temperature in °C; NaN where it was not measured."""
    mean_square_current: FloatArray
    """(n - 1,) mean of i² between one row and the next, in A²."""

    def __post_init__(self) -> None:
        """Refuse what is no record.

        Raises:
            BadInput: lengths differ, times do not rise, a square is no number from 0
                up, or fewer than five temperatures are known.
        """
        n = self.time_s.size
        if self.degc.shape != (n,) or self.mean_square_current.shape != (
            max(n - 1, 0),
        ):
            raise BadInput(
                f"a record has {n} times, {self.degc.size} temperatures and "
                f"{self.mean_square_current.size} squared currents; give as many "
                f"temperatures as times, and a square for each time between two rows."
            )
        known = int(np.isfinite(self.degc).sum())
        if known < FEWEST_TEMPERATURES:
            raise BadInput(
                f"a record has {known} temperatures; give {FEWEST_TEMPERATURES} or "
                "more."
            )
        if not (np.diff(self.time_s) > 0.0).all():
            raise BadInput("times of a record do not rise from row to row; sort them.")
        square = self.mean_square_current
        if not ((square >= 0.0) & np.isfinite(square)).all():
            raise BadInput(
                "a mean squared current is no number from 0 up; fill it, or end the "
                "record before it."
            )

    @classmethod
    def from_currents(
        cls, time_s: FloatArray, degc: FloatArray, current: FloatArray
    ) -> "HeatRecord":
        """Return a record from currents read at the same times as the temperatures.

        i² is taken as straight between rows: its heat is then right to second order.

        Args:
            time_s: (n,) strictly rising, in s.
            degc: (n,) in °C; NaN where it was not measured.
            current: (n,) in A, of either sign.

        Raises:
            BadInput: as the class.
        """
        square = current**2
        return cls(
            time_s=time_s, degc=degc, mean_square_current=(square[1:] + square[:-1]) / 2
        )

    @property
    def duration_s(self) -> float:
        """Time from the first row to the last, in s."""
        return float(self.time_s[-1] - self.time_s[0])

    @property
    def is_known(self) -> np.ndarray:
        """(n,) whether the temperature was measured."""
        return np.isfinite(self.degc)

    @property
    def resolution_k(self) -> float:
        """Step in which the sensor counts, in K; 0 where no steps are seen.

        The smallest difference between two readings, where rows repeat few readings.
        """
        known = self.degc[self.is_known]
        readings = np.unique(np.round(known, 6))
        if 2 <= readings.size <= known.size / 3:
            return float(np.diff(readings).min())
        return 0.0

    def thinned(self, step_s: float) -> "HeatRecord":
        """Return a record with rows about `step_s` apart, each the last of its step.

        No heat is lost: the mean of i² is taken over what is left out.

        Raises:
            BadInput: fewer than five temperatures are left.
        """
        slot = np.floor((self.time_s - self.time_s[0]) / step_s + 1e-9)
        last = np.flatnonzero(np.diff(slot, append=np.inf) > 0.0)
        heat = np.cumsum(self.mean_square_current * np.diff(self.time_s))
        until = np.concatenate(([0.0], heat))[last]
        time_s = self.time_s[last]
        mean = np.maximum(np.diff(until), 0.0) / np.diff(time_s)
        return HeatRecord(time_s=time_s, degc=self.degc[last], mean_square_current=mean)

    def part(self, begin_s: float = -np.inf, end_s: float = np.inf) -> "HeatRecord":
        """Return the rows from one time to another, both in s, both included.

        A fit to the earlier part is checked on the later one.

        Raises:
            BadInput: fewer than five temperatures are left.
        """
        first = int(np.searchsorted(self.time_s, begin_s, side="left"))
        last = int(np.searchsorted(self.time_s, end_s, side="right"))
        return HeatRecord(
            time_s=self.time_s[first:last],
            degc=self.degc[first:last],
            mean_square_current=self.mean_square_current[first : max(last - 1, first)],
        )
