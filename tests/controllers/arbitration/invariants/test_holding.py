"""Invariants about holding find the tale that breaks them, and no fault in the other.

A case tells one story in two ways; `is_wrong` chooses.
"""

from collections.abc import Callable

import pytest

from controllers.arbitration.policies import AnswerKind
from controllers.arbitration.tokens import LossCause
from tests.controllers.arbitration.invariants.telling_apart import (
    Case,
    assert_told_apart,
)
from tests.controllers.arbitration.invariants.written_traces import Tale

PARENT = LossCause.PARENT_RELEASED


def two_users(tale: Tale, is_wrong: bool) -> None:
    first = tale.take("ann", "HeadYaw")
    if not is_wrong:
        tale.release(first, "ann", "HeadYaw")
        tale.settle()
    tale.take("bob", "HeadYaw")


def a_state_that_is_left(tale: Tale, is_wrong: bool) -> None:
    tale.be("Stand")
    tale.settle()
    token = tale.take("ann", "Stand")
    tale.take("bob", "Stand")  # shared
    if not is_wrong:
        tale.revoke(token, "ann", "Stand", by="Sit", why=LossCause.STATE_LEFT)
        tale.revoke(token + 1, "bob", "Stand", by="Sit", why=LossCause.STATE_LEFT)
    tale.be("Sit")
    tale.settle()


def a_state_that_is_not_active(tale: Tale, is_wrong: bool) -> None:
    tale.be("Sit" if is_wrong else "Stand")
    tale.settle()
    tale.take("ann", "Stand")


def a_stranger_inside(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "HeadYaw")
    who = "bob" if is_wrong else "kid"
    tale.take(who, "HeadYaw", inside={"HeadYaw": outer})


def inside_of_itself(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "HeadYaw")
    tale.take("ann" if is_wrong else "kid", "HeadYaw", inside={"HeadYaw": outer})


def half_a_composite(tale: Tale, is_wrong: bool) -> None:
    unit = ("HeadYaw",) if is_wrong else ("HeadPitch", "HeadYaw")
    request = tale.ask("ann", "LHand", optional={"Head": unit})
    tale.grant(request, "ann", f"LHand {' '.join(unit)}")
    tale.settle()


def half_a_group(tale: Tale, is_wrong: bool) -> None:
    request = tale.ask("ann", "HeadYaw LHand")
    tale.grant(request, "ann", "HeadYaw" if is_wrong else "HeadYaw LHand")
    tale.settle()


def half_an_optional_name(tale: Tale, is_wrong: bool) -> None:
    unit = ("HeadPitch", "HeadYaw")
    request = tale.ask("ann", "LHand", optional={"Head": unit})
    tale.grant(request, "ann", "LHand HeadYaw" if is_wrong else "LHand", missing="Head")
    tale.settle()


def more_than_it_has(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw HeadPitch")
    tale.take("bob", "LHand")
    tale.release(token, "ann", "LHand" if is_wrong else "HeadYaw", is_whole=False)
    tale.settle()


def an_end_that_is_none(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw HeadPitch")
    tale.release(token, "ann", "HeadYaw", is_whole=is_wrong)
    tale.settle()


def another_set_after_a_pause(tale: Tale, is_wrong: bool) -> None:
    holder = tale.take("ann", "HeadYaw LHand")
    asker = tale.ask("bob", "HeadYaw")
    tale.demand("ann", holder, "HeadYaw", "bob", asker)
    tale.answer("ann", holder, asker, AnswerKind.PAUSE)
    tale.revoke(
        holder,
        "ann",
        "HeadYaw",
        freed="LHand",
        by="bob",
        why=LossCause.PAUSED,
        request=asker,
        resume=3,
    )
    tale.grant(asker, "bob", "HeadYaw")
    tale.ask(
        "ann",
        "HeadYaw" if is_wrong else "HeadYaw LHand",
        arrival=1,
        timeout_ticks=None,
        resumes=tale.id(holder),
    )
    tale.settle()


def a_release_by_a_dead_token(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    tale.release(token, "ann", "HeadYaw")
    tale.settle()
    if is_wrong:
        tale.release(token, "ann", "HeadYaw")
        tale.settle()


def a_dead_token_that_grows(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    if is_wrong:
        tale.release(token, "ann", "HeadYaw")
        tale.settle()
    request = tale.ask("ann", "LHand", add_to=tale.id(token))
    tale.grant(request, "ann", "LHand", token=token)
    tale.settle()


def too_much_together(tale: Tale, is_wrong: bool) -> None:
    tale.take("ann", "CPU:10")
    tale.take("bob", "CPU:90.01" if is_wrong else "CPU:90")


def more_than_the_parent_has(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "CPU:40")
    tale.take("kid", "CPU:30", inside={"CPU": outer})
    tale.take("sib", "CPU:20" if is_wrong else "CPU:10", inside={"CPU": outer})


def beside_the_parent(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "CPU:40")
    tale.take("kid", "CPU:30", inside={} if is_wrong else {"CPU": outer})


def a_child_left_over(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "HeadYaw")
    inner = tale.take("kid", "HeadYaw", inside={"HeadYaw": outer})
    if not is_wrong:
        tale.revoke(inner, "kid", "HeadYaw", by="ann", why=PARENT)
    tale.release(outer, "ann", "HeadYaw")
    tale.settle()


def a_sibling_not_told(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "HeadYaw")
    inner = tale.take("kid", "HeadYaw", inside={"HeadYaw": outer})
    asker = tale.ask("sib", "HeadYaw")
    if not is_wrong:
        tale.demand("kid", inner, "HeadYaw", "sib", asker)
        tale.answer("kid", inner, asker, AnswerKind.KEEP)
    tale.settle()


def a_child_kept_waiting(tale: Tale, is_wrong: bool) -> None:
    outer = tale.take("ann", "HeadYaw LHand")
    asker = tale.ask("kid", "LHand")
    if not is_wrong:
        tale.grant(asker, "kid", "LHand", inside={"LHand": outer})
    tale.settle()


CASES: tuple[tuple[str, Callable[[Tale, bool], None]], ...] = (
    ("I-1", two_users),
    ("I-1", a_state_that_is_left),
    ("I-1", a_state_that_is_not_active),
    ("I-1", a_stranger_inside),
    ("I-1", inside_of_itself),
    ("I-2", half_a_composite),
    ("I-4", half_a_group),
    ("I-4", half_an_optional_name),
    ("I-4", more_than_it_has),
    ("I-4", an_end_that_is_none),
    ("I-4", another_set_after_a_pause),
    ("I-10", a_release_by_a_dead_token),
    ("I-10", a_dead_token_that_grows),
    ("I-19", too_much_together),
    ("I-19", more_than_the_parent_has),
    ("I-20", beside_the_parent),
    ("I-20", a_child_left_over),
    ("I-20", a_sibling_not_told),
    ("I-20", a_child_kept_waiting),
)


@pytest.mark.parametrize(("invariant", "case"), CASES)
def test_the_wrong_tale_is_found(invariant: str, case: Case) -> None:
    assert_told_apart(invariant, case)
