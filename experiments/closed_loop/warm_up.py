"""Compilation of the numba kernels.

    python -m nao_testbed.experiments.closed_loop.warm_up

The compiled kernels are cached beside their modules, so that later runs do not compile.
`make` runs this module on installation; otherwise the first run compiles.
"""

import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.common.robot_setting import CONTROL_PERIOD
from nao_testbed.sim import servo
from nao_testbed.sim.engine.world import WorldCfg, default_engine

if TYPE_CHECKING:
    from nao_testbed.models import Robot
    from nao_testbed.models.values import FloatArray
    from nao_testbed.sim.robot import SimulationCfg

SECONDS = {"smart": 0.04, "smart-full": 0.04, "minheat": 2.0}
"""Simulated time in s of each controller: two control periods; longer for a controller
that waits until the robot is calm."""
DEFAULT_IS_MUJOCO = "PyBullet is not installed; MuJoCo is the default engine."
"""Message on stderr if MuJoCo is the default."""


def warn_if_compiling() -> None:
    """Print on stderr that the run compiles first, unless a compiled kernel exists."""
    kernel: Any = servo.servo_torques  # every run needs this kernel
    kept = Path(kernel._cache.cache_path)  # numba has no public name for it
    if not any(kept.glob(f"servo.{kernel.__name__}*.nbi")):
        print(
            "the first run compiles its kernels once; this takes about half a minute.",
            file=sys.stderr,
        )


def warn_before_run() -> None:
    """Print on stderr the causes of a delay, and whether MuJoCo replaces PyBullet."""
    warn_if_compiling()
    if default_engine() != "pybullet":
        print(DEFAULT_IS_MUJOCO, file=sys.stderr)


def warn_of_fall(robot: "Robot", posture: str, simulation: "SimulationCfg") -> None:
    """Print notes on a robot on stderr, and if its ankles are too soft to stand."""
    from nao_testbed.sim.body.ankle_gains import why_it_falls  # noqa: PLC0415  # the engine

    for note in robot.notes:
        print(f"warning: {note}", file=sys.stderr)
    if simulation.servo.kind == "torque":  # an engine's own motors are rigid
        reason = why_it_falls(robot, posture, simulation.world)
        if reason is not None:
            print(f"warning: {reason}", file=sys.stderr)


def main() -> None:
    """Run every kernel of a heat run: the loop, minimum power and picture.

    A second process runs the controllers first, which have half of the kernels.
    """
    # Checked here, since a replay calls the functions above and has no engine.
    from nao_testbed.controllers.registry import make_controller  # noqa: PLC0415
    from nao_testbed.experiments.closed_loop.leg_forces import (  # noqa: PLC0415
        least_powers,
    )
    from nao_testbed.experiments.closed_loop.loop import Loop, run_for  # noqa: PLC0415
    from nao_testbed.experiments.common.workers import run_beside  # noqa: PLC0415
    from nao_testbed.models import load_robot  # noqa: PLC0415
    from nao_testbed.models.system import CAN_FORK  # noqa: PLC0415
    from nao_testbed.sim.robot import (  # noqa: PLC0415
        SimulatedRobot,
        SimulationCfg,
    )
    from nao_testbed.sim.sensors.cameras import prepare_picture  # noqa: PLC0415

    robot = load_robot()
    posture = robot.posture_name(None)
    goal = robot.posture(posture).angles

    def run(engine: EngineName, controller: str, seconds: float) -> None:
        cfg = SimulationCfg(world=WorldCfg(engine=engine))
        sim = SimulatedRobot(robot, cfg, posture)
        run_for(Loop(sim, make_controller(controller), goal), seconds)
        camera = robot.cameras[0]
        prepare_picture(robot, sim.engine, 0.0, camera.name, 16)()
        if controller != "fixed":
            least_powers(sim)
        sim.close()

    engines: list[EngineName] = [default_engine()]
    if find_spec("mujoco"):  # its ticks are a separate kernel
        engines.append("mujoco")
    with run_beside("kernels", partial(_decide, robot, goal), is_fork=CAN_FORK) as wait:
        for engine in engines:
            run(engine, "fixed", 0.04)
        wait()
    for name, seconds in SECONDS.items():
        run(engines[0], name, seconds)


def _decide(robot: "Robot", q: "FloatArray") -> bool:
    """Let each controller decide for a robot at rest, without physics; return True."""
    from nao_testbed.controllers.interface.robot_interface import (  # noqa: PLC0415
        Observation,
    )
    from nao_testbed.controllers.registry import make_controller  # noqa: PLC0415

    n_motors, n_cells, g = len(robot.motors), len(robot.force_sensors), 9.81
    for name, seconds in SECONDS.items():
        controller = make_controller(name)
        controller.reset(robot)
        for time_s in np.arange(0.0, seconds, CONTROL_PERIOD):
            controller.step(
                Observation(
                    time_s=float(time_s),
                    q=q,
                    v=np.zeros_like(q),
                    target=q,
                    stiffness=np.ones_like(q),
                    temperature=np.full(n_motors, 30.0),
                    current=np.zeros(n_motors),
                    fsr=np.full(n_cells, robot.total_mass * g / max(n_cells, 1)),
                    gyro=np.zeros(3),
                    accelerometer=np.array([0.0, 0.0, g]),
                    gravity=np.array([0.0, 0.0, -1.0]),
                )
            )
    return True


if __name__ == "__main__":
    main()
