"""Whole trials, a scenario and a live robot: real-time factors, cost of the page.

The scenario of ten behaviours runs as `nao-testbed scenario run ten_minutes --no-proof`
does, with its run folder, for the requested time. After every block the bare engine
repeats the same steps. Of two live robots with the same settings, stepped in turn for a
second each, one is also sent to a page.
"""

import os
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.figures import Figure, figure, median_us, ratio
from benchmarks.loop import POSTURE, repeat_bare
from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.recording import RunRecording
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.heat.side_by_side import run_side_by_side
from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.robot.process_link import IDLE_S, MOMENT_SLOTS
from nao_testbed.experiments.live.robot.resting_robot import RestingRobot
from nao_testbed.experiments.scenarios.playing.runner import ScenarioRunner
from nao_testbed.experiments.scenarios.reading.load import SCENARIOS, load_scenario
from nao_testbed.models import TestbedError
from nao_testbed.models.system import Connection
from nao_testbed.sim.engine.world import default_engine, ticks_of
from nao_testbed.sim.recording.run_folder import create_run_folder
from nao_testbed.sim.robot import SimulationCfg

MISALIGNMENT_DEG = {"LAnklePitch": 2.0}
"""Misalignment that causes heat: the left ankle, by two degrees."""


def measure_real_time(
    robot_folder: Path, folder: Path, *, seconds: float, rounds: int
) -> list[Figure]:
    """Measure the real-time factor of one trial, and of two in parallel.

    Every round runs one trial and then two in parallel, each with its recorder, without
    fast-forward; of two, the slower counts. The start of processes and world is
    excluded.

    Args:
        robot_folder: folder of the robot.
        folder: parent of the run folders.
        seconds: simulated time of a trial in s.
        rounds: number of rounds.
    """
    one: list[float] = []
    two: list[float] = []
    for _ in range(rounds):
        for controllers, factors in ((("smart",), one), (("fixed", "smart"), two)):
            trials = [
                _trial_cfg(robot_folder, folder, name, seconds, None)
                for name in controllers
            ]
            results = run_side_by_side(trials, lambda _number, _time_s: None)
            factors.append(min(_real_time_factor(result) for result in results))
    return [
        figure("one_trial_real_time", "one trial, real-time factor", "1", one),
        figure("two_trials_real_time", "two in parallel, the slower", "1", two),
        ratio("two_over_one", "speed of a trial, two in parallel / one", two, one),
    ]


def measure_fast_forward(
    robot_folder: Path, folder: Path, *, seconds: float
) -> list[Figure]:
    """Measure a trial with and without fast-forward, and the difference of their heat.

    Args:
        robot_folder: of the robot.
        folder: for the run folders.
        seconds: simulated time in s.
    """
    full, fast = (
        run_trial(
            _trial_cfg(robot_folder, folder, "fixed", seconds, fast_forward),
            lambda _time_s: None,
        )
        for fast_forward in (None, FastForwardCfg())
    )
    differences = [
        abs(full.joints[name].end_degc - fast.joints[name].end_degc)
        for name in full.joints
    ]
    minutes = f"{seconds / 60.0:g} min"
    return [
        ratio(
            "full_over_fast_forward",
            f"{minutes} stepped / fast-forwarded",
            [_check_completed(full).wall_s],
            [_check_completed(fast).wall_s],
        ),
        figure("full_s", f"{minutes}, stepped", "s", [full.wall_s]),
        figure("fast_forward_s", f"{minutes}, fast-forward", "s", [fast.wall_s]),
        figure(
            "fast_forward_difference_k",
            "largest final joint difference",
            "K",
            [max(differences)],
        ),
    ]


def _trial_cfg(
    robot_folder: Path,
    folder: Path,
    controller: str,
    seconds: float,
    fast_forward: FastForwardCfg | None,
) -> TrialCfg:
    return TrialCfg(
        controller=controller,
        robot_folder=robot_folder,
        posture=POSTURE,
        duration_s=seconds,
        simulation=SimulationCfg(misalignment_deg=MISALIGNMENT_DEG),
        fast_forward=fast_forward,
        folder=create_run_folder(folder, controller),
    )


def _real_time_factor(result: TrialResult) -> float:
    return _check_completed(result).sim_s / result.wall_s


def _check_completed(result: TrialResult) -> TrialResult:
    """Return the result of a trial; raise if it did not reach its end.

    Raises:
        TestbedError: the trial did not reach its end.
    """
    if result.failure is not None:
        raise TestbedError(f"the trial {result.controller}: {result.failure}.")
    return result


SCENARIO = "ten_minutes"
BLOCK_SLOTS = 25
"""Slots per block of the ratio, few enough that load on the machine affects both
sides."""
LONG_BLOCKS = 40
"""Number of short blocks per block of the real-time factor: ten seconds, which include
writing of the recorder's files."""
MIN_REAL_TIME_FACTOR = 8.0


@dataclass(frozen=True, kw_only=True)
class ScenarioBlocks:
    """Times of a scenario and of the bare engine over the same ticks, per block."""

    length_s: float
    """Simulated time per block, in s."""
    took_s: list[float]
    """Time of all slots of a block, in s."""
    whole_us: list[float]
    """Time per tick of the scenario in µs, from the median slot of a block."""
    bare_us: list[float]
    """Time per tick of the bare engine in µs."""


def measure_scenario(folder: Path, *, seconds: float) -> list[Figure]:
    """Measure the first seconds of the scenario on the default engine.

    Args:
        folder: empty folder for the run.
        seconds: simulated time in s.
    """
    found = scenario_blocks(folder, seconds=seconds, engine=default_engine())
    took_s = found.took_s
    longer = [took_s[i : i + LONG_BLOCKS] for i in range(0, len(took_s), LONG_BLOCKS)]
    factors = [len(times_s) * found.length_s / sum(times_s) for times_s in longer]
    return [
        figure(
            "scenario_real_time",
            "ten behaviours, real-time factor",
            "1",
            factors,
            MIN_REAL_TIME_FACTOR,
            is_at_least=True,
        ),
        ratio(
            "scenario_over_bare",
            "ten behaviours / bare engine",
            found.whole_us,
            found.bare_us,
        ),
    ]


def scenario_blocks(
    folder: Path, *, seconds: float, engine: EngineName
) -> ScenarioBlocks:
    """Run the first seconds of the scenario, and the bare engine after each block.

    Args:
        folder: an empty one for its run.
        seconds: simulated time in s.
        engine: of the physics.
    """
    scenario = load_scenario(SCENARIOS.find(SCENARIO))
    simulation = scenario.simulation
    world = replace(simulation.world, engine=engine)
    plan = replace(
        scenario,
        ledger=replace(scenario.ledger, tells_commands=False),
        simulation=replace(simulation, world=world),
    )
    recording = RunRecording.open(
        folder,
        plan.robot,
        seed=plan.seed,
        config=None,
        command=(),
        exact=True,
        with_leds=True,
    )
    runner = ScenarioRunner(plan, recording, None)
    block_s: list[float] = []
    whole_us: list[float] = []
    bare_us: list[float] = []
    with closing(runner):
        sim = runner.body.sim
        ticks = ticks_of("device slot", plan.tick_s, sim.dt)
        n = min(seconds, plan.duration_s) / (BLOCK_SLOTS * plan.tick_s)
        for block in range(max(1, round(n))):
            begin = sim.snapshot()
            times_s = []
            for slot in range(BLOCK_SLOTS):
                start = perf_counter()
                runner.slot(block * BLOCK_SLOTS + slot)
                times_s.append(perf_counter() - start)
            block_s.append(sum(times_s))
            whole_us.append(median_us(times_s) / ticks)
            end = sim.snapshot()
            bare_us.append(repeat_bare(sim, begin, BLOCK_SLOTS, ticks))
            sim.restore(end)
            sim.forget(begin)
            sim.forget(end)
    recording.close("done")
    return ScenarioBlocks(
        length_s=BLOCK_SLOTS * plan.tick_s,
        took_s=block_s,
        whole_us=whole_us,
        bare_us=bare_us,
    )


LIVE_SLOTS = 100
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
            [1e3 * block / LIVE_SLOTS for block in alone],
        ),
        ratio("live_watched", "with page / without page", watched, alone[0::2], 1.15),
        ratio("live_idle", "unopened page / without page", idle, alone[1::2], 1.02),
    ]


def _time_alone(robot: RestingRobot) -> float:
    """Return the processor time of a block of slots in s."""
    begin = process_time()
    for _ in range(LIVE_SLOTS):
        robot.slot()
    return process_time() - begin


def _time_with_viewer(live: LiveRobot, sink: Connection, every: int) -> float:
    """Return the processor time of a block in s, with a moment per `every` slots."""
    begin = process_time()
    for slot in range(LIVE_SLOTS):
        live.slot()
        if slot % every == 0:
            sink.send(live.moment())
    return process_time() - begin
