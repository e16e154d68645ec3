"""Falls of robots that sit down and stand up with leg joints misaligned by a degree.

python -m tests.sim.motions.degree_off --robots 50 --controllers fixed,smart
"""

import argparse
from collections.abc import Iterable

import numpy as np

from nao_testbed.controllers.registry import make_controller
from nao_testbed.models import Robot, load_robot
from nao_testbed.sim.robot import SimulationCfg
from tests.sim.motions.player import LEG, Player

FALLEN_DEG = 45.0


def a_degree_off(seed: int) -> dict[str, float]:
    """Return errors of -1 or 1 degree at every joint of the legs."""
    draws = np.random.default_rng(seed).choice([-1.0, 1.0], (2, len(LEG)))
    off = {
        side + joint: float(draw)
        for side, row in zip("LR", draws, strict=True)
        for joint, draw in zip(LEG, row, strict=True)
    }
    return off | {"RHipYawPitch": off["LHipYawPitch"]}  # one motor, one encoder


def falls(robot: Robot, controller: str, seeds: Iterable[int]) -> dict[int, str]:
    """Return the robots that fall, and the motion.

    Each starts in Stand, sits down, rests for a second, stands up, and rests again.
    """
    found = {}
    for seed in seeds:
        cfg = SimulationCfg(misalignment_deg=a_degree_off(seed))
        with Player(robot, cfg, "Stand", make_controller(controller)) as player:
            for name in ("Stand to Sit", "Sit to Stand"):
                motion = robot.library.motion(name)
                player.play(motion)
                player.rest(1.0)
                if (
                    player.tilt_deg > FALLEN_DEG
                    or player.outcome().state != robot.posture(motion.end or "").state
                ):
                    found[seed] = name
                    break
    return found


def main() -> None:
    """Print the robots that fall under each controller."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robots", type=int, default=50)
    parser.add_argument("--controllers", default="fixed,smart")
    given = parser.parse_args()
    for controller in given.controllers.split(","):
        found = falls(load_robot(), controller, range(given.robots))
        told = ", ".join(f"robot {seed} ({name})" for seed, name in found.items())
        print(f"{controller}: {len(found)} of {given.robots} fell; {told or 'none'}")


if __name__ == "__main__":
    main()
