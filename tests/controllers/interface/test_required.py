"""Validation of sensor values: the first non-finite one is reported."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nao_testbed.controllers.interface.controller import SensorError, require_finite
from nao_testbed.models import load_robot
from tests.controllers.conftest import make_observation
from tests.controllers.helpers import FloatArray

REST = make_observation(load_robot(), time_s=1.5)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def values(n: int) -> st.SearchStrategy[FloatArray]:
    """Return arrays, all finite or with arbitrary floats."""
    anything = arrays(np.float64, n, elements=st.floats())
    return arrays(np.float64, n, elements=FINITE) | anything


@given(q=values(len(REST.q)), fsr=values(len(REST.fsr)))
@settings(max_examples=60, deadline=None)
def test_first_nonfinite_value_is_reported(q: FloatArray, fsr: FloatArray) -> None:
    seen = dataclasses.replace(REST, q=q, fsr=fsr)
    bad = [("fsr", i) for i, value in enumerate(fsr) if not abs(value) < np.inf]
    bad += [("q", i) for i, value in enumerate(q) if not abs(value) < np.inf]
    if not bad:
        require_finite(seen, ("fsr", "q"))
        return
    with pytest.raises(SensorError, match="controllers need finite") as caught:
        require_finite(seen, ("fsr", "q"))
    assert (caught.value.field, caught.value.index) == bad[0]
    assert caught.value.time_s == 1.5


def test_fields_not_named_are_not_checked() -> None:
    seen = dataclasses.replace(REST, gyro=np.full(3, np.nan))
    require_finite(seen, ("q", "v"))
