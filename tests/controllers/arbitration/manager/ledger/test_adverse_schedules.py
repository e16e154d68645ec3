"""Schedules meant to break it: callbacks that misbehave, all at one tick, crowds."""

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
def test_a_pair_against_the_crossed_pair_against_one(stage: LedgerSetup) -> None:
    first = stage.ask("holder", "TTS", "HeadYaw", timeout_s=9.0)
    second = stage.ask("asker", "HeadYaw", "TTS", timeout_s=9.0)
    third = stage.ask("third", "TTS", timeout_s=9.0)
    for time_s, ticket in enumerate((first, second, third)):
        assert end_of(ticket) == (GRANTED, time_s)
        stage.at(time_s + 1)
        stage.release(ticket.token)


@pytest.mark.requirement("RM-36")
def test_a_callback_that_takes_what_the_asker_wants_besides(stage: LedgerSetup) -> None:
    def grab(demand: Demand) -> Answer:
        stage.take("holder", "LHand")
        return Answer(kind=AnswerKind.YIELD)

    token = stage.take("holder", "TTS", policy=CallbackOnDemand(grab))
    waiting = stage.ask("asker", "TTS", "LHand", timeout_s=1.0)
    stage.until(1.0)
    assert end_of(waiting) == (TIMED_OUT, 1.0)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-20")
def test_a_request_is_withdrawn_while_its_grant_is_promised(stage: LedgerSetup) -> None:
    token = stage.take("holder", "TTS", policy=StopOnDemand(within_s=0.5))
    waiting = stage.ask("asker", "TTS")
    stage.at(0.5)  # a call comes before the timers of its tick
    assert stage.ledger.withdraw(waiting.number, stage.tick)
    stage.until(0.5)
    assert end_of(waiting) == (CANCELLED, 0.5)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-17", "RM-20")
def test_limit_and_release_in_one_tick(stage: LedgerSetup) -> None:
    """A call comes before the timers of its tick: the release wins."""
    token = stage.take("holder", "TTS")
    first = stage.ask("asker", "TTS", timeout_s=1.0)
    second = stage.ask("third", "TTS", timeout_s=9.0)
    stage.at(1.0)
    stage.release(token)
    stage.until(1.0)
    assert end_of(first) == (GRANTED, 1.0)
    assert second.outcome is None


@pytest.mark.requirement("RM-17", "RM-20")
def test_limit_before_release_in_one_tick(stage: LedgerSetup) -> None:
    """Once the tick has passed, its release finds the next who waits."""
    token = stage.take("holder", "TTS")
    first = stage.ask("asker", "TTS", timeout_s=1.0)
    second = stage.ask("third", "TTS", timeout_s=9.0)
    stage.until(1.0)
    stage.release(token)
    assert end_of(first) == (TIMED_OUT, 1.0)
    assert end_of(second) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-20", "RM-40")
def test_limit_release_and_fault_in_one_tick(stage: LedgerSetup) -> None:
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
def test_promise_and_limit_in_one_tick_end_in_the_limit(stage: LedgerSetup) -> None:
    token = stage.take("holder", "TTS", policy=StopOnDemand(within_s=1.0))
    waiting = stage.ask("asker", "TTS", timeout_s=1.0)
    stage.until(2.0)
    assert end_of(waiting) == (TIMED_OUT, 1.0)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-17", "RM-65")
def test_a_thousand_waiters_when_the_holder_crashes(stage: LedgerSetup) -> None:
    """Without the rules of traces, which look at every waiter at every event."""
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
def test_two_askers_with_tie_wins_in_turn() -> None:
    """Each takes from the other once for each request; nothing goes on by itself."""
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
def test_a_winner_of_ties_that_keeps_is_not_robbed_in_turn() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("A", asker_tie=AskerTie.WINS, holder_tie=HolderTie.YIELDS)
    stage.owner("B", asker_tie=AskerTie.WINS, holder_tie=HolderTie.KEEPS)
    stage.take("A", "TTS")
    stage.take("B", "TTS")
    assert end_of(stage.ask("A", "TTS", timeout_s=0.0)) == (DENIED, 0.0)


@pytest.mark.requirement("RM-65")
def test_a_denied_or_late_request_leaves_everything_as_it_was(
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


def test_the_same_request_is_read_anew_when_owner_or_resources_have_changed(
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


def test_a_listener_that_raises_tears_no_change_in_half(stage: LedgerSetup) -> None:
    def full_disk(event: Event) -> None:
        raise OSError("disk full")

    stage.ledger.listeners.insert(0, full_disk)
    ticket = stage.ask("asker", "TTS")
    assert stage.may(ticket.token, "TTS") is None
    with pytest.raises(OSError, match="disk full"):
        stage.ledger.advance(stage.tick)
    stage.ledger.listeners.remove(full_disk)
    stage.ledger.advance(stage.tick)  # once is enough
