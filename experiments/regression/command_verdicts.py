"""Is it well commanded? Each function says in a sentence what is wrong, or None."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from experiments.regression.chatter import (
    SHIFT_AMPLITUDE,
    STIFFNESS_AMPLITUDE,
    worst_chatter,
)
from experiments.regression.tick_times import TickTimes
from experiments.regression.watched_controller import Decisions
from experiments.standing.arm import RECOVERY_S
from experiments.standing.pushes import Push

FloatArray = NDArray[np.float64]

ROUNDING = 1e-9
"""What is above a bound by less is rounding."""


def above_limit(
    name: str, made: Decisions, allowed: FloatArray, margin: float, whose: str
) -> str | None:
    """Judge the stiffness against what is allowed.

    Args:
        name: who is judged.
        made: its answers.
        allowed: (m, n_joints) largest stiffness; inf where it is not judged.
        margin: by how much it may be above.
        whose: begins the clause about the limit, such as `smart allows`.
    """
    excess = made.stiffness - allowed - margin
    if not excess.size or excess.max() <= ROUNDING:
        return None
    step, joint = np.unravel_index(excess.argmax(), excess.shape)
    with_margin = f", with a margin of {margin:g}" if margin else ""
    return (
        f"{name} ignores the limit: the stiffness of {made.joint_names[joint]} was "
        f"{made.stiffness[step, joint]:.3f} at {made.time_s[step]:.2f} s; {whose} "
        f"{allowed[step, joint]:.3f}{with_margin}."
    )


def shifts_too_far(name: str, made: Decisions, degrees: float) -> str | None:
    """Judge the shifts of set-points against a bound in degrees."""
    shift = np.rad2deg(made.shift)
    size = np.abs(shift)
    if not size.size or size.max() <= degrees + ROUNDING:
        return None
    step, joint = np.unravel_index(size.argmax(), size.shape)
    return (
        f"{name} shifts too far: the set-point of {made.joint_names[joint]} by "
        f"{shift[step, joint]:.2f} degrees at {made.time_s[step]:.2f} s; at most "
        f"{degrees:g} degrees is allowed."
    )


def chatters(
    name: str, made: Decisions, pushes: Sequence[Push], most: int
) -> str | None:
    """Judge how often stiffness and shifts turn in a second.

    Args:
        name: who is judged.
        made: its answers.
        pushes: after which nothing is judged until the robot has recovered: what
            answers a push may well rock with it.
        most: reversals that are allowed in a second.
    """
    calm = np.full(len(made.time_s), True)
    for push in pushes:
        calm &= (made.time_s < push.at_s) | (made.time_s > push.end_s + RECOVERY_S)
    commands = {
        "stiffness": (made.stiffness, STIFFNESS_AMPLITUDE),
        "shift": (made.shift, SHIFT_AMPLITUDE),
    }
    for what, (values, amplitude) in commands.items():
        found = worst_chatter(made.time_s[calm], values[calm], amplitude)
        if found is not None and found.reversals > most:
            return (
                f"{name} chatters: the {what} of {made.joint_names[found.column]} "
                f"changed direction {found.reversals} times between "
                f"{found.begin_s:.2f} s and {found.end_s:.2f} s; at most {most} times "
                "a second is allowed."
            )
    return None


def too_slow(name: str, ticks: TickTimes, seconds: float) -> str | None:
    """Judge what a step takes."""
    if ticks.typical_s < seconds and ticks.slow_s < seconds:
        return None
    return (
        f"{name} is too slow: its step takes {_ms(ticks.typical_s)} (median of "
        f"{ticks.steps}) and computes for {_ms(ticks.slow_s)} (95th percentile); both "
        f"must be under {_ms(seconds)}."
    )


def _ms(time_s: float) -> str:
    return f"{1e3 * time_s:.3g} ms"
