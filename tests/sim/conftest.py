"""The two robots of the tests, and simulated robots that are closed afterwards."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controllers.interface.robot_interface import Command
from models import Robot, default_robot_folder, load_robot
from sim.robot import SimulatedRobot, SimulationCfg

TWO_LEG = Path(__file__).parents[1] / "data" / "two_leg"

Simulate = Callable[[Robot, SimulationCfg, str], SimulatedRobot]


@pytest.fixture(scope="session")
def nao() -> Robot:
    return load_robot(default_robot_folder())


@pytest.fixture(scope="session")
def two_leg() -> Robot:
    return load_robot(TWO_LEG)


@pytest.fixture(scope="module")
def simulate() -> Iterator[Simulate]:
    """Return a function that places a robot and gives it the posture's set-points."""
    made: list[SimulatedRobot] = []

    def make(robot: Robot, cfg: SimulationCfg, posture: str) -> SimulatedRobot:
        sim = SimulatedRobot(robot, cfg, posture)
        made.append(sim)
        sim.write(Command(target=robot.posture(posture).angles))
        return sim

    yield make
    for sim in made:
        sim.close()
