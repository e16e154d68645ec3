"""Essential and optional resources of a request."""

import pytest

from nao_testbed.controllers.arbitration.tokens import Why
from tests.controllers.arbitration.ledger_setup import (
    GRANTED,
    LedgerSetup,
    end_of,
    outcome_of,
    why,
)

GREETING = ("TTS", "RArm")
STEPS = ("LLeg", "RLeg")


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("walk", "greeting", "speech")
    return stage


@pytest.mark.requirement("RM-47", "RM-48", "AR-16")
@pytest.mark.parametrize("busy", [(), ("LLeg",), ("RLeg",), STEPS])
def test_free_optional_resources_are_granted_and_others_reported(
    stage: LedgerSetup, busy: tuple[str, ...]
) -> None:
    if busy:
        stage.take("walk", *busy)
    outcome = outcome_of(stage.ask("greeting", "TTS", optional=STEPS))
    assert outcome.is_granted
    assert outcome.missing == busy
    assert {"LKneePitch", "RKneePitch"} & set(outcome.obtained) == {
        f"{leg[0]}KneePitch" for leg in STEPS if leg not in busy
    }


@pytest.mark.requirement("RM-47")
def test_optional_composite_is_granted_as_a_whole(stage: LedgerSetup) -> None:
    stage.take("walk", "LKneePitch")
    outcome = outcome_of(stage.ask("greeting", "TTS", optional=("LLeg",)))
    assert outcome.obtained == ("TTS",)
    assert outcome.missing == ("LLeg",)


@pytest.mark.requirement("RM-47")
def test_optional_resources_cause_no_demand_and_no_wait(stage: LedgerSetup) -> None:
    stage.take("walk", "Legs")
    stage.take("speech", "TTS")
    stage.ask("greeting", "TTS", optional=("LLeg",))
    assert stage.demands_on("speech") == [("greeting", 0.0)]
    assert stage.demands_on("walk") == []
    assert stage.waiters("LKneePitch") == ()


@pytest.mark.requirement("RM-47")
def test_optional_resource_claimed_by_a_waiter_is_not_granted(
    stage: LedgerSetup,
) -> None:
    stage.take("speech", "TTS")
    waiting = stage.ask("walk", "LLeg", "TTS", timeout_s=9.0)
    stage.at(5.0)  # it can no longer be overtaken
    outcome = outcome_of(stage.ask("greeting", "RArm", optional=("LLeg",)))
    assert outcome.missing == ("LLeg",)
    assert waiting.outcome is None


@pytest.mark.requirement("RM-47", "AR-16")
def test_request_with_only_optional_names_needs_one_of_them(stage: LedgerSetup) -> None:
    walking = stage.take("walk", "Legs")
    assert why(stage.ask("greeting", optional=STEPS, timeout_s=0.0)) is Why.BUSY
    waiting = stage.ask("greeting", optional=STEPS, timeout_s=5.0)
    stage.at(1.0)
    stage.release(walking, "LLeg")
    assert end_of(waiting) == (GRANTED, 1.0)
    assert outcome_of(waiting).missing == ("RLeg",)
