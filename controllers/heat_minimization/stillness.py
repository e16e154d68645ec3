"""Detection of a robot at rest, and of its loaded feet.

Set-points are only shifted at rest: not while the robot is pushed, lifted or changes
its posture. Sensor values arrive at irregular times and are smoothed by a low pass of
first order,

    x̂ <- x̂ + k (x - x̂),      k = 1 - exp(-dt / T),

which is initialised with the first values.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.kernels import BoolArray
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray, NotNegative, Positive


class LowPass:
    """First-order low pass of an array; call `step` per sample, then read `value`."""

    def __init__(self, n: int, time_constant_s: float) -> None:
        """Create a filter of `n` values without a state; `time_constant_s` is T."""
        self.value: FloatArray = np.zeros(n)
        """(n,) x̂; zeros before the first values."""
        self._time_constant_s = time_constant_s
        self._time: float | None = None

    def step(self, time_s: float, values: FloatArray) -> float:
        """Process new values.

        Args:
            time_s: time of measurement, in s; a step back in time changes nothing.
            values: (n,) x, finite.

        Returns:
            The time since the last values, in s; 0 for the first.
        """
        if self._time is None:
            dt, k = 0.0, 1.0
        else:
            dt = max(0.0, time_s - self._time)
            k = 1.0 - exp(-dt / self._time_constant_s)
        self._time = time_s
        self.value += k * (values - self.value)
        return dt


@dataclass(frozen=True, kw_only=True)
class StillnessCfg(Checked):
    """Thresholds for motion and for lifted feet."""

    request_threshold_rad: Positive = 0.01
    """External set-point change above which the robot moves, in rad [bembelbots]."""
    gyro_threshold: Positive = 0.05
    """Angular velocity of the body above which the robot moves, in rad/s: 10 times
    the noise of the gyroscope."""
    velocity_threshold: Positive = 0.03
    """Joint velocity above which the robot moves, in rad/s: 4 times that of one
    encoder step after the low pass."""
    time_constant_s: Positive = 0.2
    """Time constant of the low pass of both velocities, in s."""
    lifted_newton: NotNegative = 0.8
    """Load below which a foot counts as lifted, in N: 2 steps of its sensors."""
    pressed_newton: NotNegative = 1.5
    """Load above which a lifted foot is on the ground again, in N."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lifted_newton <= self.pressed_newton:
            raise BadInput(
                f"lifted_newton = {self.lifted_newton} N and pressed_newton = "
                f"{self.pressed_newton} N; give 0 <= lifted <= pressed."
            )


class Stillness:
    """Motion detector of one robot; `step` once a cycle, then read the attributes."""

    def __init__(self, robot: Robot, cfg: StillnessCfg) -> None:
        self._cfg = cfg
        self._sensors = sensors_of_feet(robot)  # (n_feet, n_force_sensors)
        self._velocity = LowPass(len(robot.joints), cfg.time_constant_s)
        self._gyro = LowPass(3, cfg.time_constant_s)
        self._request: FloatArray | None = None
        self._moved_at = 0.0
        self.calm_s = 0.0
        """Time without motion, in s."""
        self.is_new_posture = False
        """True if another source moved the set-points since the last call."""
        self.foot_loads: FloatArray = np.zeros(len(robot.feet))
        """(n_feet,) sum of the sensors of each foot, in N; 0 without sensors."""
        self.is_pressed: BoolArray = np.ones(len(robot.feet), dtype=np.bool_)
        """(n_feet,) mask of the loaded feet; True for feet without sensors."""

    def step(self, observation: Observation, request: FloatArray) -> None:
        """Process the newest sensor values.

        Args:
            observation: all finite.
            request: (n_joints,) set-points without our own shift, in rad.
        """
        cfg, now = self._cfg, observation.time_s
        if self._request is None:
            self._request, self._moved_at = request, now
        self._velocity.step(now, observation.v)
        self._gyro.step(now, observation.gyro)
        change = float(np.abs(request - self._request).max())
        self.is_new_posture = change > cfg.request_threshold_rad
        if self.is_new_posture:
            self._request = request
        if (
            self.is_new_posture
            or np.abs(self._gyro.value).max() > cfg.gyro_threshold
            or np.abs(self._velocity.value).max() > cfg.velocity_threshold
        ):
            self._moved_at = now
        self.calm_s = now - self._moved_at
        self._update_foot_loads(observation.fsr)

    def _update_foot_loads(self, fsr: FloatArray) -> None:
        self.foot_loads = self._sensors @ fsr
        bound = np.where(
            self.is_pressed, self._cfg.lifted_newton, self._cfg.pressed_newton
        )
        self.is_pressed = (self.foot_loads >= bound) | ~self._sensors.any(axis=1)


def sensors_of_feet(robot: Robot) -> FloatArray:
    """Return (n_feet, n_force_sensors), 1 where a sensor belongs to a foot."""
    table = np.zeros((len(robot.feet), len(robot.force_sensors)))
    for row, foot in enumerate(robot.feet):
        of_foot = {p.fsr for p in robot.contact_points if p.effector == foot}
        table[row] = [sensor.name in of_foot for sensor in robot.force_sensors]
    return table
