"""Joint heating against closed forms, an ODE solver and check values."""

import dataclasses
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.integrate import quad, solve_ivp

from nao_testbed.models import BadInput, Motor, OneNodeHeating, Robot, TwoNodeHeating
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal import (
    COPPER_COEFFICIENT,
    MELTING_DEGC,
    Heating,
    HeatingCfg,
    HeatingModel,
    make_heating,
    motor_torque,
)
from nao_testbed.sim.thermal.heating import phi1, phi2

Slope = Callable[[float, NDArray[np.float64]], list[float]]

RTOL_EXACT = 1e-9  # rounding of a few exponentials
ATOL_ODE = 1e-6  # K, tolerance asked of the ODE solver is 1e-10 relative

LEG_PITCH = OneNodeHeating(
    torque_constant=2.8,
    resistance=6.44,
    conductance=0.0198,
    heat_capacity=43.6,
    ambient_degc=27.0,
)
LEG_ROLL = OneNodeHeating(
    torque_constant=4.3,
    resistance=6.44,
    conductance=0.0158,
    heat_capacity=27.2,
    ambient_degc=27.0,
)
LEG_MOTOR = TwoNodeHeating(
    joule_constant=14016.0,
    resistance_winding_housing=4.0,
    resistance_housing_ambient=12.0,
    time_constant_winding=10.0,
    time_constant_housing=450.0,
    max_winding_degc=100.0,
)
ARM_MOTOR = TwoNodeHeating(
    joule_constant=78357.0,
    resistance_winding_housing=5.5,
    resistance_housing_ambient=16.5,
    time_constant_winding=6.5,
    time_constant_housing=270.0,
    max_winding_degc=100.0,
)


def _motor(
    name: str, ratio: float, kt: float, one: OneNodeHeating, two: TwoNodeHeating
) -> Motor:
    return Motor(
        name=name,
        type="small",
        joints=(name,),
        ratios=(1.0,),
        gear_ratio=ratio,
        stall_torque=0.065,
        no_load_speed=911.0,
        torque_constant=kt,
        terminal_resistance=two.joule_constant * kt**2,
        rotor_inertia=4.3e-7,
        one_node=one,
        two_node=two,
    )


MOTORS = (
    _motor("Pitch", 130.85, 0.0237, LEG_PITCH, LEG_MOTOR),
    _motor("Roll", 201.3, 0.0237, LEG_ROLL, LEG_MOTOR),
    _motor("Elbow", 173.22, 0.0193, LEG_ROLL, ARM_MOTOR),
)
N = len(MOTORS)


def _make(cfg: HeatingCfg) -> Heating:
    return make_heating(cast(Robot, SimpleNamespace(motors=MOTORS)), cfg)


def _heating(
    model: HeatingModel, alpha: float, ambient: float | None = None
) -> Heating:
    return _make(
        HeatingCfg(model=model, copper_coefficient=alpha, ambient_degc=ambient)
    )


every_model = pytest.mark.parametrize("model", ["one-node", "two-node", "bare-motor"])
every_copper = pytest.mark.parametrize("alpha", [0.0, COPPER_COEFFICIENT])
every_variant = pytest.mark.parametrize(
    "cfg",
    [
        HeatingCfg(model=model, copper_coefficient=alpha)
        for model in ("one-node", "two-node", "bare-motor")
        for alpha in (0.0, COPPER_COEFFICIENT)
    ],
    ids=lambda cfg: f"{cfg.model}-{cfg.copper_coefficient}",
)
torques = st.lists(st.floats(0.0, 3.3), min_size=N, max_size=N).map(np.array)
starts = st.lists(st.floats(0.0, 60.0), min_size=N, max_size=N).map(np.array)
durations = st.floats(1e-3, 3e3)
laws = settings(deadline=None, max_examples=60, derandomize=True)


def _one_node_slope(motor: Motor, alpha: float, ambient: float, tau: float) -> Slope:
    d = motor.one_node

    def slope(_: float, x: FloatArray) -> list[float]:
        growth = 1.0 + alpha * (x[0] - d.ambient_degc)
        power = d.resistance * (tau / d.torque_constant) ** 2 * growth
        return [(power - d.conductance * (x[0] - ambient)) / d.heat_capacity, power]

    return slope


def _bare_motor_slope(motor: Motor, alpha: float, ambient: float, tau: float) -> Slope:
    d = motor.two_node
    c_w = d.time_constant_winding / d.resistance_winding_housing
    c_h = d.time_constant_housing / d.resistance_housing_ambient

    def slope(_: float, x: FloatArray) -> list[float]:
        shaft = tau / motor.gear_ratio
        power = d.joule_constant * shaft**2 * (1.0 + alpha * (x[0] - 25.0))
        flow = (x[0] - x[1]) / d.resistance_winding_housing
        loss = (x[1] - ambient) / d.resistance_housing_ambient
        return [(power - flow) / c_w, (flow - loss) / c_h, power]

    return slope


def _two_node_slope(motor: Motor, alpha: float, ambient: float, tau: float) -> Slope:
    """The identified motor with a separate winding node [xu2012]."""
    d, w = motor.one_node, motor.two_node
    R_wh = w.resistance_winding_housing
    c_w = w.time_constant_winding / R_wh
    c_h = d.heat_capacity - c_w - c_w * d.conductance * R_wh

    def slope(_: float, x: FloatArray) -> list[float]:
        growth = 1.0 + alpha * (x[0] - d.ambient_degc)
        power = d.resistance * (tau / d.torque_constant) ** 2 * growth
        flow = (x[0] - x[1]) / R_wh
        loss = d.conductance * (x[1] - ambient)
        return [(power - flow) / c_w, (flow - loss) / c_h, power]

    return slope


SLOPES = {
    "one-node": _one_node_slope,
    "two-node": _two_node_slope,
    "bare-motor": _bare_motor_slope,
}


@every_model
@every_copper
@pytest.mark.parametrize("ambient", [27.0, 15.0])
def test_a_long_step_agrees_with_an_ode_solver(
    model: HeatingModel, alpha: float, ambient: float
) -> None:
    tau = np.array([1.84, 2.5, 0.9])
    start = np.array([30.0, 45.0, 26.0])
    heating = _heating(model, alpha, ambient)
    heating.reset(start)
    heating.advance(tau**2, 700.0)
    for i, motor in enumerate(MOTORS):
        make = SLOPES[model]
        nodes = 1 if model == "one-node" else 2
        solution = solve_ivp(
            make(motor, alpha, ambient, tau[i]),
            (0.0, 700.0),
            [start[i]] * nodes + [0.0],
            method="LSODA",
            rtol=1e-10,
            atol=1e-10,
        )
        assert_allclose(heating.winding[i], solution.y[0, -1], atol=ATOL_ODE)
        assert_allclose(
            heating.temperature[i], solution.y[nodes - 1, -1], atol=ATOL_ODE
        )
        assert_allclose(heating.joule_energy[i], solution.y[-1, -1], rtol=1e-7)


def test_one_node_follows_the_closed_form() -> None:
    heating = _heating("one-node", 0.0)
    heating.reset(40.0)
    heating.advance(np.full(N, 1.5**2), 300.0)
    d = LEG_PITCH
    rise = d.resistance * (1.5 / d.torque_constant) ** 2 / d.conductance
    decay = math.exp(-300.0 * d.conductance / d.heat_capacity)
    expected = 27.0 + rise + (40.0 - 27.0 - rise) * decay
    assert_allclose(heating.temperature[0], expected, rtol=RTOL_EXACT)


@pytest.mark.requirement("ST-25")
def test_a_misaligned_ankle_rises_by_47_kelvin_in_15_minutes() -> None:
    """A pitch joint held at 1.84 N·m, started at ambient [xu2012]."""
    heating = _heating("one-node", 0.0)
    heating.advance(np.full(N, 1.84**2), 900.0)
    assert heating.temperature[0] - 27.0 == pytest.approx(47.0, abs=0.5)


def test_two_nodes_are_one_in_the_steady_state() -> None:
    one, two = _heating("one-node", 0.0), _heating("two-node", 0.0)
    square = np.array([1.5, 2.0, 0.9]) ** 2
    steady = one.steady_state(square)
    assert_allclose(two.steady_state(square), steady, rtol=RTOL_EXACT)
    assert_allclose(two.joule_power(square), one.joule_power(square))
    assert_allclose(two.torque_constant, one.torque_constant)


def test_two_nodes_are_one_when_slow() -> None:
    """With steadily rising power the lag C/λ is equal, hence the temperatures."""
    one, two = _heating("one-node", 0.0), _heating("two-node", 0.0)
    step_s = 4.0
    for k in range(10_000):  # 40 000 s, 18 time constants of the slowest motor
        square = np.full(N, 1e-5 * (k + 0.5) * step_s)
        one.advance(square, step_s)
        two.advance(square, step_s)
    rise = one.temperature - one.ambient
    assert (rise > 1.0).all()
    assert_allclose(two.temperature, one.temperature, rtol=0.0, atol=1e-5)


def test_two_nodes_differ_by_the_delay_of_the_winding() -> None:
    """A joint held for 15 minutes: the housing lags, the winding is hotter by P R_wh.

    1.84 N·m in a pitch joint of the leg.
    """
    one, two = _heating("one-node", 0.0), _heating("two-node", 0.0)
    square = np.full(N, 1.84**2)
    apart = []
    for _ in range(900):
        one.advance(square, 1.0)
        two.advance(square, 1.0)
        apart.append(np.abs(two.temperature - one.temperature))
    assert np.max(apart) < 0.6  # of 47 K, 45 s after the load came
    assert np.max(apart[-1]) < 0.25
    power = two.joule_power(square)
    R_wh = np.array([m.two_node.resistance_winding_housing for m in MOTORS])
    assert_allclose(two.winding - two.temperature, power * R_wh, rtol=0.1)


def test_a_winding_larger_than_its_motor_is_refused() -> None:
    heavy = dataclasses.replace(LEG_MOTOR, time_constant_winding=400.0)
    robot = SimpleNamespace(motors=[_motor("Knee", 130.0, 0.02, LEG_PITCH, heavy)])
    with pytest.raises(BadInput, match=r"motor Knee: its winding has 100 J/K"):
        make_heating(cast(Robot, robot), HeatingCfg(model="two-node"))


CHECK_VALUES = (
    (0, 1.0, 0.82, (39, 35), None),
    (0, 1.5, 1.84, (58, 50), None),
    (0, 2.0, 3.27, (91, 74), 742),
    (0, 2.5, 5.12, (145, 115), 249),
    (0, 3.0, 7.37, (242, 188), 102),
    (1, 1.0, 0.35, (31, 29), None),
    (1, 2.0, 1.38, (49, 43), None),
    (1, 3.0, 3.11, (87, 71), 877),
    (2, 0.5, 0.65, (40, 36), None),
    (2, 1.0, 2.61, (99, 81), 346),
)
"""One hour at 25 °C: motor, torque in N·m, power in W, temperatures of winding and
housing in the end in °C, and the second in which the winding has 76 °C."""


def test_a_bare_motor_reproduces_the_derived_check_values() -> None:
    """With copper feedback [nao-thermal]; each is a motor of its own."""
    motors, torques, powers, ends, times = zip(*CHECK_VALUES, strict=True)
    robot = SimpleNamespace(motors=[MOTORS[motor] for motor in motors])
    cfg = HeatingCfg(model="bare-motor", copper_coefficient=0.00393)
    heating = make_heating(cast(Robot, robot), cfg)
    square = np.array(torques) ** 2
    assert_allclose(heating.joule_power(square), powers, rtol=0.0, atol=0.006)
    windings = np.empty((3600, len(motors)))
    for row in windings:
        heating.advance(square, 1.0)
        row[:] = heating.winding
    found = np.stack([windings[-1], heating.temperature], axis=1)
    assert_allclose(found, ends, rtol=0.0, atol=0.6)
    for winding, time_to_76 in zip(windings.T, times, strict=True):
        reached = 1 + int(np.searchsorted(winding, 76.0))
        assert (None if reached > 3600 else reached) == (
            None if time_to_76 is None else pytest.approx(time_to_76, abs=1.5)
        )


@every_model
def test_half_the_torque_makes_a_quarter_of_the_heat(model: HeatingModel) -> None:
    full, half = _heating(model, 0.0), _heating(model, 0.0)
    full.advance(np.full(N, 3.0**2), 500.0)
    half.advance(np.full(N, 1.5**2), 500.0)
    assert_allclose(half.joule_energy, full.joule_energy / 4.0, rtol=RTOL_EXACT)
    rise = full.temperature - full.ambient
    assert_allclose(half.temperature - half.ambient, rise / 4.0, rtol=RTOL_EXACT)


@every_variant
@laws
@given(tau=torques, start=starts, first=durations, second=durations)
def test_two_steps_are_one(
    cfg: HeatingCfg,
    tau: FloatArray,
    start: FloatArray,
    first: float,
    second: float,
) -> None:
    once, twice = _make(cfg), _make(cfg)
    once.reset(start)
    twice.reset(start)
    once.advance(tau**2, first + second)
    twice.advance(tau**2, first)
    twice.advance(tau**2, second)
    if once.is_burnt or twice.is_burnt:
        return  # a melted motor follows no law
    assert_allclose(twice.winding, once.winding, rtol=1e-8, atol=1e-9)
    assert_allclose(twice.temperature, once.temperature, rtol=1e-8, atol=1e-9)
    assert_allclose(twice.joule_energy, once.joule_energy, rtol=1e-8, atol=1e-9)


@every_variant
@laws
@given(
    tau=torques,
    above=st.floats(0.0, 60.0),
    steps=st.lists(durations, min_size=1, max_size=4),
)
def test_no_temperature_started_above_ambient_falls_below_it(
    cfg: HeatingCfg,
    tau: FloatArray,
    above: float,
    steps: list[float],
) -> None:
    heating = _make(cfg)
    heating.reset(heating.ambient + above)
    for step in steps:
        heating.advance(tau**2, step)
        assert (heating.winding >= heating.ambient).all()
        assert (heating.temperature >= heating.ambient).all()


@every_variant
@laws
@given(tau=torques, more=torques, start=starts, duration=durations)
def test_more_torque_is_never_cooler(
    cfg: HeatingCfg,
    tau: FloatArray,
    more: FloatArray,
    start: FloatArray,
    duration: float,
) -> None:
    low, high = _make(cfg), _make(cfg)
    low.reset(start)
    high.reset(start)
    low.advance(tau**2, duration)
    high.advance(tau**2 + more**2, duration)
    assert (high.temperature >= low.temperature - 1e-9).all()
    assert (high.winding >= low.winding - 1e-9).all()


@every_variant
@laws
@given(
    tau=torques,
    before=torques,
    start=starts,
    threshold=st.floats(20.0, 100.0),
)
def test_a_threshold_is_reached_at_the_predicted_time(
    cfg: HeatingCfg,
    tau: FloatArray,
    before: FloatArray,
    start: FloatArray,
    threshold: float,
) -> None:
    heating = _make(cfg)
    heating.reset(start)
    heating.advance(before**2, 40.0)  # winding and housing differ
    side = np.sign(threshold - heating.temperature)
    times = heating.time_to_reach(tau**2, threshold)
    for i in range(N):
        # Beyond a week rounding hides the crossing.
        horizon = min(times[i], 6e5)
        if times[i] == horizon:
            reached = heating.predict(tau**2, horizon)[i]
            assert_allclose(reached, threshold, atol=1e-6)
        for part in (0.01, 0.1, 0.5, 0.9, 0.999):
            on_the_way = heating.predict(tau**2, part * horizon)[i]
            assert side[i] * (threshold - on_the_way) >= -1e-6


@every_model
def test_time_to_reach_is_inf_or_0(model: HeatingModel) -> None:
    heating = _heating(model, 0.0)
    heating.reset(30.0)
    rest = np.zeros(N)
    assert_allclose(heating.time_to_reach(rest, 30.0), 0.0)
    assert_allclose(heating.time_to_reach(rest, 80.0), np.inf)
    assert_allclose(heating.time_to_reach(rest, np.inf), np.inf)
    assert_allclose(heating.time_to_reach(rest, -np.inf), np.inf)
    heating.reset()
    final = heating.steady_state(np.full(N, 1.0))
    assert np.isinf(heating.time_to_reach(np.full(N, 1.0), final + 0.01)).all()
    assert np.isfinite(heating.time_to_reach(np.full(N, 1.0), final - 0.01)).all()


def test_a_housing_peak_is_found() -> None:
    """A hot winding without load first warms its housing, then both cool."""
    heating = _heating("two-node", 0.0)
    heating.advance(np.full(N, 8.0**2), 20.0)
    rest = np.zeros(N)
    now = heating.temperature
    times = np.arange(0.0, 400.0)
    course = np.array([heating.predict(rest, t) for t in times])
    peak = course.max(axis=0)
    assert (peak > now + 1.0).all()
    below, above = (
        heating.time_to_reach(rest, now + share * (peak - now)) for share in (0.9, 1.1)
    )
    assert np.isinf(above).all()
    assert (below <= times[course.argmax(axis=0)]).all()


@every_model
@every_copper
def test_steady_state_is_the_limit_over_time(model: HeatingModel, alpha: float) -> None:
    heating = _heating(model, alpha)
    square = np.array([1.5, 2.0, 0.9]) ** 2
    heating.advance(square, 1e6)
    assert_allclose(heating.temperature, heating.steady_state(square), rtol=1e-9)
    if model != "bare-motor":
        loss = np.array([m.one_node.conductance for m in MOTORS])
    else:
        loss = 1.0 / np.array([m.two_node.resistance_housing_ambient for m in MOTORS])
    out = loss * (heating.temperature - heating.ambient)
    assert_allclose(heating.joule_power(square), out, rtol=1e-9)


def test_copper_feedback_runs_away_beyond_its_torque() -> None:
    """The pitch motor has no equilibrium above about 4.4 N·m [nao-thermal]."""
    heating = _heating("bare-motor", COPPER_COEFFICIENT)
    d = LEG_MOTOR
    total = d.resistance_winding_housing + d.resistance_housing_ambient
    edge = 130.85 / math.sqrt(d.joule_constant * COPPER_COEFFICIENT * total)
    assert edge == pytest.approx(4.4, abs=0.05)
    assert np.isfinite(heating.steady_state(np.full(N, (0.99 * edge) ** 2))[0])
    assert np.isinf(heating.steady_state(np.full(N, (1.01 * edge) ** 2))[0])
    one_node = _heating("one-node", COPPER_COEFFICIENT)
    assert np.isinf(one_node.steady_state(np.full(N, 9.0))[0])


@every_model
def test_a_runaway_stops_visibly_at_the_melting_point(model: HeatingModel) -> None:
    heating = _heating(model, COPPER_COEFFICIENT)
    square = np.full(N, 100.0)
    heating.advance(square, 1.0)
    burnt_early = heating.is_burnt
    for _ in range(3):
        heating.advance(square, 1e7)
    assert (burnt_early, heating.is_burnt) == (False, True)
    assert_allclose(heating.winding, MELTING_DEGC)


@every_model
@every_copper
def test_restore_continues_bit_for_bit(model: HeatingModel, alpha: float) -> None:
    heating = _heating(model, alpha)
    square = np.array([1.0, 4.0, 9.0])
    heating.reset(33.0)
    heating.advance(square, 12.0)
    saved = heating.state.copy()
    heating.advance(square, 100.0)
    first = heating.temperature, heating.winding, heating.joule_energy
    heating.state[:] = saved
    heating.advance(square, 100.0)
    second = heating.temperature, heating.winding, heating.joule_energy
    assert np.array_equal(first, second)
    heating.reset(33.0)
    assert not heating.joule_energy.any()


@every_model
def test_power_is_resistance_times_square_of_current(model: HeatingModel) -> None:
    heating = _heating(model, 0.0)
    tau = np.array([-1.2, 2.0, 0.4])
    if model != "bare-motor":
        resistance = np.array([m.one_node.resistance for m in MOTORS])
    else:
        resistance = np.array([m.terminal_resistance for m in MOTORS])
    current = heating.currents(tau)
    assert np.array_equal(np.sign(current), np.sign(tau))
    assert_allclose(heating.joule_power(tau**2), resistance * current**2, rtol=1e-12)


def test_two_joints_of_one_motor_heat_it_once() -> None:
    transmission = np.array([[1.0, 0.0, 1.0, 0.0], [0, 1.0, 0, 0], [0, 0, 0, 1.0]])
    robot = cast(Robot, SimpleNamespace(transmission=transmission))
    torque = motor_torque(robot, np.array([1.0, 2.0, -0.4, 3.0]))
    assert_allclose(torque, [0.6, 2.0, 3.0], rtol=1e-15)


@laws
@given(z=st.floats(-40.0, 40.0))
def test_phi_functions_equal_their_integrals(z: float) -> None:
    first = quad(lambda s: math.exp(z * s), 0.0, 1.0, epsabs=0.0, epsrel=1e-12)[0]
    second = quad(
        lambda s: (1.0 - s) * math.exp(z * s), 0.0, 1.0, epsabs=0.0, epsrel=1e-12
    )[0]
    assert_allclose(phi1(np.array([z]))[0], first, rtol=1e-11)
    assert_allclose(phi2(np.array([z]))[0], second, rtol=1e-11)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (
            {"model": "three-node"},
            "heating model 'three-node'; give one of one",
        ),
        (
            {"copper_coefficient": -0.1},
            "in 1/K = -0.1; give 0 to 0.02",
        ),
        ({"copper_coefficient": math.nan}, "copper coefficient in 1/K = nan"),
        ({"ambient_degc": 300.0}, "ambient temperature = 300.0 °C"),
    ],
)
def test_a_bad_configuration_is_refused(change: dict[str, object], part: str) -> None:
    with pytest.raises(BadInput, match=part):
        dataclasses.replace(HeatingCfg(), **change)  # type: ignore[arg-type] # on purpose


@every_model
def test_bad_numbers_are_refused_and_change_nothing(model: HeatingModel) -> None:
    heating = _heating(model, 0.0)
    heating.reset(30.0)
    before = heating.temperature
    with pytest.raises(BadInput, match="mean square torque is nan"):
        heating.advance(np.array([1.0, math.nan, 1.0]), 1.0)
    with pytest.raises(BadInput, match=r"mean square torque is -1\.0"):
        heating.advance(np.array([1.0, -1.0, 1.0]), 1.0)
    with pytest.raises(BadInput, match=r"duration is -1\.0 s"):
        heating.advance(np.ones(N), -1.0)
    with pytest.raises(BadInput, match="start temperature is nan"):
        heating.reset(math.nan)
    assert np.array_equal(heating.temperature, before)
