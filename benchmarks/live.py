"""Cost of the live page for a robot, with and without a viewer.

Two robots with the same settings step alternately, one second each: one is only
recorded, the other is also sent to a page. Both behave identically, bit for bit.
"""

import os
from contextlib import ExitStack
from pathlib import Path
from time import process_time

from benchmarks.figures import Figure, figure, ratio
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.robot.process_link import IDLE_S, MOMENT_SLOTS
from nao_testbed.experiments.live.robot.resting_robot import RestingRobot
from nao_testbed.models.system import Connection
from nao_testbed.sim.robot import SimulationCfg

BLOCK_SLOTS = 100
"""Slots of 10 ms in a block."""
SETTLE_SLOTS = 100


def measure_live(
    robot_folder: Path, *, seconds: float, controller: str, posture: str
) -> list[Figure]:
    """Measure a slot without a page, with a page, and with a page and a viewer.

    A moment is created, pickled and written; the receiver discards it.

    Args:
        robot_folder: folder of the robot.
        seconds: simulated time of each of the three cases, in s.
        controller: controller of both robots.
        posture: posture of both robots.
    """
    cfg = TrialCfg(
        controller=controller,
        robot_folder=robot_folder,
        posture=posture,
        duration_s=seconds,
        fast_forward=None,
        simulation=SimulationCfg(misalignment_deg={"LAnklePitch": 2.0}),
    )
    alone: list[float] = []
    watched: list[float] = []
    idle: list[float] = []
    with ExitStack() as stack:
        sink = Connection(os.open(os.devnull, os.O_WRONLY), readable=False)
        stack.callback(sink.close)
        plain = RestingRobot(cfg)
        stack.callback(plain.close, "done")
        live = LiveRobot(RestingRobot(cfg))
        stack.callback(live.close, "done")
        for _ in range(SETTLE_SLOTS):
            plain.slot()
            live.slot()
        for _ in range(max(round(seconds), 1)):
            alone.append(_time_alone(plain))
            watched.append(_time_with_viewer(live, sink, MOMENT_SLOTS))
            alone.append(_time_alone(plain))
            idle.append(_time_with_viewer(live, sink, round(100 * IDLE_S)))
    return [
        figure(
            "live_slot_ms",
            f"live slot of 10 ms, {controller}, no page",
            "ms",
            [1e3 * block / BLOCK_SLOTS for block in alone],
        ),
        ratio("live_watched", "with page / without page", watched, alone[0::2], 1.15),
        ratio("live_idle", "unopened page / without page", idle, alone[1::2], 1.02),
    ]


def _time_alone(robot: RestingRobot) -> float:
    """Return the processor time of a block of slots in s."""
    begin = process_time()
    for _ in range(BLOCK_SLOTS):
        robot.slot()
    return process_time() - begin


def _time_with_viewer(live: LiveRobot, sink: Connection, every: int) -> float:
    """Return the processor time of a block in s, with a moment per `every` slots."""
    begin = process_time()
    for slot in range(BLOCK_SLOTS):
        live.slot()
        if slot % every == 0:
            sink.send(live.moment())
    return process_time() - begin
