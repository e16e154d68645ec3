"""The contact forces of least joule loss, as one least squares problem.

    min_f Σ_m c_m T_m²,   T = S (g - C f),   B f = h,   f_k in its friction cone.

With B f = h as heavy rows that is

    min_f ‖ [√c S C; W B; ε I] f - [√c S g; W h; 0] ‖²,   f_k in its friction cone,

solved by `cone_least_squares`. ε only chooses among forces that cost the same: four
corners of a sole share its wrench in many ways. Where no forces can balance the robot,
its weight is carried as well as can be, and `is_balanced` says so.
`least_loss_reference` solves the same as a cone programme.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.cooling.cone_least_squares import solve_in_cones
from controllers.cooling.standing_problem import StandingProblem

FloatArray = NDArray[np.float64]

HEAVY = 300.0
"""W in √W/N and √W/(N·m): the multipliers of B f = h are some 0.1 W/N, so that it is
held to 1e-5 N."""
EVEN = 1e-4
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


def solve_least_loss(problem: StandingProblem) -> LeastLoss:
    """Solve for the forces of least loss; never raises on finite input."""
    counts = problem.loss > 0.0
    root = np.sqrt(problem.loss[counts])
    SC = problem.sharing[counts] @ problem.contact_map
    Sg = problem.motor_effort(problem.gravity)[counts]
    n = problem.n_points
    A = np.vstack((root[:, None] * SC, HEAVY * problem.base_map, EVEN * np.eye(3 * n)))
    b = np.concatenate((root * Sg, HEAVY * problem.weight, np.zeros(3 * n)))
    forces = solve_in_cones(A, b, problem.friction)
    return finish(problem, forces)


def finish(problem: StandingProblem, forces: FloatArray) -> LeastLoss:
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
