"""Cumulative resources (processor, network): rates sum to 100 % at most."""

from collections.abc import Callable
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.policies import (
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import Request
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    GRANTED,
    LOST,
    TIMED_OUT,
    LedgerSetup,
    end_of,
)


def cpu(percent: float, **terms: Any) -> dict[str, Any]:
    return {"rates": {"CPU": percent}, **terms}


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("vision", "speech", "maps", "parent")
    stage.owners("child 1", "child 2", parent="parent")
    return stage


def used(stage: LedgerSetup) -> float | None:
    return stage.row("CPU").used_percent


@pytest.mark.requirement("RM-56")
def test_rates_are_granted_while_they_fit(stage: LedgerSetup) -> None:
    stage.take("vision", **cpu(33.33))
    stage.take("speech", **cpu(66.66))
    assert used(stage) == 99.99
    assert stage.ask("maps", **cpu(0.02)).outcome is None
    assert used(stage) == 99.99


@pytest.mark.requirement("RM-56")
def test_rates_may_sum_to_exactly_100_percent(stage: LedgerSetup) -> None:
    stage.take("vision", **cpu(33.33))
    stage.take("speech", **cpu(66.66))
    stage.take("maps", **cpu(0.01))
    assert used(stage) == 100.0


@pytest.mark.requirement("RM-56")
def test_only_cumulative_resources_accept_rates(stage: LedgerSetup) -> None:
    with pytest.raises(BadInput, match="'TTS' has no rates"):
        stage.ask("vision", rates={"TTS": 10.0})
    with pytest.raises(BadInput, match="'CPU' is shared by rates"):
        stage.ask("vision", "CPU")


@pytest.mark.requirement("RM-57")
def test_only_as_many_holders_yield_as_needed(stage: LedgerSetup) -> None:
    stage.take("vision", **cpu(10.0, policy=StopOnDemand(), priority=1))
    stage.take("speech", **cpu(90.0, policy=StopOnDemand(), priority=2))
    assert end_of(stage.ask("maps", **cpu(8.0))) == (GRANTED, 0.0)
    assert used(stage) == 98.0
    assert len(stage.told("vision", LOST)) == 1
    assert stage.told("speech", LOST) == []


@pytest.mark.requirement("RM-56")
def test_small_rate_does_not_overtake_a_large_one() -> None:
    stage = LedgerSetup(overtake_s=0.0)
    stage.owners("vision", "speech", "maps")
    full = stage.take("vision", **cpu(60.0))
    large = stage.ask("speech", **cpu(50.0))
    small = stage.ask("maps", **cpu(10.0))
    assert small.outcome is None
    stage.at(1.0)
    stage.release(full)
    assert end_of(large) == end_of(small) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-58")
def test_simple_state_and_rate_must_be_free_together(stage: LedgerSetup) -> None:
    mouth = stage.take("speech", "TTS")
    load = stage.take("maps", **cpu(80.0))
    request = Request(
        owner="vision",
        resources=("TTS", "Stand"),
        rates={"CPU": 30.0, "Network": 100.0},
        timeout_s=9.0,
    )
    waiting = stage.ledger.request(request, stage.tick)
    steps: tuple[Callable[[], None], ...] = (
        lambda: stage.release(mouth),
        lambda: stage.ledger.set_state("State", "Stand", stage.tick),
        lambda: stage.release(load),
    )
    for number, step in enumerate(steps, start=1):
        assert waiting.outcome is None
        assert stage.held_by("vision") == ()
        stage.at(number)
        step()
    assert end_of(waiting) == (GRANTED, 3.0)
    assert stage.held_by("vision") == ("CPU", "Network", "Stand", "TTS")


@pytest.mark.requirement("RM-56", "RM-26")
def test_rate_of_a_child_is_part_of_its_parents_rate(stage: LedgerSetup) -> None:
    stage.take("vision", **cpu(50.0))
    stage.take("parent", **cpu(50.0))
    stage.take("child 1", **cpu(30.0))
    assert used(stage) == 100.0
    second = stage.ask("child 2", **cpu(30.0, timeout_s=0.5))
    assert stage.demands_on("child 1") == [("child 2", 0.0)]
    assert stage.demands_on("vision") == stage.demands_on("parent") == []
    stage.until(0.5)
    assert end_of(second) == (TIMED_OUT, 0.5)
    stage.take("child 2", **cpu(20.0))


@pytest.mark.requirement("RM-27", "RM-28", "RM-56")
def test_child_does_not_wait_behind_a_stranger_for_parents_rate(
    stage: LedgerSetup,
) -> None:
    stage.take("parent", **cpu(50.0))
    stranger = stage.ask("vision", **cpu(60.0))
    stage.take("child 1", **cpu(30.0))
    assert stranger.outcome is None


@pytest.mark.requirement("RM-56", "RM-30")
def test_release_of_the_parent_ends_the_rates_of_children(stage: LedgerSetup) -> None:
    kept = stage.take("parent", **cpu(50.0))
    stage.take("child 1", **cpu(30.0))
    stage.release(kept)
    assert used(stage) == 0.0
    assert stage.holders("CPU") == ()


def test_owner_may_hold_several_rates(stage: LedgerSetup) -> None:
    first = stage.ask("vision", **cpu(40.0))
    stage.take("vision", **cpu(40.0))
    assert used(stage) == 80.0
    stage.release(first.token)
    assert used(stage) == 40.0
