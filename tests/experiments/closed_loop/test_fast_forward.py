"""Fast-forward: its start condition, and agreement with full physics."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers.interface.controller import FixedStiffness, Limits
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.closed_loop.fast_forward import (
    FastForwardCfg,
    JumpLength,
    Steadiness,
)
from nao_testbed.experiments.closed_loop.loop import APPROACH_TIME
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.heat.experiment import HeatCfg, plan_trials
from nao_testbed.experiments.heat.side_by_side import run_side_by_side
from nao_testbed.models import Robot
from nao_testbed.sim.recording.run_folder import Event, Run, create_run_folder, read_run
from nao_testbed.sim.thermal import HeatingCfg, make_heating

CFG = FastForwardCfg()
TEMPERATURE_PERIOD_S = 1.0
"""Period of the NAO's temperature sensors, the maximum delay of a protection."""
JUMP_STEP_S = 1.0
"""Heat is advanced by this much between two looks at the protection."""
ATOL_ROW_K = 2e-5  # rows keep seven digits
ATOL_FALL_S = 0.1
"""Tolerance in s: the fall of the limp robot depends a little on its stance."""


def steadiness(*blocks: float | list[float]) -> Steadiness:
    watched = Steadiness(CFG)
    for block in blocks:
        watched.add(np.atleast_1d(np.asarray(block, dtype=float)))
    return watched


def test_steady_needs_three_blocks() -> None:
    assert steadiness(1.0, 1.0).worst() == np.inf
    assert not steadiness(1.0, 1.0).is_steady()
    assert steadiness(1.0, 1.0, 1.0).is_steady()


@pytest.mark.parametrize(("spread", "steady"), [(0.0199, True), (0.0201, False)])
def test_a_small_torque_may_vary_by_the_absolute_bound(
    spread: float, steady: bool
) -> None:
    watched = steadiness(0.1, 0.1 + spread, 0.1)
    assert watched.is_steady() is steady
    assert watched.worst() == pytest.approx(spread / CFG.bound)


@pytest.mark.parametrize(("spread", "steady"), [(0.099, True), (0.102, False)])
def test_a_large_torque_may_vary_by_the_relative_bound(
    spread: float, steady: bool
) -> None:
    """2 % of a mean of 5 N²m² is 0.1 N²m²."""
    watched = steadiness(5.0 - spread / 2.0, 5.0, 5.0 + spread / 2.0)
    assert watched.is_steady() is steady


def test_one_restless_motor_is_enough() -> None:
    assert not steadiness([1.0, 1.0], [1.0, 1.5], [1.0, 1.0]).is_steady()


def test_only_the_last_three_blocks_count() -> None:
    watched = steadiness(9.0, 9.0, 1.0, 1.01, 1.02)
    assert watched.is_steady()
    assert watched.mean() == pytest.approx(1.01)


def test_blocks_are_copied() -> None:
    block = np.array([1.0])
    watched = Steadiness(CFG)
    for _ in range(3):
        watched.add(block)
    block[:] = 5.0
    assert watched.mean() == 1.0


@given(st.lists(st.floats(0.0, 25.0), min_size=3, max_size=3), st.floats(0.5, 1.0))
def test_a_smaller_spread_is_never_less_steady(
    blocks: list[float], shrink: float
) -> None:
    """Blocks moved towards their mean keep the mean and its bound."""
    mean = float(np.mean(blocks))
    closer = [mean + shrink * (block - mean) for block in blocks]
    assert steadiness(*closer).worst() <= steadiness(*blocks).worst() + 1e-9


def test_jumps_grow_until_a_restart() -> None:
    length = JumpLength(CFG)
    assert [length.take() for _ in range(5)] == [60.0, 120.0, 240.0, 480.0, 480.0]
    length.restart()
    assert length.take() == 60.0


# -- against full physics ---------------------------------------------------------


def plan(*, full: bool, **asked: object) -> list[TrialCfg]:
    cfg = HeatCfg(misalignment_deg={"LAnklePitch": 2.0}, full=full)
    return plan_trials(dataclasses.replace(cfg, **asked))  # type: ignore[arg-type]


def run_recorded(trials: list[TrialCfg], base: Path) -> tuple[TrialResult, Run]:
    (trial,) = trials
    folder = create_run_folder(base, "run")
    result = run_trial(dataclasses.replace(trial, folder=folder), lambda _: None)
    return result, read_run(folder)


def allowed_error(robot: Robot, fast: TrialResult, seconds: float) -> dict[str, float]:
    """Return the temperature error of a torque error at the bound, in K by joint.

    The mean square behind a temperature is inferred from it: heating is affine in it.
    """
    heating = make_heating(robot, HeatingCfg())
    heating.reset(30.0)
    n = len(robot.motors)
    cold = heating.predict(np.zeros(n), seconds)
    gain = heating.predict(np.ones(n), seconds) - cold  # K per N²m²
    allowed = {}
    for name, m in zip(robot.joint_names, robot.servo_of_joint, strict=True):
        mean_square = max(0.0, fast.joints[name].end_degc - cold[m]) / gain[m]
        wrong = max(CFG.bound, CFG.relative_bound * mean_square)
        allowed[name] = float(wrong * gain[m])
    return allowed


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("ST-23")
def test_a_stand_ends_as_with_full_physics(nao: Robot) -> None:
    """Both controllers, a misaligned ankle: each joint is within the stated bound."""
    ran = [
        run_side_by_side(plan(full=full, minutes=0.7), lambda *_: None)
        for full in (True, False)
    ]
    for full, fast in zip(*ran, strict=True):
        assert full.failure is fast.failure is None
        assert full.physics_s == pytest.approx(42.0)
        assert fast.physics_s < 20.0, "fast-forward hardly skipped anything"
        allowed = allowed_error(nao, fast, 42.0)
        assert max(allowed["LAnklePitch"], allowed["RKneePitch"]) < 0.3
        for name, row in full.joints.items():
            error = fast.joints[name].end_degc - row.end_degc
            assert abs(error) <= allowed[name], f"{fast.controller} {name}: {error} K"


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("ST-4")
def test_a_shut_down_in_a_jump_is_on_time_and_resumes_physics(
    tmp_path: Path,
) -> None:
    """The ankle starts 1 K below 80 °C; limp, the robot falls (ST-3)."""
    asked = {
        "minutes": 0.75,
        "controllers": ("fixed",),
        "protection": "document",
        "start_degc": {"LAnklePitch": 79.0},
    }
    (full, full_run), (fast, fast_run) = (
        run_recorded(plan(full=full, **asked), tmp_path) for full in (True, False)
    )
    at, expected = (only(run, "protection") for run in (fast_run, full_run))
    assert at.data == expected.data
    assert at.data["motor"] == "LAnklePitch"
    assert abs(at.time_s - expected.time_s) <= JUMP_STEP_S + TEMPERATURE_PERIOD_S
    jump = only(fast_run, "fast-forward")
    assert begin_of(jump) < at.time_s - 5.0, "the crossing was not in a jump"
    assert jump.time_s == at.time_s, "the jump went on after the shut-down"
    after = fast_run.frame.loc[at.time_s + 0.01 :]
    assert np.diff(after.index) == pytest.approx(0.02), "the physics did not resume"
    assert (fast_run.channel("stiffness").iloc[-1] == 0.0).all()
    for result in (fast, full):
        assert result.fell
        assert result.shut_down_s is not None
        assert (result.failure or "").startswith("shut down at ")
    assert fast.shut_down_s == at.time_s
    assert abs(fast.sim_s - full.sim_s) <= (
        JUMP_STEP_S + TEMPERATURE_PERIOD_S + ATOL_FALL_S
    )


@pytest.mark.slow
@pytest.mark.scenario
@pytest.mark.requirement("ST-4")
def test_jumps_continue_if_a_status_keeps_the_torque(
    tmp_path: Path,
) -> None:
    """NAO's status 1 removes 15 % of a stiffness of which a third is used."""
    asked = {
        "minutes": 1.0,
        "controllers": ("fixed",),
        "protection": "nao",
        "start_degc": {"LAnklePitch": 75.0},
    }
    result, run = run_recorded(plan(full=False, **asked), tmp_path)
    change = only(run, "protection")
    assert (change.data["before"], change.data["status"]) == (0, 1)
    jumps = [event for event in run.events if event.kind == "fast-forward"]
    assert jumps[0].time_s == change.time_s
    assert len(jumps) >= 2
    assert result.failure is None
    assert result.sim_s == pytest.approx(60.0)
    assert result.physics_s < 15.0
    stiffness = run.channel("stiffness")["LAnklePitch"]
    assert stiffness.iloc[0] == 1.0
    assert stiffness.iloc[-1] == pytest.approx(0.85)


@pytest.mark.slow(covers=True)
def test_no_jump_before_the_robot_has_settled(tmp_path: Path) -> None:
    """The robot is steady long before 8 s."""
    (trial,) = plan(full=False, minutes=0.2, controllers=("fixed",))
    later = dataclasses.replace(trial, fast_forward=FastForwardCfg(not_before_s=8.0))
    result, run = run_recorded([later], tmp_path)
    assert begin_of(only(run, "fast-forward")) >= 8.0
    assert result.sim_s == pytest.approx(12.0)
    assert CFG.not_before_s > APPROACH_TIME + 2.0


class Catching(FixedStiffness):
    """Stiffness 1, as from a guard that catches a push permanently."""

    def step(self, observation: Observation) -> Limits:
        return dataclasses.replace(super().step(observation), is_urgent=True)


@pytest.mark.slow
def test_no_jump_while_a_push_is_caught() -> None:
    """A guard lowers its limits in each cycle: a jump would skip these cycles."""
    (trial,) = plan(full=False, controllers=("fixed",), minutes=0.3)
    left_alone = run_trial(trial)
    caught = run_trial(trial, controller=Catching())
    assert left_alone.physics_s < 15.0
    assert caught.physics_s == pytest.approx(18.0)


@pytest.fixture(scope="module")
def jumping(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrialResult, Run]:
    """A run that ends in a jump."""
    trials = plan(full=False, minutes=0.2, controllers=("fixed",))
    return run_recorded(trials, tmp_path_factory.mktemp("jumping"))


def test_jumps_keep_the_rows_in_step_with_the_clock(
    jumping: tuple[TrialResult, Run],
) -> None:
    """One row every 20 ms of physics and every second of a jump, without repeats."""
    result, run = jumping
    steps = np.diff(run.frame.index)
    is_jump = np.isclose(steps, 1.0)
    assert np.isclose(steps[~is_jump], 0.02).all()
    assert is_jump.sum() == pytest.approx(result.sim_s - result.physics_s)


def test_a_run_ending_in_a_jump_has_settled(
    jumping: tuple[TrialResult, Run],
) -> None:
    """A jump requires steady torques."""
    result, run = jumping
    assert result.settled_s is not None
    assert result.settled_s <= begin_of(only(run, "fast-forward"))


def test_the_temperatures_of_a_jump_follow_from_its_rows(
    nao: Robot, jumping: tuple[TrialResult, Run]
) -> None:
    """Each follows from the previous one and the motor torque of its row."""
    _, run = jumping
    rows = run.frame.loc[begin_of(only(run, "fast-forward")) - 0.01 :]
    degc = rows[[f"true_temperature.{m}" for m in nao.motor_names]].to_numpy(float)
    torque = rows[[f"motor_torque.{m}" for m in nao.motor_names]].to_numpy(float)
    heating = make_heating(nao, HeatingCfg())
    assert len(rows) > 3, "there was hardly a jump"
    for i in range(1, len(rows)):
        heating.reset(degc[i - 1])
        heating.advance(torque[i] ** 2, JUMP_STEP_S)
        np.testing.assert_allclose(heating.temperature, degc[i], atol=ATOL_ROW_K)
    pushes_as_before = np.sign(torque[1:]) == np.sign(torque[0])
    assert pushes_as_before.all(), "a torque has lost its sign"


def only(run: Run, kind: str) -> Event:
    """Return the one event of a kind."""
    (event,) = (event for event in run.events if event.kind == kind)
    return event


def begin_of(jump: Event) -> float:
    begin_s = jump.data["begin_s"]
    assert isinstance(begin_s, float)
    return begin_s


def test_a_continuing_shift_is_not_steady() -> None:
    cfg = FastForwardCfg()
    steadiness = Steadiness(cfg)
    torques = np.full(3, 0.5)
    for k in range(cfg.trend_blocks):
        steadiness.add(torques, np.array((0.0, k * cfg.shift_bound)))
    assert not steadiness.is_steady()
    for _ in range(cfg.blocks):
        steadiness.add(torques, np.array((0.0, 0.1)))
    assert steadiness.is_steady()


@pytest.mark.parametrize(
    ("trend", "is_shifted", "steady"),
    [
        (0.95, True, True),
        (1.05, True, False),
        (-1.05, True, False),
        (1.05, False, True),
    ],
)
def test_steady_shifted_set_points_need_a_sum_without_trend(
    trend: float, is_shifted: bool, steady: bool
) -> None:
    """The trend between halves is bounded; each motor alone would be steady."""
    cfg = FastForwardCfg()
    steadiness = Steadiness(cfg)
    shift = np.array((0.0, 0.1)) if is_shifted else None
    step = trend * cfg.trend_bound / (cfg.trend_blocks / 2)
    for k in range(cfg.trend_blocks - 1):
        steadiness.add(np.full(3, 0.1 * (1.0 + k * step)), shift)
    assert steadiness.is_steady() is not is_shifted, "too few blocks for a trend"
    last = cfg.trend_blocks - 1
    steadiness.add(np.full(3, 0.1 * (1.0 + last * step)), shift)
    assert steadiness.is_steady() is steady
