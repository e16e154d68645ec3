"""The robot interface of simulated and recorded robots (JD-17)."""

from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nao_testbed.controllers.interface.robot_interface import Command, Observation
from nao_testbed.experiments.closed_loop.loop import PacedRobot
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.recording.run_folder import read_run
from nao_testbed.sim.replayed_robot import ReplayRobot, read_observations
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from tests.sim.recording.short_recordings import record

pytestmark = pytest.mark.requirement("JD-17")


def same(a: Observation, b: Observation) -> bool:
    return all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name))
        for field in fields(Observation)
    )


@pytest.fixture(scope="module")
def recorded(two_leg: Robot, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    record(folder, two_leg)
    return folder


@pytest.fixture(params=["simulator", "recording"])
def robot(
    request: pytest.FixtureRequest, two_leg: Robot, recorded: Path
) -> Iterator[PacedRobot]:
    make: dict[str, Callable[[], PacedRobot]] = {
        "simulator": lambda: SimulatedRobot(two_leg, SimulationCfg(seed=5), "Stand"),
        "recording": lambda: ReplayRobot(
            read_observations(read_run(recorded), two_leg)
        ),
    }
    made = make[request.param]()
    yield made
    made.close()


def test_arrays_have_the_sizes_of_the_description(robot: PacedRobot) -> None:
    seen, described = robot.read(), robot.robot
    n, m = len(described.joints), len(described.motors)
    for name in ("q", "v", "target", "stiffness"):
        assert getattr(seen, name).shape == (n,), name
    assert seen.current.shape == seen.temperature.shape == (m,)
    assert seen.gyro.shape == seen.accelerometer.shape == (3,)
    assert seen.fsr.shape == (len(described.force_sensors),)
    assert all(
        getattr(seen, field.name).dtype == np.float64
        for field in fields(Observation)
        if field.name != "time_s"
    )


def test_the_clock_advances_by_ticks_only(robot: PacedRobot) -> None:
    begin = robot.time_s
    robot.read()
    assert robot.time_s == begin
    for n, ticks in enumerate((20, 10, 30, 0, 1), start=1):
        before = robot.time_s
        robot.step(ticks)
        assert robot.time_s == pytest.approx(before + ticks * robot.dt, abs=1e-12), n
        assert robot.read().time_s <= robot.time_s + 1e-12


def test_reading_has_no_side_effect_and_returns_copies(robot: PacedRobot) -> None:
    robot.step(40)
    first = robot.read()
    first.q[:] += 1.0
    first.fsr[:] = -7.0
    second, third = robot.read(), robot.read()
    assert same(second, third)
    assert not same(first, second)


def test_the_same_ticks_lead_to_the_same_observations(robot: PacedRobot) -> None:
    robot.step(60)
    here = robot.read()
    robot.step(0)
    assert same(robot.read(), here)


@pytest.mark.parametrize("which", ["target", "stiffness"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 7.0])
def test_an_invalid_command_is_rejected_completely(
    robot: PacedRobot, which: str, value: float
) -> None:
    before = robot.read()
    good = before.target, np.full(len(before.target), 0.5)
    wrong = good[0 if which == "target" else 1].copy()
    wrong[2] = value
    if which == "target":
        command = Command(target=wrong, stiffness=good[1])
    else:
        command = Command(target=good[0], stiffness=wrong)
    with pytest.raises(BadInput, match=rf"{robot.robot.joint_names[2]} is "):
        robot.write(command)
    robot.step(0)
    assert_array_equal(robot.read().target, before.target)
    assert_array_equal(robot.read().stiffness, before.stiffness)


def test_a_command_of_another_size_is_refused(robot: PacedRobot) -> None:
    with pytest.raises(BadInput, match="one per joint"):
        robot.write(Command(stiffness=np.ones(3)))


def test_closing_twice_is_allowed(robot: PacedRobot) -> None:
    robot.close()
    robot.close()
