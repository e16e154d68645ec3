"""Rigid-body terms against PyBullet, finite differences and Pinocchio's Jacobians."""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from nao_testbed.controllers.stiffness import GRAVITY, Dynamics, ExternalLoad
from nao_testbed.controllers.stiffness.dynamics import RobotMotion
from nao_testbed.models import Robot, UnknownName
from tests.controllers.helpers import FloatArray
from tests.controllers.oracle import PyBulletDynamics

ATOL_TORQUE = 1e-6  # N·m, documented bound; both sides reach 1e-10
SEEDS = range(20)


def random_case(robot: Robot, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return joint angles within limits, a unit vector up and a quaternion."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(robot.lower, robot.upper)
    up, quaternion = rng.normal(size=3), rng.normal(size=4)
    return q, up / np.linalg.norm(up), quaternion / np.linalg.norm(quaternion)


@pytest.fixture(scope="module")
def dynamics(nao: Robot) -> Dynamics:
    return Dynamics(nao, nao.contact_points)


@pytest.mark.requirement("ST-10", "ST-6")
@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_term_agrees_with_the_engine(
    nao: Robot, dynamics: Dynamics, engine: PyBulletDynamics, seed: int
) -> None:
    q, up, _ = random_case(nao, seed)
    zeros = np.zeros_like(q)
    dynamics.update(q)
    expected = engine.torques(q, zeros, zeros, -GRAVITY * up)
    np.testing.assert_allclose(
        dynamics.gravity_term(-GRAVITY * up), expected, atol=ATOL_TORQUE
    )


@pytest.mark.requirement("ST-10")
@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_term_agrees_with_the_engine_for_a_rotated_base(
    nao: Robot, dynamics: Dynamics, engine: PyBulletDynamics, seed: int
) -> None:
    q, _, quaternion = random_case(nao, seed)
    inertial_to_world = Rotation.from_quat(quaternion).as_matrix()
    base_to_world = inertial_to_world @ engine.to_inertial
    dynamics.update(q)
    ours = dynamics.gravity_term(base_to_world.T @ (0.0, 0.0, -GRAVITY))
    theirs = engine.turned_gravity_torques(q, inertial_to_world, quaternion.tolist())
    np.testing.assert_allclose(ours, theirs, atol=ATOL_TORQUE)


@pytest.mark.requirement("ST-10", "ST-8")
@pytest.mark.parametrize("seed", SEEDS)
def test_gravity_term_is_the_gradient_of_potential_energy(
    nao: Robot, dynamics: Dynamics, seed: int
) -> None:
    q, up, _ = random_case(nao, seed)
    step = 1e-5  # rad: error of the central difference about 1e-10 relative

    def energy(angles: FloatArray) -> float:
        dynamics.update(angles)
        return float(dynamics.mass * GRAVITY * (dynamics.com @ up))

    slope = [
        (energy(q + step * e) - energy(q - step * e)) / (2.0 * step)
        for e in np.eye(len(q))
    ]
    dynamics.update(q)
    np.testing.assert_allclose(
        dynamics.gravity_term(-GRAVITY * up), slope, atol=ATOL_TORQUE
    )


@pytest.mark.requirement("ST-17")
@pytest.mark.parametrize("seed", SEEDS)
def test_contact_matrix_is_the_gradient_of_point_heights(
    nao: Robot, dynamics: Dynamics, seed: int
) -> None:
    """Virtual work: a unit vertical force times the rise of its point."""
    q, up, _ = random_case(nao, seed)
    points = np.arange(len(nao.contact_points))
    step = 1e-6

    def heights(angles: FloatArray) -> FloatArray:
        dynamics.update(angles)
        return dynamics.point_positions @ up

    slope = [
        (heights(q + step * e) - heights(q - step * e)) / (2.0 * step)
        for e in np.eye(len(q))
    ]
    dynamics.update(q)
    np.testing.assert_allclose(
        dynamics.contact_matrix(points, np.tile(up, (len(points), 1, 1))),
        slope,
        atol=1e-8,
        err_msg="m per rad",
    )


@pytest.mark.requirement("ST-17")
@pytest.mark.parametrize("seed", SEEDS)
def test_contact_term_agrees_with_pinocchio_frame_jacobians(
    nao: Robot, dynamics: Dynamics, seed: int
) -> None:
    q, up, _ = random_case(nao, seed)
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(nao.contact_points), size=6, replace=False)
    forces = rng.uniform(0.0, 30.0, size=6)
    model = pin.buildModelFromUrdf(str(nao.urdf), pin.JointModelFreeFlyer())
    data = model.createData()
    full = pin.neutral(model)
    columns = []
    for name, angle in zip(nao.joint_names, q, strict=True):
        joint = model.getJointId(name)
        full[model.idx_qs[joint]] = angle
        columns.append(model.idx_vs[joint])
    pin.computeJointJacobians(model, data, full)
    pin.updateFramePlacements(model, data)
    expected = np.zeros(len(q))
    for k, force in zip(chosen, forces, strict=True):
        point = nao.contact_points[k]
        link = model.getFrameId(point.link, pin.BODY)
        J = pin.getFrameJacobian(model, data, link, pin.LOCAL_WORLD_ALIGNED)
        lever = data.oMf[link].rotation @ point.position
        wrench = np.concatenate((force * up, np.cross(lever, force * up)))
        expected += J[:, columns].T @ wrench
    dynamics.update(q)
    ours = dynamics.contact_matrix(chosen, np.tile(up, (6, 1, 1))) @ forces
    np.testing.assert_allclose(ours, expected, atol=ATOL_TORQUE)


@pytest.mark.requirement("ST-5")
@pytest.mark.parametrize("seed", SEEDS)
def test_full_model_agrees_with_the_engine(
    nao: Robot, dynamics: Dynamics, engine: PyBulletDynamics, seed: int
) -> None:
    """M̃ (Ṫ - G) + N T with random motion of joints and base."""
    q, up, _ = random_case(nao, seed)
    rng = np.random.default_rng(seed + 1000)
    v, a = rng.normal(size=(2, len(q)))
    w, w_dot, linear_v, linear_a = rng.normal(size=(4, 3))
    expected = engine.torques(
        q,
        v,
        a,
        -GRAVITY * up,
        base_v=np.concatenate((w, linear_v)),
        base_a=np.concatenate((w_dot, linear_a)),
    )
    # The engine's linear acceleration is that of the base's centre of mass c; ours
    # that of its origin: a_o = a_c - ẇ x c - w x (w x c).
    c = engine.com_of_base
    a_origin = linear_a - np.cross(w_dot, c) - np.cross(w, np.cross(w, c))
    dynamics.update(q)
    _, ours = dynamics.inverse_dynamics(
        RobotMotion(
            v=v,
            a=a,
            proper_acceleration=a_origin + GRAVITY * up,
            angular_velocity=w,
            angular_acceleration=w_dot,
        ),
    )
    np.testing.assert_allclose(ours, expected, atol=ATOL_TORQUE)


@pytest.mark.requirement("ST-5")
@pytest.mark.parametrize("seed", SEEDS)
def test_full_model_at_rest_equals_the_simplified_model(
    nao: Robot, dynamics: Dynamics, seed: int
) -> None:
    q, up, _ = random_case(nao, seed)
    rest = RobotMotion(
        v=np.zeros_like(q),
        a=np.zeros_like(q),
        proper_acceleration=GRAVITY * up,
        angular_velocity=np.zeros(3),
        angular_acceleration=np.zeros(3),
    )
    dynamics.update(q)
    base, joints = dynamics.inverse_dynamics(rest)
    weight = dynamics.mass * GRAVITY
    np.testing.assert_allclose(joints, dynamics.gravity_term(-GRAVITY * up), atol=1e-9)
    np.testing.assert_allclose(base[:3], weight * up, atol=1e-9)
    np.testing.assert_allclose(base[3:], np.cross(dynamics.com, weight * up), atol=1e-9)


@pytest.mark.requirement("ST-8", "ST-5")
@pytest.mark.parametrize("seed", SEEDS)
def test_inertia_matrix_is_the_projection_of_body_inertias(
    nao: Robot, dynamics: Dynamics, seed: int
) -> None:
    """M̃(q) = Cᵗ M C with the constant M, against Pinocchio's composite bodies."""
    q, _, _ = random_case(nao, seed)
    dynamics.update(q)
    C = dynamics.kinematic_jacobian()
    M = np.zeros((len(C), len(C)))
    for i, block in enumerate(dynamics.body_inertias()):
        M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = block
    np.testing.assert_allclose(C.T @ M @ C, dynamics.inertia_matrix(), atol=1e-9)


@pytest.mark.requirement("ST-8")
def test_body_inertias_are_positive_and_sum_to_the_mass(
    nao: Robot, dynamics: Dynamics
) -> None:
    blocks = dynamics.body_inertias()
    assert len(blocks) == len(nao.links)
    assert np.linalg.eigvalsh(blocks).min() > 0.0
    np.testing.assert_allclose(blocks[:, 0, 0].sum(), nao.total_mass, rtol=1e-12)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-3.0, 3.0), min_size=3, max_size=3))
def test_gravity_term_is_linear_in_gravity(
    posed: tuple[Dynamics, FloatArray], vector: Sequence[float]
) -> None:
    dynamics, q = posed
    norm = np.linalg.norm(vector)
    up = np.array(vector) / norm if norm > 1e-3 else np.array((0.0, 0.0, 1.0))
    dynamics.update(q)
    term = dynamics.gravity_term(-GRAVITY * up)
    np.testing.assert_allclose(dynamics.gravity_term(GRAVITY * up), -term, atol=1e-9)
    twice = dynamics.gravity_term(-2.0 * GRAVITY * up)
    np.testing.assert_allclose(twice, 2.0 * term, atol=1e-9)


@pytest.fixture(scope="module")
def posed(nao: Robot) -> tuple[Dynamics, FloatArray]:
    return Dynamics(nao, nao.contact_points), random_case(nao, 3)[0]


@pytest.mark.requirement("ST-26")
def test_dynamics_work_for_a_two_leg_robot(two_leg: Robot) -> None:
    dynamics = Dynamics(two_leg, two_leg.contact_points)
    dynamics.update(two_leg.posture("Stand").angles)
    assert dynamics.mass == pytest.approx(two_leg.total_mass)
    under_soles = [point.effector in two_leg.feet for point in two_leg.contact_points]
    heights = dynamics.point_positions[under_soles, 2]
    assert np.ptp(heights) < 1e-9, "both soles lie flat in this posture"


def test_base_rotation_is_identity_and_head_rotates_with_its_joint(
    nao: Robot, dynamics: Dynamics
) -> None:
    q = np.zeros(len(nao.joints))
    q[nao.joint_index("HeadYaw")] = 0.5
    dynamics.update(q)
    np.testing.assert_allclose(dynamics.link_rotation("torso"), np.eye(3), atol=1e-15)
    ahead = dynamics.link_rotation("Head") @ (1.0, 0.0, 0.0)
    np.testing.assert_allclose(ahead, (np.cos(0.5), np.sin(0.5), 0.0), atol=1e-12)


def test_point_on_unknown_link_is_rejected(nao: Robot) -> None:
    load = ExternalLoad(name="tray", link="LeftHand", upward_newton=-1.0)
    with pytest.raises(UnknownName, match="Link 'LeftHand' is not in"):
        Dynamics(nao, (load,))


def test_carried_mass_adds_weight_and_moves_the_com(
    nao: Robot,
) -> None:
    """The added gravity torques equal those of a force at the same point."""
    q, up, _ = random_case(nao, 1)
    place = ExternalLoad(
        name="bag", link="l_gripper", position=(0.01, 0.02, -0.1), upward_newton=0.0
    )
    free, loaded = Dynamics(nao, (place,)), Dynamics(nao, (place,))
    loaded.carry(place.link, 0.7, np.array(place.position))
    for dynamics in (free, loaded):
        dynamics.update(q)
    (at,) = free.point_positions
    assert loaded.mass == pytest.approx(free.mass + 0.7)
    centre = (free.mass * free.com + 0.7 * at) / loaded.mass
    np.testing.assert_allclose(loaded.com, centre, atol=1e-12)
    weight = free.contact_term(np.array([0]), up, np.array([-0.7 * GRAVITY]))
    extra = loaded.gravity_term(-GRAVITY * up) - free.gravity_term(-GRAVITY * up)
    np.testing.assert_allclose(extra, -weight, atol=1e-9)
