"""What every heating model knows of its windings, whatever they warm.

    P = P₀ (1 + α (T - T_ref)),      P₀ = c τ²,      i = τ / K

c is the power of a unit of squared torque at the reference temperature T_ref, T the
temperature of the copper, K the torque constant; torques are seen on the joint side.
"""

from abc import ABC, abstractmethod

import numpy as np

from sim.heating.exponentials import FloatArray
from sim.heating.seam import MELTING_DEGC, Heating


class Windings(ABC):
    """The part of a heating model that does not depend on its nodes; derive from it."""

    def __init__(
        self,
        *,
        torque_constant: FloatArray,
        joule_constant: FloatArray,
        reference_degc: FloatArray,
        ambient_degc: FloatArray,
        copper_coefficient: float,
    ) -> None:
        """Keep the constants of all motors.

        Args:
            torque_constant: (n_motors,) K in N·m/A.
            joule_constant: (n_motors,) c in W/(N·m)².
            reference_degc: (n_motors,) T_ref in °C.
            ambient_degc: (n_motors,) of the surroundings, in °C.
            copper_coefficient: α in 1/K.
        """
        self._torque_constant = torque_constant
        self._joule_constant = joule_constant
        self._ambient = ambient_degc
        self._alpha = copper_coefficient
        above_reference = ambient_degc - reference_degc
        self._resistance_at_ambient = 1.0 + copper_coefficient * above_reference
        self._energy = np.zeros_like(ambient_degc)

    @property
    @abstractmethod
    def _winding_excess(self) -> FloatArray:
        """(n_motors,) temperature of the copper above ambient, in K."""

    @property
    def winding(self) -> FloatArray:
        """(n_motors,) winding temperature in °C."""
        return self._ambient + self._winding_excess

    @property
    def ambient(self) -> FloatArray:
        """(n_motors,) temperature of the surroundings, in °C."""
        return self._ambient.copy()

    @property
    def torque_constant(self) -> FloatArray:
        """(n_motors,) K in N·m/A."""
        return self._torque_constant.copy()

    @property
    def joule_energy(self) -> FloatArray:
        """(n_motors,) heat made since `reset`, in J."""
        return self._energy.copy()

    @property
    def is_burnt(self) -> bool:
        """Whether a winding has reached the melting point of copper."""
        return bool((self._winding_excess >= MELTING_DEGC - self._ambient).any())

    def currents(self, torque: FloatArray) -> FloatArray:
        """Return i = τ / K in A."""
        return torque / self._torque_constant

    def joule_power(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return P at the present temperature, in W."""
        growth = self._resistance_at_ambient + self._alpha * self._winding_excess
        return self._joule_constant * mean_square_torque * growth

    def predict(
        self: Heating, mean_square_torque: FloatArray, duration_s: float
    ) -> FloatArray:
        """Return the reported temperatures after `advance`, without advancing."""
        before = self.state()
        self.advance(mean_square_torque, duration_s)
        after = self.temperature
        self.restore(before)
        return after
