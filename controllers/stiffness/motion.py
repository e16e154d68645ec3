"""How the robot moves, from sensors: what the full model needs (ST-5).

Velocities come from the encoders, the angular velocity from the gyroscope; both are
differentiated by filtered differences: with a low pass of time constant T,

    v̂ ← v̂ + k (v - v̂),    a ← (v̂ - v̂_before) / dt,    k = 1 - exp(-dt / T).

The base acceleration comes from the accelerometer, which measures Ṫ - G of its own
place. Its gain is wrong by up to 10 % [nao6-datasheet], which at rest would look like
an acceleration of 1 m/s²; so the reading is divided by the gain that the same sensor
shows on average, and its low-passed difference to g along the vertical in use is taken
for the acceleration.
"""

from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray

from controllers.robot_interface import Observation
from controllers.stiffness.dynamics import GRAVITY, BaseMotion
from controllers.stiffness.vectors import cross
from models import BadInput, Robot

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MotionCfg:
    """Numbers of the filters."""

    time_constant_s: float = 0.06
    """T of the differences: three cycles; one encoder step of 1.5 mrad then shows as
    1.1 rad/s² instead of 3.8."""
    gain_time_constant_s: float = 10.0
    """Time over which the accelerometer's gain is learnt."""
    longest_gap_s: float = 0.25
    """A longer time between two observations starts the filters anew."""

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        if not (self.time_constant_s > 0.0 and self.gain_time_constant_s > 0.0):
            raise BadInput(
                f"time_constant_s = {self.time_constant_s} s, gain_time_constant_s = "
                f"{self.gain_time_constant_s} s; give numbers above 0."
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Motion:
    """Estimated motion of joints and base."""

    v: FloatArray
    """(n_joints,) in rad/s."""
    a: FloatArray
    """(n_joints,) in rad/s²."""
    base: BaseMotion


class MotionEstimator:
    """Differentiates and filters; `step` at every observation."""

    def __init__(self, robot: Robot, cfg: MotionCfg) -> None:
        """Refuse a robot whose inertial unit is not on its base.

        Raises:
            BadInput: the inertial unit sits on another link.
        """
        if robot.imu.link != robot.base_link:
            raise BadInput(
                f"The full model needs the inertial unit on the base link "
                f"{robot.base_link!r}; robot {robot.name!r} has it on "
                f"{robot.imu.link!r}. Use the simplified model."
            )
        self._cfg = cfg
        self._lever = np.array(robot.imu.position)
        self.reset()

    def reset(self) -> None:
        """Forget all motion."""
        self._time: float | None = None

    def step(self, observation: Observation, up: FloatArray) -> Motion:
        """Return the motion at `observation`; no acceleration at the first one.

        Args:
            observation: the sensor values.
            up: (3,) the vertical in use, base frame.
        """
        time, v, w = observation.time_s, observation.v, observation.gyro
        force = observation.accelerometer
        dt = 0.0 if self._time is None else time - self._time
        if self._time is None or dt < 0.0 or dt > self._cfg.longest_gap_s:
            self._v, self._w = v.copy(), w.copy()
            self._a, self._w_dot = np.zeros_like(v), np.zeros(3)
            self._mean = force.copy()
            self._motion_force = np.zeros(3)
        elif dt > 0.0:
            k = 1.0 - exp(-dt / self._cfg.time_constant_s)
            self._a = k * (v - self._v) / dt
            self._w_dot = k * (w - self._w) / dt
            self._v = self._v + k * (v - self._v)
            self._w = self._w + k * (w - self._w)
            slow = 1.0 - exp(-dt / self._cfg.gain_time_constant_s)
            self._mean = self._mean + slow * (force - self._mean)
            gain = float(np.linalg.norm(self._mean)) / GRAVITY
            moving = force / gain - GRAVITY * up if gain > 0.5 else np.zeros(3)
            self._motion_force = self._motion_force + k * (moving - self._motion_force)
        self._time = time
        at_imu = GRAVITY * up + self._motion_force
        return Motion(
            v=self._v,
            a=self._a,
            base=BaseMotion(
                proper_acceleration=at_imu
                - cross(self._w_dot, self._lever)
                - cross(self._w, cross(self._w, self._lever)),
                angular_velocity=self._w,
                angular_acceleration=self._w_dot,
            ),
        )
