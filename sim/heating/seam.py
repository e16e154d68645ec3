"""What every heating model offers, and how one is chosen."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from models import BadInput
from sim.heating.exponentials import FloatArray

HeatingModel = Literal["one-node", "two-node"]

COPPER_COEFFICIENT = 0.0039
"""Growth of the resistance of copper with temperature, in 1/K [nao-thermal]."""

MELTING_DEGC = 1085.0
"""Copper melts; temperatures stop here when a winding runs away."""


@dataclass(frozen=True, kw_only=True)
class HeatingCfg:
    """Which heating model a run uses."""

    model: HeatingModel = "one-node"
    """`one-node` is identified on a real robot; `two-node` is built on estimates."""
    copper_coefficient: float = 0.0
    """α in 1/K; 0 keeps the resistance constant, copper has 0.0039."""
    ambient_degc: float | None = None
    """Air around every motor in °C; None takes each model's own (27 or 38, or 25)."""

    def __post_init__(self) -> None:
        """Refuse what no model can use.

        Raises:
            BadInput: the model is unknown or a number is out of range.
        """
        if self.model not in get_args(HeatingModel):
            raise BadInput(
                f"heating model is {self.model!r}; choose one of "
                f"{', '.join(get_args(HeatingModel))}."
            )
        if not 0.0 <= self.copper_coefficient <= 0.02:
            raise BadInput(
                f"copper coefficient is {self.copper_coefficient} 1/K; give a number "
                f"from 0 (constant resistance) to 0.02 (copper has "
                f"{COPPER_COEFFICIENT})."
            )
        if self.ambient_degc is not None and not -40.0 <= self.ambient_degc <= 80.0:
            raise BadInput(
                f"ambient temperature is {self.ambient_degc} °C; give a number from "
                f"-40 to 80."
            )


@dataclass(frozen=True, kw_only=True)
class HeatingState:
    """All that a heating model remembers; made by `state`, taken by `restore`."""

    excess: FloatArray
    """(n_nodes, n_motors) temperatures above ambient, in K."""
    joule_energy: FloatArray
    """(n_motors,) heat made since `reset`, in J."""


class Heating(Protocol):
    """Temperatures of all motors, driven by the square of their torque.

    Order of use: `reset` once, then `advance` over intervals in which the mean
    square torque is known. Torques are those of the motors, seen on the joint side;
    one that drives two joints carries the sum of both. Arrays that are handed out are
    copies. Within an interval the square of the torque is taken as constant; then the
    result is exact, however long the interval.

    With a copper coefficient the power grows with the winding temperature. Beyond the
    torque where it grows faster than the cooling there is no steady state (thermal
    runaway): `steady_state` says inf, the temperature rises exponentially, and stops
    at the melting point of copper, where `is_burnt` says so.
    """

    @property
    def temperature(self) -> FloatArray:
        """(n_motors,) the temperature that the robot reports, in °C."""

    @property
    def winding(self) -> FloatArray:
        """(n_motors,) winding temperature in °C; the reported one if there is none."""

    @property
    def ambient(self) -> FloatArray:
        """(n_motors,) temperature of the surroundings, in °C."""

    @property
    def torque_constant(self) -> FloatArray:
        """(n_motors,) joint-side torque per current, in N·m/A."""

    @property
    def joule_energy(self) -> FloatArray:
        """(n_motors,) heat made in the windings since `reset`, in J."""

    @property
    def is_burnt(self) -> bool:
        """Whether a winding has reached the melting point of copper."""

    def reset(self, start_degc: FloatArray | float | None = None) -> None:
        """Put every node at its start temperature, and the energy at 0.

        Args:
            start_degc: (n_motors,) or one value for all, in °C; None means ambient.

        Raises:
            BadInput: a value is not between -50 °C and the melting point of copper.
        """

    def advance(self, mean_square_torque: FloatArray, duration_s: float) -> None:
        """Let `duration_s` seconds pass.

        Args:
            mean_square_torque: (n_motors,) mean of τ² over the interval, in (N·m)².
            duration_s: not negative, in s.

        Raises:
            BadInput: a mean square is negative or no number, or the time negative.
        """

    def predict(self, mean_square_torque: FloatArray, duration_s: float) -> FloatArray:
        """Return the reported temperatures after `advance`, without advancing."""

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

    def steady_state(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return (n_motors,) reported temperatures at last, in °C; inf: runaway."""

    def currents(self, torque: FloatArray) -> FloatArray:
        """Return (n_motors,) currents in A for (n_motors,) joint-side torques."""

    def joule_power(self, mean_square_torque: FloatArray) -> FloatArray:
        """Return (n_motors,) heat made at the present temperature, in W."""

    def state(self) -> HeatingState:
        """Return a copy of everything that changes."""

    def restore(self, state: HeatingState) -> None:
        """Continue from a copy made by `state`."""


def check_interval(mean_square_torque: FloatArray, duration_s: float) -> None:
    """Refuse what cannot heat.

    Raises:
        BadInput: a mean square is negative or no number, or the time negative.
    """
    if not mean_square_torque.min() >= 0.0:  # also true for NaN
        raise BadInput(
            f"mean square torque is {mean_square_torque.min()} (N·m)²; give the mean "
            f"of squares, which is never negative, and finite torques."
        )
    if not 0.0 <= duration_s < np.inf:
        raise BadInput(f"duration is {duration_s} s; give a number from 0 up.")


def start_excess(
    start_degc: FloatArray | float | None, ambient: FloatArray
) -> FloatArray:
    """Return (n_motors,) start temperatures above ambient, in K.

    Raises:
        BadInput: a value is not between -50 °C and the melting point of copper.
    """
    if start_degc is None:
        return np.zeros_like(ambient)
    start = np.broadcast_to(np.asarray(start_degc, dtype=np.float64), ambient.shape)
    is_good = (start >= -50.0) & (start < MELTING_DEGC)
    if not is_good.all():
        raise BadInput(
            f"start temperature is {start[~is_good][0]} °C; give a number from -50 to "
            f"{MELTING_DEGC:g}, 25 to 45 being usual."
        )
    return start - ambient


def column(values: Iterable[float]) -> FloatArray:
    """Return (n_motors,) one constant of all motors."""
    return np.array(list(values), dtype=np.float64)
