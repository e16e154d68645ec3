"""Record a robot once, then replay its sensors to other controllers.

The loop of this lesson is written once; the configuration selects a simulator or the
recording of a run, which replays the sensors without robot or engine. The recorded
controller gives the same output, bit for bit. Another controller gives a different
output; the difference is due to the controller alone, since the input is the same.

A replay is open-loop: commands do not change later sensor values. It shows the output
of a controller, not its effect on the robot.
"""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from nao_testbed import Loop, SimulatedRobot, SimulationCfg, make_controller
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.robot_source import (
    RecordingSource,
    RobotSource,
    SimulatorSource,
)

CYCLES = 250  # of 20 ms: 5 s
JOINT = "LAnklePitch"


def answers(source: RobotSource, controller: str) -> np.ndarray:
    """Run a controller on a simulated or recorded robot; return its stiffness rows."""
    with closing(source.open()) as robot:
        loop = Loop(robot, make_controller(controller), source.goal(robot.robot))
        rows = []
        for _ in range(CYCLES):
            loop.cycle()
            rows.append(loop.limits)
        return np.array(rows)


def record(source: SimulatorSource, folder: Path) -> None:
    """Run `smart` on the simulated robot, and record its sensors without rounding."""
    with closing(source.open()) as robot:
        assert isinstance(robot, SimulatedRobot)
        recording = RunRecording.open(
            folder, robot.robot, seed=1, config={}, command=(), exact=True
        )
        loop = Loop(robot, make_controller("smart"), source.goal(robot.robot))
        for _ in range(CYCLES):
            seen = loop.cycle()
            recording.row(robot, seen, loop.decided)
        recording.close("done")


def main() -> None:
    bad_ankle = SimulationCfg(seed=1, misalignment_deg={JOINT: 2.0})
    live = SimulatorSource(simulation=bad_ankle)
    with TemporaryDirectory() as folder:
        record(live, Path(folder))
        replay = RecordingSource(folder=Path(folder))
        first = answers(live, "smart")
        again = answers(replay, "smart")
        full = answers(replay, "smart-full")
        joint = replay.open().robot.joint_index(JOINT)
    print(f"smart, simulated and replayed, bit for bit: {np.array_equal(first, again)}")
    print(f"\nstiffness of {JOINT} on the same five seconds")
    print(f"{'time, s':>8}{'smart':>9}{'smart-full':>12}")
    for i in range(49, CYCLES, 50):
        print(f"{0.02 * i:8.2f}{again[i, joint]:9.3f}{full[i, joint]:12.3f}")


if __name__ == "__main__":
    main()
