"""A motion: keyframes of joints in time (DB3)."""

from dataclasses import dataclass
from enum import StrEnum


class Interpolation(StrEnum):
    """How a joint moves from one keyframe to the next."""

    LINEAR = "linear"
    """At constant speed."""
    CUBIC = "cubic"
    """By cubic polynomials with the tangents of PCHIP [fritsch1980]: monotone between
    keyframes, at rest at both ends and where the direction turns."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Track:
    """The keyframes of one joint.

    Before the first one it goes there from wherever it is at the start.
    """

    joint: str
    times_s: tuple[float, ...]
    """Since the start of the motion, in s: positive, rising."""
    angles: tuple[float, ...]
    """At these times, in rad."""


@dataclass(frozen=True, kw_only=True)
class Motion:
    """Keyframes of some joints, and between which postures they lead."""

    name: str
    tracks: tuple[Track, ...]
    """At most one a joint."""
    interpolation: Interpolation = Interpolation.CUBIC
    start: str | None = None
    """Posture in which it begins; None: any."""
    end: str | None = None
    """Posture in which it ends; None: no stored one."""
    stops_s: tuple[float, ...] = ()
    """Times at which it may rest: the robot stands stably then, in s, rising."""

    @property
    def length_s(self) -> float:
        """Time of its last keyframe in s."""
        return max(track.times_s[-1] for track in self.tracks)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that it moves."""
        return tuple(track.joint for track in self.tracks)
