"""First time at which a temperature has changed by a given amount.

    x(t) = Σ_k w_k t φ₁(s_k t),      x(0) = 0,      φ₁(z) = (e^z - 1) / z

is the motion of one node of a linear system, with one mode (closed form) or two modes
(s₁ > s₂, bisection).
"""

import math
from typing import NamedTuple

import numpy as np
import scipy  # its parts, which are slow to import, load at their first use

from nao_testbed.models.values import FloatArray

LONGEST_S = 1e12
"""Later times count as never, in s; motors settle within hours."""


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
        """Return the time at which dx/dt = Σᵢ weightᵢ e^{sᵢ t} is 0; inf for never."""
        if self.weight1 == 0.0 or -self.weight2 / self.weight1 <= 1.0:
            return math.inf
        return math.log(-self.weight2 / self.weight1) / (self.s1 - self.s2)


def first_passage(curve: TwoModes, way: float) -> float:
    """Return the first time at which the curve has changed by `way`.

    The curve is monotone before and after its single turning point.

    Args:
        curve: curve that starts at 0.
        way: signed change.

    Returns:
        Time of at least 0; inf if the change is never reached.
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
    return float(
        scipy.optimize.brentq(lambda t: curve.at(t) - way, early, late, xtol=1e-9)
    )


def _ramp(s: float, time: float) -> float:
    """Return t φ₁(s t)."""
    return time if s == 0.0 else math.expm1(min(s * time, 300.0)) / s


def first_passages(weights: FloatArray, s: FloatArray, way: FloatArray) -> FloatArray:
    """Return the first times at which motions have changed by `way`.

    Args:
        weights: (n_modes, n) w_k.
        s: (n_modes, n) s_k in 1/s.
        way: (n,) signed changes; ±inf is never reached.

    Returns:
        (n,) times in s, at least 0; inf for never.
    """
    if len(s) == 1:
        return _of_one_mode(weights[0], s[0], way)
    curves = map(TwoModes._make, zip(weights[0], s[0], weights[1], s[1], strict=True))
    return np.array(
        [first_passage(x, float(d)) for x, d in zip(curves, way, strict=True)]
    )


def _of_one_mode(slope: FloatArray, s: FloatArray, way: FloatArray) -> FloatArray:
    """Solve for t, with the slope x'₀ = w_1, the change d, and z = s d / x'₀.

    t = (d / x'₀) ln(1 + z) / z,      never if d / x'₀ < 0 or z <= -1
    """
    linear = np.full_like(slope, np.inf)
    np.divide(way, slope, out=linear, where=(slope != 0.0) & np.isfinite(way))
    is_ahead = (linear > 0.0) & np.isfinite(linear)
    linear = np.where(is_ahead, linear, 1.0)
    z = s * linear
    is_reached = is_ahead & (z > -1.0)
    z = np.where(is_reached & (z != 0.0), z, 1.0)
    factor = np.where(s == 0.0, 1.0, np.log1p(z) / z)
    time = np.where(is_reached, linear * factor, np.inf)
    return np.where(way == 0.0, 0.0, time)
