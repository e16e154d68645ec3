"""Battery charge after a run, against a sum by hand."""

import numpy as np
import pytest

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.models import Robot

IDLE_W, EFFICIENCY, CAPACITY_J = 25.0, 0.85, 62.5 * 3600.0


def trial(setting: RobotSetting, seconds: float, posture: str) -> TrialResult:
    cfg = TrialCfg.of(
        setting,
        controller="fixed",
        posture=posture,
        duration_s=seconds,
        fast_forward=None,
    )
    return run_trial(cfg)


def heat_of_motors(result: TrialResult, robot: Robot) -> float:
    """Return the heat of the motors in J; coupled joints share a motor."""
    motors = [robot.joints[robot.joint_index(name)].motor for name in result.joints]
    heats = [joint.joule_loss_j for joint in result.joints.values()]
    return float(np.sum(list(dict(zip(motors, heats, strict=True)).values())))


@pytest.mark.slow
def test_battery_energy_is_that_of_computers_and_motors(nao: Robot) -> None:
    setting = RobotSetting(misalignment_deg={"LAnklePitch": 2.0})
    result = trial(setting, 4.0, "PoseInit")
    used_j = IDLE_W * 4.0 + heat_of_motors(result, nao) / EFFICIENCY
    assert result.battery_charge is not None
    left_j = CAPACITY_J * (1.0 - result.battery_charge)
    assert left_j == pytest.approx(used_j, abs=0.1)  # little work
    assert result.battery_minutes is not None
    at_rest = (CAPACITY_J - used_j) / IDLE_W / 60.0
    assert result.legs_power_w is not None
    with_legs = (
        (CAPACITY_J - used_j) / (IDLE_W + result.legs_power_w / EFFICIENCY) / 60.0
    )
    assert result.battery_minutes < with_legs < at_rest  # arms and head use some too
    assert result.battery_minutes > 0.95 * with_legs
