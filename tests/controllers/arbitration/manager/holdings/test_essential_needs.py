"""What a behaviour cannot do without, and what it can."""

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
def test_it_runs_with_those_optional_ones_that_are_free_and_knows_which(
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
def test_an_optional_composite_comes_whole_or_not_at_all(stage: LedgerSetup) -> None:
    stage.take("walk", "LKneePitch")
    outcome = outcome_of(stage.ask("greeting", "TTS", optional=("LLeg",)))
    assert outcome.obtained == ("TTS",)
    assert outcome.missing == ("LLeg",)


@pytest.mark.requirement("RM-47")
def test_nobody_is_asked_for_or_waits_for_what_is_optional(stage: LedgerSetup) -> None:
    stage.take("walk", "Legs")
    stage.take("speech", "TTS")
    stage.ask("greeting", "TTS", optional=("LLeg",))
    assert stage.demands_on("speech") == [("greeting", 0.0)]
    assert stage.demands_on("walk") == []
    assert stage.waiters("LKneePitch") == ()


@pytest.mark.requirement("RM-47")
def test_what_somebody_else_needs_and_waits_for_is_not_taken_as_optional(
    stage: LedgerSetup,
) -> None:
    stage.take("speech", "TTS")
    waiting = stage.ask("walk", "LLeg", "TTS", timeout_s=9.0)
    stage.at(5.0)  # nobody passes it any more
    outcome = outcome_of(stage.ask("greeting", "RArm", optional=("LLeg",)))
    assert outcome.missing == ("LLeg",)
    assert waiting.outcome is None


@pytest.mark.requirement("RM-47", "AR-16")
def test_who_wants_only_optional_ones_needs_at_least_one(stage: LedgerSetup) -> None:
    walking = stage.take("walk", "Legs")
    assert why(stage.ask("greeting", optional=STEPS, timeout_s=0.0)) is Why.BUSY
    waiting = stage.ask("greeting", optional=STEPS, timeout_s=5.0)
    stage.at(1.0)
    stage.release(walking, "LLeg")
    assert end_of(waiting) == (GRANTED, 1.0)
    assert outcome_of(waiting).missing == ("RLeg",)
