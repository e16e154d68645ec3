"""Both engines: ratio of loop and scenario to the bare engine, and of their ticks.

Two robots stand at once, one on each engine, and their blocks alternate. The bare
engines repeat the same blocks (`benchmarks.loop`), so PyBullet and MuJoCo are compared
with the same robot, posture and servo. `PARTS` are the parts of a control period; to
time them takes about 0.3 µs each.
"""

from contextlib import ExitStack, closing
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.figures import Figure, figure, ratio
from benchmarks.loop import (
    MAX_OVER_BARE,
    MeasuredLoop,
    blocks_in,
    cycles_in,
)
from benchmarks.trials import scenario_blocks
from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.models import Robot

ENGINES: dict[EngineName, str] = {"pybullet": "PyBullet", "mujoco": "MuJoCo"}
PARTS = {
    "ticks": ("20 ticks: servo, engine", "sim._body", "run"),
    "sensors": ("sensors", "sim._sensors", "sample"),
    "heat": ("heat model", "sim", "_warm"),
    "read": ("observation", "sim", "read"),
    "smart": ("smart", "controller", "step"),
    "write": ("checks and limits of the command", "loop._writer", "write"),
    "row": ("recorder row", "recording", "row"),
}
"""Key of a part to its name, and the object and method of a `MeasuredLoop`."""


class TimedParts:
    """Times of the parts of a measured loop."""

    def __init__(self, measured: MeasuredLoop) -> None:
        """Time each part from now on."""
        self.us: dict[str, list[float]] = {key: [] for key in PARTS}
        """Time of a part per control period, one value per block."""
        self._total_s = dict.fromkeys(PARTS, 0.0)
        for key, (_, owner, method) in PARTS.items():
            self._time(key, attrgetter(owner)(measured), method)

    def _time(self, key: str, owner: object, method: str) -> None:
        inner = getattr(owner, method)

        def timed(*given: Any, **named: Any) -> Any:
            begin = perf_counter()
            answer = inner(*given, **named)
            self._total_s[key] += perf_counter() - begin
            return answer

        setattr(owner, method, timed)

    def end_block(self, cycles: int) -> None:
        """Keep the times of a block of control periods."""
        for key, total_s in self._total_s.items():
            self.us[key].append(1e6 * total_s / cycles)
            self._total_s[key] = 0.0


def measure_engines(
    robot: Robot,
    folder: Path,
    *,
    seconds: float,
    settle_s: float,
    scenario_seconds: float,
) -> list[Figure]:
    """Measure the loop and the scenario on each engine.

    Args:
        robot: measured robot.
        folder: empty folder for the runs.
        seconds: simulated time to measure each loop, in s.
        settle_s: simulated time before that, in s.
        scenario_seconds: simulated time of the scenario on each engine, in s.

    Raises:
        BadInput: an engine is not installed.
    """
    figures: list[Figure] = []
    with ExitStack() as stack:
        loops: dict[EngineName, MeasuredLoop] = {}
        for engine in ENGINES:
            run = folder / f"loop-{engine}"
            run.mkdir()
            loop = MeasuredLoop(robot, run, settle_s=settle_s, engine=engine)
            loops[engine] = stack.enter_context(closing(loop))
        parts = {engine: TimedParts(loop) for engine, loop in loops.items()}
        for _ in range(blocks_in(seconds)):
            for engine, loop in loops.items():
                loop.block(cycles_in(seconds))
                parts[engine].end_block(cycles_in(seconds))
    for engine, name in ENGINES.items():
        loop_us, bare_us = loops[engine].loop_us, loops[engine].bare_us
        over_bare = f"{name}, full loop / bare engine"
        figures += [
            ratio(
                f"{engine}_loop_over_bare", over_bare, loop_us, bare_us, MAX_OVER_BARE
            ),
            figure(f"{engine}_loop_us", f"{name}, full loop, per tick", "µs", loop_us),
            figure(
                f"{engine}_bare_us", f"{name}, bare engine, per tick", "µs", bare_us
            ),
        ]
        figures += [
            figure(f"{engine}_{key}_us", f"{name}, {part}, per period", "µs", times_us)
            for (key, (part, *_)), times_us in zip(
                PARTS.items(), parts[engine].us.values(), strict=True
            )
        ]
    bullet, mujoco = loops["pybullet"], loops["mujoco"]
    figures += [
        ratio(
            "bullet_over_mujoco_bare",
            "PyBullet / MuJoCo, bare engine",
            bullet.bare_us,
            mujoco.bare_us,
            2.0,
            is_at_least=True,
        ),
        ratio(
            "bullet_over_mujoco_loop",
            "PyBullet / MuJoCo, full loop",
            bullet.loop_us,
            mujoco.loop_us,
        ),
    ]
    for engine, name in ENGINES.items():
        run = folder / f"scenario-{engine}"
        run.mkdir()
        blocks = scenario_blocks(run, seconds=scenario_seconds, engine=engine)
        figures.append(
            ratio(
                f"{engine}_scenario_over_bare",
                f"{name}, ten behaviours / bare engine",
                blocks.whole_us,
                blocks.bare_us,
                1.4,
            )
        )
    return figures
