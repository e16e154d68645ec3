"""Interface of a policy, and the controller that runs one in the loop.

A policy returns set-points; the servos track them with the policy's gains and stiffness
1. docs/guides/policies.md shows a policy in Python.
"""

from collections import Counter
from math import inf
from typing import Protocol

import numpy as np

from nao_testbed.controllers.interface.controller import Limits, require_robot
from nao_testbed.controllers.interface.robot_interface import (
    Observation,
    ServoGains,
    check_gains,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, as_numbers, check_seconds, short


class Policy(Protocol):
    """Policy from observations to set-points."""

    name: str
    """Name in tables and run folders."""
    period_s: float
    """Time between two steps in s, a multiple of the control period."""

    def reset(self, robot: Robot) -> ServoGains | None:
        """Prepare for a run on `robot`; return the gains, None for the robot's own."""

    def step(self, observation: Observation) -> FloatArray:
        """Return the set-points until the next step, (n_joints,) in rad."""


class PolicyController:
    """Controller that runs a policy at the policy's own rate."""

    def __init__(self, policy: Policy, name: str | None = None) -> None:
        """Create the controller; without `name`, it has the policy's name."""
        self.policy = policy
        self.name = name or policy.name
        self.period_s = check_seconds(
            policy.period_s, f"period of {self.name}", least=0.0
        )
        """Time between two steps of the policy, in s."""
        self.flag_counts: Counter[str] = Counter()
        """Number of steps with a set-point outside the range of its joint."""
        self._robot: Robot | None = None

    def reset(self, robot: Robot) -> None:
        """Reset the policy.

        Raises:
            BadInput: the policy does not fit the robot.
        """
        self._gains = self.policy.reset(robot)
        if self._gains is not None:
            check_gains(self._gains, robot)
        self._robot = robot
        self._stiffness = np.ones(len(robot.joints))
        self._target = np.zeros(len(robot.joints))
        self._next_s = -inf
        self.flag_counts = Counter()

    def step(self, observation: Observation) -> Limits:
        """Return stiffness 1, the gains, and the set-points of the last step.

        Raises:
            BadInput: `reset` was not called, or the policy did not return one finite
                number per joint.
        """
        robot = require_robot(self._robot)
        now = observation.time_s
        if now > self._next_s - 1e-6:
            self._target = self._decide(robot, observation)
            due = self._next_s + self.period_s
            self._next_s = due if now < due - 1e-6 else now + self.period_s
        return Limits(
            stiffness=self._stiffness.copy(), target=self._target, gains=self._gains
        )

    def _decide(self, robot: Robot, observation: Observation) -> FloatArray:
        given = self.policy.step(observation)
        target = as_numbers(given)
        n = len(robot.joints)
        if target is None or target.shape != (n,):
            raise BadInput(
                f"policy {self.name!r} returned {short(given)}; its step must return "
                f"{n} set-points in rad, one per joint of {robot.name}."
            )
        is_finite = np.isfinite(target)
        if not is_finite.all():
            joint = int(is_finite.argmin())
            raise BadInput(
                f"policy {self.name!r} returned a set-point of {target[joint]} for "
                f"{robot.joint_names[joint]}; every set-point must be finite."
            )
        if (target < robot.lower).any() or (target > robot.upper).any():
            self.flag_counts["set-point beyond its range"] += 1
        return target
