"""A robot that is reached over the network, as a source like the others."""

from dataclasses import dataclass, field
from pathlib import Path

from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.naoqi.connection import connect
from nao_testbed.sim.naoqi.robot import ANSWER_S, NaoqiRobot


@dataclass(frozen=True, kw_only=True)
class NaoqiSource:
    """A robot that speaks NAOqi, simulated or real."""

    url: str
    """`naoqi://HOST:PORT`."""
    robot_folder: Path = field(default_factory=default_robot_folder)
    """What it is."""
    answer_s: float = ANSWER_S
    """What a call may take, in s."""

    def open(self) -> NaoqiRobot:
        """Return the robot, connected; nothing is commanded yet.

        Raises:
            BadInput: there is none, it is another, or `qi` is not installed.
            ConnectionLate: it does not answer.
            ConnectionLost: the connection has ended.
        """
        robot = load_robot(self.robot_folder)
        return NaoqiRobot(robot, connect(self.url), answer_s=self.answer_s)

    def goal(self, robot: Robot) -> FloatArray | None:  # noqa: ARG002 - as its twin
        """Return None: it holds the set-points that it has."""
        return None
