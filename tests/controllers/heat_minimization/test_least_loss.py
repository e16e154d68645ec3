"""Contact forces of least joule loss: against a cone programme, and laws."""

import dataclasses
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import null_space

from nao_testbed.controllers.heat_minimization.least_loss import (
    solve_least_loss,
    solve_least_loss_reference,
)
from nao_testbed.controllers.heat_minimization.standing_problem import (
    joule_loss,
    sole_points,
)
from nao_testbed.models import BadInput, Robot, load_robot
from tests.controllers.heat_minimization.standing import (
    drawn_problem,
    standing_problem,
)

NAO = load_robot()
LEGS = [NAO.joint_index(name) for name in NAO.leg_joints]
RTOL = 3e-4
"""Of the loss, at the friction limit: ray refinement ends early, and the weighted rows
relax B f = h a little."""

leans = st.floats(-0.05, 0.05)
seeds = st.integers(0, 2**32 - 1)


def near_posture(seed: int, largest_rad: float) -> np.ndarray:
    q = NAO.posture("PoseInit").angles.copy()
    rng = np.random.default_rng(seed)
    q[LEGS] += rng.uniform(-largest_rad, largest_rad, len(LEGS))
    return np.asarray(q)


@pytest.mark.slow
@settings(max_examples=25)
@given(seed=seeds, x=leans, y=leans)
def test_loss_agrees_with_the_cone_programme(seed: int, x: float, y: float) -> None:
    problem = standing_problem(
        NAO, near_posture(seed, 0.03), np.array((x, y, 1.0)), friction=0.6
    )
    ours = solve_least_loss(problem)
    try:
        reference = solve_least_loss_reference(problem)
    except BadInput:
        assert not ours.is_balanced
        return
    assert ours.is_balanced
    assert_allclose(ours.loss_w, reference.loss_w, rtol=RTOL, atol=1e-5)


@pytest.mark.parametrize("friction", [0.15, 0.5])
def test_loss_agrees_at_the_friction_limit(friction: float) -> None:
    """Pyramids of eight rays were up to 20 % above, and failed to balance three."""
    agreed = 0
    for seed in range(8):
        problem = drawn_problem(NAO, seed, friction)
        ours = solve_least_loss(problem)
        try:
            reference = solve_least_loss_reference(problem)
        except BadInput:
            continue
        assert ours.is_balanced
        assert_allclose(ours.loss_w, reference.loss_w, rtol=RTOL, atol=1e-5)
        agreed += 1
    assert agreed >= 4, "too few of the drawn problems are balanced"


@pytest.mark.parametrize("posture", ["Stand", "PoseInit", "StandZero", "Crouch"])
def test_table_postures_agree_with_the_cone_programme(posture: str) -> None:
    problem = standing_problem(NAO, NAO.posture(posture).angles)
    ours, reference = solve_least_loss(problem), solve_least_loss_reference(problem)
    assert_allclose(ours.loss_w, reference.loss_w, rtol=1e-3, atol=1e-5)
    assert_allclose(ours.motor_effort, reference.motor_effort, atol=2e-3)


def test_least_loss_of_the_es2659053_posture() -> None:
    """PyBullet's robot with set-points shifted by hand needed 0.66 N²m²."""
    least = solve_least_loss(standing_problem(NAO))
    legs = joule_loss(NAO) > 0.0
    assert_allclose(np.sum(least.motor_effort[legs] ** 2), 0.66, atol=0.02)


@settings(max_examples=25)
@given(seed=seeds)
def test_no_other_forces_have_less_loss(seed: int) -> None:
    """Any feasible change that keeps the balance makes more heat."""
    problem = standing_problem(NAO, near_posture(seed, 0.02))
    least = solve_least_loss(problem)
    inner = null_space(problem.base_map)
    rng = np.random.default_rng(seed)
    change = (inner @ rng.normal(size=(inner.shape[1], 200))).T.reshape(200, -1, 3)
    f = least.forces + change
    level = np.hypot(f[..., 0], f[..., 1])
    inside = (level <= problem.friction * f[..., 2]).all(axis=1)
    for forces in f[inside]:
        T = problem.motor_effort(problem.effort(forces))
        assert problem.loss @ T**2 >= least.loss_w - 1e-6


@settings(max_examples=25)
@given(seed=seeds, friction=st.floats(0.1, 1.5))
def test_forces_balance_the_robot_within_friction_cones(
    seed: int, friction: float
) -> None:
    problem = standing_problem(NAO, near_posture(seed, 0.03), friction=friction)
    least = solve_least_loss(problem)
    level = np.hypot(least.forces[:, 0], least.forces[:, 1])
    assert (least.forces[:, 2] >= 0.0).all()
    assert (level <= friction * least.forces[:, 2] + 1e-9).all()
    if least.is_balanced:
        assert_allclose(least.forces[:, 2].sum(), 9.81 * NAO.total_mass, rtol=1e-4)
        assert_allclose(least.effort, problem.effort(least.forces), atol=1e-12)


def test_robot_that_must_fall_is_not_balanced() -> None:
    lying = standing_problem(NAO, up=np.array((1.0, 0.0, 0.05)))
    assert not solve_least_loss(lying).is_balanced
    with pytest.raises(BadInput, match="no contact forces"):
        solve_least_loss_reference(lying)


def test_missing_cvxpy_names_the_extra_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(BadInput, match=r"pip install '\.\[reference\]'"):
        solve_least_loss_reference(standing_problem(NAO))


def test_no_contacts_give_no_balance() -> None:
    least = solve_least_loss(standing_problem(NAO, feet=()))
    assert not least.is_balanced
    assert least.forces.shape == (0, 3)


def test_torques_on_one_foot_are_unique() -> None:
    """Six equations for one wrench: any balanced forces give the same torques."""
    q = NAO.posture("PoseInit").angles.copy()
    for name, turn in (("LHipRoll", 0.17), ("LAnkleRoll", -0.17)):
        q[NAO.joint_index(name)] += turn  # its weight over the left foot
    problem = standing_problem(NAO, q, feet=("LFoot",), friction=2.0)
    inner = problem.contact_map @ null_space(problem.base_map)
    assert_allclose(inner, 0.0, atol=1e-12)


def test_mirrored_joints_have_mirrored_torques() -> None:
    least = solve_least_loss(standing_problem(NAO))
    T = dict(zip(NAO.motor_names, least.motor_effort, strict=True))
    for name in ("HipPitch", "KneePitch", "AnklePitch"):
        assert_allclose(T["L" + name], T["R" + name], atol=1e-4)
    for name in ("HipRoll", "AnkleRoll"):
        assert_allclose(T["L" + name], -T["R" + name], atol=1e-4)


def test_robot_without_feet_is_rejected(two_leg: Robot) -> None:
    with pytest.raises(BadInput, match="feet"):
        sole_points(dataclasses.replace(two_leg, feet=()))


def test_loss_counts_the_legs_only() -> None:
    """c = R / K² of the identified motors; 0.8214 for a pitch joint: 12.0 Ω, 3.8²."""
    loss = dict(zip(NAO.motor_names, joule_loss(NAO), strict=True))
    assert loss["HeadYaw"] == 0.0
    knee = NAO.motors[NAO.motor_names.index("LKneePitch")].one_node
    assert_allclose(loss["LKneePitch"], knee.resistance / knee.torque_constant**2)
    assert sum(value > 0.0 for value in loss.values()) == 11
    every = joule_loss(NAO, NAO.joint_names)
    assert (every > 0.0).all()
