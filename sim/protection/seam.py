"""What every protection offers: stiffness and temperatures in, stiffness out."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sim.heating import FloatArray

IntArray = NDArray[np.intp]


@dataclass(frozen=True, kw_only=True)
class StatusChange:
    """A motor has come to another status; the caller knows when."""

    motor: str
    """Name of the motor, or `Body` for the robot as a whole."""
    before: int
    """Status that it had."""
    status: int
    """0 normal, 1 hot, 2 very hot, 3 critically hot, its stiffness being 0."""
    temperature_degc: float
    """Reported temperature at the change; the mean of all motors for `Body`."""


@dataclass(frozen=True, kw_only=True)
class ProtectionState:
    """All that a protection remembers."""

    status: IntArray
    """(n_motors,) statuses."""
    is_shut_down: bool
    """Whether the whole robot has been made limp for good."""


class Protection(Protocol):
    """Watches temperatures and scales stiffness down, never up.

    Order of use: `apply` whenever temperatures are read anew, then `take_events`.
    The result of `apply` is to be put in force until the next call.
    """

    @property
    def status(self) -> IntArray:
        """(n_motors,) 0 normal, 1 hot, 2 very hot, 3 critically hot."""

    def reset(self) -> None:
        """Forget everything; for a new run."""

    def apply(self, stiffness: FloatArray, temperature: FloatArray) -> FloatArray:
        """Return the stiffness that the temperatures allow.

        Args:
            stiffness: (n_joints,) commanded, in [0, 1].
            temperature: (n_motors,) reported, in °C.

        Returns:
            (n_joints,) a fresh array, nowhere above the commanded one.
        """

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return what has changed since the last call, in order."""

    def state(self) -> ProtectionState:
        """Return a copy of everything that changes, but for events not yet taken."""

    def restore(self, state: ProtectionState) -> None:
        """Continue from a copy made by `state`."""
