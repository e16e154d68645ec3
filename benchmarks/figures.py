"""Measured figures with their spread, computed from blocks, and their limits.

Machines are shared and noisy. Compared subjects run alternately, block by block, in one
process. Each block gives one number; the figure is their median. Ratios are computed
per block, so that a slow phase of the machine affects both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table."""

    name: str
    """Key in the JSON."""
    what: str
    """Description for readers."""
    unit: str
    """`µs`, `1` for a ratio, ..."""
    value: float
    """Median of the blocks."""
    low: float
    """Lower quartile of the blocks."""
    high: float
    """Upper quartile."""
    blocks: int
    """Number of blocks."""
    target: float | None = None
    """Limit of the value: a maximum, or a minimum if `is_at_least`."""
    is_at_least: bool = False
    """True if a higher value is better."""


def figure(
    name: str,
    what: str,
    unit: str,
    blocks: Sequence[float],
    target: float | None = None,
    *,
    is_at_least: bool = False,
) -> Figure:
    """Return the figure of a number measured once per block."""
    low, value, high = np.percentile(blocks, [25.0, 50.0, 75.0]).tolist()
    return Figure(
        name=name,
        what=what,
        unit=unit,
        value=value,
        low=low,
        high=high,
        blocks=len(blocks),
        target=target,
        is_at_least=is_at_least,
    )


def ratio(
    name: str,
    what: str,
    above: Sequence[float],
    below: Sequence[float],
    target: float | None = None,
    *,
    is_at_least: bool = False,
) -> Figure:
    """Return the figure of a ratio, computed per block."""
    blocks = [a / b for a, b in zip(above, below, strict=True)]
    return figure(name, what, "1", blocks, target, is_at_least=is_at_least)


def median_us(times_s: Sequence[float]) -> float:
    """Return the median of times, in µs."""
    return float(np.median(times_s)) * 1e6
