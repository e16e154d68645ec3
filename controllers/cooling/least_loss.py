"""The contact forces of least joule loss, as one nonnegative least squares problem.

    min_f Σ_m c_m T_m²,   T = S (g - C f),   B f = h,   f_k in its friction cone.

Each cone is replaced by the pyramid of `RAYS` rays on it, f = ρ λ with λ >= 0, which
lies inside the cone. With B f = h as heavy rows the problem is

    min_{λ >= 0} ‖ [√c S C ρ; W B ρ; ε I] λ - [√c S g; W h; 0] ‖²,

solved by the method of Lawson and Hanson [lawson1974]. ε only chooses among forces that
cost the same: four corners of a sole share its wrench in many ways. Where no forces can
balance the robot, its weight is carried as well as can be, and `is_balanced` says so.
`least_loss_reference` solves the same with round cones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from controllers.cooling.standing_problem import StandingProblem

FloatArray = NDArray[np.float64]

RAYS = 8
"""Rays of a pyramid: it holds 0.97 of a cone's section on average."""
HEAVY = 300.0
"""W in √W/N and √W/(N·m): the multipliers of B f = h are some 0.1 W/N, so that it is
held to 1e-6 N."""
EVEN = 1e-4
"""ε in √W/N: 50 N spread evenly cost 3e-6 W."""
BALANCED_NM = 1e-2
"""Largest residual of B f = h, in N and N·m, of a robot in balance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeastLoss:
    """Contact forces, the torques with them, and their joule loss."""

    forces: FloatArray
    """(n, 3) in N along e_x, e_y and up."""
    effort: FloatArray
    """(n_joints,) τ in N·m."""
    motor_effort: FloatArray
    """(n_motors,) T in N·m, on the joint side."""
    loss_w: float
    """Σ c T² in W."""
    is_balanced: bool
    """Whether B f = h holds; else no forces of these contacts carry the robot."""


def friction_rays(friction: float) -> FloatArray:
    """Return the rays of one pyramid, (RAYS, 3), each with a normal force of 1."""
    angle = 2.0 * np.pi * np.arange(RAYS) / RAYS
    return np.column_stack(
        (friction * np.cos(angle), friction * np.sin(angle), np.ones(RAYS))
    )


def on_rays(matrix: FloatArray, rays: FloatArray) -> FloatArray:
    """Return matrix · ρ, (rows, n RAYS), of a (rows, 3 n) matrix on forces."""
    rows, columns = matrix.shape
    n = columns // 3
    return np.asarray((matrix.reshape(rows * n, 3) @ rays.T).reshape(rows, -1))


def solve_least_loss(problem: StandingProblem) -> LeastLoss:
    """Solve for the forces of least loss; never raises on finite input."""
    counts = problem.loss > 0.0
    root = np.sqrt(problem.loss[counts])
    SC = problem.over_motors(problem.contact_map)[counts]
    Sg = problem.motor_effort(problem.gravity)[counts]
    rays = friction_rays(problem.friction)
    n = problem.n_points
    A = np.vstack(
        (
            on_rays(root[:, None] * SC, rays),
            on_rays(HEAVY * problem.base_map, rays),
            EVEN * np.eye(n * RAYS),
        )
    )
    b = np.concatenate((root * Sg, HEAVY * problem.weight, np.zeros(n * RAYS)))
    strength = solve_nnls(A, b)
    forces = strength.reshape(n, RAYS) @ rays
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


def solve_nnls(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return λ >= 0 with least ‖A λ - b‖."""
    if A.shape[1] == 0:
        return np.zeros(0)
    strength, _ = nnls(A, b, maxiter=30 * A.shape[1])
    return np.asarray(strength, dtype=np.float64)
