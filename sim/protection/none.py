"""No protection: for experiments that ask how hot it would get."""

import numpy as np

from models import Robot
from sim.heating import FloatArray
from sim.protection.seam import IntArray, ProtectionState, StatusChange


class NoProtection:
    """Lets every motor burn; see `Protection` for the use."""

    def __init__(self, robot: Robot) -> None:
        """Prepare for the motors of a robot."""
        self._n_motors = len(robot.motors)

    @property
    def status(self) -> IntArray:
        """(n_motors,) always 0."""
        return np.zeros(self._n_motors, dtype=np.intp)

    def reset(self) -> None:
        """Nothing is remembered."""

    def apply(
        self,
        stiffness: FloatArray,
        temperature: FloatArray,  # noqa: ARG002 # the seam has it
    ) -> FloatArray:
        """Return the commanded stiffness."""
        return stiffness.copy()

    def take_events(self) -> tuple[StatusChange, ...]:
        """Return nothing."""
        return ()

    def state(self) -> ProtectionState:
        """Return a state in which nothing has happened."""
        return ProtectionState(status=self.status, is_shut_down=False)

    def restore(self, state: ProtectionState) -> None:
        """Nothing is remembered."""
