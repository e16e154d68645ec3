"""How the legs of a standing robot push against each other, from a recorded run.

Both legs, the pelvis and the ground are one closed chain. Contact forces f that carry
the weight obey B f = h; what else the ground does to one foot, it does equal and
opposite to the other, and costs torques without carrying anything. Whatever two flat
feet do, such forces reach the motors in **six** patterns: S C N, N the null space of B
(letters as in `controllers.heat_minimization.standing_problem`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.heat_minimization.least_loss import LeastLoss, solve_least_loss
from controllers.heat_minimization.standing_problem import (
    build_standing_problem,
    joule_loss,
    sole_points,
)
from controllers.stiffness.dynamics import Dynamics
from controllers.stiffness.ground_plane import GroundPlaneCfg, fit_sole_plane
from models import BadInput, Robot

FloatArray = NDArray[np.float64]

BOTH_SOLES = GroundPlaneCfg(roughest_m=0.1)
"""Soles that are turned against each other have a common plane too."""
SMALLEST_SHARE = 1e-6
"""Of the largest singular value: patterns weaker than this are rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class InternalForces:
    """Torques of the leg motors, and what of them the legs do to each other."""

    motors: tuple[str, ...]
    """Names of the motors of the legs."""
    measured: FloatArray
    """(n,) N·m, without gear friction."""
    least: FloatArray
    """(n,) N·m of the contact forces that cost the least joule loss."""
    patterns: FloatArray
    """(n, n_patterns) orthonormal: all that internal forces can do to the motors."""
    loss: FloatArray
    """(n,) W/(N·m)², what a squared torque costs in each motor."""
    least_loss: LeastLoss
    """Forces and torques of least joule loss."""

    @property
    def internal(self) -> FloatArray:
        """(n,) N·m, that part of the torques above the least that patterns explain."""
        return np.asarray(self.patterns @ (self.patterns.T @ self._above))

    @property
    def unexplained(self) -> FloatArray:
        """(n,) N·m, the rest: contacts that are not quite flat, and noise."""
        return np.asarray(self._above - self.internal)

    @property
    def measured_w(self) -> float:
        """Joule loss of the measured torques in W."""
        return float(self.loss @ self.measured**2)

    @property
    def least_w(self) -> float:
        """The least that any contact forces cost in this posture, in W."""
        return float(self.loss @ self.least**2)

    @property
    def _above(self) -> FloatArray:
        return self.measured - self.least


def find_internal_forces(
    robot: Robot, q: FloatArray, effort: FloatArray
) -> InternalForces:
    """Split the torques of a robot that stands on both soles.

    Up is the normal of the plane through the corners of its soles.

    Args:
        robot: with feet.
        q: (n_joints,) true angles in rad: the encoders' plus their errors.
        effort: (n_joints,) torques on the links in N·m.

    Raises:
        BadInput: the robot has no feet, or no forces at them balance it.
    """
    points = sole_points(robot)
    dynamics = Dynamics(robot, points)
    dynamics.update(q)
    loss = joule_loss(robot)
    corners = dynamics.point_positions
    up = fit_sole_plane(corners, dynamics.com, BOTH_SOLES)
    if up is None:
        raise BadInput(
            "the corners of both soles show no plane at these angles; take a time at "
            "which it stands on both feet."
        )
    problem = build_standing_problem(
        dynamics, robot, up, np.arange(len(points)), loss=loss
    )
    least = solve_least_loss(problem)
    if not least.is_balanced:
        raise BadInput(
            "no forces at the soles balance the robot at these angles; take a time at "
            "which it stands on both feet."
        )
    legs = np.flatnonzero(loss > 0.0)
    _, strength, null = np.linalg.svd(problem.base_map)
    internal = null[int((strength > SMALLEST_SHARE * strength[0]).sum()) :]
    reached = problem.sharing[legs] @ problem.contact_map @ internal.T
    directions, size, _ = np.linalg.svd(reached, full_matrices=False)
    return InternalForces(
        motors=tuple(robot.motor_names[i] for i in legs),
        measured=problem.motor_effort(effort)[legs],
        least=least.motor_effort[legs],
        patterns=directions[:, size > SMALLEST_SHARE * size[0]],
        loss=loss[legs],
        least_loss=least,
    )
