"""Pause: a holder resumes with the same set when the other owner releases it."""

import pytest

from nao_testbed.controllers.arbitration.events import Requested
from nao_testbed.controllers.arbitration.policies import (
    ConflictPolicy,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    Refusal,
)
from tests.controllers.arbitration.ledger_setup import (
    CANCELLED,
    GRANTED,
    HEAD,
    LOST,
    TIMED_OUT,
    LedgerSetup,
    end_of,
)


def stage_with(policy: ConflictPolicy) -> LedgerSetup:
    """Return a ledger whose dancer has this policy, with two other owners."""
    stage = LedgerSetup()
    stage.owner("dancer", policy=policy)
    stage.owners("asker", "other")
    return stage


@pytest.mark.requirement("RM-37")
def test_pause_ends_with_the_same_set_after_the_release() -> None:
    stage = stage_with(PauseOnDemand())
    paused = stage.take("dancer", *HEAD, "TTS")
    taken = stage.take("asker", "TTS")
    assert stage.may(paused, "TTS") is Refusal.REVOKED
    assert stage.waited_for_by("dancer") == (*HEAD, "TTS")
    stage.at(2.0)
    stage.release(taken)
    assert stage.held_by("dancer") == (*HEAD, "TTS")
    (notice,) = stage.told("dancer", NoticeKind.OUTCOME)
    assert notice.outcome is not None
    again = notice.outcome.token
    assert again != paused
    assert stage.may(again, "HeadYaw") is None


@pytest.mark.requirement("RM-37")
def test_paused_holder_waits_before_later_requests() -> None:
    stage = stage_with(PauseOnDemand())
    stage.take("dancer", *HEAD, "TTS")
    taken = stage.take("asker", "TTS")
    later = stage.ask("other", "TTS", timeout_s=9.0)
    assert stage.waiters("TTS") == ("dancer", "other")
    stage.at(1.0)
    stage.release(taken)
    assert stage.holders("TTS") == ("dancer",)
    stage.until(1.0)  # the retry of the other owner pauses it again
    assert end_of(later) == (GRANTED, 1.0)
    assert stage.waiters("TTS") == ("dancer",)


@pytest.mark.requirement("RM-37")
def test_pause_times_out_only_with_a_limit() -> None:
    limits = ((None, None), (3.0, (TIMED_OUT, 3.0)), (0.0, (TIMED_OUT, 0.0)))
    for limit_s, outcome in limits:
        stage = stage_with(PauseOnDemand(resume_timeout_s=limit_s))
        stage.take("dancer", "TTS")
        stage.take("asker", "TTS")
        stage.until(1000.0)
        (resumption,) = [
            event
            for event in stage.events
            if isinstance(event, Requested) and event.resumes is not None
        ]
        assert resumption.owner == "dancer"
        told = stage.told("dancer", NoticeKind.OUTCOME)
        if outcome is None:
            assert told == []
            assert stage.waiters("TTS") == ("dancer",)
        else:
            assert told[0].outcome is not None
            assert (told[0].outcome.kind, told[0].tick / 100) == outcome


@pytest.mark.requirement("RM-37")
def test_paused_holder_sends_no_demand_and_does_not_preempt() -> None:
    stage = stage_with(PauseOnDemand())
    stage.take("dancer", "TTS")
    stage.take("asker", "TTS", policy=StopOnDemand())
    stage.until(10.0)
    assert stage.holders("TTS") == ("asker",)
    assert stage.demands_on("asker") == []


@pytest.mark.requirement("RM-37")
def test_pause_can_be_withdrawn() -> None:
    stage = stage_with(PauseOnDemand())
    stage.take("dancer", "TTS")
    stage.take("asker", "TTS")
    (notice,) = stage.told("dancer", LOST)
    assert notice.why is LossCause.PAUSED
    assert notice.request is not None
    assert stage.ledger.withdraw(notice.request, stage.tick)
    (end,) = stage.told("dancer", NoticeKind.OUTCOME)
    assert end.outcome is not None
    assert end.outcome.kind is CANCELLED
    assert stage.waiters("TTS") == ()


@pytest.mark.requirement("RM-37", "AR-20")
def test_pause_of_a_partial_token_waits_for_the_lost_leaves() -> None:
    stage = stage_with(PauseOnDemand())
    token = stage.take("dancer", *HEAD, "TTS", loss=Loss.PARTIAL)
    taken = stage.take("asker", "TTS")
    assert stage.may(token, "HeadYaw") is None
    assert stage.waited_for_by("dancer") == ("TTS",)
    stage.release(taken)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-37", "AR-20")
def test_pause_of_a_whole_partial_token_ends_with_a_new_token() -> None:
    stage = stage_with(PauseOnDemand())
    token = stage.take("dancer", "TTS", loss=Loss.PARTIAL)
    taken = stage.take("asker", "TTS")
    stage.release(taken)
    assert stage.holders("TTS") == ("dancer",)
    assert stage.may(token, "TTS") is Refusal.REVOKED
