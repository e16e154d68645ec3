"""Sensor models of the robot: steps, rates, noise, gains.

Each kind of sensor is sampled at its own period and holds its value in between.
Noise comes from one generator, so that the same seed gives the same readings.
"""

from dataclasses import dataclass

import numba
import numpy as np

from nao_testbed.controllers.interface.robot_interface import READINGS
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.world import ticks_of
from nao_testbed.sim.sensors.force_sensors import ForceSensors
from nao_testbed.sim.sensors.inertial_unit import InertialUnit
from nao_testbed.sim.sensors.sonars import Sonars


@dataclass(frozen=True, kw_only=True)
class SensorCfg:
    """Effects of the sensors that are modelled."""

    noise: bool = True
    """Add the noise and gain errors of the data sheets."""
    resolution: bool = True
    """Round to the resolution of encoders, force sensors and temperatures."""


class Sensors:
    """Sampling of the engine; one array for each sensor field of an observation.

    An observation shows the last readings before it, so only these are taken. An
    encoder and the inertial unit differentiate, and also need the reading before. Noise
    is drawn for every reading: results do not depend on when the robot is read.

        tick -> next_tick -> (the engine runs) -> skip -> sample

    `readings` holds the arrays, live.
    """

    def __init__(
        self,
        robot: Robot,
        engine: Engine,
        cfg: SensorCfg,
        misalignment: FloatArray,
        torque_constant: FloatArray,
        rng: np.random.Generator,
    ) -> None:
        """Prepare buffers, periods and the gain errors of this robot.

        Args:
            robot: robot with these sensors.
            engine: engine of the measured world.
            cfg: modelled effects.
            misalignment: (n_joints,) true angle minus encoder angle, in rad.
            torque_constant: (n_motors,) of the heating model, joint side, in N·m/A, so
                that current, heat and torque agree.
            rng: source of the noise and the gain errors.

        Raises:
            BadInput: a period is not a multiple of the engine's step.
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
        self._sonar_ticks = ticks_of("sonar period", rates.sonar_period, dt)
        self._rates = rates
        n, m, n_fsr = len(robot.joints), len(robot.motors), len(robot.force_sensors)
        self.q = np.zeros(n)
        self.v = np.zeros(n)
        self.current = np.zeros(m)
        self._current_normal = np.zeros(m)
        self.temperature = np.zeros(m)
        self.fsr = np.zeros(n_fsr)
        self.sonar = np.zeros(len(robot.sonars))
        self.battery = np.ones(1)
        self._fine = np.zeros(n)
        steps = 1.0 if cfg.resolution else 0.0
        self._fine_step = np.array([steps * joint.servo_step for joint in robot.joints])
        self._step = np.array([steps * joint.encoder_step for joint in robot.joints])
        self._torque_constant = torque_constant.copy()
        self._imu = InertialUnit(robot, rng, noise=cfg.noise)
        self.accelerometer, self.gyro = np.split(self._imu.reading, 2)
        self.gravity = self._imu.gravity
        self._force_sensors = ForceSensors(
            robot, noise=cfg.noise, resolution=cfg.resolution
        )
        self._sonars = Sonars(robot, resolution=cfg.resolution)
        # period in ticks, readings needed before an observation beyond the last
        self._needed = (
            (self._encoder_ticks, 1),
            (self._current_ticks, 0),
            (self._imu_ticks, 1),
            (self._fsr_ticks, 0),
            (self._sonar_ticks, 0),
        )
        # period in ticks, normal numbers drawn per reading
        self._drawn = (
            ((self._current_ticks, m), (self._imu_ticks, 6), (self._fsr_ticks, n_fsr))
            if cfg.noise
            else ()
        )
        self._unused = np.zeros(1024)

        self.readings: dict[str, FloatArray] = {
            name: getattr(self, name) for name in READINGS if hasattr(self, name)
        }

    def start(self, q: FloatArray, temperature: FloatArray) -> None:
        """Fill all readings from a robot at rest."""
        self._read_encoders(q)
        self._read_encoders(q)  # read twice, so that the velocity starts at 0
        self._imu.start(self._engine)
        self._imu.read(self._engine)
        self._read_fsr()
        self._sonars.read(self._engine, self.sonar)
        self.read_temperature(temperature)
        self.current[:] = 0.0

    def next_tick(self, tick: int, until: int) -> int:
        """Return the next tick with a needed reading, at most `until`.

        Args:
            tick: ticks since the start.
            until: tick of the next observation.
        """
        found = until
        for period, before in self._needed:
            last = until - until % period
            first = max(tick - tick % period + period, last - before * period)
            found = min(found, first)
        return found

    def skip(self, since: int, tick: int) -> None:
        """Draw the noise of the readings after `since` and before `tick`."""
        last = tick - 1
        self._discard(sum(n * (last // p - since // p) for p, n in self._drawn))

    def sample(
        self,
        tick: int,
        q: FloatArray,
        motor_torque: FloatArray,
        until: int | None = None,
    ) -> None:
        """Take the readings that are due after `tick` and needed at `until`.

        Args:
            tick: ticks since the start.
            q: (n_joints,) true angles in rad.
            motor_torque: (n_motors,) joint-side motor torques in N·m.
            until: tick of the next observation; None: this tick.
        """
        left = 0 if until is None else until - tick
        if tick % self._encoder_ticks == 0 and left < 2 * self._encoder_ticks:
            self._read_encoders(q)
        if tick % self._current_ticks == 0:
            if left < self._current_ticks:
                self._read_currents(motor_torque)
            else:
                self._discard_reading(0)
        if tick % self._imu_ticks == 0:
            if left < self._imu_ticks:
                self._imu.read(self._engine)
            else:
                if left < 2 * self._imu_ticks:
                    self._imu.start(self._engine)
                self._discard_reading(1)
        if tick % self._fsr_ticks == 0:
            if left < self._fsr_ticks:
                self._read_fsr()
            else:
                self._discard_reading(2)
        if tick % self._sonar_ticks == 0 and left < self._sonar_ticks:
            self._sonars.read(self._engine, self.sonar)

    def read_temperature(self, temperature: FloatArray) -> None:
        """Store the temperatures of the heating model, in °C."""
        self.temperature[:] = temperature
        if self._cfg.resolution:
            _round_to(self.temperature, self._rates.temperature_step)

    def read_battery(self, charge: float) -> None:
        """Store the charge of the battery, as a fraction."""
        self.battery[0] = charge

    def _discard_reading(self, sensor: int) -> None:
        """Draw the noise of one reading of a sensor in `_drawn`."""
        if self._drawn:
            self._discard(self._drawn[sensor][1])

    def _discard(self, n: int) -> None:
        """Draw `n` normal numbers that are not used."""
        while n > 0:
            unused = self._unused[:n]
            self._rng.standard_normal(out=unused)
            n -= unused.size

    def _read_encoders(self, q: FloatArray) -> None:
        _encode(
            q,
            self._misalignment,
            self._fine_step,
            self._step,
            self._rates.encoder_period,
            self._fine,
            self.q,
            self.v,
        )

    def _read_currents(self, motor_torque: FloatArray) -> None:
        np.divide(motor_torque, self._torque_constant, out=self.current)
        if self._cfg.noise:
            noise = self._rng.standard_normal(out=self._current_normal)
            noise *= self._rates.current_noise
            self.current += noise

    def _read_fsr(self) -> None:
        self._force_sensors.read(self._engine, self.fsr, self._rng)

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return all arrays that change, live; the generator is not among them."""
        return (*self.readings.values(), self._fine, self._imu.velocity)


def _round_to(array: FloatArray, step: FloatArray | float) -> None:
    """Round to multiples of `step`, in place."""
    array /= step
    np.rint(array, out=array)
    array *= step


@numba.njit(cache=True)
def _encode(
    q: FloatArray,
    misalignment: FloatArray,
    fine_step: FloatArray,
    step: FloatArray,
    period: float,
    fine: FloatArray,
    measured: FloatArray,
    v: FloatArray,
) -> None:
    """Round angles to their steps; differentiate the finer angles for velocities."""
    for j in range(q.size):
        angle = q[j] - misalignment[j]
        measured[j] = _rounded(angle, step[j])
        now = _rounded(angle, fine_step[j])
        v[j] = (now - fine[j]) / period
        fine[j] = now


@numba.njit(cache=True)
def _rounded(value: float, step: float) -> float:
    """Return the nearest multiple of a step; 0 means no steps."""
    return float(np.rint(value / step)) * step if step > 0.0 else value
