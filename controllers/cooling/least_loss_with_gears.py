"""The least joule loss when stuck gears bear what they can: no controller gets below.

At rest the friction of gear and brushes takes a torque u_m of either sign, so a motor
gives T = S (g - C f) - u, and

    min_{f, u} Σ_m c_m T_m²,    B f = h,    f_k in its friction cone,    |u_m| <= f_m.

`least_loss` leaves u out: it is the least when nothing is known of the gears, and the
right one to compare postures by. A robot that came to rest luckily is below it.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from controllers.cooling.cone_least_squares import RAYS, friction_rays
from controllers.cooling.least_loss import BALANCED_NM, EVEN, HEAVY
from controllers.cooling.standing_problem import StandingProblem
from models import Robot

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-12
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
    counts = problem.loss > 0.0
    root = np.sqrt(problem.loss[counts])
    SC = problem.sharing[counts] @ problem.contact_map
    Sg = problem.motor_effort(problem.gravity)[counts]
    n, m = problem.n_points, int(counts.sum())
    rays = friction_rays(problem.friction)

    def on_rays(rows: FloatArray) -> FloatArray:
        return np.asarray((rows.reshape(-1, 3) @ rays.T).reshape(len(rows), n * RAYS))

    A = np.block(
        [
            [on_rays(root[:, None] * SC), np.diag(root)],
            [on_rays(HEAVY * problem.base_map), np.zeros((6, m))],
            [EVEN * np.eye(n * RAYS), np.zeros((n * RAYS, m))],
        ]
    )
    b = np.concatenate((root * Sg, HEAVY * problem.weight, np.zeros(n * RAYS)))
    bound = np.maximum(gear[counts], 1e-12)  # the solver wants some room
    low = np.concatenate((np.zeros(n * RAYS), -bound))
    high = np.concatenate((np.full(n * RAYS, np.inf), bound))
    x = lsq_linear(A, b, bounds=(low, high), tol=TOLERANCE, max_iter=400).x
    residual = (A @ x - b)[m : m + 6] / HEAVY
    if np.abs(residual).max() > BALANCED_NM:
        return None
    left_over = (A @ x - b)[:m]
    return float(left_over @ left_over)
