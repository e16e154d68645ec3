"""In which state a robot is, from its attitude and its legs: Stand, Sit, Back... (F9).

    vertical (inertial unit) -> upright, on its back, on its belly, or in between
    legs (encoders)          -> the closest stored posture, which names its state

Lying is told by the attitude alone, as a robot falls in any posture; upright, the legs
tell: what head and arms do is no matter. The closest posture is that of the stiffness
controller's matcher, the vertical that of its filter.
"""

import dataclasses
from dataclasses import dataclass
from enum import Enum, auto
from math import cos, radians

import numpy as np
from numpy.typing import NDArray

from controllers.robot_interface import Observation
from controllers.stiffness.gravity_filter import GravityFilter, GravityFilterCfg
from controllers.stiffness.postures import PostureCfg, PostureMatcher
from models import BadInput, Robot

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RecogniserCfg:
    """Where one state ends and the next begins."""

    upright_within_deg: float = 45.0
    """Tilt up to which the legs tell, in degrees: the typical upright postures of the
    NAO lean by 18 at most, and from 45 on nothing brings it back."""
    lying_from_deg: float = 60.0
    """Tilt from which it may be lying, in degrees; at rest it is 85 to 92."""
    side_within_deg: float = 45.0
    """Lying, up to this angle between its front and the vertical it is on its back or
    its belly; beyond it is on its side, which is no state."""
    enter_rad: float = 0.3
    """Root mean square difference of the legs' angles below which a posture is close;
    Stand and Crouch, which are most alike, are 0.68 apart."""
    stay_rad: float = 0.45
    """The same for staying in the state that it is in: a step, a knee bend."""
    on_back: str = "Back"
    """Name of the state of a robot on its back."""
    on_belly: str = "Belly"

    def __post_init__(self) -> None:
        """Refuse limits that overlap.

        Raises:
            BadInput: they do.
        """
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
    """How the body is turned."""

    UPRIGHT = auto()
    TILTED = auto()
    """Neither upright nor lying: it falls, gets up, or lies on its side."""
    ON_BACK = auto()
    ON_BELLY = auto()
    UNKNOWN = auto()
    """No believable reading for a while."""


class PostureRecogniser:
    """Recognises one robot's states; `step` at every observation."""

    def __init__(self, robot: Robot, cfg: RecogniserCfg | None = None) -> None:
        """Start without a vertical.

        Args:
            robot: its postures name their states.
            cfg: where one state ends and the next begins.
        """
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
        """As of the last observation."""

    def step(self, observation: Observation, present: str | None) -> str | None:
        """Return the state that an observation shows.

        Args:
            observation: the newest one.
            present: the state that the robot is in as far as is known.

        Returns:
            Name of a state; None if it is in none; `present` while the attitude is
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
        """Return the state of an upright robot; without legs it is in none."""
        if not self._has_legs:
            return None
        near = self._near.closest(q)
        if near is not None:
            return near.state
        about = self._about.closest(q)
        return present if about is not None and about.state == present else None

    def _is_on_all_fours(self, q: FloatArray) -> bool:
        """Whether a posture is close that rests on more than feet and is no state."""
        near = self._near.closest(q) if self._has_legs else None
        if near is None or near.state is not None:
            return False
        return not set(near.effectors) <= self._feet

    def _attitude(self, observation: Observation) -> Attitude:
        """Turn the vertical, which the filter gives in the body's axes, into a word."""
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
    """Return the robot without the postures of some states."""
    kept = {n: p for n, p in robot.postures.items() if p.state not in states}
    return dataclasses.replace(robot, postures=kept)
