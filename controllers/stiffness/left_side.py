"""The left side of the equation of motion (step 640): at rest, and in motion.

At rest it is -M̃(q) G (ST-6): the joint rows as they stand, and of the base rows only
that the weight m g acts at the centre of mass. In motion (ST-5) the base rows are a
force F and a moment N about the base origin. The ground gives the part of F along
`up`, at the point of the ground about which the moment has no part in the plane,

    up x (N - p x F) = 0,    up · p = height of the ground,

which takes the place of the centre of mass in step 660.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.dynamics import GRAVITY, Dynamics
from controllers.stiffness.motion import Motion
from controllers.stiffness.vectors import cross
from models import Robot

FloatArray = NDArray[np.float64]


class LeftSide(NamedTuple):
    """The left side of the equation of motion, as the other steps need it (640)."""

    joints: FloatArray
    """(n_joints,) joint rows in N·m."""
    weight: float
    """Vertical force that the ground must give, in N; m g at rest."""
    centre: FloatArray
    """(3,) point that must lie over the support: the centre of mass at rest."""


def left_side_at_rest(dynamics: Dynamics, up: FloatArray) -> LeftSide:
    """Return the left side of the simplified model, for (3,) the unit vector `up`."""
    return LeftSide(
        joints=dynamics.gravity_term(-GRAVITY * up),
        weight=dynamics.mass * GRAVITY,
        centre=dynamics.com,
    )


def left_side_in_motion(
    dynamics: Dynamics,
    motion: Motion,
    armature: FloatArray,
    candidates: FloatArray,
    up: FloatArray,
) -> LeftSide:
    """Return the left side of the full model.

    Args:
        dynamics: at the present joint angles.
        motion: of joints and base.
        armature: (n_joints,) in kg·m², as of `armature_at_joints`.
        candidates: (n, 3) points in m; the lowest is on the ground.
        up: (3,) unit vector in the base frame.
    """
    base, joints = dynamics.inverse_dynamics(motion.v, motion.a, motion.base)
    joints += armature * motion.a
    force, moment = base[:3], base[3:]
    weight = float(force @ up)
    centre = dynamics.com
    if weight > 0.0:
        ground = float((candidates @ up).min())
        along = force - weight * up
        centre = (cross(up, moment) + ground * along) / weight
    return LeftSide(joints=joints, weight=weight, centre=centre)


def armature_at_joints(robot: Robot) -> FloatArray:
    """Return the rotor inertia at each joint, (n_joints,) in kg·m²; shared evenly."""
    motors = [robot.motors[i] for i in robot.motor_of_joint]
    return np.array([motor.armature / len(motor.joints) for motor in motors])
