"""Worked examples with exact outcomes: head queue and full processor."""

import pytest

from nao_testbed.controllers.arbitration.policies import StopOnDemand
from nao_testbed.controllers.arbitration.requests import Ticket
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    GRANTED,
    HEAD,
    TICKS_PER_S,
    TIMED_OUT,
    LedgerSetup,
    end_of,
)


@pytest.mark.requirement("RM-14", "RM-16", "RM-17", "RM-18", "RM-19", "RM-20", "RM-33")
def test_head_queue() -> None:
    stage = LedgerSetup()
    names = tuple(f"MoveHead{k}" for k in (1, 2, 3, 4))
    for name, timeout_s in zip(names, (5.0, 5.0, 10.0, 1.0), strict=True):
        stage.owner(name, timeout_s=timeout_s)
    tickets: dict[str, Ticket] = {}
    writers: list[tuple[str, ...]] = []

    def live_until(time_s: float) -> None:
        """Record the owners that may write HeadYaw in each tick before this time."""
        for tick in range(stage.tick, round(time_s * TICKS_PER_S)):
            stage.until(tick / TICKS_PER_S)
            writers.append(tuple(n for n in names if may_write(n)))
        stage.at(time_s)

    def may_write(name: str) -> bool:
        ticket = tickets.get(name)
        token = ticket.outcome.token if ticket and ticket.outcome else None
        return stage.may(token, "HeadYaw") is None

    def ask(name: str, time_s: float) -> None:
        live_until(time_s)
        tickets[name] = stage.ask(name, *HEAD)

    for name, time_s in zip(names, (0.0, 0.5, 0.6, 0.7), strict=True):
        ask(name, time_s)
    live_until(0.8)
    for joint in HEAD:
        (holding,) = stage.row(joint).holders
        assert (holding.owner, holding.is_lent) == ("MoveHead1", False)
        assert stage.waiters(joint) == names[1:]
    live_until(3.0)
    stage.release(tickets["MoveHead1"].token)
    live_until(5.0)
    stage.release(tickets["MoveHead2"].token)
    live_until(7.0)

    assert {name: end_of(tickets[name]) for name in names} == {
        "MoveHead1": (GRANTED, 0.0),
        "MoveHead2": (GRANTED, 3.0),
        "MoveHead3": (GRANTED, 5.0),
        "MoveHead4": (TIMED_OUT, 1.7),
    }
    told = stage.demands_on("MoveHead1")
    assert [t for who, t in told if who == names[1]] == [0.5, 1.0, 1.5, 2.0, 2.5]
    assert [t for who, t in told if who == names[2]] == [0.6, 1.1, 1.6, 2.1, 2.6]
    assert [t for who, t in told if who == names[3]] == [0.7, 1.2]
    assert len(told) == 12
    first, second, third = (((name,),) for name in names[:3])
    assert tuple(writers) == first * 300 + second * 200 + third * 200


# -- a full processor -----------------------------------------------------------------


def cpu(
    stage: LedgerSetup, owner: int, percent: float, timeout_s: float = 0.0
) -> Ticket:
    return stage.ask(f"owner {owner}", rates={"CPU": percent}, timeout_s=timeout_s)


@pytest.mark.requirement("RM-56", "RM-57", "RM-35", "RM-17")
def test_full_processor_with_a_holder_that_stops() -> None:
    stage = LedgerSetup(overtake_s=0.0)
    stage.owner("owner 1", policy=StopOnDemand(within_s=0.01))
    stage.owners(*(f"owner {k}" for k in (2, 3, 4, 5)))

    def used() -> float | None:
        return stage.row("CPU").used_percent

    first, second = cpu(stage, 1, 10.0), cpu(stage, 2, 90.0)
    assert end_of(first) == end_of(second) == (GRANTED, 0.0)
    assert used() == 100.0
    stage.until(0.99)
    stage.at(1.0)
    third = cpu(stage, 3, 5.0, timeout_s=3.0)
    assert stage.demands_on("owner 1") == [("owner 3", 1.0)]
    assert stage.demands_on("owner 2") == [("owner 3", 1.0)]
    stage.until(1.01)
    assert end_of(third) == (GRANTED, 1.01)
    assert used() == 95.0
    assert stage.holders("CPU") == ("owner 3", "owner 2")
    stage.at(1.1)
    fourth = cpu(stage, 4, 6.0, timeout_s=9.0)
    stage.at(1.2)
    fifth = cpu(stage, 5, 3.0, timeout_s=9.0)
    stage.until(1.99)
    assert fourth.outcome is None  # 6 > 5
    assert fifth.outcome is None  # 3 fits, but must not overtake
    stage.at(2.0)
    stage.release(third.token)
    assert end_of(fourth) == end_of(fifth) == (GRANTED, 2.0)
    assert used() == 99.0
    with pytest.raises(BadInput, match=r"101\.0 %"):
        cpu(stage, 3, 101.0)


@pytest.mark.requirement("RM-57", "RM-34", "RM-20")
def test_full_processor_with_holders_that_lock() -> None:
    stage = LedgerSetup()
    stage.owners("owner 1", "owner 2", "owner 3")
    cpu(stage, 1, 10.0)
    cpu(stage, 2, 90.0)
    stage.at(1.0)
    third = cpu(stage, 3, 5.0, timeout_s=3.0)
    for tick in range(100, 600):
        stage.until(tick / TICKS_PER_S)
        assert stage.row("CPU").used_percent == 100.0
    assert end_of(third) == (TIMED_OUT, 4.0)
