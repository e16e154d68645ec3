"""Least squares in circular friction cones: against a cone programme, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.friction_cones import (
    GAP,
    are_in_cones,
    friction_rays,
    solve_in_cones,
    solve_on_rays,
)
from nao_testbed.models.values import FloatArray

seeds = st.integers(0, 2**32 - 1)


def drawn(seed: int, n: int = 4) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3 * n + 2, 3 * n)), rng.normal(size=3 * n + 2)


def reference(
    A: FloatArray, b: FloatArray, friction: float, others: FloatArray
) -> float:
    """Return the minimum cost."""
    import cvxpy as cp  # takes a second

    f, p = cp.Variable((A.shape[1] // 3, 3)), cp.Variable(others.shape[1])
    flat = cp.reshape(f, (A.shape[1],), order="C")
    rules = [cp.norm(f[:, :2], 2, axis=1) <= friction * f[:, 2], p >= 0]
    cost = cp.sum_squares(A @ flat + others @ p - b)
    programme = cp.Problem(cp.Minimize(cost), rules)
    return float(programme.solve(solver=cp.CLARABEL))


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=seeds, friction=st.floats(0.05, 1.5))
def test_solutions_agree_with_the_cone_programme(seed: int, friction: float) -> None:
    A, b = drawn(seed)
    others = np.random.default_rng(seed + 1).normal(size=(len(A), 2))
    least = reference(A, b, friction, np.zeros((len(A), 1)))
    cost = np.sum((A @ solve_in_cones(A, b, friction).ravel() - b) ** 2)
    assert_allclose(cost, least, rtol=5.0 * GAP, atol=1e-6)
    f, p = solve_on_rays(A, b, friction, others=others)
    assert (p >= 0.0).all()
    cost = np.sum((A @ f.ravel() + others @ p - b) ** 2)
    assert_allclose(cost, reference(A, b, friction, others), rtol=5.0 * GAP, atol=1e-6)


@settings(max_examples=50)
@given(seed=seeds, friction=st.floats(0.1, 1.5))
def test_no_ray_of_a_cone_descends(seed: int, friction: float) -> None:
    A, b = drawn(seed)
    forces = solve_in_cones(A, b, friction, gap=1e-7)
    assert (np.hypot(*forces[:, :2].T) <= friction * forces[:, 2] + 1e-9).all()
    free = np.asarray(np.linalg.lstsq(A, b)[0], dtype=np.float64).reshape(-1, 3)
    if are_in_cones(free, friction):
        assert_allclose(forces, free, atol=1e-9)
    gradient = (A.T @ (A @ forces.ravel() - b)).reshape(-1, 3)
    slope = gradient @ friction_rays(friction, 64).T
    cost = np.sum((A @ forces.ravel() - b) ** 2)
    assert 2.0 * -slope.min() * forces[:, 2].sum() <= 1e-6 * cost + 1e-8


@pytest.mark.parametrize("count", [4, 32])
def test_rays_lie_on_the_cone(count: int) -> None:
    rays = friction_rays(0.7, count)
    assert rays.shape == (count, 3)
    assert_allclose(np.hypot(rays[:, 0], rays[:, 1]), 0.7 * rays[:, 2])


def test_no_contacts_give_no_forces() -> None:
    assert solve_in_cones(np.zeros((3, 0)), np.ones(3), 0.5).shape == (0, 3)
