"""Invariants about promises to give way: the wrong tale is found, the right one is not.

A case tells one story in two ways; `is_wrong` chooses.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from controllers.arbitration.policies import AnswerKind
from controllers.arbitration.tokens import LossCause, NoticeKind
from tests.controllers.arbitration.invariants.telling_apart import (
    Case,
    assert_told_apart,
)
from tests.controllers.arbitration.invariants.trace_words import PARTIAL, names_of
from tests.controllers.arbitration.invariants.written_traces import Tale

BOTH = "HeadYaw LHand"


@dataclass
class Promise:
    """Ann has the head and a hand; bob, who asks for both, is to get them by a tick."""

    tale: Tale
    until: int = 30
    limit: int = 100

    def __post_init__(self) -> None:
        tale = self.tale
        self.holder = tale.take("ann", BOTH, loss=PARTIAL)
        self.asker = tale.ask("bob", BOTH, timeout_ticks=self.limit)
        tale.demand("ann", self.holder, BOTH, "bob", self.asker)
        tale.answer("ann", self.holder, self.asker, AnswerKind.YIELD)
        self.ask_for_it()
        tale.settle()

    def ask_for_it(self) -> None:
        self.tell(NoticeKind.YIELD_BY, BOTH, until_tick=self.until)

    def let_off(self, leaves: str = BOTH, by: str = "bob") -> None:
        self.tell(NoticeKind.KEEP_ON, leaves, by=by)

    def tell(
        self,
        kind: NoticeKind,
        leaves: str,
        *,
        by: str = "bob",
        until_tick: int | None = None,
    ) -> None:
        self.tale.notify(
            "ann",
            kind,
            token=self.tale.id(self.holder),
            leaves=names_of(leaves),
            by=by,
            request=self.asker,
            until_tick=until_tick,
        )

    def call_in(self) -> None:
        """Let it be kept."""
        tale = self.tale
        tale.tick = self.until
        cause = LossCause.YIELDED
        tale.revoke(self.holder, "ann", BOTH, by="bob", why=cause, request=self.asker)
        tale.grant(self.asker, "bob", BOTH)
        tale.tell_outcome(self.asker, "bob")
        tale.settle()

    def give_up(self) -> None:
        """Let bob not want it any more."""
        self.tale.fail(self.asker, "bob", "withdrawn")
        self.tale.tell_outcome(self.asker, "bob")


def asking_for_what_comes_too_late(tale: Tale, is_wrong: bool) -> None:
    Promise(tale, until=30, limit=30 if is_wrong else 31).call_in()


def leaving_the_holder_to_prepare(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    promise.give_up()
    if not is_wrong:
        promise.let_off()
    tale.settle()


def letting_the_time_pass(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    tale.tick = promise.until
    if not is_wrong:
        promise.let_off()
    tale.settle()
    tale.until(promise.until)


def letting_off_a_part(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    promise.give_up()
    promise.let_off("HeadYaw" if is_wrong else BOTH)
    tale.settle()


def letting_off_twice(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    promise.give_up()
    promise.let_off()
    if is_wrong:
        promise.let_off()
    tale.settle()


def letting_off_and_taking(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    if is_wrong:
        promise.let_off()
    promise.call_in()


def letting_off_for_somebody_else(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    promise.give_up()
    promise.let_off(by="cat" if is_wrong else "bob")
    tale.settle()


def letting_off_who_has_lost_it(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    promise.tale.revoke(promise.holder, "ann", BOTH, by="hot", why=LossCause.FROZEN)
    tale.freeze(BOTH)
    tale.settle()
    promise.give_up()
    if is_wrong:
        promise.let_off()
    tale.settle()


def asking_twice(tale: Tale, is_wrong: bool) -> None:
    promise = Promise(tale)
    if is_wrong:
        tale.tick = 10
        promise.ask_for_it()
        tale.settle()
    promise.call_in()


CASES: tuple[tuple[str, Callable[[Tale, bool], None]], ...] = (
    ("I-16", asking_for_what_comes_too_late),
    ("I-16", leaving_the_holder_to_prepare),
    ("I-16", letting_the_time_pass),
    ("I-16", letting_off_a_part),
    ("trace", letting_off_twice),
    ("trace", letting_off_and_taking),
    ("trace", letting_off_for_somebody_else),
    ("trace", letting_off_who_has_lost_it),
    ("trace", asking_twice),
)


@pytest.mark.requirement("RM-36")
@pytest.mark.parametrize(("invariant", "case"), CASES)
def test_the_wrong_tale_is_found(invariant: str, case: Case) -> None:
    assert_told_apart(invariant, case)
