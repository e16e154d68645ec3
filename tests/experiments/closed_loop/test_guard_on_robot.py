"""The guard on the simulated robot: only a push is caught."""

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
"""Two seconds of holding, one of lowering."""

pytestmark = [pytest.mark.scenario, pytest.mark.slow]


def stand(
    controller: str, *pushes: Push, seconds: float, engine: EngineName = "pybullet"
) -> TrialResult:
    """Return the result of one misaligned robot."""
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
def test_guard_catches_a_pushed_robot_once(controller: str) -> None:
    push = Push(at_s=4.0, force_n=(10.0, 0.0, 0.0))
    result = stand(controller, push, seconds=9.0)
    assert not result.fell
    assert CYCLES_PER_CATCH <= result.flags["CATCHING"] <= 1.5 * CYCLES_PER_CATCH


@pytest.mark.parametrize("controller", ["smart", "minheat"])
def test_guard_ignores_a_standing_robot(controller: str) -> None:
    result = stand(controller, seconds=5.0)
    assert result.failure is None
    assert "CATCHING" not in result.flags


def test_an_idle_guard_has_no_effect() -> None:
    """Without disturbance a guard has no effect."""
    guarded, document = (
        stand(name, seconds=5.0) for name in ("smart", "smart-document")
    )
    assert guarded.legs_power_w == document.legs_power_w


@pytest.mark.parametrize(("engine", "newton"), [("pybullet", 7.0), ("mujoco", 8.0)])
@pytest.mark.parametrize("controller", ["smart", "minheat"])
def test_a_push_of_six_seconds_causes_no_fall(
    controller: str, engine: EngineName, newton: float
) -> None:
    """The ankles exceed their limits, which the guard allows to continue."""
    hand = Push(at_s=4.0, duration_s=6.0, force_n=(newton, 0.0, 0.0))
    result = stand(controller, hand, seconds=14.5, engine=engine)
    assert not result.fell
    assert result.flags["CATCHING"] >= 50 * (6 + 2)


def test_lowering_limits_during_a_push_causes_no_fall() -> None:
    """After 20 s the robot yields, gets its limits back and keeps them."""
    hand = Push(at_s=4.0, duration_s=30.0, force_n=(7.0, 0.0, 0.0))
    result = stand("smart", hand, seconds=35.0)
    assert not result.fell
    assert result.flags["CATCHING"] >= 50 * 30
