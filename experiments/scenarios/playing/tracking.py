"""Tracking errors of the joints, with the currents and stiffness used.

    e = sqrt(mean (q* - q)²),    ∫ Σ_m i_m² dt,    mean s,

with the set-points q* in force, encoder angles q, motor currents i and stiffness s in
force, as observed by the controller in each period. The integral is the winding heat
per ohm; it compares controllers, not motors.
"""

from dataclasses import dataclass
from math import degrees, sqrt

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class Tracking:
    """Tracking figures of one run."""

    legs_error_deg: float | None = None
    """Root mean square error over time and leg joints; None: the robot has no legs."""
    others_error_deg: float | None = None
    """Root mean square error over time and all other joints: head, arms, hands."""
    current_a2s: float = 0.0
    """∫ Σ i² dt of all motors, in A² s."""
    mean_stiffness: float | None = None
    """Mean over time and joints; None: no observation."""


class TrackingMeter:
    """Accumulator of tracking figures over the observations of a run."""

    def __init__(self, robot: Robot, period_s: float) -> None:
        """Create an empty accumulator.

        Args:
            robot: robot with the joints.
            period_s: time between two observations in s.
        """
        self._is_leg = np.isin(robot.joint_names, robot.leg_joints)
        self._period_s = period_s
        self._squared_error = np.zeros(len(robot.joints))
        self._stiffness = np.zeros(len(robot.joints))
        self._current_a2s = 0.0
        self._count = 0

    def add(self, observation: Observation) -> None:
        """Add an observation, which holds for one period."""
        error = observation.target - observation.q
        self._squared_error += error * error
        self._stiffness += observation.stiffness
        i = observation.current
        self._current_a2s += float(i @ i) * self._period_s
        self._count += 1

    @property
    def value(self) -> Tracking:
        """Tracking figures so far."""
        if not self._count:
            return Tracking()
        mean_square = self._squared_error / self._count
        return Tracking(
            legs_error_deg=_root_deg(mean_square[self._is_leg]),
            others_error_deg=_root_deg(mean_square[~self._is_leg]),
            current_a2s=self._current_a2s,
            mean_stiffness=float(self._stiffness.mean()) / self._count,
        )


def _root_deg(mean_square: FloatArray) -> float | None:
    return degrees(sqrt(float(mean_square.mean()))) if mean_square.size else None
