"""Dances, and stops only where the robot stands stably.

The motion is played in parts, from one of its stable stops to the next. Each part
begins and ends at rest: at a stop, and only there, the robot may stay as long as it
likes. A joint without a keyframe at a stop gets one where its curve passes.

Asked to stop, by its modulation or because a motor gets hot, it goes on to the next
stop, rests there, and resumes from there. With the policy `callback` it answers so to
those who ask for its resources: at the next stop it gives them back and has finished.
With `resumes` it pauses there: when they are its own again it goes on from that
stop.
"""

from dataclasses import dataclass
from math import inf, radians

import numpy as np

from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
)
from nao_testbed.controllers.schemas.actuators import Playing
from nao_testbed.controllers.schemas.declaration import (
    Parameters,
    SchemaInfo,
    Variable,
    bounded,
)
from nao_testbed.controllers.schemas.library.common import (
    StateMinded,
    resources_of_joints,
)
from nao_testbed.controllers.schemas.library.move import NotPlayed
from nao_testbed.controllers.schemas.waking import Waking
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.library import Motion, Track, sample_curve

SAME_S = 1e-6
"""Times that are closer are the same."""


def parts_between_stops(motion: Motion, robot: Robot) -> tuple[Motion, ...]:
    """Return the parts of a motion, in their order; one if it has no stops.

    Args:
        motion: with `stops_s`.
        robot: knows the posture in which it begins.

    Raises:
        BadInput: a joint's first keyframe is after a stop, and the motion does not say
            in which posture it begins, so that nobody knows where the joint is then.
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
    """Return where the joints of a part are at its end, in rad."""
    return {track.joint: track.angles[-1] for track in part.tracks}


def _from_start(track: Track, motion: Motion, robot: Robot, first: float) -> Track:
    """Return a track with a keyframe at time 0, if its curve is needed before."""
    if track.times_s[0] <= first + SAME_S:
        return track
    if motion.start is None:
        raise BadInput(
            f"motion {motion.name!r} may rest at {first:g} s, but {track.joint} has "
            f"its first keyframe at {track.times_s[0]:g} s; give it one at the stop or "
            "before, or say in which posture the motion begins."
        )
    angle = robot.posture(motion.start).angles[robot.joint_index(track.joint)]
    return Track(
        joint=track.joint,
        times_s=(0.0, *track.times_s),
        angles=(float(angle), *track.angles),
    )


def _cut(track: Track, motion: Motion, begin: float, end: float) -> Track | None:
    """Return a track from one time to another, times counted from the first.

    None where the joint has come to its last keyframe before.
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


STILL_THERE_DEG = 8.0
"""Largest difference of a joint from a stop at which the dance can resume from it."""
BACK_DEG_S = 60.0
"""Speed at which arms and head go back to a stop, in degrees/s."""


@dataclass(frozen=True, kw_only=True)
class DanceParameters(Parameters):
    """What it dances, and when it rests."""

    motion: str = "dance"
    """Name of a motion of the library with `stops_s`."""
    repeat: int = bounded(1, 0, 1_000_000)
    """How often; 0 for ever."""
    stop: bool = False
    """True lets it rest at the next stop until it is False again."""
    limit_degc: float = bounded(76.0, 0.0, 200.0, "°C")
    """It rests while a motor will be hotter than this within `warn_s`, in °C."""
    warn_s: float = bounded(30.0, 0.0, 36_000.0, "s")
    """How far ahead it looks for that, in s; see `hot joint watch`."""
    resumes: bool = False
    """With the policy `callback`: who asks gets its motors at the next stop, and it
    goes on from there when it has them again. False: it has finished there."""
    wait_s: float = bounded(1.0, 0.0, 3600.0, "s")
    """`resumes`: how long it rests at a stop after it was asked last, in s; who still
    waits asks every 0.5 s, the `retry_s` of the reservations."""


class Dance(StateMinded[DanceParameters]):
    """Plays the parts of its motion one after another, in the state it begins in."""

    info = SchemaInfo(
        "dance",
        "Dances from one stable stop to the next, and rests only there.",
        period_s=0.01,
        parameters=DanceParameters,
        outputs=(
            Variable(
                "is_resting",
                bool,
                "Whether it rests at a stop because it was asked to.",
                initial=False,
            ),
            Variable(
                "part",
                int,
                "Number of the part that is played or comes next, from 0.",
                initial=0,
            ),
        ),
        reads=("hot joint watch.is_warning",),
    )
    _part = 0
    _count = 0
    _playing: Playing | None = None
    _is_asked = False
    """Whether somebody wants its resources."""
    _asked_s = -inf
    """When somebody last did, in s."""
    _is_back = True
    """Whether it is at its stop, as far as it could be moved away meanwhile."""

    @classmethod
    def needs_of(cls, parameters: DanceParameters, robot: Robot) -> tuple[str, ...]:
        """Return what the motion moves."""
        motion = robot.library.motion(parameters.motion)
        return resources_of_joints(robot, motion.joints)

    @classmethod
    def check_waking(
        cls, waking: Waking, parameters: DanceParameters, robot: Robot
    ) -> None:
        """Refuse a motion that there is not, or that cannot be cut at its stops."""
        if parameters.resumes and waking.policy != CallbackOnDemand():
            raise BadInput(
                f"{waking.name or waking.schema!r} resumes after it gave way; give it "
                "the policy 'callback' without a limit_s, or leave resumes out."
            )
        parts_between_stops(robot.library.motion(parameters.motion), robot)

    def ready(self) -> bool:
        """Whether the robot is in the state in which the motion begins."""
        motion = self.robot.library.motion(self.parameters.motion)
        return self.is_in_state_of(motion.start)

    def start(self) -> None:
        """Begin, or resume from the stop at which it was, if the robot is still there.

        Raises:
            UnknownName: the library has no such motion.
            BadInput: it cannot be cut at its stops.
        """
        now = self.parameters
        motion = self.robot.library.motion(now.motion)
        self._parts = parts_between_stops(motion, self.robot)
        self._playing = None
        away = self._away_from_stop()
        gave_way, self._is_back = not self._is_back, True
        if gave_way and away and not away.keys() & set(self.robot.leg_joints):
            self._is_back = False
        elif away is None or away:
            self._part = 0
        self.wake("hot joint watch", limit_degc=now.limit_degc, warn_s=now.warn_s)

    def on_demand(self, demand: Demand) -> Answer | None:
        """Note that somebody asks; the next stop is soon enough."""
        del demand
        self._is_asked, self._asked_s = True, self.time_s
        if self.parameters.resumes and self._playing is None:
            return Answer(kind=AnswerKind.PAUSE)
        return None

    def on_lost(self) -> None:
        """Remember that others may move its joints until it goes on."""
        self._is_back, self._is_asked = False, False

    def stop(self) -> None:
        """Forget who asked."""
        self._is_asked = False

    def on_modulated(self) -> None:
        """Take over new limits at the next start; the wish to stop counts at once."""

    def iterate(self) -> None:
        """At the end of a part rest, go on, or finish.

        Raises:
            NotPlayed: a part was not played to its end.
        """
        if self._playing is not None:
            if not self._playing.is_over:
                return
            playing, self._playing = self._playing, None
            if playing.has_failed:
                name = self._parts[self._part].name
                raise NotPlayed(f"{name!r} was not played to its end: {playing.reason}")
            if not self._is_back:
                self._is_back = True
            elif self._ends_part():
                return
        is_hot = bool(self.read("hot joint watch.is_warning"))
        if self._is_asked and not self.parameters.resumes:
            self.finish()
            return
        is_wanted = self.time_s < self._asked_s + self.parameters.wait_s
        rests = self.parameters.stop or is_hot or (self._is_asked and is_wanted)
        self.write("is_resting", rests)
        self.write("part", self._part)
        if rests:
            return
        self._is_asked = False
        away = {} if self._is_back else self._away_from_stop()
        if away:
            self._playing = self.play(self._way_back(away))
            return
        self._is_back = True
        self._playing = self.play(self._parts[self._part])

    def _ends_part(self) -> bool:
        """Go to the next part; return whether that was the last one of all."""
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
        """Return the joints that are not where it stopped: to where, how far, in rad.

        None where it is at no stop, but before its first part.
        """
        if not 0 < self._part < len(self._parts):
            return None
        q = self.observation.q
        where: dict[str, float] = {}
        for part in self._parts[: self._part]:
            where |= angles_at_end(part)
        far = {
            j: abs(float(q[self.robot.joint_index(j)]) - a) for j, a in where.items()
        }
        limit = radians(STILL_THERE_DEG)
        return {j: (where[j], d) for j, d in far.items() if d > limit}

    def _way_back(self, away: dict[str, tuple[float, float]]) -> Motion:
        """Return the motion of some joints to the stop."""
        # The top speed of the cubic from rest to rest is 1.5 times its mean.
        speed = radians(BACK_DEG_S) / 1.5
        return Motion(
            name=f"{self.parameters.motion} back to stop {self._part}",
            tracks=tuple(
                Track(joint=joint, times_s=(max(0.1, far / speed),), angles=(angle,))
                for joint, (angle, far) in away.items()
            ),
        )
