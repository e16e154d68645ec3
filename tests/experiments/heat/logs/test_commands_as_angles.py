"""Logs whose angles are commands: refused beside set-points, a hypothesis without."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.record import COPY
from nao_testbed.experiments.heat.logs.sensor_checks import check_sensors
from nao_testbed.experiments.heat.xray.column_faults import (
    COMMANDS,
    CONSTANT_ODDS,
    MIRRORED_ODDS,
    ODDS,
    command_odds,
)
from nao_testbed.experiments.heat.xray.results.tables import headline
from nao_testbed.experiments.heat.xray.standing import find_standing
from nao_testbed.experiments.heat.xray.xray import XrayCfg, xray
from nao_testbed.models import BadInput, Robot
from studies.faulty_logs import of, sensors_of, without

ROBOTS = pytest.mark.parametrize(
    "name", ["nao", pytest.param("g1", marks=pytest.mark.slow)]
)


@pytest.fixture
def robot(name: str, request: pytest.FixtureRequest) -> Robot:
    found: Robot = request.getfixturevalue(name)
    return found


@pytest.fixture
def frame(name: str, request: pytest.FixtureRequest) -> pd.DataFrame:
    return sensors_of(request.getfixturevalue(f"{name}_frame"))


def commanded(frame: pd.DataFrame, late: int = 0, digits: int = 9) -> pd.DataFrame:
    """Write the set-points into the measured angles."""
    given = {n: frame[f"target{n[1:]}"].shift(late).bfill() for n in of(frame, "q")}
    return frame.assign(**given).round(dict.fromkeys(given, digits))


def written(frame: pd.DataFrame, tmp_path: Path) -> Path:
    path = tmp_path / "log.parquet"
    frame.to_parquet(path)
    return path


def odds(frame: pd.DataFrame, robot: Robot, tmp_path: Path) -> float:
    log = read_log(written(frame, tmp_path), robot)
    return command_odds(check_sensors(log, robot), robot, 1.5)


@ROBOTS
@pytest.mark.parametrize(("late", "digits"), [(0, 9), (2, 9), (0, 3)])
def test_angles_equal_to_set_points_are_refused_where_torques_need_a_difference(
    frame: pd.DataFrame, robot: Robot, tmp_path: Path, late: int, digits: int
) -> None:
    moved = frame.copy()
    steps = 1e-3 * np.sin(np.arange(len(frame)))  # as a policy at 50 Hz
    moved[of(frame, "target")] += steps[:, np.newaxis]
    log = read_log(written(commanded(moved, late, digits), tmp_path), robot)
    assert [one.kind for one in log.repairs].count(COPY) == 1  # `identify` prints it
    with pytest.raises(BadInput, match=r"q probably holds commands\. Record measured"):
        find_standing(log, robot)


@ROBOTS
def test_unsigned_currents_do_not_hide_a_copy(
    frame: pd.DataFrame, robot: Robot, tmp_path: Path
) -> None:
    frame[of(frame, "current")] = frame[of(frame, "current")].abs()
    log = read_log(written(commanded(frame), tmp_path), robot)
    with pytest.raises(BadInput, match="q probably holds commands"):
        find_standing(log, robot)


@ROBOTS
@pytest.mark.parametrize("digits", [9, 3])
def test_measured_angles_are_no_copy(
    frame: pd.DataFrame, robot: Robot, tmp_path: Path, digits: int
) -> None:
    frame = frame.round(dict.fromkeys(of(frame, "q"), digits))
    log = read_log(written(frame, tmp_path), robot)
    assert COPY not in {one.kind for one in log.repairs}
    find_standing(log, robot)


@ROBOTS
def test_steps_of_encoders_exclude_commands(
    frame: pd.DataFrame, robot: Robot, tmp_path: Path
) -> None:
    alone = without("target")(frame, robot, np.random.default_rng(0))
    assert odds(alone, robot, tmp_path) == 0.0
    assert odds(alone.round(5), robot, tmp_path) == 0.0


def test_encoders_with_an_offset_are_recognised_by_their_steps(
    g1: Robot, g1_frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame = sensors_of(g1_frame).drop(columns=of(g1_frame, "target"))
    frame[of(frame, "q")] += 1.1e-4
    assert odds(frame, g1, tmp_path) == 0.0


def test_joints_of_one_motor_need_one_column(
    nao: Robot, nao_frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame = sensors_of(nao_frame).drop(columns=of(nao_frame, "target"))
    assert odds(frame.drop(columns="q.RHipYawPitch"), nao, tmp_path) == 0.0  # as NAOqi


def test_readings_without_steps_may_be_commands(
    g1: Robot, g1_frame: pd.DataFrame, tmp_path: Path
) -> None:
    frame = commanded(sensors_of(g1_frame)).drop(columns=of(g1_frame, "target"))
    assert odds(frame, g1, tmp_path) == MIRRORED_ODDS
    frame["q.left_knee"] += 0.01
    assert odds(frame, g1, tmp_path) == CONSTANT_ODDS
    frame["q.left_knee"] += 1e-3 * np.sin(np.arange(len(frame)))
    assert odds(frame, g1, tmp_path) == ODDS


@pytest.mark.slow
@ROBOTS
def test_a_log_of_commands_names_no_joint(
    frame: pd.DataFrame, robot: Robot, tmp_path: Path
) -> None:
    frame = commanded(frame).drop(columns=of(frame, "target"))
    found = xray(XrayCfg(source=written(frame, tmp_path)), robot)
    assert not found.named
    fault = found.probable_fault
    assert fault is not None
    assert fault.label == COMMANDS
    assert headline(found).startswith("The angles q are probably commands, not measure")
    assert isinstance(found.advice, str)
