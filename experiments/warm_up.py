"""Compile the numba kernels once: `python -m experiments.warm_up`.

They are kept beside their modules, so that no later run waits for the compiler. `make`
does this when it installs; elsewhere the first run of an installation does.
"""

from controllers.registry import make_controller
from experiments.loop import Loop, run_for
from models import load_robot
from sim.simulated_robot import SimulatedRobot
from sim.simulation_cfg import SimulationCfg


def main() -> None:
    """Run every kernel of the loop for two control periods."""
    robot = load_robot()
    for name in ("smart", "smart-full"):
        sim = SimulatedRobot(robot, SimulationCfg(), "PoseInit")
        run_for(
            Loop(sim, make_controller(name), robot.posture("PoseInit").angles), 0.04
        )
        sim.close()


if __name__ == "__main__":
    main()
