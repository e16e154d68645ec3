"""The heat meter against crossing times and heats by hand."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.experiments.closed_loop.trial_log import HeatMeter
from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.thermal import COPPER_COEFFICIENT, HeatingCfg

R, K, CONDUCTANCE, CAPACITY, AMBIENT = 9.0, 1.8, 0.018, 30.0, 25.0
"""The two-legged robot's heating numbers, tests/data/two_leg."""
TORQUE = 1.2
"""N·m; ends at 25 + R/K² τ² / λ = 247 °C."""
ATOL_CROSSING = 0.05
"""s; the line between two seconds and the exponential differ by h² T''/8 T'."""


class Story:
    """A fake simulation with given temperatures."""

    def __init__(self, *start: float) -> None:
        self.time_s = 0.0
        self.heating = SimpleNamespace(temperature=np.array(start))
        names = tuple("abc"[: len(start)])
        self.robot = SimpleNamespace(motor_names=names)

    def meter(self) -> HeatMeter:
        return HeatMeter(cast(Any, self))

    def at(self, time_s: float, *temperature: float) -> None:
        self.time_s = time_s
        self.heating.temperature = np.array(temperature)


@pytest.fixture
def stand(two_leg: Robot) -> Iterator[SimulatedRobot]:
    sim = SimulatedRobot(two_leg, SimulationCfg(other_start_degc=30.0), "Stand")
    yield sim
    sim.close()


def test_a_crossing_is_placed_on_the_line_between_two_readings() -> None:
    story = Story(70.0, 30.0, 60.0)
    meter = story.meter()
    story.at(10.0, 78.0, 31.0, 70.0)
    assert meter.add(np.zeros(3)) == []
    story.at(20.0, 83.0, 32.0, 90.0)
    assert meter.add(np.zeros(3)) == ["a", "c"]
    assert meter.reached_s.tolist() == [14.0, np.inf, 15.0]


def test_only_the_first_crossing_counts() -> None:
    story = Story(79.0)
    meter = story.meter()
    for time_s, temperature in ((1.0, 81.0), (2.0, 79.0), (3.0, 82.0)):
        story.at(time_s, temperature)
        meter.add(np.zeros(1))
    assert meter.reached_s.tolist() == [0.5]


def test_a_start_at_80_degrees_is_a_crossing_at_0_s() -> None:
    story = Story(80.0, 79.999)
    meter = story.meter()
    story.at(1.0, 80.5, 79.999)
    assert meter.add(np.zeros(2)) == []
    assert meter.reached_s.tolist() == [0.0, np.inf]


@given(
    below=st.floats(0.01, 50.0),
    above=st.floats(0.0, 50.0),
    begin_s=st.floats(0.0, 1e4),
    stretch_s=st.floats(0.02, 60.0),
)
def test_a_crossing_lies_within_its_stretch(
    below: float, above: float, begin_s: float, stretch_s: float
) -> None:
    story = Story(80.0 - below)
    story.time_s = begin_s
    meter = story.meter()
    story.at(begin_s + stretch_s, 80.0 + above)
    assert meter.add(np.zeros(1)) == ["a"]
    (at,) = meter.reached_s
    assert begin_s <= at <= begin_s + stretch_s * (1.0 + 1e-9)


def test_crossing_and_heat_of_a_constant_torque(stand: SimulatedRobot) -> None:
    """C dT/dt = R i² - λ (T - Tₑ): time to 80 °C, and R i² t of heat."""
    tau = np.zeros(6)
    tau[1] = TORQUE
    power = R * (TORQUE / K) ** 2
    final = AMBIENT + power / CONDUCTANCE
    expected = -CAPACITY / CONDUCTANCE * np.log((80.0 - final) / (30.0 - final))
    assert 300.0 < expected < 600.0
    meter = HeatMeter(stand)
    reached = []
    for _ in range(600):
        stand.advance_heat(tau**2, 1.0)
        reached += meter.add(tau)
    rows = meter.results(tau**2)
    knee, hip = rows["left_knee"], rows["left_hip"]
    assert reached == ["left_knee"]
    assert knee.time_to_80_degc_s == pytest.approx(expected, abs=ATOL_CROSSING)
    assert knee.forecast_80_degc_s == knee.time_to_80_degc_s
    assert knee.steady_degc == pytest.approx(final)
    assert knee.joule_loss_j == pytest.approx(600.0 * power)
    assert knee.mean_abs_effort_nm == pytest.approx(TORQUE)
    assert knee.rise_k == knee.end_degc - 30.0
    assert hip.time_to_80_degc_s is None
    assert hip.forecast_80_degc_s is None
    assert hip.end_degc < hip.start_degc == 30.0


def test_the_forecast_is_the_time_of_the_crossing(
    stand: SimulatedRobot,
) -> None:
    """After 100 s of constant torque the forecast equals the time of the whole run."""
    tau = np.full(6, TORQUE)
    final = AMBIENT + R * (TORQUE / K) ** 2 / CONDUCTANCE
    expected = -CAPACITY / CONDUCTANCE * np.log((80.0 - final) / (30.0 - final))
    meter = HeatMeter(stand)
    stand.advance_heat(tau**2, 100.0)
    meter.add(tau)
    row = meter.results(tau**2)["left_hip"]
    assert row.time_to_80_degc_s is None
    assert row.forecast_80_degc_s == pytest.approx(expected, abs=1e-6)


def test_mean_effort_weighs_every_stretch_by_its_length(stand: SimulatedRobot) -> None:
    meter = HeatMeter(stand)
    for effort, seconds in ((3.0, 1.0), (1.0, 9.0)):
        stand.advance_heat(np.zeros(6), seconds)
        meter.add(np.full(6, effort))
    assert meter.results(np.zeros(6))["left_hip"].mean_abs_effort_nm == (
        pytest.approx(1.2)
    )


def test_a_motor_that_runs_away_has_no_steady_state(two_leg: Robot) -> None:
    """With copper, λ < α R i² has no end; the forecast has one."""
    cfg = SimulationCfg(heating=HeatingCfg(copper_coefficient=COPPER_COEFFICIENT))
    sim = SimulatedRobot(two_leg, cfg, "Stand")
    try:
        tau = np.full(6, 3.0)
        meter = HeatMeter(sim)
        sim.advance_heat(tau**2, 1.0)
        meter.add(tau)
        row = meter.results(tau**2)["left_hip"]
    finally:
        sim.close()
    assert row.steady_degc == np.inf
    assert row.forecast_80_degc_s is not None
    assert 1.0 < row.forecast_80_degc_s < 900.0


def test_joints_on_one_motor_share_its_outcome() -> None:
    nao = load_robot(default_robot_folder())
    sim = SimulatedRobot(nao, SimulationCfg(), "PoseInit")
    try:
        meter = HeatMeter(sim)
        tau = np.ones(len(nao.motors))
        sim.advance_heat(tau**2, 10.0)
        meter.add(tau)
        rows = meter.results(tau**2)
    finally:
        sim.close()
    assert list(rows) == list(nao.joint_names)
    assert rows["LHipYawPitch"] == rows["RHipYawPitch"]
