"""The whole loop against the bare engine, and our servo against PyBullet's motors.

The bare engine steps the very same world: after every block of the loop its state is
taken back, the torques of the block, kept by the last-second ring, are applied again,
and only the calls of the engine's step are timed (with some 0.2 µs for the clock).
The block must end in the same angles, bit for bit; else the comparison is refused.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from controllers.interface.robot_interface import Observation
from controllers.registry import make_controller
from experiments.bench.figures import Figure, figure, median_us, ratio
from experiments.loop import CONTROL_PERIOD, Loop, run_for
from experiments.recording import RunRecording
from experiments.sole_owner import SoleOwner
from experiments.timed_controller import TimedController
from models import Robot, TestbedError
from sim.engine.bullet_engine import Engine
from sim.engine.world import ticks_of
from sim.robot import SimulatedRobot, SimulationCfg, Snapshot
from sim.servo import SERVOS, ServoCfg

FloatArray = NDArray[np.float64]

POSTURE = "PoseInit"
BLOCK_S = 0.25
"""Simulated time of a block in s: short, so that both sides share its luck."""


@dataclass(frozen=True, kw_only=True)
class LoopMeasure:
    """What `measure_loop` found."""

    figures: tuple[Figure, ...]
    observations: tuple[Observation, ...]
    """Of the last block of the standing robot."""


def measure_loop(
    robot: Robot, folder: Path, *, seconds: float, settle_s: float
) -> LoopMeasure:
    """Measure the loop with `smart`, sensors, ring and recorder, and the bare engine.

    Args:
        robot: the robot.
        folder: an empty one for the recorder.
        seconds: simulated time to measure, in s.
        settle_s: simulated time before that, in s.
    """
    controller = TimedController(make_controller("smart"))
    cycles = cycles_in(seconds)
    seen: list[Observation] = []
    whole, bare, steps = [], [], []
    with (
        closing(SimulatedRobot(robot, SimulationCfg(), POSTURE)) as sim,
        _recording(folder, sim) as recording,
    ):
        loop = Loop(sim, controller, robot.posture(POSTURE).angles)
        ticks = ticks_of("control period", CONTROL_PERIOD, sim.dt)
        run_for(loop, settle_s)
        for _ in range(blocks_in(seconds)):
            begin = sim.snapshot()
            seen, times_s = _run_loop(loop, recording, cycles)
            end = sim.snapshot()
            whole.append(median_us(times_s) / ticks)
            steps.append(median_us(controller.times_s[-cycles:]))
            bare.append(repeat_bare(sim, begin, cycles, ticks))
            sim.restore(end)
            sim.forget(begin)
            sim.forget(end)
    return LoopMeasure(
        figures=(
            ratio("loop_over_bare", "whole loop / bare engine", whole, bare, 1.5),
            figure("loop_us", "whole loop, a tick", "µs", whole),
            figure("bare_us", "bare engine, a tick", "µs", bare),
            figure("smart_in_loop_us", "smart, a step in the loop", "µs", steps),
        ),
        observations=tuple(seen),
    )


def measure_servos(robot: Robot, *, seconds: float, settle_s: float) -> list[Figure]:
    """Measure a tick with our torque servo and one with PyBullet's own motors."""
    blocks: dict[str, list[float]] = {kind: [] for kind in SERVOS}
    with ExitStack() as stack:
        standing = {
            kind: stack.enter_context(closing(_standing(robot, kind, settle_s)))
            for kind in SERVOS
        }
        for _ in range(blocks_in(seconds)):
            for kind, sim in standing.items():
                blocks[kind].append(_step_sim(sim, cycles_in(seconds)))
    ours, theirs = blocks["torque"], blocks["pybullet"]
    return [
        ratio("servo_over_pybullet", "torque servo / PyBullet's motors", ours, theirs),
        figure("torque_servo_us", "a tick with our torque servo", "µs", ours),
        figure("pybullet_servo_us", "a tick with PyBullet's motors", "µs", theirs),
    ]


def blocks_in(seconds: float) -> int:
    """Return how many blocks fill a time, at least one."""
    return max(1, round(seconds / BLOCK_S))


def cycles_in(seconds: float) -> int:
    """Return how many control periods make a block, at least one."""
    return max(1, round(min(BLOCK_S, seconds) / CONTROL_PERIOD))


@contextmanager
def _recording(folder: Path, sim: SimulatedRobot) -> Iterator[RunRecording]:
    recording = RunRecording.open(folder, sim.robot, seed=0, config=sim.cfg, command=())
    try:
        yield recording
    finally:
        recording.close("done")


def _run_loop(
    loop: Loop[SimulatedRobot], recording: RunRecording, cycles: int
) -> tuple[list[Observation], list[float]]:
    """Run a block; return what was seen and the time of each cycle in s."""
    seen, times_s = [], []
    for _ in range(cycles):
        begin = perf_counter()
        observation = loop.cycle()
        recording.row(loop.sim, observation, loop.decided)
        times_s.append(perf_counter() - begin)
        seen.append(observation)
    return seen, times_s


def repeat_bare(sim: SimulatedRobot, begin: Snapshot, cycles: int, ticks: int) -> float:
    """Step the last block again from `begin`; return the median in µs a tick.

    Args:
        sim: at the end of the block; it is there again afterwards, in all that counts.
        begin: its state at the begin of the block.
        cycles: of the block.
        ticks: of a cycle.

    Raises:
        TestbedError: the block does not end as it did.
    """
    goal = sim.truth().q
    torques = sim.last_second.newest(cycles * ticks)[:, -len(goal) :].tolist()
    sim.restore(begin)
    engine = sim.engine
    times_s = [
        _step_bare(engine, torques[first : first + ticks])
        for first in range(0, len(torques), ticks)
    ]
    q, v = np.empty_like(goal), np.empty_like(goal)
    engine.read_joints(q, v)
    if not np.array_equal(q, goal):
        raise TestbedError(
            "the bare engine did not come to the angles of the loop; their times "
            "cannot be compared. Was the loop changed without the ring?"
        )
    return median_us(times_s) / ticks


def _step_bare(engine: Engine, torques: Sequence[Sequence[float]]) -> float:
    """Return the time in s that the engine's steps take with these torques."""
    total = 0.0
    for torque in torques:
        engine.apply_torques(torque)
        begin = perf_counter()
        engine.step()
        total += perf_counter() - begin
    return total


def _step_sim(sim: SimulatedRobot, cycles: int) -> float:
    """Let a robot stand for some control periods; return the median in µs a tick."""
    ticks = ticks_of("control period", CONTROL_PERIOD, sim.dt)
    times_s = []
    for _ in range(cycles):
        begin = perf_counter()
        sim.step(ticks)
        times_s.append(perf_counter() - begin)
    return median_us(times_s) / ticks


def _standing(robot: Robot, kind: str, settle_s: float) -> SimulatedRobot:
    cfg = SimulationCfg(servo=ServoCfg(kind=kind))
    sim = SimulatedRobot(robot, cfg, POSTURE)
    SoleOwner(sim).command(target=robot.posture(POSTURE).angles)
    sim.step(max(1, round(settle_s / sim.dt)))
    return sim
