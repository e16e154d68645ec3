"""Perceptive schema on a recording: same source, same stimuli (JD-17, 18)."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.runtime import SchemaRuntime
from nao_testbed.controllers.schemas.runtime.gate_actuators import GateActuators
from nao_testbed.experiments.closed_loop.loop import PacedRobot
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.robot_source import RecordingSource
from nao_testbed.models import load_robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

CYCLES, CYCLE_TICKS = 150, 20
OUTPUTS = (
    "instability",
    "is_unstable",
    "cop_margin_m",
    "capture_margin_m",
    "is_on_soles",
)
PUSH = np.array([14.0, 6.0, 0.0])  # N, at the base: it sways and stays up


class Pushed(SimulatedRobot):
    """Robot that is pushed for 100 ms, one second after the start."""

    def step(self, ticks: int) -> None:
        for _ in range(ticks):
            if 1000 <= self.tick < 1100:
                self.push(self.robot.base_link, PUSH)
            super().step(1)


def stimuli(
    robot: PacedRobot, recording: RunRecording | None = None
) -> NDArray[np.float64]:
    """Run `balance watch` on a robot; return its outputs for each cycle."""
    ledger = Ledger(ResourceTree(robot.robot.resources))
    actuators = GateActuators(Gate(ledger, robot), None, ledger)  # type: ignore[arg-type]  # perception only
    schemas = SchemaRuntime(robot.robot, ledger, actuators)
    schemas.add(Activation(schema="balance watch", name="watch"))
    schemas.wake("watch", 0)
    rows = []
    for cycle in range(CYCLES):
        tick = 2 * cycle  # slots of 10 ms
        ledger.advance(tick)
        seen = robot.read()
        schemas.step(tick, seen)
        rows.append([float(schemas.value("watch", name)) for name in OUTPUTS])
        robot.step(CYCLE_TICKS)
        if recording is not None and isinstance(robot, SimulatedRobot):
            recording.row(robot, seen)
    return np.array(rows)


@pytest.mark.requirement("JD-17", "JD-18")
def test_watch_outputs_on_a_recording_equal_the_live_outputs(
    tmp_path: Path,
) -> None:
    sim = Pushed(load_robot(), SimulationCfg(seed=2), "Stand")
    recording = RunRecording.open(
        tmp_path, sim.robot, seed=2, config={}, command=(), exact=True
    )
    live = stimuli(sim, recording)
    recording.close("done")
    sim.close()
    again = stimuli(RecordingSource(folder=tmp_path).open())
    assert np.ptp(live[:, OUTPUTS.index("instability")]) > 0.1, "the push had no effect"
    np.testing.assert_array_equal(again, live)
