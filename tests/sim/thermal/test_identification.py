"""The fit recovers known constants and gives their uncertainty."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.thermal import HeatingCfg, make_heating
from nao_testbed.sim.thermal.identification import fit_one_node
from nao_testbed.sim.thermal.one_node_fit import HeatRecord, respond
from tests.sim.thermal.made_records import Truth, made_record

RTOL_EXACT = 1e-6  # least squares on exact temperatures stop there
RTOL_ODE = 1e-7  # the ODE solver is asked for 1e-10

TWO_LOADS = np.repeat([1.2, 0.3], 300)  # A, each for 300 rows


@given(
    heating=st.floats(0.01, 2.0),
    time_constant=st.floats(100.0, 6000.0),
    ambient=st.floats(0.0, 40.0),
    start=st.floats(-10.0, 60.0),
)
@settings(max_examples=40)
def test_exact_temperatures_recover_the_constants(
    heating: float, time_constant: float, ambient: float, start: float
) -> None:
    truth = Truth(heating=heating, rate=1.0 / time_constant, ambient=ambient)
    record = made_record(truth, TWO_LOADS, 4.0, start)
    fit = fit_one_node([record])
    found = [fit.heating.value, fit.time_constant.value, fit.ambient.value]
    wanted = [heating, time_constant, ambient]
    assert_allclose(found, wanted, rtol=RTOL_EXACT, atol=1e-4)
    assert_allclose(fit.start_degc, [start], atol=1e-4)


@pytest.mark.slow
def test_intervals_have_their_stated_coverage() -> None:
    """At least 90 of 100 intervals of 95 %; also with quantisation only.

    Quantisation without noise is the hard case: errors are equal for many rows.
    """
    rng = np.random.default_rng(7)
    held = dict.fromkeys(itertools.product(("steps", "noise"), ("R/C", "λ/C", "Tₑ")), 0)
    trials = 60
    for kind in ("steps", "noise"):
        for _ in range(trials):
            truth = Truth(
                heating=rng.uniform(0.05, 0.5),
                rate=1.0 / rng.uniform(600.0, 3000.0),
                ambient=rng.uniform(20.0, 38.0),
            )
            switch = int(rng.integers(300, 600))
            loads = [rng.uniform(0.5, 1.2), rng.uniform(0.0, 0.3)]
            current = np.repeat(loads, [switch, 900 - switch])
            record = made_record(
                truth,
                current,
                2.0,
                truth.ambient + rng.uniform(-2.0, 20.0),
                rng,
                noise_k=0.3 if kind == "noise" else 0.0,
                resolution_k=1.0,
            )
            fit = fit_one_node([record])
            held[kind, "R/C"] += fit.heating.holds(truth.heating)
            held[kind, "λ/C"] += fit.rate.holds(truth.rate)
            held[kind, "Tₑ"] += fit.ambient.holds(truth.ambient)
    shares = {key: count / trials for key, count in held.items()}
    assert min(shares.values()) >= 0.9, shares


def test_interval_width_matches_the_scatter() -> None:
    """λ included: its error depends on the correlated errors of R/C and λ/C."""
    rng = np.random.default_rng(5)
    exact = made_record(Truth(), TWO_LOADS, 4.0, 30.0)
    values, halves = [], []
    for _ in range(60):
        noisy = HeatRecord(
            time_s=exact.time_s,
            degc=exact.degc + rng.normal(0.0, 0.3, exact.degc.size),
            mean_square_current=exact.mean_square_current,
        )
        fit = fit_one_node([noisy], ambient_degc=Truth().ambient)
        known = fit.with_resistance(6.44)
        estimates = (fit.heating, fit.rate, known.heat_capacity, known.conductance)
        values.append([e.value for e in estimates])
        halves.append([0.5 * (e.high - e.low) for e in estimates])
    scatter = 1.96 * np.std(values, axis=0)
    assert_allclose(np.mean(halves, axis=0), scatter, rtol=0.35)  # 60 trials


def test_repeated_readings_do_not_narrow_the_interval() -> None:
    """Ten times the rows in the same steps of 1 K: the interval hardly shrinks."""
    truth = Truth()
    widths = []
    for rows in (1000, 10000):
        current = np.repeat([1.2, 0.3], rows // 2)
        record = made_record(truth, current, 1800.0 / rows, 30.0, resolution_k=1.0)
        rate = fit_one_node([record]).rate
        widths.append(rate.high - rate.low)
    assert widths[1] > 0.7 * widths[0]  # independent errors: 0.32


def test_the_exact_steps_agree_with_an_ode_solver() -> None:
    rng = np.random.default_rng(3)
    square = rng.uniform(0.0, 2.0, 12)
    step_s = rng.uniform(0.5, 300.0, 12)
    time_s = np.concatenate(([0.0], np.cumsum(step_s)))
    record = HeatRecord(
        time_s=time_s, degc=np.full(13, 30.0), mean_square_current=square
    )
    for rate in (1e-7, 1e-3, 0.1):
        _, gain, _, gain_slope = respond(record, rate)
        y = np.zeros(2)
        for k in range(12):
            # dg/dt = i² - b g, and its derivative by b
            A = np.array([[-rate, 0.0], [-1.0, -rate]])
            y = solve_ivp(
                lambda _t, y, A, s: A @ y + np.array([s, 0.0]),
                (0.0, step_s[k]),
                y,
                args=(A, square[k]),
                rtol=1e-10,
                atol=1e-12,
            ).y[:, -1]
            assert_allclose([gain[k + 1], gain_slope[k + 1]], y, rtol=RTOL_ODE)


def test_one_constant_current_needs_an_ambient_temperature() -> None:
    record = made_record(Truth(), np.full(400, 1.0), 4.0, 30.0)
    with pytest.raises(BadInput, match=r"separated\. Give the ambient temperature"):
        fit_one_node([record])
    fit = fit_one_node([record], ambient_degc=27.0)
    assert_allclose(fit.heating.value, 0.15, rtol=RTOL_EXACT)
    assert fit.is_ambient_given
    assert fit.ambient.low == fit.ambient.high == 27.0


def test_motors_with_different_currents_identify_ambient() -> None:
    records = [
        made_record(Truth(), np.full(400, i), 4.0, 30.0) for i in (0.4, 0.8, 1.2)
    ]
    fit = fit_one_node(records)
    assert_allclose(fit.heating.value, 0.15, rtol=RTOL_EXACT)
    assert_allclose(fit.ambient.value, 27.0, rtol=RTOL_EXACT)


def test_fit_predicts_unseen_data() -> None:
    rng = np.random.default_rng(11)
    current = rng.uniform(0.2, 1.3, 900)
    record = made_record(Truth(), current, 2.0, 30.0, rng, 0.1, 1.0)
    exact = made_record(Truth(), current, 2.0, 30.0)
    fit = fit_one_node([record.part(end_s=900.0)])
    later = exact.part(begin_s=900.0)
    error = fit.predict(later) - later.degc
    assert np.abs(error).max() < 0.5  # K, of a rise of 14 K


def test_fit_recovers_the_constants_of_the_heating_model(nao: Robot) -> None:
    """The simulator's heating, driven by torques: the fit recovers the table."""
    heating = make_heating(nao, HeatingCfg())
    motor = nao.motor_names.index("LHipRoll")
    data = nao.motors[motor].one_node
    heating.reset(30.0)
    torque = np.full(len(nao.motors), 1.0)
    degc, squares = [heating.temperature[motor]], []
    for k in range(400):
        torque[motor] = 2.0 if k < 200 else 0.5
        heating.advance(torque**2, 5.0)
        degc.append(heating.temperature[motor])
        squares.append((torque[motor] / data.torque_constant) ** 2)
    record = HeatRecord(
        time_s=5.0 * np.arange(401.0),
        degc=np.array(degc),
        mean_square_current=np.array(squares),
    )
    known = fit_one_node([record]).with_resistance(data.resistance)
    assert_allclose(known.heat_capacity.value, data.heat_capacity, rtol=RTOL_EXACT)
    assert_allclose(known.conductance.value, data.conductance, rtol=RTOL_EXACT)


def test_a_too_short_record_is_remarked() -> None:
    rng = np.random.default_rng(2)
    record = made_record(Truth(), np.full(60, 1.0), 1.0, 30.0, rng, 0.0, 1.0)
    fit = fit_one_node([record], ambient_degc=27.0)
    assert any("λ/C may be 0" in remark for remark in fit.remarks)
    assert fit.rate.low <= 0.0 or fit.time_constant.high == np.inf


def test_a_motor_that_its_current_cools_is_remarked() -> None:
    """The motor cools from 60 °C and the current log belongs to another motor."""
    time_s = np.arange(600.0)
    record = HeatRecord.from_currents(time_s, 60.0 - 0.05 * time_s, np.ones(600))
    fit = fit_one_node([record], ambient_degc=25.0)
    assert fit.heating.high < 0.0
    assert any("R/C is negative" in remark for remark in fit.remarks)
    assert not any("R/C may be 0" in remark for remark in fit.remarks)


def test_residuals_larger_than_the_steps_are_remarked() -> None:
    rng = np.random.default_rng(2)
    record = made_record(Truth(), TWO_LOADS, 4.0, 30.0, rng, 2.0, 1.0)
    (remark,) = fit_one_node([record]).remarks
    assert "exceed those of 1 K steps (0.29 K)" in remark


@pytest.mark.parametrize(
    ("current", "what"),
    [
        (0.0, "no current flows in any record"),
        (1.0, "the temperature is 30 °C throughout"),
    ],
)
def test_uninformative_records_are_rejected(current: float, what: str) -> None:
    record = made_record(Truth(), np.full(50, current), 10.0, 40.0)
    if current:
        flat = np.full(51, 30.0)
        square = record.mean_square_current
        record = HeatRecord(time_s=record.time_s, degc=flat, mean_square_current=square)
    with pytest.raises(BadInput, match=what):
        fit_one_node([record])
    with pytest.raises(BadInput, match="no record"):
        fit_one_node([])
    with pytest.raises(BadInput, match="ambient temperature is nan °C"):
        fit_one_node([record], ambient_degc=np.nan)


def test_resistance_is_positive() -> None:
    fit = fit_one_node([made_record(Truth(), TWO_LOADS, 4.0, 30.0)])
    for resistance in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(BadInput, match="resistance is"):
            fit.with_resistance(resistance)
