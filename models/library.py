"""Library of a robot's stored actions: motions, lights, sounds, and commands.

Five databases [CN1396856, fig. 11 and 17]: commands (DB1), transitions between postures
(DB2), motions (DB3), light patterns (DB4), sounds (DB5). A `Library` holds all of them;
`LibraryOnDemand` reads its files on first access: some hundred lines of YAML take a
third of a second, and most uses of a robot do not need them.

A motion is a curve for each joint through its keyframes. Between keyframes i and i + 1,
with h = t[i+1] - t[i], D = (y[i+1] - y[i]) / h and the slopes m of [fritsch1980], the
cubic is the Hermite polynomial of y[i], m[i], y[i+1], m[i+1]. It is monotone between
keyframes, so that a joint stays within the range of its keyframes. The slope is zero at
both ends and where D changes its sign; there the joint is at rest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

import numpy as np

from nao_testbed.models.errors import UnknownName
from nao_testbed.models.values import FloatArray


class Unit(StrEnum):
    """Kind of effector, in its order on a bus [CN1396856, fig. 18]."""

    MOTION = "motion"
    LIGHT = "light"
    SOUND = "sound"


PRESET = 100
"""Sum of points at which a group starts [CN1396856, description of fig. 18]."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """Command of the robot, as output commands to its units.

    With points it is synchronous: all outputs start together, or none. Without points,
    each output is independent and starts at once.
    """

    name: str
    outputs: Mapping[Unit, str]
    """Unit to the name of a motion, light pattern or sound."""
    to: str | None = None
    """Target posture instead of a motion, reached by transitions from any posture;
    None: no target."""
    points: Mapping[Unit, int] = field(default_factory=dict)
    """Points of each output; they sum to `preset`, or less if others join the group."""
    preset: int = PRESET

    @property
    def is_synchronous(self) -> bool:
        """True if its outputs start together."""
        return bool(self.points)


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """Motion from one posture to another."""

    start: str
    end: str
    motion: str
    """Name of the motion."""


class Interpolation(StrEnum):
    """Interpolation of a joint between keyframes."""

    LINEAR = "linear"
    """Constant speed between keyframes."""
    CUBIC = "cubic"
    """Cubic polynomials with the tangents of PCHIP [fritsch1980]: monotone between
    keyframes, at rest at both ends and where the direction reverses."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Track:
    """Keyframes of one joint.

    Before the first keyframe the joint moves there from its position at the start.
    """

    joint: str
    times_s: tuple[float, ...]
    """Times since the start of the motion, in s: positive, ascending."""
    angles: tuple[float, ...]
    """Angles at these times, in rad."""


@dataclass(frozen=True, kw_only=True)
class Motion:
    """Keyframes of some joints, with the postures at both ends."""

    name: str
    tracks: tuple[Track, ...]
    """Tracks, at most one per joint."""
    interpolation: Interpolation = Interpolation.CUBIC
    start: str | None = None
    """Posture at the start; None: any posture."""
    end: str | None = None
    """Posture at the end; None: no stored posture."""
    stops_s: tuple[float, ...] = ()
    """Times in s, ascending, at which the robot is stable and may pause."""

    @property
    def length_s(self) -> float:
        """Time of its last keyframe in s."""
        return max(track.times_s[-1] for track in self.tracks)

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that it moves."""
        return tuple(track.joint for track in self.tracks)


@dataclass(frozen=True, kw_only=True, slots=True)
class LightStep:
    """Common start of a fade of some LEDs to a colour."""

    at_s: float
    """Time since the start of the pattern, in s."""
    leds: tuple[str, ...]
    """Leaves of the resource tree, such as `Left eye`."""
    colour: tuple[float, float, float]
    """Red, green and blue in [0, 1]; single-colour LEDs use their maximum."""
    fade_s: float = 0.0
    """Time from the present colour to this one, in s; 0: at once."""


@dataclass(frozen=True, kw_only=True)
class LightPattern:
    """Light steps in the order of their time."""

    name: str
    steps: tuple[LightStep, ...]
    length_s: float
    """Duration in s: at least to the end of the last fade."""

    @property
    def leds(self) -> tuple[str, ...]:
        """Leaves that it lights, in the order of their first step."""
        return tuple(dict.fromkeys(led for step in self.steps for led in step.leds))


LONGEST_TEXT = 5000
"""Largest number of characters of one utterance: about ten minutes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sound:
    """Text or tone; its length is that of its samples."""

    name: str
    text: str | None = None
    """Text to say; None: a tone."""
    tone_hz: float | None = None
    """Frequency of a tone in Hz."""
    length_s: float | None = None
    """Length of a tone, in s; speech has its own length."""
    volume: float = 1.0
    """Fraction of full scale, in [0, 1]."""


_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Library:
    """Stored actions of a robot, without references to missing actions."""

    orders: Mapping[str, Order] = field(default_factory=dict)
    """Commands (DB1)."""
    transitions: tuple[Transition, ...] = field(default_factory=tuple)
    """Transitions (DB2)."""
    motions: Mapping[str, Motion] = field(default_factory=dict)
    """Motions (DB3)."""
    lights: Mapping[str, LightPattern] = field(default_factory=dict)
    """Light patterns (DB4)."""
    sounds: Mapping[str, Sound] = field(default_factory=dict)
    """Sounds (DB5)."""

    def order(self, name: str) -> Order:
        """Return a command by name, or raise `UnknownName`."""
        return _find("Command", name, self.orders)

    def motion(self, name: str) -> Motion:
        """Return a motion by name, or raise `UnknownName`."""
        return _find("Motion", name, self.motions)

    def light(self, name: str) -> LightPattern:
        """Return a light pattern by name, or raise `UnknownName`."""
        return _find("Light pattern", name, self.lights)

    def sound(self, name: str) -> Sound:
        """Return a sound by name, or raise `UnknownName`."""
        return _find("Sound", name, self.sounds)

    def with_more(self, more: "Library") -> "Library":
        """Return both libraries merged; entries of `more` replace equal names."""
        ways = {
            (way.start, way.end): way for way in (*self.transitions, *more.transitions)
        }
        return Library(
            orders={**self.orders, **more.orders},
            transitions=tuple(ways.values()),
            motions={**self.motions, **more.motions},
            lights={**self.lights, **more.lights},
            sounds={**self.sounds, **more.sounds},
        )


def _find(kind: str, name: str, known: Mapping[str, _T]) -> _T:
    if name not in known:
        raise UnknownName(kind, name, known, "the robot's library")
    return known[name]


class LibraryOnDemand(Library):
    """Library that reads and checks its files on first access."""

    _read: Callable[[], Library]

    def __init__(self, read: Callable[[], Library]) -> None:
        """Store the function that reads the library, called on first access."""
        object.__setattr__(self, "_read", read)

    def __getattr__(self, name: str) -> object:
        """Read the library; Python calls this only while its fields are missing."""
        names = [its_field.name for its_field in fields(Library)]
        if name not in names:
            raise AttributeError(f"a library has no {name!r}")
        library = self._read()
        for its_name in names:
            object.__setattr__(self, its_name, getattr(library, its_name))
        return getattr(library, name)


def slopes_at_keyframes(times: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the slopes of a cubic at its keyframes.

    At inner keyframes it is the weighted harmonic mean of the chords D before and
    after, in the form for uneven spacing of SciPy's PCHIP [fritsch1980]. At both ends
    it is zero, where PCHIP would extrapolate.

    Args:
        times: (n,) rising, in s, n at least 2.
        angles: (n,) in rad.

    Returns:
        (n,) in rad/s.
    """
    h = np.diff(times)  # (n - 1,)
    chord = np.diff(angles) / h  # (n - 1,)
    before, after = chord[:-1], chord[1:]
    slopes = np.zeros(len(times))
    turns = before * after <= 0.0
    weight_before = 2.0 * h[1:] + h[:-1]
    weight_after = h[1:] + 2.0 * h[:-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = (weight_before + weight_after) / (
            weight_before / before + weight_after / after
        )
    slopes[1:-1] = np.where(turns, 0.0, mean)
    return slopes


def largest_speeds(
    times: FloatArray, angles: FloatArray, interpolation: Interpolation
) -> FloatArray:
    """Return the largest speed between consecutive keyframes.

    The result is exact for a cubic, whose speed is a parabola with its maximum at an
    end or at the vertex.

    Args:
        times: (n,) rising, in s, n at least 2.
        angles: (n,) in rad.
        interpolation: kind of interpolation.

    Returns:
        (n - 1,) in rad/s, not negative.
    """
    h = np.diff(times)
    chord = np.diff(angles) / h
    if interpolation is Interpolation.LINEAR:
        return np.abs(chord)
    slopes = slopes_at_keyframes(times, angles)
    first, last = slopes[:-1], slopes[1:]
    # y'(u) = first + 2 b u + 3 c u², u = (t - t[i]) / h in [0, 1].
    b = 3.0 * chord - 2.0 * first - last
    c = first + last - 2.0 * chord
    with np.errstate(divide="ignore", invalid="ignore"):
        u = -b / (3.0 * c)
    at_vertex = np.where((u > 0.0) & (u < 1.0), first + b * np.nan_to_num(u), 0.0)
    largest: FloatArray = np.max(np.abs([first, last, at_vertex]), axis=0)
    return largest


def sample_curve(
    times: FloatArray,
    angles: FloatArray,
    interpolation: Interpolation,
    at: FloatArray,
) -> FloatArray:
    """Return the angles of a curve at some times.

    Args:
        times: (n,) of the keyframes, rising, in s, n at least 2.
        angles: (n,) in rad.
        interpolation: kind of interpolation.
        at: (k,) in s; constant before the first keyframe and after the last.

    Returns:
        (k,) in rad.
    """
    if interpolation is Interpolation.LINEAR:
        return np.interp(at, times, angles)
    at = np.clip(at, times[0], times[-1])
    i = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    h = times[i + 1] - times[i]
    u = (at - times[i]) / h
    slopes = slopes_at_keyframes(times, angles)
    rise = angles[i + 1] - angles[i]
    first, last = h * slopes[i], h * slopes[i + 1]
    b = 3.0 * rise - 2.0 * first - last
    c = first + last - 2.0 * rise
    curve = angles[i] + u * (first + u * (b + u * c))
    return np.clip(curve, angles.min(), angles.max())  # against rounding


def first_not_rising(times: tuple[float, ...]) -> int | None:
    """Return the index of the first time that is not after the previous one."""
    pairs = enumerate(pairwise(times), start=1)
    return next((i for i, (before, time) in pairs if time <= before), None)
