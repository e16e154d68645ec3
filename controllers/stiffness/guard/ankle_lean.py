"""Gain from the body's turning rate to the lean of each ankle joint."""

from math import atan2, radians, sqrt

import numpy as np

from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray

DEGREE = radians(1.0)
ANKLE_JOINTS = 2
"""Joints at the end of a leg that turn the foot, pitch and roll."""


def lean_map(robot: Robot, dynamics: Dynamics) -> FloatArray:
    """Return √(h / g) a_i in the rows of the ankles, (n_joints, 3) in s, 0 elsewhere.

    Axes in the base frame and height are taken at joint angles 0, the upright posture.

    Args:
        robot: the robot.
        dynamics: dynamics at joint angles 0, with points on the soles; restored on
            return.
    """
    n = len(robot.joints)
    lean = np.zeros((n, 3))
    if not len(dynamics.point_positions):
        return lean
    soles = dynamics.point_positions[:, 2].min()
    height = max(0.0, float(dynamics.com[2] - soles))
    moved_by = {joint.link: k for k, joint in enumerate(robot.joints)}
    points = {point.effector: point.link for point in robot.contact_points}
    for foot in (points[name] for name in robot.feet if name in points):
        link, upright = foot, np.array(dynamics.link_rotation(foot))
        for _ in range(ANKLE_JOINTS):
            if link not in moved_by:
                break
            k = moved_by[link]
            dynamics.update(DEGREE * np.eye(n)[k])
            turn = dynamics.link_rotation(foot) @ upright.T
            lean[k] = sqrt(height / GRAVITY) / DEGREE * rotation_vector(turn)
            link = robot.joints[k].parent
        dynamics.update(np.zeros(n))
    return lean


def rotation_vector(R: FloatArray) -> FloatArray:
    """Return the rotation vector of R below half a turn: axis times angle, (3,)."""
    axis = 0.5 * np.array((R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]))
    sine = float(np.sqrt(axis @ axis))
    cosine = 0.5 * (float(np.trace(R)) - 1.0)
    return axis * (atan2(sine, cosine) / sine if sine > 0.0 else 1.0)
