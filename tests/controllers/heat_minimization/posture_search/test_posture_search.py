"""Posture search: cooler than the wanted posture, balanced, and optimal."""

import dataclasses
from itertools import product
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial import ConvexHull

from nao_testbed.controllers.heat_minimization.posture_search.posture_problem import (
    PostureProblem,
)
from nao_testbed.controllers.heat_minimization.posture_search.search import (
    FoundPosture,
    search_posture,
)
from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    PostureSearchCfg,
    find_mirror_pairs,
)
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from tests.controllers.heat_minimization.posture_search.searching import search
from tests.sim.engine.oracle import Oracle

ATOL_TORQUE = 1e-4  # N·m; the balance is accurate to 1e-6 N
ATOL_FLAT = 1e-3  # m and rad, tolerance of a search


@pytest.fixture(scope="module")
def found(nao: Robot) -> FoundPosture:
    return search(nao, "PoseInit", starts=5)


def test_found_posture_is_cooler_and_near(nao: Robot, found: FoundPosture) -> None:
    assert found.found.least.loss_w < 0.8 * found.wanted.least.loss_w
    change = found.found.angles - nao.posture("PoseInit").angles
    assert np.abs(change).max() <= np.deg2rad(5.0) + 1e-12
    moved = {n for n, x in zip(nao.joint_names, change, strict=True) if x}
    assert moved <= set(nao.leg_joints)
    assert not found.found.violations
    assert found.starts == 5, "every start finds a valid posture"


def test_found_posture_balances_by_pinocchio(nao: Robot, found: FoundPosture) -> None:
    """Soles are flat, and the centre of mass is inside the contact hull."""
    oracle = Oracle(nao)
    upright = np.array((0.0, 0.0, 0.0, 1.0))  # x y z w
    q = oracle.configuration(found.found.angles, np.zeros(3), upright)
    oracle.place(q)
    turns = [oracle.link_pose(foot)[1] for foot in ("l_ankle", "r_ankle")]
    np.testing.assert_allclose(turns[0][:, 2], turns[1][:, 2], atol=ATOL_FLAT)
    points = np.array(
        [
            oracle.link_pose(p.link)[0] + oracle.link_pose(p.link)[1] @ p.position
            for p in nao.contact_points
            if p.effector in nao.feet
        ]
    )
    in_sole = points @ turns[0]
    assert np.ptp(in_sole[:, 2]) < ATOL_FLAT
    com = pin.centerOfMass(oracle.model, oracle.data, q) @ turns[0]
    edges = ConvexHull(in_sole[:, :2]).equations
    margin = -np.max(edges[:, :2] @ com[:2] + edges[:, 2])
    assert margin == pytest.approx(found.found.com_margin_m, abs=ATOL_FLAT)
    assert margin >= 0.02 - ATOL_FLAT


@pytest.mark.parametrize("slope_deg", [0.0, 6.0, -8.0])
@pytest.mark.parametrize("name", ["wanted", "found"])
def test_torques_agree_with_pinocchio(nao: Robot, name: str, slope_deg: float) -> None:
    """τ = g - Jᵀ f with the found contact forces leaves the base at rest.

    On a slope, gravity is rotated, not the ground.
    """
    found = search(nao, "PoseInit", slope_deg=slope_deg, com_margin_m=0.0, starts=1)
    balanced = getattr(found, name)
    oracle = Oracle(nao)
    upright = np.array((0.0, 0.0, 0.0, 1.0))  # x y z w
    q = oracle.configuration(balanced.angles, np.zeros(3), upright)
    oracle.place(q)
    R = oracle.link_pose("l_ankle")[1]  # flat: its z is up
    ahead = np.array((1.0, 0.0, 0.0)) - R[0, 2] * R[:, 2]
    ahead /= np.linalg.norm(ahead)
    axes = np.array((ahead, np.cross(R[:, 2], ahead), R[:, 2]))  # rows
    points = [p for p in nao.contact_points if p.effector in nao.feet]
    contacts = []
    for point, force in zip(points, balanced.least.forces @ axes, strict=True):
        place, turn = oracle.link_pose(point.link)
        contacts.append((point.link, place + turn @ np.array(point.position), force))
    angle = np.deg2rad(slope_deg)
    up = np.sin(angle) * ahead + np.cos(angle) * R[:, 2]
    oracle.model.gravity.linear = -9.81 * up
    normal_force = balanced.least.forces[:, 2]
    tangential = np.linalg.norm(balanced.least.forces[:, :2], axis=1)
    assert (tangential <= 0.5 * normal_force + 1e-6).all(), "in the friction cones"
    assert tangential.sum() >= 0.9 * np.sin(abs(angle)) * 9.81 * nao.total_mass
    missing, torques = oracle.static_torques(q, contacts)
    np.testing.assert_allclose(missing, 0.0, atol=ATOL_TORQUE)
    np.testing.assert_allclose(torques, balanced.least.effort, atol=ATOL_TORQUE)
    tau = np.bincount(nao.servo_of_joint, torques)
    loss = [m.one_node.resistance / m.one_node.torque_constant**2 for m in nao.motors]
    legs = [name in nao.leg_joints for name in nao.motor_names]
    np.testing.assert_allclose(
        (np.array(loss) * tau**2)[legs].sum(), balanced.least.loss_w, rtol=1e-4
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("posture", "cfg"),
    [
        ("PoseInit", {}),
        ("PoseInit", {"com_margin_m": 0.042}),
        ("StandZero", {"within_deg": 3.0}),
        ("PoseInit", {"slope_deg": 4.0}),
    ],
)
def test_no_posture_on_a_grid_is_cooler(
    nao: Robot, posture: str, cfg: dict[str, Any]
) -> None:
    """Pitch joints only: 9³ points of the box that satisfy all constraints."""
    rolls = ("HipYawPitch", "HipRoll", "AnkleRoll")
    keep = tuple(side + name for side in "LR" for name in rolls)
    best = search(nao, posture, keep=keep, **cfg).found.least.loss_w
    if "within_deg" in cfg:
        cfg = {"within_rad": np.deg2rad(cfg["within_deg"])}
    whole = PostureSearchCfg(keep=keep, **cfg)
    problem = PostureProblem(nao, nao.posture(posture), whole)
    box = problem.variables
    assert len(box.names) == 3
    grid = product(*np.linspace(box.lower, box.upper, 9).T)
    cooler = []
    for x in grid:
        value = problem.at(np.array(x))
        keeps = np.abs(value.equal).max() < 1e-6 and value.atleast.min() >= 0.0
        if keeps and value.least.loss_w < best - 1e-5:
            cooler.append((x, value.least.loss_w))
    assert not cooler


def test_wider_search_is_never_hotter(nao: Robot) -> None:
    losses = [
        search(nao, "PoseInit", within_deg=n).found.least.loss_w for n in (1, 3, 10)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.6 * losses[0]


def test_larger_com_margin_is_kept_and_costs_heat(
    nao: Robot, found: FoundPosture
) -> None:
    careful = search(nao, "PoseInit", com_margin_m=0.043).found
    assert careful.com_margin_m >= 0.043 - 1e-4
    assert careful.least.loss_w > found.found.least.loss_w


def test_symmetric_postures_stay_symmetric(nao: Robot, found: FoundPosture) -> None:
    q = found.found.angles
    for pair in find_mirror_pairs(nao):
        assert q[pair.other] == pytest.approx(pair.sign * q[pair.joint], abs=1e-9)
    free = search(nao, "PoseInit", may_be_asymmetric=True).found
    assert free.least.loss_w <= found.found.least.loss_w + 1e-5
    left, right = map(nao.joint_index, ("LHipYawPitch", "RHipYawPitch"))
    assert free.angles[left] == free.angles[right], "one motor drives both"


def test_feet_keep_their_relative_position_by_default(nao: Robot) -> None:
    oracle = Oracle(nao)

    def between_feet(q: FloatArray) -> FloatArray:
        oracle.place(oracle.configuration(q, np.zeros(3), np.array((0, 0, 0, 1.0))))
        (a, R), (b, _) = oracle.link_pose("l_ankle"), oracle.link_pose("r_ankle")
        return np.asarray(R.T @ (b - a))

    wanted = nao.posture("Stand").angles
    kept = search(nao, "Stand").found.angles
    np.testing.assert_allclose(between_feet(kept), between_feet(wanted), atol=3e-4)


def test_straight_legs_make_almost_no_heat(nao: Robot) -> None:
    """Near Stand all joints of a leg can lie on the line of the contact force."""
    stand = search(nao, "Stand")
    assert stand.wanted.least.loss_w == pytest.approx(0.029, abs=0.002)
    assert stand.found.least.loss_w < 1e-3
    assert stand.starts == 2


def height_of_soles(robot: Robot, angles: FloatArray) -> float:
    """Return the spread of heights of the feet's contact points, in m."""
    oracle = Oracle(robot)
    upright = np.array((0.0, 0.0, 0.0, 1.0))
    oracle.place(oracle.configuration(angles, np.zeros(3), upright))
    up = oracle.link_pose("l_ankle")[1][:, 2]
    heights = []
    for point in robot.contact_points:
        if point.effector in robot.feet:
            place, turn = oracle.link_pose(point.link)
            heights.append(up @ (place + turn @ point.position))
    return float(np.ptp(heights))


def test_posture_with_tilted_soles_is_made_flat(nao: Robot) -> None:
    """The minimum clearance between links is kept too."""
    crouch = search(nao, "Crouch")
    assert any("flat" in text for text in crouch.wanted.violations)
    assert not crouch.found.violations
    assert height_of_soles(nao, crouch.wanted.angles) > 2e-3
    assert height_of_soles(nao, crouch.found.angles) < 5e-4
    assert crouch.found.clearance_m is not None
    assert crouch.found.clearance_m >= 0.003 - 2e-4


def test_flat_sole_that_is_too_high_is_lowered(nao: Robot) -> None:
    wanted = nao.posture("PoseInit")
    bent = wanted.angles.copy()
    for joint, degrees in (("RHipPitch", -2), ("RKneePitch", 4), ("RAnklePitch", -2)):
        bent[nao.joint_index(joint)] += np.deg2rad(degrees)
    uneven = dataclasses.replace(wanted, angles=bent)
    found = search_posture(nao, uneven, PostureSearchCfg(starts=2))
    assert any("level" in text for text in found.wanted.violations)
    assert height_of_soles(nao, bent) > 2e-3
    assert height_of_soles(nao, found.found.angles) < 5e-4


def test_arms_move_if_enabled_and_kept_joints_never(nao: Robot) -> None:
    found = search(nao, "PoseInit", moves_arms=True, keep=("LArm", "LKneePitch"))
    change = found.found.angles - found.wanted.angles
    moved = {n for n, x in zip(nao.joint_names, change, strict=True) if abs(x) > 1e-6}
    assert not moved & {*nao.groups["LArm"], *nao.groups["RArm"], "LKneePitch"}
    free = search(nao, "PoseInit", moves_arms=True).found
    change = free.angles - found.wanted.angles
    assert change[nao.joint_index("LShoulderPitch")] != 0.0


def test_search_works_for_any_robot_with_two_feet(two_leg: Robot) -> None:
    found = search(two_leg, "Stand", com_margin_m=0.01)
    assert found.found.least.loss_w < 0.9 * found.wanted.least.loss_w
    assert not found.found.violations
