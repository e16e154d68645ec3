"""Both engines: ratio of loop and scenario to the bare engine, and of their ticks.

Two robots stand at once, one on each engine, and their blocks alternate. The bare
engines repeat the same blocks (`benchmarks.loop`), so PyBullet and MuJoCo are compared
with the same robot, posture and servo.
"""

from contextlib import ExitStack, closing
from pathlib import Path

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
        for _ in range(blocks_in(seconds)):
            for loop in loops.values():
                loop.block(cycles_in(seconds))
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
