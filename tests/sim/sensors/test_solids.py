"""Meshes of primitives: volume, direction of faces and normals."""

from math import pi

import numpy as np
import pytest

from nao_testbed.sim.sensors.drawing.solids import (
    PARTS,
    Solid,
    box,
    capsule,
    cylinder,
    sphere,
)

SIZE = np.array([0.1, 0.2, 0.3])


def volume(solid: Solid) -> float:
    """By the divergence theorem; negative where triangles face inwards."""
    a, b, c = (solid.points[solid.triangles[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(
    ("solid", "expected"),
    [
        (sphere(0.03), 4.0 / 3.0 * pi * 0.03**3),
        (capsule(0.03, 0.05), pi * 0.03**2 * (0.05 + 4.0 / 3.0 * 0.03)),
        (cylinder(0.03, 0.08, bevel=0.0005), pi * 0.03**2 * 0.08),
        (cylinder(0.03, 0.08, bevel=0.0005, parts=PARTS), pi * 0.03**2 * 0.08),
        (box(SIZE), 0.006),
        (box(SIZE, PARTS), 0.006),
    ],
    ids=["sphere", "capsule", "cylinder", "cylinder in parts", "box", "box in parts"],
)
def test_a_mesh_encloses_its_shape_and_faces_outwards(
    solid: Solid, expected: float
) -> None:
    assert volume(solid) == pytest.approx(expected, rel=0.04)
    assert volume(solid) <= expected * (1.0 + 1e-9)
    corners = solid.points[solid.triangles]
    faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(faces, axis=1)
    seen = area > 1e-12
    unit = faces[seen] / area[seen, None]
    along = np.einsum("mi,mki->mk", unit, solid.normals[seen])
    assert along.min() > np.cos(np.deg2rad(30.0))
    np.testing.assert_allclose(np.linalg.norm(solid.normals, axis=2), 1.0)


def test_a_surface_in_parts_has_points_all_over_it() -> None:
    """Every point of a face is within one part length of a point."""
    top = box(SIZE, PARTS).points
    top = top[top[:, 2] == SIZE[2] / 2.0]
    place = np.random.default_rng(1).uniform(-0.5, 0.5, (200, 3)) * SIZE
    place[:, 2] = SIZE[2] / 2.0
    off = np.linalg.norm(place[:, None] - top, axis=2).min(axis=1)
    assert off.max() <= np.linalg.norm(SIZE[:2] / PARTS) / 2.0 + 1e-12
