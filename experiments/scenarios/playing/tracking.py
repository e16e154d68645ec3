"""How closely joints followed their set-points, and what that took.

    e = sqrt(mean (q* - q)²),    ∫ Σ_m i_m² dt,    mean s,

q* the set-points in force, q the angles that the encoders read, i the motors' currents,
s the stiffness in force, as the controller sees them every period. The integral is what
the windings heat by, per ohm: it compares controllers, not motors.
"""

from dataclasses import dataclass
from math import degrees, sqrt

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class Tracking:
    """What came of one run."""

    legs_error_deg: float | None = None
    """Root mean square over time and the joints of the legs; None: it has none."""
    others_error_deg: float | None = None
    """Of all other joints: head, arms, hands."""
    current_a2s: float = 0.0
    """∫ Σ i² dt of all motors, in A² s."""
    mean_stiffness: float | None = None
    """Over time and joints; None: nothing was seen."""


class TrackingMeter:
    """Adds up a run, observation by observation."""

    def __init__(self, robot: Robot, period_s: float) -> None:
        """Begin.

        Args:
            robot: whose joints.
            period_s: from one observation to the next, in s.
        """
        self._is_leg = np.isin(robot.joint_names, robot.leg_joints)
        self._period_s = period_s
        self._squared_error = np.zeros(len(robot.joints))
        self._stiffness = np.zeros(len(robot.joints))
        self._current_a2s = 0.0
        self._count = 0

    def add(self, observation: Observation) -> None:
        """Take what holds for one period."""
        error = observation.target - observation.q
        self._squared_error += error * error
        self._stiffness += observation.stiffness
        i = observation.current
        self._current_a2s += float(i @ i) * self._period_s
        self._count += 1

    @property
    def value(self) -> Tracking:
        """Until now."""
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
