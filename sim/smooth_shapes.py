"""Meshes of URDF primitives, finer than the engine's own, for pictures.

The engine draws a sphere with a dozen corners. Spheres, cylinders and drums are
surfaces of revolution: a profile (radius, height) turned about z, with the normals of
the profile.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

AROUND = 40
"""Corners of a circle."""
ALONG = 12
"""Rings of a sphere from pole to pole; parts of a straight line."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Mesh:
    """Triangles with a normal for every corner."""

    points: FloatArray
    """(n, 3) in m."""
    normals: FloatArray
    """(n, 3) unit vectors away from the body."""
    triangles: NDArray[np.intp]
    """(m, 3) rows of `points`, counter-clockwise seen from outside."""

    def write_obj(self, path: Path) -> None:
        """Write a Wavefront file."""
        lines = [f"v {x:.6g} {y:.6g} {z:.6g}" for x, y, z in self.points.tolist()]
        lines += [f"vn {x:.4g} {y:.4g} {z:.4g}" for x, y, z in self.normals.tolist()]
        lines += [
            f"f {a}//{a} {b}//{b} {c}//{c}" for a, b, c in (self.triangles + 1).tolist()
        ]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")


def sphere(radius: float) -> Mesh:
    """Return a sphere about the origin."""
    angle = np.linspace(-np.pi / 2.0, np.pi / 2.0, ALONG + 1)
    profile = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    profile[[0, -1], 0] = 0.0
    return _turned(radius * profile, profile)


def cylinder(radius: float, length: float, bevel: float = 0.0015) -> Mesh:
    """Return a cylinder about z, its middle at the origin, with rounded edges.

    Args:
        radius: in m.
        length: in m.
        bevel: radius of the rounded edges in m; less where the cylinder is thin.
    """
    b = min(bevel, 0.4 * radius, 0.4 * length)
    turn = np.linspace(0.0, np.pi / 2.0, 4)
    out = np.stack([np.sin(turn), np.cos(turn)], axis=1)  # from +z to outwards
    edge = np.array([radius - b, length / 2.0 - b]) + b * out
    cap_radius = np.linspace(0.0, radius - b, 4)[:-1]
    cap = np.stack([cap_radius, np.full(3, length / 2.0)], axis=1)
    upper = np.vstack([cap, edge])
    normal = np.vstack([np.tile([0.0, 1.0], (3, 1)), out])
    middle_z = np.linspace(edge[-1, 1], -edge[-1, 1], ALONG)[1:-1]
    middle = np.stack([np.full_like(middle_z, radius), middle_z], axis=1)
    profile = np.vstack([upper, middle, upper[::-1] * (1.0, -1.0)])
    normals = np.vstack(
        [normal, np.tile([1.0, 0.0], (len(middle), 1)), normal[::-1] * (1.0, -1.0)]
    )
    return _turned(profile[::-1], normals[::-1])


def box(size: FloatArray) -> Mesh:
    """Return a box of the given edges (3,) in m about the origin."""
    n = 8
    line = np.linspace(-0.5, 0.5, n + 1)
    u, v = (grid.ravel() for grid in np.meshgrid(line, line))
    points: list[FloatArray] = []
    normals: list[FloatArray] = []
    triangles: list[NDArray[np.intp]] = []
    face = _grid_triangles(n + 1, n + 1)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            corner = np.zeros((len(u), 3))
            corner[:, axis] = 0.5 * sign
            corner[:, (axis + 1) % 3], corner[:, (axis + 2) % 3] = u, v
            points.append(corner * size)
            normals.append(np.tile(sign * np.eye(3)[axis], (len(u), 1)))
            outward = face if sign > 0.0 else face[:, ::-1]
            triangles.append(outward + len(u) * len(triangles))
    return Mesh(
        points=np.vstack(points),
        normals=np.vstack(normals),
        triangles=np.vstack(triangles),
    )


def _turned(profile: FloatArray, normal: FloatArray) -> Mesh:
    """Turn a profile (n, 2) of radius and height, from below to above, about z."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def turned(rows: FloatArray) -> FloatArray:
        around = rows[:, None, :1] * circle  # (n, AROUND + 1, 2)
        height = np.broadcast_to(rows[:, None, 1:], (*around.shape[:2], 1))
        flat: FloatArray = np.concatenate([around, height], axis=2).reshape(-1, 3)
        return flat

    return Mesh(
        points=turned(profile),
        normals=turned(normal),
        triangles=_grid_triangles(len(profile), AROUND + 1),
    )


def _grid_triangles(rows: int, columns: int) -> NDArray[np.intp]:
    """Return two triangles for each cell of a grid, points row by row."""
    first = np.arange(rows * columns).reshape(rows, columns)
    a, b = first[:-1, :-1].ravel(), first[:-1, 1:].ravel()
    c, d = first[1:, :-1].ravel(), first[1:, 1:].ravel()
    return np.vstack([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])
