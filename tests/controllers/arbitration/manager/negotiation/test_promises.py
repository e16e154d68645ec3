"""Promises to yield later: used when they help, otherwise cancelled."""

import pytest

from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    Demand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.tokens import NoticeKind
from tests.controllers.arbitration.ledger_setup import (
    GRANTED,
    LOST,
    TIMED_OUT,
    LedgerSetup,
    end_of,
)

YIELD_BY, KEEP_ON = NoticeKind.YIELD_BY, NoticeKind.KEEP_ON


def stage_with_a_dancer() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owner("dancer", policy=StopOnDemand(within_s=0.25))
    stage.owners("other", "asker")
    return stage


@pytest.mark.requirement("RM-35", "RM-39")
def test_holder_may_keep_on_when_the_request_is_withdrawn() -> None:
    stage = stage_with_a_dancer()
    dancing = stage.take("dancer", "LLeg", "TTS")
    waiting = stage.ask("asker", "LLeg", timeout_s=1.0)
    stage.at(0.1)
    stage.ledger.withdraw(waiting.number, stage.tick)
    (notice,) = stage.told("dancer", KEEP_ON)
    assert (notice.token, notice.by, notice.tick) == (dancing.id, "asker", 10)
    assert notice.leaves == ("LAnklePitch", "LKneePitch")
    assert notice.request == waiting.number
    stage.until(0.5)
    assert stage.may(dancing, "LKneePitch") is None
    assert stage.told("dancer", LOST) == []


@pytest.mark.requirement("RM-35", "RM-39")
def test_promise_that_no_longer_helps_is_cancelled() -> None:
    stage = stage_with_a_dancer()
    stage.take("dancer", "LLeg")
    waiting = stage.ask("asker", "LLeg", "LHand", timeout_s=0.4)
    stage.ledger.freeze(["LHand"], "hotEngine", stage.tick)
    stage.until(0.24)
    assert stage.told("dancer", KEEP_ON) == []
    stage.until(0.25)
    (notice,) = stage.told("dancer", KEEP_ON)
    assert notice.request == waiting.number
    stage.until(0.4)
    assert end_of(waiting) == (TIMED_OUT, 0.4)
    assert stage.held_by("dancer") == ("LAnklePitch", "LKneePitch")


@pytest.mark.requirement("RM-35", "RM-57")
def test_promise_is_cancelled_when_another_share_is_granted() -> None:
    stage = stage_with_a_dancer()
    stage.take("dancer", rates={"CPU": 40.0})
    theirs = stage.take("other", rates={"CPU": 60.0})
    waiting = stage.ask("asker", rates={"CPU": 30.0}, timeout_s=1.0)
    assert len(stage.told("dancer", YIELD_BY)) == 1
    stage.at(0.1)
    stage.release(theirs)
    assert end_of(waiting) == (GRANTED, 0.1)
    (notice,) = stage.told("dancer", KEEP_ON)
    assert (notice.leaves, notice.tick) == (("CPU",), 10)
    stage.until(1.0)
    assert stage.told("dancer", LOST) == []


@pytest.mark.requirement("RM-35", "RM-39")
def test_holder_that_loses_the_leaf_gets_no_keep_on_notice() -> None:
    stage = stage_with_a_dancer()
    stage.take("dancer", "LLeg")
    waiting = stage.ask("asker", "LLeg", timeout_s=1.0)
    stage.ledger.freeze(["LLeg"], "hotEngine", stage.tick)
    stage.ledger.withdraw(waiting.number, stage.tick)
    stage.until(1.0)
    assert stage.told("dancer", KEEP_ON) == []


@pytest.mark.requirement("RM-35", "RM-39")
@pytest.mark.parametrize(("limit_s", "is_asked"), [(0.25, False), (0.26, True)])
def test_holder_is_not_asked_to_yield_after_the_timeout(
    limit_s: float, is_asked: bool
) -> None:
    stage = stage_with_a_dancer()
    stage.take("dancer", "LLeg")
    waiting = stage.ask("asker", "LLeg", timeout_s=limit_s)
    assert bool(stage.told("dancer", YIELD_BY)) is is_asked
    stage.until(1.0)
    assert end_of(waiting) == (GRANTED if is_asked else TIMED_OUT, 0.25)


@pytest.mark.requirement("RM-36")
def test_repeated_demand_from_a_callback_shortens_no_promise() -> None:
    """Holders that promised earlier keep their whole time."""
    stage = LedgerSetup()

    def notify_again(demand: Demand) -> Answer:
        assert demand.request is not None
        stage.ledger.notify_blockers(demand.request, demand.tick)
        return Answer(kind=AnswerKind.YIELD, after_s=0.1)

    stage.owner("slow", policy=StopOnDemand(within_s=0.3))
    stage.owner("repeating", policy=CallbackOnDemand(notify_again))
    stage.owner("asker")
    stage.take("slow", rates={"CPU": 50.0})
    stage.take("repeating", rates={"CPU": 50.0})
    waiting = stage.ask("asker", rates={"CPU": 50.0}, timeout_s=1.0)
    (notice,) = stage.told("slow", YIELD_BY)
    assert notice.until_tick == 30
    assert stage.told("repeating", YIELD_BY) == []
    stage.until(0.29)
    assert stage.told("slow", LOST) == []
    stage.until(0.3)
    assert end_of(waiting) == (GRANTED, 0.3)


@pytest.mark.requirement("RM-35", "RM-57")
def test_holder_keeps_its_share_if_another_share_suffices() -> None:
    stage = LedgerSetup()
    for name in ("most", "some", "asker"):
        stage.owner(name, policy=StopOnDemand())
    stage.take("most", rates={"CPU": 80.0})
    stage.take("some", rates={"CPU": 20.0})  # the later holder is asked first
    asked = stage.ask("asker", rates={"CPU": 60.0}, timeout_s=0.0)
    assert end_of(asked) == (GRANTED, 0.0)
    assert (stage.held_by("most"), stage.held_by("some")) == ((), ("CPU",))
