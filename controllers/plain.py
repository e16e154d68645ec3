"""Plain controllers to compare with: the stiffness never changes."""

import numpy as np
from numpy.typing import NDArray

from controllers.robot_interface import Limits, Observation
from models import BadInput, Robot


class ConstantStiffness:
    """The same stiffness for every joint, always."""

    def __init__(self, value: float, name: str = "constant") -> None:
        """Keep the stiffness.

        Args:
            value: in [0, 1].
            name: of the controller in tables and run folders.

        Raises:
            BadInput: the value is outside [0, 1].
        """
        if not 0.0 <= value <= 1.0:
            raise BadInput(f"constant stiffness {value}; give a number from 0 to 1.")
        self.name = name
        self.value = value
        self._stiffness: NDArray[np.float64] | None = None

    def reset(self, robot: Robot) -> None:
        """Prepare one value a joint of `robot`."""
        self._stiffness = np.full(len(robot.joints), self.value)

    def step(self, observation: Observation) -> Limits:
        """Return the constant."""
        if self._stiffness is None:
            self._stiffness = np.full(len(observation.q), self.value)
        return Limits(stiffness=self._stiffness.copy())


class FixedStiffness(ConstantStiffness):
    """Stiffness 1: the robot without any stiffness control ("without", fig. 4a)."""

    def __init__(self) -> None:
        """Set stiffness 1 and the name `fixed`."""
        super().__init__(1.0, name="fixed")
