"""Chatter counts reversals, not motion or noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from nao_testbed.experiments.regression.verdicts import reversals, worst_chatter

PERIOD_S = 0.02
AMPLITUDE = 0.02

series = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=60).map(np.array)


def times(n: int) -> NDArray[np.float64]:
    return np.arange(0.0, n * PERIOD_S - 1e-9, PERIOD_S)


@pytest.mark.parametrize("rate_hz", [1.0, 3.0, 5.0])
def test_oscillation_reverses_twice_per_period(rate_hz: float) -> None:
    time_s = times(500)
    swing = 0.5 + 0.1 * np.sin(2.0 * np.pi * rate_hz * time_s)
    found = worst_chatter(time_s, swing[:, None], AMPLITUDE)
    assert found is not None
    assert abs(found.reversals - 2.0 * rate_hz) <= 1.0
    assert found.end_s - found.begin_s == pytest.approx(1.0)


@given(series)
def test_monotonic_signal_has_no_reversals(values: np.ndarray) -> None:
    assert reversals(np.sort(values), AMPLITUDE) == []


@given(series)
def test_moves_within_the_amplitude_are_not_counted(values: np.ndarray) -> None:
    assert reversals(0.5 + 0.99 * AMPLITUDE * values, AMPLITUDE) == []


@given(series)
def test_noise_on_a_slow_move_causes_no_reversals(values: np.ndarray) -> None:
    """The move is large; the opposing noise is below the amplitude."""
    slow = 0.01 * np.arange(len(values))
    assert reversals(slow + 0.99 * AMPLITUDE * values, AMPLITUDE) == []


@given(series)
def test_mirroring_and_offset_do_not_change_the_count(values: np.ndarray) -> None:
    eighths = np.round(values * 8.0) / 8.0  # exact, without rounding errors
    assert reversals(eighths, AMPLITUDE) == reversals(1.0 - eighths, AMPLITUDE)


@given(series)
def test_reversed_time_gives_the_same_count(values: np.ndarray) -> None:
    eighths = np.round(values * 8.0) / 8.0
    there, back = reversals(eighths, AMPLITUDE), reversals(eighths[::-1], AMPLITUDE)
    assert len(there) == len(back)


@given(series)
def test_turning_points_alternate_by_more_than_the_amplitude(
    values: np.ndarray,
) -> None:
    turned = values[reversals(values, AMPLITUDE)]
    moves = np.diff(turned)
    assert (np.abs(moves) > AMPLITUDE).all()
    assert (moves[1:] * moves[:-1] < 0.0).all()


def test_worst_column_and_second_are_reported() -> None:
    time_s = times(500)
    values = np.full((500, 3), 0.5)
    values[200:240:2, 1] = 0.8
    values[300:310:2, 2] = 0.9
    found = worst_chatter(time_s, values, AMPLITUDE)
    assert found is not None
    assert found.column == 1
    assert found.reversals == 20 + 19  # peaks, and valleys between them
    assert found.begin_s == pytest.approx(200 * PERIOD_S)


def test_gap_in_time_resets_the_count() -> None:
    """Values before and after a time jump do not form a quick reversal."""
    calm = np.repeat([0.2, 0.8, 0.2, 0.8, 0.2], 10)[:, None]
    time_s = times(50)
    found = worst_chatter(time_s, calm, AMPLITUDE)
    assert found is not None
    assert found.reversals == 3
    jumps = time_s + 60.0 * np.repeat(np.arange(5), 10)
    assert worst_chatter(jumps, calm, AMPLITUDE) is None


def test_empty_or_single_sample_has_no_chatter() -> None:
    assert worst_chatter(np.empty(0), np.empty((0, 2)), AMPLITUDE) is None
    assert worst_chatter(np.zeros(1), np.zeros((1, 2)), AMPLITUDE) is None
