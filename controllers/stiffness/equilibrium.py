"""First logic (310): joint torques from equilibrium, steps 610 to 690 in turn.

One class holds what the steps share: the robot's dynamics at the present angles, and
the little memory of filters and sensor states.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controllers.robot_interface import Observation
from controllers.stiffness.config import SmartStiffnessCfg
from controllers.stiffness.contact_forces import (
    ContactSolution,
    build_contact_problem,
    solve_contact_problem,
)
from controllers.stiffness.contacts import ContactDetector
from controllers.stiffness.dynamics import GRAVITY, BodyPoint, Dynamics
from controllers.stiffness.flags import DEGENERATE_CONTACTS, StiffnessFlag
from controllers.stiffness.gravity_filter import GravityFilter
from controllers.stiffness.ground_plane import (
    GroundPlane,
    GroundPlaneJudge,
    fit_sole_plane,
)
from controllers.stiffness.joint_torques import JointTorques, joint_torques
from controllers.stiffness.loads import ExternalLoad
from controllers.stiffness.motion import MotionEstimator
from controllers.stiffness.postures import PostureMatcher
from controllers.stiffness.vectors import cross
from models import Posture, Robot

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]

# As plain integers: sums of enumeration members are slow.
_DEGENERATE = int(DEGENERATE_CONTACTS)
_CONTRADICTED = int(StiffnessFlag.POSTURE_CONTRADICTED)
_WIDENED = int(StiffnessFlag.CONTACTS_WIDENED)


@dataclass(frozen=True, kw_only=True, slots=True)
class LeftSide:
    """The left side of the equation of motion, as the other steps need it (640)."""

    joints: FloatArray
    """(n_joints,) joint rows in N·m."""
    weight: float
    """Vertical force that the ground must give, in N; m g at rest."""
    centre: FloatArray
    """(3,) point that must lie over the support: the centre of mass at rest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Equilibrium:
    """What the first logic finds at one instant."""

    plane: GroundPlane
    posture: Posture | None
    """The closest typical posture, if there is one."""
    contacts: IndexArray
    """(n_contacts,) places among the robot's contact points."""
    forces: FloatArray
    """(n_contacts,) normal forces in N."""
    com: FloatArray
    """(3,) centre of mass in the base frame, in m."""
    torques: JointTorques
    flags: int
    """`StiffnessFlag` bits."""


class EquilibriumLogic:
    """Finds the joint torques that keep one robot in equilibrium."""

    def __init__(self, robot: Robot, cfg: SmartStiffnessCfg) -> None:
        """Prepare for `robot`; nothing is known of its state yet.

        Raises:
            BadInput: the configuration does not fit the robot.
        """
        self._robot = robot
        self._cfg = cfg
        n_candidates, n_sensors = len(robot.contact_points), len(robot.force_sensors)
        self._candidates = slice(0, n_candidates)  # places among the dynamics' points
        self._sensors = slice(n_candidates, n_candidates + n_sensors)
        self._vertical = GravityFilter(cfg.ground.filter)
        self._judge = GroundPlaneJudge(cfg.ground)
        self._detector = ContactDetector(robot, cfg.contacts)
        self._matcher = PostureMatcher(robot, cfg.postures)
        self._motion = (
            MotionEstimator(robot, cfg.motion) if cfg.model == "full" else None
        )
        self._armature = _armature(robot)
        self.set_loads(())

    def set_loads(self, loads: Sequence[ExternalLoad]) -> None:
        """Take vertical forces of the world into account (ST-16).

        Raises:
            UnknownName: the robot has no such link.
        """
        robot = self._robot
        points: list[BodyPoint] = [*robot.contact_points, *robot.force_sensors, *loads]
        self._dynamics = Dynamics(robot, points)
        first = self._sensors.stop
        self._loads: IndexArray = np.arange(first, first + len(loads))
        self._load_forces = np.array([load.upward_newton for load in loads])

    def solve(self, observation: Observation) -> Equilibrium:
        """Return the equilibrium at `observation`, whose values are finite."""
        dynamics = self._dynamics
        dynamics.update(observation.q)  # 620
        plane = self._find_plane(observation)  # 610, 630
        left = self._left_side(observation, plane.up)  # 640
        posture = self._matcher.closest(observation.q)
        touching = self._detector.detect(  # 650
            dynamics.point_positions[self._candidates], plane.up, observation.fsr
        )
        contacts, solution = self._balance(touching, posture, left, plane.up)  # 660
        torques = self._torques(left, contacts, solution, plane.up)  # 670 to 690
        return Equilibrium(
            plane=plane,
            posture=posture,
            contacts=contacts,
            forces=solution.forces,
            com=dynamics.com,
            torques=torques,
            flags=plane.flags | solution.flags,
        )

    def _find_plane(self, observation: Observation) -> GroundPlane:
        """Steps 610 and 630: the vertical, with its cross-check."""
        up = self._vertical.step(
            observation.time_s, observation.gyro, observation.accelerometer
        )
        robot = self._robot
        if robot.imu.link != robot.base_link:
            up = self._dynamics.link_rotation(robot.imu.link) @ up
        cfg = self._cfg.ground
        sensors = self._dynamics.point_positions[self._sensors]
        pressed = sensors[observation.fsr >= cfg.pressed_newton]
        sole_up = fit_sole_plane(pressed, self._dynamics.com, cfg)
        return self._judge.judge(up, self._vertical.is_trusted, sole_up)

    def _left_side(self, observation: Observation, up: FloatArray) -> LeftSide:
        """Step 640: what contacts and motors must provide together."""
        dynamics = self._dynamics
        if self._motion is None:
            return LeftSide(
                joints=dynamics.gravity_term(-GRAVITY * up),
                weight=dynamics.mass * GRAVITY,
                centre=dynamics.com,
            )
        motion = self._motion.step(observation, up)
        base, joints = dynamics.inverse_dynamics(motion.v, motion.a, motion.base)
        joints += self._armature * motion.a
        force, moment = base[:3], base[3:]
        weight = float(force @ up)
        centre = dynamics.com
        if weight > 0.0:
            # The point of the ground about which the moment has no part in the plane:
            # up x (moment - p x force) = 0 with up · p = ground.
            ground = float((dynamics.point_positions[self._candidates] @ up).min())
            along = force - weight * up
            centre = (cross(up, moment) + ground * along) / weight
        return LeftSide(joints=joints, weight=weight, centre=centre)

    def _balance(
        self,
        touching: BoolArray,
        posture: Posture | None,
        left: LeftSide,
        up: FloatArray,
    ) -> tuple[IndexArray, ContactSolution]:
        """Steps 650 (filter) and 660: contacts in use, and their forces.

        Where these contacts cannot balance the robot, others are tried in turn: those a
        little higher above the virtual plane, then those not on the posture's list (a
        robot that fell over keeps the angles of its posture), then both. The first that
        can are used, with a flag; else the first list stands, with its own flags.
        """
        listed = self._matcher.listed(posture)
        (contacts,) = (touching & listed).nonzero()
        solution = self._solve_forces(contacts, left, up)
        if not solution.flags & _DEGENERATE or not touching.any():
            return contacts, solution
        wider = self._detector.widen()
        tries = [(touching, _CONTRADICTED)]
        if wider is not None:
            tries.insert(0, (wider & listed, _WIDENED))
            tries.append((wider, _WIDENED | _CONTRADICTED))
        for allowed, flag in tries:
            (others,) = allowed.nonzero()
            if len(others) > len(contacts):
                answer = self._solve_forces(others, left, up)
                if not answer.flags & _DEGENERATE:
                    return others, replace(answer, flags=answer.flags | flag)
        if not len(contacts):
            (contacts,) = touching.nonzero()
            answer = self._solve_forces(contacts, left, up)
            solution = replace(answer, flags=answer.flags | _CONTRADICTED)
        return contacts, solution

    def _solve_forces(
        self, contacts: IndexArray, left: LeftSide, up: FloatArray
    ) -> ContactSolution:
        """Step 660: normal forces at the contacts."""
        position = self._dynamics.point_positions
        problem = build_contact_problem(
            position[contacts],
            left.centre,
            up,
            weight=left.weight,
            cfg=self._cfg.forces,
            load_points=position[self._loads] if len(self._loads) else None,
            load_forces=self._load_forces if len(self._loads) else None,
        )
        return solve_contact_problem(problem)

    def _torques(
        self,
        left: LeftSide,
        contacts: IndexArray,
        solution: ContactSolution,
        up: FloatArray,
    ) -> JointTorques:
        """Steps 670 to 690: joint torques from contacts and known loads."""
        points, W = contacts, solution.forces
        if len(self._loads):
            points = np.concatenate((contacts, self._loads))
            W = np.concatenate((W, self._load_forces))
        Ct = self._dynamics.contact_matrix(points, up)
        return joint_torques(left.joints, Ct, W)


def _armature(robot: Robot) -> FloatArray:
    """Return the rotor inertia at each joint, (n_joints,) in kg·m²; shared evenly."""
    motors = [robot.motors[i] for i in robot.motor_of_joint]
    return np.array([motor.armature / len(motor.joints) for motor in motors])
