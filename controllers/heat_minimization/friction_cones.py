"""Least squares over contact forces in round friction cones.

    min over f, p    ‖A f + E p - b‖²,    ‖(f_1, f_2)_k‖ <= μ f_n,k,    p >= 0

**Rays.** A force in its cone is a sum of rays on the cone, f_k = Σ λ r with λ >= 0 and
r = (μ cos φ, μ sin φ, 1). On a fixed set of rays this is a nonnegative least squares
problem [lawson1974]. A fixed set is a pyramid inside the cone: with eight rays it
reaches only 92 % of the friction halfway between two rays, which matters most at low
friction. So the set follows the solution [holloway1974]. With the gradient g = Aᵀ(A f +
E p - b), the cost falls along the rays of cone k at most by

    s_k = μ ‖(g_1, g_2)_k‖ - g_n,k,    along r = (-μ (g_1, g_2)_k / ‖(g_1, g_2)_k‖, 1).

Each round adds these rays where s_k > 0, drops the rays without force, and solves
again. The cost is convex and gᵀf = 0 at each solution. So forces f' in the cones lower
the cost by at most 2 max_k s_k Σ f'_n: the rounds end where that bound is a small part
of the cost.
"""

import numba
import numpy as np
import scipy  # its parts, which are slow to import, load at their first use

from nao_testbed.controllers.stiffness.kernels import IndexArray
from nao_testbed.models.values import FloatArray

START_RAYS = 4
"""Rays of each cone in the first round."""
GAP = 4e-4
"""Bound on the remaining reduction as a share of the cost; the true remainder is a
tenth."""
MAX_ROUNDS = 20
"""Maximum number of rounds; 2 to 8 are usual with an active cone."""
MAX_SWEEPS = 30
"""Maximum iterations of `nnls` per unknown; it needs about one."""


def solve_in_cones(
    A: FloatArray, b: FloatArray, friction: float, gap: float = GAP
) -> FloatArray:
    """Return the forces f of minimum ‖A f - b‖ within their friction cones.

    Usually no cone is active, and the plain least squares solution is returned.

    Args:
        A: (rows, 3 n) of full column rank; forces as (tangent, tangent, normal), one
            point after the other.
        b: (rows,).
        friction: μ.
        gap: largest remaining reduction, as a share of the cost.

    Returns:
        (n, 3) forces.
    """
    width = A.shape[1]
    if width == 0:
        return np.zeros((0, 3))
    # By QR: A'A is ill-conditioned.
    factors, solved, flaw = scipy.linalg.lapack.dgels(A, b)
    free = np.asarray(solved[:width].reshape(-1, 3))
    if flaw:
        return solve_on_rays(A, b, friction, gap=gap)[0]
    if are_in_cones(free, friction):
        return free
    R, left = np.triu(factors[:width]), solved[width:]
    rest = float(left @ left)  # ‖A f - b‖² = ‖R (f - free)‖² + rest
    return solve_on_rays(R, R @ free.ravel(), friction, rest=rest, gap=gap)[0]


def are_in_cones(forces: FloatArray, friction: float) -> bool:
    """Return True if each of (n, 3) forces lies in its friction cone."""
    level = np.hypot(forces[:, 0], forces[:, 1])
    return bool((level <= friction * forces[:, 2]).all())


def friction_rays(friction: float, count: int) -> FloatArray:
    """Return `count` rays around a cone, (count, 3), each with normal force 1."""
    angle = 2.0 * np.pi * np.arange(count) / count
    return np.column_stack(
        (friction * np.cos(angle), friction * np.sin(angle), np.ones(count))
    )


def solve_on_rays(
    A: FloatArray,
    b: FloatArray,
    friction: float,
    *,
    others: FloatArray | None = None,
    rest: float = 0.0,
    gap: float = GAP,
) -> tuple[FloatArray, FloatArray]:
    """Return the forces in their cones, and p, of minimum ‖A f + E p - b‖.

    Args:
        A: (rows, 3 n), n > 0.
        b: (rows,).
        friction: μ.
        others: (rows, m) E; None: no p.
        rest: part of the cost outside these rows.
        gap: largest remaining reduction, as a share of the cost.

    Returns:
        (n, 3) forces, and (m,) p.
    """
    n = A.shape[1] // 3
    E = np.zeros((len(A), 0)) if others is None else others
    m = E.shape[1]
    each = np.arange(n * START_RAYS)
    point = each // START_RAYS
    rays = friction_rays(friction, START_RAYS)[each % START_RAYS]
    rounds = 0
    while True:
        rounds += 1
        columns = _on_rays(A, rays, point)
        solved = _solve_nonnegative(np.hstack((E, columns)) if m else columns, b)
        strength = solved[m:]
        residual = columns @ strength - b
        if m:
            residual += E @ solved[:m]
        gradient = residual @ A
        slope, steepest = _steepest_rays(gradient, friction)
        saved = 2.0 * slope.max(initial=0.0) * strength.sum()
        enough = gap * (residual @ residual + rest)
        if saved <= enough or rounds == MAX_ROUNDS:
            break
        (new,) = np.nonzero(slope > 0.0)
        kept = strength > 0.0
        rays = np.concatenate((rays[kept], steepest[new]))
        point = np.concatenate((point[kept], new))
    forces = np.zeros((n, 3))
    np.add.at(forces, point, strength[:, None] * rays)
    return forces, solved[:m]


@numba.njit(cache=True)
def _on_rays(A: FloatArray, rays: FloatArray, point: IndexArray) -> FloatArray:
    """Return A projected on (count, 3) rays, one column per ray."""
    columns = np.empty((len(A), len(rays)))
    for j in range(len(rays)):
        k = 3 * point[j]
        for i in range(len(A)):
            columns[i, j] = (
                A[i, k] * rays[j, 0] + A[i, k + 1] * rays[j, 1] + A[i, k + 2]
            )
    return columns


@numba.njit(cache=True)
def _steepest_rays(
    gradient: FloatArray, friction: float
) -> tuple[FloatArray, FloatArray]:
    """Return s, (n,), and the steepest descent ray of each cone."""
    n = len(gradient) // 3
    slope, rays = np.empty(n), np.zeros((n, 3))
    for k in range(n):
        x, y = gradient[3 * k], gradient[3 * k + 1]
        level = np.hypot(x, y)
        slope[k] = friction * level - gradient[3 * k + 2]
        if level > 0.0:
            rays[k, 0], rays[k, 1] = -friction * x / level, -friction * y / level
        rays[k, 2] = 1.0
    return slope, rays


def _solve_nonnegative(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return λ >= 0 of minimum ‖A λ - b‖."""
    try:
        strength, _ = scipy.optimize.nnls(A, b, maxiter=MAX_SWEEPS * A.shape[1])
    except RuntimeError:  # cycling: a slower method for the same problem
        strength = scipy.optimize.lsq_linear(A, b, bounds=(0.0, np.inf)).x
    return np.asarray(strength, dtype=np.float64)
