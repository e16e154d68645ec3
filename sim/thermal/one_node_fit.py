"""Records of measured temperatures, responses of the one-node model, and fit results.

With b = λ/C and a = R/C the one-node model is dT/dt = a i² - b (T - Tₑ). Its solution
at the rows of a record is linear in all but b, and its steps are exact for any rate:

    T(t) = Tₑ + (T₀ - Tₑ) d(t) + a g(t),      d = e^{-bt},   dg/dt = i² - b g,  g(0) = 0

and for a constant i² over h seconds  g⁺ = e^{-bh} g + i² h φ₁(-bh)  is exact.
"""

import math
from dataclasses import dataclass, field

import numba
import numpy as np

from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray

CONFIDENCE = 0.95
"""Confidence level of every interval."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Estimated number with its 95 % interval."""

    value: float
    low: float
    high: float
    unit: str

    def holds(self, number: float) -> bool:
        """Return True if the interval contains a number."""
        return self.low <= number <= self.high

    def scaled(self, factor: float, unit: str) -> "Estimate":
        """Return the estimate of `factor` times the number.

        Args:
            factor: exactly known, above 0.
            unit: unit of the product.
        """
        return Estimate(
            value=factor * self.value,
            low=factor * self.low,
            high=factor * self.high,
            unit=unit,
        )

    def inverse(self, factor: float, unit: str) -> "Estimate":
        """Return the estimate of `factor` over the number.

        If the interval contains 0, the result has no upper end.

        Args:
            factor: exactly known, above 0.
            unit: unit of the quotient.

        Raises:
            BadInput: the number is not above 0.
        """
        if not self.value > 0.0:
            raise BadInput(
                f"{self.value:g} {self.unit} has no inverse; give a longer record, in "
                f"which the temperature curves."
            )
        return Estimate(
            value=factor / self.value,
            low=factor / self.high,
            high=factor / self.low if self.low > 0.0 else float("inf"),
            unit=unit,
        )

    def __str__(self) -> str:
        """Return value, interval and unit, such as `12.1 (11.4 to 12.9) K/(s A²)`."""
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}) {self.unit}"


MIN_TEMPERATURES = 5
"""Smallest number of temperatures of a record; fewer do not define a curve."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatRecord:
    """Times, temperatures, and the heating between them.

    Temperatures may be missing, squared currents may not.
    """

    time_s: FloatArray
    """(n,) strictly rising, in s."""
    degc: FloatArray
    """(n,) measured temperature in °C; NaN if not measured."""
    mean_square_current: FloatArray
    """(n - 1,) mean of i² between one row and the next, in A²."""

    def __post_init__(self) -> None:
        """Check the record.

        Raises:
            BadInput: lengths differ; times do not rise; a square is negative or not
                finite; or fewer than five temperatures are known.
        """
        n = self.time_s.size
        if self.degc.shape != (n,) or self.mean_square_current.shape != (
            max(n - 1, 0),
        ):
            raise BadInput(
                f"a record has {n} times, {self.degc.size} temperatures and "
                f"{self.mean_square_current.size} squared currents; give as many "
                f"temperatures as times, and a square for each time between two rows."
            )
        known = int(np.isfinite(self.degc).sum())
        if known < MIN_TEMPERATURES:
            raise BadInput(
                f"a record has {known} temperatures; give {MIN_TEMPERATURES} or more."
            )
        if not (np.diff(self.time_s) > 0.0).all():
            raise BadInput("times of a record do not increase; sort them.")
        square = self.mean_square_current
        if not ((square >= 0.0) & np.isfinite(square)).all():
            raise BadInput(
                "a mean squared current is not a number from 0 up; fill it, or end the "
                "record before it."
            )

    @classmethod
    def from_currents(
        cls, time_s: FloatArray, degc: FloatArray, current: FloatArray
    ) -> "HeatRecord":
        """Return a record from currents read at the same times as the temperatures.

        i² is assumed linear between rows: its heat is then exact to second order.

        Args:
            time_s: (n,) strictly rising, in s.
            degc: (n,) in °C; NaN if not measured.
            current: (n,) in A, of either sign.

        Raises:
            BadInput: as the class.
        """
        square = current**2
        return cls(
            time_s=time_s, degc=degc, mean_square_current=(square[1:] + square[:-1]) / 2
        )

    @property
    def duration_s(self) -> float:
        """Time from the first row to the last, in s."""
        return float(self.time_s[-1] - self.time_s[0])

    @property
    def is_known(self) -> np.ndarray:
        """(n,) True for measured temperatures."""
        return np.isfinite(self.degc)

    @property
    def resolution_k(self) -> float:
        """Step of the sensor, in K; 0 if no steps are visible.

        It is the smallest difference between two readings, if rows repeat few readings.
        """
        known = self.degc[self.is_known]
        readings = np.unique(np.round(known, 6))
        if 2 <= readings.size <= known.size / 3:
            return float(np.diff(readings).min())
        return 0.0

    def thinned(self, step_s: float) -> "HeatRecord":
        """Return a record with about one row per `step_s`.

        It is the last of each step with a temperature, if there is one. No heat is
        lost: the mean of i² covers the dropped rows.

        Raises:
            BadInput: fewer than five temperatures remain.
        """
        slot = np.floor((self.time_s - self.time_s[0]) / step_s + 1e-9)
        n = self.time_s.size
        begin = np.flatnonzero(np.diff(slot, prepend=-np.inf) > 0.0)
        last = np.maximum.reduceat(np.arange(n) + n * self.is_known, begin) % n
        heat = np.cumsum(self.mean_square_current * np.diff(self.time_s))
        until = np.concatenate(([0.0], heat))[last]
        time_s = self.time_s[last]
        mean = np.maximum(np.diff(until), 0.0) / np.diff(time_s)
        return HeatRecord(time_s=time_s, degc=self.degc[last], mean_square_current=mean)

    def part(self, begin_s: float = -np.inf, end_s: float = np.inf) -> "HeatRecord":
        """Return the rows from one time to another, both in s, both included.

        A fit to the earlier part can be tested on the later one.

        Raises:
            BadInput: fewer than five temperatures remain.
        """
        first = int(np.searchsorted(self.time_s, begin_s, side="left"))
        last = int(np.searchsorted(self.time_s, end_s, side="right"))
        return HeatRecord(
            time_s=self.time_s[first:last],
            degc=self.degc[first:last],
            mean_square_current=self.mean_square_current[first : max(last - 1, first)],
        )


def respond(record: HeatRecord, rate: float) -> tuple[FloatArray, ...]:
    """Return d, g and their derivatives by b, each (n,).

    Args:
        record: record with n rows.
        rate: b in 1/s, not negative.
    """
    elapsed = record.time_s - record.time_s[0]
    decay = np.exp(-rate * elapsed)
    gain, gain_slope = _gain(np.diff(record.time_s), record.mean_square_current, rate)
    return decay, gain, -elapsed * decay, gain_slope


@numba.njit(cache=True)
def _gain(
    step_s: FloatArray, square: FloatArray, rate: float
) -> tuple[FloatArray, FloatArray]:
    """Return g and dg/db at the rows."""
    gain = np.zeros(step_s.size + 1)
    slope = np.zeros(step_s.size + 1)
    for k in range(step_s.size):
        h = step_s[k]
        z = -rate * h
        e = math.exp(z)
        if abs(z) < 1e-3:  # the quotients cancel; the truncation error is below 1e-11
            p = 1.0 + z * (1.0 / 2.0 + z * (1.0 / 6.0 + z / 24.0))
            p_slope = 1.0 / 2.0 + z * (1.0 / 3.0 + z / 8.0)
        else:
            p = math.expm1(z) / z
            p_slope = (e - p) / z
        gain[k + 1] = e * gain[k] + square[k] * h * p
        slope[k + 1] = e * (slope[k] - h * gain[k]) - square[k] * h * h * p_slope
    return gain, slope


@dataclass(frozen=True, kw_only=True)
class KnownResistance:
    """Constants of the model for a resistance R known from another source."""

    resistance: float
    """R in Ω."""
    heat_capacity: Estimate
    """C in J/K."""
    conductance: Estimate
    """λ in W/K."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OneNodeFit:
    """Constants of dT/dt = (R/C) i² - (λ/C) (T - Tₑ), from temperatures and currents.

    Temperatures determine R/C and λ/C, not R, C and λ: a common factor on all three has
    no effect.
    """

    heating: Estimate
    """R/C in K/(s A²)."""
    rate: Estimate
    """λ/C in 1/s."""
    ambient: Estimate
    """Tₑ in °C; an interval without width if it was given."""
    is_ambient_given: bool
    correlation: float
    """Correlation of the errors of R/C and λ/C, from -1 to 1."""
    start_degc: FloatArray
    """(n_records,) fitted temperature at the first row of each record, in °C."""
    residuals: tuple[FloatArray, ...] = field(repr=False)
    """For each record, (n,) measured minus fitted temperature in K; NaN if not
    measured."""
    rms_k: float
    """Root of the mean squared residual, in K."""
    resolution_k: float
    """Step of the sensor in K; rounding alone causes an rms residual of 0.29 steps."""
    rows_per_error: float
    """Number of rows over which residuals are correlated: n rows count as n divided by
    it."""
    remarks: tuple[str, ...]
    """Remarks for readers of the numbers."""

    @property
    def time_constant(self) -> Estimate:
        """C/λ in s."""
        return self.rate.inverse(1.0, "s")

    def with_resistance(self, resistance: float) -> KnownResistance:
        """Return C and λ for a known resistance.

        Args:
            resistance: R in Ω, assumed exact.

        Raises:
            BadInput: the resistance is not above 0, or the current had no heating
                effect.
        """
        if not 0.0 < resistance < np.inf:
            raise BadInput(f"resistance is {resistance} Ω; give a number above 0.")
        capacity = self.heating.inverse(resistance, "J/K")
        # λ = R (λ/C) / (R/C): relative errors add according to their correlation.
        r, h = _relative(self.rate), _relative(self.heating)
        relative = np.sqrt(max(r**2 + h**2 - 2.0 * self.correlation * r * h, 0.0))
        value = resistance * self.rate.value / self.heating.value
        return KnownResistance(
            resistance=resistance,
            heat_capacity=capacity,
            conductance=Estimate(
                value=value,
                low=value * (1.0 - relative),
                high=value * (1.0 + relative),
                unit="W/K",
            ),
        )

    def predict(
        self, record: HeatRecord, start_degc: float | None = None
    ) -> FloatArray:
        """Return (n,) temperatures in °C of the fitted model for a record.

        Args:
            record: record with times and currents; of its temperatures only the first
                is used.
            start_degc: temperature at the first row in °C; None: the first measured
                one.
        """
        if start_degc is None:
            start_degc = float(record.degc[record.is_known][0])
        decay, gain, _, _ = respond(record, self.rate.value)
        ambient = self.ambient.value
        warmed: FloatArray = ambient + (start_degc - ambient) * decay
        return warmed + self.heating.value * gain

    def steady_degc(self, mean_square_current: float) -> float:
        """Return the final temperature under a constant i² in A², in °C."""
        if self.rate.value <= 0.0:
            return float("inf")
        rise = self.heating.value / self.rate.value * mean_square_current
        return self.ambient.value + rise


def _relative(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / (2.0 * estimate.value)
