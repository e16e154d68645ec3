"""The QP of step 930 written as one reads it; for tests and study, not for the loop.

CVXPY [cvxpy] turns this into a conic program: about 4 ms a solve, where the loop's
nonnegative least squares takes 10 µs. With a small R the forces are weakly determined:
compare A Y and the objective of two solvers, not Y.
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.contact_forces import ContactProblem

FloatArray = NDArray[np.float64]


def contact_objective(problem: ContactProblem, Y: FloatArray) -> float:
    """Return ½ ‖A Y - B‖²_Q + ½ ‖Y‖²_R for forces `Y`, (n,) in N."""
    error = problem.A @ Y - problem.B
    return float(0.5 * error @ (problem.Q * error) + 0.5 * Y @ (problem.R * Y))


def solve_reference(problem: ContactProblem) -> FloatArray:
    """Minimise ½ ‖A Y - B‖²_Q + ½ ‖Y‖²_R subject to Y >= 0 with CVXPY.

    Returns:
        (n,) forces Y in N; empty without contacts.

    Raises:
        RuntimeError: the solver did not reach the optimum.
    """
    # Imported here, as it takes 2 s; star imports hide its names from type checkers.
    cp: Any = import_module("cvxpy")

    n = problem.A.shape[1]
    if n == 0:
        return np.zeros(0)
    Y = cp.Variable(n, nonneg=True)
    error = cp.multiply(np.sqrt(problem.Q), problem.A @ Y - problem.B)
    effort = cp.multiply(np.sqrt(problem.R), Y)
    objective = cp.Minimize(0.5 * cp.sum_squares(error) + 0.5 * cp.sum_squares(effort))
    program = cp.Problem(objective)
    program.solve(solver=cp.CLARABEL)
    if program.status != cp.OPTIMAL or Y.value is None:
        raise RuntimeError(f"CVXPY ended with status {program.status!r}.")
    return np.asarray(Y.value)
