"""What of a commanded stiffness reaches the motors: cut by protection and faults."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from models import Robot
from sim.motor_faults import MotorFaults
from sim.protection import Protection

FloatArray = NDArray[np.float64]


class StiffnessInForce:
    """Turns stiffness into torque limits (ST-3, ST-4).

    Use: `put` whenever the stiffness or a temperature is new.
    """

    def __init__(
        self, robot: Robot, protection: Protection, torque_limit: FloatArray
    ) -> None:
        """Begin with stiffness 1 and a sound robot.

        Args:
            robot: whose effort limits hold at stiffness 1.
            protection: scales the stiffness of hot motors down.
            torque_limit: (n_joints,) in N·m; written by `put`.
        """
        self._effort_limit = robot.effort_limit
        self._protection = protection
        self._torque_limit = torque_limit
        self._faults = MotorFaults(robot)
        self.commanded = np.ones(len(robot.joints))
        """(n_joints,) in [0, 1], as it was written."""
        self.in_force = np.ones(len(robot.joints))
        """(n_joints,) after the protection, as it reads back: faults do not show."""

    def put(self, temperature: FloatArray) -> None:
        """Put limits in force for reported temperatures (n_motors,) in °C."""
        self.in_force[:] = self._protection.apply(self.commanded, temperature)
        np.multiply(self.in_force, self._effort_limit, out=self._torque_limit)
        self._torque_limit *= self._faults.health

    def fail(self, motors: Iterable[str]) -> None:
        """Let motors give nothing from the next `put` on.

        Raises:
            UnknownName: the robot has no such motor.
        """
        self._faults.fail(motors)

    def repair(self, motors: Iterable[str]) -> None:
        """Let motors give torque again from the next `put` on.

        Raises:
            UnknownName: the robot has no such motor.
        """
        self._faults.repair(motors)

    @property
    def failed_motors(self) -> tuple[str, ...]:
        """Motors that give no torque."""
        return self._faults.failed

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return all that changes, live, but for the torque limits."""
        return (self.commanded, self.in_force, self._faults.health)
