"""A robot that stands: contact forces, the torques they leave over, what those cost.

At rest, with forces f of the ground on the robot at the contact points, the equation of
motion [ES2659053T3 ¶fig.6] leaves in its rows of the base and of the joints

    B f = h,        τ = g - C f,

h the force and moment that carry the weight, g the joints' rows of -M̃(q) G, B and C
the base's and the joints' rows of the transposed contact Jacobian. One motor may drive
several joints, T = S τ, and makes the joule loss

    P = Σ_m c_m T_m²,        c_m = R_m / K_m².

Each force lies in its friction cone about the normal of its sole, ‖f_t‖ <= μ f_n, which
on a slope is not the vertical. Two feet on the ground make h's
six equations of many forces: those left free push the legs against each other, and that
costs P without carrying anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.contact_balance import plane_axes
from controllers.stiffness.dynamics import GRAVITY, Dynamics
from models import BadInput, ContactPoint, Robot

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]

FRICTION = 0.5
"""Coulomb coefficient that is counted on: below the 0.7 of a sole on a hard floor."""
NARROW_M = 1e-3
"""Points that spread less across their longest direction span no plane, in m."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingProblem:
    """min Σ c T² over f, with B f = h and every force in its cone.

    Forces stand as (e_1, e_2, n) for each point in turn: two tangents of its sole, and
    the sole's normal away from the ground.
    """

    contact_map: FloatArray
    """(n_joints, 3 n) C in m: joint torque for a unit of force."""
    gravity: FloatArray
    """(n_joints,) g in N·m."""
    base_map: FloatArray
    """(6, 3 n) B: force, and moment about the centre of mass in m."""
    weight: FloatArray
    """(6,) h: N along e_x, e_y, up, then N·m about them."""
    motor_of_joint: IndexArray
    """(n_joints,)"""
    loss: FloatArray
    """(n_motors,) c in W/(N·m)²; 0 for a motor whose heat does not count."""
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
        return self.over_motors(effort)

    def over_motors(self, rows: FloatArray) -> FloatArray:
        """Return S · rows, (n_motors, ...): those of joints on one motor added up."""
        total = np.zeros((len(self.loss), *rows.shape[1:]))
        np.add.at(total, self.motor_of_joint, rows)
        return total


def sole_points(robot: Robot) -> tuple[ContactPoint, ...]:
    """Return the contact points of the robot's feet, the corners of its soles.

    Raises:
        BadInput: it has none.
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
        foot: (n,) the foot that each belongs to. A foot whose points span no plane gets
            `up`.
        up: (3,) unit vector against gravity: normals point to its side.
    """
    normals = np.tile(up, (len(positions), 1))
    for number in np.unique(foot):
        (of_foot,) = np.nonzero(foot == number)
        spread = positions[of_foot] - positions[of_foot].mean(axis=0)
        _, sizes, axes = np.linalg.svd(spread)
        if len(of_foot) >= 3 and sizes[1] > NARROW_M:
            normals[of_foot] = axes[2] * (1.0 if axes[2] @ up >= 0.0 else -1.0)
    return normals


def joule_loss(robot: Robot, joints: Sequence[str] | None = None) -> FloatArray:
    """Return c = R / K², (n_motors,) in W/(N·m)², K on the joint side.

    Args:
        robot: whose motors.
        joints: those whose motors count, the others get 0; None: those of the legs.
    """
    names = robot.leg_joints if joints is None else joints
    counted = {robot.joints[robot.joint_index(name)].motor for name in names}
    return np.array(
        [
            motor.one_node.resistance / motor.one_node.torque_constant**2
            if motor.name in counted
            else 0.0
            for motor in robot.motors
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
        dynamics: updated to the joint angles; its points hold the contact points.
        robot: whose motors.
        up: (3,) unit vector against gravity, in the base frame.
        points: (n,) the contacts, as places among the dynamics' points.
        loss: (n_motors,) c, as of `joule_loss`, weighted if need be.
        friction: μ that is counted on.
        normals: (n, 3) normal of the sole at each contact, as of `sole_normals`; None:
            `up`, as on level ground.
    """
    axes = np.vstack((plane_axes(up), up))  # (3, 3) rows e_x, e_y, up
    n = len(points)
    along_axes = np.stack([dynamics.contact_matrix(points, e) for e in axes], axis=2)
    B = np.zeros((6, n, 3))
    lever = (dynamics.point_positions[points] - dynamics.com) @ axes.T  # (n, 3)
    x, y, z = lever.T
    B[0, :, 0] = B[1, :, 1] = B[2, :, 2] = 1.0
    B[3, :, 1], B[3, :, 2] = -z, y  # (lever x f) about e_x, e_y, up
    B[4, :, 0], B[4, :, 2] = z, -x
    B[5, :, 0], B[5, :, 1] = -y, x
    C = along_axes  # (n_joints, n, 3)
    if normals is not None:
        # A force (f_1, f_2, f_n) at point k is turn[k] @ f along e_x, e_y, up.
        turn = np.stack(
            [axes @ np.vstack((plane_axes(normal), normal)).T for normal in normals]
        ).reshape(n, 3, 3)
        C = np.einsum("jka,kab->jkb", C, turn)
        B = np.einsum("rka,kab->rkb", B, turn)
    weight = np.zeros(6)
    weight[2] = dynamics.mass * GRAVITY
    return StandingProblem(
        contact_map=C.reshape(dynamics.n_joints, 3 * n),
        gravity=dynamics.gravity_term(-GRAVITY * up),
        base_map=B.reshape(6, 3 * n),
        weight=weight,
        motor_of_joint=robot.motor_of_joint,
        loss=loss,
        friction=friction,
    )
