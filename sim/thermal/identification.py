"""Identification of the one-node model from measured temperatures: R/C, λ/C, ambient.

    fit = fit_one_node([record])  # one record for each stretch without gaps
    fit.rate.low, fit.rate.value, fit.rate.high
    fit.with_resistance(6.44).heat_capacity

    build_start -> least squares -> covariance -> intervals

All records are of one kind of motor and share R/C, λ/C and Tₑ; each has its own start
temperature. The model is linear in all parameters but λ/C: a search over λ/C starts the
least squares. Intervals count runs of correlated residuals as one error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import t as student

from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.one_node_fit import (
    CONFIDENCE,
    Estimate,
    HeatRecord,
    OneNodeFit,
    respond,
)


def rows_per_error(residuals: Sequence[FloatArray]) -> float:
    """Return the number of rows over which residuals are correlated, at least 1.

    A sensor that counts in whole degrees has the same error for many rows. With ρ_k the
    autocorrelation at a lag of k rows, a mean over n rows varies as one over n / s
    independent ones, s = 1 + 2 Σ ρ_k. The sum ends at the first ρ_k not above 0,
    because the rest is noise [geyer1992]; s is therefore rather too large than too
    small.

    Args:
        residuals: residuals by record; NaN, a row without a measurement, counts as 0.
    """
    filled = [np.where(np.isfinite(r), r, 0.0) for r in residuals]
    power = sum(float(r @ r) for r in filled)
    if power == 0.0:
        return 1.0
    products = np.zeros(max(r.size for r in filled))
    for r in filled:
        n = 1 << (2 * r.size - 1).bit_length()
        spectrum = np.fft.rfft(r, n)
        products[: r.size] += np.fft.irfft(np.abs(spectrum) ** 2, n)[: r.size]
    rho = products / power
    ends = np.flatnonzero(rho <= 0.0)
    last = int(ends[0]) if ends.size else rho.size
    return float(max(1.0, 1.0 + 2.0 * rho[1:last].sum()))


TRIED_RATES = 25
"""Number of start values of λ/C for the least squares."""
SHORTEST_TIME_CONSTANT_S = 5.0
"""Shortest time constant of a motor with a gear, in s."""
OnTried = Callable[[int, int], None]
MIN_SINGULAR_VALUE = 1e-5
"""Smallest singular value (columns of length 1) below which effects are the same."""


def fit_one_node(
    records: Sequence[HeatRecord],
    *,
    ambient_degc: float | None = None,
    on_tried: OnTried = lambda _done, _of: None,
) -> OneNodeFit:
    """Fit the model dT/dt = (R/C) i² - (λ/C) (T - Tₑ) to measured temperatures.

    Intervals cover the uncertainty by noise and the sensor's steps; correlated
    residuals count as one error. They assume a correct model. That assumption can only
    be tested with rows outside the fit.

    Args:
        records: stretches of one motor, or of motors of one kind in the same air.
        ambient_degc: Tₑ in °C, if it is known; None fits it too. For this the current
            must change, or differ between records.
        on_tried: function called with the number of tried values of λ/C and their
            total.

    Raises:
        BadInput: there are no records, the temperature never changes, or the records
            cannot separate heat from warm air.
    """
    problem = _build(records, ambient_degc)
    rates = _rates(records)
    starts = []
    for i, rate in enumerate(rates):
        starts.append(problem.linear_start(rate))
        on_tried(i + 1, len(rates))
    start = min(starts, key=lambda s: s[0])[1]
    lower = np.full(start.size, -np.inf)
    lower[0] = 0.0
    solution = least_squares(
        problem.residual,
        start,
        problem.jacobian,
        bounds=(lower, np.inf),
        x_scale=np.maximum(np.abs(start), 1e-6),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    return _conclude(problem, solution.x)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    """Least-squares problem with x = (b, a, T₀ of each record, and Tₑ unless given)."""

    records: tuple[HeatRecord, ...]
    known: tuple[np.ndarray, ...]
    measured: FloatArray
    ambient_degc: float | None

    def design(self, rate: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return A, c of T = A (a, T₀..., Tₑ) + c at this rate, and d, g by b."""
        n = len(self.records)
        is_free = self.ambient_degc is None
        blocks, constants, slopes = [], [], []
        for i, (record, known) in enumerate(zip(self.records, self.known, strict=True)):
            decay, gain, decay_slope, gain_slope = (
                column[known] for column in respond(record, rate)
            )
            block = np.zeros((decay.size, 1 + n + is_free))
            block[:, 0] = gain
            block[:, 1 + i] = decay
            if is_free:
                block[:, -1] = 1.0 - decay
                constants.append(np.zeros(decay.size))
            else:
                constants.append(self.ambient_degc * (1.0 - decay))
            blocks.append(block)
            slopes.append(np.column_stack((decay_slope, gain_slope)))
        return np.vstack(blocks), np.concatenate(constants), np.vstack(slopes)

    def linear_start(self, rate: float) -> tuple[float, FloatArray]:
        """Return the squared error and x of the best fit at this rate."""
        A, c, _ = self.design(rate)
        linear, *_ = np.linalg.lstsq(A, self.measured - c)
        error = self.measured - c - A @ linear
        return float(error @ error), np.concatenate(([rate], linear))

    def residual(self, x: FloatArray) -> FloatArray:
        """Return fitted minus measured temperatures at every known row, in K."""
        A, c, _ = self.design(x[0])
        return A @ x[1:] + c - self.measured

    def jacobian(self, x: FloatArray) -> FloatArray:
        """Return the derivatives of the residual by x."""
        A, _, slopes = self.design(x[0])
        ambient = self.ambient_degc if self.ambient_degc is not None else x[-1]
        sizes = [int(known.sum()) for known in self.known]
        start = np.repeat(x[2 : 2 + len(sizes)], sizes)
        by_rate = (start - ambient) * slopes[:, 0] + x[1] * slopes[:, 1]
        return np.column_stack((by_rate, A))

    def split(self, rows: FloatArray) -> tuple[FloatArray, ...]:
        """Return values of the known rows by record, NaN at the others."""
        out, begin = [], 0
        for known in self.known:
            values = np.full(known.size, np.nan)
            n = int(known.sum())
            values[known] = rows[begin : begin + n]
            begin += n
            out.append(values)
        return tuple(out)


def _build(records: Sequence[HeatRecord], ambient_degc: float | None) -> _Problem:
    if not records:
        raise BadInput("no record to fit; give at least one.")
    if ambient_degc is not None and not -50.0 < ambient_degc < 100.0:
        raise BadInput(
            f"ambient temperature is {ambient_degc} °C; give one from -50 to 100."
        )
    known = tuple(record.is_known for record in records)
    measured = np.concatenate(
        [record.degc[k] for record, k in zip(records, known, strict=True)]
    )
    if np.ptp(measured) == 0.0:
        raise BadInput(
            f"the temperature is {measured[0]:g} °C throughout: it does not "
            f"identify the motor. Record one that warms or cools by a few kelvins."
        )
    return _Problem(
        records=tuple(records),
        known=known,
        measured=measured,
        ambient_degc=ambient_degc,
    )


def _rates(records: Sequence[HeatRecord]) -> FloatArray:
    """Return trial rates in 1/s, from too slow for the longest record to very fast."""
    longest = max(record.duration_s for record in records)
    slowest = min(1e-2 / longest, 0.1 / SHORTEST_TIME_CONSTANT_S)
    return np.geomspace(slowest, 1.0 / SHORTEST_TIME_CONSTANT_S, TRIED_RATES)


def _conclude(problem: _Problem, x: FloatArray) -> OneNodeFit:
    """Return the fit with its intervals.

    Raises:
        BadInput: two parameters have the same effect.
    """
    J = problem.jacobian(x)
    _check_identifiable(J, problem)
    residual = -problem.residual(x)
    residuals = problem.split(residual)
    resolution = max(record.resolution_k for record in problem.records)
    rms = float(np.sqrt(np.mean(residual**2)))
    alike = rows_per_error(residuals)
    variance = max(rms**2, resolution**2 / 12.0) * alike
    freedom = max(residual.size / alike - x.size, 1.0)
    scale = np.linalg.norm(J, axis=0)
    covariance = np.linalg.inv((J / scale).T @ (J / scale)) / np.outer(scale, scale)
    half = student.ppf(0.5 + CONFIDENCE / 2.0, freedom) * np.sqrt(
        variance * np.diag(covariance)
    )
    n = len(problem.records)
    is_given = problem.ambient_degc is not None
    ambient = (
        Estimate(
            value=float(problem.ambient_degc),
            low=float(problem.ambient_degc),
            high=float(problem.ambient_degc),
            unit="°C",
        )
        if problem.ambient_degc is not None
        else _estimate(x[-1], half[-1], "°C")
    )
    rate = _estimate(x[0], half[0], "1/s")
    heating = _estimate(x[1], half[1], "K/(s A²)")
    return OneNodeFit(
        heating=heating,
        rate=rate,
        ambient=ambient,
        is_ambient_given=is_given,
        correlation=float(
            covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
        ),
        start_degc=x[2 : 2 + n].copy(),
        residuals=residuals,
        rms_k=rms,
        resolution_k=resolution,
        rows_per_error=alike,
        remarks=_remarks(problem, rate, heating, rms, resolution),
    )


def _estimate(value: float, half: float, unit: str) -> Estimate:
    return Estimate(
        value=float(value), low=float(value - half), high=float(value + half), unit=unit
    )


def _check_identifiable(J: FloatArray, problem: _Problem) -> None:
    """Raise BadInput if two parameters have the same effect in the records."""
    length = np.linalg.norm(J, axis=0)
    if length[1] == 0.0:
        raise BadInput(
            "no current flows in any record: cooling alone does not identify the "
            "heating. Add a record with a current."
        )
    smallest = np.linalg.svd(J / np.where(length > 0, length, 1.0), compute_uv=False)[
        -1
    ]
    if length.min() > 0.0 and smallest > MIN_SINGULAR_VALUE:
        return
    if problem.ambient_degc is None:
        raise BadInput(
            "the current is constant: a stronger heater and warmer air "
            "cannot be separated. Give the ambient temperature, or records with "
            "different currents."
        )
    raise BadInput(
        "the records do not separate heating from cooling; give a longer one, or one "
        "in which the current changes."
    )


def _remarks(
    problem: _Problem, rate: Estimate, heating: Estimate, rms: float, step: float
) -> tuple[str, ...]:
    remarks = []
    longest = max(record.duration_s for record in problem.records)
    if rate.low <= 0.0:
        remarks.append(
            f"λ/C may be 0: within {longest:.0f} s the temperature curves too "
            f"little to tell how fast the motor cools."
        )
    if heating.high < 0.0:
        remarks.append(
            "R/C is negative, which is impossible: the motor cools while a current "
            "flows. Check the ambient temperature, and that currents and temperatures "
            "are of one motor."
        )
    elif heating.low <= 0.0:
        remarks.append("R/C may be 0: the current does not explain the temperature.")
    if step > 0.0 and rms > 2.0 * step / np.sqrt(12.0):
        remarks.append(
            f"residuals of {rms:.2f} K rms exceed those of {step:g} K steps "
            f"({step / np.sqrt(12.0):.2f} K): noise, or more than one thermal node."
        )
    return tuple(remarks)
