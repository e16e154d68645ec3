"""Crashes, restarts, freezes, names: the wrong tale is found, the right one is not.

A case tells one story in two ways; `is_wrong` chooses.
"""

from collections.abc import Callable

import pytest

from controllers.arbitration import events as t
from controllers.arbitration.policies import AnswerKind
from controllers.arbitration.tokens import LossCause, NoticeKind, TokenId
from tests.controllers.arbitration.invariants.telling_apart import (
    Case,
    assert_told_apart,
)
from tests.controllers.arbitration.invariants.trace_words import EXCLUSIVE, PARTIAL
from tests.controllers.arbitration.invariants.written_traces import Tale


def a_crash_that_leaves_a_child(tale: Tale, is_wrong: bool) -> None:
    hand = tale.take("kid", "LHand")
    head = tale.take("ann", "HeadYaw")
    tale.take("bob", "HeadPitch")
    waits = tale.ask("kid", "HeadPitch HeadYaw")
    tale.settle()
    tale.say(t.Crashed, owner="ann")
    tale.fail(waits, "kid", "gone")
    tale.tell_outcome(waits, "kid")
    if not is_wrong:
        tale.expire(hand, "kid", "LHand")
    tale.expire(head, "ann", "HeadYaw")
    tale.settle()


def a_silence(tale: Tale, is_wrong: bool) -> None:
    tale.owner("dan", live=30)
    token = tale.take("dan", "HeadYaw")
    tale.until(29)
    tale.tick = 30
    if not is_wrong:
        tale.say(t.Crashed, owner="dan")
        tale.expire(token, "dan", "HeadYaw")
        tale.settle()
    tale.until(30)


def an_expiry_of_the_living(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    if not is_wrong:
        tale.say(t.Crashed, owner="ann")
    tale.expire(token, "ann", "HeadYaw")
    tale.settle()


def an_old_number(tale: Tale, is_wrong: bool) -> None:
    tale.tokens = 7
    tale.take("ann", "HeadYaw")
    tale.tokens = 3 if is_wrong else 20
    tale.take("ann", "LHand")


def an_epoch_again(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    tale.tokens = 0
    tale.open(1 if is_wrong else 2)
    tale.tokens = 1
    tale.take("ann", "HeadYaw")  # what was held before the restart is void


def a_grant_of_a_frozen_leaf(tale: Tale, is_wrong: bool) -> None:
    tale.freeze("HeadYaw", is_total=is_wrong)  # a cap alone leaves it usable
    tale.settle()
    tale.take("ann", "HeadYaw")


def a_holder_of_a_frozen_leaf(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw LHand", loss=PARTIAL)
    if not is_wrong:
        tale.revoke(
            token, "ann", "HeadYaw", by="hot", why=LossCause.FROZEN, is_whole=False
        )
    tale.freeze("HeadYaw")
    tale.settle()


def a_freeze_that_takes_and_is_not_there(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    tale.revoke(token, "ann", "HeadYaw", by="hot", why=LossCause.FROZEN)
    if not is_wrong:
        tale.freeze("HeadYaw")
    tale.settle()


def a_thaw_that_wakes_nobody(tale: Tale, is_wrong: bool) -> None:
    tale.freeze("HeadYaw")
    tale.settle()
    asker = tale.ask("ann", "HeadYaw")
    tale.settle()
    tale.thaw("HeadYaw")
    if not is_wrong:
        tale.grant(asker, "ann", "HeadYaw")
        tale.tell_outcome(asker, "ann")
    tale.settle()


def names_out_of_order(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadPitch HeadYaw")
    names = ("HeadYaw", "HeadPitch") if is_wrong else ("HeadPitch", "HeadYaw")
    tale.say(
        t.Released,
        token=TokenId(1, token),
        owner="ann",
        leaves=names,
        is_whole=True,
    )
    tale.settle()


def a_leaf_that_is_none(tale: Tale, is_wrong: bool) -> None:
    tale.freeze("HeadJaw" if is_wrong else "HeadYaw")
    tale.settle()


def a_step_back_in_time(tale: Tale, is_wrong: bool) -> None:
    tale.until(5)
    tale.until(4 if is_wrong else 5)


def _demand(tale: Tale, *, holder: str = "ann", asker: str = "bob") -> None:
    tale.take("ann", "HeadYaw")
    tale.take("cat", "LHand")
    request = tale.ask("bob", "HeadYaw")
    token = 1 if holder == "ann" else 2
    tale.demand(holder, token, "HeadYaw", asker, request)
    tale.answer(holder, token, request, AnswerKind.KEEP)
    tale.settle()


def a_demand_on_who_holds_something_else(tale: Tale, is_wrong: bool) -> None:
    _demand(tale, holder="cat" if is_wrong else "ann")


def a_demand_by_who_does_not_ask(tale: Tale, is_wrong: bool) -> None:
    _demand(tale, asker="cat" if is_wrong else "bob")


def a_demand_without_an_answer(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "HeadYaw")
    request = tale.ask("bob", "HeadYaw")
    tale.demand("ann", 1, "HeadYaw", "bob", request)
    if not is_wrong:
        tale.answer("ann", 1, request, AnswerKind.KEEP)
    tale.settle()


def a_refusal_by_who_does_not_hold(tale: Tale, is_wrong: bool) -> None:
    tale.be("Stand")
    tale.settle()
    tale.take("ann", "Stand")
    holders = ("ann", "bob") if is_wrong else ("ann",)
    tale.say(t.StateRefused, group="State", wanted="Sit", holders=holders)
    tale.settle()


def a_change_to_what_was(tale: Tale, is_wrong: bool) -> None:
    tale.be("Stand")
    tale.settle()
    tale.be("Stand" if is_wrong else None)
    tale.settle()


def free_again_but_frozen(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    tale.revoke(token, "ann", "HeadYaw", by="hot", why=LossCause.FROZEN)
    tale.freeze("HeadYaw")
    tale.settle()
    if not is_wrong:
        tale.thaw("HeadYaw")
    said = {"token": tale.id(token), "leaves": ("HeadYaw",)}
    tale.notify("ann", NoticeKind.AVAILABLE, **said)
    tale.settle()


def removing_what_is_not_there(tale: Tale, is_wrong: bool) -> None:
    tale.say(t.ResourceRemoved, name="Ball" if is_wrong else "LHand")
    tale.settle()


def adding_a_name_twice(tale: Tale, is_wrong: bool) -> None:
    name = "Head" if is_wrong else "Ball"
    tale.say(t.ResourceAdded, name=name, parent="root", kind=EXCLUSIVE)
    tale.settle()


def moving_to_another_parent(tale: Tale, is_wrong: bool) -> None:
    tale.owner("kid", parent="bob" if is_wrong else "ann")


CASES: tuple[tuple[str, Callable[[Tale, bool], None]], ...] = (
    ("I-5", names_out_of_order),
    ("I-9", a_crash_that_leaves_a_child),
    ("I-9", a_silence),
    ("I-9", an_expiry_of_the_living),
    ("I-12", an_old_number),
    ("I-12", an_epoch_again),
    ("I-22", a_grant_of_a_frozen_leaf),
    ("I-22", a_holder_of_a_frozen_leaf),
    ("I-22", a_freeze_that_takes_and_is_not_there),
    ("I-22", a_thaw_that_wakes_nobody),
    ("trace", a_leaf_that_is_none),
    ("trace", a_step_back_in_time),
    ("trace", a_demand_on_who_holds_something_else),
    ("trace", a_demand_by_who_does_not_ask),
    ("trace", a_demand_without_an_answer),
    ("trace", a_refusal_by_who_does_not_hold),
    ("trace", a_change_to_what_was),
    ("trace", free_again_but_frozen),
    ("trace", removing_what_is_not_there),
    ("trace", adding_a_name_twice),
    ("trace", moving_to_another_parent),
)


@pytest.mark.parametrize(("invariant", "case"), CASES)
def test_the_wrong_tale_is_found(invariant: str, case: Case) -> None:
    assert_told_apart(invariant, case)
