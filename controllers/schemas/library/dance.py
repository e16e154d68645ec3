"""Dance that pauses only at stable stops of its motion.

The motion is played in parts, from one of its stable stops to the next. Each part
begins and ends at rest. The robot may rest at a stop for any time, and only there. A
joint without a keyframe at a stop gets one on its curve.

On a stop request by modulation, or if a motor gets hot, the dance continues to the next
stop, rests there, and resumes from there. With the policy `callback`, a request for its
resources has a similar effect: at the next stop the dance releases them and finishes.
With `resumes` it pauses there, and continues from that stop when it has the resources
again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, radians
from typing import Any

import numpy as np

from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
)
from nao_testbed.controllers.schemas.activation import Activation
from nao_testbed.controllers.schemas.actuators import Playing
from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
)
from nao_testbed.controllers.schemas.library.common import (
    PostureStateSchema,
    resources_of_joints,
)
from nao_testbed.controllers.schemas.library.heat_and_battery import onset_limit
from nao_testbed.controllers.schemas.library.move import NotPlayed
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.library import Motion, Track, sample_curve

SAME_S = 1e-6
"""Difference below which times are equal, in s."""


def parts_between_stops(motion: Motion, robot: Robot) -> tuple[Motion, ...]:
    """Split a motion at its stops, in order; a single part without stops.

    Args:
        motion: motion with `stops_s`.
        robot: contains the start posture of the motion.

    Raises:
        BadInput: a joint's first keyframe is after a stop, and the motion has no start
            posture, so that the joint's angle at the stop is unknown.
    """
    ends = [stop for stop in motion.stops_s if stop < motion.length_s - SAME_S]
    ends.append(motion.length_s)
    tracks = [_from_start(track, motion, robot, ends[0]) for track in motion.tracks]
    parts: list[Motion] = []
    begin = 0.0
    for number, end in enumerate(ends, start=1):
        cut = [_cut(track, motion, begin, end) for track in tracks]
        parts.append(
            Motion(
                name=f"{motion.name} {number}/{len(ends)}",
                tracks=tuple(track for track in cut if track is not None),
                interpolation=motion.interpolation,
                start=motion.start if number == 1 else None,
                end=motion.end if number == len(ends) else None,
            )
        )
        begin = end
    return tuple(parts)


def angles_at_end(part: Motion) -> dict[str, float]:
    """Return the joint angles at the end of a part, in rad."""
    return {track.joint: track.angles[-1] for track in part.tracks}


def _from_start(track: Track, motion: Motion, robot: Robot, first: float) -> Track:
    """Return a track with a keyframe at time 0, if an earlier part needs it."""
    if track.times_s[0] <= first + SAME_S:
        return track
    if motion.start is None:
        raise BadInput(
            f"motion {motion.name!r} has a stop at {first:g} s, but {track.joint} has "
            f"its first keyframe at {track.times_s[0]:g} s; add one at the stop or "
            "before, or set the start posture of the motion."
        )
    angle = robot.posture(motion.start).angles[robot.joint_index(track.joint)]
    return Track(
        joint=track.joint,
        times_s=(0.0, *track.times_s),
        angles=(float(angle), *track.angles),
    )


def _cut(track: Track, motion: Motion, begin: float, end: float) -> Track | None:
    """Return the part of a track between two times, relative to the first.

    None if the joint's last keyframe is earlier.
    """
    if track.times_s[-1] <= begin + SAME_S:
        return None
    inside = [
        (time - begin, angle)
        for time, angle in zip(track.times_s, track.angles, strict=True)
        if begin + SAME_S < time < end - SAME_S
    ]
    angle = float(
        sample_curve(
            np.array(track.times_s),
            np.array(track.angles),
            motion.interpolation,
            np.array([end]),
        )[0]
    )
    keyframes = [*inside, (end - begin, angle)]
    if track.times_s[-1] < end - SAME_S:
        keyframes = inside
    return Track(
        joint=track.joint,
        times_s=tuple(time for time, _ in keyframes),
        angles=tuple(angle for _, angle in keyframes),
    )


RESUME_TOLERANCE_DEG = 8.0
"""Maximum difference of a joint from a stop for resuming the dance there."""
RETURN_SPEED_DEG_S = 60.0
"""Speed at which arms and head return to a stop, in degrees/s."""


@dataclass(frozen=True, kw_only=True)
class DanceParameters(Parameters):
    """Motion, stop requests and heat limits of a dance."""

    motion: str = "dance"
    """Name of a motion of the library with `stops_s`."""
    repeat: int = bounded(1, 0, 1_000_000)
    """Number of repetitions; 0: unlimited."""
    stop: bool = False
    """True: rest at the next stop until it is False again."""
    limit_degc: float = bounded(76.0, 0.0, 200.0, "°C")
    """Rest if a motor is predicted to exceed this within `warn_s`, in °C. Default as in
    `hot joint watch`."""
    warn_s: float = bounded(30.0, 0.0, 36_000.0, "s")
    """Prediction time for `limit_degc`, in s; see `hot joint watch`."""
    resumes: bool = False
    """With the policy `callback`: at the next stop a requester gets the motors.
    True: the dance continues there when it has them again. False: it finishes."""
    wait_s: float = bounded(1.0, 0.0, 3600.0, "s")
    """Time at rest at a stop after the last request, with `resumes`, in s; waiting
    requests repeat every 0.5 s, the `retry_s` of the reservations."""


class Dance(PostureStateSchema[DanceParameters]):
    """Dance that plays the parts of its motion in turn, in its start state."""

    info = SchemaInfo(
        "dance",
        "Dance from one stable stop to the next; rest only there.",
        period_s=0.01,
        parameters=DanceParameters,
        outputs=(
            Variable(
                "is_resting",
                bool,
                "True while it rests at a stop on request or because of heat.",
                initial=False,
            ),
            Variable(
                "part",
                int,
                "Index of the present or next part, from 0.",
                initial=0,
            ),
        ),
        reads=("hot joint watch.is_warning",),
    )
    _part = 0
    _count = 0
    _playing: Playing | None = None
    _is_requested = False
    """True after a request for its resources."""
    _last_request_s = -inf
    """Time of the last request, in s."""
    _is_at_stop = True
    """False if joints may have been moved away from the stop."""

    @classmethod
    def robot_defaults(cls, robot: Robot) -> Mapping[str, Any]:
        """Return the limit: where the robot begins to reduce stiffness."""
        return onset_limit(robot)

    @classmethod
    def needs_of(cls, parameters: DanceParameters, robot: Robot) -> tuple[str, ...]:
        """Return the resources of the motion."""
        motion = robot.library.motion(parameters.motion)
        return resources_of_joints(robot, motion.joints)

    @classmethod
    def check_activation(
        cls, activation: Activation, parameters: DanceParameters, robot: Robot
    ) -> None:
        """Raise for an unknown motion, or one that cannot be split at its stops."""
        if parameters.resumes and activation.policy != CallbackOnDemand():
            raise BadInput(
                f"{activation.name!r} has `resumes`, which requires the policy "
                "'callback' without a limit_s; set that policy, or remove `resumes`."
            )
        parts_between_stops(robot.library.motion(parameters.motion), robot)

    def ready(self) -> bool:
        """Return True if the robot is in the start state of the motion."""
        motion = self.robot.library.motion(self.parameters.motion)
        return self.is_in_state_of(motion.start)

    def start(self) -> None:
        """Start, or resume from the last stop if the robot is still there.

        Raises:
            UnknownName: the library has no such motion.
            BadInput: the motion cannot be split at its stops.
        """
        now = self.parameters
        motion = self.robot.library.motion(now.motion)
        self._parts = parts_between_stops(motion, self.robot)
        self._playing = None
        away = self._away_from_stop()
        was_away, self._is_at_stop = not self._is_at_stop, True
        if was_away and away and not away.keys() & set(self.robot.leg_joints):
            self._is_at_stop = False
        elif away is None or away:
            self._part = 0
        self.wake("hot joint watch", limit_degc=now.limit_degc, warn_s=now.warn_s)

    def on_demand(self, demand: Demand) -> Answer | None:
        """Record a request; the dance answers at the next stop."""
        del demand
        self._is_requested, self._last_request_s = True, self.time_s
        if self.parameters.resumes and self._playing is None:
            return Answer(kind=AnswerKind.PAUSE)
        return None

    def on_lost(self) -> None:
        """Record that other owners may move its joints."""
        self._is_at_stop, self._is_requested = False, False

    def stop(self) -> None:
        """Clear the request."""
        self._is_requested = False

    def on_modulated(self) -> None:
        """Do nothing: limits apply at the next start, `stop` immediately."""

    def iterate(self) -> None:
        """At the end of a part, rest, continue, or finish.

        Raises:
            NotPlayed: a part was not played to its end.
        """
        if self._playing is not None:
            if not self._playing.is_over:
                return
            playing, self._playing = self._playing, None
            if playing.has_failed:
                name = self._parts[self._part].name
                raise NotPlayed(f"{name!r} was not completed: {playing.reason}")
            if not self._is_at_stop:
                self._is_at_stop = True
            elif self._advance():
                return
        is_hot = bool(self.read("hot joint watch.is_warning"))
        if self._is_requested and not self.parameters.resumes:
            self.finish()
            return
        is_recent = self.time_s < self._last_request_s + self.parameters.wait_s
        rests = self.parameters.stop or is_hot or (self._is_requested and is_recent)
        self.write("is_resting", rests)
        self.write("part", self._part)
        if rests:
            return
        self._is_requested = False
        away = {} if self._is_at_stop else self._away_from_stop()
        if away:
            self._playing = self.play(self._return_motion(away))
            return
        self._is_at_stop = True
        self._playing = self.play(self._parts[self._part])

    def _advance(self) -> bool:
        """Advance to the next part; return True after the last repetition."""
        self._part += 1
        if self._part < len(self._parts):
            return False
        self._part = 0
        self._count += 1
        if not 0 < self.parameters.repeat <= self._count:
            return False
        self._count = 0
        self.finish()
        return True

    def _away_from_stop(self) -> dict[str, tuple[float, float]] | None:
        """Return the joints away from the last stop, with goal and distance in rad.

        None before the first part, when there is no stop.
        """
        if not 0 < self._part < len(self._parts):
            return None
        q = self.observation.q
        where: dict[str, float] = {}
        for part in self._parts[: self._part]:
            where |= angles_at_end(part)
        distances = {
            j: abs(float(q[self.robot.joint_index(j)]) - a) for j, a in where.items()
        }
        limit = radians(RESUME_TOLERANCE_DEG)
        return {j: (where[j], d) for j, d in distances.items() if d > limit}

    def _return_motion(self, away: dict[str, tuple[float, float]]) -> Motion:
        """Return a motion of these joints back to the stop."""
        # The top speed of the cubic from rest to rest is 1.5 times its mean.
        speed = radians(RETURN_SPEED_DEG_S) / 1.5
        return Motion(
            name=f"{self.parameters.motion} back to stop {self._part}",
            tracks=tuple(
                Track(joint=joint, times_s=(max(0.1, d / speed),), angles=(angle,))
                for joint, (angle, d) in away.items()
            ),
        )
