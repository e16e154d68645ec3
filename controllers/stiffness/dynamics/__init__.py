"""Rigid-body terms of the robot in the frame of its base (steps 620, 640, 670).

The equation of [ES2659053T3 ¶fig.6] in its own notation is

    M̃(q) (Ṫ - G) + N(q, q̇) T = L τ + Cᵗ(q) W,      M̃(q) = Cᵗ(q) M C(q),

T = [base velocity (linear, angular); q̇], G the gravity acceleration in the same
coordinates, L = [0; I], W the forces of the world **on** the robot. M holds one
constant 6 x 6 inertia per body and is read from the URDF once, when the robot is built.

Everything is expressed in the base frame: the base is at the origin, not rotated, and
the gravity vector is rotated instead. So no result depends on the position or the
heading of the robot, which none of its sensors measures. A point k with position r_k in
the frame of its body is at

    p_k = o + r_x e_x + r_y e_y + r_z e_z,

o being the origin of the body and e_x, e_y, e_z its axes.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from weakref import WeakKeyDictionary

import numba
import numpy as np
import pinocchio as pin
from numpy.lib.stride_tricks import as_strided

from nao_testbed.controllers.stiffness.kernels import (
    IndexArray,
    contact_matrix,
    contact_term,
    gravity_term,
)
from nao_testbed.models import BadInput, ContactPoint, ForceSensor, Robot, UnknownName
from nao_testbed.models.load.plain_urdf import plain_urdf
from nao_testbed.models.load.shapes import package_folders
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class ExternalLoad:
    """Known vertical force on one point of the body."""

    name: str
    link: str
    """Link on which the force acts."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Point of application in the link frame, in m."""
    upward_newton: float
    """Force on the robot in N, along the vertical; a carried weight is negative."""

    def __post_init__(self) -> None:
        if not all(map(isfinite, (*self.position, self.upward_newton))):
            raise BadInput(
                f"load {self.name!r}: force {self.upward_newton} N at {self.position}; "
                "give finite numbers."
            )


BodyPoint = ContactPoint | ForceSensor | ExternalLoad
"""A named point fixed to a link."""


def view_placements(model: pin.Model, data: pin.Data) -> FloatArray:
    """Return the placements of all bodies as one view into Pinocchio's memory.

    Pinocchio stores them contiguously, each as four vectors. Copying them one by one
    would cost more than computing them. The view is valid as long as `data`.

    Returns:
        (njoints, 4, 3) axes e_x, e_y, e_z and origin o [m] of each body.

    Raises:
        RuntimeError: this Pinocchio version uses another memory layout.
    """
    first = data.oMi[0].rotation
    size = first.itemsize
    view = as_strided(first, (model.njoints, 4, 3), (12 * size, 3 * size, size))
    for body, placement in enumerate(data.oMi):
        axes, origin = placement.rotation.T, placement.translation
        same = _is_same_memory(view[body, :3], axes)
        if not (same and _is_same_memory(view[body, 3], origin)):
            raise RuntimeError(
                "This version of Pinocchio keeps placements in an order that "
                "this module does not read; install the version of requirements.lock."
            )
    return view


def _is_same_memory(a: FloatArray, b: FloatArray) -> bool:
    return a.ctypes.data == b.ctypes.data and a.strides == b.strides


@numba.njit(cache=True)
def place_points(
    placements: FloatArray, body_of_point: IndexArray, local: FloatArray
) -> FloatArray:
    """Return the positions p_k, (n_points, 3) in m.

    Args:
        placements: (n_bodies, 4, 3) from `view_placements`.
        body_of_point: (n_points,) the body of each point.
        local: (n_points, 3) positions r_k in m.
    """
    position = np.empty(local.shape)
    for k in range(len(local)):
        e = placements[body_of_point[k]]
        x, y, z = local[k, 0], local[k, 1], local[k, 2]
        for i in range(3):
            position[k, i] = e[3, i] + (x * e[0, i] + y * e[1, i] + z * e[2, i])
    return position


GRAVITY = 9.81
"""Acceleration of gravity in m/s²."""
ROOT_JOINT = 1
"""Pinocchio's index of the joint between world and base; 0 is the world."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RobotMotion:
    """Motion of joints, and of the base as an IMU measures it; base frame.

    The equations of motion are the same for every observer in uniform motion, so the
    linear velocity of the base is not needed.
    """

    v: FloatArray
    """(n_joints,) in rad/s."""
    a: FloatArray
    """(n_joints,) in rad/s²."""
    proper_acceleration: FloatArray
    """(3,) acceleration of the base origin minus gravity, in m/s²; +g up at rest."""
    angular_velocity: FloatArray
    """(3,) in rad/s."""
    angular_acceleration: FloatArray
    """(3,) in rad/s²."""


_MODELS: WeakKeyDictionary[Robot, pin.Model] = WeakKeyDictionary()


def build_model(robot: Robot) -> pin.Model:
    """Return a copy of Pinocchio's floating-base model; coupled joints stay separate.

    Raises:
        BadInput: Pinocchio cannot use the URDF.
    """
    if robot not in _MODELS:
        _MODELS[robot] = _parse_model(robot)
    return _MODELS[robot].copy()


def _parse_model(robot: Robot) -> pin.Model:
    try:
        return pin.buildModelFromXML(
            _urdf_text(robot), pin.JointModelFreeFlyer(), mimic=False
        )
    except ValueError as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise BadInput(
            f"Pinocchio rejects {robot.urdf} ({said}; see also above); correct it."
        ) from error


def _urdf_text(robot: Robot) -> str:
    """Return the URDF in the form that engines read.

    Pinocchio's own reader does not support entities. If a line ends between two
    numbers, it omits a mass or a shape without an error.
    """
    return ET.tostring(plain_urdf(robot.urdf), encoding="unicode")


def build_shapes(robot: Robot, model: pin.Model) -> pin.GeometryModel:
    """Return the collision shapes of a robot for its model.

    Raises:
        BadInput: a mesh of its URDF cannot be read.
    """
    try:
        return pin.buildGeomFromUrdfString(
            model,
            _urdf_text(robot),
            pin.GeometryType.COLLISION,
            package_dirs=package_folders(robot.urdf),
        )
    except ValueError as error:
        raise BadInput(f"{robot.urdf}: {str(error).splitlines()[0]}.") from error


class Dynamics:
    """Rigid-body terms of one robot at one configuration.

    Built once per robot. `update(q)` sets the configuration; the other methods evaluate
    it. Coupled joints (the two hip yaw-pitch joints of a NAO) stay separate degrees of
    freedom; `stiffness_law.py` combines them.
    """

    def __init__(self, robot: Robot, points: Sequence[BodyPoint] = ()) -> None:
        """Read the URDF of `robot`; `points` are the points to be tracked."""
        self._model = build_model(robot)
        self._data = self._model.createData()
        joints = [self._joint_id(name, robot) for name in robot.joint_names]
        self._iq: IndexArray = np.array([self._model.idx_qs[j] for j in joints])
        self._iv: IndexArray = np.array([self._model.idx_vs[j] for j in joints])
        self._q: FloatArray = pin.neutral(self._model)
        self.n_joints = len(joints)
        self.mass: float = float(pin.computeTotalMass(self._model))

        self._turn_in_base: dict[str, FloatArray] = {}
        body_of_point, local = self._attach(points)
        self._body_of_point = body_of_point  # (n_points,) into the placements below
        self._local = local  # (n_points, 3)
        # Views into Pinocchio's data, which change with every update.
        self._placements = view_placements(self._model, self._data)
        self._J: FloatArray = self._data.J  # (6, nv)
        self._centre: FloatArray = self._data.com[0]  # (3,)
        supports = self._model.supports
        bodies = body_of_point.tolist()
        carries = [[j in supports[b] for b in bodies] for j in joints]
        shape = len(joints), len(points)  # `points` may be empty
        self._carries: FloatArray = np.array(carries, dtype=np.float64).reshape(shape)
        # 1 where joint i carries point k, else 0
        self.update(np.zeros(self.n_joints))

    def carry(self, link: str, mass_kg: float, place: FloatArray) -> None:
        """Add a point mass to a link from the next `update` on.

        Args:
            link: link of the robot.
            mass_kg: mass in kg.
            place: (3,) in the link's frame, in m.
        """
        frame = self._model.frames[self._frame_id(link)]
        mass = pin.Inertia(mass_kg, place, np.zeros((3, 3)))
        self._model.appendBodyToJoint(frame.parentJoint, mass, frame.placement)
        self.mass += mass_kg

    def update(self, q: FloatArray) -> None:
        """Set the configuration to the joint angles `q`, (n_joints,) in rad."""
        self._q[self._iq] = q
        # One call: J_com, the centre of mass, J of all joints, and the placements.
        self._J_com = pin.jacobianCenterOfMass(self._model, self._data, self._q)
        self._com = self._centre.copy()
        self._position: FloatArray = place_points(
            self._placements, self._body_of_point, self._local
        )

    @property
    def com(self) -> FloatArray:
        """(3,) centre of mass in the base frame, in m."""
        return self._com

    @property
    def point_positions(self) -> FloatArray:
        """(n_points, 3) positions of the points in the base frame, in m."""
        return self._position

    @property
    def carries(self) -> FloatArray:
        """(n_joints, n_points) 1 where a joint moves a point, else 0."""
        return self._carries

    def joint_axes(self) -> tuple[FloatArray, FloatArray]:
        """Return the point of each joint's axis nearest to the base origin, and axes.

        Returns:
            (n_joints, 3) in m and (n_joints, 3) unit vectors, in the base frame.
        """
        linear, a = self._J[:3, self._iv].T, self._J[3:, self._iv].T
        return np.cross(a, linear), a.copy()

    def link_rotation(self, link: str) -> FloatArray:
        """Return R_BL, (3, 3), which rotates vectors from a link frame to the base."""
        turn = self._turn_in_base.get(link)
        if turn is not None:
            return turn
        frame = self._model.frames[self._frame_id(link)]
        placement = self._data.oMi[frame.parentJoint] * frame.placement
        turn = np.array(placement.rotation)
        if frame.parentJoint == ROOT_JOINT:  # fixed to the base: the same for every q
            turn.setflags(write=False)
            self._turn_in_base[link] = turn
        return turn

    def gravity_term(self, gravity: FloatArray) -> FloatArray:
        """Return the joint rows of -M̃(q) G, step 640.

        These torques hold the robot against gravity with its base fixed.

        Args:
            gravity: (3,) gravity acceleration in the base frame, in m/s²; downward.

        Returns:
            (n_joints,) in N·m.
        """
        return gravity_term(self._J_com, self._iv, self.mass, gravity)

    def contact_matrix(self, points: IndexArray, along: FloatArray) -> FloatArray:
        """Return the columns of Cᵗ(q) for unit forces, step 670.

        With J_i = [linear; angular] the motion of the robot about the base origin that
        joint i causes, and w = [d; p_k x d] the wrench of a unit force along d at p_k,
        an entry is J_i · w where joint i carries point k, otherwise 0.

        Args:
            points: (n,) indices of the points.
            along: (n, d, 3) unit vectors in the base frame, d for each of the points.

        Returns:
            (n_joints, n d) in m: joint torque per N, point after point.
        """
        return contact_matrix(
            self._J, self._iv, self._carries, self._position, points, along
        )

    def contact_term(
        self, points: IndexArray, up: FloatArray, forces: FloatArray
    ) -> FloatArray:
        """Return Cᵗ(q) W for forces along `up`, steps 670 and 680 in one.

        Args:
            points: (n,) indices of the points.
            up: (3,) unit vector in the base frame.
            forces: (n,) in N: forces of the world on the robot at those points.

        Returns:
            (n_joints,) in N·m, equal to `contact_matrix` times the forces.
        """
        return contact_term(
            self._J, self._iv, self._carries, self._position, points, up, forces
        )

    def inverse_dynamics(self, motion: RobotMotion) -> tuple[FloatArray, FloatArray]:
        """Return M̃(q) (Ṫ - G) + N(q, q̇) T, the left side of the full model.

        Gravity needs no separate term: an accelerometer measures Ṫ - G at its position.

        Returns:
            (6,) the base rows [force; moment about the base origin] in N, N·m, and
            (n_joints,) the joint rows in N·m.
        """
        T, T_dot = np.zeros(self._model.nv), np.zeros(self._model.nv)
        T[3:6], T[self._iv] = motion.angular_velocity, motion.v
        T_dot[:3], T_dot[3:6] = motion.proper_acceleration, motion.angular_acceleration
        T_dot[self._iv] = motion.a
        self._model.gravity.linear = np.zeros(3)
        left = pin.rnea(self._model, self._data, self._q, T, T_dot)
        return left[:6].copy(), np.asarray(left[self._iv])

    def inertia_matrix(self) -> FloatArray:
        """Return M̃(q), (6 + n_joints, 6 + n_joints): base rows, then joint rows."""
        M = np.array(pin.crba(self._model, self._data, self._q))
        M = np.triu(M) + np.triu(M, 1).T
        order = np.concatenate((np.arange(6), self._iv))
        return np.asarray(M[np.ix_(order, order)])

    def body_inertias(self) -> FloatArray:
        """Return the constant diagonal blocks of M, (n_bodies, 6, 6).

        Each is [m I₃, 0; 0, I_c]: mass, and inertia about the body's own centre of mass
        in its own axes. Rigidly joined bodies count as one; the first is the root.
        """
        blocks = np.zeros((self._model.njoints - 1, 6, 6))
        for block, inertia in zip(blocks, self._model.inertias[1:], strict=True):
            block[:3, :3] = inertia.mass * np.eye(3)
            block[3:, 3:] = inertia.inertia
        return blocks

    def kinematic_jacobian(self) -> FloatArray:
        """Return C(q), (6 n_bodies, 6 + n_joints): body velocities from T.

        Six rows per body, in the order of `body_inertias`: velocity of its centre of
        mass and angular velocity, both in its own axes.
        """
        order = np.concatenate((np.arange(6), self._iv))
        rows = []
        for j in range(1, self._model.njoints):
            C = pin.getJointJacobian(self._model, self._data, j, pin.LOCAL)
            lever = pin.SE3(np.eye(3), self._model.inertias[j].lever)
            rows.append(lever.inverse().action @ C)
        return np.asarray(np.vstack(rows)[:, order])

    def _attach(self, points: Sequence[BodyPoint]) -> tuple[IndexArray, FloatArray]:
        """Convert the points from link frames to frames of the moving bodies.

        Returns:
            (n_points,) the joint that moves each point, and (n_points, 3) its position
            in that joint's frame, in m.
        """
        body_of_point, local = [], []
        for point in points:
            frame = self._model.frames[self._frame_id(point.link)]
            body_of_point.append(frame.parentJoint)
            local.append(frame.placement.act(np.array(point.position)))
        return (
            np.array(body_of_point, dtype=np.intp),
            np.array(local, dtype=np.float64).reshape(len(points), 3),
        )

    def _frame_id(self, link: str) -> int:
        if not self._model.existFrame(link, pin.BODY):
            known = [f.name for f in self._model.frames if f.type == pin.BODY]
            raise UnknownName("Link", link, known, "the URDF")
        return int(self._model.getFrameId(link, pin.BODY))

    def _joint_id(self, name: str, robot: Robot) -> int:
        if not self._model.existJointName(name):
            raise UnknownName(
                "Joint", name, list(self._model.names)[2:], str(robot.urdf)
            )
        return int(self._model.getJointId(name))
