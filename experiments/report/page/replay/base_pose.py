"""Where the base of a recorded robot was: nothing of the body is below the ground.

The base turns so that the estimated vertical is vertical, without a turn about it. Its
height is that at which the lowest point of the body touches the ground; points that
touch do not slide.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from experiments.report.page.replay.shapes import Shape
from experiments.report.page.replay.tree import Poses

FloatArray = NDArray[np.float64]

TOUCHES_M = 0.004
"""Points up to this high above the ground are taken to touch it."""
MOST_POINTS = 60
"""Points of a link that are looked at: the outermost in so many directions."""


def base_rotations(up: FloatArray) -> FloatArray:
    """Return rotations (n, 3, 3) from base to world that bring `up` to the z axis.

    Args:
        up: (n, 3) unit vectors in the base frame.
    """
    rotation = np.empty((len(up), 3, 3))
    previous = np.eye(3)
    vertical = np.array([0.0, 0.0, 1.0])
    for i, u in enumerate(up):
        seen = previous @ u
        axis = np.cross(seen, vertical)
        sine, cosine = float(np.linalg.norm(axis)), float(seen[2])
        if sine > 1e-12:
            angle = np.arctan2(sine, cosine)
            previous = Rotation.from_rotvec(angle / sine * axis).as_matrix() @ previous
        elif cosine < 0.0:  # upside down at once: about any level axis
            previous = np.diag([1.0, -1.0, -1.0]) @ previous
        rotation[i] = previous
    return rotation


def base_positions(
    rotation: FloatArray,
    poses: Poses,
    shapes: Sequence[Shape],
    slope_deg: float = 0.0,
) -> FloatArray:
    """Return positions (n, 3) of the base in the world, in m.

    Args:
        rotation: (n, 3, 3) from `base_rotations`.
        poses: of the links in the base frame.
        shapes: of the body; drums do not count.
        slope_deg: the ground rises by this angle towards +x, through the origin.
    """
    slope = np.deg2rad(slope_deg)
    normal = np.array([-np.sin(slope), 0.0, np.cos(slope)])
    body = np.concatenate(
        [
            (
                points @ np.swapaxes(poses[link][0], 1, 2) + poses[link][1][:, None, :]
            ).astype(np.float32)  # to a thousandth of a millimetre, in half the memory
            for link, points in _outermost(shapes).items()
        ],
        axis=1,
    )  # (n, n_points, 3) in the base frame
    world = body @ np.swapaxes(rotation, 1, 2).astype(np.float32)
    p = np.empty((len(rotation), 3))
    touching = np.zeros(body.shape[1], dtype=bool)
    for i, points in enumerate(world):
        if i == 0:
            level = points @ normal
            touching = level < level.min() + TOUCHES_M
            p[0, :2] = -points[touching, :2].mean(axis=0)
        else:
            moved = (points - world[i - 1])[touching, :2].mean(axis=0)
            p[i, :2] = p[i - 1, :2] - moved
        above = points @ normal + p[i, :2] @ normal[:2]
        p[i, 2] = -above.min() / normal[2]
        touching = above < above.min() + TOUCHES_M
    return p


def _outermost(shapes: Sequence[Shape]) -> dict[str, FloatArray]:
    """Return for each link some points (k, 3) that span its shapes."""
    golden = np.pi * (3.0 - np.sqrt(5.0))
    z = np.linspace(-1.0, 1.0, MOST_POINTS)
    angle, radius = golden * np.arange(MOST_POINTS), np.sqrt(1.0 - z**2)
    ways = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    ways = np.vstack([ways, corners, np.eye(3), -np.eye(3)])
    found: dict[str, list[FloatArray]] = {}
    for shape in shapes:
        if shape.joint is None:
            found.setdefault(shape.link, []).append(shape.points)
    everything = {link: np.vstack(points) for link, points in found.items()}
    return {
        link: points[np.unique((ways @ points.T).argmax(axis=1))]
        for link, points in everything.items()
    }
