"""The soles: where they touch the ground, and which way they face."""

import numba
import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.contact_balance import plane_axes
from controllers.stiffness.ground_plane import GroundPlaneCfg, fit_sole_plane
from models import BadInput, ContactPoint, Robot

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

FLAT = GroundPlaneCfg()
"""How far the corners of a sole spread at least, and how flat they lie."""


def sole_points(robot: Robot) -> tuple[ContactPoint, ...]:
    """Return the contact points of the robot's feet, the corners of its soles.

    Raises:
        BadInput: it has none.
    """
    points = tuple(p for p in robot.contact_points if p.effector in robot.feet)
    if not points:
        raise BadInput(
            f"robot {robot.name!r} has no contact points on feet, so it cannot stand; "
            "name `feet` in its robot.yaml."
        )
    return points


def sole_normals(positions: FloatArray, foot: IndexArray, up: FloatArray) -> FloatArray:
    """Return the normal of its sole at each point, (n, 3) in the base frame.

    Args:
        positions: (n, 3) points in the base frame, in m.
        foot: (n,) the foot that each belongs to. A foot whose points span no plane gets
            `up`.
        up: (3,) unit vector against gravity: normals point to its side.
    """
    normals = np.tile(up, (len(positions), 1))
    for number in np.unique(foot):
        of_foot = foot == number
        corners = positions[of_foot]
        normal = fit_sole_plane(corners, corners[0] + up, FLAT)
        if normal is not None:
            normals[of_foot] = normal
    return normals


@numba.njit(cache=True)
def sole_axes(normals: FloatArray) -> FloatArray:
    """Return (n, 3, 3): two tangents of each sole and its normal, as rows.

    Args:
        normals: (n, 3) unit vectors in the base frame.
    """
    axes = np.empty((len(normals), 3, 3))
    for k in range(len(normals)):
        axes[k, :2] = plane_axes(normals[k])
        axes[k, 2] = normals[k]
    return axes
