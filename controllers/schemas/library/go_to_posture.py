"""Posture changes through the transitions of the library, with checks after each.

The way is the fastest one through DB2 (`find_way`). After each transition the encoders
must show the posture and the recogniser its state, so that a robot that slipped, or was
held, does not start the next motion. `stand`, `sit` and `crouch` are this schema with a
fixed posture.
"""

from dataclasses import dataclass
from math import degrees, radians, sqrt

import numpy as np

from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.actuators import Playing
from nao_testbed.controllers.schemas.declaration import Parameters, SchemaInfo, bounded
from nao_testbed.controllers.schemas.library.common import (
    PostureStateSchema,
    is_due,
    resources_of_joints,
    set_of_states,
)
from nao_testbed.controllers.transmitter.commands.planning import find_way
from nao_testbed.models import Posture, Robot, TestbedError
from nao_testbed.models.library import Motion, Track, Transition

ADJUST = "adjust to {}"
"""Name of the motion that moves arms and head to a posture at the end of a way."""


class NoWayThere(TestbedError):
    """Failure to reach a posture; the text gives the robot's present posture."""


@dataclass(frozen=True, kw_only=True)
class GoToPostureParameters(Parameters):
    """Goal posture and tolerances."""

    posture: str = "upright"
    """Name or role of a stored posture."""
    tolerance_deg: float = bounded(15.0, 0.5, 30.0, "degrees")
    """Maximum difference of a joint from a reached posture, in degrees. Under the
    smart controller, the hip yaw-pitch motor of a crouching NAO stays 11 degrees
    behind, since the ground holds its feet; a joint that is stuck or held is farther
    off."""
    settle_s: float = bounded(2.0, 0.0, 60.0, "s")
    """Maximum time to come to rest in a posture, in s."""
    patience_s: float = bounded(5.0, 0.0, 3600.0, "s")
    """Maximum time for asking owners that need the present state, in s."""
    speed_deg_s: float = bounded(60.0, 1.0, 200.0, "degrees/s")
    """Speed of joints outside the transitions, in degrees/s."""


class GoToPosture(PostureStateSchema[GoToPostureParameters]):
    """Schema that leaves the present state and moves from posture to posture.

    It fails if owners keep the present state, no way leads to the goal, a motion was
    cut off, or the robot is not in the expected posture.
    """

    info = SchemaInfo(
        "go to posture",
        "Go to a posture, and check each posture on the way.",
        period_s=0.02,
        parameters=GoToPostureParameters,
    )

    @classmethod
    def needs_of(
        cls, parameters: GoToPostureParameters, robot: Robot
    ) -> tuple[str, ...]:
        """Return all motors: a posture covers the whole body."""
        del parameters
        return resources_of_joints(robot, robot.joint_names)

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: GoToPostureParameters, robot: Robot
    ) -> None:
        """Raise for a posture that the robot does not have."""
        del activation
        robot.posture(parameters.posture)

    # -- the way ----------------------------------------------------------------------

    def start(self) -> None:
        """Determine the present posture, and start.

        Raises:
            UnknownName: the robot has no such posture.
        """
        self._goal = self.robot.posture(self.parameters.posture)
        nearest = self._nearest()
        group = set_of_states(self.robot, nearest.state or "")
        state = None if group is None else self.active_state(group)
        is_overturned = state is None and group is not None and self._is_overturned()
        if is_overturned or state not in (None, nearest.state):
            raise NoWayThere(
                f"the legs are as in {nearest.name!r}, but the robot is not in that "
                f"state: it is overturned, or in {state!r}."
            )
        self._playing: Playing | None = None
        self._next: Posture | None = None
        """Goal of the present motion; None before the first one."""
        self._way: tuple[Transition, ...] = ()
        self._since_s = self.time_s
        self._is_adjusting = False
        self._has_asked = False
        self._old_state: str | None = None
        """State that other owners were asked to release."""
        self.iterate()

    def iterate(self) -> None:
        """Advance the way by one period.

        Raises:
            NoWayThere: the goal cannot be reached.
        """
        if not self._has_asked and not self._request_leave():
            return
        if self._playing is not None:
            if not self._playing.is_over:
                return
            if self._playing.has_failed:
                raise NoWayThere(
                    f"the motion to {self._next_posture.name!r} was not completed: "
                    f"{self._playing.reason}"
                )
            self._playing = None
            self._since_s = self.time_s
        if self._next is None:
            self._start_way()
        elif self._has_reached(self._next):
            self._continue()

    @property
    def _next_posture(self) -> Posture:
        assert self._next is not None  # a motion is played only towards a posture
        return self._next

    def _request_leave(self) -> bool:
        """Ask owners of the present state to release it; return True if all did.

        Raises:
            NoWayThere: the owners did not release it within `patience_s`, or no state
                is observed.
        """
        group = set_of_states(self.robot, self._goal.state or "")
        state = None if group is None else self.active_state(group)
        if group is not None and state is None:  # no motion starts in an unknown state
            if self.time_s - self._since_s < self.parameters.settle_s:
                return False
            raise NoWayThere(
                f"the legs are as in {self._nearest().name!r}, but no state of the "
                f"robot was recognised within {self.parameters.settle_s:g} s."
            )
        self._old_state = state
        is_free = state is None or state == self._goal.state
        self._has_asked = is_free or self.ask_to_leave(self._max_duration_s())
        waited_s = self.time_s - self._since_s
        if not self._has_asked and is_due(waited_s, self.parameters.patience_s):
            raise NoWayThere(
                f"owners that need the state {state!r} kept it for {waited_s:.1f} s; "
                "stop them first, or set a longer patience_s."
            )
        if self._has_asked:
            self._since_s = self.time_s
        return self._has_asked

    def _max_duration_s(self) -> float:
        """Return the maximum duration of the way, in s."""
        motions = self.robot.library.motions
        used = [
            motions[step.motion].length_s for step in self._way_from(self._nearest())
        ]
        return sum(used) + self.parameters.settle_s * (len(used) + 2)

    def _start_way(self) -> None:
        """Start from the posture that is nearest to the legs."""
        self._next = self._nearest()
        self._way = self._way_from(self._next)
        if not self._way:
            self._adjust()
            return
        self._play_next()

    def _way_from(self, start: Posture) -> tuple[Transition, ...]:
        way = find_way(self.robot.library, start.name, self._goal.name)
        if way is None:
            raise NoWayThere(
                f"no transition of the library leads from {start.name!r} to "
                f"{self._goal.name!r}; add one, or choose another posture."
            )
        return way

    def _continue(self) -> None:
        """Play the next transition after a checked posture, or finish."""
        if self._way:
            self._play_next()
        elif self._is_adjusting or self._furthest(self._goal)[1] <= self._tolerance:
            self.finish()
        else:
            self._adjust()

    def _play_next(self) -> None:
        step, *rest = self._way
        self._way = tuple(rest)
        self._next = self.robot.posture(step.end)
        self._playing = self.play(step.motion)

    def _adjust(self) -> None:
        """Move all joints except the legs to the goal posture."""
        self._is_adjusting = True
        self._next = self._goal
        target = self.observation.target
        legs = set(self.robot.leg_joints)
        tracks: list[Track] = []
        speed = radians(self.parameters.speed_deg_s)
        for lead, moved in self.robot.servos.items():
            if legs & set(moved):
                continue
            j = self.robot.joint_index(lead)
            distance = abs(float(self._goal.angles[j] - target[j]))
            if distance > 1e-3:
                # The top speed of the cubic from rest to rest is 1.5 times its mean.
                time_s = max(0.1, 1.5 * distance / speed)
                tracks.append(
                    Track(
                        joint=lead,
                        times_s=(time_s,),
                        angles=(float(self._goal.angles[j]),),
                    )
                )
        if tracks:
            name = ADJUST.format(self._goal.name)
            self._playing = self.play(Motion(name=name, tracks=tuple(tracks)))

    # -- present posture ---------------------------------------------------------------

    @property
    def _tolerance(self) -> float:
        return radians(self.parameters.tolerance_deg)

    def _nearest(self) -> Posture:
        """Return the start posture that is nearest to the legs.

        Raises:
            NoWayThere: the legs are not near any.
        """
        q = self.observation.q
        legs = [self.robot.joint_index(name) for name in self.robot.leg_joints]
        names = {step.start for step in self.robot.library.transitions}
        known = [self.robot.posture(name) for name in {*names, self._goal.name}]
        known.sort(key=lambda one: (_distance(one, q, legs), one.name))
        nearest = known[0]
        distance = _distance(nearest, q, legs)
        if distance > self._tolerance:
            raise NoWayThere(
                f"no transition starts at the present leg angles: the nearest posture "
                f"is {nearest.name!r}, {degrees(distance):.0f} degrees away."
            )
        return nearest

    def _furthest(self, posture: Posture) -> tuple[str, float]:
        """Return the joint farthest from a posture, and its distance in rad."""
        delta = np.abs(self.observation.q - posture.angles)
        for joint in self.robot.absent_joints:
            delta[self.robot.joint_index(joint)] = 0.0
        j = int(np.argmax(delta))
        return self.robot.joint_names[j], float(delta[j])

    def _has_reached(self, posture: Posture) -> bool:
        """Return True if encoders and recogniser show a posture.

        Raises:
            NoWayThere: they do not show it after the settling time.
        """
        joint, delta = self._furthest(posture)
        if posture is self._goal and not self._is_adjusting and not self._way:
            delta = 0.0  # arms and head may still be adjusted
        group = set_of_states(self.robot, posture.state or "")
        state = None if group is None else self.active_state(group)
        is_in_state = group is None or state == posture.state
        if state is None and posture is not self._goal:
            # The recogniser does not show the previous state again before the goal.
            is_in_state |= (
                posture.state == self._old_state and not self._is_overturned()
            )
        if delta <= self._tolerance and is_in_state:
            return True
        if self.time_s - self._since_s < self.parameters.settle_s:
            return False
        if delta > self._tolerance:
            raise NoWayThere(
                f"{joint} is {degrees(delta):.1f} degrees from {posture.name!r}; at "
                f"most {self.parameters.tolerance_deg:g} are accepted."
            )
        raise NoWayThere(
            f"in {posture.name!r} the robot should be in the state {posture.state!r}; "
            f"it is in {state!r}."
        )


def _distance(posture: Posture, q: np.ndarray, joints: list[int]) -> float:
    """Return the root mean square difference of some joints, in rad."""
    if not joints:
        return 0.0
    return sqrt(float(np.mean((q[joints] - posture.angles[joints]) ** 2)))


@dataclass(frozen=True, kw_only=True)
class StandParameters(GoToPostureParameters):
    """Goal posture and tolerances."""

    posture: str = "upright"


@dataclass(frozen=True, kw_only=True)
class SitParameters(GoToPostureParameters):
    """Goal posture and tolerances."""

    posture: str = "sit"


@dataclass(frozen=True, kw_only=True)
class CrouchParameters(GoToPostureParameters):
    """Goal posture and tolerances."""

    posture: str = "crouch"


class Stand(GoToPosture):
    """Schema that goes to the upright posture."""

    info = SchemaInfo("stand", "Stand up.", period_s=0.02, parameters=StandParameters)


class Sit(GoToPosture):
    """Schema that goes to the posture for sitting."""

    info = SchemaInfo("sit", "Sit down.", period_s=0.02, parameters=SitParameters)


class Crouch(GoToPosture):
    """Schema that goes to the posture for crouching."""

    info = SchemaInfo("crouch", "Crouch.", period_s=0.02, parameters=CrouchParameters)
