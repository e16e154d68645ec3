"""Robot at rest on its feet: contact forces, residual torques and their loss.

At rest, with forces f of the ground on the robot at the contact points, the equation of
motion [ES2659053T3 ¶fig.6] gives in its rows of the base and of the joints

    B f = h,        τ = g - C f,

h the force and moment that carry the weight, g the joints' rows of -M̃(q) G, B and C
the base's and the joints' rows of the transposed contact Jacobian. Motors carry
T = S τ, S = `Robot.transmission`, and make the joule loss

    P = Σ_m c_m T_m²,        c_m = R_m / K_m².

Each force lies in its friction cone about the normal of its sole, ‖f_t‖ <= μ f_n, which
on a slope is not the vertical. With two feet on the ground, h has six equations for
many forces. The remaining freedom pushes the legs against each other, which increases P
without carrying any load.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np

from nao_testbed.controllers.stiffness.contact_forces import plane_axes, sole_axes
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics
from nao_testbed.controllers.stiffness.ground_plane import (
    GroundPlaneCfg,
    fit_sole_plane,
)
from nao_testbed.controllers.stiffness.kernels import IndexArray
from nao_testbed.models import BadInput, ContactPoint, Robot
from nao_testbed.models.values import FloatArray

FLAT = GroundPlaneCfg()
"""Limits on the spread and flatness of a sole's corners."""


def sole_points(robot: Robot) -> tuple[ContactPoint, ...]:
    """Return the contact points of the robot's feet, the corners of its soles.

    Raises:
        BadInput: the robot has no contact points on its feet.
    """
    points = tuple(p for p in robot.contact_points if p.effector in robot.feet)
    if not points:
        raise BadInput(
            f"robot {robot.name!r} has no contact points on feet, so it cannot stand; "
            "name `feet` in its robot.yaml."
        )
    return points


def sole_normals(positions: FloatArray, foot: IndexArray, up: FloatArray) -> FloatArray:
    """Return the normal of its sole at each point, (n, 3) in the base frame.

    Args:
        positions: (n, 3) points in the base frame, in m.
        foot: (n,) foot index of each point. A foot whose points span no plane gets
            `up`.
        up: (3,) unit vector against gravity: normals point to its side.
    """
    normals = np.tile(up, (len(positions), 1))
    for number in np.unique(foot):
        of_foot = foot == number
        corners = positions[of_foot]
        normal = fit_sole_plane(corners, corners[0] + up, FLAT)
        if normal is not None:
            normals[of_foot] = normal
    return normals


FRICTION = 0.5
"""Assumed Coulomb coefficient: below the 0.7 of a sole on a hard floor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingProblem:
    """min Σ c T² over f, with B f = h and every force in its cone.

    Forces are ordered (e_1, e_2, n) for each point in turn: two tangents of its sole,
    and the sole's normal away from the ground.
    """

    contact_map: FloatArray
    """(n_joints, 3 n) C in m: joint torque for a unit of force."""
    gravity: FloatArray
    """(n_joints,) g in N·m."""
    base_map: FloatArray
    """(6, 3 n) B: force, and moment about the centre of mass in m."""
    weight: FloatArray
    """(6,) h: N along e_x, e_y, up, then N·m about them."""
    sharing: FloatArray
    """(n_motors, n_joints) S, `Robot.transmission`."""
    inverse_sharing: FloatArray
    """(n_motors, n_joints) Σ with S Σᵀ = 1, `Robot.inverse_transmission`."""
    loss: FloatArray
    """(n_motors,) c in W/(N·m)²; 0 for a motor whose heat is ignored."""
    friction: float = FRICTION
    """μ."""

    @property
    def n_points(self) -> int:
        """Number of contact points."""
        return int(self.contact_map.shape[1] // 3)

    def effort(self, forces: FloatArray) -> FloatArray:
        """Return the joint torques τ = g - C f, (n_joints,), of (n, 3) forces."""
        return np.asarray(self.gravity - self.contact_map @ forces.ravel())

    def motor_effort(self, effort: FloatArray) -> FloatArray:
        """Return T = S τ, (n_motors,), of (n_joints,) joint torques."""
        return np.asarray(self.sharing @ effort)


def joule_loss(robot: Robot, joints: Sequence[str] | None = None) -> FloatArray:
    """Return c = R / K², (n_motors,) in W/(N·m)², K on the joint side.

    Args:
        robot: source of the motor data.
        joints: joints whose motors count, the others get 0; None: the leg joints.
    """
    names = robot.leg_joints if joints is None else joints
    counted = robot.motors_of(names)
    return np.array(
        [
            motor.one_node.resistance / motor.one_node.torque_constant**2
            if m in counted
            else 0.0
            for m, motor in enumerate(robot.motors)
        ]
    )


def build_standing_problem(
    dynamics: Dynamics,
    robot: Robot,
    up: FloatArray,
    points: IndexArray,
    *,
    loss: FloatArray,
    friction: float = FRICTION,
    normals: FloatArray | None = None,
) -> StandingProblem:
    """Build B, C, g and h at the configuration of `dynamics`.

    Args:
        dynamics: updated to the joint angles; its points include the contact points.
        robot: source of the motor data.
        up: (3,) unit vector against gravity, in the base frame.
        points: (n,) the contacts, as indices into the dynamics' points.
        loss: (n_motors,) c, from `joule_loss`, weighted if needed.
        friction: assumed μ.
        normals: (n, 3) normal of the sole at each contact, from `sole_normals`; None:
            `up`, as on level ground.
    """
    axes = np.vstack((plane_axes(up), up))  # rows e_x, e_y, up
    if normals is None:
        normals = np.tile(up, (len(points), 1))
    along = sole_axes(normals)
    weight = np.zeros(6)
    weight[2] = dynamics.mass * GRAVITY
    lever = dynamics.point_positions[points] - dynamics.com
    return StandingProblem(
        contact_map=dynamics.contact_matrix(points, along),
        gravity=dynamics.gravity_term(-GRAVITY * up),
        base_map=base_columns(axes, lever, along),
        weight=weight,
        sharing=robot.transmission,
        inverse_sharing=robot.inverse_transmission,
        loss=loss,
        friction=friction,
    )


@numba.njit(cache=True)
def base_columns(axes: FloatArray, lever: FloatArray, along: FloatArray) -> FloatArray:
    """Return B, (6, 3 n): force, and moment about the centre of mass, by the axes.

    Args:
        axes: (3, 3) rows e_x, e_y, up.
        lever: (n, 3) the points from the centre of mass, in m.
        along: (n, 3, 3) unit vectors d of the forces at each, as rows.
    """
    n = len(lever)
    B = np.empty((6, 3 * n))
    for k in range(n):
        x, y, z = lever[k, 0], lever[k, 1], lever[k, 2]
        for a in range(3):
            d, e, f = along[k, a, 0], along[k, a, 1], along[k, a, 2]
            u, v, w = y * f - z * e, z * d - x * f, x * e - y * d  # lever x d
            for row in range(3):
                p, q, r = axes[row, 0], axes[row, 1], axes[row, 2]
                B[row, 3 * k + a] = p * d + q * e + r * f
                B[3 + row, 3 * k + a] = p * u + q * v + r * w
    return B
