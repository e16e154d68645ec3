"""The module `almath` for programs, compared with scipy and closed formulas."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import almath

ANGLES = [(0.3, -0.7, 1.9), (-3.0, 1.2, -0.4), (0.0, 0.0, 0.0), (2.5, -1.5, 3.1)]
RNG = np.random.default_rng(38)


def matrix(angles: tuple[float, ...]) -> np.ndarray:
    """Return Rz(wz) Ry(wy) Rx(wx): rotations about fixed axes."""
    found: np.ndarray = Rotation.from_euler("xyz", angles).as_matrix()
    return found


@pytest.mark.parametrize("angles", ANGLES)
def test_transform_equals_scipy_and_can_be_inverted(
    angles: tuple[float, ...],
) -> None:
    place = RNG.normal(size=3).tolist()
    position = almath.Position6D(*place, *angles)
    transform = almath.transformFromPosition6D(position)
    expected = np.eye(4)
    expected[:3, :3], expected[:3, 3] = matrix(angles), place
    assert np.reshape(transform.toVector(), (4, 4)) == pytest.approx(expected)
    assert almath.position6DFromTransform(transform).isNear(position, 1e-9)
    assert almath.Transform(transform.toVector()).isNear(transform, 0.0)
    assert almath.rotationFromTransform(transform).toVector() == pytest.approx(
        matrix(angles).ravel()
    )
    assert almath.rotation3DFromRotation(
        almath.Rotation.from3DRotation(*angles)
    ).toVector() == pytest.approx(angles)


def test_products_and_inverses_equal_those_of_matrices() -> None:
    one, two = (
        almath.transformFromPosition(*RNG.normal(size=3), *angles)
        for angles in ANGLES[:2]
    )
    a, b = (np.reshape(x.toVector(), (4, 4)) for x in (one, two))
    assert (one * two).toVector() == pytest.approx((a @ b).ravel())
    inverse = almath.transformInverse(one)
    assert inverse.toVector() == pytest.approx(np.linalg.inv(a).ravel())
    assert almath.transformDiff(one, two).toVector() == pytest.approx(
        (np.linalg.inv(a) @ b).ravel()
    )
    point = almath.Position3D(0.1, -0.2, 0.3)
    assert (one * point).toVector() == pytest.approx((a @ [0.1, -0.2, 0.3, 1.0])[:3])
    assert almath.transformDistance(one, two) == pytest.approx(
        np.linalg.norm(a[:3, 3] - b[:3, 3])
    )
    for axis, turn in enumerate("XYZ"):
        angles = tuple(0.4 * (axis == i) for i in range(3))
        made = getattr(almath, f"transformFromRot{turn}")(0.4)
        assert almath.rotationFromTransform(made).toVector() == pytest.approx(
            matrix(angles).ravel()
        )


def test_plane_poses_combine_like_complex_numbers() -> None:
    one, two = almath.Pose2D(1.0, 2.0, 0.7), almath.Pose2D(-0.5, 0.3, -1.9)
    place = complex(1.0, 2.0) + np.exp(0.7j) * complex(-0.5, 0.3)
    joined = one * two
    assert joined.toVector() == pytest.approx([place.real, place.imag, -1.2])
    assert (one.inverse() * joined).isNear(two, 1e-12)
    assert one.diff(joined).isNear(two, 1e-12)
    assert almath.pose2DFromTransform(almath.transformFromPose2D(one)).isNear(one)
    assert almath.position6DFromPose2D(one).toVector() == pytest.approx(
        [1.0, 2.0, 0.0, 0.0, 0.0, 0.7]
    )
    assert one.distance(two) == pytest.approx(np.hypot(1.5, 1.7))


def test_vector_arithmetic_and_angle_limits() -> None:
    one = almath.Position6D([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert (0.5 * one + one / 2 - -one).toVector() == pytest.approx(
        [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    )
    one.wz = 0.0  # type: ignore[attr-defined]  # as in programs
    assert one.toVector()[-1] == 0.0
    assert almath.position3DFromPosition6D(one).norm() == pytest.approx(14.0**0.5)
    with pytest.raises(ValueError, match="6 numbers"):
        almath.Position6D([1.0])
    assert pytest.approx([np.deg2rad(90), np.rad2deg(2)]) == [
        90 * almath.TO_RAD,
        2 * almath.TO_DEG,
    ]
    for angle in np.linspace(-20.0, 20.0, 41):
        found = almath.modulo2PI(angle)
        assert abs(found) <= almath.PI
        assert np.exp(1j * found) == pytest.approx(np.exp(1j * angle))
    paths = [[-2.0, 0.5], [3.0, 1.0]]
    assert almath.clipData(-1.0, 1.0, paths)
    assert paths == [[-1.0, 0.5], [1.0, 1.0]]
    assert not almath.clipData(-1.0, 1.0, 0.3)


def test_modules_import_nothing_of_the_testbed() -> None:
    code = (
        "import almath, motion, sys; print([m for m in sys.modules if 'testbed' in m])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("pose", "begin", "end"),
    [
        ((0.5, 0.5, 0.0), (0.07774, 0.0371, 0.890525), (0.42226, 0.4629, 0.890525)),
        ((-0.5, 0.5, 0.3), (0.02079, 0.197815, 2.93215), (-0.49124, 0.306652, 2.93215)),
        ((0.0, -1.0, 0.3), (0.09589, -0.12838, -1.8586), (-0.12544, -0.87608, -1.8586)),
    ],
)
def test_dubins_path_is_that_of_libalmath(
    pose: tuple[float, ...], begin: tuple[float, ...], end: tuple[float, ...]
) -> None:
    """Values of its test `aldubinscurve_test.cpp`, radius 0.1 m."""
    found = almath.getDubinsSolutions(almath.Pose2D(*pose), 0.1)
    for one, expected in zip(found, (begin, end, pose), strict=True):
        assert one.toVector() == pytest.approx(expected, abs=1e-4)


def test_dubins_path_is_smooth_from_the_origin_to_any_pose() -> None:
    for _ in range(100):
        x, y, theta = (RNG.uniform(-1.0, 1.0, 3) * (1.0, 1.0, 3.0)).tolist()
        goal, r = almath.Pose2D(x, y, theta), 0.1
        if np.hypot(x, y) < 4 * r:
            with pytest.raises(ValueError, match="nearer than four radii"):
                almath.getDubinsSolutions(goal, r)
            continue
        begin, end, _ = almath.getDubinsSolutions(goal, r)
        line = np.subtract(end.place(), begin.place())
        assert np.arctan2(line[1], line[0]) == pytest.approx(begin.theta, abs=1e-6)
        for start, stop in ((almath.Pose2D(), begin), (end, goal)):  # arcs of radius r
            turn = stop.theta - start.theta
            chord = almath.distance(start, stop)
            assert chord == pytest.approx(abs(2 * r * np.sin(turn / 2)), abs=1e-6)


def test_step_is_clipped_as_by_libalmath() -> None:
    """Values of its test `avoidfootcollision_test.cpp`."""
    for step, clipped in (
        ((0.05, 0.04, 0.1), (0.05, 0.04, 0.1)),
        ((0.08, 0.06, 0.5), (0.05656, 0.04242, 0.5)),
    ):
        move = almath.Pose2D(*step)
        assert almath.clipFootWithEllipse(0.08, 0.06, move) is (step != clipped)
        assert move.toVector() == pytest.approx(clipped, abs=1e-4)
    corners = ((0.08, 0.05), (0.08, -0.038), (-0.047, -0.038), (-0.047, 0.05))
    left = [almath.Position2D(x, y) for x, y in corners]
    right = [almath.Position2D(x, -y) for x, y in corners]
    for apart, degrees, expected in ((0.1, 0.0, 0.0), (0.085, 40.0, 0.196349)):
        move = almath.Pose2D(0.0, apart, degrees * almath.TO_RAD)
        assert almath.avoidFootCollision(left, right, False, move) is (degrees > 0.0)
        assert move.theta == pytest.approx(expected, abs=1e-4)
    mirrored = almath.Pose2D(0.0, -0.085, -40.0 * almath.TO_RAD)
    assert almath.avoidFootCollision(left, right, True, mirrored)
    assert mirrored.theta == pytest.approx(-0.196349, abs=1e-4)
