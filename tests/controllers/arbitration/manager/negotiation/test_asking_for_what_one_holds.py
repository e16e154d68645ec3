"""An owner's request for what it holds causes no demand and no loss (RM-17)."""

import pytest

from nao_testbed.controllers.arbitration.policies import (
    CallbackOnDemand,
    Lock,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.tokens import AskerTie, NoticeKind, OutcomeKind
from tests.controllers.arbitration.ledger_setup import BY_PRIORITY, LedgerSetup

POLICIES = {
    "lock": Lock(),
    "stop": StopOnDemand(),
    "pause": PauseOnDemand(),
    "callback": CallbackOnDemand(),
}


@pytest.fixture(params=[None, BY_PRIORITY], ids=["no preemption", "by priority"])
def stage(request: pytest.FixtureRequest) -> LedgerSetup:
    return LedgerSetup(**({"preemption": request.param} if request.param else {}))


@pytest.mark.requirement("RM-17")
@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("wanted", ["HeadYaw", "Head", "Motors"])
@pytest.mark.parametrize("timeout_s", [0.0, 1.0])
def test_repeated_request_fails_and_the_first_token_stays_valid(
    stage: LedgerSetup, policy: object, wanted: str, timeout_s: float
) -> None:
    stage.owner("dance", policy=policy)
    token = stage.take("dance", "HeadYaw")
    ticket = stage.ask(
        "dance", wanted, timeout_s=timeout_s, priority=9, asker_tie=AskerTie.WINS
    )
    stage.until(3.0)
    assert ticket.outcome is not None
    assert ticket.outcome.kind in (OutcomeKind.DENIED, OutcomeKind.TIMED_OUT)
    assert stage.may(token, "HeadYaw") is None
    assert stage.ledger.follow("dance", token).token == token
    assert not stage.told("dance", NoticeKind.DEMANDED)
    assert not stage.told("dance", NoticeKind.LOST)
    stage.release(token)
    stage.take("dance", wanted)


@pytest.mark.requirement("RM-17")
def test_request_overlapping_own_hold_still_asks_other_holders(
    stage: LedgerSetup,
) -> None:
    stage.owner("other", policy=StopOnDemand())
    stage.owner("dance")
    stage.take("other", "HeadPitch")
    token = stage.take("dance", "HeadYaw")
    stage.ask("dance", "Head", timeout_s=1.0)
    assert stage.told("other", NoticeKind.DEMANDED)
    assert stage.may(token, "HeadYaw") is None
