"""Joint heating: a chain of thermal nodes for each motor, stepped exactly.

Node 0 is the winding; the robot reports the last one. x are their temperatures above
the ambient Tₐ. With capacities C_i, conductances G_i from node i to the next (the last
one to the air), c the power of a unit of squared torque at the reference temperature
T_ref, K the torque constant, torques on the joint side:

    C_0 dx_0/dt = P₀ (1 + α (Tₐ + x_0 - T_ref)) - G_0 (x_0 - x_1),    P₀ = c τ²
    C_1 dx_1/dt = G_0 (x_0 - x_1) - G_1 x_1,                          i = τ / K

A single node follows the first line with x_1 = 0. For a constant τ² this is linear,
dx/dt = A x + b. A has real eigenvalues s_k with projections E_k, so that any function
of it is f(A) = Σ_k f(s_k) E_k, and

    x(t)          = e^{At} x₀ + t φ₁(At) b,          φ₁(z) = (e^z - 1) / z
    ∫₀ᵗ x(t') dt' = t φ₁(At) x₀ + t² φ₂(At) b,       φ₂(z) = (φ₁(z) - 1) / z

are exact. Both functions are smooth, also at z = 0 and for z > 0 (thermal runaway).

Assumptions: no loss in the gear, no heat between neighbouring motors, and still air.
"""

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.ranges import AirCelsius
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.first_passage import first_passages
from nao_testbed.sim.thermal.motor_nodes import Chain

LARGEST_EXPONENT = 300.0
"""Bound of exponents, far beyond any temperature that a motor survives."""

_SERIES_BELOW = 0.02
"""Below this |z| the difference φ₁(z) - 1 cancels; six terms leave 1e-15."""


def exponential(z: FloatArray) -> FloatArray:
    """Return e^z, with z bounded by `LARGEST_EXPONENT` against overflow."""
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


HeatingModel = Literal["one-node", "two-node", "bare-motor"]

COPPER_COEFFICIENT = 0.0039
"""Growth of the resistance of copper with temperature, in 1/K [nao-thermal]."""

MELTING_DEGC = 1085.0
"""Melting point of copper; temperatures stop here in a thermal runaway."""


@dataclass(frozen=True, kw_only=True)
class HeatingCfg(Checked):
    """Heating model of a run."""

    model: Annotated[HeatingModel, Field(title="heating model")] = "one-node"
    """`one-node` is identified on a real robot; `two-node` adds a separate winding,
    whose split is an estimate; `bare-motor` is the data sheet's motor in free air, and
    much too cool for a robot."""
    copper_coefficient: Annotated[
        float, Field(ge=0.0, le=0.02, title="copper coefficient in 1/K")
    ] = 0.0
    """α in 1/K; 0 keeps the resistance constant, copper has 0.0039. Use 0 with the
    identified constants, which already include the growth [xu2012]. Use copper with
    `bare-motor`, whose resistances hold at 25 °C."""
    ambient_degc: Annotated[AirCelsius, Field(title="ambient temperature")] | None = (
        None
    )
    """Air temperature around every motor in °C; None: the model's own (27 or 38, or
    25)."""


_IDENTITY = np.ones((1, 1, 1, 1))
"""Projection of a single mode, for any number of motors."""


class _Modes(NamedTuple):
    """Eigenvalues of A and the projections on them."""

    s: FloatArray
    """(n_nodes, n_motors) in 1/s, the largest first."""
    E: FloatArray
    """(n_nodes, n_nodes, n_nodes, n_motors), E_k by its first index."""

    def function(self, f: FloatArray) -> FloatArray:
        """Return f(A) (n_nodes, n_nodes, n_motors) from f(s) (n_nodes, n_motors)."""
        if len(f) == 1:
            return f[:, np.newaxis]
        function: FloatArray = f[0] * self.E[0] + f[1] * self.E[1]
        return function


def _product(matrix: FloatArray, x: FloatArray) -> FloatArray:
    """Return M x (n, n_motors) from M (n, n_nodes, n_motors), x (n_nodes, n_motors)."""
    product: FloatArray = matrix[:, 0] * x[0]
    for j in range(1, len(x)):
        product += matrix[:, j] * x[j]
    return product


class Heating:
    """Temperatures of all motors, driven by the square of their torque.

    Order of use: `reset` once, then `advance` over intervals with a known mean square
    torque. Torques are those of the motors, on the joint side; a motor that drives two
    joints carries the sum of both. Returned arrays are copies, except `state`. Within
    an interval the square of the torque is assumed constant; then the result is exact
    for any length of the interval.

    With a copper coefficient the power grows with the winding temperature. Above the
    torque at which it grows faster than the cooling there is no steady state (thermal
    runaway): `steady_state` is inf, the temperature rises exponentially and stops at
    the melting point of copper, where `is_burnt` is True.
    """

    state: FloatArray
    """(n_nodes + 1, n_motors) whole state, live: temperatures above ambient in K, from
    the winding outwards to the reported one, then the heat since `reset` in J. Save it
    by a copy; restore it by writing into it."""

    def __init__(
        self,
        chain: Chain,
        *,
        copper_coefficient: float = 0.0,
        ambient_degc: float | None = None,
    ) -> None:
        """Start at ambient.

        Args:
            chain: thermal nodes of the motors.
            copper_coefficient: α in 1/K.
            ambient_degc: Tₐ in °C; None: T_ref.
        """
        self._chain = chain
        self._torque_constant = chain.torque_constant
        self._joule_constant = chain.joule_constant
        reference = chain.reference_degc
        self._ambient = (
            reference.copy()
            if ambient_degc is None
            else np.full_like(reference, ambient_degc)
        )
        self._alpha = copper_coefficient
        above_reference = self._ambient - reference
        self._resistance_at_ambient = 1.0 + copper_coefficient * above_reference
        self.state = np.zeros((len(chain.capacity) + 1, len(reference)))
        self._nodes: FloatArray = self.state[:-1]
        self._winding: FloatArray = self.state[0]
        self._reported: FloatArray = self.state[-2]
        self._energy: FloatArray = self.state[-1]
        self._step_s = -1.0
        """Duration for which the next two attributes are cached, with constant
        resistance."""
        self._decay = self._gain = np.empty(0)

    @property
    def temperature(self) -> FloatArray:
        """(n_motors,) reported temperature, in °C."""
        return self._ambient + self._reported

    @property
    def winding(self) -> FloatArray:
        """(n_motors,) winding temperature in °C; for a single node the reported one."""
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
        """(n_motors,) heat of the windings since `reset`, in J."""
        return self._energy.copy()

    @property
    def is_burnt(self) -> bool:
        """True if a winding has reached the melting point of copper."""
        return bool((self._winding >= MELTING_DEGC - self._ambient).any())

    def reset(self, start_degc: FloatArray | float | None = None) -> None:
        """Set every node to its start temperature, and the energy to 0.

        Args:
            start_degc: (n_motors,) or one value for all, in °C; None means ambient.

        Raises:
            BadInput: a value is not between -50 °C and the melting point of copper.
        """
        start = self._ambient if start_degc is None else start_degc
        self._nodes[:] = self._excess_of(start)
        self._energy[:] = 0.0

    def set_temperature(self, motor: int, degc: float) -> None:
        """Set all nodes of one motor to a temperature in °C.

        Raises:
            BadInput: the temperature is not between -50 °C and the melting point of
                copper.
        """
        self._nodes[:, motor] = self._excess_of(degc)[motor]

    def _excess_of(self, degc: FloatArray | float) -> FloatArray:
        """Return (n_motors,) temperatures above ambient in K; raises as `reset`."""
        start = np.broadcast_to(np.asarray(degc, np.float64), self._ambient.shape)
        is_good = (start >= -50.0) & (start < MELTING_DEGC)
        if not is_good.all():
            raise BadInput(
                f"start temperature is {start[~is_good][0]} °C; give a number from "
                f"-50 to {MELTING_DEGC:g}, 25 to 45 being usual."
            )
        return start - self._ambient

    def advance(self, mean_square_torque: FloatArray, duration_s: float) -> None:
        """Advance by `duration_s` seconds.

        Args:
            mean_square_torque: (n_motors,) mean of τ² over the interval, in (N·m)².
            duration_s: not negative, in s.

        Raises:
            BadInput: a mean square is negative or not a number, or the time is
                negative.
        """
        power = self._power(mean_square_torque, duration_s)
        if self._alpha == 0.0:
            self._step_constant_resistance(power, duration_s)
        else:
            self._step_copper(power, duration_s)
        np.minimum(self._nodes, MELTING_DEGC - self._ambient, out=self._nodes)

    def predict(self, mean_square_torque: FloatArray, duration_s: float) -> FloatArray:
        """Return the reported temperatures after `advance`, without advancing."""
        before = self.state.copy()
        self.advance(mean_square_torque, duration_s)
        after = self.temperature
        self.state[:] = before
        return after

    def time_to_reach(
        self, mean_square_torque: FloatArray, threshold_degc: FloatArray | float
    ) -> FloatArray:
        """Return the times at which the reported temperatures first equal a threshold.

        The threshold may be above or below the present temperature.

        Args:
            mean_square_torque: (n_motors,) mean square of a constant torque, in (N·m)².
            threshold_degc: (n_motors,) or one for all, in °C; ±inf is never reached.

        Returns:
            (n_motors,) seconds from now; 0 if it is reached now, inf for never.
        """
        modes, rate = self._linear(self._power(mean_square_torque))
        # x(t) - x₀ = Σ_k E_k x'₀ t φ₁(s_k t), the slopes x'₀ = A x₀ + b.
        slopes = _product(modes.function(modes.s), self._nodes)
        slopes[0] += rate
        weights = np.einsum("kjm,jm->km", modes.E[:, -1], slopes)
        way = np.asarray(threshold_degc) - self._ambient - self._reported
        return first_passages(weights, modes.s, way)

    def steady_state(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return final reported temperatures (n_motors,) in °C; inf: runaway.

        They are Tₐ - (A⁻¹ b) of the last node, if all s_k are below 0.
        """
        modes, rate = self._linear(self._power(mean_square_torque))
        is_stable = modes.s[0] < 0.0
        lasting = rate / np.where(is_stable, -modes.s, 1.0)
        last = np.einsum("km,km->m", lasting, modes.E[:, -1, 0])
        return self._ambient + np.where(is_stable, last, np.inf)

    def currents(self, torque: FloatArray) -> FloatArray:
        """Return (n_motors,) currents τ / K in A for (n_motors,) joint-side torques."""
        return torque / self._torque_constant

    def joule_power(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return (n_motors,) P, the heating power at the present temperature, in W."""
        growth = self._resistance_at_ambient + self._alpha * self._winding
        return self._joule_constant * mean_square_torque * growth

    def _power(self, mean_square: FloatArray, duration_s: float = 0.0) -> FloatArray:
        """Return P₀ in W after checking the arguments; raises as `advance`."""
        if not mean_square.min() >= 0.0:  # also true for NaN
            raise BadInput(
                f"mean square torque is {mean_square.min()} (N·m)²; give the mean of "
                f"squares, which is never negative, and finite torques."
            )
        if not 0.0 <= duration_s < np.inf:
            raise BadInput(f"duration is {duration_s} s; give a number from 0 up.")
        return self._joule_constant * mean_square

    def _linear(self, power: FloatArray) -> tuple[_Modes, FloatArray]:
        """Return the modes of A, and b of the winding (n_motors,) in K/s, for P₀."""
        C, G = self._chain.capacity, self._chain.conductance
        rate = power * self._resistance_at_ambient / C[0]
        a = (self._alpha * power - G[0]) / C[0]
        if len(C) == 1:
            return _Modes(a[np.newaxis], _IDENTITY), rate
        # A = [[a, c], [e, d]]; as c e > 0 both eigenvalues are real.
        c, e = G[0] / C[0], G[0] / C[1]
        d = -e - G[1] / C[1]
        mean, half = 0.5 * (a + d), 0.5 * (a - d)
        root = np.sqrt(half**2 + c * e)
        gap = 2.0 * root  # s₁ - s₂
        share = (half + root) / gap
        first = np.array([[share, c / gap], [e / gap, 1.0 - share]])
        second = np.array([[1.0 - share, -c / gap], [-e / gap, share]])  # I - E₁
        return _Modes(
            np.array([mean + root, mean - root]), np.array([first, second])
        ), rate

    def _step_constant_resistance(self, power: FloatArray, duration_s: float) -> None:
        """Step with α = 0: decay and gain depend on duration only and are cached."""
        if duration_s != self._step_s:
            modes, _ = self._linear(np.zeros_like(power))
            z = modes.s * duration_s
            self._decay = modes.function(exponential(z))
            growth = modes.function(duration_s * phi1(z))
            self._gain = growth[:, 0] / self._chain.capacity[0]
            self._step_s = duration_s
        nodes = _product(self._decay, self._nodes)
        nodes += power * self._gain
        self._nodes[:] = nodes
        power *= duration_s
        self._energy += power

    def _step_copper(self, power: FloatArray, duration_s: float) -> None:
        """Step with α > 0: the rates s depend on the power."""
        modes, rate = self._linear(power)
        z = modes.s * duration_s
        growth = modes.function(duration_s * phi1(z))
        excess_seconds = _product(growth[:1], self._nodes)[0]
        excess_seconds += rate * duration_s**2 * modes.function(phi2(z))[0, 0]
        self._energy += power * self._resistance_at_ambient * duration_s
        self._energy += self._alpha * power * excess_seconds
        past = _product(modes.function(exponential(z)), self._nodes)
        self._nodes[:] = past + rate * growth[:, 0]
