"""Lent resources are free for all owners and return when recalled."""

from typing import Any

import pytest

from nao_testbed.controllers.arbitration.policies import (
    Lock,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.tokens import (
    OutcomeKind,
    Refusal,
    Token,
)
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import BY_PRIORITY, LedgerSetup


def lender(stage: LedgerSetup, **habits: Any) -> Token:
    stage.owner("greeting", **habits)
    token = stage.take("greeting", "RArm", "TTS")
    stage.ledger.lend(token, stage.tick, ("TTS",))
    return token


@pytest.mark.requirement("SY-27", "I-27")
@pytest.mark.parametrize(
    "policy", [Lock(), StopOnDemand(within_s=3.0), PauseOnDemand()]
)
def test_lent_resource_is_free_and_returns_when_recalled(policy: object) -> None:
    """The recall takes effect at once, with any policy of the borrower."""
    stage = LedgerSetup()
    token = lender(stage)
    assert stage.may(token, "TTS") is Refusal.NOT_COVERED
    assert stage.may(token, "RHand") is None
    assert stage.ledger.lent(token) == ("TTS",)
    stage.owner("talker", policy=policy)
    stage.at(1.0)
    borrowed = stage.take("talker", "TTS")
    stage.at(2.0)
    ticket = stage.ledger.recall(token, stage.tick)
    assert ticket is not None
    assert ticket.token == token
    assert stage.may(token, "TTS") is None
    assert stage.may(borrowed, "TTS") is Refusal.REVOKED
    assert stage.ledger.lent(token) == ()
    assert stage.ledger.recall(token, stage.tick) is None


@pytest.mark.requirement("SY-27", "I-27")
@pytest.mark.parametrize(
    "policy", [Lock(), StopOnDemand(within_s=3.0), PauseOnDemand()]
)
@pytest.mark.parametrize("rules", [{}, {"preemption": BY_PRIORITY}])
def test_recall_revokes_the_lenders_own_second_token(
    policy: object, rules: dict[str, Any]
) -> None:
    """No demand is sent to the lender itself."""
    stage = LedgerSetup(**rules)
    token = lender(stage, policy=policy)
    borrowed = stage.take("greeting", "TTS")
    stage.at(1.0)
    ticket = stage.ledger.recall(token, stage.tick)
    assert ticket is not None
    assert ticket.token == token
    assert stage.may(token, "TTS") is None
    assert stage.may(borrowed, "TTS") is Refusal.REVOKED
    assert not stage.ledger.waiting
    stage.until(20.0)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("SY-27", "I-27")
def test_lenders_own_borrowing_of_higher_priority_is_kept() -> None:
    """With preemption, the second token keeps it until it is released."""
    stage = LedgerSetup(preemption=BY_PRIORITY)
    token = lender(stage)
    urgent = stage.take("greeting", "TTS", priority=5)
    ticket = stage.ledger.recall(token, stage.tick)
    assert ticket is not None
    assert stage.may(urgent, "TTS") is None
    stage.release(urgent)
    stage.ledger.recall(token, stage.tick)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("SY-27", "I-27")
def test_recall_precedes_all_waiting_requests() -> None:
    """Also a request that waited longer for several resources."""
    stage = LedgerSetup()
    stage.owners("walk", "patient", "talker", "next")
    stage.take("walk", "LLeg")
    stage.owner("greeting")
    token = stage.take("greeting", "RArm", "TTS")
    patient = stage.ask("patient", "TTS", "LLeg", timeout_s=60.0)
    stage.ledger.lend(token, stage.tick, ("TTS",))
    stage.ask("talker", "TTS", timeout_s=60.0)
    stage.at(0.1)
    waits = stage.ask("next", "TTS", timeout_s=60.0)
    stage.ledger.recall(token, stage.tick)
    assert stage.holders("TTS") == ("greeting",)
    assert patient.outcome is None
    assert waits.outcome is None
    stage.release(token)
    stage.until(1.0)


@pytest.mark.requirement("I-27")
def test_recall_waits_for_higher_priority_and_faults() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    token = lender(stage, priority=2)
    stage.owner("alarm", priority=5)
    alarm = stage.take("alarm", "TTS")
    ticket = stage.ledger.recall(token, stage.tick)
    assert ticket is not None
    assert ticket.outcome is None
    stage.release(alarm)
    assert ticket.token == token
    stage.ledger.lend(token, stage.tick, ("TTS",))
    stage.ledger.freeze(("TTS",), "brokenArm", stage.tick)
    late = stage.ledger.recall(token, stage.tick)
    assert late is not None
    assert late.outcome is None
    stage.ledger.thaw("brokenArm", stage.tick, ("TTS",))
    assert late.token == token


@pytest.mark.requirement("RM-37", "I-27")
def test_paused_lender_can_still_recall_what_it_lent() -> None:
    stage = LedgerSetup()
    token = lender(stage, policy=PauseOnDemand())
    stage.owner("taker")
    taken = stage.take("taker", "RArm")
    stage.release(taken)
    resumed = stage.ledger.follow("greeting", token).token
    assert resumed is not None
    assert stage.ledger.lent(resumed) == ("TTS",)
    stage.ledger.recall(resumed, stage.tick)
    assert stage.may(resumed, "TTS") is None


@pytest.mark.requirement("SY-27", "I-27")
def test_token_that_lends_everything_stays_valid() -> None:
    """The token covers nothing until it recalls the resource."""
    stage = LedgerSetup()
    stage.owners("greeting", "talker")
    token = stage.take("greeting", "TTS")
    stage.ledger.lend(token, stage.tick, ("TTS",))
    assert stage.may(token, "TTS") is Refusal.NOT_COVERED
    stage.take("talker", "TTS")
    stage.at(1.0)
    ticket = stage.ledger.recall(token, stage.tick)
    assert ticket is not None
    assert ticket.token == token
    assert stage.may(token, "TTS") is None
    stage.ledger.lend(token, stage.tick, ("TTS",))
    stage.release(token)
    assert stage.may(token, "TTS") is Refusal.RELEASED
    assert stage.ledger.lent(token) == ()


@pytest.mark.requirement("I-27")
def test_expired_lender_loses_its_token() -> None:
    stage = LedgerSetup()
    stage.owner("greeting", time_to_live_s=1.0)
    token = stage.take("greeting", "TTS")
    stage.ledger.lend(token, stage.tick, ("TTS",))
    stage.until(2.0)
    assert stage.may(token, "TTS") is Refusal.EXPIRED


@pytest.mark.requirement("I-27")
def test_resource_stays_lent_after_a_recall_that_timed_out() -> None:
    """A fault freezes it: the recall times out and can be repeated."""
    stage = LedgerSetup()
    stage.owner("greeting", timeout_s=1.0)
    token = stage.take("greeting", "TTS")
    stage.ledger.lend(token, stage.tick, ("TTS",))
    stage.ledger.freeze(("TTS",), "brokenArm", stage.tick)
    ticket = stage.ledger.recall(token, stage.tick)
    stage.until(2.0)
    assert ticket is not None
    assert ticket.outcome is not None
    assert ticket.outcome.kind is OutcomeKind.TIMED_OUT
    assert stage.ledger.lent(token) == ("TTS",)
    stage.ledger.thaw("brokenArm", stage.tick, ("TTS",))
    stage.ledger.recall(token, stage.tick)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("I-27")
def test_lent_resource_requested_again_is_not_lent_any_longer() -> None:
    """A request granted it, so it can be lent and recalled again."""
    stage = LedgerSetup()
    token = lender(stage)
    stage.take("greeting", "TTS", add_to=token)
    assert stage.ledger.lent(token) == ()
    assert stage.ledger.recall(token, stage.tick) is None
    assert stage.may(token, "TTS") is None


def test_token_cannot_lend_what_it_does_not_cover() -> None:
    stage = LedgerSetup()
    stage.owner("greeting")
    token = stage.take("greeting", "TTS")
    with pytest.raises(BadInput, match="does not cover"):
        stage.ledger.lend(token, stage.tick, ("LHand",))
    assert stage.holders("TTS") == ("greeting",)


@pytest.mark.requirement("I-27")
def test_rate_cannot_be_lent() -> None:
    """The ledger does not record how much would have to return."""
    stage = LedgerSetup()
    stage.owner("greeting")
    token = stage.ask("greeting", "TTS", rates={"CPU": 60.0}).token
    with pytest.raises(BadInput, match="'CPU' is shared by rates; release it"):
        stage.ledger.lend(token, stage.tick, ("TTS", "CPU"))
    assert stage.ledger.lent(token) == ()
    assert stage.held_by("greeting") == ("CPU", "TTS")
