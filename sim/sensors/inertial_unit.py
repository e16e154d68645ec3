"""Inertial unit: readings of accelerometer and gyroscope, in the unit's frame.

With the unit's velocity v in the world, the rotation R of its link, and its angular
velocity ω:

    accelerometer = Rᵀ (v̇ - g),    gyro = Rᵀ ω,    gravity = -Rᵀ e_z,

the last as a unit's own filter reports it, here without an error of the attitude;
v̇ being the mean over one period, from the difference of two velocities. Gains have a
constant error drawn at the start, noise is added, and readings saturate at the range.
"""

import numba
import numpy as np

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import Engine


class InertialUnit:
    """Inertial unit of a robot; `start` once, then `read` whenever it is due."""

    def __init__(self, robot: Robot, rng: np.random.Generator, *, noise: bool) -> None:
        """Draw the gain errors of this unit.

        Args:
            robot: robot with this unit.
            rng: source of the gain errors and of the noise.
            noise: add noise and gain errors.
        """
        imu = robot.imu
        self._link = imu.link
        com = next(link.com for link in robot.links if link.name == imu.link)
        self._arm = np.array(imu.position) - np.array(com)
        self._period = robot.sensor_rates.imu_period
        self._rng = rng
        self._has_noise = noise
        errors = rng.uniform(-1.0, 1.0, 6) if noise else np.zeros(6)
        self._gain = 1.0 + errors * np.repeat(
            [imu.accelerometer_gain_error, imu.gyro_gain_error], 3
        )
        self._normal = np.zeros(6)  # stays 0 without noise
        self._noise = np.repeat([imu.accelerometer_noise, imu.gyro_noise], 3)
        self._range = np.repeat([imu.accelerometer_range, imu.gyro_range], 3)
        self.velocity = np.zeros(3)
        """(3,) velocity of the unit at the last reading, in the world, in m/s."""
        self.reading = np.zeros(6)
        """(6,) accelerometer in m/s², then gyro in rad/s."""
        self.gravity = np.zeros(3)
        """(3,) unit vector."""

    def start(self, engine: Engine) -> None:
        """Store the present velocity as that of the previous reading."""
        self.velocity[:] = _velocity_at(*self._motion(engine), self._arm)

    def read(self, engine: Engine) -> None:
        """Take a reading."""
        if self._has_noise:
            self._rng.standard_normal(out=self._normal)
        linear, angular, R = self._motion(engine)
        np.negative(R[2], out=self.gravity)
        _read_motion(
            linear,
            angular,
            R,
            self._arm,
            self._period,
            engine.cfg.gravity,
            self._gain,
            self._noise,
            self._normal,
            self._range,
            self.velocity,
            self.reading,
        )

    def _motion(self, engine: Engine) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return velocity of the link (3,), angular velocity (3,), R (3, 3)."""
        linear, angular = engine.link_twist(self._link)
        _, R = engine.link_pose(self._link)
        return linear, angular, R


@numba.njit(cache=True)
def _velocity_at(
    linear: FloatArray, angular: FloatArray, R: FloatArray, arm: FloatArray
) -> FloatArray:
    """Return v + ω x R r, (3,) in m/s: the velocity of a point fixed to a link."""
    r = R @ arm
    velocity = linear.copy()
    velocity[0] += angular[1] * r[2] - angular[2] * r[1]
    velocity[1] += angular[2] * r[0] - angular[0] * r[2]
    velocity[2] += angular[0] * r[1] - angular[1] * r[0]
    return velocity


@numba.njit(cache=True)
def _read_motion(
    linear: FloatArray,
    angular: FloatArray,
    R: FloatArray,
    arm: FloatArray,
    period: float,
    gravity: float,
    gain: FloatArray,
    noise: FloatArray,
    normal: FloatArray,
    largest: FloatArray,
    last_velocity: FloatArray,
    reading: FloatArray,
) -> None:
    """Write a reading, and the velocity for the next one."""
    velocity = _velocity_at(linear, angular, R, arm)
    acceleration = (velocity - last_velocity) / period
    acceleration[2] += gravity
    exact = (acceleration @ R, angular @ R)
    for k in range(6):
        value = exact[k // 3][k % 3] * gain[k] + noise[k] * normal[k]
        reading[k] = min(max(value, -largest[k]), largest[k])
    for axis in range(3):
        last_velocity[axis] = velocity[axis]
