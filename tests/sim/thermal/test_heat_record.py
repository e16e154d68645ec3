"""Records: validation, and thinning without loss of heat."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.models import BadInput
from nao_testbed.sim.thermal.identification import rows_per_error
from nao_testbed.sim.thermal.one_node_fit import HeatRecord
from tests.messages import Messages, each

TIME = np.arange(6.0)
DEGC = np.linspace(30.0, 35.0, 6)
SQUARE = np.full(5, 0.5)


@given(
    steps=st.lists(st.floats(0.02, 1.0), min_size=40, max_size=60),
    step_s=st.floats(0.5, 3.0),
)
def test_thinning_loses_no_heat(steps: list[float], step_s: float) -> None:
    time_s = np.concatenate(([0.0], np.cumsum(steps)))
    rng = np.random.default_rng(len(steps))
    record = HeatRecord(
        time_s=time_s,
        degc=np.linspace(30.0, 40.0, time_s.size),
        mean_square_current=rng.uniform(0.0, 2.0, time_s.size - 1),
    )
    if record.duration_s < 5.0 * step_s:
        return
    thin = record.thinned(step_s)
    heat = record.mean_square_current * np.diff(record.time_s)
    begin, end = np.searchsorted(record.time_s, thin.time_s[[0, -1]])
    assert_allclose(
        (thin.mean_square_current * np.diff(thin.time_s)).sum(),
        heat[begin:end].sum(),
        rtol=1e-9,
    )
    assert thin.time_s[-1] == record.time_s[-1]
    assert set(thin.time_s) <= set(record.time_s)


def test_a_part_covers_the_rows_between_two_times() -> None:
    record = HeatRecord(time_s=TIME, degc=DEGC, mean_square_current=np.arange(5.0))
    part = record.part(begin_s=1.0, end_s=5.0)
    assert_allclose(part.time_s, [1, 2, 3, 4, 5])
    assert_allclose(part.mean_square_current, [1, 2, 3, 4])
    with pytest.raises(BadInput, match="has 0 temperatures"):
        record.part(begin_s=9.0)


def test_the_resolution_of_a_sensor_is_detected() -> None:
    time_s = np.arange(100.0)
    slow = np.linspace(30.0, 40.0, 100)
    square = np.zeros(99)
    for degc, step in ((np.round(slow), 1.0), (np.round(2 * slow) / 2, 0.5), (slow, 0)):
        record = HeatRecord(time_s=time_s, degc=degc, mean_square_current=square)
        assert record.resolution_k == step


def test_a_current_heats_by_its_square_whatever_its_sign() -> None:
    current = np.array([1.0, -1.0, 2.0, -2.0, 0.0, 0.0])
    record = HeatRecord.from_currents(TIME, DEGC, current)
    assert_allclose(record.mean_square_current, [1.0, 2.5, 4.0, 2.0, 0.0])


def test_rows_per_error_is_the_length_of_equal_errors() -> None:
    rng = np.random.default_rng(1)
    white = rng.normal(size=5000)
    assert rows_per_error([white]) == pytest.approx(1.0, abs=0.2)
    alike = np.repeat(rng.normal(size=500), 10)
    assert rows_per_error([alike]) == pytest.approx(10.0, rel=0.3)
    assert rows_per_error([np.zeros(9)]) == 1.0


def test_messages(messages: Messages) -> None:
    messages(
        what_is_no_record=each(
            lambda **changes: HeatRecord(
                **{"time_s": TIME, "degc": DEGC, "mean_square_current": SQUARE}
                | changes
            ),
            time_s=[TIME[::-1], np.zeros(6)],
            degc=[DEGC[:5], np.array([30.0, *[np.nan] * 5])],
            mean_square_current=[np.full(6, 0.5), np.full(5, np.nan), np.full(5, -1.0)],
        )
    )


def test_thinning_keeps_rows_with_a_temperature() -> None:
    """Topics of a bag have rows of their own: every other row has no temperature."""
    time_s, degc = np.linspace(0.0, 9.9, 100), np.full(100, 30.0)
    degc[1::2] = np.nan
    record = HeatRecord.from_currents(time_s, degc, np.ones(100))
    thin = record.thinned(1.0)
    assert np.isfinite(thin.degc).all()
    assert thin.time_s.size == 10
