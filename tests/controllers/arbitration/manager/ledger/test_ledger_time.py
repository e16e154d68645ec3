"""Time is an argument: ticks never decrease; calls precede timers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import Answered, Settled, Ticked
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
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


def test_next_due_is_the_tick_of_the_next_timer(stage: LedgerSetup) -> None:
    assert stage.ledger.next_due() is None
    stage.take("holder", "TTS", policy=StopOnDemand(within_s=0.3))
    stage.ask("asker", "TTS", timeout_s=0.7)
    due: list[int] = []
    while (tick := stage.ledger.next_due()) is not None and len(due) < 9:
        due.append(tick)
        stage.ledger.advance(tick)
    assert due[0] == 30  # the promise comes first
    assert stage.holders("TTS") == ("asker",)


@pytest.mark.requirement("RM-20")
def test_late_call_runs_earlier_timers_first(stage: LedgerSetup) -> None:
    """Each timer at its own tick, in order."""
    stage.take("holder", "TTS")
    first = stage.ask("asker", "TTS", timeout_s=1.0)
    second = stage.ask("third", "TTS", "LHand", timeout_s=2.0)
    stage.at(50.0)
    third = stage.ask("asker", "LHand")
    assert end_of(first) == (TIMED_OUT, 1.0)
    assert end_of(second) == (TIMED_OUT, 2.0)
    assert end_of(third) == (GRANTED, 50.0)
    ticks = [event.tick for event in stage.events]
    assert ticks == sorted(ticks)


def test_decreasing_tick_is_rejected(stage: LedgerSetup) -> None:
    stage.until(1.0)
    with pytest.raises(BadInput, match="tick is 99, but the ledger is at 100"):
        stage.ledger.advance(99)
    stage.at(0.99)
    with pytest.raises(BadInput, match="tick is 99, but the ledger is at 100"):
        stage.ask("asker", "TTS")
    assert stage.ledger.tick == 100
    assert stage.held_by("asker") == ()


@pytest.mark.requirement("RM-36")
def test_time_cannot_advance_during_a_callback(stage: LedgerSetup) -> None:
    def advance_time(demand: Demand) -> Answer:
        stage.ledger.advance(demand.tick + 1)
        return Answer(kind=AnswerKind.YIELD)

    stage.take("holder", "TTS", policy=CallbackOnDemand(advance_time))
    waiting = stage.ask("asker", "TTS", timeout_s=0.1)
    (answer,) = [event for event in stage.events if isinstance(event, Answered)]
    assert "a tick must not decrease" in answer.error
    stage.until(0.1)
    assert end_of(waiting) == (TIMED_OUT, 0.1)


def test_durations_are_rounded_up_to_ticks() -> None:
    for timeout_s, ticks in ((0.01, 1), (0.011, 2), (0.1, 10), (0.3, 30), (1e-9, 1)):
        stage = LedgerSetup()
        stage.owners("holder", "asker")
        stage.take("holder", "TTS")
        waiting = stage.ask("asker", "TTS", timeout_s=timeout_s)
        stage.ledger.advance(100)
        assert outcome_of(waiting).tick == ticks


def test_call_ends_with_settled_and_advance_with_ticked(stage: LedgerSetup) -> None:
    stage.events.clear()
    stage.take("holder", "TTS")
    assert [event for event in stage.events if isinstance(event, Settled)] == [
        stage.events[-1]
    ]
    stage.ledger.advance(5)
    assert stage.events[-1] == Ticked(tick=5)


@pytest.mark.requirement("RM-32")
def test_decisions_do_not_depend_on_listeners(stage: LedgerSetup) -> None:
    outcomes = []
    for listens in (True, False):
        stage = LedgerSetup()
        if not listens:
            stage.ledger.listeners.clear()
        stage.owners("holder", "asker", "third")
        stage.take("holder", "TTS", policy=StopOnDemand(within_s=0.2))
        tickets = [stage.ask(name, "TTS", timeout_s=1.0) for name in ("asker", "third")]
        stage.until(2.0)
        outcomes.append([end_of(ticket) for ticket in tickets])
    assert outcomes == [[(GRANTED, 0.2), (TIMED_OUT, 1.0)]] * 2


def test_emitting_a_later_tick_runs_earlier_timers_first(
    stage: LedgerSetup,
) -> None:
    """The trace stays ordered by tick."""
    stage.take("holder", "TTS")
    ticket = stage.ask("asker", "TTS", timeout_s=0.3)
    stage.ledger.emit(Ticked(tick=40))
    assert end_of(ticket) == (TIMED_OUT, 0.3)
    assert stage.ledger.tick == 40
    ticks = [event.tick for event in stage.events]
    assert ticks == sorted(ticks)


ENTRY_POINTS: dict[str, Callable[[Ledger, Any], object]] = {
    "add_owner": lambda ledger, tick: ledger.add_owner(Owner(name="new"), tick),
    "renew": lambda ledger, tick: ledger.renew("holder", tick),
    "drop": lambda ledger, tick: ledger.drop("holder", tick),
    "give_up": lambda ledger, tick: ledger.give_up(["holder"], tick),
    "forget_owner": lambda ledger, tick: ledger.forget_owner("holder", tick),
    "entrust": lambda ledger, tick: ledger.entrust("holder", tick),
    "request": lambda ledger, tick: ledger.request(
        Request(owner="holder", resources=("TTS",)), tick
    ),
    "withdraw": lambda ledger, tick: ledger.withdraw(1, tick),
    "notify_blockers": lambda ledger, tick: ledger.notify_blockers(1, tick),
    "reconfigure": lambda ledger, tick: ledger.reconfigure(tick, retry_s=1.0),
    "freeze": lambda ledger, tick: ledger.freeze(["TTS"], "hot", tick),
    "thaw": lambda ledger, tick: ledger.thaw("hot", tick),
    "set_state": lambda ledger, tick: ledger.set_state("State", None, tick),
    "ask_state": lambda ledger, tick: ledger.ask_state("State", None, tick),
    "add_resource": lambda ledger, tick: ledger.add_resource("ball", "root", tick),
    "remove_resource": lambda ledger, tick: ledger.remove_resource("TTS", tick),
    "keep_promises": lambda ledger, tick: ledger.keep_promises(tick),
    "advance": lambda ledger, tick: ledger.advance(tick),
}


@pytest.mark.parametrize("tick", [True, 1.0, np.int64(1)])
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_tick_that_is_not_an_int_is_rejected(
    stage: LedgerSetup, entry_point: str, tick: object
) -> None:
    stage.ledger.advance(1)
    before = len(stage.events)
    with pytest.raises(BadInput, match=r"tick is .*; give a whole number"):
        ENTRY_POINTS[entry_point](stage.ledger, tick)
    assert len(stage.events) == before
