"""The two robots of the tests, and simulated robots that are closed afterwards."""

from collections.abc import Callable, Iterator

import pytest

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import Robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

Simulate = Callable[[Robot, SimulationCfg, str], SimulatedRobot]


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
