"""Conflict policies of the holder: lock, stop, callback, pause."""

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from nao_testbed.controllers.arbitration import policies
from nao_testbed.controllers.arbitration.events import Answered
from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    ConflictPolicy,
    Demand,
    Lock,
    PauseOnDemand,
    StopOnDemand,
    make_policy,
    policy_classes,
)
from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    Refusal,
    Why,
)
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import (
    DENIED,
    GRANTED,
    HEAD,
    LOST,
    TIMED_OUT,
    Diary,
    LedgerSetup,
    end_of,
    outcome_of,
    why,
)


def stage_with(policy: ConflictPolicy) -> LedgerSetup:
    """Return a ledger whose dancer has this policy, with two other owners."""
    stage = LedgerSetup()
    stage.owner("dancer", policy=policy)
    stage.owners("asker", "other")
    return stage


@pytest.mark.requirement("RM-32", "RM-33")
def test_callback_of_the_holder_gets_the_demand() -> None:
    diary = Diary()
    stage = stage_with(CallbackOnDemand(diary))
    token = stage.take("dancer", *HEAD, "TTS")
    stage.at(0.3)
    ticket = stage.ask("asker", "HeadYaw", "TTS", "LHand", priority=4)
    assert diary.demands == [
        Demand(
            holder="dancer",
            token=token.id,
            resources=("HeadYaw", "TTS"),
            asker="asker",
            asker_priority=4,
            request=ticket.number,
            tick=30,
        )
    ]


@pytest.mark.requirement("RM-32")
def test_only_blocking_holders_are_asked_and_only_once() -> None:
    stage = stage_with(Lock())
    stage.take("dancer", *HEAD)
    stage.take("other", "TTS")
    stage.ask("asker", "Head")
    assert stage.demands_on("dancer") == [("asker", 0.0)]
    assert stage.demands_on("other") == []


@pytest.mark.requirement("RM-33")
def test_policy_of_the_request_precedes_that_of_the_owner() -> None:
    mine, habit = Diary(), Diary()
    stage = stage_with(CallbackOnDemand(habit))
    stage.take("dancer", "TTS", policy=CallbackOnDemand(mine))
    stage.ask("asker", "TTS")
    assert (len(mine.demands), len(habit.demands)) == (1, 0)


@pytest.mark.requirement("RM-38")
def test_holder_without_an_answer_keeps() -> None:
    stage = LedgerSetup()
    stage.owners("silent", "asker")
    token = stage.take("silent", "TTS")
    assert end_of(stage.ask("asker", "TTS", timeout_s=0.0)) == (DENIED, 0.0)
    assert stage.may(token, "TTS") is None
    assert isinstance(make_policy("lock"), Lock)


@pytest.mark.requirement("RM-35")
def test_stop_frees_at_once() -> None:
    stage = stage_with(StopOnDemand())
    stopped = stage.take("dancer", *HEAD, "TTS")
    taken = stage.ask("asker", "TTS", timeout_s=0.0)
    assert end_of(taken) == (GRANTED, 0.0)
    assert stage.may(stopped, "TTS") is Refusal.REVOKED
    (notice,) = stage.told("dancer", LOST)
    assert (notice.leaves, notice.freed) == (("TTS",), HEAD)
    assert (notice.why, notice.by) == (LossCause.YIELDED, "asker")
    assert stage.holders("HeadYaw") == ()


@pytest.mark.requirement("RM-35", "RM-39")
def test_holder_that_stops_later_is_notified_of_the_deadline() -> None:
    stage = stage_with(StopOnDemand(within_s=0.25))
    stopping = stage.take("dancer", "LLeg")
    waiting = stage.ask("asker", "LLeg", timeout_s=1.0)
    (notice,) = stage.told("dancer", NoticeKind.YIELD_BY)
    assert (notice.until_tick, notice.by) == (25, "asker")
    stage.until(0.24)
    assert stage.may(stopping, "LKneePitch") is None
    stage.until(0.25)
    assert end_of(waiting) == (GRANTED, 0.25)
    assert stage.may(stopping, "LKneePitch") is Refusal.REVOKED


@pytest.mark.requirement("RM-35", "RM-39")
def test_promise_beyond_the_requesters_timeout_is_not_used() -> None:
    stage = stage_with(StopOnDemand(within_s=2.0))
    token = stage.take("dancer", "LLeg")
    assert why(stage.ask("asker", "LLeg", timeout_s=0.0)) is Why.BUSY
    short = stage.ask("asker", "LLeg", timeout_s=1.0)
    stage.until(3.0)
    assert end_of(short) == (TIMED_OUT, 1.0)
    assert stage.may(token, "LKneePitch") is None


@pytest.mark.requirement("RM-32", "RM-35")
def test_holder_keeps_resource_if_requester_still_cannot_start() -> None:
    stage = stage_with(StopOnDemand())
    token = stage.take("dancer", "TTS")
    stage.take("other", "LHand")
    waiting = stage.ask("asker", "TTS", "LHand", timeout_s=1.0)
    assert stage.may(token, "TTS") is None
    stage.until(1.0)
    assert end_of(waiting) == (TIMED_OUT, 1.0)
    assert stage.held_by("dancer") == ("TTS",)


@pytest.mark.requirement("RM-36")
def test_callback_may_release_the_resource() -> None:
    stage = LedgerSetup()

    def release_legs(demand: Demand) -> None:
        stage.ledger.release(token, demand.tick)

    stage.owner("dancer", policy=CallbackOnDemand(release_legs))
    stage.owner("asker")
    token = stage.take("dancer", "Legs")
    stage.at(0.4)
    assert end_of(stage.ask("asker", "Legs")) == (GRANTED, 0.4)
    assert stage.may(token, "LHipYawPitch") is Refusal.RELEASED


@pytest.mark.requirement("RM-36")
def test_callback_that_never_ends_yields_at_its_limit() -> None:
    stage = stage_with(CallbackOnDemand(Diary(), limit_s=0.8))
    stage.take("dancer", "Legs")
    waiting = stage.ask("asker", "Legs", timeout_s=5.0)
    stage.until(0.8)
    assert end_of(waiting) == (GRANTED, 0.8)


@pytest.mark.requirement("RM-36", "RM-39")
def test_callback_that_raises_keeps() -> None:
    def fail(demand: Demand) -> Answer:
        raise RuntimeError("the dance has a hole")

    stage = stage_with(CallbackOnDemand(fail))
    token = stage.take("dancer", "Legs")
    waiting = stage.ask("asker", "Legs", timeout_s=0.3)
    stage.until(0.3)
    assert end_of(waiting) == (TIMED_OUT, 0.3)
    assert stage.may(token, "LHipYawPitch") is None
    (answer,) = [e for e in stage.events if isinstance(e, Answered)]
    assert answer.answer is AnswerKind.KEEP
    assert "the dance has a hole" in answer.error


@pytest.mark.requirement("RM-32", "RM-39")
def test_holder_may_change_its_answer_at_the_next_retry() -> None:
    diary = Diary()
    stage = stage_with(CallbackOnDemand(diary))
    stage.take("dancer", "TTS")
    waiting = stage.ask("asker", "TTS", timeout_s=5.0)
    stage.until(0.9)
    diary.says = Answer(kind=AnswerKind.YIELD)
    stage.until(5.0)
    assert [demand.tick for demand in diary.demands] == [0, 50, 100]
    assert end_of(waiting) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-19", "RM-32")
def test_holder_can_be_notified_again_before_the_retry() -> None:
    diary = Diary()
    stage = stage_with(CallbackOnDemand(diary))
    stage.take("dancer", "TTS")
    waiting = stage.ask("asker", "TTS", timeout_s=5.0)
    diary.says = Answer(kind=AnswerKind.YIELD)
    stage.at(0.2)
    stage.ledger.notify_blockers(waiting.number, stage.tick)
    assert end_of(waiting) == (GRANTED, 0.2)
    stage.ledger.notify_blockers(waiting.number, stage.tick)  # no longer waiting
    assert len(diary.demands) == 2


@pytest.mark.requirement("RM-32")
def test_policies_are_listed_by_name() -> None:
    assert list(policy_classes()) == ["callback", "lock", "pause", "stop"]
    assert make_policy("stop", within_s=0.5) == StopOnDemand(within_s=0.5)
    with pytest.raises(UnknownName, match="Did you mean 'pause'"):
        make_policy("pauze")


class Polite(StopOnDemand):
    name = "polite"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("no_such_package:X", "cannot be loaded: ModuleNotFoundError"),
        (f"{__name__}:DENIED", "must be a class with `name` and `answer`"),
        (f"{__name__}:Polite", "has the `name` 'polite'; register it under that name"),
    ],
)
def test_invalid_policy_package_does_not_affect_others(
    monkeypatch: pytest.MonkeyPatch, value: str, says: str
) -> None:
    points = EntryPoints((EntryPoint("rude", value, policies.POLICIES),))
    monkeypatch.setattr(policies, "entry_points", points.select)
    policy_classes.cache_clear()
    try:
        with pytest.raises(BadInput, match=says):
            make_policy("rude")
        assert make_policy("stop") == StopOnDemand()
    finally:
        policy_classes.cache_clear()


def test_all_holders_yield_at_once() -> None:
    stage = stage_with(StopOnDemand(within_s=0.1))
    stage.take("dancer", "TTS")
    stage.take("other", "LHand", policy=PauseOnDemand(within_s=0.3))
    both = stage.ask("asker", "TTS", "LHand")
    stage.until(0.29)
    assert stage.held_by("dancer") == ("TTS",)
    stage.until(0.3)
    assert end_of(both) == (GRANTED, 0.3)
    assert outcome_of(both).obtained == ("LHand", "TTS")
    assert stage.waiters("LHand") == ("other",)
    stage.release(both.token)
    assert stage.holders("LHand") == ("other",)
    assert stage.holders("TTS") == ()
