"""Least squares over forces in friction cones.

    min_f ‖A f - b‖²,    ‖(f_1, f_2)_k‖ <= μ f_n,k  for every contact k.

Mostly no cone is in the way: then the plain least squares answer is the answer. Else
each cone is replaced by the pyramid of `RAYS` rays on it, f = ρ λ with λ >= 0, which
lies inside the cone, and the nonnegative least squares problem in λ is solved by the
method of Lawson and Hanson [lawson1974].
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgels
from scipy.optimize import lsq_linear, nnls

FloatArray = NDArray[np.float64]

RAYS = 8
"""Rays of a pyramid: it holds 0.97 of a cone's section on average."""
MOST_SWEEPS = 30
"""Iterations of `nnls` for each unknown; it needs about one."""


def solve_in_cones(A: FloatArray, b: FloatArray, friction: float) -> FloatArray:
    """Return the forces f of least ‖A f - b‖ within their friction cones.

    Args:
        A: (rows, 3 n) of full column rank; forces as (tangent, tangent, normal), one
            point after the other.
        b: (rows,).
        friction: μ.

    Returns:
        (n, 3) forces.
    """
    n = A.shape[1] // 3
    if n == 0:
        return np.zeros((0, 3))
    _, solved, flaw = dgels(A, b)  # by QR: the rows weigh too differently for A'A
    free = solved[: 3 * n].reshape(n, 3)
    if not flaw and are_in_cones(free, friction):
        return np.asarray(free)
    rays = friction_rays(friction)
    strength = _solve_nonnegative((A.reshape(-1, 3) @ rays.T).reshape(len(A), -1), b)
    return np.asarray(strength.reshape(n, RAYS) @ rays)


def are_in_cones(forces: FloatArray, friction: float) -> bool:
    """Return whether every one of (n, 3) forces lies in its friction cone."""
    level = np.hypot(forces[:, 0], forces[:, 1])
    return bool((level <= friction * forces[:, 2]).all())


def friction_rays(friction: float) -> FloatArray:
    """Return the rays of one pyramid, (RAYS, 3), each with a normal force of 1."""
    angle = 2.0 * np.pi * np.arange(RAYS) / RAYS
    return np.column_stack(
        (friction * np.cos(angle), friction * np.sin(angle), np.ones(RAYS))
    )


def _solve_nonnegative(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return λ >= 0 with least ‖A λ - b‖."""
    try:
        strength, _ = nnls(A, b, maxiter=MOST_SWEEPS * A.shape[1])
    except RuntimeError:  # it went round in circles: a slower method, same problem
        strength = lsq_linear(A, b, bounds=(0.0, np.inf)).x
    return np.asarray(strength, dtype=np.float64)
