"""Source of a robot on the network."""

from dataclasses import dataclass, field
from pathlib import Path

from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.naoqi.connection import connect
from nao_testbed.sim.naoqi.naoqi_robot import ANSWER_S, NaoqiRobot


@dataclass(frozen=True, kw_only=True)
class NaoqiSource:
    """Robot with NAOqi, simulated or real."""

    url: str
    """Address `naoqi://HOST:PORT`."""
    robot_folder: Path = field(default_factory=default_robot_folder)
    """Folder of the robot description."""
    answer_s: float = ANSWER_S
    """Time limit of a call, in s."""

    def open(self) -> NaoqiRobot:
        """Connect to the robot without commanding it.

        Raises:
            BadInput: no robot answers, its type differs, or `qi` is not installed.
            ConnectionTimeout: the robot does not answer.
            ConnectionLost: the connection has ended.
        """
        robot = load_robot(self.robot_folder)
        return NaoqiRobot(robot, connect(self.url), answer_s=self.answer_s)

    def goal(self, robot: Robot) -> FloatArray | None:  # noqa: ARG002 - as its twin
        """Return None: the robot keeps its set-points."""
        return None
