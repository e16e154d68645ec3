"""Frozen leaves: a virtual owner named by the cause (hot, broken, absent)."""

import pytest

from nao_testbed.controllers.arbitration.faults.virtual_owners import Occupation
from nao_testbed.controllers.arbitration.policies import Lock
from nao_testbed.controllers.arbitration.requests import NotGranted
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    Preemption,
    Refusal,
    Why,
)
from nao_testbed.models import BadInput
from tests.controllers.arbitration.ledger_setup import (
    AVAILABLE,
    DENIED,
    GRANTED,
    HEAD,
    LEGS,
    LOST,
    TIMED_OUT,
    LedgerSetup,
    end_of,
    outcome_of,
    why,
)


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup()
    stage.owners("reader", "waver", "boss")
    return stage


@pytest.mark.requirement("RM-40", "RM-44")
def test_frozen_resource_is_not_granted(stage: LedgerSetup) -> None:
    stage.ledger.freeze(["RHand"], "brokenArm", stage.tick)
    waiting = stage.ask("waver", "RArm", timeout_s=6.0)
    assert end_of(stage.ask("reader", "RHand", timeout_s=0.0))[0] is DENIED
    stage.at(5.0)  # until then the free leaves may be granted
    assert end_of(stage.ask("reader", "RShoulderPitch", timeout_s=0.0))[0] is DENIED
    stage.until(6.0)
    assert end_of(waiting) == (TIMED_OUT, 6.0)
    (blocker,) = outcome_of(waiting).blockers
    assert (blocker.resource, blocker.owners) == ("RHand", ("brokenArm",))


@pytest.mark.requirement("RM-40", "RM-41")
@pytest.mark.parametrize("timeout_s", [0.0, 1.0])
@pytest.mark.parametrize("by", ["RobotModel", "hotEngine", "brokenArm"])
def test_outcome_for_a_frozen_resource_names_its_cause(
    stage: LedgerSetup, by: str, timeout_s: float
) -> None:
    """The reason is FROZEN even if the other leaves are held."""
    stage.take("boss", "RShoulderPitch")
    stage.ledger.freeze(["RHand"], by, stage.tick)
    both = stage.ask("waver", "RArm", timeout_s=timeout_s)
    hoped = stage.ask("reader", optional=("RHand",), timeout_s=timeout_s)
    stage.until(1.0)
    for ticket in (both, hoped):
        assert why(ticket) is Why.FROZEN
        owners = {b.resource: b.owners for b in outcome_of(ticket).blockers}
        assert owners["RHand"][0] == by
        with pytest.raises(NotGranted) as caught:
            _ = ticket.token
        assert f"frozen (blocked by: RHand: {by}" in str(caught.value)
        assert "wait longer" not in str(caught.value)


@pytest.mark.requirement("RM-40")
def test_capped_resource_counts_as_busy_not_frozen(stage: LedgerSetup) -> None:
    stage.take("boss", "RHand")
    stage.ledger.freeze(["RHand"], "hotEngine", 0, effort_cap=0.5, is_total=False)
    waiting = stage.ask("waver", "RHand", timeout_s=1.0)
    stage.ledger.freeze(["LHand"], "brokenArm", 0)  # a different resource
    stage.until(1.0)
    assert why(waiting) is Why.TIMEOUT


@pytest.mark.requirement("RM-40", "RM-43")
@pytest.mark.requirement("I-22")
def test_fault_revokes_a_lock_of_highest_priority() -> None:
    stage = LedgerSetup(preemption=Preemption.BY_PRIORITY)
    stage.owner("boss", priority=9, policy=Lock())
    token = stage.take("boss", "HeadYaw", "TTS")
    stage.at(1.0)
    stage.ledger.freeze(["HeadYaw"], "hotEngine", stage.tick, effort_cap=0.2)
    assert stage.may(token, "HeadYaw") is Refusal.REVOKED
    (notice,) = stage.told("boss", LOST)
    assert (notice.why, notice.by) == (LossCause.FROZEN, "hotEngine")
    assert (notice.leaves, notice.freed) == (("HeadYaw",), ("TTS",))
    assert stage.ledger.effort_cap("HeadYaw") == 0.2


@pytest.mark.requirement("RM-40", "AR-20")
def test_partial_loss_keeps_the_other_leaves(stage: LedgerSetup) -> None:
    token = stage.take("reader", *HEAD, loss=Loss.PARTIAL)
    stage.ledger.freeze(["HeadYaw"], "hotEngine", stage.tick)
    assert stage.may(token, "HeadPitch") is None
    assert stage.may(token, "HeadYaw") is Refusal.FROZEN


@pytest.mark.requirement("RM-45")
def test_first_waiter_is_granted_when_the_fault_ends(stage: LedgerSetup) -> None:
    stage.ledger.freeze(["HeadYaw"], "hotEngine", stage.tick, effort_cap=0.2)
    waiting = stage.ask("reader", "Head", timeout_s=60.0)
    stage.at(30.0)
    stage.ledger.thaw("hotEngine", stage.tick)
    assert end_of(waiting) == (GRANTED, 30.0)
    assert stage.ledger.effort_cap("HeadYaw") == 1.0
    assert stage.may(waiting.token, "HeadYaw") is None


@pytest.mark.requirement("RM-45", "AR-26")
def test_former_holder_is_notified_once_when_the_fault_ends(stage: LedgerSetup) -> None:
    stage.take("reader", *HEAD)
    stage.ledger.freeze(["HeadYaw"], "hotEngine", stage.tick)
    stage.at(2.0)
    stage.ledger.thaw("hotEngine", stage.tick)
    stage.until(9.0)
    (notice,) = stage.told("reader", AVAILABLE)
    assert (notice.leaves, notice.tick) == (("HeadYaw",), 200)


@pytest.mark.requirement("RM-45", "RM-46")
def test_thaw_removes_only_the_hold_of_its_cause(stage: LedgerSetup) -> None:
    stage.ledger.freeze(["RHand"], "hotEngine", stage.tick, effort_cap=0.3)
    stage.ledger.freeze(["RArm"], "brokenArm", stage.tick, effort_cap=0.0)
    assert stage.ledger.effort_cap("RHand") == 0.0
    waiting = stage.ask("waver", "RHand", timeout_s=9.0)
    stage.ledger.thaw("brokenArm", stage.tick)
    assert waiting.outcome is None
    assert stage.ledger.effort_cap("RHand") == 0.3
    stage.at(1.0)
    stage.ledger.thaw("hotEngine", stage.tick)
    assert end_of(waiting) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-45")
def test_cause_can_thaw_one_part_and_keep_another(stage: LedgerSetup) -> None:
    stage.ledger.freeze(["Arms"], "hotEngine", stage.tick)
    stage.ledger.thaw("hotEngine", stage.tick, ["LArm", "HeadYaw"])
    assert end_of(stage.ask("waver", "LArm", timeout_s=0.0))[0] is GRANTED
    assert end_of(stage.ask("reader", "RHand", timeout_s=0.0))[0] is DENIED


@pytest.mark.requirement("RM-46")
def test_partially_frozen_part_stays_usable_with_less_effort(
    stage: LedgerSetup,
) -> None:
    token = stage.take("waver", "Legs")
    stage.ledger.freeze(
        ["Legs"], "saving energy", stage.tick, effort_cap=0.6, is_total=False
    )
    assert [stage.may(token, leaf) for leaf in LEGS] == [None] * len(LEGS)
    assert {stage.ledger.effort_cap(leaf) for leaf in LEGS} == {0.6}
    assert stage.told("waver", LOST) == []
    stage.release(token)
    assert end_of(stage.ask("reader", "Legs"))[0] is GRANTED


@pytest.mark.requirement("RM-46")
def test_cause_can_change_from_partial_to_total_and_back(stage: LedgerSetup) -> None:
    token = stage.take("waver", "RHand")
    stage.ledger.freeze(["RHand"], "hotEngine", 0, effort_cap=0.5, is_total=False)
    stage.ledger.freeze(["RHand"], "hotEngine", 0, effort_cap=0.1)
    assert stage.may(token, "RHand") is Refusal.REVOKED
    stage.ledger.freeze(["RHand"], "hotEngine", 0, effort_cap=0.5, is_total=False)
    assert end_of(stage.ask("waver", "RHand")) == (GRANTED, 0.0)
    assert stage.ledger.effort_cap("RHand") == 0.5


@pytest.mark.requirement("RM-46")
@pytest.mark.parametrize("leaf", ["CPU", "Stand"])
def test_any_kind_of_resource_can_be_frozen(stage: LedgerSetup, leaf: str) -> None:
    stage.ledger.set_state("State", "Stand", stage.tick)
    names = () if leaf == "CPU" else (leaf,)
    rates = {"CPU": 30.0} if leaf == "CPU" else {}
    stage.ask("reader", *names, rates=rates)
    stage.ledger.freeze([leaf], "overload", stage.tick)
    assert stage.held_by("reader") == ()
    waiting = stage.ask("reader", *names, rates=rates)
    assert waiting.outcome is None
    stage.ledger.thaw("overload", stage.tick)
    assert end_of(waiting) == (GRANTED, 0.0)


@pytest.mark.parametrize("cap", [-0.1, 1.1])
def test_effort_cap_out_of_range_is_rejected(stage: LedgerSetup, cap: float) -> None:
    before = stage.picture()
    with pytest.raises(BadInput, match="effort cap is"):
        stage.ledger.freeze(["RHand"], "hotEngine", 0, effort_cap=cap)
    with pytest.raises(BadInput, match=f"effort cap is {cap}"):
        Occupation(effort_cap=cap, is_total=True)
    assert stage.picture() == before


@pytest.mark.requirement("RM-40", "RM-26")
def test_parent_and_child_are_both_notified_of_the_freeze(
    stage: LedgerSetup,
) -> None:
    """The child's notice names the fault, not the loss of its parent."""
    stage.owners("part", parent="boss")
    stage.take("boss", "HeadYaw", "TTS")
    stage.take("part", "TTS")
    stage.ledger.freeze(["HeadYaw", "TTS"], "broken", stage.tick)
    for owner in ("part", "boss"):
        (notice,) = stage.told(owner, LOST)
        assert (notice.why, notice.by) == (LossCause.FROZEN, "broken")


def test_thaw_of_no_names_changes_nothing(stage: LedgerSetup) -> None:
    stage.ledger.freeze(["HeadYaw"], "hotEngine", stage.tick)
    stage.ledger.thaw("hotEngine", stage.tick, names=[])
    assert stage.row("HeadYaw").virtual
    stage.ledger.thaw("hotEngine", stage.tick)
    assert not stage.row("HeadYaw").virtual
