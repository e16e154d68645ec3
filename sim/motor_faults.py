"""Faults that an experiment injects into the simulated body: motors that give nothing.

The robot does not notice: its stiffness reads back as commanded and its set-points
stand. Who finds the fault tells the reservations, by a `BrokenPart` of
`controllers.resources.body`; here the drive only fails.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from models import Robot, UnknownName

FloatArray = NDArray[np.float64]


class MotorFaults:
    """Which motors of a robot have failed."""

    def __init__(self, robot: Robot) -> None:
        """Begin with a sound robot."""
        self._names = robot.motor_names
        self._where = f"robot {robot.name!r}"
        self._motor_of_joint = robot.motor_of_joint
        self._is_absent = np.isin(robot.joint_names, robot.absent_joints)
        self.health: FloatArray = np.where(self._is_absent, 0.0, 1.0)
        """(n_joints,) share of its torque that a joint's motor can give: 1 or 0, which
        it is for those that the body lacks."""

    @property
    def failed(self) -> tuple[str, ...]:
        """Motors that are there and give nothing, in motor order."""
        is_broken = (self.health == 0.0) & ~self._is_absent
        broken = np.unique(self._motor_of_joint[is_broken])
        return tuple(self._names[motor] for motor in broken)

    def fail(self, motors: Iterable[str]) -> None:
        """Let motors give nothing, whatever they are told.

        Raises:
            UnknownName: the robot has no such motor; nothing changes.
        """
        self._set(motors, 0.0)

    def repair(self, motors: Iterable[str]) -> None:
        """Let motors give what they can again.

        Raises:
            UnknownName: the robot has no such motor; nothing changes.
        """
        self._set(motors, 1.0)

    def _set(self, motors: Iterable[str], health: float) -> None:
        places = []
        for name in motors:
            if name not in self._names:
                raise UnknownName("Motor", name, self._names, self._where)
            places.append(self._names.index(name))
        is_meant = np.isin(self._motor_of_joint, places) & ~self._is_absent
        self.health[is_meant] = health
