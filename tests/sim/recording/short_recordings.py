"""Short recordings for the tests of the replay."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nao_testbed.controllers.interface.robot_interface import READINGS
from nao_testbed.experiments.closed_loop.loop import Loop
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.models import Robot
from nao_testbed.sim.replayed_robot import RecordedObservations
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from tests.sim.recording.answering_controller import Answering


def invented(robot: Robot, time_s: Sequence[float]) -> RecordedObservations:
    """Observations with a distinct number in each value."""
    sizes = {
        **dict.fromkeys(("q", "v", "target", "stiffness"), len(robot.joints)),
        **dict.fromkeys(("current", "temperature"), len(robot.motors)),
        **dict.fromkeys(("gyro", "accelerometer", "gravity"), 3),
        "fsr": len(robot.force_sensors),
        "sonar": len(robot.sonars),
        "battery": 1,
    }
    assert set(sizes) == set(READINGS)
    number = np.arange(float(len(time_s)))[:, np.newaxis]
    times = np.array(time_s)
    return RecordedObservations(
        robot=robot,
        time_s=times,
        values={name: np.repeat(number, n, axis=1) for name, n in sizes.items()},
        limits=None,
        shifts=None,
        is_exact=True,
        period_s=float(np.median(np.diff(times))) if len(times) > 1 else np.inf,
    )


def record(
    folder: Path,
    robot: Robot,
    *,
    exact: bool = True,
    cycles: int = 100,
    parts: int = 1,
    heat_s: float = 0.0,
) -> Answering:
    """Record a standing robot; return the controller with its inputs and outputs.

    Args:
        folder: an empty one.
        robot: must have a posture `Stand`.
        exact: with every digit.
        cycles: control periods in each part.
        parts: files of the recording.
        heat_s: fast-forward of heat after each part, in s.
    """
    sim = SimulatedRobot(robot, SimulationCfg(seed=5), "Stand")
    controller = Answering()
    recording = RunRecording.open(
        folder,
        robot,
        seed=5,
        config={"controller": "constant:0.5"},
        command=(),
        exact=exact,
    )
    loop = Loop(sim, controller, None, CONTROL_PERIOD)
    for _ in range(parts):
        for _ in range(cycles):
            seen = loop.cycle()
            recording.row(sim, seen, loop.decided)
        recording.flush()
        for _ in range(round(heat_s)):
            sim.advance_heat(sim.mean_square, 1.0)
            recording.row(sim, sim.read())
    recording.close("done")
    sim.close()
    return controller
