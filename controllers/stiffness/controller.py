"""The stiffness controller: both logics of the document in one step (310 and 320).

Engine-free and clock-free: it reads an `Observation`, returns `Limits`, and leaves a
`StiffnessReport` of how it came to them. Usable on any robot that is described by a
`Robot` (ST-26); in NAOqi's words, it is what the motion module does between reading the
shared memory and writing to the device manager (ST-22).
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from controllers.errors import SensorError
from controllers.robot_interface import Limits, Observation
from controllers.stiffness.contact_forces import (
    ContactForceCfg,
    ContactSolution,
    build_contact_problem,
    solve_contact_problem,
)
from controllers.stiffness.contacts import ContactCfg, ContactDetector
from controllers.stiffness.dynamics import GRAVITY, BodyPoint, Dynamics
from controllers.stiffness.flags import DEGENERATE_CONTACTS, StiffnessFlag, flag_names
from controllers.stiffness.gravity_filter import GravityFilter
from controllers.stiffness.ground_plane import (
    GroundPlane,
    GroundPlaneCfg,
    GroundPlaneJudge,
    VerticalSource,
    fit_sole_plane,
)
from controllers.stiffness.joint_torques import JointTorques, joint_torques
from controllers.stiffness.loads import ExternalLoad
from controllers.stiffness.motion import MotionCfg, MotionEstimator
from controllers.stiffness.offset import OffsetContext, OffsetLaw, PostureOffset
from controllers.stiffness.policy import (
    DocumentPolicy,
    PostureTuning,
    StiffnessPolicy,
)
from controllers.stiffness.postures import PostureCfg, PostureMatcher
from controllers.stiffness.stiffness import StiffnessLaw
from models import BadInput, Posture, Robot

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# As plain integers: sums of enumeration members are slow.
_DEGENERATE = int(DEGENERATE_CONTACTS)
_CONTRADICTED = int(StiffnessFlag.POSTURE_CONTRADICTED)
_WIDENED = int(StiffnessFlag.CONTACTS_WIDENED)


@dataclass(frozen=True, kw_only=True)
class SmartStiffnessCfg:
    """Everything that can be chosen about the controller; defaults: the document's."""

    name: str = "smart"
    """Name of the controller in tables and run folders."""
    model: Literal["simplified", "full"] = "simplified"
    """`simplified`: gravity and contacts (ST-6). `full`: accelerations, Coriolis and
    centrifugal terms too (ST-5)."""
    add_friction: bool = False
    """Add the joint's Coulomb friction to |τ|: the motor must overcome it to move;
    else the offset stands for it."""
    ground: GroundPlaneCfg = field(default_factory=GroundPlaneCfg)
    contacts: ContactCfg = field(default_factory=ContactCfg)
    postures: PostureCfg = field(default_factory=PostureCfg)
    forces: ContactForceCfg = field(default_factory=ContactForceCfg)
    motion: MotionCfg = field(default_factory=MotionCfg)
    offset: OffsetLaw = field(default_factory=PostureOffset)
    """Give each controller its own: a law may keep state."""
    policy: StiffnessPolicy = field(default_factory=DocumentPolicy)
    """Likewise."""

    def __post_init__(self) -> None:
        """Refuse an unknown model."""
        if self.model not in ("simplified", "full"):
            raise BadInput(f"model {self.model!r}; give 'simplified' or 'full'.")


@dataclass(frozen=True, kw_only=True, slots=True)
class StiffnessReport:
    """How one step came to its stiffness; arrays are not to be written to."""

    time_s: float
    flags: int
    """`StiffnessFlag` bits; `flag_names(report.flags)` spells them out."""
    plane: GroundPlane
    posture: str | None
    """The closest typical posture, if there is one."""
    contact_names: tuple[str, ...]
    """Names of the contact points."""
    contact_forces: FloatArray
    """(n_contacts,) normal forces in N."""
    com: FloatArray
    """(3,) centre of mass in the base frame, in m."""
    torques: JointTorques
    offset: FloatArray
    """(n_joints,) or () the offset."""
    computed: FloatArray
    """(n_joints,) stiffness of step 320, before the policy."""
    stiffness: FloatArray
    """(n_joints,) stiffness returned."""

    @property
    def gravity_source(self) -> VerticalSource:
        """Which vertical was used."""
        return self.plane.source


class SmartStiffness:
    """Sets each joint's torque limit to what equilibrium needs, plus an offset.

    `reset(robot)` once, then `step(observation)` every 20 ms. At run time a user may
    set `enabled` and `user_stiffness`, and call `tune` and `set_loads`.
    """

    def __init__(self, cfg: SmartStiffnessCfg | None = None) -> None:
        """Keep the configuration; nothing is known of a robot yet."""
        self.cfg = cfg or SmartStiffnessCfg()
        self.name = self.cfg.name
        self.enabled = True
        """Switch (ST-20): off, the user's stiffness is in force."""
        self._tunings: dict[str, PostureTuning] = {}
        self._robot: Robot | None = None
        self.report: StiffnessReport | None = None
        """Of the last step."""
        self._counts: Counter[int] = Counter()

    def reset(self, robot: Robot) -> None:
        """Build everything that depends on `robot` and forget the past.

        Raises:
            BadInput: the configuration does not fit the robot.
        """
        cfg = self.cfg
        self._robot = robot
        candidates = robot.contact_points
        self._point_names = tuple(point.name for point in candidates)
        self._is_foot = np.array([p.effector in robot.feet for p in candidates])
        n_candidates, n_sensors = len(candidates), len(robot.force_sensors)
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
        self._friction = np.array([joint.friction for joint in robot.joints])
        self._law = StiffnessLaw(robot)
        cfg.offset.reset(robot)
        cfg.policy.reset(robot)
        self._user = np.ones(len(robot.joints))
        self._time: float | None = None
        self.set_loads()
        self.report = None
        self._counts = Counter()

    @property
    def user_stiffness(self) -> FloatArray:
        """(n_joints,) the user's stiffness in [0, 1]: 1 everywhere unless set."""
        return self._user.copy()

    @user_stiffness.setter
    def user_stiffness(self, stiffness: FloatArray | float) -> None:
        value = np.broadcast_to(np.asarray(stiffness, dtype=float), self._user.shape)
        if not ((value >= 0.0) & (value <= 1.0)).all():
            raise BadInput(f"user stiffness {stiffness}; give values from 0 to 1.")
        self._user = value.copy()

    def tune(self, posture: str, tuning: PostureTuning | None) -> None:
        """Change the stiffness in one posture; None takes the change back (ST-20).

        Raises:
            UnknownName: the robot has no such posture.
        """
        if self._robot is not None:
            self._robot.posture(posture)
        if tuning is None:
            self._tunings.pop(posture, None)
        else:
            self._tunings[posture] = tuning

    def set_loads(self, *loads: ExternalLoad) -> None:
        """Take vertical forces of the world into account (ST-16); none: neglect them.

        Raises:
            UnknownName: the robot has no such link.
        """
        robot = self._require_robot()
        points: list[BodyPoint] = [*robot.contact_points, *robot.force_sensors, *loads]
        self._dynamics = Dynamics(robot, points)
        first = self._sensors.stop
        self._loads: IndexArray = np.arange(first, first + len(loads))
        self._load_forces = np.array([load.upward_newton for load in loads])

    @property
    def flag_counts(self) -> Counter[str]:
        """How many steps since `reset` raised each flag, by name."""
        counts: Counter[str] = Counter()
        for flags, steps in self._counts.items():
            for name in flag_names(flags):
                counts[name] += steps
        return counts

    def step(self, observation: Observation) -> Limits:
        """Return the stiffness that holds until the next call.

        Raises:
            SensorError: a sensor value that is used is not finite.
        """
        robot = self._require_robot()
        _check_finite(observation)
        dt = 0.0 if self._time is None else max(0.0, observation.time_s - self._time)
        self._time = observation.time_s
        dynamics = self._dynamics
        dynamics.update(observation.q)  # 620
        plane = self._find_plane(robot, observation)  # 610, 630
        posture = self._matcher.closest(observation.q)
        left = self._left_side(observation, plane.up)  # 640
        touching = self._detector.detect(  # 650
            dynamics.point_positions[self._candidates], plane.up, observation.fsr
        )
        contacts, solution = self._balance(touching, posture, left, plane.up)  # 660
        torques = self._torques(left, contacts, solution, plane.up)  # 670 to 690
        flags = plane.flags | solution.flags

        share = self._law.share_of_limit(  # 320
            np.abs(torques.tau) + self._friction
            if self.cfg.add_friction
            else torques.tau
        )
        offset = self.cfg.offset.step(
            OffsetContext(
                dt_s=dt,
                posture=posture,
                is_foot_on_ground=bool(self._is_foot[contacts].any()),
                joint_temperature=observation.temperature[robot.motor_of_joint],
            )
        )
        computed, is_clipped = self._law.stiffness(share, offset)
        if is_clipped:
            flags |= int(StiffnessFlag.CLIPPED)
        tuning = self._tunings.get(posture.name) if posture and self._tunings else None
        if tuning is not None:
            computed = tuning.apply(computed)
        stiffness, policy_flags = self.cfg.policy.step(
            computed, self._user, observation
        )
        flags |= policy_flags
        if not self.enabled:
            stiffness = self._user.copy()
            flags |= int(StiffnessFlag.DISABLED)

        self._counts[flags] += 1
        self.report = StiffnessReport(
            time_s=observation.time_s,
            flags=flags,
            plane=plane,
            posture=posture.name if posture else None,
            contact_names=tuple(self._point_names[i] for i in contacts.tolist()),
            contact_forces=solution.forces,
            com=dynamics.com,
            torques=torques,
            offset=np.asarray(offset),
            computed=computed,
            stiffness=stiffness,
        )
        return Limits(stiffness=stiffness.copy())

    def _find_plane(self, robot: Robot, observation: Observation) -> GroundPlane:
        """Steps 610 and 630: the vertical, with its cross-check."""
        up = self._vertical.step(
            observation.time_s, observation.gyro, observation.accelerometer
        )
        if robot.imu.link != robot.base_link:
            up = self._dynamics.link_rotation(robot.imu.link) @ up
        cfg = self.cfg.ground
        sensors = self._dynamics.point_positions[self._sensors]
        pressed = sensors[observation.fsr >= cfg.pressed_newton]
        sole_up = fit_sole_plane(pressed, self._dynamics.com, cfg)
        return self._judge.judge(up, self._vertical.is_trusted, sole_up)

    def _left_side(self, observation: Observation, up: FloatArray) -> "_LeftSide":
        """Step 640: what contacts and motors must provide together."""
        dynamics = self._dynamics
        if self._motion is None:
            return _LeftSide(
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
            centre = (np.cross(up, moment) + ground * along) / weight
        return _LeftSide(joints=joints, weight=weight, centre=centre)

    def _balance(
        self,
        touching: NDArray[np.bool_],
        posture: Posture | None,
        left: "_LeftSide",
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
        self, contacts: IndexArray, left: "_LeftSide", up: FloatArray
    ) -> ContactSolution:
        """Step 660: normal forces at the contacts."""
        position = self._dynamics.point_positions
        problem = build_contact_problem(
            position[contacts],
            left.centre,
            up,
            weight=left.weight,
            cfg=self.cfg.forces,
            load_points=position[self._loads] if len(self._loads) else None,
            load_forces=self._load_forces if len(self._loads) else None,
        )
        return solve_contact_problem(problem)

    def _torques(
        self,
        left: "_LeftSide",
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

    def _require_robot(self) -> Robot:
        if self._robot is None:
            raise BadInput("The controller has no robot yet; call reset(robot) first.")
        return self._robot


@dataclass(frozen=True, kw_only=True, slots=True)
class _LeftSide:
    """The left side of the equation of motion, as the other steps need it."""

    joints: FloatArray
    """(n_joints,) joint rows in N·m."""
    weight: float
    """Vertical force that the ground must give, in N; m g at rest."""
    centre: FloatArray
    """(3,) point that must lie over the support: the centre of mass at rest."""


def _armature(robot: Robot) -> FloatArray:
    """Return the rotor inertia at each joint, (n_joints,) in kg·m²; shared evenly."""
    motors = [robot.motors[i] for i in robot.motor_of_joint]
    return np.array([motor.armature / len(motor.joints) for motor in motors])


def _check_finite(observation: Observation) -> None:
    """Raise `SensorError` where a sensor value is not finite."""
    fields = ("q", "v", "gyro", "accelerometer", "fsr", "temperature")
    values = [getattr(observation, name) for name in fields]
    together = np.concatenate(values)
    if isfinite(together @ together):  # NaN and inf go through
        return
    for name, value in zip(fields, values, strict=True):
        for index in np.flatnonzero(~np.isfinite(value)):
            raise SensorError(name, int(index), float(value[index]), observation.time_s)
