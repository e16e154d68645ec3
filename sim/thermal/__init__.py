"""Joint heating: temperatures from torques.

`make_heating(robot, HeatingCfg())` returns the one-node model identified on a real
robot; `two-node` adds a separate winding, `bare-motor` uses the motor's data sheet.
"""

from collections.abc import Callable, Sequence

from nao_testbed.models import Motor, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.heating import (
    COPPER_COEFFICIENT,
    MELTING_DEGC,
    Heating,
    HeatingCfg,
    HeatingModel,
)
from nao_testbed.sim.thermal.motor_nodes import Chain, bare_motor, one_node, two_node

NODES: dict[HeatingModel, Callable[[Sequence[Motor]], Chain]] = {
    "one-node": one_node,
    "two-node": two_node,
    "bare-motor": bare_motor,
}
"""Thermal nodes of each heating model."""


def make_heating(robot: Robot, cfg: HeatingCfg) -> Heating:
    """Return the heating model of all motors of a robot, at ambient temperature."""
    return Heating(
        NODES[cfg.model](robot.motors),
        copper_coefficient=cfg.copper_coefficient,
        ambient_degc=cfg.ambient_degc,
    )


def motor_torque(robot: Robot, effort: FloatArray) -> FloatArray:
    """Return (n_motors,) joint-side motor torques in N·m for (n_joints,) efforts.

    They are Gᵀ τ: a motor that couples joints carries the sum of their torques.
    """
    torque: FloatArray = robot.transmission @ effort
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
