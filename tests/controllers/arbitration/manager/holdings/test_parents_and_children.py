"""Tree of owners: children use what their parent holds."""

import pytest

from nao_testbed.controllers.arbitration.events import Revoked
from nao_testbed.controllers.arbitration.policies import Lock, StopOnDemand
from nao_testbed.controllers.arbitration.tokens import LossCause, Refusal, Why
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    AVAILABLE,
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


@pytest.mark.requirement("RM-1", "RM-6")
def test_hold_is_inherited_at_any_depth(stage: LedgerSetup) -> None:
    stage.owner("grandchild", parent="child 1")
    stage.owner("its child", parent="grandchild")
    stage.take("parent", "Arms")
    token = stage.take("its child", "LHand")
    assert stage.may(token, "LHand") is None


@pytest.mark.requirement("RM-27")
def test_child_is_granted_its_parents_hold_at_once(
    stage: LedgerSetup,
) -> None:
    stage.take("parent", "Legs")
    stranger = stage.ask("stranger", "Legs", timeout_s=9.0)
    stage.at(5.0)
    charging = stage.ask("child 1", "Legs", timeout_s=0.0)
    assert end_of(charging) == (GRANTED, 5.0)
    assert stranger.outcome is None


@pytest.mark.requirement("RM-30")
def test_partial_release_of_a_parent_ends_only_holds_inside_it(
    stage: LedgerSetup,
) -> None:
    whole = stage.take("parent", "Head", "TTS")
    head = stage.take("child 1", "Head")
    voice = stage.take("child 2", "TTS")
    stage.release(whole, "Head")
    assert stage.may(head, "HeadYaw") is Refusal.REVOKED
    assert stage.may(voice, "TTS") is None
    assert stage.held_by("parent") == ("TTS",)


@pytest.mark.requirement("RM-26", "AR-26")
def test_child_is_notified_when_its_parent_takes_its_resource(
    stage: LedgerSetup,
) -> None:
    stage.take("child 1", "TTS", policy=StopOnDemand())
    stage.take("parent", "TTS")
    (notice,) = stage.told("child 1", AVAILABLE)
    assert notice.leaves == ("TTS",)
    stage.take("child 1", "TTS")


@pytest.mark.requirement("RM-30")
def test_descendants_are_revoked_innermost_first(stage: LedgerSetup) -> None:
    stage.owner("grandchild", parent="child 1")
    whole = stage.take("parent", "TTS")
    stage.take("child 1", "TTS")
    stage.take("grandchild", "TTS")
    stage.release(whole)
    lost = [event.owner for event in stage.events if isinstance(event, Revoked)]
    assert lost == ["grandchild", "child 1"]


@pytest.mark.requirement("RM-6")
def test_owner_cannot_change_its_parent(stage: LedgerSetup) -> None:
    with pytest.raises(BadInput, match="its parent cannot change to 'stranger'"):
        stage.owner("child 1", parent="stranger")
    with pytest.raises(BadInput, match="Owner 'nobody' is not in this ledger"):
        stage.owner("orphan", parent="nobody")


@pytest.mark.requirement("RM-21", "RM-30")
def test_deadlock_closed_by_a_parents_release_is_detected(stage: LedgerSetup) -> None:
    """After it, the child waits behind a stranger."""
    whole = stage.take("parent", "TTS")
    stage.take("child 1", "TTS")
    stage.take("child 2", "LHand")
    outside = stage.ask("stranger", "TTS", "LHand", timeout_s=9.0)
    stage.at(5.0)  # it can no longer be overtaken
    inside = stage.ask("child 2", "TTS")
    assert inside.outcome is None
    stage.release(whole)
    assert why(inside) is Why.DEADLOCK
    assert outside.outcome is None


@pytest.mark.requirement("RM-26", "RM-28", "RM-29", "RM-30")
def test_hold_of_a_parent_can_be_used_by_one_child_at_a_time(
    stage: LedgerSetup,
) -> None:
    """No special request is needed; only the child that uses it can command."""
    whole = stage.take("parent", *A_AND_B)
    assert stage.may(whole, "TTS") is None
    first = stage.take("child 1", "TTS", policy=StopOnDemand())
    assert stage.may(first, "TTS") is None
    assert stage.may(whole, "TTS") is Refusal.NOT_COVERED
    assert stage.may(whole, "LHand") is None
    assert [h.is_lent for h in stage.row("TTS").holders] == [False, True]
    outside = stage.ask("stranger", "TTS", timeout_s=9.0)
    second = stage.take("child 2", "TTS")
    assert stage.demands_on("child 1") == [("stranger", 0.0), ("child 2", 0.0)]
    assert stage.demands_on("parent") == [("stranger", 0.0)]
    assert stage.holders("TTS") == ("child 2", "parent")
    stage.release(second)
    assert stage.may(whole, "TTS") is None
    third = stage.take("child 1", "TTS")
    stage.at(1.0)
    stage.release(whole)
    assert stage.may(third, "TTS") is Refusal.REVOKED
    assert end_of(outside) == (GRANTED, 1.0)
    assert stage.told("child 1", LOST)[-1].why is LossCause.PARENT_RELEASED


@pytest.mark.requirement("RM-31", "RM-26")
@pytest.mark.parametrize("agrees", [("child 1", "parent"), ("child 1",), ("parent",)])
def test_stranger_needs_the_consent_of_child_and_parent(
    agrees: tuple[str, ...],
) -> None:
    stage = LedgerSetup()
    for name, above in (("parent", None), ("child 1", "parent"), ("stranger", None)):
        policy = StopOnDemand() if name in agrees else Lock()
        stage.owner(name, parent=above, policy=policy)
    stage.take("parent", *A_AND_B)
    stage.take("child 1", "TTS")
    asked = stage.ask("stranger", "TTS", timeout_s=0.0)
    if len(agrees) == 2:
        assert end_of(asked) == (GRANTED, 0.0)
        assert stage.held_by("parent") == stage.held_by("child 1") == ()
    else:
        assert stage.holders("TTS") == ("child 1", "parent")
