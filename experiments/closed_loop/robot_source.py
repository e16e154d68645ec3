"""Where a robot comes from, as configuration: simulator, recording, or a real robot.

    source = robot_source("simulator")  # or "my_robot", "runs/heat/smart",
                                        # "naoqi://192.168.1.12:9559"
    with closing(source.open()) as robot:
        loop = Loop(robot, controller, source.goal(robot.robot))

The program in between is the same: moving over is configuration, not source
[jdec-urjc] (3.1, 5).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nao_testbed.experiments.closed_loop.loop import PacedRobot
from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.models.load import ROBOT_FILE
from nao_testbed.sim.naoqi.connection import connect, is_naoqi
from nao_testbed.sim.naoqi.robot import ANSWER_S, NaoqiRobot
from nao_testbed.sim.recording.run_folder import read_run
from nao_testbed.sim.recording.run_meta import recorded_robot
from nao_testbed.sim.replay import ReplayRobot, read_observations

if TYPE_CHECKING:
    from nao_testbed.sim.robot import SimulationCfg

FloatArray = NDArray[np.float64]

SIMULATOR, START_POSTURE = "simulator", "Stand"


@dataclass(frozen=True, kw_only=True)
class SimulatorSource:
    """A robot in PyBullet that holds a posture."""

    robot_folder: Path = field(default_factory=default_robot_folder)
    posture: str | None = None
    """None: Stand, or the robot's first one."""
    simulation: "SimulationCfg | None" = None
    """None: a healthy robot on level ground."""

    def open(self) -> PacedRobot:
        """Return the robot, standing in its posture.

        Raises:
            BadInput: a value cannot be used.
        """
        from nao_testbed.sim.robot import (  # noqa: PLC0415
            SimulatedRobot,  # the engine
            SimulationCfg,  # likewise
        )

        robot = load_robot(self.robot_folder)
        posture = robot.posture_name(self.posture, START_POSTURE)
        return SimulatedRobot(robot, self.simulation or SimulationCfg(), posture)

    def goal(self, robot: Robot) -> FloatArray | None:
        """Return the set-points of the posture, (n_joints,) in rad."""
        return robot.posture(robot.posture_name(self.posture, START_POSTURE)).angles


@dataclass(frozen=True, kw_only=True)
class RecordingSource:
    """A recorded run whose sensors speak once more."""

    folder: Path
    """The run folder."""
    robot_folder: Path | None = None
    """Of the robot; None takes the one that the run names."""

    def open(self) -> ReplayRobot:
        """Return the recording behind the robot interface.

        Raises:
            BadInput: it is no run, or cannot be replayed.
        """
        run = read_run(self.folder)
        robot = recorded_robot(run.meta, self.robot_folder)
        return ReplayRobot(read_observations(run, robot))

    def goal(self, robot: Robot) -> FloatArray | None:  # noqa: ARG002 - as its twin
        """Return None: the set-points are those of the recording."""
        return None


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


RobotSource = SimulatorSource | RecordingSource | NaoqiSource


def robot_source(text: str) -> RobotSource:
    """Return what a text names: `simulator`, an address, a robot's or a run folder."""
    if is_naoqi(text):
        return NaoqiSource(url=text)
    if text == SIMULATOR:
        return SimulatorSource()
    if (Path(text) / ROBOT_FILE).is_file():
        return SimulatorSource(robot_folder=Path(text))
    return RecordingSource(folder=Path(text))
