"""A scenario of ten behaviours: how much faster than the clock, and than the engine.

It runs as `nao-testbed scenario run ten_minutes --no-proof` does, with its run folder,
for as long as is asked. After every block the bare engine steps the same world again.
"""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from experiments.bench.figures import Figure, figure, median_us, ratio
from experiments.bench.loop import repeat_bare
from experiments.recording import RunRecording
from experiments.scenarios.playing.runner import ScenarioRunner
from experiments.scenarios.reading.load import SCENARIOS, load_scenario
from sim.engine.world import ticks_of

NAME = "ten_minutes"
BLOCK_SLOTS = 25
"""Slots in a block of the ratio: short, so that both sides share its luck."""
LONG_BLOCKS = 40
"""Blocks that make one of the real-time factor: ten seconds, parts of the recorder's
files among them."""
TARGET = 8.0


def measure_scenario(folder: Path, *, seconds: float) -> list[Figure]:
    """Measure the first seconds of the scenario.

    Args:
        folder: an empty one for its run.
        seconds: simulated time in s.
    """
    scenario = load_scenario(SCENARIOS.find(NAME))
    plan = replace(scenario, ledger=replace(scenario.ledger, tells_commands=False))
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
    longer = [block_s[i : i + LONG_BLOCKS] for i in range(0, len(block_s), LONG_BLOCKS)]
    length_s = BLOCK_SLOTS * plan.tick_s
    factors = [len(times_s) * length_s / sum(times_s) for times_s in longer]
    return [
        figure(
            "scenario_real_time",
            "ten behaviours, times real time",
            "1",
            factors,
            TARGET,
            is_at_least=True,
        ),
        ratio("scenario_over_bare", "ten behaviours / bare engine", whole_us, bare_us),
    ]
