"""Invariants about the gate: the wrong tale is found, the right one is not."""

import pytest

from controllers.arbitration import events as t
from controllers.arbitration.tokens import LossCause, Refusal
from tests.controllers.arbitration.invariants.trace_words import PARTIAL
from tests.controllers.arbitration.invariants.written_traces import Tale

HELD, LENT, RELEASED, REVOKED, EXPIRED = 1, 2, 3, 4, 5


def told(tale: Tale) -> set[str]:
    return {violation.invariant for violation in tale.violations()}


@pytest.fixture
def tale() -> Tale:
    """Tell of tokens in every condition; LHand is frozen in the end."""
    tale = Tale()
    tale.take("ann", "HeadYaw LHand", loss=PARTIAL)
    tale.take("ann", "HeadPitch")
    tale.take("bob", "CPU:1")
    tale.release(RELEASED, "bob", "CPU")
    tale.settle()
    tale.be("Stand")
    tale.settle()
    tale.take("bob", "Stand")
    tale.revoke(REVOKED, "bob", "Stand", by="State", why=LossCause.STATE_LEFT)
    tale.be(None)
    tale.settle()
    tale.take("cat", "CPU:1")
    tale.say(t.Crashed, owner="cat")
    tale.expire(EXPIRED, "cat", "CPU")
    tale.settle()
    tale.revoke(HELD, "ann", "LHand", by="hot", why=LossCause.FROZEN, is_whole=False)
    tale.freeze("LHand")
    tale.settle()
    tale.take("kid", "HeadPitch", inside={"HeadPitch": LENT})
    return tale


REASONS = (
    (None, "HeadYaw", True, Refusal.NO_TOKEN),
    (HELD, "HeadYaw", False, Refusal.UNKNOWN),
    (99, "HeadYaw", False, Refusal.UNKNOWN),
    (RELEASED, "CPU", True, Refusal.RELEASED),
    (REVOKED, "Stand", True, Refusal.REVOKED),
    (EXPIRED, "CPU", True, Refusal.EXPIRED),
    (HELD, "LHand", True, Refusal.FROZEN),
    (HELD, "HeadPitch", True, Refusal.NOT_COVERED),
    (LENT, "HeadPitch", True, Refusal.NOT_COVERED),
)


@pytest.mark.parametrize(("token", "leaf", "is_genuine", "reason"), REASONS)
def test_each_refusal_has_one_right_reason(
    tale: Tale, token: int | None, leaf: str, is_genuine: bool, reason: Refusal
) -> None:
    tale.command(1, token, leaf, is_genuine=is_genuine)
    tale.refuse(1, token, leaf, reason)
    assert told(tale) == set()
    wrong = [other for other in Refusal if other is not reason]
    for number, other in enumerate(wrong, start=2):
        tale.command(number, token, leaf, is_genuine=is_genuine)
        tale.refuse(number, token, leaf, other)
    assert [v.invariant for v in tale.violations()] == ["I-15"] * len(wrong)


@pytest.mark.parametrize(("token", "leaf", "is_genuine", "reason"), REASONS)
def test_what_must_be_refused_is_not_written(
    tale: Tale, token: int | None, leaf: str, is_genuine: bool, reason: Refusal
) -> None:
    if token is None:
        token = 98  # a write has a token, if only one that nobody issued
        is_genuine = False
    tale.command(1, token, leaf, is_genuine=is_genuine)
    tale.write(1, token, leaf)
    expected = {False: "I-13", True: "I-22" if reason is Refusal.FROZEN else "I-11"}
    assert told(tale) == {expected[is_genuine]}


def test_what_holds_is_written_and_not_refused(tale: Tale) -> None:
    tale.command(1, HELD, "HeadYaw")
    tale.write(1, HELD, "HeadYaw")
    assert told(tale) == set()
    tale.command(2, HELD, "HeadYaw")
    tale.refuse(2, HELD, "HeadYaw", Refusal.REVOKED)
    assert told(tale) == {"I-15"}


def test_a_token_of_an_earlier_epoch_is_of_the_wrong_epoch(tale: Tale) -> None:
    tale.open(2)
    tale.epoch = 1
    tale.command(1, HELD, "HeadYaw", is_genuine=False)
    tale.refuse(1, HELD, "HeadYaw", Refusal.WRONG_EPOCH)
    assert told(tale) == set()
    tale.command(2, HELD, "HeadYaw", is_genuine=False)
    tale.refuse(2, HELD, "HeadYaw", Refusal.UNKNOWN)
    assert told(tale) == {"I-15"}


def test_a_token_that_died_in_the_slot_actuates_nothing(tale: Tale) -> None:
    tale.command(1, HELD, "HeadYaw")
    tale.release(HELD, "ann", "HeadYaw")
    tale.settle()
    tale.write(1, HELD, "HeadYaw")
    assert told(tale) == {"I-11"}


def test_a_write_without_a_command_is_found(tale: Tale) -> None:
    tale.write(1, HELD, "HeadYaw")
    assert told(tale) == {"I-14"}


def test_two_writes_of_one_command_are_found(tale: Tale) -> None:
    tale.command(1, HELD, "HeadYaw")
    tale.write(1, HELD, "HeadYaw")
    tale.write(1, HELD, "HeadYaw")
    assert told(tale) == {"I-14"}


def test_a_write_that_was_refused_is_found(tale: Tale) -> None:
    tale.command(1, 99, "HeadYaw", is_genuine=False)
    tale.refuse(1, 99, "HeadYaw", Refusal.UNKNOWN)
    tale.write(1, HELD, "HeadYaw")
    assert told(tale) == {"I-14"}


def test_a_write_of_another_leaf_than_commanded_is_found(tale: Tale) -> None:
    other = tale.take("bob", "CPU:1")
    tale.command(1, HELD, "HeadYaw")
    tale.write(1, other, "CPU")
    assert told(tale) == {"I-14"}


def test_a_number_that_is_used_again_is_found(tale: Tale) -> None:
    tale.command(2, HELD, "HeadYaw")
    tale.command(2, HELD, "HeadYaw")
    assert told(tale) == {"I-14"}


@pytest.mark.parametrize("is_safe", [True, False])
def test_what_freezes_while_it_moves_is_made_safe(is_safe: bool) -> None:
    tale = Tale()
    tale.take("ann", "HeadYaw")
    tale.take("bob", "LHand")
    tale.command(1, 1, "HeadYaw")
    tale.write(1, 1, "HeadYaw")
    tale.until(1)
    tale.revoke(1, "ann", "HeadYaw", by="hot", why=LossCause.FROZEN)
    tale.freeze("HeadYaw")
    tale.settle()
    tale.tick = 2
    tale.command(2, 2, "LHand")
    tale.write(2, 2, "LHand")
    if is_safe:
        tale.say(t.MadeSafe, leaves=("HeadYaw",))
    tale.until(3)
    assert told(tale) == (set() if is_safe else {"I-22"})


def test_what_never_moved_needs_no_safety() -> None:
    tale = Tale()
    tale.freeze("HeadYaw")
    tale.settle()
    tale.take("bob", "LHand")
    tale.tick = 2
    tale.command(1, 1, "LHand")
    tale.write(1, 1, "LHand")
    tale.until(3)
    assert told(tale) == set()


def test_who_is_told_after_the_taker_moves_is_found() -> None:
    tale = Tale()
    tale.take("ann", "HeadYaw")
    tale.take("bob", "LHand")
    why = LossCause.FROZEN
    tale.revoke(1, "ann", "HeadYaw", by="hot", why=why, is_told=False)
    tale.freeze("HeadYaw")
    tale.command(1, 2, "LHand")
    tale.write(1, 2, "LHand")
    assert told(tale) == {"I-17"}


@pytest.mark.requirement("RM-26")
def test_what_a_part_has_is_not_moved_by_its_whole() -> None:
    """While the kid is inside of ann's, the right to the joint is its alone."""
    tale = Tale()
    whole = tale.take("ann", "HeadYaw HeadPitch")
    part = tale.take("kid", "HeadYaw", inside={"HeadYaw": whole})
    tale.settle()
    tale.command(1, part, "HeadYaw")
    tale.write(1, part, "HeadYaw")
    tale.command(2, whole, "HeadPitch")
    tale.write(2, whole, "HeadPitch")
    tale.command(3, whole, "HeadYaw")
    tale.refuse(3, whole, "HeadYaw", Refusal.NOT_COVERED)
    assert told(tale) == set()
    tale.command(4, whole, "HeadYaw")
    tale.write(4, whole, "HeadYaw")
    assert told(tale) == {"I-11"}
    tale.release(part, "kid", "HeadYaw")
    tale.settle()
    tale.command(5, whole, "HeadYaw")
    tale.refuse(5, whole, "HeadYaw", Refusal.NOT_COVERED)
    assert told(tale) == {"I-11", "I-15"}
