"""One thermal node for each motor, identified on a real robot.

    C dT/dt = R i² (1 + α (T - T_ref)) - λ (T - Tₑ),      i = τ / K

[xu2012]. T_ref is the ambient temperature of the identification, at which R holds.
With u = T - Tₑ, P₀ = (R / K²) τ² and P = P₀ (1 + α (Tₑ - T_ref)):

    du/dt = s u + P / C,      s = (α P₀ - λ) / C

which is linear for a constant τ², so that each step is exact. Assumptions: the gear
and the shell are part of the one node, neighbouring motors do not warm each other,
and the air does not move.
"""

from collections.abc import Sequence

import numpy as np

from models import Motor
from sim.thermal.heating import (
    FloatArray,
    Heating,
    column_of,
    exponential,
    phi1,
    phi2,
)


class OneNode(Heating):
    """The default heating model."""

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
            ambient_degc: Tₑ in °C; None takes the one of the identification.
        """
        data = [motor.one_node for motor in motors]
        torque_constant = column_of(d.torque_constant for d in data)
        resistance = column_of(d.resistance for d in data)
        reference = column_of(d.ambient_degc for d in data)  # T_ref
        super().__init__(
            n_nodes=1,
            torque_constant=torque_constant,
            joule_constant=resistance / torque_constant**2,  # R / K²
            reference_degc=reference,
            ambient_degc=(
                reference.copy()
                if ambient_degc is None
                else np.full(len(data), float(ambient_degc))
            ),
            copper_coefficient=copper_coefficient,
        )
        self._conductance = column_of(d.conductance for d in data)  # λ
        self._heat_capacity = column_of(d.heat_capacity for d in data)  # C
        self._step_s = -1.0
        self._decay = self._gain = np.empty(0)

    def _step(self, power: FloatArray, duration_s: float) -> None:
        if self._alpha == 0.0:
            self._step_constant_resistance(power, duration_s)
        else:
            self._step_copper(power, duration_s)

    def time_to_reach(
        self, mean_square_torque: FloatArray, threshold_degc: FloatArray | float
    ) -> FloatArray:
        """Solve for the time at which u(t) meets the threshold.

        From u(t) = u₀ + u'₀ t φ₁(s t), with the way d = u(t) - u₀ and z = s d / u'₀:

            t = (d / u'₀) ln(1 + z) / z,      never if d / u'₀ < 0 or z <= -1
        """
        s, heating_rate = self._coefficients(self._power(mean_square_torque))
        slope = s * self._winding + heating_rate
        way = np.asarray(threshold_degc) - self._ambient - self._winding
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

    def steady_state(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return Tₑ + P / (λ - α P₀) in °C, inf where the motor runs away."""
        s, heating_rate = self._coefficients(self._power(mean_square_torque))
        excess = np.full_like(s, np.inf)
        np.divide(heating_rate, -s, out=excess, where=s < 0.0)
        return self._ambient + excess

    def _coefficients(self, power: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return s in 1/s and P / C in K/s."""
        s = (self._alpha * power - self._conductance) / self._heat_capacity
        return s, power * self._resistance_at_ambient / self._heat_capacity

    def _step_constant_resistance(self, power: FloatArray, duration_s: float) -> None:
        """Step with α = 0: decay and gain depend on the duration only, and are kept."""
        if duration_s != self._step_s:
            z = -self._conductance / self._heat_capacity * duration_s
            self._decay = exponential(z)
            self._gain = duration_s * phi1(z) / self._heat_capacity
            self._step_s = duration_s
        self._winding *= self._decay
        self._winding += power * self._gain
        power *= duration_s
        self._energy += power

    def _step_copper(self, power: FloatArray, duration_s: float) -> None:
        """Step with α > 0: the rate s depends on the power."""
        s = (self._alpha * power - self._conductance) / self._heat_capacity
        power_at_ambient = power * self._resistance_at_ambient  # P
        heating_rate = power_at_ambient / self._heat_capacity
        z = s * duration_s
        growth = duration_s * phi1(z)
        excess_seconds = self._winding * growth + heating_rate * duration_s**2 * phi2(z)
        self._energy += power_at_ambient * duration_s
        self._energy += self._alpha * power * excess_seconds
        self._winding[:] = self._winding * exponential(z) + heating_rate * growth
