"""First logic (310): joint torques from equilibrium, steps 610 to 690 in order.

`SmartStiffnessCfg` holds all options of both logics. `EquilibriumLogic` holds the state
that the steps share: the robot's dynamics at the present angles, the filters and the
sensor states.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

import numpy as np

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.interface.controller import require_finite
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.contact_forces import (
    ContactForceCfg,
    balance,
    balance_equation,
    build_contact_problem,
    plane_axes,
    solve_contact_problem,
)
from nao_testbed.controllers.stiffness.contacts import (
    ContactCfg,
    ContactDetector,
    ContactForces,
    PostureCfg,
    PostureMatcher,
    choose_contacts,
)
from nao_testbed.controllers.stiffness.dynamics import (
    GRAVITY,
    BodyPoint,
    Dynamics,
    ExternalLoad,
)
from nao_testbed.controllers.stiffness.dynamics.disturbance import (
    DisturbanceCfg,
    DisturbanceEstimator,
)
from nao_testbed.controllers.stiffness.dynamics.equation_of_motion import (
    JointTorques,
    LeftSide,
    MotionCfg,
    MotionEstimator,
    armature_at_joints,
    left_side_at_rest,
    left_side_in_motion,
)
from nao_testbed.controllers.stiffness.flags import StiffnessFlag
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilter,
    GroundPlane,
    GroundPlaneCfg,
    VerticalSelector,
    fit_sole_plane,
)
from nao_testbed.controllers.stiffness.guard.thresholds import GuardCfg
from nao_testbed.controllers.stiffness.kernels import BoolArray, IndexArray
from nao_testbed.controllers.stiffness.offset import OffsetLaw, PostureOffset
from nao_testbed.controllers.stiffness.stiffness_law import (
    ES2659053Policy,
    StiffnessPolicy,
)
from nao_testbed.models import Posture, Robot
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class SmartStiffnessCfg(Checked):
    """Options of both logics; the defaults are those of ES2659053."""

    name: str = "smart"
    """Name of the controller in tables and run folders."""
    model: Literal["simplified", "full"] = "simplified"
    """`simplified`: gravity and contacts. `full`: accelerations, Coriolis and
    centrifugal terms too."""
    add_friction: bool = False
    """Add the joint's Coulomb friction to |τ|: the motor must overcome it to move.
    Without it, the offset covers friction."""
    ground: GroundPlaneCfg = field(default_factory=GroundPlaneCfg)
    contacts: ContactCfg = field(default_factory=ContactCfg)
    postures: PostureCfg = field(default_factory=PostureCfg)
    forces: ContactForceCfg = field(default_factory=ContactForceCfg)
    motion: MotionCfg = field(default_factory=MotionCfg)
    offset: OffsetLaw = field(default_factory=PostureOffset)
    """Offset law. Use one instance per controller: a law may keep state."""
    policy: StiffnessPolicy = field(default_factory=ES2659053Policy)
    """Stiffness policy. Use one instance per controller: it may keep state."""
    guard: GuardCfg | None = None
    """Conditions that raise the limit to catch a push; None: never, as in ES2659053."""
    disturbance: DisturbanceCfg | None = None
    """Estimator of an unknown payload in B; None: B holds only the loads of
    `set_loads`, as in claim 8 of ES2659053."""


_CARRYING = int(StiffnessFlag.CARRYING)
_SENSOR_FIELDS = ("q", "v", "gyro", "accelerometer", "fsr", "temperature")


class SensorValues:
    """Views into one array, filled by `take` and valid until the next `take`."""

    def __init__(self, robot: Robot) -> None:
        n, motors, sensors = map(len, (robot.joints, robot.motors, robot.force_sensors))
        ends = np.cumsum((n, n, 3, 3, sensors, motors))
        self._all: FloatArray = np.zeros(ends[-1])
        parts = np.split(self._all, ends[:-1])
        self.q, self.v, self.gyro, self.accelerometer, self.fsr, _ = parts

    def update(self, observation: Observation) -> None:
        """Copy the values of `observation`.

        Raises:
            SensorError: a value is not finite.
        """
        o, values = observation, self._all
        np.concatenate(
            (o.q, o.v, o.gyro, o.accelerometer, o.fsr, o.temperature), out=values
        )
        if not isfinite(values @ values):  # NaN and inf propagate
            require_finite(observation, _SENSOR_FIELDS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Equilibrium:
    """Result of the first logic at one instant."""

    plane: GroundPlane
    posture: Posture | None
    """The closest typical posture, if there is one."""
    contacts: IndexArray
    """(n_contacts,) indices into the robot's contact points."""
    forces: FloatArray
    """(n_contacts,) normal forces in N."""
    com: FloatArray
    """(3,) centre of mass in the base frame, in m."""
    torques: JointTorques
    flags: int
    """`StiffnessFlag` bits."""
    disturbance: FloatArray | None
    """(3,) w of `dynamics.disturbance`; None where it is not estimated."""


class EquilibriumLogic:
    """Computation of the joint torques that keep one robot in equilibrium."""

    def __init__(self, robot: Robot, cfg: SmartStiffnessCfg) -> None:
        """Prepare for `robot`, with an empty state.

        Raises:
            BadInput: the configuration does not fit the robot.
        """
        self._robot = robot
        self._cfg = cfg
        n_candidates, n_sensors = len(robot.contact_points), len(robot.force_sensors)
        self._candidates = slice(0, n_candidates)  # indices into the dynamics' points
        self._sensors = slice(n_candidates, n_candidates + n_sensors)
        self._vertical = GravityFilter(cfg.ground.filter)
        self._selector = VerticalSelector(cfg.ground)
        self._detector = ContactDetector(robot, cfg.contacts)
        self._matcher = PostureMatcher(robot, cfg.postures)
        self._motion = (
            MotionEstimator(robot, cfg.motion) if cfg.model == "full" else None
        )
        self._disturbance = (
            DisturbanceEstimator(robot, cfg.disturbance) if cfg.disturbance else None
        )
        self._armature = armature_at_joints(robot)
        self._imu_turned = robot.imu.link != robot.base_link
        self._values = SensorValues(robot)
        forces = cfg.forces
        self._Q = np.array(
            (forces.force_weight, forces.moment_weight, forces.moment_weight)
        )
        self.set_loads(())
        self._compile()

    def set_loads(self, loads: Sequence[ExternalLoad]) -> None:
        """Set the known vertical forces on the robot.

        Raises:
            UnknownName: the robot has no such link.
        """
        robot = self._robot
        points: list[BodyPoint] = [*robot.contact_points, *robot.force_sensors, *loads]
        self._dynamics = Dynamics(robot, points)
        first = self._sensors.stop
        self._loads = slice(first, first + len(loads))
        self._load_forces: FloatArray = np.array(
            [load.upward_newton for load in loads], dtype=np.float64
        )

    def reset(self) -> None:
        """Clear the filters and the sensor states."""
        self._vertical.reset()
        self._selector.reset()
        self._detector.reset()
        if self._motion is not None:
            self._motion.reset()
        if self._disturbance is not None:
            self._disturbance.reset()

    def solve(self, observation: Observation) -> Equilibrium:
        """Return the equilibrium at `observation`.

        Raises:
            SensorError: a sensor value is not finite.
        """
        values, dynamics = self._values, self._dynamics
        values.update(observation)
        dynamics.update(values.q)  # 620
        plane = self._find_plane(observation.time_s)  # 610, 630
        left = self._left_side(observation, plane.up)  # 640
        posture = self._matcher.closest(values.q)
        load_points, load_forces, load_flag = self._find_loads(  # 910
            observation.time_s, left, plane.up
        )
        touching = self._detector.detect(  # 650
            dynamics.point_positions[self._candidates], plane.up, values.fsr
        )
        balanced = choose_contacts(  # 650, 660
            touching,
            self._matcher.listed(posture),
            self._detector.widen,
            lambda allowed: self._solve_forces(
                allowed, left, plane.up, load_points, load_forces
            ),
        )
        return Equilibrium(
            plane=plane,
            posture=posture,
            contacts=balanced.contacts,
            forces=balanced.forces,
            com=dynamics.com,
            torques=self._torques(left, balanced, plane.up),  # 670 to 690
            flags=plane.flags | balanced.flags | load_flag,
            disturbance=self._disturbance.wrench if self._disturbance else None,
        )

    def _find_plane(self, time_s: float) -> GroundPlane:
        """Estimate the vertical and cross-check it (steps 610 and 630)."""
        values, dynamics = self._values, self._dynamics
        up = self._vertical.step(time_s, values.gyro, values.accelerometer)
        if self._imu_turned:
            up = dynamics.link_rotation(self._robot.imu.link) @ up
        sole_up = fit_sole_plane(
            dynamics.point_positions[self._sensors],
            dynamics.com,
            self._cfg.ground,
            values.fsr,
        )
        return self._selector.select(up, self._vertical.is_trusted, sole_up)

    def _left_side(self, observation: Observation, up: FloatArray) -> LeftSide:
        """Compute the left side, which contacts and motors must balance (step 640)."""
        dynamics = self._dynamics
        if self._motion is None:
            return left_side_at_rest(dynamics, up)
        motion = self._motion.step(observation, up)
        candidates = dynamics.point_positions[self._candidates]
        return left_side_in_motion(dynamics, motion, self._armature, candidates, up)

    def _find_loads(
        self, time_s: float, left: LeftSide, up: FloatArray
    ) -> tuple[FloatArray, FloatArray, int]:
        """Collect the vertical forces other than contacts and weight (step 910).

        Returns:
            (k, 3) points in the base frame in m, (k,) forces upward in N, and the flag
            of an estimated load. Of an estimated load only the line of action is known.
        """
        position, forces = self._dynamics.point_positions, self._load_forces
        points = position[self._loads]
        estimator = self._disturbance
        if estimator is None:
            return points, forces, 0
        A, B = balance_equation(
            position[self._sensors], left.centre, up, left.weight, points, forces
        )
        estimator.step(time_s, A, B, self._values.fsr)
        if not estimator.is_used:
            return points, forces, 0
        P, M = estimator.wrench[0], estimator.wrench[1:]
        line = left.centre + (M / P) @ plane_axes(up)
        return np.vstack((points, line)), np.append(forces, -P), _CARRYING

    def _solve_forces(
        self,
        allowed: BoolArray,
        left: LeftSide,
        up: FloatArray,
        load_points: FloatArray,
        load_forces: FloatArray,
    ) -> ContactForces:
        """Solve for the normal forces at the allowed points (660), by QP if needed."""
        position, cfg = self._dynamics.point_positions, self._cfg.forces
        contacts, forces, flags, is_solved = balance(
            position,
            allowed,
            left.centre,
            up,
            left.weight,
            load_points,
            load_forces,
            self._Q,
            cfg.regularisation,
            cfg.tolerance_m,
        )
        if not is_solved:
            problem = build_contact_problem(
                position[contacts],
                left.centre,
                up,
                weight=left.weight,
                cfg=cfg,
                load_points=load_points,
                load_forces=load_forces,
            )
            solution = solve_contact_problem(problem)
            forces, flags = solution.forces, solution.flags
        return ContactForces(contacts, forces, flags)

    def _torques(
        self, left: LeftSide, balanced: ContactForces, up: FloatArray
    ) -> JointTorques:
        """Compute the joint torques from contacts and known loads (670 to 690).

        An estimated load is assumed to act above all joints, so it enters no term here.
        """
        points, W = balanced.contacts, balanced.forces
        if len(self._load_forces):
            points = np.concatenate(
                (points, np.arange(self._loads.start, self._loads.stop))
            )
            W = np.concatenate((W, self._load_forces))
        contact_term = self._dynamics.contact_term(points, up, W)
        return JointTorques(
            gravity_term=left.joints,
            contact_term=contact_term,
            tau=left.joints - contact_term,  # 690
        )

    def _compile(self) -> None:
        """Run the steps once, so that kernels are compiled before the run."""
        robot = self._robot
        n, motors = len(robot.joints), len(robot.motors)
        at_rest = Observation(
            time_s=0.0,
            q=np.zeros(n),
            v=np.zeros(n),
            target=np.zeros(n),
            stiffness=np.zeros(n),
            current=np.zeros(motors),
            temperature=np.zeros(motors),
            gyro=np.zeros(3),
            accelerometer=np.array((0.0, 0.0, GRAVITY)),
            fsr=np.zeros(len(robot.force_sensors)),
        )
        self.solve(at_rest)
        # Rarely used branches: the wider distance and the QP.
        self._detector.widen()
        corners = np.array(((0.1, 0.0, 0.0), (0.2, 0.1, 0.0), (0.3, -0.1, 0.0)))
        up, com = np.array((0.0, 0.0, 1.0)), np.zeros(3)
        solve_contact_problem(
            build_contact_problem(corners, com, up, weight=1.0, cfg=self._cfg.forces)
        )
        self.reset()
