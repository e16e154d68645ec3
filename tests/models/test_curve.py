"""Curves through keyframes: range, slopes and maximum speed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from nao_testbed.models.library import (
    Interpolation,
    first_not_rising,
    largest_speeds,
    sample_curve,
    slopes_at_keyframes,
)
from nao_testbed.models.values import FloatArray

Keyframes = tuple[FloatArray, FloatArray]
CUBIC, LINEAR = Interpolation.CUBIC, Interpolation.LINEAR


@st.composite
def keyframes(draw: st.DrawFn, least: int = 2) -> Keyframes:
    gaps = draw(st.lists(st.floats(0.02, 3.0), min_size=least, max_size=7))
    angle = st.floats(-2.0, 2.0).map(lambda x: round(x, 6))
    angles = draw(st.lists(angle, min_size=len(gaps), max_size=len(gaps)))
    return np.cumsum(gaps), np.array(angles)


@pytest.mark.requirement("SY-19")
@given(frames=keyframes())
def test_a_curve_passes_every_keyframe_and_never_leaves_their_range(
    frames: Keyframes,
) -> None:
    times, angles = frames
    for how in Interpolation:
        assert_allclose(sample_curve(times, angles, how, times), angles, atol=1e-12)
        at = np.linspace(times[0] - 1.0, times[-1] + 1.0, 400)
        curve = sample_curve(times, angles, how, at)
        assert curve.min() >= angles.min()
        assert curve.max() <= angles.max()


@given(frames=keyframes())
def test_a_cubic_is_monotone_between_keyframes(frames: Keyframes) -> None:
    times, angles = frames
    for i in range(len(times) - 1):
        at = np.linspace(times[i], times[i + 1], 50)
        steps = np.diff(sample_curve(times, angles, CUBIC, at))
        rise = angles[i + 1] - angles[i]
        assert np.all(steps * np.sign(rise) >= -1e-12)


@given(frames=keyframes(3))
def test_inner_slopes_match_pchip(frames: Keyframes) -> None:
    times, angles = frames
    with np.errstate(all="ignore"):  # SciPy divides where a chord is level
        theirs = PchipInterpolator(times, angles).derivative()(times)
    assert_allclose(
        slopes_at_keyframes(times, angles)[1:-1], theirs[1:-1], rtol=1e-6, atol=1e-9
    )


def test_pchip_has_nonzero_velocity_at_the_ends() -> None:
    """Therefore its end slopes are not used."""
    times, angles = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0])
    ends = PchipInterpolator(times, angles).derivative()(times[[0, -1]])
    assert np.all(np.abs(ends) > 0.1)
    assert_allclose(slopes_at_keyframes(times, angles)[[0, -1]], 0.0)


@given(frames=keyframes())
def test_samples_match_scipys_hermite_spline(frames: Keyframes) -> None:
    times, angles = frames
    at = np.linspace(times[0], times[-1], 101)
    oracle = CubicHermiteSpline(times, angles, slopes_at_keyframes(times, angles))
    assert_allclose(sample_curve(times, angles, CUBIC, at), oracle(at), atol=1e-9)


@pytest.mark.requirement("SY-19")
@given(frames=keyframes())
def test_the_largest_speed_is_the_true_maximum(frames: Keyframes) -> None:
    times, angles = frames
    oracle = CubicHermiteSpline(times, angles, slopes_at_keyframes(times, angles))
    speed = oracle.derivative()
    largest = largest_speeds(times, angles, CUBIC)
    for i, claimed in enumerate(largest.tolist()):
        dense = np.abs(speed(np.linspace(times[i], times[i + 1], 2001))).max()
        assert dense <= claimed * (1 + 1e-9) + 1e-12
        assert claimed <= dense * (1 + 1e-5) + 1e-9, "no faster than needed"


def test_rest_to_rest_cubic_peaks_at_1_5_times_mean_speed() -> None:
    times, angles = np.array([0.0, 2.0]), np.array([0.0, 1.0])
    assert_allclose(largest_speeds(times, angles, CUBIC), [0.75])
    assert_allclose(largest_speeds(times, angles, LINEAR), [0.5])


@pytest.mark.parametrize(
    ("times", "place"),
    [
        ((0.5, 1.0, 1.5), None),
        ((0.5, 0.5), 1),
        ((1.0, 2.0, 1.5, 1.0), 2),
        ((1.0,), None),
    ],
)
def test_times_that_do_not_rise_are_found(
    times: tuple[float, ...], place: int | None
) -> None:
    assert first_not_rising(times) == place
