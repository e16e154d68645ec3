"""Posture monitor: sole source of the robot's state: Stand, Sit, Back...

    vertical (inertial unit) -> upright, on its back, on its belly, or in between
    legs (encoders)          -> the closest stored posture, which names its state

Lying is detected by the attitude (any posture can fall), except on all fours. Upright,
the legs decide; head and arms are ignored. The closest posture comes from the stiffness
controller's matcher, the vertical from its filter.

State changes need no consent. When a robot falls, owners of the state Stand lose it at
once. After `settle_s`, so does sitting down without permission. Before it leaves a
state, an owner should call `ask_to_leave`, which asks the holders of the state.
"""

import dataclasses
from dataclasses import dataclass, field
from enum import Enum, auto
from math import cos, radians

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.contacts import PostureCfg, PostureMatcher
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilter,
    GravityFilterCfg,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import FloatArray, check_seconds


@dataclass(frozen=True, kw_only=True)
class RecogniserCfg:
    """Thresholds between the states."""

    upright_within_deg: float = 45.0
    """Largest tilt at which the legs determine the state, in degrees. The typical
    upright postures of the NAO lean by at most 18; from 45 on it cannot recover."""
    lying_from_deg: float = 60.0
    """Smallest tilt of a lying robot, in degrees; at rest it is 85 to 92."""
    side_within_deg: float = 45.0
    """Largest angle in degrees between the front of a lying robot and the vertical for
    the states Back and Belly; at a larger angle it lies on its side: no state."""
    enter_rad: float = 0.3
    """Root mean square difference of the leg angles in rad below which a posture
    matches; upright postures of a NAO in different states differ by 0.62 or more."""
    stay_rad: float = 0.45
    """The same threshold for the present state; larger, to tolerate a step or a knee
    bend."""
    on_back: str = "Back"
    """Name of the state of a robot on its back."""
    on_belly: str = "Belly"

    def __post_init__(self) -> None:
        if not 0.0 < self.upright_within_deg <= self.lying_from_deg < 180.0:
            raise BadInput(
                f"upright within {self.upright_within_deg}, lying from "
                f"{self.lying_from_deg} degrees; give 0 < upright <= lying < 180."
            )
        if not 0.0 < self.enter_rad <= self.stay_rad:
            raise BadInput(
                f"enter_rad = {self.enter_rad}, stay_rad = {self.stay_rad} rad; give "
                "positive numbers, the first one at most the second."
            )


class Attitude(Enum):
    """Attitude of the body."""

    UPRIGHT = auto()
    TILTED = auto()
    """Neither upright nor lying: falling, getting up, or on its side."""
    ON_BACK = auto()
    ON_BELLY = auto()
    UNKNOWN = auto()
    """No plausible reading for some time."""


class PostureRecogniser:
    """Recogniser of one robot's states; call `step` for every observation."""

    def __init__(self, robot: Robot, cfg: RecogniserCfg | None = None) -> None:
        self.cfg = cfg or RecogniserCfg()
        legs = robot.leg_joints
        others = tuple(name for name in robot.joint_names if name not in legs)
        self._has_legs = robot.has_legs
        self._feet = set(robot.feet)
        upright = _without(robot, (self.cfg.on_back, self.cfg.on_belly))
        self._near, self._about = (
            PostureMatcher(
                upright, PostureCfg(threshold_rad=limit, ignored_joints=others)
            )
            for limit in (self.cfg.enter_rad, self.cfg.stay_rad)
        )
        self._filter = GravityFilter(GravityFilterCfg())
        self._upright_cos = cos(radians(self.cfg.upright_within_deg))
        self._lying_cos = cos(radians(self.cfg.lying_from_deg))
        self._front_cos = cos(radians(self.cfg.side_within_deg))
        self.attitude = Attitude.UNKNOWN
        """Attitude at the last observation."""

    def step(self, observation: Observation, present: str | None) -> str | None:
        """Return the state that an observation shows.

        Args:
            observation: newest observation.
            present: last known state of the robot.

        Returns:
            Name of the state; None without a state; `present` while the attitude is
            unknown.
        """
        self.attitude = self._attitude(observation)
        if self.attitude is Attitude.UNKNOWN:
            return present
        if self.attitude is Attitude.UPRIGHT:
            return self._state_by_legs(observation.q, present)
        if self.attitude is Attitude.TILTED or self._is_on_all_fours(observation.q):
            return None
        is_on_back = self.attitude is Attitude.ON_BACK
        return self.cfg.on_back if is_on_back else self.cfg.on_belly

    def _state_by_legs(self, q: FloatArray, present: str | None) -> str | None:
        """Return the state of an upright robot; None for a robot without legs."""
        if not self._has_legs:
            return None
        near = self._near.closest(q)
        if near is not None:
            return near.state
        about = self._about.closest(q)
        return present if about is not None and about.state == present else None

    def _is_on_all_fours(self, q: FloatArray) -> bool:
        """Return True if the closest posture has no state and uses more than feet."""
        near = self._near.closest(q) if self._has_legs else None
        if near is None or near.state is not None:
            return False
        return not set(near.effectors) <= self._feet

    def _attitude(self, observation: Observation) -> Attitude:
        """Classify the filter's vertical, given in the body's axes."""
        up = self._filter.step(
            observation.time_s, observation.gyro, observation.accelerometer
        )
        if not self._filter.is_trusted:
            return Attitude.UNKNOWN
        front, _, upward = up.tolist()
        if upward > self._upright_cos:
            return Attitude.UPRIGHT
        if upward < self._lying_cos and front > self._front_cos:
            return Attitude.ON_BACK
        if upward < self._lying_cos and front < -self._front_cos:
            return Attitude.ON_BELLY
        return Attitude.TILTED


def _without(robot: Robot, states: tuple[str, ...]) -> Robot:
    """Return the robot without the postures of the given states."""
    kept = {n: p for n, p in robot.postures.items() if p.state not in states}
    return dataclasses.replace(robot, postures=kept)


@dataclass(frozen=True, kw_only=True)
class PostureMonitorCfg:
    """Settings of a posture monitor: set of states, thresholds and times."""

    group: str = "State"
    """Name of the set of states."""
    settle_s: float = 0.3
    """Time in s for which a state must be seen before it counts. A swaying or bouncing
    robot passes through a state in less time. A fall counts at once."""
    recogniser: RecogniserCfg = field(default_factory=RecogniserCfg)

    def __post_init__(self) -> None:
        check_seconds(self.settle_s, "settle_s", "give a number from 0 up")


class PostureMonitor:
    """Monitor of one robot's states; call `step` for every observation (20 ms)."""

    def __init__(
        self, ledger: Ledger, robot: Robot, cfg: PostureMonitorCfg | None = None
    ) -> None:
        """Start with the active state of the ledger.

        Args:
            ledger: ledger with the states.
            robot: robot with stored postures, which name their states.
            cfg: set of states, thresholds and times.

        Raises:
            UnknownName: the set does not exist, or lacks the state of a posture.
        """
        self.cfg = cfg or PostureMonitorCfg()
        self._ledger = ledger
        self._recogniser = PostureRecogniser(robot, self.cfg.recogniser)
        ledger.active_state(self.cfg.group)  # raises for an unknown set of states
        states = ledger.tree.children(self.cfg.group)
        for posture in robot.postures.values():
            if posture.state is not None and posture.state not in states:
                where = f"set {self.cfg.group!r}, which posture {posture.name!r} needs"
                raise UnknownName("State", posture.state, states, where)
        self._seen: str | None = None
        self._seen_since = 0
        self._leaving: str | None = None
        self._leaving_until = 0

    @property
    def state(self) -> str | None:
        """Active state."""
        return self._ledger.active_state(self.cfg.group)

    @property
    def attitude(self) -> Attitude:
        """Attitude of the body at the last observation."""
        return self._recogniser.attitude

    def step(self, observation: Observation, tick: int) -> str | None:
        """Update the state from an observation; return the active state.

        Args:
            observation: newest observation.
            tick: present tick.
        """
        present = self.state
        seen = self._recogniser.step(observation, present)
        if seen not in self._ledger.tree.children(self.cfg.group):
            seen = None  # the state was removed from the ledger
        if seen != self._seen:
            self._seen, self._seen_since = seen, tick
        if seen == present:
            return present
        if not (self._has_left(present) or self._has_settled(tick)):
            return present
        if seen == self._leaving and tick < self._leaving_until:
            return present  # a transition is under way
        self._leaving = None
        self._ledger.set_state(self.cfg.group, seen, tick)
        return seen

    def ask_to_leave(self, by: str, tick: int, within_s: float = 5.0) -> bool:
        """Ask the holders of the active state to release it.

        Args:
            by: owner that wants to change the state, for the notices.
            tick: present tick.
            within_s: longest time of the transition, in s, during which the old state
                is not detected again.

        Returns:
            True if all holders released it; then no state is active until one is
            detected.

        Raises:
            BadInput: the time is negative.
        """
        check_seconds(within_s, "within_s", "give a number from 0 up")
        left = self.state
        if not self._ledger.ask_state(self.cfg.group, None, tick, by):
            return False
        if left is not None:
            self._leaving = left
            self._leaving_until = tick + self._ledger.cfg.ticks(within_s)
        return True

    def _has_settled(self, tick: int) -> bool:
        return tick - self._seen_since >= self._ledger.cfg.ticks(self.cfg.settle_s)

    def _has_left(self, present: str | None) -> bool:
        """Return True if the attitude alone ends an upright state."""
        cfg = self.cfg.recogniser
        is_upright_state = present not in (None, cfg.on_back, cfg.on_belly)
        return is_upright_state and self.attitude is not Attitude.UPRIGHT
