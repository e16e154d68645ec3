"""Deadlock detection: one request of a cycle is denied."""

import pytest

from nao_testbed.controllers.arbitration.tokens import Why
from tests.controllers.arbitration.ledger_setup import (
    DENIED,
    GRANTED,
    LedgerSetup,
    end_of,
    why,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup(overtake_s=0.0)
    stage.owners("MoveHead1", "MoveHead2", "MoveHead3")
    return stage


@pytest.mark.requirement("RM-21")
def test_request_that_would_close_a_cycle_is_denied(stage: LedgerSetup) -> None:
    stage.take("MoveHead1", "TTS")
    yaw = stage.take("MoveHead2", "HeadYaw")
    waiting = stage.ask("MoveHead1", "HeadYaw")
    closing = stage.ask("MoveHead2", "TTS")
    assert end_of(closing) == (DENIED, 0.0)
    assert why(closing) is Why.DEADLOCK
    assert waiting.outcome is None
    stage.release(yaw)
    assert end_of(waiting) == (GRANTED, 0.0)


@pytest.mark.requirement("RM-21")
def test_cycle_of_three_owners_is_detected(stage: LedgerSetup) -> None:
    stage.take("MoveHead1", "HeadYaw")
    stage.take("MoveHead2", "HeadPitch")
    third = stage.take("MoveHead3", "TTS")
    waits = [stage.ask("MoveHead1", "HeadPitch"), stage.ask("MoveHead2", "TTS")]
    assert why(stage.ask("MoveHead3", "HeadYaw")) is Why.DEADLOCK
    stage.release(third)
    assert end_of(waits[1]) == (GRANTED, 0.0)


@pytest.mark.requirement("RM-21")
def test_cycle_through_the_queue_is_detected(stage: LedgerSetup) -> None:
    stage.take("MoveHead1", "TTS")
    stage.take("MoveHead2", "HeadYaw")
    stage.ask("MoveHead3", "HeadYaw", "HeadPitch")
    stage.ask("MoveHead1", "HeadPitch")  # behind MoveHead3, which waits for MoveHead2
    assert why(stage.ask("MoveHead2", "TTS")) is Why.DEADLOCK


@pytest.mark.requirement("RM-21", "AR-13")
def test_cycle_closed_by_a_higher_priority_request_is_detected(
    stage: LedgerSetup,
) -> None:
    """The request of lower priority is denied, although it came earlier."""
    stage.take("MoveHead1", "HeadYaw")
    stage.take("MoveHead2", "LHand")
    low = stage.ask("MoveHead2", "HeadYaw", priority=0)
    high = stage.ask("MoveHead3", "HeadYaw", "LHand", priority=5)
    assert why(low) is Why.DEADLOCK
    assert high.outcome is None


@pytest.mark.requirement("RM-21")
def test_cycle_is_detected_after_a_release_of_another_token(
    stage: LedgerSetup,
) -> None:
    stage.take("MoveHead1", "TTS")
    other = stage.take("MoveHead1", "LHand")
    stage.take("MoveHead2", "HeadYaw")
    waiting = stage.ask("MoveHead1", "HeadYaw")
    stage.release(other)
    assert why(stage.ask("MoveHead2", "TTS")) is Why.DEADLOCK
    assert waiting.outcome is None


@pytest.mark.requirement("RM-21")
def test_cycle_closed_by_a_grant_is_detected(stage: LedgerSetup) -> None:
    stage.take("MoveHead2", "HeadYaw")
    pitch = stage.take("MoveHead3", "HeadPitch")
    yaw = stage.ask("MoveHead1", "HeadYaw")
    granted = stage.ask("MoveHead1", "HeadPitch")
    behind = stage.ask("MoveHead2", "HeadPitch")
    assert behind.outcome is None
    stage.release(pitch)
    assert end_of(granted) == (GRANTED, 0.0)
    assert why(behind) is Why.DEADLOCK
    assert yaw.outcome is None


@pytest.mark.requirement("RM-21")
def test_request_for_an_own_hold_is_denied_as_deadlock(stage: LedgerSetup) -> None:
    stage.take("MoveHead1", "HeadYaw")
    assert why(stage.ask("MoveHead1", "HeadYaw")) is Why.DEADLOCK
    assert stage.held_by("MoveHead1") == ("HeadYaw",)


@pytest.mark.requirement("RM-21", "AR-13")
def test_cycle_through_the_first_request_of_all_queues() -> None:
    """A request waits behind it at each leaf; it holds nothing itself."""
    stage = LedgerSetup(overtake_s=0.0)
    stage.owners("see", "wave", "talk", "next", "first")
    stage.take("see", "HeadYaw")
    stage.take("wave", "LHand")
    stage.take("talk", "TTS")
    stage.ask("wave", "TTS")
    behind = stage.ask("talk", "HeadYaw")
    stage.ask("next", "LHand")
    first = stage.ask("first", "HeadYaw", "LHand", priority=5)
    assert why(behind) is Why.DEADLOCK
    assert first.outcome is None
