"""The guard on the simulated robot: a push is caught, and nothing else is."""

from typing import Literal

import numpy as np
import pytest

from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import Push, TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.models import default_robot_folder, load_robot
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulationCfg

EngineName = Literal["pybullet", "mujoco"]
NAO = load_robot()
CYCLES_PER_CATCH = 150
"""Two seconds of holding, one of letting go."""

pytestmark = [pytest.mark.scenario, pytest.mark.slow]


def stand(
    controller: str, *pushes: Push, seconds: float, engine: EngineName = "pybullet"
) -> TrialResult:
    """Return how one misaligned robot fared."""
    rng = np.random.default_rng(1)
    errors = {name: float(rng.uniform(-2.0, 2.0)) for name in NAO.leg_joints}
    simulation = SimulationCfg(
        world=WorldCfg(engine=engine), misalignment_deg=errors, seed=1
    )
    return run_trial(
        TrialCfg(
            controller=controller,
            robot_folder=default_robot_folder(),
            posture="PoseInit",
            duration_s=seconds,
            simulation=simulation,
            fast_forward=FastForwardCfg(),
            pushes=pushes,
        )
    )


@pytest.mark.parametrize("controller", ["smart", "minheat"])
def test_a_robot_that_is_pushed_is_caught_once_and_let_down(controller: str) -> None:
    push = Push(at_s=4.0, force_n=(10.0, 0.0, 0.0))
    result = stand(controller, push, seconds=9.0)
    assert not result.fell
    assert CYCLES_PER_CATCH <= result.flags["CATCHING"] <= 1.5 * CYCLES_PER_CATCH


@pytest.mark.parametrize("controller", ["smart", "minheat"])
def test_a_robot_that_stands_is_left_alone(controller: str) -> None:
    result = stand(controller, seconds=5.0)
    assert result.failure is None
    assert "CATCHING" not in result.flags


def test_what_is_off_changes_nothing() -> None:
    """Undisturbed, a guard is not to be noticed."""
    guarded, document = (
        stand(name, seconds=5.0) for name in ("smart", "smart-document")
    )
    assert guarded.legs_power_w == document.legs_power_w


@pytest.mark.parametrize(("engine", "newton"), [("pybullet", 7.0), ("mujoco", 8.0)])
@pytest.mark.parametrize("controller", ["smart", "minheat"])
def test_a_hand_that_leans_for_six_seconds_fells_nobody(
    controller: str, engine: EngineName, newton: float
) -> None:
    """The ankles give more than their limits allow, and so they may go on."""
    hand = Push(at_s=4.0, duration_s=6.0, force_n=(newton, 0.0, 0.0))
    result = stand(controller, hand, seconds=14.5, engine=engine)
    assert not result.fell
    assert result.flags["CATCHING"] >= 50 * (6 + 2)


def test_a_try_to_lower_limits_under_a_hand_fells_nobody() -> None:
    """After 20 s: the robot yields, has its limits back, and keeps them."""
    hand = Push(at_s=4.0, duration_s=30.0, force_n=(7.0, 0.0, 0.0))
    result = stand("smart", hand, seconds=35.0)
    assert not result.fell
    assert result.flags["CATCHING"] >= 50 * 30
