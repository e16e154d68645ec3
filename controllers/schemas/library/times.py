"""Comparing times that are sums of slots, whose rounding must not cost a slot."""

DUST_S = 1e-9
"""Far above the rounding of a day in s, far below a slot."""


def is_due(now_s: float, due_s: float) -> bool:
    """Return whether a time has come, or a duration has passed."""
    return now_s >= due_s - DUST_S
