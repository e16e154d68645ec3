"""The stream of a motion, or of several that follow each other."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from controllers.arbitration.tokens import Token
from controllers.sync.orders.content import name_of
from controllers.sync.streams.effector_leaves import EffectorLeaves
from controllers.sync.streams.stream import NO_PARTS, CannotBegin, Present
from controllers.sync.streams.trajectory import (
    REL_SPEED,
    item_count,
    sample_motion,
    too_fast,
    way_back,
)
from models.library import Motion, Unit

FloatArray = NDArray[np.float64]


class MotionStream:
    """Set-points of the motors of some motions, one after the other without a gap.

    The way between two postures may take several motions; its data are sent as one set
    (SY-20). A motor rests while it has no part in a motion. No motions are one instant
    without a set-point: points without a motor (SY-28).
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
        rows = way_back(here, target, limits, self._slot_s).tolist()
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
