"""Stored postures are inside the limits and rest on their listed effectors."""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial.transform import Rotation

from nao_testbed.models import Posture, Robot
from nao_testbed.models.files.csv_tables import read_table
from nao_testbed.models.load.forms import ShapeRow
from nao_testbed.models.load.write_urdf import mirrored

RESTING = ("StandInit", "StandZero", "Stand", "PoseInit", "Crouch", "Sit", "Gorilla")
SINK = 0.005  # m; in Sit the listed points are not quite in one plane (4.1 mm)


def placements(robot: Robot, posture: Posture) -> dict[str, pin.SE3]:
    """Return each link's placement in the base frame."""
    model = pin.buildModelFromUrdf(str(robot.urdf))
    data = model.createData()
    q = pin.neutral(model)
    for name, angle in zip(robot.joint_names, posture.angles, strict=True):
        q[model.idx_qs[model.getJointId(name)]] = angle
    pin.framesForwardKinematics(model, data, q)
    names = (link.name for link in robot.links)
    at = {n: data.oMf[model.getFrameId(n, pin.BODY)] for n in names}
    found = {n: pin.SE3(T.rotation.copy(), T.translation.copy()) for n, T in at.items()}
    found["com"] = pin.SE3(np.eye(3), pin.centerOfMass(model, data, q))
    return found


def ground(robot: Robot, posture: Posture) -> tuple[NDArray[np.float64], float]:
    """Return normal n and offset d of the ground n·x = d, in the base frame.

    The plane is a least-squares fit to the force sensors of the feet and the lowest
    candidate of each other effector along the previous plane.
    """
    place = placements(robot, posture)
    at = {
        effector: np.array(
            [
                place[p.link].act(np.array(p.position))
                for p in robot.contact_points
                if p.effector == effector
            ]
        )
        for effector in posture.effectors
    }
    feet = [at[effector] for effector in posture.effectors if effector in robot.feet]
    others = [at[e] for e in posture.effectors if e not in robot.feet]
    n, d = fit_plane(np.vstack(feet), place["com"].translation)
    for _ in range(5):
        lowest_points = [points[np.argmin(points @ n)][None] for points in others]
        n, d = fit_plane(np.vstack(feet + lowest_points), place["com"].translation)
    return n, d


def fit_plane(
    points: NDArray[np.float64], com: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    centre = points.mean(axis=0)
    n = np.linalg.svd(points - centre)[2][2]
    if n @ (com - centre) < 0.0:
        n = -n
    return n, float(n @ centre)


@pytest.mark.requirement("ST-12")
def test_postures_match_those_of_the_document(nao: Robot) -> None:
    """ST-12, ST-13: sitting, upright and gorilla are stored with their effectors."""
    assert {"Stand", "StandInit", "StandZero", "PoseInit", "Crouch"} <= set(
        nao.postures
    )
    assert set(nao.posture("Gorilla").effectors) == {
        "LFoot",
        "RFoot",
        "LElbow",
        "RElbow",
    }
    assert set(nao.posture("Sit").effectors) == {
        "LFoot",
        "RFoot",
        "LButtock",
        "RButtock",
    }
    assert nao.posture("PoseInit").offset == 0.25


@pytest.mark.parametrize("which", ["nao", "two_leg"])
def test_every_posture_is_inside_the_limits(
    which: str, request: pytest.FixtureRequest
) -> None:
    robot: Robot = request.getfixturevalue(which)
    for posture in robot.postures.values():
        assert np.all(posture.angles >= robot.lower), posture.name
        assert np.all(posture.angles <= robot.upper), posture.name
        assert not posture.angles.flags.writeable


@pytest.mark.parametrize("name", ["StandInit", "StandZero", "Stand", "PoseInit"])
def test_upright_postures_are_mirror_symmetric(nao: Robot, name: str) -> None:
    """Pitch angles agree; roll and yaw have opposite signs (1e-5 rad as published)."""
    angles = dict(zip(nao.joint_names, nao.posture(name).angles, strict=True))
    for left, value in angles.items():
        if not left.startswith("L") or "Wrist" in left:
            continue
        is_flipped = left.endswith(("Roll", "ElbowYaw"))
        image = -value if is_flipped else value
        assert angles["R" + left[1:]] == pytest.approx(image, abs=1e-5), left


@pytest.mark.parametrize("name", RESTING)
def test_no_part_is_below_the_ground_in_a_posture(nao: Robot, name: str) -> None:
    posture = nao.posture(name)
    place = placements(nao, posture)
    n, d = ground(nao, posture)
    table = read_table(nao.folder / "shapes.csv", ShapeRow, "", "shape")
    shapes = [s for s in table if s.role != "visual"]
    shapes += [mirrored(s) for s in shapes if s.mirror == "yes"]
    for shape in shapes:
        height = lowest(shape, place[shape.link], n) - d
        assert height > -SINK, f"{shape.link} {shape.shape}: {height * 1e3:.1f} mm"


def lowest(shape: ShapeRow, place: pin.SE3, n: NDArray[np.float64]) -> float:
    """Return the support of a primitive along -n, exactly."""
    frame = place * pin.SE3(
        Rotation.from_euler("xyz", [shape.roll, shape.pitch, shape.yaw]).as_matrix(),
        np.array([shape.x, shape.y, shape.z]),
    )
    a = frame.rotation.T @ n
    if shape.shape == "sphere":
        reach = shape.radius or 0.0
    elif shape.shape == "box":
        size = np.array([shape.size_x, shape.size_y, shape.size_z])
        reach = float(np.abs(a) @ size) / 2.0
    else:
        radius, length = shape.radius or 0.0, shape.length or 0.0
        reach = radius * float(np.hypot(a[0], a[1])) + length * float(abs(a[2])) / 2.0
    return float(n @ frame.translation) - reach


@pytest.mark.requirement("ST-13")
@pytest.mark.parametrize("name", RESTING)
def test_every_listed_effector_touches_the_ground(nao: Robot, name: str) -> None:
    """ST-13: each is within the contact threshold of the plane through all of them."""
    posture = nao.posture(name)
    place = placements(nao, posture)
    n, d = ground(nao, posture)
    for effector in posture.effectors:
        height = min(
            float(n @ place[p.link].act(np.array(p.position))) - d
            for p in nao.contact_points
            if p.effector == effector
        )
        assert abs(height) < nao.contact_threshold, effector


@pytest.mark.parametrize("name", RESTING)
def test_centre_of_mass_is_over_the_carrying_points(nao: Robot, name: str) -> None:
    """ST-14's forces exist: the projected centre of mass is a convex combination."""
    posture = nao.posture(name)
    place = placements(nao, posture)
    n, _ = ground(nao, posture)
    points = np.array(
        [
            place[p.link].act(np.array(p.position))
            for p in nao.contact_points
            if p.effector in posture.effectors
        ]
    )
    flat = np.eye(3) - np.outer(n, n)
    A = np.vstack([(points @ flat).T, np.ones(len(points))])
    b = np.append(flat @ place["com"].translation, 1.0)
    result = linprog(np.zeros(len(points)), A_eq=A, b_eq=b)
    assert result.success, name


@settings(deadline=None, max_examples=25)
@given(data=st.data())
def test_effort_limits_can_be_replaced_one_by_one(
    nao: Robot, data: st.DataObject
) -> None:
    """ST-3: the preset's 3.2 N·m applies to the named joints only."""
    name = data.draw(st.sampled_from(nao.joint_names))
    value = data.draw(st.floats(0.1, 10.0))
    changed = nao.with_effort_limits({name: value})
    i = nao.joint_index(name)
    expected = nao.effort_limit.copy()
    expected[i] = value
    np.testing.assert_array_equal(changed.effort_limit, expected)
