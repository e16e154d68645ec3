"""Schemas on the motors' heat and currents: hot joints, cooling down, charge.

`hot joint watch` predicts when the hottest motor will reach a limit. A linear fit to
the readings of the last minute, by least squares,

    T(t) ≈ a + b (t - t̄),      b = Σ (t - t̄) T / Σ (t - t̄)²,      t* = (T_max - T) /
    b,

gives the trend b of each motor and its remaining time t*. Readings come once a second
in steps of 1 K (an estimate, see the robot's sensor rates). A shorter window would show
the steps, a longer one outdated trends. Heating slows down as a motor gets hot: t* is
rather too short than too long.

`cool down` goes to a posture with low loss, and waits until the motors are cool. The
posture was found by simulation, ten seconds at rest on level ground, losses from the
one-node constants; the stiffness controller matters only for lying postures:

    Stand 0.30 W, PoseInit 1.1, StandInit 1.3, Crouch 2.0, SitRelax 2.5, Sit 2.7,
    StandZero 3.6, LyingBack 5.5, LyingBelly 4.6

So the posture is Stand: the knees rest on their stops and the legs are straight, and no
motor would ever exceed 42 °C. The stored sitting postures hold up arms and legs, whose
motors would reach 76 °C and more. A robot with a misaligned ankle may have a better
posture.

`battery watch` estimates the remaining charge from motor currents, including the
motors' mechanical work, like the simulator's own gauge (`Observation.battery`). The
consumption is summed up,

    P = P0 + Σ max(0, R i² + i K ω) / η,      charge = 1 - ∫ P dt / E,

with R and K (joint side) of each motor [xu2012], ω the speed of its joint, E the
capacity; power that a driven motor returns is ignored. **An estimate**: age and
temperature of the cells are unknown, and P0 and η of most robots are guesses.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
    check_between,
)
from nao_testbed.controllers.schemas.library.common import is_due
from nao_testbed.controllers.schemas.schema import ActuationSchema, PerceptiveSchema
from nao_testbed.models import Robot
from nao_testbed.models.robot import DRIVE_EFFICIENCY, IDLE_WATT


def onset_limit(robot: Robot) -> Mapping[str, Any]:
    """Return `limit_degc` of a robot with thresholds: the onset of its protection."""
    if robot.protection is None:
        return {}
    return {"limit_degc": robot.protection.onset_degc[0]}


@dataclass(frozen=True, kw_only=True)
class HotJointWatchParameters(Parameters):
    """Temperature limit and prediction times."""

    limit_degc: float = bounded(76.0, 0.0, 200.0, "°C")
    """Temperature limit in °C. Default: where the robot begins to reduce stiffness, or
    76 °C, that of a NAO [nao-lola] [hulk]."""
    warn_s: float = bounded(60.0, 0.0, 36_000.0, "s")
    """Warn if the limit will be reached within this time, in s."""
    window_s: float = bounded(60.0, 5.0, 3600.0, "s")
    """Window of the trend, in s."""


class HotJointWatch(PerceptiveSchema[HotJointWatchParameters]):
    """Temperature trends of all motors; failed sensors are ignored."""

    info = SchemaInfo(
        "hot joint watch",
        "Report the hottest motor, and predict the first one over the limit.",
        period_s=1.0,
        parameters=HotJointWatchParameters,
        outputs=(
            Variable("joint", str, "The hottest motor.", initial=""),
            Variable("degc", float, "Its temperature.", unit="°C", initial=0.0),
            Variable(
                "trend_k_per_min",
                float,
                "Trend of the hottest motor; 0 before five readings.",
                unit="K/min",
                initial=0.0,
            ),
            Variable(
                "next_joint",
                str,
                "The motor that will reach the limit first; empty if none will.",
                initial="",
            ),
            Variable(
                "time_left_s",
                float,
                "Time until then; infinite if none will, 0 if one has.",
                unit="s",
                initial=inf,
            ),
            Variable(
                "is_warning",
                bool,
                "True if the remaining time is at most `warn_s`.",
                initial=False,
            ),
        ),
    )

    @classmethod
    def robot_defaults(cls, robot: Robot) -> Mapping[str, Any]:
        """Return the limit: where the robot begins to reduce stiffness."""
        return onset_limit(robot)

    def start(self) -> None:
        """Clear the readings."""
        self._readings: deque[tuple[float, np.ndarray]] = deque()

    def perceive(self) -> None:
        """Add a reading, and update the prediction."""
        now, seen = self.parameters, self.observation.temperature
        self._readings.append((self.time_s, seen))
        while self.time_s - self._readings[0][0] > now.window_s + 1e-9:
            self._readings.popleft()
        if not np.isfinite(seen).any():
            return
        names = self.robot.motor_names
        trend = self._trends()  # (n_motors,) K/s
        hottest = int(np.nanargmax(seen))
        with np.errstate(divide="ignore", invalid="ignore"):
            left_s = np.where(trend > 0.0, (now.limit_degc - seen) / trend, inf)
        left_s = np.where(seen >= now.limit_degc, 0.0, left_s)
        left_s[~np.isfinite(seen)] = inf
        first = int(np.argmin(left_s))
        time_left_s = float(left_s[first])
        self.write("joint", names[hottest])
        self.write("degc", float(seen[hottest]))
        self.write("trend_k_per_min", float(60.0 * trend[hottest]))
        self.write("next_joint", names[first] if isfinite(time_left_s) else "")
        self.write("time_left_s", time_left_s)
        self.write("is_warning", time_left_s <= now.warn_s)

    def _trends(self) -> np.ndarray:
        """Return the slope of each motor's line, (n_motors,) in K/s."""
        times = np.array([time for time, _ in self._readings])
        values = np.array([value for _, value in self._readings])  # (n, n_motors)
        slopes = np.zeros(values.shape[1])
        if len(times) < 5:
            return slopes
        is_known = np.isfinite(values)
        count = is_known.sum(axis=0)
        filled = np.where(is_known, values, 0.0)
        is_valid = count >= 5
        mean = np.where(is_valid, (times @ is_known) / np.maximum(count, 1), 0.0)
        deviation = np.where(is_known, times[:, None] - mean, 0.0)  # (n, n_motors)
        spread = (deviation**2).sum(axis=0)
        slopes[is_valid] = (deviation * filled).sum(axis=0)[is_valid] / spread[is_valid]
        return slopes


GO_TO_POSTURE = "go to posture"
COOLED_K = 15.0
"""Default difference of the temperatures at which cooling down begins and ends."""
RETRY_S = 10.0
"""Time between two attempts to reach the posture, in s."""


@dataclass(frozen=True, kw_only=True)
class CoolDownParameters(Parameters):
    """Temperatures and posture for cooling down."""

    posture: str = "upright"
    """Name or role of a stored posture."""
    from_degc: float = bounded(70.0, 0.0, 200.0, "°C")
    """Temperature of the hottest motor at which the schema becomes ready, in °C.
    Default: where the robot's protection ends its first status, or 70 °C."""
    until_degc: float = 55.0
    """Temperature below which the robot is cool, in °C. Default: `COOLED_K` below."""
    only_when_hot: bool = True
    """True: ready only while hot, for a parent with competing children. False: ready
    at once, and done when cool, for a sequence."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("until_degc", self.until_degc, 0.0, self.from_degc, "°C")


class CoolDown(ActuationSchema[CoolDownParameters]):
    """Schema that goes to a posture, then waits with the joints released.

    If the posture cannot be reached, for example because a hot motor is frozen, it
    waits, and retries every `RETRY_S`.
    """

    info = SchemaInfo(
        "cool down",
        "Go to a posture of low loss, until the motors are cool.",
        period_s=0.1,
        parameters=CoolDownParameters,
        outputs=(
            Variable(
                "degc",
                float,
                "Temperature of the hottest motor, at the last check.",
                unit="°C",
                initial=0.0,
            ),
            Variable(
                "is_there", bool, "True if it has reached its posture.", initial=False
            ),
        ),
    )

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: CoolDownParameters, robot: Robot
    ) -> None:
        """Raise for a posture that the robot does not have."""
        del activation
        robot.posture(parameters.posture)

    @classmethod
    def robot_defaults(cls, robot: Robot) -> Mapping[str, Any]:
        """Return the temperatures for a robot with thresholds of its own."""
        if robot.protection is None:
            return {}
        degc = robot.protection.release_degc[0]
        return {"from_degc": degc, "until_degc": degc - COOLED_K}

    _is_hot = False
    _retry_s = 0.0

    def ready(self) -> bool:
        """Return True if the robot is hot, and has not become cool since."""
        now, hottest = self.parameters, self._hottest()
        self.write("degc", hottest)
        self._is_hot = hottest >= (now.until_degc if self._is_hot else now.from_degc)
        return self._is_hot or not now.only_when_hot

    def start(self) -> None:
        """Go to the posture."""
        self.write("is_there", False)
        self.wake(GO_TO_POSTURE, posture=self.parameters.posture)
        self._retry_s = self.time_s + RETRY_S

    def iterate(self) -> None:
        """Wait until it is cool."""
        child = self.child(GO_TO_POSTURE)
        if child.is_done:
            self.write("is_there", True)
            self.sleep(GO_TO_POSTURE)
        elif child.error and is_due(self.time_s, self._retry_s):
            self.wake(GO_TO_POSTURE, posture=self.parameters.posture)
            self._retry_s = self.time_s + RETRY_S
        now = self.parameters
        if not now.only_when_hot and self._hottest() < now.until_degc:
            self.finish()

    def _hottest(self) -> float:
        """Return the highest temperature in °C; failed sensors are ignored."""
        seen = self.observation.temperature
        return float(np.max(seen, where=np.isfinite(seen), initial=-273.15))


@dataclass(frozen=True, kw_only=True)
class BatteryWatchParameters(Parameters):
    """Initial charge, and consumption other than the motors'."""

    charge: float = bounded(1.0, 0.0, 1.0)
    """Charge at the start of the watch, in [0, 1]."""
    idle_watts: float = bounded(IDLE_WATT, 0.0, 1000.0, "W")
    """Power of computers, sensors and lights, in W. Default: that of the robot's data;
    25 W for a NAO, an estimate."""
    efficiency: float = bounded(DRIVE_EFFICIENCY, 0.01, 1.0)
    """Efficiency of the motors' drives, in (0, 1]. Default: as in the robot's data."""
    low_from: float = bounded(0.2, 0.0, 1.0)
    """Charge at or below which it is low, in [0, 1]."""


class BatteryWatch(PerceptiveSchema[BatteryWatchParameters]):
    """Integrator of energy while it is awake."""

    info = SchemaInfo(
        "battery watch",
        "Estimate the charge of the battery from motor currents.",
        period_s=0.1,
        parameters=BatteryWatchParameters,
        outputs=(
            Variable("charge", float, "Estimated charge, in [0, 1].", initial=1.0),
            Variable(
                "power_watts",
                float,
                "Estimated mean power of the last ten seconds.",
                unit="W",
                initial=0.0,
            ),
            Variable(
                "time_left_s",
                float,
                "Time until it is empty, at that power.",
                unit="s",
                initial=inf,
            ),
            Variable("is_low", bool, "True if the charge is low.", initial=False),
        ),
    )
    MEAN_S = 10.0

    @classmethod
    def robot_defaults(cls, robot: Robot) -> Mapping[str, Any]:
        """Return the consumption of the robot's data."""
        battery = robot.battery
        return {
            "idle_watts": battery.idle_watt,
            "efficiency": battery.drive_efficiency,
        }

    def start(self) -> None:
        """Start with the charge of the parameters."""
        motors = self.robot.motors
        self._constant = np.array([motor.one_node.torque_constant for motor in motors])
        self._resistance = np.array([motor.one_node.resistance for motor in motors])
        self._charge = self.parameters.charge
        self._mean: float | None = None

    def perceive(self) -> None:
        """Subtract the energy since the last call."""
        now, seen = self.parameters, self.observation
        current, speed = seen.current, self.robot.motor_speeds(seen.v)
        motors = self._resistance * current**2 + self._constant * current * speed
        power = now.idle_watts + float(np.maximum(motors, 0.0).sum()) / now.efficiency
        if self._mean is None:
            self._mean = power
        self._mean += (power - self._mean) * min(1.0, self.period_s / self.MEAN_S)
        capacity = 3600.0 * self.robot.battery.capacity_watt_hour  # J
        self._charge = max(0.0, self._charge - power * self.period_s / capacity)
        left_s = self._charge * capacity / self._mean if self._mean > 0.0 else inf
        self.write("charge", self._charge)
        self.write("power_watts", self._mean)
        self.write("time_left_s", left_s)
        self.write("is_low", self._charge <= now.low_from)
