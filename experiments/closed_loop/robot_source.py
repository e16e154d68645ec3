"""Robot source chosen by configuration: a simulator or a recording.

    source = robot_source("simulator")  # or "my_robot", "runs/heat/smart"
    with closing(source.open()) as robot:
        loop = Loop(robot, controller, source.goal(robot.robot))

The program is the same for each source: the change from simulator to robot is
configuration, not source code [jdec-urjc] (3.1, 5). A real robot is one more source:
`experiments.live.real_robot.naoqi_source`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nao_testbed.experiments.closed_loop.loop import PacedRobot
from nao_testbed.models import Robot, default_robot_folder, load_robot
from nao_testbed.models.folders import ROBOT_FILE
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.run_folder import read_run
from nao_testbed.sim.recording.run_meta import recorded_robot
from nao_testbed.sim.replayed_robot import ReplayRobot, read_observations

if TYPE_CHECKING:
    from nao_testbed.sim.robot import SimulationCfg


SIMULATOR = "simulator"


@dataclass(frozen=True, kw_only=True)
class SimulatorSource:
    """Simulated robot that holds a posture."""

    robot_folder: Path = field(default_factory=default_robot_folder)
    posture: str | None = None
    """Name or role; None: the upright one."""
    simulation: "SimulationCfg | None" = None
    """Settings of the simulation; None: a healthy robot on level ground."""

    def open(self) -> PacedRobot:
        """Return the robot in its posture.

        Raises:
            BadInput: a value cannot be used.
        """
        from nao_testbed.sim.robot import (  # noqa: PLC0415
            SimulatedRobot,  # imports the engine
            SimulationCfg,  # imports the engine
        )

        robot = load_robot(self.robot_folder)
        posture = robot.posture_name(self.posture, "upright")
        return SimulatedRobot(robot, self.simulation or SimulationCfg(), posture)

    def goal(self, robot: Robot) -> FloatArray | None:
        """Return the set-points of the posture, (n_joints,) in rad."""
        return robot.posture(robot.posture_name(self.posture, "upright")).angles


@dataclass(frozen=True, kw_only=True)
class RecordingSource:
    """Recorded run that is replayed."""

    folder: Path
    """Run folder."""
    robot_folder: Path | None = None
    """Folder of the robot; None: the folder named by the run."""

    def open(self) -> ReplayRobot:
        """Return the recording behind the robot interface.

        Raises:
            BadInput: the folder is not a run, or the run cannot be replayed.
        """
        run = read_run(self.folder)
        robot = recorded_robot(run.meta, self.robot_folder)
        return ReplayRobot(read_observations(run, robot))

    def goal(self, robot: Robot) -> FloatArray | None:  # noqa: ARG002 - as its twin
        """Return None: the set-points are those of the recording."""
        return None


RobotSource = SimulatorSource | RecordingSource


def robot_source(text: str) -> RobotSource:
    """Return the source of a text: `simulator`, a robot's folder or a run folder."""
    if text == SIMULATOR:
        return SimulatorSource()
    if (Path(text) / ROBOT_FILE).is_file():
        return SimulatorSource(robot_folder=Path(text))
    return RecordingSource(folder=Path(text))
