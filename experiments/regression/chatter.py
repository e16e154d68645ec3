"""How often what a controller commands changes its direction.

A *reversal* is a turning point between two moves of more than `amplitude` each: noise
that is smaller, and a value that creeps one way in steps, count nothing. Chatter is
reversals in one second; a gap in time (fast-forward) ends the counting.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

WINDOW_S = 1.0
"""Reversals are counted in windows of this length."""
STIFFNESS_AMPLITUDE = 0.02
"""Moves of the stiffness up to this size are no moves."""
SHIFT_AMPLITUDE = np.deg2rad(0.1)
"""Moves of a shift up to this size, in rad, are none: a count of a NAO's encoder."""


@dataclass(frozen=True, kw_only=True)
class Chatter:
    """The window with the most reversals of one column."""

    column: int
    reversals: int
    begin_s: float
    end_s: float


def worst_chatter(
    time_s: FloatArray, values: FloatArray, amplitude: float
) -> Chatter | None:
    """Return where the values reverse most often; None where they never do.

    Args:
        time_s: (m,) rising.
        values: (m, n) of n commands.
        amplitude: moves up to this size do not count, in the unit of the values.
    """
    worst: Chatter | None = None
    for begin, end in _stretches(time_s):
        part, times = values[begin:end], time_s[begin:end]
        for column in np.flatnonzero(np.ptp(part, axis=0) > amplitude):
            turned = times[reversals(part[:, column], amplitude)]
            if not len(turned):
                continue
            # Windows that begin at a reversal: no other holds more.
            ends = np.searchsorted(turned, turned + WINDOW_S - 1e-9)
            counts = ends - np.arange(len(turned))
            first = int(counts.argmax())
            if worst is None or counts[first] > worst.reversals:
                worst = Chatter(
                    column=int(column),
                    reversals=int(counts[first]),
                    begin_s=float(turned[first]),
                    end_s=float(turned[first]) + WINDOW_S,
                )
    return worst


def reversals(values: FloatArray, amplitude: float) -> list[int]:
    """Return where a command turned: the indices of its turning points.

    Args:
        values: (m,) one after another.
        amplitude: as in `worst_chatter`.
    """
    turns: list[int] = []
    series = values.tolist()
    low = high = extreme = series[0]
    extreme_at = direction = 0
    for i, value in enumerate(series):
        if direction == 0:
            low, high = min(low, value), max(high, value)
            if high - low > amplitude:
                direction = 1 if value == high else -1
                extreme, extreme_at = value, i
        elif direction * (value - extreme) > 0.0:
            extreme, extreme_at = value, i
        elif direction * (extreme - value) > amplitude:
            turns.append(extreme_at)
            direction, extreme, extreme_at = -direction, value, i
    return turns


def _stretches(time_s: FloatArray) -> list[tuple[int, int]]:
    """Return the begins and ends of stretches without a gap."""
    steps = np.diff(time_s)
    if not len(steps):
        return []
    gaps = np.flatnonzero(steps > 1.5 * np.median(steps)) + 1
    edges = [0, *gaps.tolist(), len(time_s)]
    return list(pairwise(edges))
