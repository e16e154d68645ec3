"""B f = h and τ = g - C f against mechanics by hand and by another library."""

from typing import Any

import numpy as np
import pinocchio as pin
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from controllers.cooling.standing_problem import sole_points
from controllers.stiffness.contact_balance import plane_axes
from models import load_robot
from tests.controllers.cooling.standing import standing_problem

NAO = load_robot()
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=20)
@given(seed=seeds)
def test_joint_and_base_rows_are_those_of_rnea(seed: int) -> None:
    """Pinocchio's recursive Newton-Euler with the forces as external ones."""
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


def test_the_weight_acts_upward_at_the_centre_of_mass() -> None:
    weight = standing_problem(NAO).weight
    assert_allclose(weight, (0.0, 0.0, 9.81 * NAO.total_mass, 0.0, 0.0, 0.0), rtol=1e-6)


def test_joints_of_one_motor_add_up() -> None:
    problem = standing_problem(NAO)
    effort = np.arange(len(NAO.joints), dtype=float)
    T = dict(zip(NAO.motor_names, problem.motor_effort(effort), strict=True))
    left, right = (NAO.joint_index(f"{side}HipYawPitch") for side in "LR")
    assert T["LHipYawPitch"] == left + right
    assert T["LKneePitch"] == NAO.joint_index("LKneePitch")
