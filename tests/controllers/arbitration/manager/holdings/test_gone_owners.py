"""Owners that crash or expire: all their holds and requests end."""

import pytest

from nao_testbed.controllers.arbitration.events import Crashed, Expired
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.requests import StaleToken
from nao_testbed.controllers.arbitration.tokens import Refusal, Why
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import (
    AVAILABLE,
    CANCELLED,
    GRANTED,
    HEAD,
    LedgerSetup,
    end_of,
    why,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owner("dance", time_to_live_s=2.0)
    stage.owner("step", parent="dance")
    stage.owner("other")
    return stage


def expired_owners(stage: LedgerSetup) -> list[str]:
    owners = take_snapshot(stage.ledger).owners
    return [owner.name for owner in owners if owner.is_gone]


@pytest.mark.requirement("RM-65")
def test_crash_ends_all_holds_and_requests_of_owner_and_children(
    stage: LedgerSetup,
) -> None:
    kept = stage.take("dance", "Legs")
    used = stage.take("step", "Legs")
    stage.take("other", "TTS")
    waits = [stage.ask("dance", "TTS"), stage.ask("step", "TTS", "LHand")]
    stage.owner("third")
    next_ = stage.ask("third", "Legs")
    stage.at(1.0)
    stage.ledger.drop("dance", stage.tick)
    for name in ("dance", "step"):
        assert stage.held_by(name) == stage.waited_for_by(name) == ()
    assert [end_of(wait) for wait in waits] == [(CANCELLED, 1.0)] * 2
    assert {why(wait) for wait in waits} == {Why.OWNER_GONE}
    for token in (kept, used):
        assert stage.may(token, "LKneePitch") is Refusal.EXPIRED
    assert end_of(next_) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-65")
def test_silence_for_the_time_to_live_counts_as_a_crash(stage: LedgerSetup) -> None:
    token = stage.take("dance", *HEAD)
    waiting = stage.ask("other", "HeadYaw", timeout_s=9.0)
    stage.until(1.99)
    assert stage.may(token, "HeadYaw") is None
    stage.until(2.0)
    assert stage.may(token, "HeadYaw") is Refusal.EXPIRED
    assert end_of(waiting) == (GRANTED, 2.0)
    assert [e.owner for e in stage.events if isinstance(e, Crashed)] == ["dance"]


@pytest.mark.requirement("RM-65")
@pytest.mark.parametrize("sign", ["renew", "request", "release", "add_owner"])
def test_each_call_is_a_sign_of_life(stage: LedgerSetup, sign: str) -> None:
    token = stage.take("dance", *HEAD, "TTS")
    stage.at(1.5)
    if sign == "renew":
        stage.ledger.renew("dance", stage.tick)
    elif sign == "request":
        stage.ask("dance", "LHand")
    elif sign == "release":
        stage.release(token, "TTS")
    else:
        stage.owner("dance", time_to_live_s=2.0)
    stage.until(3.49)
    assert stage.may(token, "HeadYaw") is None
    stage.until(3.5)
    assert stage.may(token, "HeadYaw") is Refusal.EXPIRED


@pytest.mark.requirement("RM-65")
def test_returning_owner_may_request_but_old_tokens_stay_stale(
    stage: LedgerSetup,
) -> None:
    old = stage.take("dance", *HEAD)
    stage.until(5.0)
    new = stage.take("dance", *HEAD)
    assert stage.may(old, "HeadYaw") is Refusal.EXPIRED
    with pytest.raises(StaleToken, match="EXPIRED"):
        stage.release(old)
    assert stage.may(new, "HeadYaw") is None
    assert expired_owners(stage) == ["step"]  # the child made no call
    stage.until(7.0)
    assert expired_owners(stage) == ["dance", "step"]
    assert stage.may(new, "HeadYaw") is Refusal.EXPIRED


def test_owner_without_time_to_live_never_expires(stage: LedgerSetup) -> None:
    token = stage.take("other", "TTS")
    stage.until(1e6)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("RM-65")
def test_paused_owner_that_is_dropped_does_not_resume(stage: LedgerSetup) -> None:
    stage.take("step", *HEAD, policy=PauseOnDemand())
    taken = stage.take("other", "HeadYaw")
    assert stage.waiters("HeadYaw") == ("step",)
    stage.ledger.drop("step", stage.tick)
    stage.release(taken)
    assert stage.holders("HeadYaw") == stage.waiters("HeadYaw") == ()


@pytest.mark.requirement("RM-65", "RM-30")
def test_expiry_of_a_parent_ends_the_hold_of_its_child(stage: LedgerSetup) -> None:
    stage.take("dance", "Legs")
    used = stage.take("step", "Legs")
    stage.until(2.0)
    assert stage.may(used, "LKneePitch") is Refusal.EXPIRED
    ended = [e.owner for e in stage.events if isinstance(e, Expired)]
    assert ended == ["step", "dance"]


@pytest.mark.requirement("RM-65")
def test_drop_of_a_child_leaves_the_hold_of_its_parent(stage: LedgerSetup) -> None:
    stage.take("dance", "Legs")
    stage.take("step", "Legs")
    stage.ledger.drop("step", stage.tick)
    assert stage.holders("LKneePitch") == ("dance",)


@pytest.mark.requirement("RM-65")
def test_owner_that_expires_after_its_grant_frees_the_resource(
    stage: LedgerSetup,
) -> None:
    held = stage.take("other", "TTS")
    stage.ask("dance", "TTS", timeout_s=9.0)
    stage.at(1.0)
    stage.release(held)
    assert stage.holders("TTS") == ("dance",)
    stage.until(2.0)  # its last call was at 0.0
    assert stage.holders("TTS") == ()


@pytest.mark.requirement("RM-65")
def test_resource_promised_by_a_dropped_owner_is_free_at_once(
    stage: LedgerSetup,
) -> None:
    stage.take("step", "TTS", policy=StopOnDemand(within_s=1.0))
    waiting = stage.ask("other", "TTS", timeout_s=9.0)
    stage.at(0.4)
    stage.ledger.drop("step", stage.tick)
    assert end_of(waiting) == (GRANTED, 0.4)
    stage.until(9.0)
    assert stage.holders("TTS") == ("other",)


@pytest.mark.requirement("AR-26")
def test_dropped_owner_gets_no_availability_notice(
    stage: LedgerSetup,
) -> None:
    stage.take("step", "TTS", policy=StopOnDemand())
    taken = stage.take("other", "TTS")
    stage.ledger.drop("step", stage.tick)
    stage.release(taken)
    assert stage.told("step", AVAILABLE) == []


def test_forgotten_owner_is_removed_and_may_be_added_elsewhere(
    stage: LedgerSetup,
) -> None:
    token = stage.take("step", "TTS")
    with pytest.raises(BadInput, match="'dance' still has parts: step"):
        stage.ledger.forget_owner("dance", stage.tick)
    stage.ledger.forget_owner("step", stage.tick)
    assert stage.may(token, "TTS") is Refusal.EXPIRED
    with pytest.raises(UnknownName):
        stage.ask("step", "TTS")
    stage.ledger.forget_owner("dance", stage.tick)
    stage.owner("step", parent="other")
    assert stage.holders("TTS") == ()
