"""Log of a standing robot whose left ankle is misaligned by 1°."""

from pathlib import Path

import pytest

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.record import Log
from nao_testbed.experiments.heat.xray.standing import Standing, find_standing
from nao_testbed.experiments.heat.xray.standing_model import Assumptions, StandingModel
from nao_testbed.experiments.heat.xray.suspects import Suspects, find_suspects
from nao_testbed.models import Robot, load_robot
from tests.experiments.common.recorded_runs import RecordedRuns

JOINT, DEGREES = "LAnklePitch", -1.0


@pytest.fixture(scope="session")
def robot() -> Robot:
    return load_robot()


@pytest.fixture(scope="session")
def run_folder(recorded: RecordedRuns) -> Path:
    return recorded("xray", stand) / "run"


def stand(base: Path) -> None:
    folder = base / "run"
    folder.mkdir()
    setting = RobotSetting(misalignment_deg={JOINT: DEGREES}, seed=7)
    cfg = TrialCfg.of(
        setting,
        controller="fixed",
        posture="PoseInit",
        duration_s=4.0,
        fast_forward=None,
        folder=folder,
    )
    assert run_trial(cfg).failure is None


@pytest.fixture(scope="session")
def log(run_folder: Path) -> Log:
    return read_log(run_folder)


@pytest.fixture(scope="session")
def standing(log: Log, robot: Robot) -> Standing:
    return find_standing(log, robot)


@pytest.fixture(scope="session")
def model(standing: Standing, robot: Robot) -> StandingModel:
    return StandingModel(robot, standing, Assumptions())


@pytest.fixture(scope="session")
def suspects(model: StandingModel) -> Suspects:
    return find_suspects(model)
