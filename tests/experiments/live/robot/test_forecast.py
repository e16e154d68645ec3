"""Forecasts by a copy of the robot: compared with trials and the closed form."""

import os
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.live.robot import forecast
from nao_testbed.experiments.live.robot.forecast import (
    GRID_S,
    SPREAD,
    Forecaster,
    RunAhead,
    fan,
    grid,
)
from nao_testbed.experiments.live.robot.live_robot import LiveRobot, play_of
from nao_testbed.experiments.live.robot.moment import Forecast
from nao_testbed.experiments.live.robot.operation import (
    Foresee,
    HeatNow,
    Misalign,
    PushNow,
)
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.system import CAN_FORK
from nao_testbed.sim.thermal import HeatingCfg, make_heating

SETTLE_SLOTS = 600
ATOL_REBUILT = 0.3  # K: a rebuilt robot does not know where its soles stick
ATOL_LATER = 1.6  # K: set-points may be shifted long after the torques were steady


def plan(controller: str = "fixed") -> TrialCfg:
    cfg = HeatCfg(preset="document", controllers=(controller,))
    return replace(plan_trials(cfg)[0], folder=None)


@pytest.fixture
def begun() -> Iterator[LiveRobot]:
    robot = LiveRobot(play_of(plan()))
    yield robot
    robot.close("done")


@pytest.fixture
def live(begun: LiveRobot) -> LiveRobot:
    for _ in range(SETTLE_SLOTS):
        begun.slot()
    return begun


def run_ahead(live: LiveRobot, action: Foresee) -> list[Forecast]:
    answers: list[Forecast] = []
    RunAhead(live.setup, action, (), answers.append).run()
    return answers


def answers_of(forecaster: Forecaster, longest_s: float = 60.0) -> Iterator[Forecast]:
    end = time.monotonic() + longest_s
    while time.monotonic() < end:
        answer = forecaster.poll()
        if answer is not None:
            yield answer
            if answer.is_final:
                return
        time.sleep(0.01)
    raise AssertionError(f"no final answer within {longest_s} s")


# -- results ---------------------------------------------------------------------------


@pytest.mark.slow
def test_forecast_without_change_agrees_with_a_trial(live: LiveRobot) -> None:
    last = run_ahead(live, Foresee())[-1]
    settled_s = live.setup.tick_s * SETTLE_SLOTS
    trial = run_trial(replace(plan(), duration_s=settled_s + 900.0))
    robot = live.setup.robot
    ends = [trial.joints[joint.name].end_degc for joint in robot.joints]
    assert last.is_final
    assert last.is_steady
    assert_allclose(last.degc[1, -1], ends, atol=0.3)
    assert last.degc[1, -1].max() > 75.0  # the preset's ankle


@pytest.mark.slow
def test_corrected_ankle_stays_cool_in_the_forecast(live: LiveRobot) -> None:
    joint = live.setup.robot.joint_index("LAnklePitch")
    first = run_ahead(live, Foresee(joint="LAnklePitch", error_deg=0.0))[-1]
    assert first.is_change
    assert first.degc[1, -1, joint] < 55.0
    assert np.isinf(first.reach_s[:, joint]).all()
    assert first.physics_s < 30.0


@pytest.mark.slow
@pytest.mark.parametrize("controller", ["fixed", "smart", "nudge"])
def test_band_contains_later_forecasts(
    controller: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The band narrows as torques settle after the robot has taken its posture.

    A forecast per second of physics; `nudge` continues to shift its set-points.
    """
    monkeypatch.setattr(forecast, "FIRST_S", 0.0)
    monkeypatch.setattr(forecast, "EVERY_S", 0.0)
    robot = LiveRobot(play_of(plan(controller)))
    try:
        answers = run_ahead(robot, Foresee())
    finally:
        robot.close("done")
    ends = np.array([one.degc[:, -1] for one in answers])  # (n, 3, n_joints)
    for i, (low, _, high) in enumerate(ends):
        later = ends[i:, 1]
        message = f"forecast after {answers[i].physics_s} s"
        assert (later >= low - ATOL_LATER).all(), message
        assert (later <= high + ATOL_LATER).all(), message
    ankle = robot.setup.robot.joint_index("LAnklePitch")
    widths = ends[:, 2, ankle] - ends[:, 0, ankle]
    assert widths[0] > 3.0 * widths[-1]


def test_band_is_that_of_motors_known_to_a_tenth() -> None:
    robot = plan().load_robot()
    heating = make_heating(robot, HeatingCfg())
    heating.reset(40.0)
    square = (0.3 * heating.torque_constant) ** 2  # 0.3 A
    begin = heating.state.copy()
    degc, reach_s = fan(heating, begin, [(square, 100.0), (square, 800.0)], 900.0)
    assert_array_equal(heating.state, begin)  # restored
    heating.advance(square, 900.0)
    assert_allclose(degc[1, -1], heating.temperature, rtol=1e-12)
    heating.state[:] = begin
    assert_allclose(reach_s[1], heating.time_to_reach(square, 80.0), atol=0.02 * GRID_S)
    low, middle, high = degc[:, -1]
    assert (low < middle).all()
    assert (middle < high).all()
    # To first order, ln(heat added) has error SPREAD, times 1.645 at 95 %.
    knee = robot.motor_index("LKneePitch")
    own, long = heating.ambient[knee], heating.steady_state(square)[knee]
    heating.advance(1.1645 * square, 900.0)
    hot = heating.temperature[knee]
    assert SPREAD == 0.1
    assert abs(high[knee] - hot) < 0.5 * (hot - middle[knee])
    assert own < middle[knee] < long


def test_limit_may_be_reached_now_later_or_never() -> None:
    robot = plan().load_robot()
    heating = make_heating(robot, HeatingCfg())
    start = np.full(len(robot.motors), 40.0)
    start[0] = 85.0
    heating.reset(start)
    square = np.full(len(robot.motors), 0.01)
    hot = robot.motor_index("LKneePitch")
    square[hot] = 6.0
    _, reach_s = fan(heating, heating.state.copy(), [(square, 900.0)], 900.0)
    assert_array_equal(reach_s[:, 0], 0.0)
    assert np.isinf(reach_s[:, 1]).all()
    assert 0.0 < reach_s[0, hot] < reach_s[1, hot] < reach_s[2, hot] < np.inf
    assert grid(900.0)[-1] == 900.0


# -- requests --------------------------------------------------------------------------


@pytest.mark.slow
def test_forecast_does_not_change_the_robot_bit_for_bit(live: LiveRobot) -> None:
    other = LiveRobot(play_of(plan()))
    try:
        for _ in range(SETTLE_SLOTS):
            other.slot()
        live.act(Foresee())
        seen: list[Forecast] = []
        end = time.monotonic() + 60.0
        while not seen and time.monotonic() < end:
            live.slot()
            other.slot()
            forecast = live.moment().forecast
            seen += [] if forecast is None else [forecast]
        assert seen[0].label == "unchanged"
        assert seen[0].is_steady
        assert len(seen[0].past_s) == 2  # at 0 and at 5 s
        truth, same = live.setup.body.sim.truth(), other.setup.body.sim.truth()
        assert_array_equal(truth.q, same.q)
        assert_array_equal(truth.temperature, same.temperature)
    finally:
        other.close("done")


@pytest.mark.slow
def test_changes_of_a_forecast_do_not_reach_the_robot(live: LiveRobot) -> None:
    forecaster = Forecaster(live.setup)
    before = live.setup.body.sim.misalignment
    forecaster.ask(Foresee(controller="minheat", joint="LKneePitch", error_deg=1.0))
    first = next(answers_of(forecaster))
    assert first.label == "minheat, error of LKneePitch 1°"
    assert_array_equal(live.setup.body.sim.misalignment, before)
    assert type(live.setup.stiffness.controller).__name__ == "FixedStiffness"
    forecaster.close()


@pytest.mark.slow
def test_robot_is_rebuilt_where_fork_is_unavailable(
    live: LiveRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The forecast equals that of a forked copy, also after earlier changes."""
    live.act(Misalign(joint="LKneePitch", error_deg=1.0))
    live.act(HeatNow(joint="RKneePitch", degc=60.0))
    for _ in range(400):
        live.slot()
    before = live.setup.body.sim.truth()
    action = Foresee(joint="LAnklePitch", error_deg=0.0)
    forecaster = Forecaster(live.setup)
    copied: list[Forecast] = []
    rebuilt: list[Forecast] = []
    for can_fork, answers in ((True, copied), (False, rebuilt)):
        monkeypatch.setattr(forecast, "CAN_FORK", can_fork)
        forecaster.ask(action)
        answers += list(answers_of(forecaster))
        forecaster.close()
    one, other = copied[-1], rebuilt[-1]
    assert (one.time_s, one.label) == (other.time_s, other.label)
    assert_allclose(other.degc[1, 0], one.degc[1, 0], atol=1e-9)
    assert_allclose(other.degc[1, -1], one.degc[1, -1], atol=ATOL_REBUILT)
    assert_array_equal(live.setup.body.sim.truth().q, before.q)


@pytest.mark.skipif(not CAN_FORK, reason="this system has no fork")
def test_early_second_request_waits_and_no_process_remains(
    begun: LiveRobot, monkeypatch: pytest.MonkeyPatch
) -> None:
    forecaster = Forecaster(begun.setup)
    forecaster.ask(Foresee(joint="LAnklePitch"))
    pid = forecaster._pid
    with pytest.raises(BadInput, match="being computed"):
        forecaster.ask(Foresee())
    forecaster.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    forecaster.ask(Foresee())  # the forecaster is free again
    monkeypatch.setattr(forecast, "RETRY_S", 0.0)
    pid = forecaster._pid
    forecaster.ask(Foresee())  # replaces the previous request
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    forecaster.close()
    forecaster.close()


def test_invalid_request_is_refused(begun: LiveRobot) -> None:
    forecaster = Forecaster(begun.setup)
    with pytest.raises(UnknownName, match="Controller"):
        forecaster.ask(Foresee(controller="no-such"))
    with pytest.raises(UnknownName, match="no-such"):
        forecaster.ask(Foresee(joint="no-such"))
    with pytest.raises(BadInput, match="error"):
        Foresee(joint="LKneePitch", error_deg=30.0)
    begun.act(PushNow(direction_deg=0.0, force_n=100.0, duration_s=2.0))
    for _ in range(400):
        begun.slot()
    with pytest.raises(BadInput, match="fallen"):
        forecaster.ask(Foresee())
