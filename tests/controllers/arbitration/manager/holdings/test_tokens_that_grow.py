"""A grant may extend an existing token of the owner (AR-23)."""

import pytest

from nao_testbed.controllers.arbitration.policies import StopOnDemand
from nao_testbed.controllers.arbitration.requests import StaleToken
from nao_testbed.controllers.arbitration.tokens import Refusal
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    CANCELLED,
    GRANTED,
    TIMED_OUT,
    LedgerSetup,
    end_of,
    outcome_of,
    why,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("A", "B", "C")
    return stage


@pytest.mark.requirement("AR-23")
def test_grant_can_extend_a_valid_token(stage: LedgerSetup) -> None:
    token = stage.take("A", "HeadYaw")
    more = stage.ask("A", "TTS", add_to=token)
    assert more.token == token
    assert outcome_of(more).obtained == ("TTS",)
    assert stage.may(token, "TTS") is stage.may(token, "HeadYaw") is None


@pytest.mark.requirement("AR-23")
def test_token_is_extended_after_a_wait(stage: LedgerSetup) -> None:
    token = stage.take("A", "HeadYaw")
    busy = stage.take("B", "TTS")
    more = stage.ask("A", "TTS", add_to=token)
    assert stage.may(token, "TTS") is Refusal.NOT_COVERED
    stage.at(1.0)
    stage.release(busy)
    assert end_of(more) == (GRANTED, 1.0)
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("AR-23")
def test_stale_or_foreign_token_cannot_be_extended(stage: LedgerSetup) -> None:
    token = stage.take("A", "HeadYaw")
    before = stage.picture()
    with pytest.raises(BadInput, match="can only add to its own"):
        stage.ask("B", "TTS", add_to=token)
    with pytest.raises(BadInput, match="covers 'HeadYaw' already"):
        stage.ask("A", "Head", add_to=token)
    assert stage.picture() == before
    stage.release(token)
    with pytest.raises(StaleToken, match="RELEASED"):
        stage.ask("A", "TTS", add_to=token)
    assert stage.held_by("A") == ()


@pytest.mark.requirement("AR-23")
def test_request_to_extend_a_released_token_is_cancelled(
    stage: LedgerSetup,
) -> None:
    token = stage.take("A", "HeadYaw")
    stage.take("B", "TTS")
    more = stage.ask("A", "TTS", add_to=token)
    stage.at(0.5)
    stage.release(token)
    assert end_of(more) == (CANCELLED, 0.5)
    assert why(more) == "token dead"


@pytest.mark.requirement("AR-23", "RM-20")
def test_timed_out_extension_is_not_cancelled_later(stage: LedgerSetup) -> None:
    token = stage.take("A", "HeadYaw")
    stage.take("B", "TTS")
    more = stage.ask("A", "TTS", add_to=token, timeout_s=0.5)
    stage.until(1.0)
    stage.release(token)
    assert end_of(more) == (TIMED_OUT, 0.5)


@pytest.mark.requirement("AR-23", "RM-47")
def test_extension_of_a_lost_token_ends_before_the_new_grant(
    stage: LedgerSetup,
) -> None:
    """So the optional resource it waited for is free for the new holder."""
    given = stage.take("A", "HeadYaw", policy=StopOnDemand())
    more = stage.ask("A", "TTS", "Sit", add_to=given)
    taken = stage.ask("B", "HeadYaw", optional=("TTS",))
    assert end_of(more) == (CANCELLED, 0.0)
    assert outcome_of(taken).obtained == ("HeadYaw", "TTS")
