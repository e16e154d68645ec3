"""A current limit from a setting, from a controller, and in the run's data."""

from pathlib import Path

import numpy as np
import pytest

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.models import BadInput, load_robot
from nao_testbed.sim.recording.run_folder import create_run_folder, read_run

NAO = load_robot()
KNEE = "LKneePitch"
pytestmark = pytest.mark.requirement("ST-29")


def run(folder: Path, controller: str, setting: RobotSetting) -> TrialCfg:
    """Record a second of standing."""
    cfg = TrialCfg.of(
        setting,
        controller=controller,
        posture="PoseInit",
        duration_s=0.2,
        fast_forward=None,
        folder=create_run_folder(folder.parent, folder.name),
    )
    run_trial(cfg)
    return cfg


def test_a_limited_run_holds_its_limit_in_ampere(tmp_path: Path) -> None:
    setting = RobotSetting(current_limit_a={KNEE: 0.3})
    run(tmp_path / "board", "fixed", setting)
    data = read_run(tmp_path / "board")
    frame = data.frame
    assert np.allclose(frame[f"current_limit.{KNEE}"], 0.3)
    motor = NAO.motors[NAO.motor_index(KNEE)].one_node
    other = NAO.effort_limit[NAO.joint_index("RKneePitch")] / motor.torque_constant
    assert np.allclose(frame["current_limit.RKneePitch"], other)
    assert data.meta.columns[f"current_limit.{KNEE}"] == "A"
    assert frame[f"motor_torque.{KNEE}"].abs().max() <= 0.3001 * motor.torque_constant


def test_a_current_limit_of_a_controller_is_recorded(tmp_path: Path) -> None:
    run(tmp_path / "run", "current:0.25", RobotSetting())
    frame = read_run(tmp_path / "run").frame
    assert np.allclose(frame[f"current_limit.{KNEE}"], 0.25)
    assert np.allclose(frame[f"limits.{KNEE}"].dropna(), 1.0)


def test_a_run_without_limit_has_no_column(tmp_path: Path) -> None:
    run(tmp_path / "run", "fixed", RobotSetting())
    columns = read_run(tmp_path / "run").frame.columns
    assert not [name for name in columns if name.startswith("current_limit")]


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_an_invalid_setting_is_rejected(value: float) -> None:
    with pytest.raises(BadInput, match="current limit of LKneePitch"):
        RobotSetting(current_limit_a={KNEE: value}).check(NAO)
