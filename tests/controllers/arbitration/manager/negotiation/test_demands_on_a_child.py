"""Demands on a child's hold: the child is asked first, then its parent."""

import pytest

from nao_testbed.controllers.arbitration.policies import (
    CallbackOnDemand,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.tokens import LossCause, Refusal, Why
from tests.controllers.arbitration.ledger_setup import (
    DENIED,
    GRANTED,
    LOST,
    LedgerSetup,
    end_of,
    why,
)

A_AND_B = ("LHand", "TTS")


@pytest.fixture
def stage() -> LedgerSetup:
    """Return a ledger with a parent, two children, and a stranger."""
    stage = LedgerSetup()
    stage.owner("parent")
    stage.owners("child 1", "child 2", parent="parent")
    stage.owner("stranger")
    return stage


@pytest.mark.requirement("RM-29")
def test_child_asks_its_sibling_not_the_parent(
    stage: LedgerSetup,
) -> None:
    stage.take("parent", *A_AND_B)
    used = stage.take("child 1", *A_AND_B, policy=StopOnDemand())
    second = stage.ask("child 2", "TTS")
    assert end_of(second) == (GRANTED, 0.0)
    assert stage.demands_on("child 1") == [("child 2", 0.0)]
    assert stage.demands_on("parent") == []
    assert stage.may(used, "TTS") is Refusal.REVOKED
    assert stage.holders("TTS") == ("child 2", "parent")


@pytest.mark.requirement("RM-31")
def test_stranger_asks_the_child_before_the_parent() -> None:
    order: list[str] = []
    stage = LedgerSetup()
    for name, above in (("parent", None), ("child", "parent"), ("stranger", None)):
        policy = CallbackOnDemand(lambda demand: order.append(demand.holder))
        stage.owner(name, parent=above, policy=policy)
    stage.take("parent", "TTS")
    stage.take("child", "TTS")
    stage.ask("stranger", "TTS")
    assert order == ["child", "parent"]


@pytest.mark.requirement("RM-31", "RM-37")
def test_child_is_paused_although_its_parent_stops() -> None:
    stage = LedgerSetup()
    stage.owner("parent", policy=StopOnDemand())
    stage.owner("child", parent="parent", policy=PauseOnDemand())
    stage.owner("stranger")
    stage.take("parent", *A_AND_B)
    stage.take("child", "TTS")
    taken = stage.take("stranger", *A_AND_B)
    (notice,) = stage.told("child", LOST)
    assert notice.why is LossCause.PAUSED
    stage.release(taken)
    assert stage.holders("TTS") == ("child",)


@pytest.mark.requirement("RM-26")
def test_parent_cannot_take_from_its_child_without_consent(
    stage: LedgerSetup,
) -> None:
    stage.take("child 1", "TTS")
    kept = stage.ask("parent", "TTS", timeout_s=0.0)
    assert end_of(kept) == (DENIED, 0.0)
    assert why(kept) is Why.BUSY
