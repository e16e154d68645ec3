"""Clocks: every period is a whole number of physics steps."""

import math

from models import BadInput


def ticks_of(name: str, period: float, dt: float) -> int:
    """Return a period in ticks.

    Raises:
        BadInput: it is not a whole positive multiple of dt.
    """
    if not (math.isfinite(period) and period > 0.0):
        raise BadInput(f"{name} is {period} s; give a positive number of seconds.")
    ratio = period / dt
    if not math.isfinite(ratio):
        raise BadInput(f"{name} is {period:g} s; {dt:g} s is no step for that.")
    ticks = round(ratio)
    if ticks < 1 or abs(ratio - ticks) > 1e-6 * ticks:
        below = max(int(ratio), 1)
        raise BadInput(
            f"{name} = {period:g} s is not a multiple of the physics step {dt:g} s "
            f"({ratio:.4g} steps); choose {below * dt:g} s or {(below + 1) * dt:g} s."
        )
    return ticks
