"""Winding and housing of each motor as two thermal nodes.

With the shaft torque τ_m = τ / N, P₀ = k τ_m², k = R / Kt² at 25 °C, and temperatures
w (winding), h (housing) above the ambient Tₐ [pr2-motors]:

    C_w dw/dt = P₀ (1 + α (Tₐ + w - 25)) - (w - h) / R_wh
    C_h dh/dt = (w - h) / R_wh - h / R_ha

    C_w = τ_winding / R_wh,      C_h = τ_housing / R_ha

that is x' = A x + b for a constant τ², with A = [[a, c], [e, d]]. As c e > 0, A has two
real eigenvalues s₁ > s₂ and

    exp(A t) = e^{s₁ t} E₁ + e^{s₂ t} E₂,   E₁ = (A - s₂ I) / (s₁ - s₂),   E₂ = I - E₁

A threshold is reached when a sum of two such exponential motions first covers a given
way (`first_passage`). Assumptions: no loss in the gear, still air, no heat to the
neighbours. The reported temperature is that of the housing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from models import Motor
from sim.thermal.heating import (
    FloatArray,
    Heating,
    column_of,
    exponential,
    phi1,
    phi2,
)

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


REFERENCE_DEGC = 25.0
"""Temperature at which resistances of data sheets hold, and the default ambient."""


class _Modes(NamedTuple):
    """The eigenvalues of A and what is needed of E₁; all (n_motors,)."""

    s1: FloatArray
    s2: FloatArray
    share: FloatArray
    """E₁[w, w] = E₂[h, h], between 0 and 1."""
    w_from_h: FloatArray
    """E₁[w, h] = -E₂[w, h]."""
    h_from_w: FloatArray
    """E₁[h, w] = -E₂[h, w]."""

    def mix(
        self, f1: FloatArray, f2: FloatArray, w: FloatArray, h: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (f₁ E₁ + f₂ E₂) (w, h)."""
        rest = 1.0 - self.share
        difference = f1 - f2
        return (
            (f1 * self.share + f2 * rest) * w + difference * self.w_from_h * h,
            difference * self.h_from_w * w + (f1 * rest + f2 * self.share) * h,
        )


class TwoNode(Heating):
    """Winding in a housing."""

    def __init__(
        self,
        motors: Sequence[Motor],
        *,
        copper_coefficient: float = 0.0,
        ambient_degc: float | None = None,
    ) -> None:
        """Gather the constants of all motors, and start at ambient.

        Args:
            motors: in the order of every array.
            copper_coefficient: α in 1/K.
            ambient_degc: Tₐ in °C; None is 25.
        """
        data = [motor.two_node for motor in motors]
        ratio = column_of(motor.gear_ratio for motor in motors)  # N
        kt = column_of(motor.torque_constant for motor in motors)
        ambient = REFERENCE_DEGC if ambient_degc is None else float(ambient_degc)
        super().__init__(
            n_nodes=2,
            torque_constant=ratio * kt,
            joule_constant=column_of(d.joule_constant for d in data)
            / ratio**2,  # k / N²
            reference_degc=np.full(len(data), REFERENCE_DEGC),
            ambient_degc=np.full(len(data), ambient),
            copper_coefficient=copper_coefficient,
        )
        self._r_wh = column_of(d.resistance_winding_housing for d in data)
        self._r_ha = column_of(d.resistance_housing_ambient for d in data)
        self._c_w = column_of(d.time_constant_winding for d in data) / self._r_wh
        self._c_h = column_of(d.time_constant_housing for d in data) / self._r_ha
        self._unloaded = self._modes(np.zeros(len(data)))

    def _step(self, power: FloatArray, duration_s: float) -> None:
        modes = self._unloaded if self._alpha == 0.0 else self._modes(power)
        z1, z2 = modes.s1 * duration_s, modes.s2 * duration_s
        e1, e2 = exponential(z1), exponential(z2)
        p1, p2 = duration_s * phi1(z1), duration_s * phi1(z2)
        heating_rate = power * self._resistance_at_ambient / self._c_w  # b
        w, h = self._winding, self._reported
        w_from_past, h_from_past = modes.mix(e1, e2, w, h)
        w_from_heat, h_from_heat = modes.mix(p1, p2, heating_rate, np.zeros_like(h))
        if self._alpha != 0.0:
            q1, q2 = duration_s**2 * phi2(z1), duration_s**2 * phi2(z2)
            excess_seconds = (
                modes.mix(p1, p2, w, h)[0]
                + modes.mix(q1, q2, heating_rate, np.zeros_like(h))[0]
            )
            self._energy += self._alpha * power * excess_seconds
        self._energy += power * self._resistance_at_ambient * duration_s
        np.add(w_from_past, w_from_heat, out=w)
        np.add(h_from_past, h_from_heat, out=h)

    def time_to_reach(
        self, mean_square_torque: FloatArray, threshold_degc: FloatArray | float
    ) -> FloatArray:
        """Solve for the time at which the housing meets the threshold.

        With the slopes x'₀ = A x₀ + b, h(t) = h₀ + Σᵢ (Eᵢ x'₀)_h t φ₁(sᵢ t). It may
        turn once: a hot winding first warms the housing, then both cool.
        """
        power = self._power(mean_square_torque)
        modes = self._modes(power)
        w, h = self._winding, self._reported
        flow = (w - h) / self._r_wh
        growth = self._resistance_at_ambient + self._alpha * w
        w_slope = (power * growth - flow) / self._c_w
        h_slope = (flow - h / self._r_ha) / self._c_h
        one, zero = np.ones_like(w), np.zeros_like(w)
        weight1 = modes.mix(one, zero, w_slope, h_slope)[1]
        weight2 = modes.mix(zero, one, w_slope, h_slope)[1]
        way = np.broadcast_to(np.asarray(threshold_degc) - self._ambient - h, h.shape)
        curves = zip(weight1, modes.s1, weight2, modes.s2, strict=True)
        return np.array(
            [
                first_passage(TwoModes(*map(float, curve)), float(distance))
                for curve, distance in zip(curves, way, strict=True)
            ]
        )

    def steady_state(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return Tₐ + R_ha P / (1 - α P₀ (R_wh + R_ha)) in °C; inf: runaway."""
        power = self._power(mean_square_torque)
        margin = 1.0 - self._alpha * power * (self._r_wh + self._r_ha)
        excess = np.full_like(margin, np.inf)
        at_ambient = self._r_ha * power * self._resistance_at_ambient
        np.divide(at_ambient, margin, out=excess, where=margin > 0.0)
        return self._ambient + excess

    def _modes(self, power: FloatArray) -> _Modes:
        """Return the eigenvalues and projections of A for a power P₀ in W."""
        a = (self._alpha * power - 1.0 / self._r_wh) / self._c_w
        c = 1.0 / (self._r_wh * self._c_w)
        e = 1.0 / (self._r_wh * self._c_h)
        d = -e - 1.0 / (self._r_ha * self._c_h)
        mean, half = 0.5 * (a + d), 0.5 * (a - d)
        root = np.sqrt(half**2 + c * e)
        gap = 2.0 * root  # s₁ - s₂
        return _Modes(
            s1=mean + root,
            s2=mean - root,
            share=(half + root) / gap,
            w_from_h=c / gap,
            h_from_w=e / gap,
        )
