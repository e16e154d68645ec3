"""Tokens trusted by a remote owner, at most as long as the server keeps them."""

import pytest

from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    NoticeKind,
    OutcomeKind,
    Token,
)
from nao_testbed.experiments.server.client import TRUSTED, TrustedTokens
from nao_testbed.experiments.server.messages import NoticeData, OutcomeData

LIVE_S = 10.0
BALL, HEAD = Token(1, 1, 7), Token(1, 2, 8)


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def trusted(clock: Clock) -> TrustedTokens:
    """Trusted tokens of a newly registered owner."""
    trusted = TrustedTokens(clock, LIVE_S)
    trusted.after_answer(trusted.before_send(), ())
    return trusted


def notice(kind: NoticeKind, token: Token | None = None, **more: object) -> NoticeData:
    values = {"number": 1, "kind": kind, "tick": 0, **more}
    return NoticeData.model_validate(
        {"token": str(token.id) if token else None, **values}
    )


@pytest.mark.requirement("RM-61")
def test_trust_counts_from_sending_the_last_answered_sign(
    trusted: TrustedTokens, clock: Clock
) -> None:
    trusted.add(BALL)
    clock.now_s += 5.0
    sent = trusted.before_send()
    clock.now_s += 3.0  # delay of the answer
    trusted.after_answer(sent, ["1.1"])
    clock.now_s = 105.0 + TRUSTED * LIVE_S - 0.001
    assert trusted.holds(BALL)
    clock.now_s = 105.0 + TRUSTED * LIVE_S
    assert not trusted.holds(BALL)


def test_late_answer_does_not_shorten_trust(
    trusted: TrustedTokens, clock: Clock
) -> None:
    early = trusted.before_send()
    clock.now_s += 5.0
    trusted.after_answer(trusted.before_send(), ())
    until_s = trusted.until_s
    trusted.after_answer(early, ())
    assert trusted.until_s == until_s


def test_grant_during_a_pending_sign_of_life_is_kept(
    trusted: TrustedTokens,
) -> None:
    trusted.add(BALL)
    sent = trusted.before_send()
    trusted.add(HEAD)
    trusted.after_answer(sent, [])
    assert not trusted.holds(BALL)
    assert trusted.holds(HEAD)


@pytest.mark.requirement("AR-18")
def test_notice_of_an_end_may_arrive_before_the_grant(trusted: TrustedTokens) -> None:
    trusted.apply_notice(notice(NoticeKind.LOST, BALL, has_ended=True))
    trusted.add(BALL)
    assert not trusted.holds(BALL)


@pytest.mark.requirement("AR-20")
def test_partial_loss_does_not_end_trust(trusted: TrustedTokens) -> None:
    trusted.add(BALL)
    trusted.apply_notice(notice(NoticeKind.LOST, BALL, has_ended=False))
    assert trusted.holds(BALL)


@pytest.mark.requirement("RM-37")
def test_only_a_resume_notice_adds_trust(
    trusted: TrustedTokens,
) -> None:
    """Other outcomes may arrive after their token was released."""

    def resumed(token: Token, request: int) -> NoticeData:
        outcome = OutcomeData(kind=OutcomeKind.GRANTED, tick=0, token=token.as_text())
        return notice(NoticeKind.OUTCOME, token, request=request, outcome=outcome)

    trusted.apply_notice(resumed(HEAD, 5))
    assert not trusted.holds(HEAD)
    trusted.add(BALL)
    paused = {"why": LossCause.PAUSED, "request": 6, "has_ended": True}
    trusted.apply_notice(notice(NoticeKind.LOST, BALL, **paused))
    assert not trusted.holds(BALL)
    trusted.apply_notice(resumed(HEAD, 6))
    assert trusted.holds(HEAD)


def test_new_registration_trusts_no_older_tokens(trusted: TrustedTokens) -> None:
    trusted.add(BALL)
    trusted.invalidate_all()
    trusted.after_answer(trusted.before_send(), ())
    assert not trusted.holds(BALL)
