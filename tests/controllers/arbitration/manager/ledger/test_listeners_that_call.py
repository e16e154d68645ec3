"""Listeners and policies that call the ledger, raise, or call without end."""

from collections.abc import Callable

import pytest

from nao_testbed.controllers.arbitration.events import Event, Granted, Notified, Settled
from nao_testbed.controllers.arbitration.manager.front import LedgerFront
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
)
from nao_testbed.controllers.arbitration.requests import Request, Ticket
from nao_testbed.controllers.arbitration.tokens import NoticeKind
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    BY_PRIORITY,
    LOST,
    LedgerSetup,
    outcome_of,
)


class BrokenReprError(Exception):
    """Error whose repr raises another error."""

    def __repr__(self) -> str:
        raise RuntimeError("not to be spoken of")


def when_lost(owner: str, act: Callable[[], object]) -> Callable[[Event], None]:
    """Return a listener that acts when an owner loses something."""

    def hear(event: Event) -> None:
        if isinstance(event, Notified) and (event.owner, event.kind) == (owner, LOST):
            act()

    return hear


@pytest.mark.requirement("RM-14", "AR-18")
def test_request_in_answer_to_a_loss_does_not_share_the_leaf() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("low")
    stage.owner("high", priority=5)
    again: list[Ticket] = []
    stage.ledger.listeners.append(
        when_lost("low", lambda: again.append(stage.ask("low", "HeadYaw")))
    )
    first = stage.take("low", "HeadYaw")
    higher = stage.ask("high", "HeadYaw")
    (second,) = again
    assert stage.holders("HeadYaw") == ("high",)
    assert second.outcome is None
    tokens = (first, higher.token)
    assert [stage.may(token, "HeadYaw") is None for token in tokens] == [False, True]


@pytest.mark.requirement("RM-30")
def test_release_by_a_listener_during_a_revocation_is_safe() -> None:
    """Parent and child lose their tokens in one step."""
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("parent")
    stage.owner("child", parent="parent")
    stage.owner("high", priority=5)
    kept = stage.take("parent", "Audio")
    used = stage.take("child", "TTS")
    stage.ledger.listeners.append(
        when_lost("child", lambda: stage.release(kept, "Microphone"))
    )
    stage.take("high", "TTS")
    assert stage.holders("TTS") == ("high",)
    assert stage.may(used, "TTS") is not None
    with pytest.raises(Exception, match="REVOKED"):  # raised in the listener
        stage.until(0.1)


def test_listeners_are_notified_in_order_of_events() -> None:
    stage = LedgerSetup()
    stage.owners("a", "b")
    heard: list[Event] = []

    def ask_once(event: Event) -> None:
        if isinstance(event, Granted) and event.owner == "a":
            stage.ask("b", "HeadPitch")

    stage.ledger.listeners.insert(0, ask_once)
    stage.ledger.listeners.append(heard.append)
    stage.ask("a", "HeadYaw")
    kinds = [type(event) for event in heard]
    assert kinds.index(Settled) < kinds.index(Granted, kinds.index(Granted) + 1)
    assert stage.held_by("b") == ("HeadPitch",)


def test_time_cannot_advance_during_a_notification() -> None:
    stage = LedgerSetup()
    stage.owners("a", "b")
    front = LedgerFront(stage.ledger)

    def wait_for_it(event: Event) -> None:
        if isinstance(event, Granted):
            front.take(Request(owner="b", resources=("HeadYaw",)))

    stage.ledger.listeners.append(wait_for_it)
    stage.take("a", "HeadYaw")
    assert stage.ledger.tick == 0
    assert stage.waiters("HeadYaw") == ()
    with pytest.raises(BadInput, match="must not decrease, nor change"):
        stage.ledger.advance(0)


def test_endless_calls_between_listeners_are_stopped() -> None:
    """Two owners that win ties preempt each other again and again in one call."""
    stage = LedgerSetup(preemption=BY_PRIORITY)
    ties = {"asker_tie": "tie wins", "holder_tie": "yields"}
    stage.owners("a", "b", **ties)
    for owner in ("a", "b"):

        def again(owner: str = owner) -> None:
            stage.ask(owner, "HeadYaw")

        stage.ledger.listeners.append(when_lost(owner, again))
    stage.take("a", "HeadYaw")
    stage.ask("b", "HeadYaw")
    assert len(stage.holders("HeadYaw")) == 1
    with pytest.raises(BadInput, match="within each other"):
        stage.until(0.1)


def test_exception_in_a_listener_does_not_affect_others() -> None:
    stage = LedgerSetup()
    stage.owner("a")
    heard: list[Event] = []

    def stop(event: Event) -> None:
        if isinstance(event, Granted):
            raise KeyboardInterrupt

    stage.ledger.listeners.insert(0, stop)
    stage.ledger.listeners.append(heard.append)
    with pytest.raises(KeyboardInterrupt):
        stage.take("a", "HeadYaw")
    assert any(isinstance(event, Granted) for event in heard)
    assert isinstance(heard[-1], Settled)


def test_policy_asked_for_a_state_may_change_its_holders() -> None:
    stage = LedgerSetup()
    stage.owners("a", "b")
    stage.ledger.set_state("State", "Stand", 0)
    stage.take("a", "Stand", policy=CallbackOnDemand(lambda _: stage_ask()))
    answer = Answer(kind=AnswerKind.YIELD)

    def stage_ask() -> Answer:
        stage.ask("b", "Stand", "HeadYaw")
        return answer

    assert not stage.ledger.ask_state("State", "Sit", 0)
    assert stage.holders("Stand") == ("a", "b")


@pytest.mark.requirement("RM-20")
def test_requester_freed_by_its_own_request_is_notified() -> None:
    """The request waited until a listener released the leaf, so it is notified."""
    stage = LedgerSetup()
    stage.owners("a", "b")
    held = stage.take("a", "HeadYaw")

    def give_back(event: Event) -> None:
        is_demand = isinstance(event, Notified) and event.kind is NoticeKind.DEMANDED
        if is_demand and stage.holders("HeadYaw") == ("a",):
            stage.release(held)

    stage.ledger.listeners.append(give_back)
    assert outcome_of(stage.ask("b", "HeadYaw")).is_granted
    (told,) = stage.told("b", NoticeKind.OUTCOME)
    assert told.outcome is not None
    assert told.outcome.is_granted


# -- exceptions are reported to their owner --------------------------------------------


@pytest.mark.requirement("RM-33")
def test_owner_is_notified_of_an_exception_in_its_policy() -> None:
    stage = LedgerSetup()

    def fails(_: Demand) -> Answer:
        raise BrokenReprError

    stage.owner("dance", policy=CallbackOnDemand(fails))
    stage.owner("walk")
    token = stage.take("dance", "HeadYaw")
    waiting = stage.ask("walk", "HeadYaw", timeout_s=0.2)
    (notice,) = stage.told("dance", NoticeKind.RAISED)
    assert "BrokenReprError" in notice.error
    assert (notice.token, notice.by, notice.request) == (token.id, "walk", 2)
    stage.until(0.2)
    assert not outcome_of(waiting).is_granted
