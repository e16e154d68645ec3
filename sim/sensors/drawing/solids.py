"""Triangle meshes of spheres, capsules, cylinders and boxes.

All but the box are surfaces of revolution: a profile of radius and height is rotated
about z, with its normals. Flat and straight faces need vertices only at their edges; a
division into `PARTS` in each direction distributes points over the whole surface.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models.values import FloatArray

AROUND = 40
"""Number of vertices of a circle."""
ALONG = 12
"""Number of rings of a sphere from pole to pole."""
PARTS = 8
"""Number of parts of an edge if points cover the whole surface."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Solid:
    """Closed triangle mesh."""

    points: FloatArray
    """(n, 3) in m."""
    triangles: NDArray[np.intp]
    """(m, 3) rows of `points`, counter-clockwise seen from outside."""
    normals: FloatArray
    """(m, 3, 3) outward unit normals at the corners of the triangles."""


def capsule(radius: float, length: float, parts: int = 1) -> Solid:
    """Return a capsule along z, a cylinder with two half spheres, about the origin.

    Args:
        radius: radius in m.
        length: distance of the centres of the half spheres in m; 0: a sphere.
        parts: number of parts of the cylinder's length.
    """
    turn = np.linspace(0.0, np.pi / 2.0, ALONG // 2 + 1)  # from the equator to the pole
    out = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    out[-1, 0] = 0.0
    return _turned(radius * out[::-1] + (0.0, length / 2.0), out[::-1], parts)


def sphere(radius: float) -> Solid:
    """Return a sphere about the origin; radius in m."""
    return capsule(radius, 0.0)


def cylinder(
    radius: float, length: float, bevel: float = 0.0015, parts: int = 1
) -> Solid:
    """Return a cylinder along z with rounded edges, centred at the origin.

    Args:
        radius: radius in m.
        length: length in m.
        bevel: radius of the rounded edges in m; smaller on a thin cylinder.
        parts: number of parts of an end face's radius, and of the length.
    """
    b = min(bevel, 0.4 * radius, 0.4 * length)
    turn = np.linspace(0.0, np.pi / 2.0, 4)
    out = np.stack([np.sin(turn), np.cos(turn)], axis=1)  # from +z outwards
    edge = np.array([radius - b, length / 2.0 - b]) + b * out
    face = np.linspace(0.0, radius - b, parts + 1)[:-1, None]
    face = np.hstack([face, np.full_like(face, length / 2.0)])
    upward = np.broadcast_to([0.0, 1.0], face.shape)
    return _turned(np.vstack([face, edge]), np.vstack([upward, out]), parts)


def box(size: FloatArray, parts: int = 1) -> Solid:
    """Return a box centred at the origin.

    Args:
        size: (3,) edge lengths in m.
        parts: number of parts of each edge.
    """
    line = np.linspace(-0.5, 0.5, parts + 1)
    u, v = (grid.ravel() for grid in np.meshgrid(line, line))
    points: list[FloatArray] = []
    normals: list[FloatArray] = []
    triangles: list[NDArray[np.intp]] = []
    face = _grid_triangles(parts + 1, parts + 1)
    for axis in range(3):
        for sign in (-0.5, 0.5):
            corner = np.full((len(u), 3), sign)
            corner[:, (axis + 1) % 3], corner[:, (axis + 2) % 3] = u, v
            points.append(corner * size)
            normals.append(np.tile(2.0 * sign * np.eye(3)[axis], (len(u), 1)))
            outward = face if sign > 0.0 else face[:, ::-1]
            triangles.append(outward + len(u) * len(triangles))
    corners = np.vstack(triangles)
    return Solid(
        points=np.vstack(points),
        triangles=corners,
        normals=np.vstack(normals)[corners],
    )


def _turned(upper: FloatArray, normal: FloatArray, parts: int) -> Solid:
    """Rotate a profile and its mirror image below about z.

    Args:
        upper: (n, 2) radius and height of the profile in m, from the top down to the
            straight side.
        normal: (n, 2) unit normals of the profile.
        parts: number of parts of the straight side.
    """
    side = np.linspace(1.0, -1.0, parts + 1)[1:-1, None] * upper[-1] * (0.0, 1.0)
    side[:, 0] = upper[-1, 0]
    mirror = (1.0, -1.0)
    profile = np.vstack([upper, side, upper[::-1] * mirror])[::-1]
    outward = np.vstack(
        [normal, np.broadcast_to(normal[-1], side.shape), normal[::-1] * mirror]
    )[::-1]
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def turned(rows: FloatArray) -> FloatArray:
        around = rows[:, None, :1] * circle  # (n, AROUND + 1, 2)
        height = np.broadcast_to(rows[:, None, 1:], (*around.shape[:2], 1))
        flat: FloatArray = np.concatenate([around, height], axis=2).reshape(-1, 3)
        return flat

    triangles = _grid_triangles(len(profile), AROUND + 1)
    return Solid(
        points=turned(profile),
        triangles=triangles,
        normals=turned(outward)[triangles],
    )


def _grid_triangles(rows: int, columns: int) -> NDArray[np.intp]:
    """Return two triangles for each cell of a grid, points row by row."""
    first = np.arange(rows * columns).reshape(rows, columns)
    a, b = first[:-1, :-1].ravel(), first[:-1, 1:].ravel()
    c, d = first[1:, :-1].ravel(), first[1:, 1:].ravel()
    return np.vstack([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
