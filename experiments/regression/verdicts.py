"""Verdicts on commands and heat: a sentence with the fault, or None.

*Chatter* is the rate at which commands change direction. A *reversal* is a turning
point between two moves of more than `amplitude` each: smaller noise, and a value that
moves in one direction in steps, do not count. Chatter is the number of reversals in one
second; a gap in time (fast-forward) ends the counting.

Step times are measured robustly against other load. Each step has two times: wall time,
and processor time of the calling thread. Another program on the processor adds only to
the wall time; so does a step that sleeps or waits. So `typical_s` is the median of the
wall times, which a few interrupted steps do not move, and `slow_s` the 95th percentile
of the processor times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nao_testbed.experiments.closed_loop.trial import RECOVERY_S, Push
from nao_testbed.experiments.regression.monitored_controller import Decisions, StepTimes
from nao_testbed.models.values import FloatArray

WINDOW_S = 1.0
"""Length in s of the windows in which reversals are counted."""
STIFFNESS_AMPLITUDE = 0.02
"""Moves of the stiffness up to this size are ignored."""
SHIFT_AMPLITUDE = np.deg2rad(0.1)
"""Moves of a shift up to this size, in rad, are ignored: a count of a NAO's encoder."""


@dataclass(frozen=True, kw_only=True)
class Chatter:
    """Window with the most reversals of one column."""

    column: int
    reversals: int
    begin_s: float
    end_s: float


def worst_chatter(
    time_s: FloatArray, values: FloatArray, amplitude: float
) -> Chatter | None:
    """Return the window with the most reversals; None without reversals.

    Args:
        time_s: (m,) ascending times in s.
        values: (m, n) of n commands.
        amplitude: moves up to this size do not count, in the unit of the values.
    """
    worst: Chatter | None = None
    for begin, end in _stretches(time_s):
        part, times = values[begin:end], time_s[begin:end]
        for column in np.flatnonzero(np.ptp(part, axis=0) > amplitude):
            turned = times[reversals(part[:, column], amplitude)]
            if not len(turned):
                continue
            # Windows that begin at a reversal: no other window has more.
            ends = np.searchsorted(turned, turned + WINDOW_S - 1e-9)
            counts = ends - np.arange(len(turned))
            first = int(counts.argmax())
            if worst is None or counts[first] > worst.reversals:
                worst = Chatter(
                    column=int(column),
                    reversals=int(counts[first]),
                    begin_s=float(turned[first]),
                    end_s=float(turned[first]) + WINDOW_S,
                )
    return worst


def reversals(values: FloatArray, amplitude: float) -> list[int]:
    """Return the indices of a command's turning points.

    Args:
        values: (m,) consecutive values.
        amplitude: as in `worst_chatter`.
    """
    turns: list[int] = []
    series = values.tolist()
    low = high = extreme = series[0]
    extreme_at = direction = 0
    for i, value in enumerate(series):
        if direction == 0:
            low, high = min(low, value), max(high, value)
            if high - low > amplitude:
                direction = 1 if value == high else -1
                extreme, extreme_at = value, i
        elif direction * (value - extreme) > 0.0:
            extreme, extreme_at = value, i
        elif direction * (extreme - value) > amplitude:
            turns.append(extreme_at)
            direction, extreme, extreme_at = -direction, value, i
    return turns


def _stretches(time_s: FloatArray) -> list[tuple[int, int]]:
    """Return start and end of each interval without a gap."""
    steps = np.diff(time_s)
    if not len(steps):
        return []
    gaps = np.flatnonzero(steps > 1.5 * np.median(steps)) + 1
    edges = [0, *gaps.tolist(), len(time_s)]
    return list(pairwise(edges))


WARM_UP_STEPS = 25
"""Number of ignored steps at the start (0.5 s), in which kernels are compiled."""


@dataclass(frozen=True, kw_only=True)
class TickTimes:
    """Times of the steps after the warm-up, in s."""

    typical_s: float
    """Median of the wall times."""
    slow_s: float
    """95th percentile of the thread's processor time."""
    worst_s: float
    """Largest wall time; reported but not judged, since it depends on the machine."""
    steps: int
    """Number of measured steps."""


def tick_times(steps: StepTimes) -> TickTimes | None:
    """Return the times of the steps; None without steps after the warm-up."""
    wall, cpu = steps.wall_s[WARM_UP_STEPS:], steps.cpu_s[WARM_UP_STEPS:]
    if not len(wall):
        return None
    return TickTimes(
        typical_s=float(np.median(wall)),
        slow_s=float(np.percentile(cpu, 95.0)),
        worst_s=float(wall.max()),
        steps=len(wall),
    )


ROUNDING = 1e-9
"""Excess over a bound that counts as rounding."""


def above_limit(
    name: str, made: Decisions, allowed: FloatArray, margin: float, limit_text: str
) -> str | None:
    """Judge the stiffness against a limit.

    Args:
        name: name of the controller.
        made: answers of the controller.
        allowed: (m, n_joints) largest stiffness; inf: not judged.
        margin: accepted excess.
        limit_text: start of the clause about the limit, such as `smart allows`.
    """
    excess = made.stiffness - allowed - margin
    if not excess.size or excess.max() <= ROUNDING:
        return None
    step, joint = np.unravel_index(excess.argmax(), excess.shape)
    with_margin = f", with a margin of {margin:g}" if margin else ""
    return (
        f"{name} ignores the limit: the stiffness of {made.joint_names[joint]} was "
        f"{made.stiffness[step, joint]:.3f} at {made.time_s[step]:.2f} s; {limit_text} "
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
    """Judge the reversals of stiffness and shifts per second.

    Args:
        name: name of the controller.
        made: answers of the controller.
        pushes: pushes; the time until the robot has recovered is ignored, since the
            reaction to a push may oscillate.
        most: accepted reversals per second.
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
    """Judge the time of a step."""
    if ticks.typical_s < seconds and ticks.slow_s < seconds:
        return None
    return (
        f"{name} is too slow: its step takes {_ms(ticks.typical_s)} (median of "
        f"{ticks.steps}) and computes for {_ms(ticks.slow_s)} (95th percentile); both "
        f"must be under {_ms(seconds)}."
    )


def _ms(time_s: float) -> str:
    return f"{1e3 * time_s:.3g} ms"
