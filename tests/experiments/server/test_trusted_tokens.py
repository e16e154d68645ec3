"""Which tokens a remote owner trusts: never longer than the server keeps them."""

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
    """Of an owner that has just registered."""
    trusted = TrustedTokens(clock, LIVE_S)
    trusted.after_answer(trusted.before_send(), ())
    return trusted


def notice(kind: NoticeKind, token: Token | None = None, **more: object) -> NoticeData:
    values = {"number": 1, "kind": kind, "tick": 0, **more}
    return NoticeData.model_validate(
        {"token": str(token.id) if token else None, **values}
    )


@pytest.mark.requirement("RM-61")
def test_trust_counts_from_the_sending_of_the_last_answered_sign(
    trusted: TrustedTokens, clock: Clock
) -> None:
    trusted.add(BALL)
    clock.now_s += 5.0
    sent = trusted.before_send()
    clock.now_s += 3.0  # the answer takes its time
    trusted.after_answer(sent, ["1.1"])
    clock.now_s = 105.0 + TRUSTED * LIVE_S - 0.001
    assert trusted.holds(BALL)
    clock.now_s = 105.0 + TRUSTED * LIVE_S
    assert not trusted.holds(BALL)


def test_an_answer_that_comes_late_shortens_nothing(
    trusted: TrustedTokens, clock: Clock
) -> None:
    early = trusted.before_send()
    clock.now_s += 5.0
    trusted.after_answer(trusted.before_send(), ())
    until_s = trusted.until_s
    trusted.after_answer(early, ())
    assert trusted.until_s == until_s


def test_what_is_granted_while_a_sign_is_on_its_way_stays(
    trusted: TrustedTokens,
) -> None:
    trusted.add(BALL)
    sent = trusted.before_send()
    trusted.add(HEAD)
    trusted.after_answer(sent, [])
    assert not trusted.holds(BALL)
    assert trusted.holds(HEAD)


@pytest.mark.requirement("AR-18")
def test_the_notice_of_an_end_may_overtake_the_grant(trusted: TrustedTokens) -> None:
    trusted.apply_notice(notice(NoticeKind.LOST, BALL, has_ended=True))
    trusted.add(BALL)
    assert not trusted.holds(BALL)


@pytest.mark.requirement("AR-20")
def test_a_partial_loss_ends_no_trust(trusted: TrustedTokens) -> None:
    trusted.add(BALL)
    trusted.apply_notice(notice(NoticeKind.LOST, BALL, has_ended=False))
    assert trusted.holds(BALL)


@pytest.mark.requirement("RM-37")
def test_only_the_resumption_of_a_pause_brings_trust_by_notice(
    trusted: TrustedTokens,
) -> None:
    """Another outcome may be told when its token is long given back."""

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


def test_a_new_registration_trusts_nothing_of_before(trusted: TrustedTokens) -> None:
    trusted.add(BALL)
    trusted.invalidate_all()
    trusted.after_answer(trusted.before_send(), ())
    assert not trusted.holds(BALL)
