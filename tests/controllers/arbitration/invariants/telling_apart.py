"""The law of every judge: the true tale passes, the wrong one is found by its id."""

from collections.abc import Callable

from controllers.arbitration.tokens import Preemption
from tests.controllers.arbitration.invariants.written_traces import Tale

Case = Callable[[Tale, bool], None]
"""Tells a tale; the second argument says whether to tell it wrongly."""


def assert_told_apart(
    invariant: str, case: Case, preemption: Preemption = Preemption.OFF
) -> None:
    right, wrong = Tale(preemption), Tale(preemption)
    case(right, False)
    case(wrong, True)
    assert right.violations() == (), right.violations()
    found = wrong.violations()
    assert invariant in {violation.invariant for violation in found}, found
