"""Exclusive resources: one owner, first come first served, waits with timeouts."""

from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import Granted, ResourceRemoved
from nao_testbed.controllers.arbitration.manager.granting import Granting
from nao_testbed.controllers.arbitration.manager.state.records import Waiting
from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.controllers.arbitration.tokens import NoticeKind, Why
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import (
    CANCELLED,
    DENIED,
    GRANTED,
    HEAD,
    TIMED_OUT,
    LedgerSetup,
    end_of,
    outcome_of,
    why,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("MoveHead1", "MoveHead2", "MoveHead3")
    return stage


@pytest.mark.requirement("RM-14")
def test_try_is_denied_at_once_with_the_blocking_owner(stage: LedgerSetup) -> None:
    stage.take("MoveHead1", "HeadYaw")
    tried = stage.ask("MoveHead2", "HeadYaw", timeout_s=0.0)
    assert end_of(tried) == (DENIED, 0.0)
    assert why(tried) is Why.BUSY
    (blocker,) = outcome_of(tried).blockers
    assert (blocker.resource, blocker.owners) == ("HeadYaw", ("MoveHead1",))
    assert stage.waiters("HeadYaw") == ()


@pytest.mark.requirement("RM-15")
def test_resource_can_be_added_and_removed_during_use_of_others(
    stage: LedgerSetup,
) -> None:
    token = stage.take("MoveHead1", *HEAD)
    waiting = stage.ask("MoveHead2", *HEAD)
    before = stage.picture()

    stage.ledger.add_resource("ball", "root", stage.tick)
    ball = stage.take("MoveHead3", "ball")
    stage.release(ball)
    stage.ledger.remove_resource("ball", stage.tick)

    assert stage.picture() == before
    assert ResourceRemoved(tick=0, name="ball") in stage.events
    stage.release(token)
    assert end_of(waiting) == (GRANTED, 0.0)
    with pytest.raises(UnknownName, match="'ball'"):
        stage.ask("MoveHead3", "ball")


@pytest.mark.requirement("RM-15")
@pytest.mark.parametrize("use", ["held", "awaited", "optional", "frozen"])
def test_resource_in_use_cannot_be_removed(stage: LedgerSetup, use: str) -> None:
    stage.ledger.add_resource("ball", "root", stage.tick)
    if use == "frozen":
        stage.ledger.freeze(["ball"], "lost ball", stage.tick)
    else:
        needs = {"held": ("ball",), "awaited": ("ball", "HeadYaw")}
        wishes = ("ball",) if use == "optional" else ()
        stage.take("MoveHead1", "HeadYaw")
        stage.ask("MoveHead2", *needs.get(use, ("HeadYaw",)), optional=wishes)
    before = stage.picture()
    with pytest.raises(BadInput, match="'ball' is held, lent, waited for"):
        stage.ledger.remove_resource("ball", stage.tick)
    assert stage.picture() == before


@pytest.mark.requirement("RM-15")
def test_ownership_changes_in_one_step(
    stage: LedgerSetup,
) -> None:
    first = stage.take("MoveHead1", *HEAD)
    waiting = stage.ask("MoveHead2", *HEAD)
    allowed: list[list[bool]] = []

    def look(event: object) -> None:
        if isinstance(event, Granted):
            tokens = (first, waiting.token)
            allowed.append([stage.may(token, "HeadYaw") is None for token in tokens])

    stage.ledger.listeners.append(look)
    stage.release(first)
    assert allowed == [[False, True]]


@pytest.mark.requirement("RM-16")
def test_first_of_simultaneous_requests_is_granted(
    stage: LedgerSetup,
) -> None:
    tickets = [stage.ask(f"MoveHead{k}", "HeadYaw", timeout_s=1.0) for k in (1, 2, 3)]
    assert end_of(tickets[0]) == (GRANTED, 0.0)
    assert stage.demands_on("MoveHead1") == [("MoveHead2", 0.0), ("MoveHead3", 0.0)]
    stage.until(1.0)
    assert [end_of(t) for t in tickets[1:]] == [(TIMED_OUT, 1.0), (TIMED_OUT, 1.0)]


@pytest.mark.requirement("RM-17")
def test_later_request_does_not_overtake_without_a_window() -> None:
    stage = LedgerSetup(overtake_s=0.0)
    stage.owners("MoveHead1", "MoveHead2", "MoveHead3")
    stage.take("MoveHead1", "HeadYaw")
    both = stage.ask("MoveHead2", *HEAD, timeout_s=1.0)
    pitch = stage.ask("MoveHead3", "HeadPitch", timeout_s=3.0)
    assert stage.holders("HeadPitch") == ()
    assert pitch.outcome is None
    stage.until(1.0)
    assert end_of(both) == (TIMED_OUT, 1.0)
    assert end_of(pitch) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-17", "RM-25")
def test_waiting_group_can_be_overtaken_for_5_s(stage: LedgerSetup) -> None:
    """Short requests are granted while the group waits for the legs, then no more."""
    stage.owners("walk", "show", "say")
    legs = stage.take("walk", "Legs")
    show = stage.ask("show", "TTS", "Arms", "Legs", timeout_s=20.0)
    for slot in range(0, 500, 25):
        stage.at(slot / 100)
        stage.release(stage.take("say", "TTS", timeout_s=0.0))
    stage.at(5.0)
    late = stage.ask("say", "TTS", timeout_s=0.0)
    assert why(late) is Why.BUSY
    assert [b.owners for b in outcome_of(late).blockers] == [("show",)]
    stage.at(6.0)
    stage.release(legs)
    assert end_of(show) == (GRANTED, 6.0)


@pytest.mark.requirement("RM-17", "AR-13")
def test_overtake_window_does_not_apply_to_higher_priority() -> None:
    stage = LedgerSetup(overtake_s=1.0)
    stage.owners("MoveHead1", "MoveHead2", "MoveHead3")
    stage.take("MoveHead1", "HeadYaw")
    stage.ask("MoveHead2", *HEAD, priority=1)
    assert stage.ask("MoveHead3", "HeadPitch").outcome is None


@pytest.mark.requirement("RM-19")
@pytest.mark.parametrize(
    ("retry_s", "times"), [(0.5, [0.0, 0.5, 1.0]), (0.7, [0.0, 0.7, 1.4])]
)
def test_holder_is_notified_every_retry_period_until_the_end(
    retry_s: float, times: list[float]
) -> None:
    stage = LedgerSetup(retry_s=retry_s)
    stage.owners("holder", "asker")
    stage.take("holder", "HeadYaw")
    stage.ask("asker", "HeadYaw", timeout_s=1.5)
    stage.until(5.0)
    assert stage.demands_on("holder") == [("asker", time_s) for time_s in times]


@pytest.mark.requirement("RM-19")
def test_each_requester_has_its_own_retry_period() -> None:
    """Period of the request, else of the owner, else of the ledger."""
    stage = LedgerSetup(retry_s=0.5)
    stage.owners("holder", "patient")
    stage.owner("eager", retry_s=0.2, timeout_s=0.7)
    stage.take("holder", "HeadYaw")
    eager = stage.ask("eager", "HeadYaw")
    stage.ask("eager", "HeadYaw", retry_s=0.3, timeout_s=0.7)
    stage.ask("patient", "HeadYaw", timeout_s=1.2)
    stage.ledger.reconfigure(stage.tick, retry_s=1.0)
    stage.until(2.0)
    asked: dict[int | None, list[float]] = {}
    for notice in stage.told("holder", NoticeKind.DEMANDED):
        asked.setdefault(notice.request, []).append(notice.tick / 100)
    assert list(asked.values()) == [
        [0.0, 0.2, 0.4, 0.6],
        [0.0, 0.3, 0.6],
        [0.0, 0.5],  # the ledger's period at the request
    ]
    assert end_of(eager) == (TIMED_OUT, 0.7)


@pytest.mark.requirement("RM-19")
@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), "0.5", True])
def test_invalid_retry_period_is_rejected(wrong: Any) -> None:
    with pytest.raises(BadInput, match=r"retry period .*give a positive number"):
        Owner(name="eager", retry_s=wrong)
    with pytest.raises(BadInput, match=r"retry period .*give a positive number"):
        Request(owner="eager", resources=("HeadYaw",), retry_s=wrong)


@pytest.mark.requirement("RM-19", "RM-20")
def test_timeout_precedes_a_retry_of_the_same_tick(
    stage: LedgerSetup,
) -> None:
    stage.take("MoveHead1", "HeadYaw")
    waiting = stage.ask("MoveHead2", "HeadYaw", timeout_s=1.0)
    stage.until(3.0)
    assert end_of(waiting) == (TIMED_OUT, 1.0)
    assert stage.demands_on("MoveHead1") == [("MoveHead2", 0.0), ("MoveHead2", 0.5)]


@pytest.mark.requirement("RM-20")
def test_wait_ends_at_the_owners_timeout_and_leaves_nothing() -> None:
    stage = LedgerSetup()
    stage.owner("holder")
    stage.owner("patient", timeout_s=4.0)
    token = stage.take("holder", *HEAD)
    before = stage.picture()
    waiting = stage.ask("patient", "HeadYaw", "TTS")
    stage.until(3.99)
    assert waiting.outcome is None
    stage.until(4.0)
    assert end_of(waiting) == (TIMED_OUT, 4.0)
    assert stage.picture() == before
    stage.release(token)
    assert stage.held_by("patient") == ()


@pytest.mark.requirement("RM-20")
def test_wait_can_be_withdrawn_once(stage: LedgerSetup) -> None:
    stage.take("MoveHead1", "HeadYaw")
    waiting = stage.ask("MoveHead2", "HeadYaw")
    assert stage.ledger.withdraw(waiting.number, stage.tick)
    assert end_of(waiting) == (CANCELLED, 0.0)
    assert why(waiting) is Why.WITHDRAWN
    assert not stage.ledger.withdraw(waiting.number, stage.tick)
    assert stage.waiters("HeadYaw") == ()


@pytest.mark.requirement("RM-17", "RM-65")
def test_release_tries_only_the_waiter_it_can_serve(
    stage: LedgerSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a release takes the same time with ten thousand waiters."""
    held = stage.take("MoveHead1", "TTS")
    crowd = [f"waiter {k}" for k in range(20)]
    stage.owners(*crowd, timeout_s=60.0)
    tickets = [stage.ask(name, "TTS") for name in crowd]
    tried: list[Waiting] = []
    try_now = Granting.try_now

    def noted(granting: Granting, waiting: Waiting, **terms: Any) -> bool:
        tried.append(waiting)
        return try_now(granting, waiting, **terms)

    monkeypatch.setattr(Granting, "try_now", noted)
    stage.release(held)
    assert end_of(tickets[0]) == (GRANTED, 0.0)
    assert [waiting.ticket.number for waiting in tried] == [tickets[0].number]
