"""Invariants about losing: the wrong tale is found, the right one is not.

A case tells one story in two ways; `is_wrong` chooses.
"""

from collections.abc import Callable
from typing import Any

import pytest

from controllers.arbitration.policies import AnswerKind
from controllers.arbitration.tokens import LossCause, NoticeKind, Preemption
from tests.controllers.arbitration.invariants.telling_apart import (
    Case,
    assert_told_apart,
)
from tests.controllers.arbitration.invariants.trace_words import PARTIAL, WHOLE
from tests.controllers.arbitration.invariants.written_traces import Tale


def give_way(
    tale: Tale, token: int, request: int, lost: str = "HeadYaw", **terms: Any
) -> None:
    """Let ann lose to bob's request, as she promised."""
    said: dict[str, Any] = {"by": "bob", "why": LossCause.YIELDED, "request": request}
    tale.revoke(token, "ann", lost, **said | terms)


def giving_way_in_vain(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw")
    asker = tale.ask("bob", "HeadYaw LHand", timeout_ticks=0)
    tale.demand("ann", holder, "HeadYaw", "bob", asker)
    tale.answer("ann", holder, asker, AnswerKind.YIELD)
    give_way(tale, holder, asker)
    if is_wrong:
        tale.fail(asker, "bob", "busy")
    else:
        tale.grant(asker, "bob", "HeadYaw LHand")
    tale.settle()


def a_state_given_up_in_vain(tale: Tale, is_wrong: bool) -> None:
    tale.be("Stand")
    tale.settle()
    holder = tale.take("ann", "Stand")
    tale.demand("ann", holder, "Stand", "bob", None)
    tale.answer("ann", holder, None, AnswerKind.YIELD)
    tale.revoke(holder, "ann", "Stand", by="bob", why=LossCause.YIELDED)
    if not is_wrong:
        tale.be("Sit")
    tale.settle()


def _override(tale: Tale, *, asker: int, **terms: bool) -> None:
    keeps = terms.pop("keeps_ties", True)
    holder = tale.take("ann", "HeadYaw", priority=3, keeps_ties=keeps)
    request = tale.ask("bob", "HeadYaw", priority=asker, **terms)
    give_way(tale, holder, request, why=LossCause.OVERRIDDEN)
    tale.grant(request, "bob", "HeadYaw")
    tale.settle()


def overriding_an_equal(tale: Tale, is_wrong: bool) -> None:
    _override(tale, asker=3 if is_wrong else 4)


def a_tie_that_the_holder_keeps(tale: Tale, is_wrong: bool) -> None:
    _override(tale, asker=3, wins_ties=True, keeps_ties=is_wrong)


def a_tie_that_the_asker_does_not_want(tale: Tale, is_wrong: bool) -> None:
    _override(tale, asker=3, wins_ties=not is_wrong, keeps_ties=False)


def a_tie_won_after_waiting(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw", priority=3, keeps_ties=False)
    request = tale.ask("bob", "HeadYaw", priority=3, wins_ties=True)
    if is_wrong:
        tale.settle()
    give_way(tale, holder, request, why=LossCause.OVERRIDDEN)
    tale.grant(request, "bob", "HeadYaw")
    if is_wrong:
        tale.tell_outcome(request, "bob")
    tale.settle()


def told_twice(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw", priority=3)
    request = tale.ask("bob", "HeadYaw", priority=4)
    give_way(tale, holder, request, why=LossCause.OVERRIDDEN)
    if is_wrong:
        tale.events.append(tale.events[-1])
    tale.grant(request, "bob", "HeadYaw")
    tale.settle()


def overriding_where_nobody_may(tale: Tale, is_wrong: bool) -> None:
    tale.open(2, Preemption.OFF if is_wrong else Preemption.BY_PRIORITY)
    _override(tale, asker=9)


def taking_what_was_not_promised(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw")
    asker = tale.ask("bob", "HeadYaw")
    tale.demand("ann", holder, "HeadYaw", "bob", asker)
    tale.answer("ann", holder, asker, AnswerKind.KEEP if is_wrong else AnswerKind.YIELD)
    give_way(tale, holder, asker)
    tale.grant(asker, "bob", "HeadYaw")
    tale.settle()


def taking_before_the_promised_time(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw")
    asker = tale.ask("bob", "HeadYaw")
    tale.demand("ann", holder, "HeadYaw", "bob", asker)
    tale.answer("ann", holder, asker, AnswerKind.YIELD)
    said = {"token": tale.id(holder), "by": "bob", "request": asker}
    until = {"leaves": ("HeadYaw",), "until_tick": 30}
    tale.notify("ann", NoticeKind.YIELD_BY, **said, **until)
    tale.settle()
    tale.tick = 29 if is_wrong else 30
    give_way(tale, holder, asker)
    tale.grant(asker, "bob", "HeadYaw")
    tale.tell_outcome(asker, "bob")
    tale.settle()


def a_loser_not_told(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw")
    cause, is_told = LossCause.FROZEN, not is_wrong
    tale.revoke(holder, "ann", "HeadYaw", by="hot", why=cause, is_told=is_told)
    tale.freeze("HeadYaw")
    tale.settle()


def _lose(tale: Tale, **terms: Any) -> None:
    holder = tale.take("ann", "HeadYaw LHand", loss=terms.pop("loss"))
    asker = tale.ask("bob", "HeadYaw")
    tale.demand("ann", holder, "HeadYaw", "bob", asker)
    tale.answer("ann", holder, asker, AnswerKind.YIELD)
    give_way(tale, holder, asker, **terms)
    tale.grant(asker, "bob", "HeadYaw")
    tale.settle()


def a_whole_token_that_keeps_a_part(tale: Tale, is_wrong: bool) -> None:
    freed = "" if is_wrong else "LHand"
    _lose(tale, loss=WHOLE, freed=freed, is_whole=not is_wrong)


def a_partial_token_that_loses_more(tale: Tale, is_wrong: bool) -> None:
    freed = "LHand" if is_wrong else ""
    _lose(tale, loss=PARTIAL, freed=freed, is_whole=is_wrong)


def what_is_taken_goes_elsewhere(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw LHand", loss=PARTIAL)
    asker = tale.ask("bob", "HeadYaw")
    tale.demand("ann", holder, "HeadYaw", "bob", asker)
    tale.answer("ann", holder, asker, AnswerKind.YIELD)
    lost = "HeadYaw LHand" if is_wrong else "HeadYaw"
    give_way(tale, holder, asker, lost=lost, is_whole=is_wrong)
    tale.grant(asker, "bob", "HeadYaw")
    tale.settle()


def a_freed_leaf_that_nobody_is_offered(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw LHand")
    waits = tale.ask("cat", "LHand")
    tale.settle()
    cause = LossCause.FROZEN
    tale.revoke(holder, "ann", "HeadYaw", by="hot", why=cause, freed="LHand")
    tale.freeze("HeadYaw")
    if not is_wrong:
        tale.grant(waits, "cat", "LHand")
        tale.tell_outcome(waits, "cat")
    tale.settle()


def lost_by_a_parent_that_keeps(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "HeadYaw")
    inner = tale.take("kid", "HeadYaw", inside={"HeadYaw": outer})
    cause = LossCause.PARENT_RELEASED
    tale.revoke(inner, "kid", "HeadYaw", by="ann", why=cause)
    if not is_wrong:
        tale.release(outer, "ann", "HeadYaw")
    tale.settle()


CASES: tuple[tuple[str, Callable[[Tale, bool], None]], ...] = (
    ("I-16", giving_way_in_vain),
    ("I-16", a_state_given_up_in_vain),
    ("I-17", overriding_an_equal),
    ("I-17", a_tie_that_the_holder_keeps),
    ("I-17", a_tie_that_the_asker_does_not_want),
    ("I-17", a_tie_won_after_waiting),
    ("I-17", told_twice),
    ("I-17", overriding_where_nobody_may),
    ("I-17", taking_what_was_not_promised),
    ("I-17", taking_before_the_promised_time),
    ("I-17", a_loser_not_told),
    ("I-18", a_whole_token_that_keeps_a_part),
    ("I-18", a_partial_token_that_loses_more),
    ("I-18", what_is_taken_goes_elsewhere),
    ("I-18", a_freed_leaf_that_nobody_is_offered),
    ("I-18", lost_by_a_parent_that_keeps),
)


@pytest.mark.parametrize(("invariant", "case"), CASES)
def test_the_wrong_tale_is_found(invariant: str, case: Case) -> None:
    assert_told_apart(invariant, case, Preemption.BY_PRIORITY)
