"""Columns of a NAO and of a G1 standing for some seconds with one misaligned joint."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.sim.recording.run_folder import read_run
from tests.experiments.common.recorded_runs import RecordedRuns
from tests.experiments.heat.xray.conftest import stand

G1 = default_robot_folder().parent / "g1"


@pytest.fixture(scope="session")
def nao() -> Robot:
    return load_robot()


@pytest.fixture(scope="session")
def g1() -> Robot:
    return load_robot(G1)


def frame_of(folder: Path) -> pd.DataFrame:
    return read_run(folder).frame.astype(np.float64).reset_index()


@pytest.fixture(scope="session")
def nao_run(recorded: RecordedRuns) -> Path:
    return recorded("xray", stand) / "run"


@pytest.fixture(scope="session")
def g1_run(recorded: RecordedRuns) -> Path:
    return recorded("xray-g1", _stand_g1) / "run"


def _stand_g1(base: Path) -> None:
    folder = base / "run"
    folder.mkdir()
    setting = RobotSetting(robot=G1, misalignment_deg={"left_ankle_pitch": 1.2}, seed=7)
    cfg = TrialCfg.of(
        setting,
        controller="fixed",
        posture="bent",
        duration_s=4.0,
        fast_forward=None,
        folder=folder,
    )
    assert run_trial(cfg).failure is None


@pytest.fixture(scope="session")
def nao_frame(nao_run: Path) -> pd.DataFrame:
    return frame_of(nao_run)


@pytest.fixture(scope="session")
def g1_frame(g1_run: Path) -> pd.DataFrame:
    return frame_of(g1_run)
