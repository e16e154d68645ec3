"""Stiffness in force: conversion of commanded stiffness to torque limits.

    τ_limit = min(stiffness · τ_max, K I) · health

stiffness: commanded value, scaled down by the protection of hot motors; K: torque over
current of the heating model, joint side, so that torque, current and heat agree; I: the
smaller of the motor board's current limit (`SimulationCfg.current_limit_a`) and the
commanded one; health: 0 for a motor that an experiment disables, otherwise 1. The robot
does not detect a fault: stiffness reads back as commanded, and set-points remain.
Controllers report a fault to the reservations as a `BrokenPart`.

Stiffness limits joints. K I and health limit parallel motors themselves
(`ParallelMotors.limit`), I being the smallest of their joints'; a joint's range in A is
that of its motors while it alone is loaded.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.protection import Protection


def current_limits_of(robot: Robot, limits_a: Mapping[str, float]) -> FloatArray:
    """Return current limits (n_joints,) in A, inf for joints that are not named.

    Joints on one motor share its current: the smallest of their limits applies.

    Raises:
        UnknownName: the robot has no such joint.
        BadInput: a limit is below 0 or not finite.
    """
    limits = np.full(len(robot.servos), np.inf)
    for name, value in limits_a.items():
        joint = robot.joint_index(name)
        servo = robot.servo_of_joint[joint]
        if not 0.0 <= value < np.inf:  # false for NaN
            raise BadInput(
                f"current limit of {name} is {value} A; give a number from 0 up. "
                f"Its motor draws at most {_range_text(robot, joint)} at stiffness 1."
            )
        limits[servo] = min(limits[servo], value)
    return limits[robot.servo_of_joint]


def _range_text(robot: Robot, joint: int) -> str:
    constant = np.array([motor.one_node.torque_constant for motor in robot.motors])
    most = robot.effort_limit / robot.torque_per_current(constant)
    return f"{most[joint]:.2f} A"


class EffectiveStiffness:
    """Conversion of stiffness to torque limits.

    Use: call `put` after each change of stiffness, temperature or motor health.
    """

    def __init__(
        self,
        robot: Robot,
        protection: Protection,
        torque_limit: FloatArray,
        motor_limit: FloatArray,
        torque_constant: FloatArray,
        board_current: FloatArray,
    ) -> None:
        """Set stiffness 1 and full health for all joints.

        Args:
            robot: robot; its effort limits apply at stiffness 1.
            protection: protection that reduces the stiffness of hot motors.
            torque_limit: (n_joints,) in N·m; written by `put`.
            motor_limit: (n_motors,) in N·m, of parallel motors; written by `put`.
            torque_constant: (n_motors,) K, joint torque over current, in N·m/A.
            board_current: (n_joints,) permanent current limit of the motor boards, in
                A; inf: no limit.
        """
        self._robot = robot
        self._motor_constant = torque_constant
        self._torque_constant = robot.torque_per_current(torque_constant)
        self._is_parallel = robot.is_parallel[robot.servo_of_joint]
        self._drives = robot.transmission[robot.is_parallel] != 0.0
        self._largest_current = robot.effort_limit / self._torque_constant
        self._board_current = board_current
        self._current_torque = np.zeros(len(robot.joints))
        self._motor_torque = np.full(len(robot.motors), np.inf)
        self.current_limit = np.zeros(len(robot.joints))
        """(n_joints,) limit in force, in A; at most the motor's range tau_max / K."""
        self.limit_current(np.full(len(robot.joints), np.inf))
        self._protection = protection
        self._torque_limit, self._motor_limit = torque_limit, motor_limit
        self.commanded = np.ones(len(robot.joints))
        """(n_joints,) in [0, 1], as written."""
        self.in_force = np.ones(len(robot.joints))
        """(n_joints,) stiffness after the protection, which is read back; faults are
        not included."""
        self._is_absent = np.isin(robot.joint_names, robot.absent_joints)
        self.motor_health: FloatArray = np.ones(len(robot.motors))
        """(n_motors,) share of its torque that a motor can give: 1, or 0 if it fails.
        Parallel motors of joints that the body lacks have 1."""
        self.health: FloatArray = np.where(self._is_absent, 0.0, 1.0)
        """(n_joints,) that of a joint's motor, 1 for joints with parallel motors, and 0
        for joints that the body lacks."""

    def put(self, temperature: FloatArray) -> None:
        """Compute the torque limits for reported temperatures (n_motors,) in °C."""
        self.in_force[:] = self._protection.apply(self.commanded, temperature)
        np.multiply(self.in_force, self._robot.effort_limit, out=self._torque_limit)
        np.minimum(self._torque_limit, self._current_torque, out=self._torque_limit)
        self._torque_limit *= self.health
        self._motor_limit[:] = np.where(self.motor_health == 0, 0, self._motor_torque)

    def limit_current(self, current: FloatArray) -> None:
        """Limit the currents of the joints' motors from the next `put` on.

        Args:
            current: (n_joints,) in A, at least 0; no limit above the motor's range.
        """
        limit = np.minimum(current, self._board_current)
        is_less = limit < self._largest_current
        np.minimum(limit, self._largest_current, out=self.current_limit)
        self._current_torque[:] = np.inf
        is_own = is_less & ~self._is_parallel
        np.multiply(
            self._torque_constant, limit, out=self._current_torque, where=is_own
        )
        if len(self._drives):
            parallel, reach = self._robot.is_parallel, self._drives & is_less
            least = np.where(reach, limit, np.inf).min(axis=1)
            self._motor_torque[parallel] = self._motor_constant[parallel] * least

    @property
    def limits_current(self) -> bool:
        """True if the current of any motor is limited below its range."""
        least = min(self._current_torque.min(), self._motor_torque.min())
        return bool(least < np.inf)

    def set_health(self, motors: Iterable[str], health: float) -> None:
        """Set the share of torque that motors give, 1 or 0, from the next `put` on.

        Raises:
            UnknownName: the robot has no such motor; nothing changes.
        """
        places = [self._robot.motor_index(motor) for motor in motors]
        self.motor_health[places] = health
        own = ~(self._is_parallel | self._is_absent)
        self.health[own] = self.motor_health[self._robot.servo_of_joint[own]]

    @property
    def failed_motors(self) -> tuple[str, ...]:
        """Motors that are present but give no torque, in motor order."""
        robot = self._robot
        is_absent = self._is_absent[robot.lead_joints]
        broken = np.flatnonzero((self.motor_health == 0.0) & ~is_absent)
        return tuple(robot.motor_names[motor] for motor in broken)

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return all arrays that change, live, except the torque limits."""
        return (
            self.commanded,
            self.in_force,
            self.health,
            self.motor_health,
            self.current_limit,
            self._current_torque,
            self._motor_torque,
        )
