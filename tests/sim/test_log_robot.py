"""A recording in place of the simulated robot."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.log_robot import LogRobot
from nao_testbed.sim.replayed_robot import RecordedObservations
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

ROWS = 5
TICKS = 20
"""Between two rows."""
BEGIN_S = 7.0
SHIFT_RAD = 0.01


def recording(robot: Robot) -> RecordedObservations:
    """Return rows of a standing, heating robot; the first joint is shifted."""
    sim = SimulatedRobot(robot, SimulationCfg(), "Stand")
    seen = sim.read()
    sim.close()
    fields = (
        *("q", "v", "target", "stiffness", "current", "temperature", "gyro"),
        *("accelerometer", "fsr", "battery"),
    )
    values = {name: np.tile(getattr(seen, name), (ROWS, 1)) for name in fields}
    values["temperature"] += np.arange(ROWS)[:, None]
    shifts = np.zeros((ROWS, len(robot.joints)))
    shifts[:, 0] = SHIFT_RAD
    values["target"][1:, 0] += SHIFT_RAD
    return RecordedObservations(
        robot=robot,
        time_s=BEGIN_S + 0.02 * np.arange(ROWS, dtype=np.float64),
        values=values,
        limits=None,
        shifts=shifts,
        is_exact=True,
        period_s=0.02,
    )


@pytest.fixture
def log(two_leg: Robot) -> Iterator[LogRobot]:
    position = np.zeros((ROWS, 3))
    quaternion = np.tile([0.0, 0.0, 0.0, 1.0], (ROWS, 1))
    quaternion[-1] = [np.sin(0.5), 0.0, 0.0, np.cos(0.5)]  # 57 degrees
    made = LogRobot(recording(two_leg), "Stand", (position, quaternion))
    yield made
    made.close()


@pytest.mark.requirement("JD-18")
def test_sensors_replay_recorded_values_and_hold_the_last(log: LogRobot) -> None:
    for row in [*range(ROWS), ROWS - 1, ROWS - 1]:
        seen = log.read()
        assert_array_equal(seen.temperature, log.recorded.values["temperature"][row])
        assert seen.time_s == log.time_s
        assert log.is_over == (row == ROWS - 1)
        assert log.has_fallen() == log.truth().has_fallen == (row == ROWS - 1)
        log.step(TICKS)


@pytest.mark.requirement("JD-18")
def test_a_row_is_read_from_its_time_on(log: LogRobot) -> None:
    log.step(TICKS - 1)
    assert log.row == 0
    log.step(1)
    assert log.row == 1


@pytest.mark.requirement("JD-18")
def test_set_points_are_compared_without_shift_from_the_first_command_on(
    log: LogRobot,
) -> None:
    target = log.read().target
    log.step(2 * TICKS)
    assert log.read().target == pytest.approx(target)
    log.write(Command(target=target + 0.002))
    log.note_commanded([0])
    log.step(TICKS)
    log.write(Command(target=target + 0.004))
    log.step(TICKS)
    log.write(Command(target=target))
    log.step(TICKS)  # the recording has ended
    (one,) = log.comparison.differences
    assert one.joint == log.robot.joints[0].name
    assert one.since_s == pytest.approx(0.04)
    assert one.n_samples == 2
    assert one.mean_abs_rad == pytest.approx(0.003)
    assert one.max_abs_rad == pytest.approx(0.004)
    others = tuple(joint.name for joint in log.robot.joints[1:])
    assert log.comparison.never_commanded == others
    assert log.read().target == pytest.approx(target), "the robot did not move"


@pytest.mark.requirement("JD-18")
def test_commands_after_the_end_are_not_compared(log: LogRobot) -> None:
    log.step(ROWS * TICKS)
    log.note_commanded([0])
    log.step(TICKS)
    (one,) = log.comparison.differences
    assert one.as_json() == {
        "since_s": 0.1,
        "samples": 0,
        "mean_abs_deg": None,
        "max_abs_deg": None,
    }


def test_missing_readings_are_allowed(two_leg: Robot) -> None:
    whole = recording(two_leg)
    values = {name: one for name, one in whole.values.items() if name != "battery"}
    log = LogRobot(replace(whole, values=values), "Stand")
    assert not log.has_fallen()
    log.close()


def test_a_set_point_beyond_the_range_is_refused(log: LogRobot) -> None:
    with pytest.raises(BadInput):
        log.write(Command(target=log.robot.upper + 1.0))
