"""Physics engines behind one interface: a world, a ground, a robot."""

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.models import Robot
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.world import WorldCfg


def make_engine(robot: Robot, cfg: WorldCfg) -> Engine:
    """Return the engine that `cfg.engine` names, with the robot loaded.

    Raises:
        BadInput: its library is not installed, or the engine lacks a requested feature.
    """
    if cfg.engine == "mujoco":
        from nao_testbed.sim.engine.mujoco_engine import MujocoEngine  # noqa: PLC0415  # heavy

        return MujocoEngine(robot, cfg)
    from nao_testbed.sim.engine.bullet_engine import BulletEngine  # noqa: PLC0415  # heavy

    return BulletEngine(robot, cfg)


def engine_version(engine: EngineName) -> str:
    """Return the name and version of an installed engine."""
    if engine == "mujoco":
        from nao_testbed.sim.engine.mujoco_engine import (  # noqa: PLC0415  # heavy
            ENGINE_VERSION as MUJOCO,
        )

        return MUJOCO
    from nao_testbed.sim.engine.bullet import ENGINE_VERSION as BULLET  # noqa: PLC0415  # heavy

    return BULLET
