"""What a controller's step takes, in numbers that a busy machine does not spoil.

Of every step two times are taken: by the wall clock, and what the calling thread
computed in it. Another program that gets the processor in the middle of a step adds to
the first and not to the second; a step that sleeps or waits the other way round. So
`typical_s` is the median of the wall times, which a few interrupted steps do not move,
and `slow_s` the 95th percentile of the computing times.
"""

from dataclasses import dataclass

import numpy as np

from experiments.regression.watched_controller import StepTimes

WARM_UP_STEPS = 25
"""Steps at the start that do not count (0.5 s): kernels compile, memory is touched."""


@dataclass(frozen=True, kw_only=True)
class TickTimes:
    """Times of the steps after the warm-up, in s."""

    typical_s: float
    """Median of the wall times."""
    slow_s: float
    """95th percentile of what the thread computed."""
    worst_s: float
    """Largest wall time: told, never judged, since the machine is in it."""
    steps: int
    """That were measured."""


def tick_times(steps: StepTimes) -> TickTimes | None:
    """Return the times of the steps; None where there are none after the warm-up."""
    wall, cpu = steps.wall_s[WARM_UP_STEPS:], steps.cpu_s[WARM_UP_STEPS:]
    if not len(wall):
        return None
    return TickTimes(
        typical_s=float(np.median(wall)),
        slow_s=float(np.percentile(cpu, 95.0)),
        worst_s=float(wall.max()),
        steps=len(wall),
    )
