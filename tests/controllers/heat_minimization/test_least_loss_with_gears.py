"""Least loss with gear friction: against a cone programme, and laws."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.least_loss import (
    least_power_with_gears,
    solve_least_loss,
)
from nao_testbed.controllers.heat_minimization.standing_problem import StandingProblem
from nao_testbed.models import load_robot
from tests.controllers.heat_minimization.standing import (
    drawn_problem,
    standing_problem,
)

NAO = load_robot()
GEAR = NAO.motor_friction


def reference(problem: StandingProblem, gear: np.ndarray) -> float:
    import cvxpy as cp  # takes a second

    n, S = problem.n_points, problem.sharing
    f, u = cp.Variable((n, 3)), cp.Variable(len(gear))
    flat = cp.reshape(f, (3 * n,), order="C")
    T = S @ (problem.gravity - problem.contact_map @ flat) - u
    rules: list[Any] = [problem.base_map @ flat == problem.weight, cp.abs(u) <= gear]
    for k in range(n):
        rules.append(cp.norm(f[k, :2], 2) <= problem.friction * f[k, 2])
    cost = cp.sum_squares(cp.multiply(np.sqrt(problem.loss), T))
    return float(cp.Problem(cp.Minimize(cost), rules).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("posture", ["PoseInit", "Stand", "StandZero", "Crouch"])
def test_power_agrees_with_the_cone_programme(posture: str) -> None:
    problem = standing_problem(NAO, NAO.posture(posture).angles)
    ours = least_power_with_gears(problem, GEAR)
    assert ours is not None
    assert_allclose(ours, reference(problem, GEAR), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("friction", [0.15, 0.3])
def test_power_agrees_at_the_friction_limit(friction: float) -> None:
    """Pyramids of eight rays were up to 28 % above, and failed to balance two."""
    agreed = 0
    for seed in range(8):
        problem = drawn_problem(NAO, seed, friction)
        least = reference(problem, GEAR)
        if np.isinf(least):
            continue
        ours = least_power_with_gears(problem, GEAR)
        assert ours is not None
        assert_allclose(ours, least, rtol=3e-4, atol=1e-4)
        agreed += 1
    assert agreed >= 4, "too few of the drawn problems are balanced"


def test_gears_without_friction_change_nothing() -> None:
    problem = standing_problem(NAO)
    ours = least_power_with_gears(problem, np.zeros(len(NAO.motors)))
    assert ours is not None
    assert_allclose(ours, solve_least_loss(problem).loss_w, rtol=1e-6)


def test_more_gear_friction_never_costs_more() -> None:
    problem = standing_problem(NAO)
    powers = [least_power_with_gears(problem, k * GEAR) or 0.0 for k in (0.2, 0.6, 1.0)]
    assert powers[0] > powers[1] > powers[2] > 0.0
    assert least_power_with_gears(problem, 100.0 * GEAR) == pytest.approx(0.0, abs=1e-9)


def test_motor_with_unlimited_friction_has_no_loss() -> None:
    problem, help_nm = standing_problem(NAO), GEAR.copy()
    with_gears = least_power_with_gears(problem, GEAR) or 0.0
    help_nm[NAO.motor_names.index("LKneePitch")] = np.inf
    ours = least_power_with_gears(problem, help_nm)
    assert ours is not None
    assert_allclose(ours, reference(problem, np.minimum(help_nm, 100.0)), rtol=1e-3)
    assert ours < with_gears


def test_robot_that_must_fall_has_no_least_power() -> None:
    lying = standing_problem(NAO, up=np.array((1.0, 0.0, 0.05)))
    assert least_power_with_gears(lying, GEAR) is None


def test_joints_of_one_motor_share_one_gear() -> None:
    gear = dict(zip(NAO.motor_names, GEAR, strict=True))
    joints = {joint.name: joint.friction for joint in NAO.joints}
    assert gear["LHipYawPitch"] == joints["LHipYawPitch"]
    assert gear["LKneePitch"] == joints["LKneePitch"]
