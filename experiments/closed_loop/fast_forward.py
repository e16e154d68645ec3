"""Integrate heat without stepping the physics while a robot stands still.

Heat changes over minutes, a standing robot's torques do not change at all once they
have settled. The physics therefore runs in blocks of one second. When the mean
squared torque of every motor has stayed within a bound over three blocks in a row,
the heating model alone is advanced with their mean, until something may change:

- a temperature reaches a threshold of the protection (or 80 °C, to be reported),
- the jump is over: then the physics runs for one block, and the fast-forward goes on
  only if that block is still within the bound of the last ones (this detects a limit
  that drifts with its sensors). Then the next jump may be twice as long; after any
  other event the first length applies again.

The bound is on heat, not on torque: a motor whose mean square changes by less than
`bound` N²m² a block would end, if all of it were wrong, off by bound · 14 K after
15 minutes (NAO's pitch joints). It bounds three blocks, not a drift over many: measured
against `--full`, after 15 minutes of preset `document`, joints differ by at most
0.0004 K with `fixed` and 0.23 K with `smart`, in 9 and 32 s of physics. On two
robots with errors of up to 2° at every leg joint, on slopes of up to 2°, it is 0.001 K
with `fixed` and 0.12 K with `smart`, and the joule loss of the legs is 0.4 % off at
most.

Stuck gears let the torques under `minheat` go on creeping for minutes, by a fraction of
a per cent in ten seconds. So the sum of all motors is held to a trend while set-points
are shifted: on robots 0, 1 and 2 of the sweep `fifty_robots` the legs' joule loss over
15 minutes is 0.15, 0.15 and 0.45 % above that of physics all the time, in 64, 38 and
79 s of it; without, 1.3, 0.3 and 1.9 % above in 13 to 17 s.
"""

from collections import deque
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field, with_config

from nao_testbed.models.values import (
    FloatArray,
    NotNegative,
    Positive,
    PositiveSeconds,
    Seconds,
)


@with_config(use_attribute_docstrings=True)
@dataclass(frozen=True, kw_only=True)
class FastForwardCfg:
    """Conditions and lengths of jumps without physics.

    Readers of files enforce the same ranges (`experiments.common.form_parts`).
    """

    block_s: PositiveSeconds = 1.0
    """Length of a block of physics in s."""
    blocks: Annotated[int, Field(ge=1)] = 3
    """Blocks in a row that must agree."""
    bound: Positive = 0.02
    """Largest spread of a motor's mean squared torque over these blocks, in N²m²."""
    relative_bound: NotNegative = 0.02
    """And as a fraction of its mean, whichever is larger."""
    shift_bound: Positive = 0.001
    """Largest change over these blocks of a set-point that the controller shifts, in
    rad: torques may look steady while it slowly goes on."""
    trend_blocks: Annotated[int, Field(ge=2)] = 20
    """While set-points are shifted: blocks in a row over which the sum of all motors'
    mean squared torques must stay."""
    trend_bound: Positive = 0.0005
    """How much its mean over the first half of them may differ from that over the
    second, as a fraction; the noise of that is half as much. A sum that approaches its
    end with a time constant of a minute is then within 0.3 % of it."""
    not_before_s: Seconds = 5.0
    """Time for taking the posture and settling, in s."""
    first_jump_s: PositiveSeconds = 60.0
    """Longest time without physics at first, in s."""
    growth: Annotated[float, Field(ge=1.0, allow_inf_nan=False)] = 2.0
    """Factor on it each time that the physics in between was as steady as before."""
    longest_jump_s: PositiveSeconds = 480.0
    """Up to this, in s."""


class JumpLength:
    """Length of the next jump: it grows as long as nothing changes."""

    def __init__(self, cfg: FastForwardCfg) -> None:
        """Start with the first length."""
        self._cfg = cfg
        self._next_s = cfg.first_jump_s

    def take(self) -> float:
        """Return the length of a jump in s; the next one may be longer."""
        length_s = min(self._next_s, self._cfg.longest_jump_s)
        self._next_s = length_s * self._cfg.growth
        return length_s

    def restart(self) -> None:
        """Restart with the first length after a change."""
        self._next_s = self._cfg.first_jump_s


class Steadiness:
    """Detector of steady torques over blocks."""

    def __init__(self, cfg: FastForwardCfg) -> None:
        """Start with no block seen."""
        self._cfg = cfg
        self.block_s = cfg.block_s
        self._blocks: deque[FloatArray] = deque(maxlen=cfg.blocks)
        self._totals: deque[float] = deque(maxlen=cfg.trend_blocks)
        self._shifts: deque[FloatArray | float] = deque(maxlen=cfg.blocks)

    def add(self, mean_square: FloatArray, shift: FloatArray | None = None) -> None:
        """Take a block.

        Args:
            mean_square: (n_motors,) mean squared torques over it, in N²m².
            shift: (n_joints,) of the set-points at its end, in rad; None: none.
        """
        self._blocks.append(mean_square.copy())
        self._totals.append(float(mean_square.sum()))
        self._shifts.append(0.0 if shift is None else shift.copy())

    def mean(self) -> FloatArray:
        """Return the mean over the last blocks, (n_motors,) in N²m²."""
        mean: FloatArray = np.mean(list(self._blocks), axis=0)
        return mean

    def spread(self) -> FloatArray | None:
        """Return how far the last blocks differ, (n_motors,) in N²m²; None: too few."""
        if len(self._blocks) < self._cfg.blocks:
            return None
        spread: FloatArray = np.ptp(list(self._blocks), axis=0)
        return spread

    def worst(self) -> float:
        """Return the largest spread over its bound: steady where at most 1."""
        spread = self.spread()
        if spread is None:
            return float("inf")
        bound = np.maximum(self._cfg.bound, self._cfg.relative_bound * self.mean())
        worst = float((spread / bound).max())
        shifts = np.stack(np.broadcast_arrays(*self._shifts))
        if shifts.any():
            shifted = float(np.ptp(shifts, axis=0).max()) / self._cfg.shift_bound
            worst = max(worst, shifted, self._trend() / self._cfg.trend_bound)
        return worst

    def _trend(self) -> float:
        """Return how much the sum differs from one half of its blocks to the other."""
        if len(self._totals) < self._cfg.trend_blocks:
            return float("inf")
        totals = np.array(self._totals)
        first, second = np.array_split(totals, 2)
        return float(abs(first.mean() - second.mean()) / totals.mean())

    def is_steady(self) -> bool:
        """Are all motors and shifts within their bounds?"""
        return self.worst() <= 1.0
