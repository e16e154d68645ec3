"""`Ledger.follow`: from any token of a reservation to its present one."""

from typing import Any

import pytest

from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.requests import StaleToken, Ticket
from nao_testbed.controllers.arbitration.tokens import NoticeKind, OutcomeKind, Token
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import LEGS, LedgerSetup, end_of


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("taker")
    stage.owner("dance", policy=PauseOnDemand())
    return stage


@pytest.mark.requirement("RM-37")
def test_ticket_of_a_paused_holder_is_found_by_its_notice(
    stage: LedgerSetup,
) -> None:
    first = stage.take("dance", "TTS")
    taken = stage.take("taker", "TTS")
    (notice,) = stage.told("dance", NoticeKind.LOST)
    assert notice.request is not None
    ticket = stage.ledger.ticket(notice.request)
    assert ticket.outcome is None
    assert stage.ledger.follow("dance", first).ticket is ticket
    stage.at(2.0)
    stage.release(taken)
    assert end_of(ticket) == (OutcomeKind.GRANTED, 2.0)
    assert stage.ledger.follow("dance", first).token == ticket.token
    with pytest.raises(UnknownName, match="Request '3' is not in the waiting requests"):
        stage.ledger.ticket(3)
    with pytest.raises(UnknownName, match="Did you mean 'dance'"):
        stage.ledger.follow("dace", first)
    forged = Token(first.epoch, first.sequence, first.secret + 1)
    assert stage.ledger.follow("dance", forged).is_over
    assert stage.ledger.follow("taker", first).is_over


@pytest.mark.requirement("RM-37")
def test_every_token_of_a_reservation_leads_to_the_newest(stage: LedgerSetup) -> None:
    """The first token, the newest, and each in between, over four pauses."""
    tokens = [stage.take("dance", "TTS")]
    for _ in range(4):
        taken = stage.take("taker", "TTS")
        (ticket,) = {stage.ledger.follow("dance", token).ticket for token in tokens}
        assert ticket is not None
        stage.release(taken)
        (token,) = {stage.ledger.follow("dance", token).token for token in tokens}
        assert token is not None
        assert token == ticket.token
        assert stage.ledger.granted_by(token) is ticket
        tokens.append(token)
    assert len(set(tokens)) == 5
    stage.release(tokens[-1])
    assert all(stage.ledger.follow("dance", token).is_over for token in tokens)
    for token in tokens:
        with pytest.raises(StaleToken):
            stage.ledger.granted_by(token)


def test_reservations_of_one_owner_are_kept_apart(stage: LedgerSetup) -> None:
    speech, head = stage.take("dance", "TTS"), stage.take("dance", "Head")
    for _ in range(2):
        stage.release(stage.take("taker", "TTS"))
    assert stage.ledger.follow("dance", head).token == head
    assert stage.ledger.follow("dance", speech).token not in {speech, head, None}


def test_give_up_needs_a_list_of_known_owners(stage: LedgerSetup) -> None:
    before = stage.picture()
    with pytest.raises(BadInput, match="owners is the text 'taker'"):
        stage.ledger.give_up("taker", 0)
    with pytest.raises(UnknownName, match="'takr'"):
        stage.ledger.give_up(["taker", "takr"], 0)
    assert stage.picture() == before


def test_give_up_is_a_sign_of_life(stage: LedgerSetup) -> None:
    stage.owner("brief", time_to_live_s=1.0)
    stage.take("brief", "TTS")
    stage.until(0.5)
    stage.ledger.give_up(["brief"], stage.tick)
    stage.until(1.2)
    assert stage.ledger.next_due() == 150


def test_ticket_is_available_while_the_request_waits(stage: LedgerSetup) -> None:
    stage.take("taker", "TTS")
    stage.owner("asker")
    ticket = stage.ask("asker", "TTS", timeout_s=1.0)
    assert stage.ledger.ticket(ticket.number) is ticket
    assert isinstance(ticket, Ticket)
    stage.until(1.0)
    with pytest.raises(UnknownName, match="Known: none"):
        stage.ledger.ticket(ticket.number)


@pytest.mark.requirement("RM-35", "RM-33")
def test_stop_on_demand_calls_the_hooks_of_an_owner(stage: LedgerSetup) -> None:
    """on_stop gets the deadline; on_lost gets what was lost, and why."""
    stops, losses = list[Any](), list[Any]()
    hooks: dict[str, Any] = {"on_stop": stops.append, "on_lost": losses.append}
    stage.owner("walk", policy=StopOnDemand(1.0), **hooks)
    token = stage.take("walk", "Legs")
    asked = stage.ask("taker", "LLeg", timeout_s=5.0)
    assert [(told.owner, told.by, told.until_tick) for told in stops] == [
        ("walk", "taker", 100)
    ]
    assert losses == []
    stage.until(1.0)
    assert end_of(asked) == (OutcomeKind.GRANTED, 1.0)
    (lost,) = losses
    assert (lost.leaves, lost.why) == (("LAnklePitch", "LKneePitch"), "yielded")
    assert set(lost.leaves + lost.freed) == set(LEGS)
    assert stage.ledger.follow("walk", token).is_over
    stage.release(stage.take("walk", "RLeg"))  # a release is not a loss
    assert (len(losses), len(stops)) == (1, 1)


def test_hook_that_raises_is_ignored_and_invalid_hook_rejected(
    stage: LedgerSetup,
) -> None:
    def fall(lost: object) -> None:
        raise RuntimeError("it fell")

    losses = list[Any]()
    for name, leaf, hook in (("one", "TTS", fall), ("two", "LHand", losses.append)):
        stage.owner(name, policy=StopOnDemand(), on_lost=hook)
        stage.take(name, leaf)
    stage.take("taker", "TTS", "LHand")
    assert [lost.owner for lost in losses] == ["two"]
    assert stage.held_by("taker") == ("LHand", "TTS")
    with pytest.raises(BadInput, match="on_lost of owner 'x' is 3; give a function"):
        stage.owner("x", on_lost=3)
