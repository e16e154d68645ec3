"""`Ledger.follow` reports the end of a reservation, by any of its tokens."""

from collections.abc import Callable

import pytest

from nao_testbed.controllers.arbitration.policies import PauseOnDemand, StopOnDemand
from nao_testbed.controllers.arbitration.requests import End
from nao_testbed.controllers.arbitration.tokens import (
    LossCause,
    Refusal,
    Token,
    TokenMint,
)
from tests.controllers.arbitration.ledger_setup import BY_PRIORITY, LedgerSetup

Ends = Callable[[LedgerSetup, Token], object]
REVOKED = Refusal.REVOKED
ENDS: dict[str, tuple[Ends, End, str]] = {
    "released": (
        lambda stage, token: stage.release(token),
        End(Refusal.RELEASED),
        "released",
    ),
    "gone": (
        lambda stage, token: stage.ledger.drop("one", stage.tick),
        End(Refusal.EXPIRED),
        "expired: its owner was silent for too long, or left",
    ),
    "frozen": (
        lambda stage, token: stage.ledger.freeze(["TTS"], "hotEngine", stage.tick),
        End(REVOKED, LossCause.FROZEN, "hotEngine"),
        "frozen by 'hotEngine'",
    ),
    "overridden": (
        lambda stage, token: stage.ask("two", "TTS", priority=5),
        End(REVOKED, LossCause.OVERRIDDEN, "two"),
        "overridden by 'two'",
    ),
    "yielded": (
        lambda stage, token: stage.ask("two", "TTS", priority=0),
        End(REVOKED, LossCause.YIELDED, "two"),
        "yielded to 'two'",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_follow_reports_the_end_of_a_reservation(name: str) -> None:
    ends, end, says = ENDS[name]
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("one", policy=StopOnDemand())
    stage.owner("two")
    token = stage.take("one", "TTS")
    assert stage.ledger.follow("one", token).end is None
    ends(stage, token)
    assert stage.ledger.follow("one", token) == (None, None, end)
    assert str(stage.ledger.follow("one", token).end) == says


def test_every_token_of_a_reservation_has_the_last_end() -> None:
    stage = LedgerSetup()
    stage.owner("one", policy=PauseOnDemand(resume_timeout_s=1.0))
    stage.owner("two")
    first = stage.take("one", "TTS")
    tokens = [first]
    for _ in range(3):
        stage.release(stage.take("two", "TTS"))
        present = stage.ledger.follow("one", first).token
        assert present is not None
        tokens.append(present)
    stage.take("two", "TTS")
    assert not any(stage.ledger.follow("one", token).is_over for token in tokens)
    stage.until(2.0)
    ends = {stage.ledger.follow("one", token).end for token in tokens}
    assert ends == {End(REVOKED, LossCause.PAUSED, "two")}
    says = "paused for 'two', and not returned in time"
    assert {str(end) for end in ends} == {says}


def test_token_not_issued_to_the_owner_ends_as_unknown() -> None:
    stage = LedgerSetup()
    stage.owners("one", "two")
    token = stage.take("one", "TTS")
    foreign = [(token, Refusal.UNKNOWN), (TokenMint(7).issue(), Refusal.WRONG_EPOCH)]
    for each, refusal in foreign:
        assert stage.ledger.follow("two", each).end == End(refusal)
