"""Contact forces of minimum joule loss, as one least squares problem in cones.

    min_f Σ_m c_m T_m²,   T = S (g - C f),   B f = h,   f_k in its friction cone,

the cones being ‖(f_1, f_2)_k‖ <= μ f_n,k for every contact k. With B f = h as heavily
weighted rows, this is

    min_f ‖ [√c S C; W B; ε I] f - [√c S g; W h; 0] ‖²,   f_k in its friction cone.

ε only selects among forces of equal cost: the four corners of a sole can share its
wrench in many ways. If no forces balance the robot, the residual of B f = h is
minimised, and `is_balanced` is False. The cones are round, as solved by
`friction_cones`: the loss is at most 0.02 % above the minimum.

**Stuck gears** carry part of the load; the result with them is a lower bound for every
controller. At rest the friction of gear and brushes takes a torque u_m of either sign,
so a motor gives T = S (g - C f) - u, and

    min_{f, u} Σ_m c_m T_m²,    B f = h,    f_k in its friction cone,    |u_m| <= f_m.

`solve_least_loss` omits u: its result is the minimum without knowledge of the gears,
and the basis for comparing postures. With favourable gear friction a robot is below it.

**The reference** is the textbook form, a cone program,

    minimise    Σ_m c_m (S (g - C f))_m²
    subject to  B f = h,    ‖(f_1, f_2)_k‖ <= μ f_n,k  for every contact k,

with round cones, solved by cvxpy with an interior-point method. It validates the
compiled form and is three orders of magnitude slower. It needs the extra `reference`.
"""

import warnings
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from nao_testbed.controllers.heat_minimization.friction_cones import (
    GAP,
    solve_in_cones,
    solve_on_rays,
)
from nao_testbed.controllers.heat_minimization.standing_problem import StandingProblem
from nao_testbed.models import BadInput, ExtraMissing
from nao_testbed.models.values import FloatArray

BALANCE_WEIGHT = 1000.0
"""W in √W/N and √W/(N·m): the multipliers of B f = h are about 0.1 W/N, so its
residual is below 1e-7 N."""
REGULARISATION = 1e-4
"""ε in √W/N: 50 N spread evenly cost 3e-6 W."""
BALANCED_NM = 1e-2
"""Maximum residual of B f = h, in N and N·m, of a robot in balance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastLoss:
    """Contact forces, the resulting torques, and their joule loss."""

    forces: FloatArray
    """(n, 3) in N, along two tangents and the normal of each sole."""
    effort: FloatArray
    """(n_joints,) τ in N·m."""
    motor_effort: FloatArray
    """(n_motors,) T in N·m, on the joint side."""
    loss_w: float
    """Σ c T² in W."""
    is_balanced: bool
    """True if B f = h holds; otherwise no forces of these contacts carry the robot."""


def _loss_rows(problem: StandingProblem) -> tuple[FloatArray, FloatArray]:
    """Return √c S C and √c S g of the motors with a counted loss."""
    counts = problem.loss > 0.0
    root = np.sqrt(problem.loss[counts])
    SC = problem.sharing[counts] @ problem.contact_map
    Sg = problem.motor_effort(problem.gravity)[counts]
    return root[:, None] * SC, root * Sg


def solve_least_loss(problem: StandingProblem, gap: float = GAP) -> LeastLoss:
    """Solve for the forces of minimum loss; never raises on finite input.

    Args:
        problem: the robot on its soles.
        gap: largest remaining reduction, as a share of the loss, with an active cone.
    """
    loss_map, loss_at_rest = _loss_rows(problem)
    n = problem.n_points
    A = np.vstack(
        (loss_map, BALANCE_WEIGHT * problem.base_map, REGULARISATION * np.eye(3 * n))
    )
    b = np.concatenate((loss_at_rest, BALANCE_WEIGHT * problem.weight, np.zeros(3 * n)))
    return evaluate_forces(problem, solve_in_cones(A, b, problem.friction, gap))


def evaluate_forces(problem: StandingProblem, forces: FloatArray) -> LeastLoss:
    """Compute the torques and the loss of (n, 3) forces."""
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


def least_power_with_gears(problem: StandingProblem, gear: FloatArray) -> float | None:
    """Return the minimum loss in W; None if no forces balance the robot.

    Args:
        problem: the robot on its soles.
        gear: (n_motors,) maximum friction torque in N·m; inf for a joint at its stop,
            so that its motor may be unloaded.
    """
    borne = np.isinf(gear)
    some = replace(problem, loss=np.where(borne, 0.0, problem.loss))
    loss_map, loss_at_rest = _loss_rows(some)
    bound = gear[some.loss > 0.0]
    root = np.sqrt(some.loss[some.loss > 0.0])
    m, forces = len(bound), 3 * problem.n_points
    # u = p - bound with p >= 0, p + rest = 2 bound and rest >= 0
    heavy = BALANCE_WEIGHT * np.eye(m)
    A = np.vstack(
        (
            loss_map,
            BALANCE_WEIGHT * problem.base_map,
            REGULARISATION * np.eye(forces),
            np.zeros((m, forces)),
        )
    )
    E = np.zeros((len(A), 2 * m))
    E[:m, :m] = np.diag(root)
    E[-m:] = np.hstack((heavy, heavy)) if m else E[-m:]
    b = np.concatenate(
        (
            loss_at_rest + root * bound,
            BALANCE_WEIGHT * problem.weight,
            np.zeros(forces),
            2.0 * BALANCE_WEIGHT * bound,
        )
    )
    f, p = solve_on_rays(A, b, problem.friction, others=E)
    least = evaluate_forces(some, f)
    if not least.is_balanced:
        return None
    left_over = loss_map @ f.ravel() + root * (p[:m] - bound) - loss_at_rest
    return float(left_over @ left_over)


def solve_least_loss_reference(problem: StandingProblem) -> LeastLoss:
    """Solve for the forces of minimum loss.

    Raises:
        BadInput: no forces in the cones balance the robot; or cvxpy is not installed.
    """
    try:  # takes 2 s; star imports hide its names from type checkers
        cp: Any = import_module("cvxpy")
    except ModuleNotFoundError as error:
        raise ExtraMissing(
            "the cone program of the minimum loss",
            "cvxpy",
            "reference",
            "or call `solve_least_loss`, which solves the same problem",
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
        # "May be inaccurate": forces of equal cost have no unique optimum.
        # `evaluate_forces` checks the balance.
        warnings.simplefilter("ignore", UserWarning)
        programme.solve(solver=cp.CLARABEL)
    if programme.status not in ("optimal", "optimal_inaccurate") or f.value is None:
        raise BadInput(
            f"no contact forces balance the robot ({programme.status}): its centre of "
            "mass lies outside the support, or friction is too small."
        )
    return evaluate_forces(problem, np.asarray(f.value))
