"""When a sum of two exponential motions first covers a given way."""

import math
from typing import NamedTuple

from scipy.optimize import brentq

LONGEST_S = 1e12
"""What has not happened by then never does; motors settle within hours."""


class TwoModes(NamedTuple):
    """x(t) = weight₁ t φ₁(s₁ t) + weight₂ t φ₁(s₂ t), with x(0) = 0 and s₁ > s₂."""

    weight1: float
    s1: float
    weight2: float
    s2: float

    def at(self, time: float) -> float:
        """Return x(t)."""
        return self.weight1 * _ramp(self.s1, time) + self.weight2 * _ramp(self.s2, time)

    def turning_time(self) -> float:
        """Return when dx/dt = Σᵢ weightᵢ e^{sᵢ t} is 0; inf for never."""
        if self.weight1 == 0.0 or -self.weight2 / self.weight1 <= 1.0:
            return math.inf
        return math.log(-self.weight2 / self.weight1) / (self.s1 - self.s2)


def first_passage(curve: TwoModes, way: float) -> float:
    """Return the first time at which the curve has covered a way.

    The curve is monotone up to its one turning point, and after it.

    Args:
        curve: starts at 0.
        way: signed.

    Returns:
        A time from 0 up, inf when the way is never covered.
    """
    if way == 0.0:
        return 0.0
    if not math.isfinite(way):
        return math.inf
    turn = curve.turning_time()
    if math.isfinite(turn) and _is_beyond(curve.at(turn), way):
        return _root(curve, way, 0.0, turn)
    start = turn if math.isfinite(turn) else 0.0
    span = 1.0
    while not _is_beyond(curve.at(start + span), way):
        span *= 2.0
        if span > LONGEST_S:
            return math.inf
    return _root(curve, way, start, start + span)


def _is_beyond(x: float, way: float) -> bool:
    return x > way if way > 0.0 else x < way


def _root(curve: TwoModes, way: float, early: float, late: float) -> float:
    return float(brentq(lambda t: curve.at(t) - way, early, late, xtol=1e-9))


def _ramp(s: float, time: float) -> float:
    """Return t φ₁(s t)."""
    return time if s == 0.0 else math.expm1(min(s * time, 300.0)) / s
