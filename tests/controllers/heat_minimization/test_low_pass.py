"""Low pass: the step response does not depend on the time steps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers.heat_minimization.stillness import LowPass

T_S = 0.5
SECONDS = st.lists(st.floats(0.0, 2.0), min_size=1, max_size=20)


def test_first_values_initialise_the_filter() -> None:
    low_pass = LowPass(2, T_S)
    assert_array_equal(low_pass.value, [0.0, 0.0])
    assert low_pass.step(7.0, np.array([3.0, -4.0])) == 0.0
    assert_array_equal(low_pass.value, [3.0, -4.0])


@given(SECONDS)
def test_step_response_is_exponential_in_time(seconds: list[float]) -> None:
    """The closed form, for any division of the time."""
    low_pass = LowPass(1, T_S)
    low_pass.step(0.0, np.zeros(1))
    passed = [low_pass.step(time, np.ones(1)) for time in np.cumsum(seconds)]
    assert_allclose(passed, seconds, atol=1e-12)
    assert_allclose(low_pass.value, 1.0 - np.exp(-sum(seconds) / T_S), atol=1e-12)


def test_step_back_in_time_changes_nothing() -> None:
    low_pass = LowPass(1, T_S)
    low_pass.step(1.0, np.zeros(1))
    assert low_pass.step(0.5, np.ones(1)) == 0.0
    assert_array_equal(low_pass.value, [0.0])
