"""Adverse schedules: misbehaving callbacks, coinciding events, many waiters."""

import pytest

from nao_testbed.controllers.arbitration.events import Event, Granted
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Request, StaleToken
from nao_testbed.controllers.arbitration.tokens import AskerTie, HolderTie
from tests.controllers.arbitration.ledger_setup import (
    BY_PRIORITY,
    CANCELLED,
    DENIED,
    GRANTED,
    TIMED_OUT,
    LedgerSetup,
    end_of,
    outcome_of,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("holder", "asker", "third")
    return stage


@pytest.mark.requirement("RM-21", "RM-24")
def test_crossed_pairs_and_a_single_request_are_all_granted(stage: LedgerSetup) -> None:
    first = stage.ask("holder", "TTS", "HeadYaw", timeout_s=9.0)
    second = stage.ask("asker", "HeadYaw", "TTS", timeout_s=9.0)
    third = stage.ask("third", "TTS", timeout_s=9.0)
    for time_s, ticket in enumerate((first, second, third)):
        assert end_of(ticket) == (GRANTED, time_s)
        stage.at(time_s + 1)
        stage.release(ticket.token)


@pytest.mark.requirement("RM-36")
def test_callback_that_takes_another_resource_of_the_request(
    stage: LedgerSetup,
) -> None:
    def grab(demand: Demand) -> Answer:
        stage.take("holder", "LHand")
        return Answer(kind=AnswerKind.YIELD)

    token = stage.take("holder", "TTS", policy=CallbackOnDemand(grab))
    waiting = stage.ask("asker", "TTS", "LHand", timeout_s=1.0)
    stage.until(1.0)
    assert end_of(waiting) == (TIMED_OUT, 1.0)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-20")
def test_request_can_be_withdrawn_while_a_grant_is_promised(stage: LedgerSetup) -> None:
    token = stage.take("holder", "TTS", policy=StopOnDemand(within_s=0.5))
    waiting = stage.ask("asker", "TTS")
    stage.at(0.5)  # a call comes before the timers of its tick
    assert stage.ledger.withdraw(waiting.number, stage.tick)
    stage.until(0.5)
    assert end_of(waiting) == (CANCELLED, 0.5)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-17", "RM-20")
def test_release_precedes_the_timeout_of_the_same_tick(stage: LedgerSetup) -> None:
    """A call precedes the timers of its tick."""
    token = stage.take("holder", "TTS")
    first = stage.ask("asker", "TTS", timeout_s=1.0)
    second = stage.ask("third", "TTS", timeout_s=9.0)
    stage.at(1.0)
    stage.release(token)
    stage.until(1.0)
    assert end_of(first) == (GRANTED, 1.0)
    assert second.outcome is None


@pytest.mark.requirement("RM-17", "RM-20")
def test_release_after_the_timeout_of_its_tick(stage: LedgerSetup) -> None:
    """After the timers of the tick, the release grants the next waiter."""
    token = stage.take("holder", "TTS")
    first = stage.ask("asker", "TTS", timeout_s=1.0)
    second = stage.ask("third", "TTS", timeout_s=9.0)
    stage.until(1.0)
    stage.release(token)
    assert end_of(first) == (TIMED_OUT, 1.0)
    assert end_of(second) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-20", "RM-40")
def test_fault_precedes_release_and_timeout_of_the_same_tick(
    stage: LedgerSetup,
) -> None:
    token = stage.take("holder", "TTS")
    waiting = stage.ask("asker", "TTS", timeout_s=1.0)
    stage.at(1.0)
    stage.ledger.freeze(["TTS"], "broken speaker", stage.tick)
    with pytest.raises(StaleToken, match="REVOKED"):
        stage.release(token)
    stage.until(1.0)
    assert end_of(waiting) == (TIMED_OUT, 1.0)
    assert stage.holders("TTS") == ()


@pytest.mark.requirement("RM-35", "RM-20")
def test_timeout_precedes_a_promise_of_the_same_tick(stage: LedgerSetup) -> None:
    token = stage.take("holder", "TTS", policy=StopOnDemand(within_s=1.0))
    waiting = stage.ask("asker", "TTS", timeout_s=1.0)
    stage.until(2.0)
    assert end_of(waiting) == (TIMED_OUT, 1.0)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-17", "RM-65")
def test_thousand_waiters_are_granted_in_order_after_a_crash(
    stage: LedgerSetup,
) -> None:
    """Without the trace checker, which inspects every waiter at every event."""
    stage.ledger.listeners.remove(stage.checker.see)
    stage.take("holder", "TTS", "HeadYaw")
    crowd = [f"waiter {k}" for k in range(1000)]
    stage.owners(*crowd, timeout_s=60.0)
    tickets = [stage.ask(name, "TTS") for name in crowd]
    stage.at(1.0)
    stage.ledger.drop("holder", stage.tick)
    for number, ticket in enumerate(tickets):
        assert end_of(ticket) == (GRANTED, 1.0)
        if number + 1 < len(tickets):
            assert tickets[number + 1].outcome is None
        stage.release(ticket.token)
    assert stage.waiters("TTS") == ()


@pytest.mark.requirement("AR-21", "AR-22")
def test_two_owners_that_win_ties_alternate_only_by_requests() -> None:
    """Each preempts the other once per request; nothing happens by itself."""
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owners("A", "B", asker_tie=AskerTie.WINS, holder_tie=HolderTie.YIELDS)
    for _ in range(3):
        for owner in ("A", "B"):
            token = stage.take(owner, "TTS")
            assert stage.may(token, "TTS") is None
    grants = [event for event in stage.events if isinstance(event, Granted)]
    stage.until(100.0)
    assert [event.owner for event in grants] == ["A", "B"] * 3
    assert len([e for e in stage.events if isinstance(e, Granted)]) == 6


@pytest.mark.requirement("AR-21", "AR-22")
def test_holder_that_keeps_ties_is_not_preempted_by_a_tie() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("A", asker_tie=AskerTie.WINS, holder_tie=HolderTie.YIELDS)
    stage.owner("B", asker_tie=AskerTie.WINS, holder_tie=HolderTie.KEEPS)
    stage.take("A", "TTS")
    stage.take("B", "TTS")
    assert end_of(stage.ask("A", "TTS", timeout_s=0.0)) == (DENIED, 0.0)


@pytest.mark.requirement("RM-65")
def test_denied_or_timed_out_request_changes_nothing(
    stage: LedgerSetup,
) -> None:
    stage.take("holder", "TTS", "Legs")
    stage.ask("third", "TTS", timeout_s=50.0)
    before = stage.picture()
    stage.ask("asker", "Legs", "Head", timeout_s=0.0)
    assert stage.picture() == before
    late = stage.ask("asker", "Legs", "Head", timeout_s=1.0)
    stage.until(1.0)
    assert outcome_of(late).kind is TIMED_OUT
    assert stage.picture() == before


def test_repeated_request_uses_changed_owner_and_resources(
    stage: LedgerSetup,
) -> None:
    request = Request(owner="asker", resources=("Audio",))
    for policy in (StopOnDemand(), PauseOnDemand()):
        stage.owner("asker", policy=policy)
        stage.ledger.request(request, stage.tick)
        taken = stage.take("third", "Microphone")
        assert stage.waiters("TTS") == (("asker",) if policy.name == "pause" else ())
        stage.release(taken)
    stage.ledger.drop("asker", stage.tick)
    stage.ledger.add_resource("drum", "Audio", stage.tick)
    stage.ledger.request(request, stage.tick)
    assert stage.held_by("asker") == ("Microphone", "TTS", "drum")


def test_listener_that_raises_does_not_interrupt_a_grant(stage: LedgerSetup) -> None:
    def full_disk(event: Event) -> None:
        raise OSError("disk full")

    stage.ledger.listeners.insert(0, full_disk)
    ticket = stage.ask("asker", "TTS")
    assert stage.may(ticket.token, "TTS") is None
    with pytest.raises(OSError, match="disk full"):
        stage.ledger.advance(stage.tick)
    stage.ledger.listeners.remove(full_disk)
    stage.ledger.advance(stage.tick)  # reported once
