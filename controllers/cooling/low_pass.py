"""A low pass of first order for values that come at times of their own.

    x̂ <- x̂ + k (x - x̂),      k = 1 - exp(-dt / T)

The first values are taken as they are.
"""

from math import exp

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class LowPass:
    """Smooths an array; `step` with every new one, then read `value`."""

    def __init__(self, n: int, time_constant_s: float) -> None:
        """Know nothing yet of `n` values; `time_constant_s` is T."""
        self.value: FloatArray = np.zeros(n)
        """(n,) x̂; the first values as they came, zeros before."""
        self._time_constant_s = time_constant_s
        self._time: float | None = None

    def step(self, time_s: float, values: FloatArray) -> float:
        """Take new values.

        Args:
            time_s: when they were measured, in s; a step back in time changes nothing.
            values: (n,) x, finite.

        Returns:
            The time passed since the last ones, in s; 0 for the first.
        """
        if self._time is None:
            dt, k = 0.0, 1.0
        else:
            dt = max(0.0, time_s - self._time)
            k = 1.0 - exp(-dt / self._time_constant_s)
        self._time = time_s
        self.value += k * (values - self.value)
        return dt
