"""Watches the hottest motor, and says when it will reach a limit.

A straight line through the readings of the last minute, by least squares,

    T(t) ≈ a + b (t - t̄),      b = Σ (t - t̄) T / Σ (t - t̄)²,      t* = (T_max - T) / b,

is the trend b of each motor and the time t* that is left to it. Readings come once a
second in steps of 1 K (an estimate, see the robot's sensor rates), so a shorter time
would show the steps, and a longer one what is long over. Heating slows down as a motor
gets hot: t* is too short rather than too long.
"""

from collections import deque
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from controllers.schemas.info import SchemaInfo
from controllers.schemas.library.ranges import check_between
from controllers.schemas.schema import PerceptiveSchema
from controllers.schemas.variables import Variable


@dataclass(frozen=True, kw_only=True)
class HotJointWatchParameters:
    """What is hot, and how far ahead it looks."""

    limit_degc: float = 76.0
    """Temperature that should not be reached, in °C: where a NAO begins to reduce
    stiffness [nao-lola] [hulk], and where hotEngine takes the motor away."""
    warn_s: float = 60.0
    """It warns when the limit will be reached within this time, in s."""
    window_s: float = 60.0
    """Time over which the trend is taken, in s."""

    def __post_init__(self) -> None:
        """Refuse numbers out of range.

        Raises:
            BadInput: one of them.
        """
        check_between("limit_degc", self.limit_degc, 0.0, 200.0, "°C")
        check_between("warn_s", self.warn_s, 0.0, 36_000.0, "s")
        check_between("window_s", self.window_s, 5.0, 3600.0, "s")


class HotJointWatch(PerceptiveSchema[HotJointWatchParameters]):
    """Follows all temperatures; a sensor that fails is left out while it does."""

    info = SchemaInfo(
        name="hot joint watch",
        about="Says which motor is hottest, and when the first one is too hot.",
        period_s=1.0,
        parameters=HotJointWatchParameters,
        outputs=(
            Variable(name="joint", type=str, about="The hottest motor.", initial=""),
            Variable(
                name="degc",
                type=float,
                unit="°C",
                about="Its temperature.",
                initial=0.0,
            ),
            Variable(
                name="trend_k_per_min",
                type=float,
                unit="K/min",
                about="Of the hottest motor; 0 until five readings are there.",
                initial=0.0,
            ),
            Variable(
                name="next_joint",
                type=str,
                about="The motor that will reach the limit first; empty if none will.",
                initial="",
            ),
            Variable(
                name="time_left_s",
                type=float,
                unit="s",
                about="Until it does; infinite if none will, 0 if one has.",
                initial=inf,
            ),
            Variable(
                name="is_warning",
                type=bool,
                about="Whether the time that is left is short.",
                initial=False,
            ),
        ),
    )

    def start(self) -> None:
        """Begin without a past."""
        self._readings: deque[tuple[float, np.ndarray]] = deque()

    def perceive(self) -> None:
        """Take a reading, and look ahead."""
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
        enough = count >= 5
        mean = np.where(enough, (times @ is_known) / np.maximum(count, 1), 0.0)
        off = np.where(is_known, times[:, None] - mean, 0.0)  # (n, n_motors)
        spread = (off**2).sum(axis=0)
        slopes[enough] = ((off * filled).sum(axis=0))[enough] / spread[enough]
        return slopes
