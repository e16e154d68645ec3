"""How a node answers: exact steps between rows, for any rate of cooling.

With b = λ/C and a = R/C the one-node model is dT/dt = a i² - b (T - Tₑ). Its solution
at the rows is linear in all but b:

    T(t) = Tₑ + (T₀ - Tₑ) d(t) + a g(t),      d = e^{-bt},   dg/dt = i² - b g,  g(0) = 0

and for a constant i² over h seconds  g⁺ = e^{-bh} g + i² h φ₁(-bh)  is exact.
"""

import math

import numba
import numpy as np

from sim.heating.exponentials import FloatArray
from sim.heating.identification.heat_record import HeatRecord


def respond(record: HeatRecord, rate: float) -> tuple[FloatArray, ...]:
    """Return d, g and their derivatives by b, each (n,).

    Args:
        record: with n rows.
        rate: b in 1/s, not negative.
    """
    elapsed = record.time_s - record.time_s[0]
    decay = np.exp(-rate * elapsed)
    gain, gain_slope = _gain(np.diff(record.time_s), record.mean_square_current, rate)
    return decay, gain, -elapsed * decay, gain_slope


@numba.njit(cache=True)
def _gain(
    step_s: FloatArray, square: FloatArray, rate: float
) -> tuple[FloatArray, FloatArray]:
    """Return g and dg/db at the rows."""
    gain = np.zeros(step_s.size + 1)
    slope = np.zeros(step_s.size + 1)
    for k in range(step_s.size):
        h = step_s[k]
        z = -rate * h
        e = math.exp(z)
        if abs(z) < 1e-3:  # the quotients cancel; what is left out is below 1e-11
            p = 1.0 + z * (1.0 / 2.0 + z * (1.0 / 6.0 + z / 24.0))
            p_slope = 1.0 / 2.0 + z * (1.0 / 3.0 + z / 8.0)
        else:
            p = math.expm1(z) / z
            p_slope = (e - p) / z
        gain[k + 1] = e * gain[k] + square[k] * h * p
        slope[k + 1] = e * (slope[k] - h * gain[k]) - square[k] * h * h * p_slope
    return gain, slope
