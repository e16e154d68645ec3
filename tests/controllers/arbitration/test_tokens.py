"""Tokens: one per grant, hard to guess, invalid for ever after their end."""

import pytest

from nao_testbed.controllers.arbitration.manager.snapshot import token_data
from nao_testbed.controllers.arbitration.tokens import (
    HolderTie,
    Refusal,
    Token,
    TokenMint,
    six_digits,
)
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    AVAILABLE,
    BY_PRIORITY,
    HEAD,
    LedgerSetup,
    outcome_of,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("A", "B", "C")
    return stage


@pytest.mark.requirement("AR-1", "AR-4")
def test_grant_gives_one_new_token_for_the_whole_group(stage: LedgerSetup) -> None:
    ticket = stage.ask("A", *HEAD, "TTS", "Microphone", rates={"Network": 20.0})
    outcome = outcome_of(ticket)
    assert outcome.obtained == ("HeadPitch", "HeadYaw", "Microphone", "Network", "TTS")
    assert all(stage.may(outcome.token, leaf) is None for leaf in outcome.obtained)


@pytest.mark.requirement("AR-6")
def test_owner_may_hold_several_tokens_independent_of_grants(
    stage: LedgerSetup,
) -> None:
    first = stage.take("A", "TTS")
    foreign = stage.take("B", *HEAD)
    second = stage.take("A", "LHand", "RHand")
    assert first != second
    assert stage.may(first, "TTS") is stage.may(foreign, "HeadYaw") is None
    assert stage.may(second, "LHand") is stage.may(second, "RHand") is None
    assert set(stage.held_by("A")).isdisjoint(stage.held_by("B"))


@pytest.mark.requirement("AR-7")
def test_tokens_are_ordered_and_have_random_secrets() -> None:
    mint = TokenMint(3)
    tokens = [mint.issue() for _ in range(10_000)]
    assert [token.epoch for token in tokens] == [3] * len(tokens)
    sequence = [token.sequence for token in tokens]
    assert sequence == sorted(set(sequence))
    secrets = {token.secret for token in tokens}
    assert len(secrets) == len(tokens)
    assert max(secrets).bit_length() == 64


@pytest.mark.requirement("AR-7")
def test_issued_tokens_are_genuine_and_forged_ones_are_not(
    stage: LedgerSetup,
) -> None:
    token = stage.take("A", "TTS")
    stage.release(token)
    forged = (token._replace(secret=1), token._replace(sequence=9), None)
    older = token._replace(epoch=0)
    assert stage.ledger.is_genuine(token)
    assert not any(map(stage.ledger.is_genuine, (*forged, older)))


@pytest.mark.requirement("AR-7")
def test_six_digit_form_has_random_and_sequential_digits() -> None:
    assert six_digits(Token(epoch=1, sequence=4, secret=933)) == "933004"
    assert six_digits(Token(epoch=1, sequence=12_007, secret=70_005)) == "005007"


@pytest.mark.requirement("AR-7")
def test_token_text_round_trip_and_invalid_texts() -> None:
    token = TokenMint(2).issue()
    assert Token.from_text(token.as_text()) == token
    for text in ("", "933004", token.as_text() + "0", "1-2-xyz", "-1-2-" + "0" * 16):
        with pytest.raises(BadInput, match="is malformed"):
            Token.from_text(text)


@pytest.mark.requirement("AR-8")
def test_holder_row_has_owner_priority_and_token_id(stage: LedgerSetup) -> None:
    token = stage.take("A", "TTS", priority=6)
    (holding,) = stage.row("TTS").holders
    assert (holding.owner, holding.priority, holding.is_lent) == ("A", 6, False)
    assert holding.token == token.id
    assert str(token.secret) not in repr(stage.picture())
    assert stage.may(token, "LHand") is Refusal.NOT_COVERED


@pytest.mark.requirement("AR-8", "AR-17")
@pytest.mark.parametrize("how", ["release", "override", "freeze", "silence"])
def test_token_data_list_valid_and_ended_tokens(how: str) -> None:
    """Token, resources, holder, priority, validity and tie preference, in one list."""
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("B", holder_tie=HolderTie.YIELDS, time_to_live_s=1.0)
    stage.owner("C", priority=5)
    c = stage.take("C", "LHand")
    b = stage.take("B", *HEAD, "TTS", priority=2)
    rows = token_data(stage.ledger)
    assert [(row.token, row.owner, row.priority) for row in rows] == [
        (c.id, "C", 5),
        (b.id, "B", 2),
    ]
    assert [row.resources for row in rows] == [("LHand",), (*HEAD, "TTS")]
    assert [row.holder_tie for row in rows] == [HolderTie.KEEPS, HolderTie.YIELDS]
    assert all(row.is_valid and row.end is None for row in rows)
    if how == "release":
        stage.release(b)
    elif how == "override":
        stage.take("C", "HeadYaw")
    elif how == "freeze":
        stage.ledger.freeze(["TTS"], "brokenTTS", stage.tick)
    else:
        stage.until(2.0)
    rows = token_data(stage.ledger)
    assert [row.token for row in rows[:2]] == [c.id, b.id]
    assert [row.is_valid for row in rows[:2]] == [True, False]
    ended = rows[1]
    assert (ended.owner, ended.priority, ended.holder_tie) == ("B", 2, "yields")
    assert ended.resources == (*HEAD, "TTS")  # its last leaves
    assert ended.end == stage.ledger.follow("B", b).end
    assert str(b.secret) not in repr(rows)


@pytest.mark.requirement("AR-8", "AR-25")
def test_token_data_follow_the_covered_leaves() -> None:
    stage = LedgerSetup(dead_tokens_kept=1)
    stage.owner("A")
    token = stage.take("A", *HEAD, "TTS")
    stage.release(token, "TTS")
    stage.take("A", "LHand", add_to=token)
    (row,) = token_data(stage.ledger)
    assert row.resources == (*HEAD, "LHand")
    for _ in range(3):
        stage.release(stage.take("A", "TTS"))
    assert [row.is_valid for row in token_data(stage.ledger)] == [True, False]


@pytest.mark.requirement("AR-10")
def test_token_of_an_earlier_epoch_is_rejected() -> None:
    before, after = LedgerSetup(epoch=1), LedgerSetup(epoch=2)
    tokens = []
    for stage in (before, after):
        stage.owner("A")
        tokens.append(stage.take("A", "TTS"))
    assert after.may(tokens[0], "TTS") is Refusal.WRONG_EPOCH
    assert tokens[1][:2] > tokens[0][:2]


@pytest.mark.requirement("AR-25")
def test_single_resource_can_be_released(stage: LedgerSetup) -> None:
    token = stage.take("A", *HEAD, "TTS")
    stage.release(token, "TTS")
    assert stage.may(token, "TTS") is Refusal.NOT_COVERED
    assert stage.may(token, "HeadYaw") is None
    stage.release(token, "Head")
    assert stage.may(token, "HeadYaw") is Refusal.RELEASED


@pytest.mark.requirement("AR-25")
def test_release_of_what_is_not_covered_changes_nothing(stage: LedgerSetup) -> None:
    token = stage.take("A", *HEAD)
    before = stage.picture()
    with pytest.raises(BadInput, match="does not cover 'TTS'; it covers HeadPitch"):
        stage.release(token, "HeadYaw", "TTS")
    assert stage.picture() == before


@pytest.mark.requirement("AR-26")
def test_token_of_a_deleted_record_is_unknown() -> None:
    stage = LedgerSetup(dead_tokens_kept=2)
    stage.owner("A")
    tokens = []
    for _ in range(3):
        tokens.append(stage.take("A", "TTS"))
        stage.release(tokens[-1])
    reasons = [stage.may(token, "TTS") for token in tokens]
    assert reasons == [Refusal.UNKNOWN, Refusal.RELEASED, Refusal.RELEASED]


@pytest.mark.requirement("AR-26")
def test_former_holder_is_notified_once_when_all_is_free() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owners("A", "B", "C")
    stage.take("B", *HEAD, "TTS", priority=2)
    taken = stage.take("A", *HEAD, priority=9)
    stage.at(1.0)
    stage.release(taken, "HeadYaw")
    assert stage.told("B", AVAILABLE) == []
    stage.at(2.0)
    stage.release(taken)
    stage.until(9.0)
    stage.release(stage.take("C", *HEAD))
    (notice,) = stage.told("B", AVAILABLE)
    assert (notice.leaves, notice.tick) == (HEAD, 200)


@pytest.mark.requirement("AR-27")
def test_reservation_lasts_until_it_is_released(stage: LedgerSetup) -> None:
    token = stage.take("A", "TTS")
    stage.ask("B", "TTS", timeout_s=100.0)
    stage.until(1e6)
    assert stage.may(token, "TTS") is None


def test_texts_of_tokens_and_outcomes_do_not_show_the_secret(
    stage: LedgerSetup,
) -> None:
    ticket = stage.ask("A", "TTS")
    for shown in (ticket.token, ticket.outcome):
        assert str(ticket.token.secret) not in f"{shown!r}{shown}"
        assert f"{ticket.token.secret:x}" not in f"{shown!r}{shown}"
