"""Integration of heat without physics while a robot stands still.

Heat changes over minutes, while the torques of a standing robot are constant once they
have settled. The physics therefore runs in blocks of one second. When the mean squared
torque of every motor has stayed within a bound over three consecutive blocks, only the
heating model is advanced with their mean, until one of two events:

- a temperature reaches a threshold of the protection (or 80 °C, to be reported),
- the jump ends: then the physics runs for one block. The fast-forward continues only if
  that block is within the bound of the last ones (this detects a limit that drifts with
  its sensors), and the next jump may be twice as long. After any other event the first
  length applies again.

The bound limits heat, not torque: an error of `bound` N²m² in a motor's mean square
would change its temperature by bound · 14 K after 15 minutes (NAO's pitch joints). It
applies to three blocks, not to a drift over many blocks. `docs/measured/heat.md` gives
the differences from `--full`.

With stuck gears, the torques under `minheat` creep for minutes, by a fraction of a per
cent in ten seconds. So the trend of the sum over all motors is bounded too while
set-points are shifted. On robots 0, 1 and 2 of the sweep `fifty_robots` the legs' joule
loss over 15 minutes is then 0.15, 0.15 and 0.45 % above that of continuous physics,
with 64, 38 and 79 s of physics. Without the bound on the trend it is 1.3, 0.3 and 1.9 %
above, with 13 to 17 s.
"""

from collections import deque
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from nao_testbed.models.values import (
    FloatArray,
    NotNegative,
    Positive,
    PositiveSeconds,
    Seconds,
)


@dataclass(frozen=True, kw_only=True)
class FastForwardCfg:
    """Conditions and lengths of jumps without physics.

    Readers of files enforce the same ranges (`experiments.common.form_parts`).
    """

    block_s: PositiveSeconds = 1.0
    """Length of a block of physics in s."""
    blocks: Annotated[int, Field(ge=1)] = 3
    """Number of consecutive blocks that must agree."""
    bound: Positive = 0.02
    """Largest spread of a motor's mean squared torque over these blocks, in N²m²."""
    relative_bound: NotNegative = 0.02
    """Bound as a fraction of the mean; the larger bound applies."""
    shift_bound: Positive = 0.001
    """Largest change over these blocks of a set-point that the controller shifts, in
    rad: torques can look steady while a shift slowly continues."""
    trend_blocks: Annotated[int, Field(ge=2)] = 20
    """While set-points are shifted: number of consecutive blocks over which the sum of
    all motors' mean squared torques must be steady."""
    trend_bound: Positive = 0.0005
    """Largest relative difference of that sum between the first and the second half of
    these blocks; its noise is half as large. A sum with a time constant of a minute is
    then within 0.3 % of its final value."""
    not_before_s: Seconds = 5.0
    """Time in s for reaching the posture and settling."""
    first_jump_s: PositiveSeconds = 60.0
    """Longest first jump, in s."""
    growth: Annotated[float, Field(ge=1.0, allow_inf_nan=False)] = 2.0
    """Factor on the jump's length after each steady block."""
    longest_jump_s: PositiveSeconds = 480.0
    """Longest jump, in s."""


class JumpLength:
    """Length of the next jump, which grows while nothing changes."""

    def __init__(self, cfg: FastForwardCfg) -> None:
        """Start with the first length."""
        self._cfg = cfg
        self._next_s = cfg.first_jump_s

    def take(self) -> float:
        """Return the length of a jump in s, and increase the next one."""
        length_s = min(self._next_s, self._cfg.longest_jump_s)
        self._next_s = length_s * self._cfg.growth
        return length_s

    def restart(self) -> None:
        """Restart with the first length after a change."""
        self._next_s = self._cfg.first_jump_s


class Steadiness:
    """Detector of steady torques over blocks."""

    def __init__(self, cfg: FastForwardCfg) -> None:
        """Start without blocks."""
        self._cfg = cfg
        self.block_s = cfg.block_s
        self._blocks: deque[FloatArray] = deque(maxlen=cfg.blocks)
        self._totals: deque[float] = deque(maxlen=cfg.trend_blocks)
        self._shifts: deque[FloatArray | float] = deque(maxlen=cfg.blocks)

    def add(self, mean_square: FloatArray, shift: FloatArray | None = None) -> None:
        """Add a block.

        Args:
            mean_square: (n_motors,) mean squared torques over the block, in N²m².
            shift: (n_joints,) shift of the set-points at its end, in rad; None: no
                shift.
        """
        self._blocks.append(mean_square.copy())
        self._totals.append(float(mean_square.sum()))
        self._shifts.append(0.0 if shift is None else shift.copy())

    def mean(self) -> FloatArray:
        """Return the mean over the last blocks, (n_motors,) in N²m²."""
        mean: FloatArray = np.mean(list(self._blocks), axis=0)
        return mean

    def spread(self) -> FloatArray | None:
        """Return the spread of the last blocks, (n_motors,) in N²m²; None: too few."""
        if len(self._blocks) < self._cfg.blocks:
            return None
        spread: FloatArray = np.ptp(list(self._blocks), axis=0)
        return spread

    def worst(self) -> float:
        """Return the largest ratio of spread to bound; steady if at most 1."""
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
        """Return the relative difference of the sum between its blocks' halves."""
        if len(self._totals) < self._cfg.trend_blocks:
            return float("inf")
        totals = np.array(self._totals)
        first, second = np.array_split(totals, 2)
        return float(abs(first.mean() - second.mean()) / totals.mean())

    def is_steady(self) -> bool:
        """Return True if all motors and shifts are within their bounds."""
        return self.worst() <= 1.0
