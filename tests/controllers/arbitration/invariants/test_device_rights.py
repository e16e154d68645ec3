"""I-14 on every door: the wrong tale is found, the right one is not."""

from collections.abc import Callable

import pytest

from controllers.arbitration import events as t
from controllers.arbitration.tokens import LossCause, NoticeKind, Refusal, Right
from models.resources import DeviceKind
from tests.controllers.arbitration.invariants.telling_apart import assert_told_apart
from tests.controllers.arbitration.invariants.trace_words import EXCLUSIVE
from tests.controllers.arbitration.invariants.written_traces import Tale

LIMIT = "Stiffness"


def limits(tale: Tale, *, entrusts: str = "") -> None:
    """Let the head have a torque limit of its own, and perhaps somebody to set it."""
    tale.say(
        t.ResourceAdded,
        name=LIMIT,
        parent="root",
        kind=EXCLUSIVE,
        device=DeviceKind.STIFFNESS,
        limits=("HeadPitch", "HeadYaw"),
    )
    if entrusts:
        tale.say(t.Entrusted, owner=entrusts, is_entrusted=True)
    tale.settle()


def take_limit(tale: Tale, owner: str, *tells: tuple[str, int, str]) -> int:
    """Let somebody have the limit; tell the holders that are limited by it."""
    request = tale.ask(owner, LIMIT)
    token = tale.grant(request, owner, LIMIT)
    for holder, held, leaf in tells:
        tell(tale, holder, held, leaf, owner)
    tale.settle()
    return token


def tell(tale: Tale, holder: str, held: int, leaf: str, by: str) -> None:
    tale.notify(holder, NoticeKind.LIMITED, token=tale.id(held), leaves=(leaf,), by=by)


def allow(tale: Tale, held: int, owner: str, right: Right, yes: bool = True) -> None:
    tale.say(t.Allowed, token=tale.id(held), owner=owner, right=right, is_allowed=yes)
    tale.settle()


def shift(tale: Tale, number: int, token: int, leaf: str) -> None:
    tale.say(
        t.Commanded,
        command=number,
        token=tale.id(token),
        is_genuine=True,
        resource=leaf,
        is_shift=True,
    )


def a_limit_granted_beside_a_strangers_motor(tale: Tale, is_wrong: bool) -> None:
    limits(tale)
    held = tale.take("ann", "HeadYaw")
    if not is_wrong:
        tale.release(held, "ann", "HeadYaw")
        tale.settle()
    take_limit(tale, "bob")


def a_limit_granted_by_consent(tale: Tale, is_wrong: bool) -> None:
    limits(tale)
    held = tale.take("ann", "HeadYaw")
    allow(tale, held, "bob", Right.SHIFT if is_wrong else Right.LIMIT)
    take_limit(tale, "bob", *([] if is_wrong else [("ann", held, "HeadYaw")]))


def a_holder_who_is_not_told_of_a_limit(tale: Tale, is_wrong: bool) -> None:
    limits(tale, entrusts="bob")
    held = tale.take("ann", "HeadYaw")
    take_limit(tale, "bob", *([] if is_wrong else [("ann", held, "HeadYaw")]))


def a_holder_who_is_not_told_of_a_cap(tale: Tale, is_wrong: bool) -> None:
    held = tale.take("ann", "HeadYaw")
    tale.freeze("HeadYaw", "tired", is_total=False)
    if not is_wrong:
        tell(tale, "ann", held, "HeadYaw", "tired")
    tale.settle()


def a_limit_set_beside_a_holder_who_forbids_it(tale: Tale, is_wrong: bool) -> None:
    limits(tale, entrusts="bob")
    held = tale.take("ann", "HeadYaw")
    token = take_limit(tale, "bob", ("ann", held, "HeadYaw"))
    if is_wrong:
        allow(tale, held, "bob", Right.LIMIT, yes=False)
    tale.command(1, token, LIMIT)
    tale.write(1, token, LIMIT)


def a_limit_of_a_frozen_motor(tale: Tale, is_wrong: bool) -> None:
    limits(tale)
    tale.freeze("HeadYaw")
    tale.settle()
    token = take_limit(tale, "bob")
    tale.command(1, token, LIMIT)
    if not is_wrong:
        tale.say(t.LeftOut, command=1, leaves=("HeadYaw",))
    tale.write(1, token, LIMIT)


def a_limit_that_leaves_out_what_is_free(tale: Tale, is_wrong: bool) -> None:
    limits(tale)
    token = take_limit(tale, "bob")
    tale.command(1, token, LIMIT)
    if is_wrong:
        tale.say(t.LeftOut, command=1, leaves=("HeadYaw",))
    tale.write(1, token, LIMIT)


def who_is_gone_and_entrusted(tale: Tale, is_wrong: bool) -> None:
    limits(tale, entrusts="bob")
    tale.say(t.Crashed, owner="bob")
    if not is_wrong:
        tale.say(t.Entrusted, owner="bob", is_entrusted=False)
    tale.settle()


def a_shift_by_a_stranger(tale: Tale, is_wrong: bool) -> None:
    limits(tale)
    held = tale.take("ann", "HeadYaw")
    other = tale.take("bob", "LHand")
    if not is_wrong:
        allow(tale, held, "bob", Right.SHIFT)
    shift(tale, 1, other, "HeadYaw")
    tale.write(1, other, "HeadYaw")


def a_shift_of_who_is_entrusted_without_the_limit(tale: Tale, is_wrong: bool) -> None:
    limits(tale, entrusts="bob")
    held = tale.take("ann", "HeadYaw")
    if is_wrong:
        token = tale.take("bob", "LHand")
    else:
        token = take_limit(tale, "bob", ("ann", held, "HeadYaw"))
    shift(tale, 1, token, "HeadYaw")
    tale.write(1, token, "HeadYaw")


def shift_that_ends(tale: Tale, end: Callable[[int, int], None]) -> None:
    """Let bob shift what ann holds, then let his right end."""
    limits(tale)
    held = tale.take("ann", "HeadYaw")
    other = tale.take("bob", "LHand")
    allow(tale, held, "bob", Right.SHIFT)
    tale.tick = 1
    shift(tale, 1, other, "HeadYaw")
    tale.write(1, other, "HeadYaw")
    end(held, other)
    tale.tick = 2
    last = tale.take("cat", "HeadPitch")
    tale.command(2, last, "HeadPitch")
    tale.write(2, last, "HeadPitch")


def a_shift_that_outlives_consent(tale: Tale, is_wrong: bool) -> None:
    shift_that_ends(
        tale, lambda held, _: allow(tale, held, "bob", Right.SHIFT, yes=False)
    )
    after_the_slot(tale, is_wrong)


def a_shift_that_outlives_its_token(tale: Tale, is_wrong: bool) -> None:
    def release(held: int, other: int) -> None:
        tale.release(other, "bob", "LHand")
        tale.settle()

    shift_that_ends(tale, release)
    after_the_slot(tale, is_wrong)


def a_shift_that_outlives_the_hold(tale: Tale, is_wrong: bool) -> None:
    def release(held: int, other: int) -> None:
        tale.release(held, "ann", "HeadYaw")
        tale.settle()

    shift_that_ends(tale, release)
    after_the_slot(tale, is_wrong)


def a_shift_that_outlives_a_freeze(tale: Tale, is_wrong: bool) -> None:
    def freeze(held: int, other: int) -> None:
        tale.revoke(held, "ann", "HeadYaw", by="hot", why=LossCause.FROZEN)
        tale.freeze("HeadYaw")
        tale.settle()

    shift_that_ends(tale, freeze)
    if not is_wrong:
        tale.say(t.MadeSafe, leaves=("HeadYaw",))
    after_the_slot(tale, is_wrong)


def after_the_slot(tale: Tale, is_wrong: bool) -> None:
    """End the slot in which the gate wrote, with the shift taken back or not."""
    if not is_wrong:
        tale.say(t.Unshifted, leaves=("HeadYaw",))
    tale.until(3)


def a_shift_taken_back_that_has_its_right(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    shift(tale, 1, token, "HeadYaw")
    tale.write(1, token, "HeadYaw")
    if not is_wrong:
        tale.release(token, "ann", "HeadYaw")
        tale.settle()
    tale.say(t.Unshifted, leaves=("HeadYaw",))


def a_shift_taken_back_that_is_none(tale: Tale, is_wrong: bool) -> None:
    token = tale.take("ann", "HeadYaw")
    if is_wrong:
        tale.command(1, token, "HeadYaw")
    else:
        shift(tale, 1, token, "HeadYaw")
    tale.write(1, token, "HeadYaw")
    tale.release(token, "ann", "HeadYaw")
    tale.settle()
    tale.say(t.Unshifted, leaves=("HeadYaw",))


CASES = [
    a_limit_granted_beside_a_strangers_motor,
    a_limit_granted_by_consent,
    a_holder_who_is_not_told_of_a_limit,
    a_holder_who_is_not_told_of_a_cap,
    a_limit_set_beside_a_holder_who_forbids_it,
    a_shift_by_a_stranger,
    a_shift_of_who_is_entrusted_without_the_limit,
    a_shift_that_outlives_consent,
    a_shift_that_outlives_its_token,
    a_shift_that_outlives_the_hold,
    a_shift_taken_back_that_has_its_right,
    a_shift_taken_back_that_is_none,
]


@pytest.mark.requirement("I-14")
@pytest.mark.parametrize("case", CASES)
def test_the_wrong_tale_is_found(case: Callable[[Tale, bool], None]) -> None:
    assert_told_apart("I-14", case)


@pytest.mark.requirement("I-22")
@pytest.mark.parametrize(
    "case", [a_limit_of_a_frozen_motor, a_limit_that_leaves_out_what_is_free]
)
def test_a_frozen_motors_limit_is_left_alone(
    case: Callable[[Tale, bool], None],
) -> None:
    assert_told_apart("I-22", case)


@pytest.mark.requirement("I-14")
def test_who_is_gone_is_not_entrusted() -> None:
    assert_told_apart("I-9", who_is_gone_and_entrusted)


@pytest.mark.requirement("I-14", "I-22")
def test_a_shift_that_outlives_a_freeze_is_found_twice() -> None:
    """It is a shift without a right, and a motor that was never made safe."""
    for is_wrong, found in ((False, set()), (True, {"I-14", "I-22"})):
        tale = Tale()
        a_shift_that_outlives_a_freeze(tale, is_wrong)
        assert {v.invariant for v in tale.violations()} == found


@pytest.mark.requirement("I-14")
def test_a_shift_is_refused_with_the_right_reason() -> None:
    tale = Tale()
    limits(tale)
    tale.take("ann", "HeadYaw")
    other = tale.take("bob", "LHand")
    for number, reason in enumerate(Refusal, start=1):
        shift(tale, number, other, "HeadYaw")
        tale.refuse(number, other, "HeadYaw", reason)
    wrong = [v.invariant for v in tale.violations()]
    assert wrong == ["I-15"] * (len(Refusal) - 1)
