"""Slow and bounded shift of the set-points.

A servo gives T = k_p (q* - q). To change from T to T' without motion, its set-point has
to move by (T' - T) / k_p; the shift approaches this with a time constant t_s,

    ds/dt = (T' - T) / (k_p t_s),    |ds/dt| <= v_max,    |s| <= s_max.

T' - T is a change of internal forces alone, so the shift would turn no joint of a robot
with fixed soles and rigid gears; in simulation joints turn by 0.2 to 0.4°.

A second, small part uses the gear. Stuck friction carries up to ± f on either side of a
joint; the side depends on the robot's last motion. Moving a set-point against the
motor's remaining torque by at most

    b = share · 2 f (1 / k_p + 1 / k_g),

k_g being the stiffness of the stuck gear, brings friction to the supporting side and
turns the joint by 2 f / k_g at most: 0.17° on a NAO. A motion makes the side unknown,
so this part restarts from zero.
"""

from dataclasses import dataclass
from math import radians

import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray, Fraction, Positive

DEGREE = radians(1.0)


@dataclass(frozen=True, kw_only=True)
class SetPointShiftCfg(Checked):
    """Speed and bounds of the shift."""

    time_constant_s: Positive = 1.5
    """t_s in s: about five times that of the low pass of the currents."""
    rate_rad_s: Positive = 0.6 * DEGREE
    """v_max in rad/s: 3° in 5 s, a fifth of the speed of a moving robot."""
    bound_rad: Positive = 3.0 * DEGREE
    """s_max of a servo in rad: covers calibration errors of 2°, and some play. An angle
    on every robot, since it bounds the change of posture: no share of its limits."""
    gear_share: Fraction = 1.0
    """Share of gear friction that may carry a load; 0: none."""


class SetPointShift:
    """Shift of one robot's servos; zero at first."""

    def __init__(self, robot: Robot, cfg: SetPointShiftCfg) -> None:
        self._cfg = cfg
        self._servo_of_joint = robot.servo_of_joint
        self._servo_torques = robot.servo_torques
        lead = [robot.joints[j] for j in robot.lead_joints]
        self._kp = np.array([joint.kp for joint in lead])
        self._gear_bound = np.array(
            [
                cfg.gear_share
                * 2.0
                * joint.friction
                * (1.0 / joint.kp + 1.0 / joint.presliding_stiffness)
                if joint.presliding_stiffness > 0.0
                else 0.0
                for joint in lead
            ]
        )
        self._internal: FloatArray = np.zeros(len(lead))
        self._gear: FloatArray = np.zeros(len(lead))
        self._is_gear_stale = False
        self._value: FloatArray = np.zeros(len(robot.joints))

    @property
    def value(self) -> FloatArray:
        """(n_joints,) the shift in rad; a copy."""
        return self._value.copy()

    @property
    def is_at_bound(self) -> bool:
        """Return True if a servo's shift is at its bound."""
        return bool(np.abs(self._value).max(initial=0.0) >= self._cfg.bound_rad)

    def follow(self, change: FloatArray, remaining: FloatArray, dt: float) -> None:
        """Move one step towards other torques.

        Args:
            change: (n_motors,) T' - T in N·m; 0 keeps the shift.
            remaining: (n_motors,) T' in N·m, which gear friction may reduce.
            dt: time since the last step in s.
        """
        cfg = self._cfg
        change, remaining = (
            self._servo_torques @ change,
            self._servo_torques @ remaining,
        )
        part = dt / cfg.time_constant_s / self._kp
        step = part * change
        largest = float(np.abs(step).max(initial=0.0))
        if largest > cfg.rate_rad_s * dt:  # slow all down: the direction stays
            step *= cfg.rate_rad_s * dt / largest
        bound = cfg.bound_rad
        self._internal = np.clip(self._internal + step, -bound, bound)
        if self._is_gear_stale:
            self._gear -= np.clip(self._gear, -cfg.rate_rad_s * dt, cfg.rate_rad_s * dt)
            self._is_gear_stale = bool(self._gear.any())
        else:
            gear = self._gear - part * remaining
            self._gear = np.clip(gear, -self._gear_bound, self._gear_bound)
        self._update_value()

    def restart_gear(self) -> None:
        """Restart the gear's part after a motion of the robot."""
        self._is_gear_stale = True

    def return_to_zero(self, dt: float) -> None:
        """Move one step back towards zero shift."""
        step = self._cfg.rate_rad_s * dt
        self._internal -= np.clip(self._internal, -step, step)
        self._gear -= np.clip(self._gear, -step, step)
        self._update_value()

    def _update_value(self) -> None:
        bound = self._cfg.bound_rad
        of_servo = np.clip(self._internal + self._gear, -bound, bound)
        self._value = of_servo[self._servo_of_joint]
