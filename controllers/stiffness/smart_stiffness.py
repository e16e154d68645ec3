"""Stiffness controller: both logics of ES2659053 in one step (310 and 320).

Independent of engine and clock: the controller reads an `Observation`, returns
`Limits`, and provides a `StiffnessReport` of the computation. It works on any robot
described by a `Robot`. In NAOqi terms, it is the part of the motion module between
reading the shared memory and writing to the device manager.
"""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from nao_testbed.controllers.interface.controller import Limits, require_robot
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.contact_forces import plane_axes
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, ExternalLoad
from nao_testbed.controllers.stiffness.dynamics.disturbance import DisturbanceCfg
from nao_testbed.controllers.stiffness.dynamics.equation_of_motion import JointTorques
from nao_testbed.controllers.stiffness.equilibrium import (
    Equilibrium,
    EquilibriumLogic,
    SmartStiffnessCfg,
)
from nao_testbed.controllers.stiffness.flags import StiffnessFlag, flag_names
from nao_testbed.controllers.stiffness.ground_plane import GroundPlane, VerticalSource
from nao_testbed.controllers.stiffness.guard import Guard, lifted
from nao_testbed.controllers.stiffness.offset import Offset, OffsetContext
from nao_testbed.controllers.stiffness.stiffness_law import PostureTuning, StiffnessLaw
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class StiffnessReport:
    """Intermediate results of one step; the arrays are read-only by convention."""

    time_s: float
    flags: int
    """`StiffnessFlag` bits; `flag_names(report.flags)` returns their names."""
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
    disturbance: FloatArray | None
    """(3,) the wrench of `dynamics.disturbance`: N downward, two moments in N·m about
    `com`; None where it is not estimated."""

    @property
    def gravity_source(self) -> VerticalSource:
        """Return the source of the vertical in use."""
        return self.plane.source


# Inputs of a report: balance, offset, computed and returned stiffness, flags.
_Step = tuple[Equilibrium, Offset, FloatArray, FloatArray, int]


class SmartStiffness:
    """Torque limit of each joint: the torque for equilibrium, plus an offset.

    Call `reset(robot)` once, then `step(observation)` every 20 ms. At run time a user
    may set `enabled` and `user_stiffness`, and call `tune` and `set_loads`.
    """

    def __init__(self, cfg: SmartStiffnessCfg | None = None) -> None:
        self.cfg = cfg or SmartStiffnessCfg()
        self.name = self.cfg.name
        self.enabled = True
        """False: the user's stiffness is in force."""
        self.guard: Guard | None = None
        """Guard that raises the limit; None without one in the configuration."""
        self._last: _Step | None = None
        self._tunings: dict[str, PostureTuning] = {}
        self._robot: Robot | None = None
        self._counts: Counter[int] = Counter()

    def reset(self, robot: Robot) -> None:
        """Build everything that depends on `robot` and clear the state.

        `enabled` and the user's tunings are kept; loads are removed and the user's
        stiffness is set to 1.

        Raises:
            BadInput: the configuration or a tuning does not fit the robot.
        """
        import scipy.optimize  # noqa: F401, PLC0415  # slow: not in the first step

        for posture in self._tunings:
            robot.posture(posture)
        self._robot = robot
        self._first = EquilibriumLogic(robot, self.cfg)  # 310
        self._second = StiffnessLaw(robot)  # 320
        zero = np.zeros(len(robot.joints))
        self._second.stiffness(self._second.share_of_limit(zero), 0.0)  # compile
        self._point_names = tuple(point.name for point in robot.contact_points)
        self._is_foot = np.array(
            [point.effector in robot.feet for point in robot.contact_points]
        )
        self._friction = np.array([joint.friction for joint in robot.joints])
        self.cfg.offset.reset(robot)
        self.cfg.policy.reset(robot)
        self.guard = Guard(robot, self.cfg.guard) if self.cfg.guard else None
        self._user = np.ones(len(robot.joints))
        self._time: float | None = None
        self._last = None
        self._counts = Counter()

    @property
    def user_stiffness(self) -> FloatArray:
        """(n_joints,) the user's stiffness in [0, 1]: 1 everywhere by default."""
        return self._user.copy()

    @user_stiffness.setter
    def user_stiffness(self, stiffness: FloatArray | float) -> None:
        value = np.broadcast_to(np.asarray(stiffness, dtype=float), self._user.shape)
        if not ((value >= 0.0) & (value <= 1.0)).all():
            raise BadInput(f"user stiffness {stiffness}; give values from 0 to 1.")
        self._user = value.copy()

    def tune(self, posture: str, tuning: PostureTuning | None) -> None:
        """Change the stiffness in one posture; None removes the change.

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
        """Set the known vertical forces on the robot; no argument: neglect them.

        Raises:
            UnknownName: the robot has no such link.
        """
        require_robot(self._robot)
        self._first.set_loads(loads)

    @property
    def flag_counts(self) -> Counter[str]:
        """Return the number of steps since `reset` that raised each flag, by name."""
        counts: Counter[str] = Counter()
        for flags, steps in self._counts.items():
            for name in flag_names(flags):
                counts[name] += steps
        return counts

    def step(self, observation: Observation) -> Limits:
        """Return the stiffness that holds until the next call.

        Raises:
            SensorError: a sensor value is not finite.
        """
        robot, cfg = require_robot(self._robot), self.cfg
        balance = self._first.solve(observation)
        dt = 0.0 if self._time is None else max(0.0, observation.time_s - self._time)
        posture, tau, flags = balance.posture, balance.torques.tau, balance.flags
        offset = cfg.offset.step(
            OffsetContext(
                dt_s=dt,
                posture=posture,
                is_foot_on_ground=bool(self._is_foot[balance.contacts].any()),
                joint_temperature=robot.largest_of_joint(observation.temperature),
                target=observation.target,
                q=observation.q,
                stiffness=observation.stiffness,
            )
        )
        share = self._second.share_of_limit(
            np.abs(tau) + self._friction if cfg.add_friction else tau
        )
        computed, is_clipped = self._second.stiffness(share, offset)
        if is_clipped:
            flags |= int(StiffnessFlag.CLIPPED)
        if posture is not None and posture.name in self._tunings:
            computed = self._tunings[posture.name].apply(computed)

        stiffness, policy_flags = cfg.policy.step(computed, self._user, observation)
        flags |= policy_flags
        shift, guard = None, self.guard
        if (
            guard is not None
            and self.enabled
            and guard.step(observation, stiffness) > 0
        ):
            stiffness = lifted(stiffness, self._user, guard.lift)
            shift = guard.shift
            flags |= int(StiffnessFlag.CATCHING)
        if not self.enabled:
            stiffness = self._user.copy()
            if guard is not None:
                guard.reset()
            flags |= int(StiffnessFlag.DISABLED)

        self._counts[flags] += 1
        self._time = observation.time_s
        self._last = balance, offset, computed, stiffness, flags
        return Limits(
            stiffness=stiffness.copy(), shift=shift, is_urgent=shift is not None
        )

    @property
    def plane(self) -> GroundPlane | None:
        """The virtual ground plane of the last step; None before the first."""
        return None if self._last is None else self._last[0].plane

    @property
    def report(self) -> StiffnessReport | None:
        """Return the intermediate results of the last step; None before the first.

        The report is built on request, so that it costs the control loop no time.
        """
        if self._last is None or self._time is None:
            return None
        balance, offset, computed, stiffness, flags = self._last
        names = self._point_names
        return StiffnessReport(
            time_s=self._time,
            flags=flags,
            plane=balance.plane,
            posture=balance.posture.name if balance.posture else None,
            contact_names=tuple(names[k] for k in balance.contacts.tolist()),
            contact_forces=balance.forces,
            com=balance.com,
            torques=balance.torques,
            offset=np.array(offset),
            computed=computed,
            stiffness=stiffness,
            disturbance=balance.disturbance,
        )


class PayloadStiffness(SmartStiffness):
    """`SmartStiffness` that estimates an unknown payload and reports it as signals."""

    signal_names = ("payload_kg", "payload_ahead_m", "payload_left_m")
    """Payload mass, and position of its centre on the ground from the base origin;
    0 and NaN without a detected payload."""

    def __init__(self, cfg: SmartStiffnessCfg | None = None) -> None:
        cfg = cfg or SmartStiffnessCfg(name="smart-payload")
        super().__init__(replace(cfg, disturbance=cfg.disturbance or DisturbanceCfg()))

    @property
    def signals(self) -> tuple[float, ...]:
        """Mass in kg and position in m, as of the last step."""
        if self._last is None:
            return (np.nan, np.nan, np.nan)
        balance = self._last[0]
        if balance.disturbance is None or not balance.flags & StiffnessFlag.CARRYING:
            return (0.0, np.nan, np.nan)
        P, M = float(balance.disturbance[0]), balance.disturbance[1:]
        x, y = plane_axes(balance.plane.up) @ balance.com + M / P
        return (P / GRAVITY, float(x), float(y))
