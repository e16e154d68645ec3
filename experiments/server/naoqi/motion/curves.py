"""Curves of joint angles over time: through points, by speed, by Bezier handles.

A curve starts at the joint's initial angle and stays at its last point. Through points
it is a piecewise cubic, without overshoot and at rest at both ends: tangents are those
of Fritsch and Carlson (0 where the direction changes, otherwise the harmonic mean of
the neighbouring slopes).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from nao_testbed.models import BadInput

Curve = Callable[[float], float]
"""Angle in rad after a time in s."""
PEAK = 1.5
"""Ratio of peak speed to mean speed of a cubic from rest to rest."""
BEZIER_SAMPLES = 40
"""Samples per piece; the curve is linear between them."""


@dataclass(frozen=True)
class Timed:
    """Curve and its duration in s."""

    curve: Curve
    length_s: float


def through(start: float, times: Sequence[float], angles: Sequence[float]) -> Timed:
    """Return the smooth curve through points, with times in s from the start."""
    t = np.array([0.0, *times])
    a = np.array([start, *angles])
    slope = np.diff(a) / np.diff(t)
    tangents = np.zeros(len(t))
    before, after = slope[:-1], slope[1:]
    same = before * after > 0.0
    mean = np.divide(
        2.0 * before * after, before + after, out=np.zeros_like(before), where=same
    )
    tangents[1:-1] = mean
    spline = CubicHermiteSpline(t, a, tangents)
    end, last = float(t[-1]), float(a[-1])

    def curve(time_s: float) -> float:
        return last if time_s >= end else float(spline(max(time_s, 0.0)))

    return Timed(curve, end)


def arriving_together(
    start: Mapping[str, float],
    angles: Mapping[str, float],
    speeds: Mapping[str, float],
    least_s: float,
) -> dict[str, Timed]:
    """Return curves to angles that all end when the slowest joint arrives.

    Joints that arrived at different times could make a standing robot fall.

    Args:
        start: joint to present angle in rad.
        angles: joint to final angle in rad.
        speeds: joint to its maximum speed in rad/s; the slowest joint peaks at it.
        least_s: minimum duration in s.
    """
    ways_s = [PEAK * abs(angles[j] - start[j]) / speeds[j] for j in angles]
    length_s = max(least_s, *ways_s)
    return {j: through(start[j], [length_s], [angles[j]]) for j in angles}


Handle = tuple[float, float]
"""Bezier handle: offset from its point, in s and rad."""


@dataclass(frozen=True)
class Key:
    """Point with its handles; None: a flat handle of a third of the piece."""

    time_s: float
    angle: float
    before: Handle | None = None
    after: Handle | None = None


def bezier(start: float, keys: Sequence[Key]) -> Timed:
    """Return the curve of cubic Bezier pieces through keys, from the start on."""
    whole = [Key(0.0, start), *keys]
    times: list[float] = [0.0]
    angles: list[float] = [start]
    s = np.linspace(0.0, 1.0, BEZIER_SAMPLES + 1)[1:]
    b = np.stack([(1 - s) ** 3, 3 * s * (1 - s) ** 2, 3 * s**2 * (1 - s), s**3])
    for one, two in pairwise(whole):
        third = (two.time_s - one.time_s) / 3.0
        out, into = one.after or (third, 0.0), two.before or (-third, 0.0)
        points = np.array(
            [
                [one.time_s, one.angle],
                [one.time_s + out[0], one.angle + out[1]],
                [two.time_s + into[0], two.angle + into[1]],
                [two.time_s, two.angle],
            ]
        )
        t, a = b.T @ points[:, 0], b.T @ points[:, 1]
        times += np.maximum.accumulate(np.clip(t, one.time_s, two.time_s)).tolist()
        angles += a.tolist()
    end = whole[-1].time_s
    t_all, a_all = np.array(times), np.array(angles)
    return Timed(lambda time_s: float(np.interp(time_s, t_all, a_all)), end)


def check_times(joint: str, times: Sequence[float]) -> None:
    """Reject times that are not positive and increasing.

    Raises:
        BadInput: the times are not positive and increasing.
    """
    if not times:
        raise BadInput(f"{joint} has no times; give at least one.")
    for before, time_s in pairwise([0.0, *times]):
        if not time_s > before:
            raise BadInput(
                f"times of {joint} are not increasing from 0: {time_s:g} s comes after "
                f"{before:g} s."
            )
