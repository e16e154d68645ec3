"""Invariants about asking: the wrong tale is found, the right one is not.

A case tells one story in two ways; `is_wrong` chooses.
"""

from collections.abc import Callable

import pytest

from controllers.arbitration import events as t
from controllers.arbitration.tokens import LossCause, Preemption
from tests.controllers.arbitration.invariants.telling_apart import (
    Case,
    assert_told_apart,
)
from tests.controllers.arbitration.invariants.written_traces import Tale


def overtaking(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    first, second = tale.ask("bob", "HeadYaw"), tale.ask("cat", "HeadYaw LHand")
    tale.settle()
    tale.release(token, "ann", "HeadYaw")
    number, who = (second, "cat") if is_wrong else (first, "bob")
    tale.grant(number, who, "HeadYaw LHand" if is_wrong else "HeadYaw")
    tale.tell_outcome(number, who)
    tale.settle()


def overtaking_by_priority(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw", priority=5)
    tale.ask("bob", "HeadYaw", priority=1 if is_wrong else 0)
    later = tale.ask("cat", "HeadYaw", priority=0 if is_wrong else 1)
    tale.settle()
    tale.release(token, "ann", "HeadYaw")
    tale.grant(later, "cat", "HeadYaw")
    tale.tell_outcome(later, "cat")
    tale.settle()


def overtaking_by_a_child(tale: Tale, is_wrong: bool) -> None:
    """Inside its parent's reservation a child competes with nobody outside."""
    inside = {} if is_wrong else {"HeadYaw": tale.take("ann", "HeadYaw")}
    tale.ask("bob", "HeadYaw")
    if not is_wrong:
        tale.settle()
    tale.take("kid", "HeadYaw", inside=inside)


def an_optional_leaf_that_another_needs(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    tale.ask("bob", "HeadYaw LHand")
    tale.settle()
    request = tale.ask("cat", "HeadPitch", optional={"LHand": ("LHand",)})
    if is_wrong:
        tale.grant(request, "cat", "HeadPitch LHand")
    else:
        tale.grant(request, "cat", "HeadPitch", missing="LHand")
    tale.settle()


def passing_after_the_time_for_it(tale: Tale, is_wrong: bool) -> None:
    tale.open(2, overtake=10)
    tale.take("ann", "HeadYaw")
    tale.ask("bob", "HeadYaw LHand")
    tale.settle()
    tale.tick = 10 if is_wrong else 9
    tale.take("cat", "LHand")


def passing_by_a_rule_that_ended(tale: Tale, is_wrong: bool) -> None:
    """Who came under the rule of before may be passed as long as that said."""
    tale.open(2, overtake=10)
    tale.take("ann", "HeadYaw")
    if is_wrong:
        tale.reconfigure(overtake=0)
    tale.ask("bob", "HeadYaw LHand")
    tale.settle()
    if not is_wrong:
        tale.reconfigure(overtake=0)
    tale.tick = 9
    tale.take("cat", "LHand")


def passing_by_a_rule_that_came(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    if not is_wrong:
        tale.reconfigure(overtake=10)
    tale.ask("bob", "HeadYaw LHand")
    tale.settle()
    if is_wrong:
        tale.reconfigure(overtake=10)
    tale.take("cat", "LHand")


def passing_a_higher_one(tale: Tale, is_wrong: bool) -> None:
    tale.open(2, overtake=10)
    tale.take("ann", "HeadYaw")
    tale.ask("bob", "HeadYaw LHand", priority=3)
    tale.settle()
    tale.take("cat", "LHand", priority=2 if is_wrong else 3)


def two_outcomes(tale: Tale, is_wrong: bool) -> None:
    request = tale.ask("ann", "HeadYaw")
    tale.grant(request, "ann", "HeadYaw")
    if is_wrong:
        tale.fail(request, "ann", "withdrawn")
    tale.settle()


def a_limit_that_passes(tale: Tale, is_wrong: bool) -> None:
    tale.take("bob", "HeadYaw")
    request = tale.ask("ann", "HeadYaw", timeout_ticks=20)
    tale.settle()
    tale.tick = 20
    if not is_wrong:
        tale.fail(request, "ann", "timeout")
        tale.tell_outcome(request, "ann")
        tale.settle()
    tale.until(20)


def a_limit_that_comes_early(tale: Tale, is_wrong: bool) -> None:
    tale.take("bob", "HeadYaw")
    request = tale.ask("ann", "HeadYaw", timeout_ticks=20)
    tale.settle()
    tale.tick = 19 if is_wrong else 20
    tale.fail(request, "ann", "timeout")
    tale.tell_outcome(request, "ann")
    tale.settle()


def a_limit_at_a_frozen_leaf(tale: Tale, is_wrong: bool) -> None:
    tale.freeze("HeadYaw")
    request = tale.ask("ann", "HeadYaw", timeout_ticks=20)
    tale.settle()
    tale.tick = 20
    tale.fail(request, "ann", "timeout" if is_wrong else "frozen")
    tale.tell_outcome(request, "ann")
    tale.settle()


def a_try_at_what_is_not_frozen(tale: Tale, is_wrong: bool) -> None:
    tale.take("bob", "HeadYaw")
    request = tale.ask("ann", "HeadYaw", timeout_ticks=0)
    tale.fail(request, "ann", "tried frozen" if is_wrong else "busy")
    tale.settle()


def a_try_that_waits(tale: Tale, is_wrong: bool) -> None:
    tale.take("bob", "HeadYaw")
    request = tale.ask("ann", "HeadYaw", timeout_ticks=0)
    if not is_wrong:
        tale.fail(request, "ann", "busy")
    tale.settle()


def an_outcome_not_told(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("bob", "HeadYaw")
    request = tale.ask("ann", "HeadYaw")
    tale.settle()
    tale.release(token, "bob", "HeadYaw")
    tale.grant(request, "ann", "HeadYaw")
    if not is_wrong:
        tale.tell_outcome(request, "ann")
    tale.settle()


def a_wait_without_limit(tale: Tale, is_wrong: bool) -> None:
    tale.take("bob", "HeadYaw")
    tale.ask("ann", "HeadYaw", timeout_ticks=None if is_wrong else 9)
    tale.settle()


def a_timeout_that_wakes_nobody(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    first = tale.ask("bob", "HeadYaw LHand", timeout_ticks=20)
    second = tale.ask("cat", "LHand")
    tale.settle()
    tale.tick = 20
    tale.fail(first, "bob", "timeout")
    tale.tell_outcome(first, "bob")
    if not is_wrong:
        tale.grant(second, "cat", "LHand")
        tale.tell_outcome(second, "cat")
    tale.settle()


def timed_out_and_granted(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("bob", "HeadYaw")
    request = tale.ask("ann", "HeadYaw", timeout_ticks=20)
    tale.settle()
    tale.tick = 20
    tale.fail(request, "ann", "timeout")
    tale.tell_outcome(request, "ann")
    tale.settle()
    tale.release(token, "bob", "HeadYaw")
    if is_wrong:
        tale.grant(request, "ann", "HeadYaw")
    tale.settle()


def a_release_that_wakes_nobody(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    request = tale.ask("bob", "HeadYaw")
    tale.settle()
    tale.release(token, "ann", "HeadYaw")
    if not is_wrong:
        tale.grant(request, "bob", "HeadYaw")
        tale.tell_outcome(request, "bob")
    tale.settle()


def a_circle(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    tale.take("bob", "LHand")
    tale.ask("ann", "LHand")
    tale.settle()
    last = tale.ask("bob", "HeadYaw")
    if not is_wrong:
        tale.fail(last, "bob", "deadlock")
    tale.settle()


def waiting_for_oneself(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    tale.ask("bob" if not is_wrong else "ann", "HeadYaw")
    tale.settle()


def a_rule_that_wakes_nobody(tale: Tale, is_wrong: bool) -> None:
    """With preemption a higher priority that waits takes at once."""
    tale.reconfigure(preemption=Preemption.OFF)
    token = tale.take("ann", "HeadYaw")
    request = tale.ask("bob", "HeadYaw", priority=2)
    tale.settle()
    tale.say(
        t.Reconfigured,
        preemption=Preemption.BY_PRIORITY,
        retry_ticks=50,
        overtake_ticks=0,
    )
    if not is_wrong:
        why = LossCause.OVERRIDDEN
        tale.revoke(token, "ann", "HeadYaw", by="bob", why=why, request=request)
        tale.grant(request, "bob", "HeadYaw")
        tale.tell_outcome(request, "bob")
    tale.settle()


def a_circle_through_the_queue(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    tale.take("bob", "LHand")
    tale.ask("cat", "HeadYaw HeadPitch")
    tale.ask("ann", "LHand")
    tale.settle()
    last = tale.ask("bob", "HeadPitch")  # waits for cat, who waits for ann, for bob
    if not is_wrong:
        tale.fail(last, "bob", "deadlock")
    tale.settle()


def denied_without_a_circle(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    request = tale.ask("bob", "HeadYaw", timeout_ticks=0)
    tale.fail(request, "bob", "deadlock" if is_wrong else "busy")
    tale.settle()


CASES: tuple[tuple[str, Callable[[Tale, bool], None]], ...] = (
    ("I-3", overtaking),
    ("I-3", overtaking_by_priority),
    ("I-3", overtaking_by_a_child),
    ("I-3", an_optional_leaf_that_another_needs),
    ("I-3", passing_after_the_time_for_it),
    ("I-3", passing_by_a_rule_that_ended),
    ("I-3", passing_by_a_rule_that_came),
    ("I-3", passing_a_higher_one),
    ("I-6", two_outcomes),
    ("I-6", a_limit_that_passes),
    ("I-6", a_limit_that_comes_early),
    ("I-6", a_limit_at_a_frozen_leaf),
    ("I-6", a_try_at_what_is_not_frozen),
    ("I-6", a_try_that_waits),
    ("I-6", an_outcome_not_told),
    ("I-6", a_wait_without_limit),
    ("I-7", a_timeout_that_wakes_nobody),
    ("I-7", timed_out_and_granted),
    ("I-8", a_release_that_wakes_nobody),
    ("I-8", a_rule_that_wakes_nobody),
    ("I-21", a_circle),
    ("I-21", waiting_for_oneself),
    ("I-21", a_circle_through_the_queue),
    ("I-21", denied_without_a_circle),
)


@pytest.mark.parametrize(("invariant", "case"), CASES)
def test_the_wrong_tale_is_found(invariant: str, case: Case) -> None:
    assert_told_apart(invariant, case, Preemption.BY_PRIORITY)
