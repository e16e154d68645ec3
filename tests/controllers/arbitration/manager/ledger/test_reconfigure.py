"""Settings of a ledger can change at run time; the trace records it (RM-64)."""

import pytest

from nao_testbed.controllers.arbitration.events import Reconfigured
from nao_testbed.controllers.arbitration.tokens import Preemption
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import HEAD, LedgerSetup, end_of

GRANTED = "granted"


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("one", "two", "three")
    return stage


@pytest.mark.requirement("RM-64", "AR-14")
def test_enabling_preemption_grants_a_waiter_of_higher_priority(
    stage: LedgerSetup,
) -> None:
    stage.take("one", "HeadYaw")
    urgent = stage.ask("two", "HeadYaw", priority=2, timeout_s=9.0)
    stage.at(1.0)
    stage.ledger.reconfigure(stage.tick, preemption=Preemption.BY_PRIORITY)
    assert end_of(urgent) == (GRANTED, 1.0)
    assert stage.holders("HeadYaw") == ("two",)
    stage.ledger.reconfigure(stage.tick, preemption="off")
    assert stage.ask("three", "HeadYaw", priority=9).outcome is None


@pytest.mark.requirement("RM-64", "RM-17")
def test_overtake_time_of_a_waiting_request_does_not_change(stage: LedgerSetup) -> None:
    """The new time applies to new requests, also in the trace checker (I-3)."""
    stage.ledger.reconfigure(0, overtake_s=1.0)
    yaw = stage.take("one", "HeadYaw")
    stage.ask("two", *HEAD, timeout_s=60.0)
    stage.ledger.reconfigure(0, overtake_s=0.0)
    stage.at(0.99)
    pitch = stage.take("three", "HeadPitch")
    stage.release(pitch)
    stage.at(1.0)
    stage.release(yaw)
    assert stage.holders("HeadPitch") == ("two",)
    firm = stage.ask("three", *HEAD, "LHand", timeout_s=60.0)
    assert stage.ask("one", "LHand", timeout_s=60.0).outcome is None
    assert firm.outcome is None


@pytest.mark.requirement("RM-64", "RM-19")
def test_new_retry_period_applies_after_the_next_retry(stage: LedgerSetup) -> None:
    stage.take("one", "HeadYaw")
    stage.ask("two", "HeadYaw", timeout_s=3.0)
    stage.ledger.reconfigure(0, retry_s=1.0)
    stage.until(5.0)
    assert stage.demands_on("one") == [("two", t) for t in (0.0, 0.5, 1.5, 2.5)]


def test_invalid_or_unchanged_settings_change_nothing(stage: LedgerSetup) -> None:
    before = stage.ledger.cfg
    with pytest.raises(BadInput, match="overtake_s is nan s"):
        stage.ledger.reconfigure(0, preemption="by_priority", overtake_s=float("nan"))
    with pytest.raises(UnknownName, match="Did you mean 'by_priority'"):
        stage.ledger.reconfigure(0, preemption="by_prority", retry_s=1.0)
    stage.ledger.reconfigure(0, retry_s=before.retry_s, preemption=before.preemption)
    assert stage.ledger.cfg == before
    assert not [e for e in stage.events if isinstance(e, Reconfigured)]
