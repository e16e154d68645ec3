"""Every judge: the right trace passes, the wrong one is found by its invariant."""

import pytest

from tests.controllers.arbitration.invariants.written_traces import (
    Case,
    broken,
    read_cases,
)

CASES = tuple(read_cases())


@pytest.mark.requirement("I-14", "I-22", "RM-26", "RM-36")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_wrong_trace_is_found_and_the_right_one_passes(case: Case) -> None:
    assert broken(*case.right) == set()
    assert set(case.invariant.split(",")) <= broken(*case.wrong)
