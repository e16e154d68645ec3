"""What every heating model offers, and how one is chosen.

Windings, whatever they warm:

    P = P₀ (1 + α (T - T_ref)),      P₀ = c τ²,      i = τ / K

c is the power of a unit of squared torque at the reference temperature T_ref, T the
temperature of the copper, K the torque constant; torques are seen on the joint side.

Exact steps of linear equations: the solution of dx/dt = s x + g with constant s, g is

    x(t)          = x₀ e^{st} + g t φ₁(st),          φ₁(z) = (e^z - 1) / z
    ∫₀ᵗ x(t') dt' = x₀ t φ₁(st) + g t² φ₂(st),       φ₂(z) = (φ₁(z) - 1) / z

Both functions are smooth, also at z = 0 and for z > 0 (thermal runaway).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from controllers.interface.checked import Checked
from models import BadInput

FloatArray = NDArray[np.float64]

LARGEST_EXPONENT = 300.0
"""Exponents are cut here, far beyond any temperature that a motor survives."""

_SERIES_BELOW = 0.02
"""Below this |z| the difference φ₁(z) - 1 cancels; six terms leave 1e-15."""


def exponential(z: FloatArray) -> FloatArray:
    """Return e^z, cut at `LARGEST_EXPONENT` so that nothing overflows."""
    return np.exp(np.minimum(z, LARGEST_EXPONENT))


def phi1(z: FloatArray) -> FloatArray:
    """Return (e^z - 1) / z, and 1 where z is 0."""
    z = np.minimum(z, LARGEST_EXPONENT)
    safe = np.where(z == 0.0, 1.0, z)
    return np.where(z == 0.0, 1.0, np.expm1(safe) / safe)


def phi2(z: FloatArray) -> FloatArray:
    """Return (φ₁(z) - 1) / z, and ½ where z is 0."""
    z = np.minimum(z, LARGEST_EXPONENT)
    is_small = np.abs(z) < _SERIES_BELOW
    series = 0.5 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120 + z * (1 / 720 + z / 5040))))
    safe = np.where(is_small, 1.0, z)
    return np.where(is_small, series, (np.expm1(safe) / safe - 1.0) / safe)


HeatingModel = Literal["one-node", "two-node"]

COPPER_COEFFICIENT = 0.0039
"""Growth of the resistance of copper with temperature, in 1/K [nao-thermal]."""

MELTING_DEGC = 1085.0
"""Copper melts; temperatures stop here when a winding runs away."""


@dataclass(frozen=True, kw_only=True)
class HeatingCfg(Checked):
    """Which heating model a run uses."""

    model: Annotated[HeatingModel, Field(title="heating model")] = "one-node"
    """`one-node` is identified on a real robot; `two-node` is built on estimates."""
    copper_coefficient: Annotated[
        float, Field(ge=0.0, le=0.02, title="copper coefficient in 1/K")
    ] = 0.0
    """α in 1/K; 0 keeps the resistance constant, copper has 0.0039."""
    ambient_degc: (
        Annotated[float, Field(ge=-40.0, le=80.0, title="ambient temperature")] | None
    ) = None
    """Air around every motor in °C; None takes each model's own (27 or 38, or 25)."""


def column_of(values: Iterable[float]) -> FloatArray:
    """Return (n_motors,) one constant of all motors."""
    return np.array(list(values), dtype=np.float64)


class Heating(ABC):
    """Temperatures of all motors, driven by the square of their torque.

    Order of use: `reset` once, then `advance` over intervals in which the mean
    square torque is known. Torques are those of the motors, seen on the joint side;
    one that drives two joints carries the sum of both. Arrays that are handed out are
    copies, but for `state`. Within an interval the square of the torque is taken as
    constant; then the result is exact, however long the interval.

    With a copper coefficient the power grows with the winding temperature. Beyond the
    torque where it grows faster than the cooling there is no steady state (thermal
    runaway): `steady_state` says inf, the temperature rises exponentially, and stops
    at the melting point of copper, where `is_burnt` says so.

    A model gives the constants of its windings and says how its nodes step.
    """

    state: FloatArray
    """(n_nodes + 1, n_motors) all that changes, live: temperatures above ambient in K,
    from the winding outwards to the one that the robot reports, then the heat made
    since `reset` in J. A copy keeps it; what is written into it goes on from there."""

    def __init__(
        self,
        *,
        n_nodes: int,
        torque_constant: FloatArray,
        joule_constant: FloatArray,
        reference_degc: FloatArray,
        ambient_degc: FloatArray,
        copper_coefficient: float,
    ) -> None:
        """Keep the constants of all motors, and start at ambient.

        Args:
            n_nodes: temperatures of a motor.
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
        self.state = np.zeros((n_nodes + 1, len(ambient_degc)))
        self._winding: FloatArray = self.state[0]
        self._reported: FloatArray = self.state[-2]
        self._energy: FloatArray = self.state[-1]

    @property
    def temperature(self) -> FloatArray:
        """(n_motors,) the temperature that the robot reports, in °C."""
        return self._ambient + self._reported

    @property
    def winding(self) -> FloatArray:
        """(n_motors,) winding temperature in °C; the reported one if there is none."""
        return self._ambient + self._winding

    @property
    def ambient(self) -> FloatArray:
        """(n_motors,) temperature of the surroundings, in °C."""
        return self._ambient.copy()

    @property
    def torque_constant(self) -> FloatArray:
        """(n_motors,) joint-side torque per current K, in N·m/A."""
        return self._torque_constant.copy()

    @property
    def joule_energy(self) -> FloatArray:
        """(n_motors,) heat made in the windings since `reset`, in J."""
        return self._energy.copy()

    @property
    def is_burnt(self) -> bool:
        """Whether a winding has reached the melting point of copper."""
        return bool((self._winding >= MELTING_DEGC - self._ambient).any())

    def reset(self, start_degc: FloatArray | float | None = None) -> None:
        """Put every node at its start temperature, and the energy at 0.

        Args:
            start_degc: (n_motors,) or one value for all, in °C; None means ambient.

        Raises:
            BadInput: a value is not between -50 °C and the melting point of copper.
        """
        start = self._ambient if start_degc is None else start_degc
        self.state[:-1] = self._excess_of(start)
        self._energy[:] = 0.0

    def set_temperature(self, motor: int, degc: float) -> None:
        """Give one motor a temperature in °C, all of its nodes alike.

        Raises:
            BadInput: it is not between -50 °C and the melting point of copper.
        """
        self.state[:-1, motor] = self._excess_of(degc)[motor]

    def _excess_of(self, degc: FloatArray | float) -> FloatArray:
        """Return (n_motors,) temperatures above ambient in K; Raises as `reset`."""
        start = np.broadcast_to(np.asarray(degc, np.float64), self._ambient.shape)
        is_good = (start >= -50.0) & (start < MELTING_DEGC)
        if not is_good.all():
            raise BadInput(
                f"start temperature is {start[~is_good][0]} °C; give a number from "
                f"-50 to {MELTING_DEGC:g}, 25 to 45 being usual."
            )
        return start - self._ambient

    def advance(self, mean_square_torque: FloatArray, duration_s: float) -> None:
        """Let `duration_s` seconds pass.

        Args:
            mean_square_torque: (n_motors,) mean of τ² over the interval, in (N·m)².
            duration_s: not negative, in s.

        Raises:
            BadInput: a mean square is negative or no number, or the time negative.
        """
        self._step(self._power(mean_square_torque, duration_s), duration_s)
        nodes = self.state[:-1]
        np.minimum(nodes, MELTING_DEGC - self._ambient, out=nodes)

    @abstractmethod
    def _step(self, power: FloatArray, duration_s: float) -> None:
        """Move `state` on under P₀ (n_motors,) in W, which may be overwritten."""

    def predict(self, mean_square_torque: FloatArray, duration_s: float) -> FloatArray:
        """Return the reported temperatures after `advance`, without advancing."""
        before = self.state.copy()
        self.advance(mean_square_torque, duration_s)
        after = self.temperature
        self.state[:] = before
        return after

    @abstractmethod
    def time_to_reach(
        self, mean_square_torque: FloatArray, threshold_degc: FloatArray | float
    ) -> FloatArray:
        """Return when the reported temperatures first equal a threshold.

        From below this is when it is reached, from above when it is fallen to.

        Args:
            mean_square_torque: (n_motors,) of a torque held for ever, in (N·m)².
            threshold_degc: (n_motors,) or one for all, in °C; ±inf is never reached.

        Returns:
            (n_motors,) seconds from now; 0 where it is there now, inf for never.
        """

    @abstractmethod
    def steady_state(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return (n_motors,) reported temperatures at last, in °C; inf: runaway."""

    def currents(self, torque: FloatArray) -> FloatArray:
        """Return (n_motors,) currents τ / K in A for (n_motors,) joint-side torques."""
        return torque / self._torque_constant

    def joule_power(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return (n_motors,) P, the heat made at the present temperature, in W."""
        growth = self._resistance_at_ambient + self._alpha * self._winding
        return self._joule_constant * mean_square_torque * growth

    def _power(self, mean_square: FloatArray, duration_s: float = 0.0) -> FloatArray:
        """Return P₀ in W, refusing what cannot heat; Raises as `advance`."""
        if not mean_square.min() >= 0.0:  # also true for NaN
            raise BadInput(
                f"mean square torque is {mean_square.min()} (N·m)²; give the mean of "
                f"squares, which is never negative, and finite torques."
            )
        if not 0.0 <= duration_s < np.inf:
            raise BadInput(f"duration is {duration_s} s; give a number from 0 up.")
        return self._joule_constant * mean_square
