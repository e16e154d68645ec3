"""A promise to give way later: called in when it helps, else the holder may keep on."""

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
def test_who_asked_and_gave_up_lets_the_holder_keep_on() -> None:
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
def test_a_promise_that_does_not_help_any_more_is_not_called_in() -> None:
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
def test_who_finds_its_share_elsewhere_lets_the_holder_keep_on() -> None:
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
def test_who_loses_it_otherwise_is_not_told_to_keep_on() -> None:
    stage = stage_with_a_dancer()
    stage.take("dancer", "LLeg")
    waiting = stage.ask("asker", "LLeg", timeout_s=1.0)
    stage.ledger.freeze(["LLeg"], "hotEngine", stage.tick)
    stage.ledger.withdraw(waiting.number, stage.tick)
    stage.until(1.0)
    assert stage.told("dancer", KEEP_ON) == []


@pytest.mark.requirement("RM-35", "RM-39")
@pytest.mark.parametrize(("limit_s", "is_asked"), [(0.25, False), (0.26, True)])
def test_nobody_is_asked_for_what_comes_when_the_asker_is_gone(
    limit_s: float, is_asked: bool
) -> None:
    stage = stage_with_a_dancer()
    stage.take("dancer", "LLeg")
    waiting = stage.ask("asker", "LLeg", timeout_s=limit_s)
    assert bool(stage.told("dancer", YIELD_BY)) is is_asked
    stage.until(1.0)
    assert end_of(waiting) == (GRANTED if is_asked else TIMED_OUT, 0.25)


@pytest.mark.requirement("RM-36")
def test_a_callback_that_presses_shortens_nobodys_time() -> None:
    """It has the others asked once more: who promised to these keeps its whole time."""
    stage = LedgerSetup()

    def press(demand: Demand) -> Answer:
        assert demand.request is not None
        stage.ledger.notify_blockers(demand.request, demand.tick)
        return Answer(kind=AnswerKind.YIELD, after_s=0.1)

    stage.owner("slow", policy=StopOnDemand(within_s=0.3))
    stage.owner("pressing", policy=CallbackOnDemand(press))
    stage.owner("asker")
    stage.take("slow", rates={"CPU": 50.0})
    stage.take("pressing", rates={"CPU": 50.0})
    waiting = stage.ask("asker", rates={"CPU": 50.0}, timeout_s=1.0)
    (notice,) = stage.told("slow", YIELD_BY)
    assert notice.until_tick == 30
    assert stage.told("pressing", YIELD_BY) == []
    stage.until(0.29)
    assert stage.told("slow", LOST) == []
    stage.until(0.3)
    assert end_of(waiting) == (GRANTED, 0.3)


@pytest.mark.requirement("RM-35", "RM-57")
def test_shares_are_not_given_up_for_what_fits_without_them() -> None:
    stage = LedgerSetup()
    for name in ("most", "some", "asker"):
        stage.owner(name, policy=StopOnDemand())
    stage.take("most", rates={"CPU": 80.0})
    stage.take("some", rates={"CPU": 20.0})  # the later one is asked first
    asked = stage.ask("asker", rates={"CPU": 60.0}, timeout_s=0.0)
    assert end_of(asked) == (GRANTED, 0.0)
    assert (stage.held_by("most"), stage.held_by("some")) == ((), ("CPU",))
