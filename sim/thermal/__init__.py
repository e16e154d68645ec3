"""Joint heating: torques in, temperatures out.

`make_heating(robot, HeatingCfg())` gives the one-node model identified on a real
robot; `HeatingCfg(model="two-node")` winding and housing of each motor.
"""

import numpy as np

from models import Robot
from sim.thermal.heating import (
    COPPER_COEFFICIENT,
    MELTING_DEGC,
    FloatArray,
    Heating,
    HeatingCfg,
    HeatingModel,
)
from sim.thermal.motor_nodes import one_node, two_node


def make_heating(robot: Robot, cfg: HeatingCfg) -> Heating:
    """Return the heating model of all motors of a robot, at ambient temperature."""
    nodes = one_node if cfg.model == "one-node" else two_node
    return Heating(
        nodes(robot.motors),
        copper_coefficient=cfg.copper_coefficient,
        ambient_degc=cfg.ambient_degc,
    )


def motor_torque(robot: Robot, effort: FloatArray) -> FloatArray:
    """Return (n_motors,) joint-side motor torques in N·m for (n_joints,) efforts.

    A motor that drives several joints carries the sum of their torques.
    """
    torque: FloatArray = np.bincount(
        robot.motor_of_joint, effort, len(robot.motors)
    ).astype(np.float64, copy=False)
    return torque


__all__ = [
    "COPPER_COEFFICIENT",
    "MELTING_DEGC",
    "FloatArray",
    "Heating",
    "HeatingCfg",
    "HeatingModel",
    "make_heating",
    "motor_torque",
]
