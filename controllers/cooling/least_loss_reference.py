"""The contact forces of least joule loss as one reads them on paper: a cone programme.

    minimise    Σ_m c_m (S (g - C f))_m²
    subject to  B f = h,    ‖(f_1, f_2)_k‖ <= μ f_n,k  for every contact k.

Round cones, by cvxpy and an interior-point solver: the reference that the compiled form
is held against, three orders of magnitude slower. Needs the extra `reference`.
"""

import warnings
from importlib import import_module
from typing import Any

import numpy as np

from controllers.cooling.least_loss import LeastLoss, finish
from controllers.cooling.standing_problem import StandingProblem
from models import BadInput


def solve_least_loss_reference(problem: StandingProblem) -> LeastLoss:
    """Solve for the forces of least loss.

    Raises:
        BadInput: no forces in the cones balance the robot; or cvxpy is not there.
    """
    cp = _cvxpy()
    n, S = problem.n_points, problem.sharing
    f = cp.Variable((n, 3))
    flat = cp.reshape(f, (3 * n,), order="C")
    T = S @ (problem.gravity - problem.contact_map @ flat)
    cost = cp.sum_squares(cp.multiply(np.sqrt(problem.loss), T))
    cones = [
        cp.norm(f[k, :2], 2) <= problem.friction * f[k, 2]  # also keeps f_z >= 0
        for k in range(n)
    ]
    balance = problem.base_map @ flat == problem.weight
    programme = cp.Problem(cp.Minimize(cost), [balance, *cones])
    with warnings.catch_warnings():
        # "May be inaccurate": forces that cost the same have no best among them. What
        # they carry is looked at in `finish`.
        warnings.simplefilter("ignore", UserWarning)
        programme.solve(solver=cp.CLARABEL)
    if programme.status not in ("optimal", "optimal_inaccurate") or f.value is None:
        raise BadInput(
            f"no contact forces balance the robot ({programme.status}): its centre of "
            "mass lies outside the support, or friction is too small."
        )
    return finish(problem, np.asarray(f.value))


def _cvxpy() -> Any:
    """Import cvxpy, which takes 2 s; star imports hide its names from type checkers."""
    try:
        return import_module("cvxpy")
    except ModuleNotFoundError as error:
        raise BadInput(
            "the cone programme of the least loss needs cvxpy; install it: pip install "
            "'nao-testbed[reference]'. `solve_least_loss` solves the same without it."
        ) from error
