"""Stream of a motion, or of several that follow each other: set-points for each slot.

From the keyframes of a motion to one set-point a motor and slot (DB3): all
motors of a motion start from where they are and rest at their own last keyframe until
the motion is over. No motor may be faster than it can; the way back after an interrupt
is a cubic at half speed.
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
"""By how much a speed may pass the limit: rounding of angles and set-points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TooFast:
    """A motor would have to be faster than it can."""

    motor: str
    from_s: float
    """Keyframe before it, in s; 0 is the start."""
    to_s: float
    """Keyframe after it, in s."""
    speed: float
    """What it takes, in rad/s."""
    limit: float
    """What it can, in rad/s."""

    def __str__(self) -> str:
        """Return it as text."""
        return (
            f"{self.motor} would move with up to {math.degrees(self.speed):.1f} °/s "
            f"between {self.from_s:g} s and {self.to_s:g} s; it can "
            f"{math.degrees(self.limit):.1f} °/s"
        )


def item_count(length_s: float, slot_s: float) -> int:
    """Return the number of slots that a length takes, at least 1.

    Part of a slot counts as one; an excess of a billionth is rounding.
    """
    return max(1, math.ceil(length_s / slot_s - 1e-9))


def too_fast(
    motion: Motion, start: Mapping[str, float], limits: Mapping[str, float]
) -> Iterator[TooFast]:
    """Yield where a motion is too fast when it starts from somewhere.

    Args:
        motion: its keyframes.
        start: motor to the angle in rad from which it starts.
        limits: motor to its largest speed in rad/s.
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

    Row k is commanded in slot k and belongs to the end of that slot, so that the last
    row is the end of the motion.

    Args:
        motion: its keyframes.
        start: motor to the angle in rad from which it starts.
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
    """Return set-points from rest in one place to rest in another, at half speed.

    Each is a cubic; all joints arrive together; the one that takes longest is at half
    of its largest speed in the middle, where a cubic from rest to rest is at 3/2 of its
    mean speed.

    Args:
        start: (n,) in rad.
        end: (n,) in rad.
        limits: (n,) largest speeds in rad/s.
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
    """Return times and angles with the start before them."""
    return np.array((0.0, *track.times_s)), np.array((start, *track.angles))


class MotionStream:
    """Set-points of the motors of some motions, one after the other without a gap.

    The way between two postures may take several motions; its data are sent as one set.
    A motor rests while it has no part in a motion. No motions are one instant without a
    set-point: points without a motor.
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
            motions: in their order.
            token: proof of a reservation of all their motors.
            effectors: the leaves and limits of the motors.
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
        """Number of its items, known before it begins."""
        firsts = accumulate(counts[:-1], initial=0)
        names = [motion.name for motion in motions]
        self.parts = NO_PARTS
        if len(names) > 1:
            self.parts = dict(zip(firsts, names, strict=True))
        self._start: list[float] = []
        self._rows: list[list[float]] = []

    def begin(self, present: Present) -> int:
        """Sample all set-points from where the motors are; return their number.

        Raises:
            CannotBegin: a motor would be too fast.
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
        """Return leaf to set-point in rad at instant `k`."""
        return dict(zip(self.leaves, self._rows[k], strict=True))

    def rejoin(self, k: int, present: Present) -> Sequence[Mapping[str, float]]:
        """Return the way back to where item `k` can follow, at half speed."""
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
