"""Parts of a posture search: mirror pairs, soles on the ground, clearances."""

import dataclasses

import numpy as np
import pytest

from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    find_mirror_pairs,
)
from nao_testbed.controllers.heat_minimization.posture_search.stance import (
    Clearance,
    Stance,
    distances_to_edges,
    hull_order,
)
from nao_testbed.controllers.heat_minimization.standing_problem import sole_points
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.models import BadInput, Robot

ATOL_SHAPES = 2.5e-3  # m, the engine has a margin of 1 mm around each shape


def test_nao_joints_form_mirror_pairs(nao: Robot) -> None:
    """By name: rolls and yaws have opposite signs, pitches the same sign."""
    names = nao.joint_names
    pairs = find_mirror_pairs(nao)
    assert {names[pair.joint] for pair in pairs} == {
        name for name in names if not name.startswith("R")
    }
    for pair in pairs:
        one, other = names[pair.joint], names[pair.other]
        assert other == (f"R{one[1:]}" if one.startswith("L") else one)
        turns_alike = "Pitch" in one
        assert (pair.sign > 0.0) == turns_alike, one


@pytest.mark.parametrize("slope_deg", [-6.0, 0.0, 6.0])
def test_slope_shifts_the_com_projection_downhill(nao: Robot, slope_deg: float) -> None:
    dynamics = Dynamics(nao, sole_points(nao))
    dynamics.update(nao.posture("PoseInit").angles)
    level = Stance(nao, dynamics, 0.0).at()
    sloped = Stance(nao, dynamics, slope_deg).at()
    height = dynamics.com[2] - dynamics.point_positions[:, 2].min()
    moved = sloped.com - level.com
    np.testing.assert_allclose(
        moved, (-height * np.tan(np.deg2rad(slope_deg)), 0.0), atol=1e-9
    )


def test_distances_to_edges_are_positive_inside() -> None:
    """A rectangle of 4 x 2 with unordered corners, and points around it."""
    corners = np.array(((4.0, 2.0), (0.0, 0.0), (4.0, 0.0), (0.0, 2.0), (2.0, 1.0)))
    order = hull_order(corners)
    assert len(order) == 4
    for x, y, nearest in ((1.0, 0.5, 0.5), (3.9, 1.0, 0.1), (5.0, 1.0, -1.0)):
        distances = distances_to_edges(corners, order, np.array((x, y)))
        assert distances.min() == pytest.approx(nearest)


@pytest.mark.parametrize("posture", ["PoseInit", "Crouch"])
def test_clearances_agree_with_the_engine(nao: Robot, posture: str) -> None:
    q = nao.posture(posture).angles
    clearance = Clearance(nao, q)
    import pybullet as p

    client = p.connect(p.DIRECT)
    try:
        body = p.loadURDF(str(nao.urdf), physicsClientId=client)
        links = {nao.base_link: -1}
        for joint in range(p.getNumJoints(body, physicsClientId=client)):
            info = p.getJointInfo(body, joint, physicsClientId=client)
            links[info[12].decode()] = joint
            if info[1].decode() in nao.joint_names:
                angle = float(q[nao.joint_index(info[1].decode())])
                p.resetJointState(body, joint, angle, 0.0, physicsClientId=client)
        nearest: dict[str, float] = {}
        for name, distance in zip(clearance.names, clearance.wanted, strict=True):
            nearest[name] = min(nearest.get(name, np.inf), float(distance))
        for name, distance in nearest.items():
            one, other = (links[link] for link in name.split(" and "))
            points = p.getClosestPoints(
                body, body, 0.2, one, other, physicsClientId=client
            )
            engine = min(point[8] for point in points)
            assert engine == pytest.approx(distance, abs=ATOL_SHAPES), name
    finally:
        p.disconnect(client)
    assert nearest


def test_clearance_depends_on_the_joints(nao: Robot) -> None:
    """Rotating a hip inwards brings the thighs together."""
    q = nao.posture("PoseInit").angles.copy()
    clearance = Clearance(nao, q)
    thighs = clearance.names.index("LThigh and RThigh")
    before = clearance.at(q)[thighs]
    q[nao.joint_index("LHipRoll")] -= 0.1
    assert clearance.at(q)[thighs] < before - 0.003


@pytest.mark.parametrize("posture", ["PoseInit", "Stand", "StandZero"])
def test_up_points_to_the_body(nao: Robot, posture: str) -> None:
    """Also if the contact points of a robot are listed in the opposite order."""
    dynamics = Dynamics(nao, sole_points(nao))
    dynamics.update(nao.posture(posture).angles)
    body = Stance(nao, dynamics, 0.0).at()
    assert body.up[2] > 0.99
    heights = (dynamics.com - dynamics.point_positions) @ body.up
    assert heights.min() > 0.15


def test_foot_with_collinear_points_is_rejected(nao: Robot) -> None:
    on_a_line = tuple(
        dataclasses.replace(point, position=(point.position[0], 0.0, -0.045))
        if point.effector == "LFoot"
        else point
        for point in nao.contact_points
    )
    robot = dataclasses.replace(nao, contact_points=on_a_line)
    dynamics = Dynamics(robot, sole_points(robot))
    with pytest.raises(BadInput, match="LFoot lie on a line"):
        Stance(robot, dynamics, 0.0)
