"""The curve of one joint through its keyframes, and how fast it is (SY-19).

Between keyframes i and i + 1, with h = t[i+1] - t[i], D = (y[i+1] - y[i]) / h and the
slopes m of [fritsch1980], the cubic is the Hermite polynomial of y[i], m[i], y[i+1],
m[i+1]. It is monotone there, so that a joint stays within the range of its keyframes.
The slope is zero at both ends and where D changes its sign: there the joint rests.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from models.library.motion import Interpolation

FloatArray = NDArray[np.float64]


def slopes_at_keyframes(times: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the slopes of a cubic at its keyframes.

    Inside it is the weighted harmonic mean of the chords D before and after
    [fritsch1980, as in its later form for uneven spacing], the one that SciPy's PCHIP
    takes; at both ends zero, where PCHIP would extrapolate.

    Args:
        times: (n,) rising, in s, n at least 2.
        angles: (n,) in rad.

    Returns:
        (n,) in rad/s.
    """
    h = np.diff(times)  # (n - 1,)
    chord = np.diff(angles) / h  # (n - 1,)
    before, after = chord[:-1], chord[1:]
    slopes = np.zeros(len(times))
    turns = before * after <= 0.0
    weight_before = 2.0 * h[1:] + h[:-1]
    weight_after = h[1:] + 2.0 * h[:-1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = (weight_before + weight_after) / (
            weight_before / before + weight_after / after
        )
    slopes[1:-1] = np.where(turns, 0.0, mean)
    return slopes


def largest_speeds(
    times: FloatArray, angles: FloatArray, interpolation: Interpolation
) -> FloatArray:
    """Return the largest speed between each two keyframes.

    Of a cubic exactly: its speed is a parabola, largest at an end or at its vertex.

    Args:
        times: (n,) rising, in s, n at least 2.
        angles: (n,) in rad.
        interpolation: how the joint moves.

    Returns:
        (n - 1,) in rad/s, not negative.
    """
    h = np.diff(times)
    chord = np.diff(angles) / h
    if interpolation is Interpolation.LINEAR:
        return np.abs(chord)
    slopes = slopes_at_keyframes(times, angles)
    first, last = slopes[:-1], slopes[1:]
    # y'(u) = first + 2 b u + 3 c u², u = (t - t[i]) / h in [0, 1].
    b = 3.0 * chord - 2.0 * first - last
    c = first + last - 2.0 * chord
    with np.errstate(divide="ignore", invalid="ignore"):
        u = -b / (3.0 * c)
    at_vertex = np.where((u > 0.0) & (u < 1.0), first + b * np.nan_to_num(u), 0.0)
    largest: FloatArray = np.max(np.abs([first, last, at_vertex]), axis=0)
    return largest


def sample_curve(
    times: FloatArray,
    angles: FloatArray,
    interpolation: Interpolation,
    at: FloatArray,
) -> FloatArray:
    """Return the angles of a curve at some times.

    Args:
        times: (n,) of the keyframes, rising, in s, n at least 2.
        angles: (n,) in rad.
        interpolation: how the joint moves.
        at: (k,) in s; before the first keyframe and after the last it rests there.

    Returns:
        (k,) in rad.
    """
    if interpolation is Interpolation.LINEAR:
        return np.interp(at, times, angles)
    at = np.clip(at, times[0], times[-1])
    i = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    h = times[i + 1] - times[i]
    u = (at - times[i]) / h
    slopes = slopes_at_keyframes(times, angles)
    rise = angles[i + 1] - angles[i]
    first, last = h * slopes[i], h * slopes[i + 1]
    b = 3.0 * rise - 2.0 * first - last
    c = first + last - 2.0 * rise
    curve = angles[i] + u * (first + u * (b + u * c))
    return np.clip(curve, angles.min(), angles.max())  # a stop is not passed by an ulp


def first_not_rising(times: tuple[float, ...]) -> int | None:
    """Return the place of the first time that is not after the one before."""
    pairs = enumerate(pairwise(times), start=1)
    return next((i for i, (before, time) in pairs if time <= before), None)
