"""Stream of consecutive motions: set-points for each slot.

The keyframes of a motion (DB3) are sampled to one set-point per motor and slot. All
motors start at their present angles, and hold their last keyframe until the motion
ends. No motor may exceed its maximum speed. After an interrupt, a cubic at half speed
returns the motors.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.streams import (
    NO_PARTS,
    CannotBegin,
    EffectorLeaves,
    Present,
    name_of,
)
from nao_testbed.models.library import (
    Interpolation,
    Motion,
    Track,
    Unit,
    largest_speeds,
    sample_curve,
)
from nao_testbed.models.values import FloatArray

REL_SPEED = 1e-6
"""Allowed relative excess above the speed limit: rounding of angles and set-points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TooFast:
    """A motion requires more than a motor's maximum speed."""

    motor: str
    from_s: float
    """Time of the keyframe before, in s; 0 is the start."""
    to_s: float
    """Time of the keyframe after, in s."""
    speed: float
    """Required speed in rad/s."""
    limit: float
    """Maximum speed of the motor in rad/s."""

    def __str__(self) -> str:
        """Return the violation as text."""
        return (
            f"{self.motor} would move with up to {math.degrees(self.speed):.1f} °/s "
            f"between {self.from_s:g} s and {self.to_s:g} s; its limit is "
            f"{math.degrees(self.limit):.1f} °/s"
        )


def item_count(length_s: float, slot_s: float) -> int:
    """Return the number of slots of a duration, at least 1.

    A partial slot counts as one; an excess of 1e-9 is a rounding error.
    """
    return max(1, math.ceil(length_s / slot_s - 1e-9))


def too_fast(
    motion: Motion, start: Mapping[str, float], limits: Mapping[str, float]
) -> Iterator[TooFast]:
    """Yield the segments of a motion in which a motor exceeds its maximum speed.

    Args:
        motion: motion with its keyframes.
        start: motor to its start angle in rad.
        limits: motor to its maximum speed in rad/s.
    """
    for track in motion.tracks:
        times, angles = _keyframes(track, start[track.joint])
        limit = limits[track.joint]
        speeds = largest_speeds(times, angles, motion.interpolation)
        for i in np.flatnonzero(speeds > limit * (1.0 + REL_SPEED)).tolist():
            yield TooFast(
                motor=track.joint,
                from_s=float(times[i]),
                to_s=float(times[i + 1]),
                speed=float(speeds[i]),
                limit=limit,
            )


def sample_motion(
    motion: Motion, start: Mapping[str, float], slot_s: float
) -> FloatArray:
    """Return the set-points of a motion for each slot.

    Row k is commanded in slot k and holds for the end of that slot, so that the last
    row is the end of the motion.

    Args:
        motion: motion with motion with its keyframes.
        start: motor to its start angle in rad.
        slot_s: length of a slot, in s.

    Returns:
        (n_slots, n_tracks) in rad, columns in the order of the tracks.
    """
    count = item_count(motion.length_s, slot_s)
    at = slot_s * np.arange(1.0, count + 1)
    return np.column_stack(
        [
            sample_curve(
                *_keyframes(track, start[track.joint]), motion.interpolation, at
            )
            for track in motion.tracks
        ]
    )


def return_motion(
    start: FloatArray, end: FloatArray, limits: FloatArray, slot_s: float
) -> FloatArray:
    """Return set-points of a motion from rest to rest at half the maximum speed.

    Each joint follows a cubic, and all joints arrive together. The slowest joint
    reaches half of its maximum speed in the middle, where a cubic from rest to rest has
    3/2 of its mean speed.

    Args:
        start: (n,) start angles in rad.
        end: (n,) end angles in rad.
        limits: (n,) maximum speeds in rad/s.
        slot_s: length of a slot, in s.

    Returns:
        (n_slots, n) in rad; the last row is `end`.
    """
    length_s = float(np.max(1.5 * np.abs(end - start) / (0.5 * limits)))
    count = item_count(length_s, slot_s)
    times = np.array([0.0, count * slot_s])
    at = slot_s * np.arange(1.0, count + 1)
    return np.column_stack(
        [
            sample_curve(times, np.array(ends), Interpolation.CUBIC, at)
            for ends in zip(start, end, strict=True)
        ]
    )


def _keyframes(track: Track, start: float) -> tuple[FloatArray, FloatArray]:
    """Return the times and angles of a track, with the start prepended."""
    return np.array((0.0, *track.times_s)), np.array((start, *track.angles))


class MotionStream:
    """Set-points of consecutive motions without a gap.

    The way between two postures can consist of several motions, sent as one stream. A
    motor holds its angle while a motion does not move it. An empty sequence of motions
    is a single item without set-points; it only adds its points.
    """

    unit = Unit.MOTION

    def __init__(
        self,
        motions: Sequence[Motion],
        token: Token,
        effectors: EffectorLeaves,
        slot_s: float,
    ) -> None:
        """Prepare to play motions.

        Args:
            motions: motions in the order of play.
            token: token of a reservation of all their motors.
            effectors: leaves and speed limits of the motors.
            slot_s: length of a slot, in s.
        """
        self.label = name_of(tuple(motions))
        self.token = token
        motors = {joint for motion in motions for joint in motion.joints}
        self._motors = sorted(motors, key=lambda motor: effectors.motors[motor])
        self.leaves = tuple(effectors.motors[motor] for motor in self._motors)
        self._limits = {motor: effectors.max_speeds[motor] for motor in self._motors}
        self._motions = tuple(motions)
        self._slot_s = slot_s
        counts = [item_count(motion.length_s, slot_s) for motion in motions]
        self.length = sum(counts) or 1
        """Number of items, known before the start."""
        firsts = accumulate(counts[:-1], initial=0)
        names = [motion.name for motion in motions]
        self.parts = NO_PARTS
        if len(names) > 1:
            self.parts = dict(zip(firsts, names, strict=True))
        self._start: list[float] = []
        self._rows: list[list[float]] = []

    def begin(self, present: Present) -> int:
        """Sample all set-points from the present angles; return the number of items.

        Raises:
            CannotBegin: a motor would exceed its maximum speed.
        """
        here = {
            motor: present[leaf]
            for motor, leaf in zip(self._motors, self.leaves, strict=True)
        }
        self._start = list(here.values())
        parts = []
        for motion in self._motions:
            self._check(motion, here)
            part = np.empty(
                (item_count(motion.length_s, self._slot_s), len(self._motors))
            )
            part[:] = list(here.values())
            columns = [self._motors.index(joint) for joint in motion.joints]
            part[:, columns] = sample_motion(motion, here, self._slot_s)
            here = dict(zip(self._motors, part[-1].tolist(), strict=True))
            parts.append(part)
        self._rows = np.concatenate(parts).tolist() if parts else [[]]
        return len(self._rows)

    def item(self, k: int) -> Mapping[str, float]:
        """Return leaf to set-point in rad of item `k`."""
        return dict(zip(self.leaves, self._rows[k], strict=True))

    def rejoin(self, k: int, present: Present) -> Sequence[Mapping[str, float]]:
        """Return the items that move the motors to item `k`, at half speed."""
        here = np.array([present[leaf] for leaf in self.leaves])
        limits = np.array(list(self._limits.values()))
        gap = np.abs(np.array(self._rows[k]) - here)
        if np.all(gap <= limits * self._slot_s * (1.0 + REL_SPEED)):
            return ()
        target = np.array(self._rows[k - 1] if k else self._start)
        rows = return_motion(here, target, limits, self._slot_s).tolist()
        return [dict(zip(self.leaves, row, strict=True)) for row in rows]

    def _check(self, motion: Motion, here: Mapping[str, float]) -> None:
        problem = next(too_fast(motion, here, self._limits), None)
        if problem is not None:
            where = f" in {motion.start}" if motion.start else ""
            raise CannotBegin(
                self.label,
                f"{problem}. Bring the robot to where {motion.name!r} begins{where} "
                "first.",
            )
