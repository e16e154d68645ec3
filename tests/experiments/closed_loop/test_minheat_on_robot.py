"""`minheat` on the simulated robot: cooler, within its bounds, without a fall."""

from collections.abc import Callable

import numpy as np
import pytest

from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import Push, TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.models import default_robot_folder, load_robot
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulationCfg

NAO = load_robot()
SETTLED_S = 20.0

pytestmark = [pytest.mark.scenario, pytest.mark.slow]

Stand = Callable[..., TrialResult]


def stand(
    controller: str,
    *,
    seed: int = 1,
    slope_deg: float = 1.0,
    friction: float = 0.7,
    posture: str = "PoseInit",
    seconds: float = 60.0,
    pushes: tuple[Push, ...] = (),
) -> TrialResult:
    rng = np.random.default_rng(seed)
    return run_trial(
        TrialCfg(
            controller=controller,
            robot_folder=default_robot_folder(),
            posture=posture,
            duration_s=seconds,
            simulation=SimulationCfg(
                world=WorldCfg(
                    slope_deg=slope_deg, friction=friction, solver_residual=1e-5
                ),
                misalignment_deg={
                    name: float(rng.uniform(-2.0, 2.0)) for name in NAO.leg_joints
                },
                seed=seed,
            ),
            fast_forward=FastForwardCfg(),
            pushes=pushes,
        )
    )


@pytest.fixture(scope="module")
def cooled() -> TrialResult:
    return stand("minheat")


def power(result: TrialResult) -> float:
    assert result.failure is None
    assert result.legs_power_w is not None
    return result.legs_power_w


def test_misaligned_robot_on_a_slope_ends_near_minimum(cooled: TrialResult) -> None:
    fixed = stand("fixed", seconds=8.0)
    assert power(cooled) <= 0.15 * power(fixed)
    assert cooled.least_power_w is not None
    assert power(cooled) <= 1.3 * cooled.least_power_w
    assert cooled.least_with_gears_w is not None
    assert 0.99 <= power(cooled) / cooled.least_with_gears_w <= 1.4


def test_it_settles_in_time_and_within_three_degrees(cooled: TrialResult) -> None:
    assert cooled.settled_s is not None
    assert cooled.settled_s <= SETTLED_S
    assert 0.1 < cooled.largest_shift_deg <= 3.0


@pytest.mark.parametrize("force_n", [(5.0, 0.0, 0.0), (0.0, -5.0, 0.0)])
def test_a_push_causes_no_fall_and_no_heat(
    force_n: tuple[float, float, float],
) -> None:
    pushed = stand("minheat", seconds=18.0, pushes=(Push(at_s=9.0, force_n=force_n),))
    assert not pushed.fell
    assert power(pushed) <= 1.1 * (pushed.least_power_w or 0.0)


@pytest.mark.parametrize(
    ("posture", "slope_deg", "friction"),
    [("StandInit", 5.0, 0.7), ("Stand", -3.0, 0.25)],
)
def test_power_is_halved_on_other_postures_and_floors(
    posture: str, slope_deg: float, friction: float
) -> None:
    setting = {"posture": posture, "slope_deg": slope_deg, "friction": friction}
    fixed = stand("fixed", seconds=5.0, **setting)  # type: ignore[arg-type]  # mixed
    result = stand("minheat", seconds=11.0, **setting)  # type: ignore[arg-type]  # so
    assert power(result) < 0.5 * power(fixed)


def test_a_lying_robot_is_ignored() -> None:
    result = stand("minheat", posture="LyingBelly", slope_deg=0.0, seconds=5.0)
    assert result.failure is None
    assert result.largest_shift_deg == 0.0
    assert result.flags["not on its feet"] > 0
