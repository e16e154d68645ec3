"""What the robot's sensors would say: steps, rates, noise, gains.

Each kind of sensor is sampled at its own period and holds its value in between.
Noise comes from one generator, so that the same seed gives the same readings.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import Robot
from sim.engine import Engine
from sim.ticks import ticks_of

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SensorCfg:
    """What of the sensors is modelled."""

    noise: bool = True
    """Add the noise and gain errors of the data sheets."""
    resolution: bool = True
    """Round to the resolution of encoders, force sensors and temperatures."""


class Sensors:
    """Samples the engine; the arrays below hold the newest readings.

    `sample(tick)` is called after every tick and does only what is due.
    """

    def __init__(
        self,
        robot: Robot,
        engine: Engine,
        cfg: SensorCfg,
        misalignment: FloatArray,
        rng: np.random.Generator,
    ) -> None:
        """Prepare buffers, periods and the gain errors of this robot.

        Raises:
            BadInput: a period is not a multiple of the engine's.
        """
        self._engine = engine
        self._cfg = cfg
        self._rng = rng
        self._misalignment = misalignment
        dt = engine.cfg.physics_dt
        rates = robot.sensor_rates
        self._encoder_ticks = ticks_of("encoder period", rates.encoder_period, dt)
        self._current_ticks = ticks_of("current period", rates.current_period, dt)
        self._imu_ticks = ticks_of("IMU period", rates.imu_period, dt)
        self._fsr_ticks = ticks_of("FSR period", rates.fsr_period, dt)
        self.temperature_ticks = ticks_of(
            "temperature period", rates.temperature_period, dt
        )
        self._rates = rates
        n, m = len(robot.joints), len(robot.motors)
        self.q = np.zeros(n)
        self.v = np.zeros(n)
        self.current = np.zeros(m)
        self.temperature = np.zeros(m)
        self.gyro = np.zeros(3)
        self.accelerometer = np.zeros(3)
        self.fsr = np.zeros(len(robot.force_sensors))
        self._fine = np.zeros(n)
        self._fine_step = np.array([joint.servo_step for joint in robot.joints])
        self._coarse_step = np.array([joint.encoder_step for joint in robot.joints])
        self._constant = np.array([mo.one_node.torque_constant for mo in robot.motors])
        self._imu = robot.imu
        com = next(link.com for link in robot.links if link.name == robot.imu.link)
        self._imu_arm = np.array(robot.imu.position) - np.array(com)
        self._imu_velocity = np.zeros(3)
        gains = rng.uniform(-1.0, 1.0, (2, 3)) if cfg.noise else np.zeros((2, 3))
        self._acc_gain = 1.0 + robot.imu.accelerometer_gain_error * gains[0]
        self._gyro_gain = 1.0 + robot.imu.gyro_gain_error * gains[1]
        self._soles = [_Sole(robot, link) for link in _sole_links(robot)]

    def start(self, q: FloatArray, temperature: FloatArray) -> None:
        """Fill all readings from a robot at rest."""
        self._read_encoders(q)
        self._read_encoders(q)  # twice: no velocity from the past
        self._imu_velocity = self._imu_point_velocity()
        self._read_imu()
        self._read_fsr()
        self.read_temperature(temperature)
        self.current[:] = 0.0

    def sample(self, tick: int, q: FloatArray, motor_torque: FloatArray) -> None:
        """Read what is due after `tick`.

        Args:
            tick: ticks since the start.
            q: (n_joints,) true angles in rad.
            motor_torque: (n_motors,) joint-side motor torques in N·m.
        """
        if tick % self._encoder_ticks == 0:
            self._read_encoders(q)
        if tick % self._current_ticks == 0:
            self._read_currents(motor_torque)
        if tick % self._imu_ticks == 0:
            self._read_imu()
        if tick % self._fsr_ticks == 0:
            self._read_fsr()

    def read_temperature(self, temperature: FloatArray) -> None:
        """Take the temperatures of the heating model, in °C."""
        self.temperature[:] = temperature
        if self._cfg.resolution:
            _round_to(self.temperature, self._rates.temperature_step)

    def _read_encoders(self, q: FloatArray) -> None:
        measured = q - self._misalignment
        fine = measured.copy()
        self.q[:] = measured
        if self._cfg.resolution:
            _round_to(fine, self._fine_step)
            _round_to(self.q, self._coarse_step)
        np.subtract(fine, self._fine, out=self.v)
        self.v /= self._rates.encoder_period
        self._fine[:] = fine

    def _read_currents(self, motor_torque: FloatArray) -> None:
        np.divide(motor_torque, self._constant, out=self.current)
        if self._cfg.noise:
            noise = self._rng.standard_normal(self.current.size)
            self.current += self._rates.current_noise * noise

    def _imu_point_velocity(self) -> FloatArray:
        linear, angular = self._engine.link_twist(self._imu.link)
        _, R = self._engine.link_pose(self._imu.link)
        return linear + _cross(angular, R @ self._imu_arm)

    def _read_imu(self) -> None:
        """Specific force Rᵀ (v̇ - g), mean over the period, and angular velocity."""
        linear, angular = self._engine.link_twist(self._imu.link)
        _, R = self._engine.link_pose(self._imu.link)
        velocity = linear + _cross(angular, R @ self._imu_arm)
        acceleration = (velocity - self._imu_velocity) / self._rates.imu_period
        self._imu_velocity = velocity
        acceleration[2] += self._engine.cfg.gravity
        self.accelerometer[:] = acceleration @ R
        self.gyro[:] = angular @ R
        if self._cfg.noise:
            noise = self._rng.standard_normal(6)
            self.accelerometer *= self._acc_gain
            self.accelerometer += self._imu.accelerometer_noise * noise[:3]
            self.gyro *= self._gyro_gain
            self.gyro += self._imu.gyro_noise * noise[3:]
        np.clip(
            self.accelerometer,
            -self._imu.accelerometer_range,
            self._imu.accelerometer_range,
            out=self.accelerometer,
        )
        np.clip(self.gyro, -self._imu.gyro_range, self._imu.gyro_range, out=self.gyro)

    def _read_fsr(self) -> None:
        for sole in self._soles:
            sole.read(self._engine, self.fsr, self._cfg, self._rng)

    def state(self) -> tuple[FloatArray, ...]:
        """Return copies of all that `restore` needs, but the generator."""
        return tuple(array.copy() for array in self._arrays())

    def restore(self, state: tuple[FloatArray, ...]) -> None:
        """Return to a kept state."""
        for array, kept in zip(self._arrays(), state, strict=True):
            array[:] = kept

    def _arrays(self) -> tuple[FloatArray, ...]:
        return (
            self.q,
            self.v,
            self.current,
            self.temperature,
            self.gyro,
            self.accelerometer,
            self.fsr,
            self._fine,
            self._imu_velocity,
        )


class _Sole:
    """The force sensors under one link: share of each in the load of the sole.

    The sole is a plate on its sensors and feels the load along its own normal: nothing
    when the foot lies on its side. Of all forces f with the right sum and the right
    moments about the sensors' plane, the one of least norm is taken (equal springs, a
    plate that stays flat), negative shares are cut and the sum kept.
    """

    def __init__(self, robot: Robot, link: str) -> None:
        self.link = link
        sensors = [s for s in robot.force_sensors if s.link == link]
        names = [s.name for s in robot.force_sensors]
        self.columns = np.array([names.index(s.name) for s in sensors])
        xy = np.array([s.position[:2] for s in sensors])
        self._share = np.linalg.pinv(np.vstack([np.ones(len(xy)), xy.T]))  # (k, 3)
        self._noise = np.array([s.noise_newton for s in sensors])
        self._step = np.array([s.step_newton for s in sensors])
        self._range = np.array([s.range_newton for s in sensors])

    def read(
        self,
        engine: Engine,
        fsr: FloatArray,
        cfg: SensorCfg,
        rng: np.random.Generator,
    ) -> None:
        """Write the readings of this sole in N into its places of `fsr`."""
        position, R = engine.link_pose(self.link)
        force, moment = engine.normal_load(self.link)
        along_normal = max(float(engine.ground_normal @ R[:, 2]), 0.0)
        force *= along_normal
        moment *= along_normal
        load = np.zeros(3)
        load[0] = force
        load[1:] = ((moment - force * position) @ R)[:2]  # F x, F y in the link frame
        f = np.maximum(self._share @ load, 0.0)
        total = f.sum()
        if total > 0.0:
            f *= force / total
        if cfg.noise:
            f += self._noise * rng.standard_normal(f.size)
        if cfg.resolution:
            _round_to(f, self._step)
        fsr[self.columns] = np.minimum(np.maximum(f, 0.0), self._range)


def _sole_links(robot: Robot) -> list[str]:
    return list(dict.fromkeys(sensor.link for sensor in robot.force_sensors))


def _round_to(array: FloatArray, step: FloatArray | float) -> None:
    """Round to multiples of `step`, in place."""
    array /= step
    np.rint(array, out=array)
    array *= step


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a × b; numpy's own costs ten times as much for three numbers."""
    return np.array(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    )
