"""What a fit of the one-node model found, and what follows from it."""

from dataclasses import dataclass, field

import numpy as np

from models import BadInput
from sim.heating.exponentials import FloatArray
from sim.heating.identification.estimate import Estimate
from sim.heating.identification.heat_record import HeatRecord
from sim.heating.identification.response import respond


@dataclass(frozen=True, kw_only=True)
class KnownResistance:
    """The constants of the model, where R is known from elsewhere."""

    resistance: float
    """R in Ω."""
    heat_capacity: Estimate
    """C in J/K."""
    conductance: Estimate
    """λ in W/K."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OneNodeFit:
    """Constants of dT/dt = (R/C) i² - (λ/C) (T - Tₑ), from temperatures and currents.

    Temperatures give R/C and λ/C, never R, C and λ alone: ten times of each warm alike.
    """

    heating: Estimate
    """R/C in K/(s A²)."""
    rate: Estimate
    """λ/C in 1/s."""
    ambient: Estimate
    """Tₑ in °C; of no width where it was given."""
    is_ambient_given: bool
    correlation: float
    """Of the errors of R/C and λ/C, from -1 to 1."""
    start_degc: FloatArray
    """(n_records,) fitted temperature at the first row of each record, in °C."""
    residuals: tuple[FloatArray, ...] = field(repr=False)
    """For each record (n,) measured less fitted, in K; NaN where not measured."""
    rms_k: float
    """Root of the mean squared residual, in K."""
    resolution_k: float
    """Step of the sensor in K; its steps alone make a rms of 0.29 of it."""
    rows_per_error: float
    """Rows over which residuals stay alike: n rows count as n over this many."""
    remarks: tuple[str, ...]
    """What the reader of these numbers should know."""

    @property
    def time_constant(self) -> Estimate:
        """C/λ in s."""
        return self.rate.inverse(1.0, "s")

    def with_resistance(self, resistance: float) -> KnownResistance:
        """Return C and λ for a known resistance.

        Args:
            resistance: R in Ω, taken as exact.

        Raises:
            BadInput: it is not above 0, or the current did not heat at all.
        """
        if not 0.0 < resistance < np.inf:
            raise BadInput(f"resistance is {resistance} Ω; give a number above 0.")
        capacity = self.heating.inverse(resistance, "J/K")
        # λ = R (λ/C) / (R/C): relative errors add as they are correlated.
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
        """Return (n,) temperatures in °C that the fitted model gives for a record.

        Args:
            record: whose times and currents drive the model; of its temperatures only
                the first is used.
            start_degc: at its first row; None takes the first that was measured.
        """
        if start_degc is None:
            start_degc = float(record.degc[record.is_known][0])
        decay, gain, _, _ = respond(record, self.rate.value)
        ambient = self.ambient.value
        warmed: FloatArray = ambient + (start_degc - ambient) * decay
        return warmed + self.heating.value * gain

    def steady_degc(self, mean_square_current: float) -> float:
        """Return where the temperature ends under a constant i² in A², in °C."""
        if self.rate.value <= 0.0:
            return float("inf")
        rise = self.heating.value / self.rate.value * mean_square_current
        return self.ambient.value + rise


def _relative(estimate: Estimate) -> float:
    return (estimate.high - estimate.low) / (2.0 * estimate.value)
