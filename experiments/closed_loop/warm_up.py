"""Compilation of the numba kernels.

    python -m nao_testbed.experiments.closed_loop.warm_up

The compiled kernels are cached beside their modules, so that later runs do not compile.
`make` runs this module on installation; otherwise the first run compiles.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nao_testbed.sim import servo
from nao_testbed.sim.engine.world import WorldCfg, default_engine

if TYPE_CHECKING:
    from nao_testbed.models import Robot
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
    """Run every kernel of a heat run: the loop, minimum power and picture."""
    # Checked here, since a replay calls the function above and has no engine.
    from nao_testbed.controllers.registry import make_controller  # noqa: PLC0415
    from nao_testbed.experiments.closed_loop.leg_forces import (  # noqa: PLC0415
        least_powers,
    )
    from nao_testbed.experiments.closed_loop.loop import Loop, run_for  # noqa: PLC0415
    from nao_testbed.models import load_robot  # noqa: PLC0415
    from nao_testbed.sim.robot import (  # noqa: PLC0415
        SimulatedRobot,
        SimulationCfg,
    )
    from nao_testbed.sim.sensors.cameras import prepare_picture  # noqa: PLC0415

    robot = load_robot()
    posture = robot.posture_name(None)
    runs = [(default_engine(), *run) for run in SECONDS.items()]
    if find_spec("mujoco"):  # MuJoCo's ticks are a separate kernel
        runs.append(("mujoco", "smart", SECONDS["smart"]))
    for engine, name, seconds in runs:
        cfg = SimulationCfg(world=WorldCfg(engine=engine))
        sim = SimulatedRobot(robot, cfg, posture)
        loop = Loop(sim, make_controller(name), robot.posture(posture).angles)
        run_for(loop, seconds)
        least_powers(sim)
        camera = robot.cameras[0]
        prepare_picture(robot, sim.engine, 0.0, camera.name, 16)()
        sim.close()


if __name__ == "__main__":
    main()
