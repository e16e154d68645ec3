"""Physics steps per second of processor time: our loop under a policy, and Gymnasium.

    python -m benchmarks.policies FILE.onnx [ROBOT]

Blocks of both alternate in one process. Gymnasium's Humanoid-v5, with its random
actions, needs `pip install 'gymnasium[mujoco]'`; without it, only ours is measured.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from statistics import median
from time import process_time

from nao_testbed.controllers.policies.text import policy_text
from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.loop import Loop, run_for
from nao_testbed.models import load_robot
from nao_testbed.models.folders import find_robot_folder
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg

BLOCKS, BLOCK_STEPS = 10, 2000


def ours(file: str, name: str) -> Callable[[], int]:
    """Return a function that runs a block and returns its physics steps."""
    robot = load_robot(find_robot_folder(name))
    sim = SimulatedRobot(robot, SimulationCfg(world=WorldCfg(engine="mujoco")), "bent")
    loop = Loop(sim, make_controller(policy_text(file)), None)

    def block() -> int:
        run_for(loop, BLOCK_STEPS * sim.dt)
        return BLOCK_STEPS

    return block


def gymnasium_humanoid() -> Callable[[], int]:
    """Return the same for Humanoid-v5, five physics steps an action."""
    import gymnasium  # noqa: PLC0415  # for this comparison alone

    env = gymnasium.make("Humanoid-v5")
    env.reset(seed=0)
    env.action_space.seed(0)

    def block() -> int:
        for _ in range(BLOCK_STEPS // 5):
            _, _, ended, cut, _ = env.step(env.action_space.sample())
            if ended or cut:
                env.reset()
        return BLOCK_STEPS

    return block


def main(file: str, robot: str = "g1") -> None:
    """Print the median rate and range of each."""
    blocks = {f"{robot} under the policy": ours(file, robot)}
    if all(map(find_spec, ("gymnasium", "glfw", "imageio"))):
        blocks["Gymnasium Humanoid-v5"] = gymnasium_humanoid()
    rates: dict[str, list[float]] = {name: [] for name in blocks}
    for number in range(BLOCKS + 1):
        for name, block in blocks.items():
            begin = process_time()
            steps = block()
            if number:  # the first one compiles
                rates[name].append(steps / (process_time() - begin))
    for name, found in rates.items():
        print(f"{name}: {median(found):.0f} ({min(found):.0f} to {max(found):.0f}) / s")


if __name__ == "__main__":
    main(*sys.argv[1:])
