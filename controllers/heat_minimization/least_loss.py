"""The contact forces of least joule loss, as one least squares problem in cones.

    min_f Σ_m c_m T_m²,   T = S (g - C f),   B f = h,   f_k in its friction cone,

the cones being ‖(f_1, f_2)_k‖ <= μ f_n,k for every contact k. With B f = h as heavy
rows that is

    min_f ‖ [√c S C; W B; ε I] f - [√c S g; W h; 0] ‖²,   f_k in its friction cone.

ε only chooses among forces that cost the same: four corners of a sole share its wrench
in many ways. Where no forces can balance the robot, its weight is carried as well as
can be, and `is_balanced` says so.

**Cones.** Mostly no cone is in the way: then the plain least squares answer is the
answer. Else each cone is replaced by the pyramid of `RAYS` rays on it, f = ρ λ with
λ >= 0, which lies inside the cone, and the nonnegative least squares problem in λ is
solved by the method of Lawson and Hanson [lawson1974].

**Stuck gears** bear what they can: no controller gets below. At rest the friction of
gear and brushes takes a torque u_m of either sign, so a motor gives
T = S (g - C f) - u, and

    min_{f, u} Σ_m c_m T_m²,    B f = h,    f_k in its friction cone,    |u_m| <= f_m.

`solve_least_loss` leaves u out: it is the least when nothing is known of the gears, and
the right one to compare postures by. A robot that came to rest luckily is below it.

**The reference**, as one reads it on paper, is a cone programme,

    minimise    Σ_m c_m (S (g - C f))_m²
    subject to  B f = h,    ‖(f_1, f_2)_k‖ <= μ f_n,k  for every contact k,

with round cones, by cvxpy and an interior-point solver: what the compiled form is held
against, three orders of magnitude slower. It needs the extra `reference`.
"""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from scipy.linalg.lapack import dgels
from scipy.optimize import lsq_linear, nnls

from controllers.heat_minimization.standing_problem import StandingProblem
from models import BadInput, Robot
from models.values import FloatArray

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


BALANCE_WEIGHT = 300.0
"""W in √W/N and √W/(N·m): the multipliers of B f = h are some 0.1 W/N, so that it is
held to 1e-5 N."""
REGULARISATION = 1e-4
"""ε in √W/N: 50 N spread evenly cost 3e-6 W."""
BALANCED_NM = 1e-2
"""Largest residual of B f = h, in N and N·m, of a robot in balance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastLoss:
    """Contact forces, the torques with them, and their joule loss."""

    forces: FloatArray
    """(n, 3) in N, along two tangents and the normal of each sole."""
    effort: FloatArray
    """(n_joints,) τ in N·m."""
    motor_effort: FloatArray
    """(n_motors,) T in N·m, on the joint side."""
    loss_w: float
    """Σ c T² in W."""
    is_balanced: bool
    """Whether B f = h holds; else no forces of these contacts carry the robot."""


def _loss_rows(problem: StandingProblem) -> tuple[FloatArray, FloatArray]:
    """Return √c S C and √c S g of the motors whose heat counts."""
    counts = problem.loss > 0.0
    root = np.sqrt(problem.loss[counts])
    SC = problem.sharing[counts] @ problem.contact_map
    Sg = problem.motor_effort(problem.gravity)[counts]
    return root[:, None] * SC, root * Sg


def solve_least_loss(problem: StandingProblem) -> LeastLoss:
    """Solve for the forces of least loss; never raises on finite input."""
    loss_map, loss_at_rest = _loss_rows(problem)
    n = problem.n_points
    A = np.vstack(
        (loss_map, BALANCE_WEIGHT * problem.base_map, REGULARISATION * np.eye(3 * n))
    )
    b = np.concatenate((loss_at_rest, BALANCE_WEIGHT * problem.weight, np.zeros(3 * n)))
    return evaluate_forces(problem, solve_in_cones(A, b, problem.friction))


def evaluate_forces(problem: StandingProblem, forces: FloatArray) -> LeastLoss:
    """Return what (n, 3) forces cost."""
    effort = problem.effort(forces)
    T = problem.motor_effort(effort)
    residual = problem.base_map @ forces.ravel() - problem.weight
    return LeastLoss(
        forces=forces,
        effort=effort,
        motor_effort=T,
        loss_w=float(problem.loss @ (T * T)),
        is_balanced=bool(np.abs(residual).max() <= BALANCED_NM),
    )


GEAR_TOLERANCE = 1e-12
"""Of the solver: relative, on the loss and its gradient."""


def gear_friction(robot: Robot) -> FloatArray:
    """Return the friction torque f_m of each motor's joints, (n_motors,) in N·m."""
    friction = np.array([joint.friction for joint in robot.joints])
    sharing = np.bincount(robot.motor_of_joint)
    total = np.bincount(robot.motor_of_joint, weights=friction)
    return np.asarray(total / sharing)  # joints on one motor share one gear


def least_power_with_gears(problem: StandingProblem, gear: FloatArray) -> float | None:
    """Return the least loss in W; None where no forces balance the robot.

    Args:
        problem: the robot on its soles.
        gear: (n_motors,) largest friction torque in N·m; inf where a joint leans on its
            stop, so that its motor need not bear anything.
    """
    loss_map, loss_at_rest = _loss_rows(problem)
    counts = problem.loss > 0.0
    n, m = problem.n_points, len(loss_map)
    rays = friction_rays(problem.friction)

    def on_rays(rows: FloatArray) -> FloatArray:
        return np.asarray((rows.reshape(-1, 3) @ rays.T).reshape(len(rows), n * RAYS))

    A = np.block(
        [
            [on_rays(loss_map), np.diag(np.sqrt(problem.loss[counts]))],
            [on_rays(BALANCE_WEIGHT * problem.base_map), np.zeros((6, m))],
            [REGULARISATION * np.eye(n * RAYS), np.zeros((n * RAYS, m))],
        ]
    )
    b = np.concatenate(
        (loss_at_rest, BALANCE_WEIGHT * problem.weight, np.zeros(n * RAYS))
    )
    bound = np.maximum(gear[counts], 1e-12)  # the solver wants some room
    low = np.concatenate((np.zeros(n * RAYS), -bound))
    high = np.concatenate((np.full(n * RAYS, np.inf), bound))
    x = lsq_linear(A, b, bounds=(low, high), tol=GEAR_TOLERANCE, max_iter=400).x
    residual = (A @ x - b)[m : m + 6] / BALANCE_WEIGHT
    if np.abs(residual).max() > BALANCED_NM:
        return None
    left_over = (A @ x - b)[:m]
    return float(left_over @ left_over)


def solve_least_loss_reference(problem: StandingProblem) -> LeastLoss:
    """Solve for the forces of least loss.

    Raises:
        BadInput: no forces in the cones balance the robot; or cvxpy is not there.
    """
    try:  # takes 2 s; star imports hide its names from type checkers
        cp: Any = import_module("cvxpy")
    except ModuleNotFoundError as error:
        raise BadInput(
            "the cone programme of the least loss needs cvxpy; install it: pip install "
            "'nao-testbed[reference]'. `solve_least_loss` solves the same without it."
        ) from error
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
        # they carry is looked at in `evaluate_forces`.
        warnings.simplefilter("ignore", UserWarning)
        programme.solve(solver=cp.CLARABEL)
    if programme.status not in ("optimal", "optimal_inaccurate") or f.value is None:
        raise BadInput(
            f"no contact forces balance the robot ({programme.status}): its centre of "
            "mass lies outside the support, or friction is too small."
        )
    return evaluate_forces(problem, np.asarray(f.value))
