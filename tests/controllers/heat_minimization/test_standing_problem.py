"""B f = h and τ = g - C f, against hand calculations and Pinocchio."""

from typing import Any

import numpy as np
import pinocchio as pin
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.standing_problem import (
    build_standing_problem,
    joule_loss,
    sole_normals,
    sole_points,
)
from nao_testbed.controllers.stiffness.contact_forces import plane_axes
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.models import load_robot
from tests.controllers.heat_minimization.standing import standing_problem

NAO = load_robot()
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=20)
@given(seed=seeds)
def test_joint_and_base_rows_agree_with_rnea(seed: int) -> None:
    """Pinocchio's recursive Newton-Euler with the contacts as external forces."""
    rng = np.random.default_rng(seed)
    q = NAO.posture("PoseInit").angles + rng.uniform(-0.2, 0.2, len(NAO.joints))
    q = np.clip(q, NAO.lower, NAO.upper)
    up = np.array((*rng.uniform(-0.3, 0.3, 2), 1.0))
    up /= np.linalg.norm(up)
    problem = standing_problem(NAO, q, up)
    points = sole_points(NAO)
    forces = rng.normal(size=(len(points), 3)) * 10.0

    model = pin.buildModelFromUrdf(
        str(NAO.urdf), pin.JointModelFreeFlyer(), mimic=False
    )
    data = model.createData()
    full = pin.neutral(model)
    order = [model.getJointId(name) for name in NAO.joint_names]
    full[[model.idx_qs[j] for j in order]] = q
    model.gravity.linear = -9.81 * up
    pin.forwardKinematics(model, data, full)
    axes = np.vstack((plane_axes(up), up))
    external: list[Any] = [pin.Force.Zero() for _ in range(model.njoints)]
    base = np.zeros(6)
    com = pin.centerOfMass(model, data, full)
    for point, force in zip(points, forces @ axes, strict=True):
        frame = model.frames[model.getFrameId(point.link, pin.BODY)]
        placement = data.oMi[frame.parentJoint] * frame.placement
        place = placement.act(np.array(point.position))
        wrench: Any = pin.Force(force, np.cross(place, force))
        external[frame.parentJoint] += data.oMi[frame.parentJoint].actInv(wrench)
        base += np.concatenate((force, np.cross(place - com, force)))
    v = np.zeros(model.nv)
    tau = pin.rnea(model, data, full, v, v, external)
    effort = tau[[model.idx_vs[j] for j in order]]
    assert_allclose(problem.effort(forces), effort, atol=1e-9)
    by_axes = np.concatenate((axes @ base[:3], axes @ base[3:]))
    assert_allclose(problem.base_map @ forces.ravel(), by_axes, atol=1e-9)


@settings(max_examples=20)
@given(seed=seeds)
def test_forces_in_sole_frames_equal_those_in_common_axes(seed: int) -> None:
    """Rotated into common axes they give the same efforts and base wrench."""
    rng = np.random.default_rng(seed)
    points = sole_points(NAO)
    dynamics = Dynamics(NAO, points)
    dynamics.update(NAO.posture("PoseInit").angles)
    up, loss = np.array((0.0, 0.0, 1.0)), joule_loss(NAO)
    places = np.arange(len(points))
    normals = rng.normal(size=(len(points), 3)) * 0.2 + up
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    level = build_standing_problem(dynamics, NAO, up, places, loss=loss)
    turned = build_standing_problem(
        dynamics, NAO, up, places, loss=loss, normals=normals
    )
    forces = rng.normal(size=(len(points), 3))
    common = np.array(
        [
            f @ np.vstack((plane_axes(n), n)) @ np.vstack((plane_axes(up), up)).T
            for f, n in zip(forces, normals, strict=True)
        ]
    )
    assert_allclose(turned.effort(forces), level.effort(common), atol=1e-12)
    assert_allclose(
        turned.base_map @ forces.ravel(), level.base_map @ common.ravel(), atol=1e-12
    )


def test_normals_follow_tilted_soles() -> None:
    up = np.array((0.0, 0.0, 1.0))
    square = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], dtype=float) * 0.1
    tilted = square + np.outer(square[:, 0], (0.0, 0.0, 0.1))
    foot = np.repeat((0, 1, 2), (4, 4, 1))
    normals = sole_normals(np.vstack((square, tilted, square[:1])), foot, up)
    assert_allclose(normals[:4], np.tile(up, (4, 1)), atol=1e-12)
    steep = np.array((-0.1, 0.0, 1.0)) / np.sqrt(1.01)
    assert_allclose(normals[4:8], np.tile(steep, (4, 1)), atol=1e-12)
    assert_allclose(normals[8], up)  # one point spans no plane


def test_weight_acts_upward_at_the_com() -> None:
    weight = standing_problem(NAO).weight
    assert_allclose(weight, (0.0, 0.0, 9.81 * NAO.total_mass, 0.0, 0.0, 0.0), rtol=1e-6)


def test_torques_of_joints_on_one_motor_are_summed() -> None:
    problem = standing_problem(NAO)
    effort = np.arange(len(NAO.joints), dtype=float)
    T = dict(zip(NAO.motor_names, problem.motor_effort(effort), strict=True))
    left, right = (NAO.joint_index(f"{side}HipYawPitch") for side in "LR")
    assert T["LHipYawPitch"] == left + right
    assert T["LKneePitch"] == NAO.joint_index("LKneePitch")
