"""Integrate heat without stepping the physics while a robot stands still.

Heat changes over minutes, a standing robot's torques do not change at all once they
have settled. The physics therefore runs in blocks of one second. When the mean
squared torque of every motor has stayed within a bound over three blocks in a row,
the heating model alone is advanced with their mean, until something may change:

- a temperature reaches a threshold of the protection (or 80 °C, to be reported),
- the jump is over: then the physics runs for one block, and the fast-forward goes on
  only if that block still lies within the bound of the last ones (a limit that drifts
  with its sensors shows up here). Then the next jump may be twice as long; after
  anything else the first length holds again.

The bound is on heat, not on torque: a motor whose mean square changes by less than
`bound` N²m² a block would end, if all of it were wrong, off by bound · 14 K after
15 minutes (NAO's pitch joints). It bounds three blocks, not a drift over many: measured
against `--full`, 15 minutes of preset `document`, the joint that is furthest off ends
0.001 K from it with `fixed` and 0.07 K with `smart`, in 9 and 10 s of physics; with
jumps of 60 s throughout it is 0.001 and 0.20 K, in 20 and 33 s. On two robots with
errors of up to 2° at every leg joint, on slopes of up to 2°, it is 0.001 K with `fixed`
and 0.12 K with `smart`, and the joule loss of the legs is 0.4 % off at most.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FastForwardCfg:
    """When to stop stepping the physics, and for how long."""

    block_s: float = 1.0
    """Length of a block of physics in s."""
    blocks: int = 3
    """Blocks in a row that must agree."""
    bound: float = 0.02
    """Largest spread of a motor's mean squared torque over these blocks, in N²m²."""
    relative_bound: float = 0.02
    """And as a fraction of its mean, whichever is larger."""
    shift_bound: float = 0.001
    """Largest change over these blocks of a set-point that the controller shifts, in
    rad: torques may look steady while it slowly goes on."""
    not_before_s: float = 5.0
    """Time for taking the posture and settling, in s."""
    first_jump_s: float = 60.0
    """Longest time without physics at first, in s."""
    growth: float = 2.0
    """Factor on it each time that the physics in between was as steady as before."""
    longest_jump_s: float = 480.0
    """Up to this, in s."""


class JumpLength:
    """How long the physics may be left alone: longer as nothing changes."""

    def __init__(self, cfg: FastForwardCfg) -> None:
        """Begin with the first length."""
        self._cfg = cfg
        self._next_s = cfg.first_jump_s

    def take(self) -> float:
        """Return the length of a jump in s; the next one may be longer."""
        length_s = min(self._next_s, self._cfg.longest_jump_s)
        self._next_s = length_s * self._cfg.growth
        return length_s

    def restart(self) -> None:
        """Begin anew: something changed."""
        self._next_s = self._cfg.first_jump_s


class Steadiness:
    """Watches the blocks and tells when the torques are steady."""

    def __init__(self, cfg: FastForwardCfg) -> None:
        """Start with no block seen."""
        self._cfg = cfg
        self.block_s = cfg.block_s
        self._blocks: deque[FloatArray] = deque(maxlen=cfg.blocks)
        self._shifts: deque[FloatArray | float] = deque(maxlen=cfg.blocks)

    def add(self, mean_square: FloatArray, shift: FloatArray | None = None) -> None:
        """Take a block.

        Args:
            mean_square: (n_motors,) mean squared torques over it, in N²m².
            shift: (n_joints,) of the set-points at its end, in rad; None: none.
        """
        self._blocks.append(mean_square.copy())
        self._shifts.append(0.0 if shift is None else shift.copy())

    def mean(self) -> FloatArray:
        """Return the mean over the last blocks, (n_motors,) in N²m²."""
        mean: FloatArray = np.mean(list(self._blocks), axis=0)
        return mean

    def worst(self) -> float:
        """Return the largest spread over its bound: steady where at most 1."""
        if len(self._blocks) < self._cfg.blocks:
            return float("inf")
        blocks = np.array(list(self._blocks))
        spread = np.ptp(blocks, axis=0)
        bound = np.maximum(
            self._cfg.bound, self._cfg.relative_bound * blocks.mean(axis=0)
        )
        shifted = np.ptp(np.stack(np.broadcast_arrays(*self._shifts)), axis=0).max()
        return float(max((spread / bound).max(), shifted / self._cfg.shift_bound))

    def is_steady(self) -> bool:
        """Are all motors and shifts within their bounds?"""
        return self.worst() <= 1.0
