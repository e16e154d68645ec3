"""Preemption by priority, and tie rules."""

from typing import Any

import pytest

from nao_testbed.controllers.arbitration.events import Revoked
from nao_testbed.controllers.arbitration.policies import (
    Lock,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.requests import NotGranted, Owner
from nao_testbed.controllers.arbitration.tokens import (
    AskerTie,
    HolderTie,
    Loss,
    LossCause,
    Preemption,
    Refusal,
    Why,
)
from nao_testbed.models import BadInput, UnknownName
from tests.controllers.arbitration.ledger_setup import (
    BY_PRIORITY,
    DENIED,
    GRANTED,
    HEAD,
    LOST,
    TIMED_OUT,
    LedgerSetup,
    end_of,
    node,
    outcome_of,
    why,
)

WINS, LOSES = AskerTie.WINS, AskerTie.LOSES
KEEPS, YIELDS = HolderTie.KEEPS, HolderTie.YIELDS


@pytest.fixture
def stage() -> LedgerSetup:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owners("low", priority=2)
    stage.owners("high", priority=7)
    stage.owners("other", priority=2)
    return stage


@pytest.mark.requirement("AR-3", "AR-14", "AR-17", "AR-18")
def test_higher_priority_preempts_and_gets_a_new_token(stage: LedgerSetup) -> None:
    old = stage.take("low", "TTS", policy=Lock())
    new = stage.take("high", "TTS", timeout_s=0.0)
    assert new.sequence > old.sequence
    assert stage.may(new, "TTS") is None
    assert stage.may(old, "TTS") is Refusal.REVOKED
    (notice,) = stage.told("low", LOST)
    assert (notice.token, notice.by) == (old.id, "high")
    assert notice.why is LossCause.OVERRIDDEN
    assert stage.demands_on("low") == []  # no demand


@pytest.mark.requirement("AR-3")
@pytest.mark.parametrize(
    ("asker", "ends"), [(1, DENIED), (2, DENIED), (3, GRANTED), (9, GRANTED)]
)
def test_holder_of_equal_or_higher_priority_blocks(
    stage: LedgerSetup, asker: int, ends: object
) -> None:
    stage.take("low", "TTS")
    assert end_of(stage.ask("high", "TTS", priority=asker, timeout_s=0.0))[0] is ends


@pytest.mark.requirement("AR-3", "RM-32")
def test_holder_decides_at_any_priority_without_preemption() -> None:
    stage = LedgerSetup(preemption=Preemption.OFF)
    stage.owners("low", "high")
    stage.take("low", "TTS")
    asked = stage.ask("high", "TTS", priority=9, timeout_s=0.2)
    stage.until(0.2)
    assert end_of(asked) == (TIMED_OUT, 0.2)


@pytest.mark.requirement("AR-13")
def test_priority_of_the_request_replaces_that_of_the_owner(
    stage: LedgerSetup,
) -> None:
    assert Owner(name="x").priority == 0
    stage.take("high", "TTS")
    stage.take("high", "LHand", priority=3)
    assert [stage.row(leaf).holders[0].priority for leaf in ("TTS", "LHand")] == [7, 3]


RULES: dict[str, Any] = {
    "operation_priority": {"protect": 9, "greet": 3, "idle": 0},
    "resource_priority": {"Motors": 4, "LHand": 2, "TTS": 6},
}


@pytest.mark.requirement("AR-13")
@pytest.mark.parametrize(
    ("wanted", "terms", "priority"),
    [
        (("LHand",), {"operation": "protect"}, 9),  # by operation
        (("TTS",), {"operation": "idle"}, 0),
        (("LHand",), {"operation": "greet", "priority": 5}, 5),  # by request
        (("TTS",), {}, 6),  # by resource
        (("HeadYaw",), {}, 4),  # inherited from Motors
        (("LHand",), {}, 2),  # own rule
        (("LArm",), {}, 4),  # highest of its leaves
        (("LHand", "TTS"), {}, 6),
        (("LHand",), {"optional": ("TTS",)}, 2),  # optional ones are not counted
        (("Microphone",), {}, 1),  # by owner
    ],
)
def test_priority_is_set_by_the_operation_or_the_resource(
    wanted: tuple[str, ...], terms: dict[str, Any], priority: int
) -> None:
    """The priority is stored with the reservation, and preempts a lower one."""
    stage = LedgerSetup(preemption=BY_PRIORITY, **RULES)
    stage.owner("low", priority=max(priority - 1, 0))
    stage.owner("app", priority=1)
    if priority:
        stage.take("low", *wanted, priority=priority - 1)
    stage.take("app", *wanted, **terms)
    assert {h.priority for h in stage.row(wanted[0]).holders} <= {priority}
    held = [row for row in stage.picture() if row.holders]
    assert {h.priority for row in held for h in row.holders} == {priority}
    assert {h.owner for row in held for h in row.holders} == {"app"}


@pytest.mark.requirement("AR-13")
def test_priority_rules_are_limited_by_the_owners_maximum() -> None:
    stage = LedgerSetup(**RULES)
    stage.owner("guest", max_priority=3)
    stage.take("guest", "TTS")
    stage.take("guest", "LHand", operation="protect")
    assert {stage.row(x).holders[0].priority for x in ("TTS", "LHand")} == {3}


@pytest.mark.requirement("AR-13")
def test_invalid_priority_rules_are_rejected() -> None:
    stage = LedgerSetup(**RULES)
    stage.owner("app")
    with pytest.raises(UnknownName, match=r"Operation 'gret' .* Did you mean 'greet'"):
        stage.ask("app", "TTS", operation="gret")
    with pytest.raises(UnknownName, match="'HeadYa'"):
        LedgerSetup(resource_priority={"HeadYa": 3})
    for wrong in ({"TTS": 10}, {"TTS": True}, {3: 1}, "TTS", None):
        with pytest.raises(BadInput):
            LedgerSetup(resource_priority=wrong)
        with pytest.raises(BadInput):
            LedgerSetup(operation_priority=wrong)


@pytest.mark.requirement("AR-13", "RM-17")
def test_queue_is_ordered_by_priority_then_arrival(stage: LedgerSetup) -> None:
    held = stage.take("high", "TTS", priority=9)
    stage.owner("urgent")
    stage.ask("low", "TTS", priority=2)
    stage.ask("other", "TTS", priority=2)
    stage.ask("urgent", "TTS", priority=5)
    assert stage.waiters("TTS") == ("urgent", "low", "other")
    stage.release(held)
    assert stage.holders("TTS") == ("urgent",)


@pytest.mark.requirement("AR-14", "AR-5")
def test_group_is_preempted_from_all_holders_or_none(stage: LedgerSetup) -> None:
    stage.take("low", "HeadYaw")
    stage.take("high", "LHand", priority=9)
    stage.take("other", "TTS")
    group = stage.ask("high", "HeadYaw", "LHand", "TTS", timeout_s=0.0, priority=8)
    assert end_of(group) == (DENIED, 0.0)
    assert stage.held_by("low") == ("HeadYaw",)
    group = stage.ask("high", "HeadYaw", "TTS", timeout_s=0.0, priority=8)
    assert end_of(group) == (GRANTED, 0.0)
    assert stage.held_by("low") == stage.held_by("other") == ()


@pytest.mark.requirement("AR-19")
def test_whole_loss_frees_other_leaves_too(stage: LedgerSetup) -> None:
    stage.take("low", *HEAD, "TTS", loss=Loss.WHOLE)
    waiting = stage.ask("other", "TTS", timeout_s=9.0)
    stage.take("high", "Head")
    (notice,) = stage.told("low", LOST)
    assert (notice.leaves, notice.freed) == (HEAD, ("TTS",))
    assert end_of(waiting) == (GRANTED, 0.0)
    again = stage.ask("low", "TTS", timeout_s=9.0)
    assert again.outcome is None  # queued behind the others


@pytest.mark.requirement("AR-19", "RM-30")
def test_whole_loss_ends_holds_inside_the_freed_leaves(stage: LedgerSetup) -> None:
    stage.owner("child", parent="low")
    stage.take("low", "HeadYaw", "TTS")
    used = stage.take("child", "TTS")
    stage.take("high", "HeadYaw")
    assert stage.may(used, "TTS") is Refusal.REVOKED
    assert [n.why for n in stage.told("child", LOST)] == [LossCause.PARENT_RELEASED]
    assert stage.holders("TTS") == ()


@pytest.mark.requirement("AR-20")
def test_partial_loss_takes_only_the_requested_leaves(stage: LedgerSetup) -> None:
    token = stage.take("low", *HEAD, "TTS", loss=Loss.PARTIAL)
    stage.take("high", "Head")
    assert stage.may(token, "TTS") is None
    assert stage.may(token, "HeadYaw") is Refusal.NOT_COVERED
    (notice,) = stage.told("low", LOST)
    assert (notice.leaves, notice.freed) == (HEAD, ())


@pytest.mark.requirement("AR-20", "AR-17")
def test_partial_token_without_leaves_is_revoked(stage: LedgerSetup) -> None:
    token = stage.take("low", *HEAD, loss=Loss.PARTIAL)
    stage.take("high", "HeadYaw")
    stage.take("high", "HeadPitch")
    assert stage.may(token, "HeadYaw") is Refusal.REVOKED
    assert [e.is_whole for e in stage.events if isinstance(e, Revoked)] == [False, True]


@pytest.mark.requirement("AR-8", "AR-21", "AR-22")
@pytest.mark.parametrize(
    ("asker", "holder", "ends"),
    [
        (LOSES, KEEPS, DENIED),
        (LOSES, YIELDS, DENIED),
        (WINS, KEEPS, DENIED),
        (WINS, YIELDS, GRANTED),
    ],
)
def test_tie_is_won_if_requester_wins_and_holder_yields(
    stage: LedgerSetup, asker: AskerTie, holder: HolderTie, ends: object
) -> None:
    stage.take("low", "TTS", holder_tie=holder)
    tie = stage.ask("other", "TTS", asker_tie=asker, timeout_s=0.0)
    assert end_of(tie)[0] is ends


@pytest.mark.requirement("AR-2", "AR-22")
def test_tie_rules_of_the_request_replace_those_of_the_owner() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY)
    stage.owner("soft", holder_tie=YIELDS)
    stage.owner("bold", asker_tie=WINS)
    stage.take("soft", "TTS")
    stage.take("soft", "LHand", holder_tie=KEEPS)
    stage.take("bold", "TTS")
    assert end_of(stage.ask("bold", "LHand", timeout_s=0.0))[0] is DENIED


@pytest.mark.requirement("AR-21", "RM-17")
def test_tie_is_won_only_on_arrival(
    stage: LedgerSetup,
) -> None:
    token = stage.take("low", "TTS", "LHand", holder_tie=YIELDS)
    stage.take("high", "HeadYaw")
    older = stage.ask("other", "TTS", "HeadYaw", timeout_s=9.0)
    stage.owner("late", priority=2)
    newer = stage.ask("late", "TTS", asker_tie=WINS, timeout_s=9.0)
    assert newer.outcome is None
    stage.ledger.withdraw(older.number, stage.tick)
    stage.until(1.0)
    assert newer.outcome is None
    assert stage.may(token, "TTS") is None


@pytest.mark.requirement("AR-14", "AR-27")
def test_waiter_preempts_when_its_other_leaves_become_free(
    stage: LedgerSetup,
) -> None:
    busy = stage.take("high", "LHand", priority=9)
    stage.take("low", "TTS")
    waiting = stage.ask("high", "LHand", "TTS", priority=8, timeout_s=9.0)
    assert end_of(waiting)[0] is DENIED  # high holds LHand itself
    waiting = stage.ask("other", "LHand", "TTS", priority=8, timeout_s=9.0)
    assert stage.held_by("low") == ("TTS",)
    stage.at(1.0)
    stage.release(busy)
    assert end_of(waiting) == (GRANTED, 1.0)
    assert stage.held_by("low") == ()


@pytest.mark.requirement("AR-14", "RM-37")
def test_paused_holder_does_not_preempt_by_its_priority(stage: LedgerSetup) -> None:
    stage.take("high", "TTS", policy=PauseOnDemand())
    stage.take("low", "TTS")
    stage.until(3.0)
    assert stage.holders("TTS") == ("low",)


@pytest.mark.requirement("AR-1", "AR-2")
@pytest.mark.parametrize(
    "resource", ["microphone", "recording", "GPU", "storage", "navigator", "radio"]
)
def test_resource_need_not_be_physical(resource: str) -> None:
    stage = LedgerSetup(node("root", node(resource)), preemption=BY_PRIORITY)
    stage.owners("A", "B")
    token = stage.take("A", resource, priority=1, asker_tie=LOSES)
    stage.take("B", resource, priority=4)
    assert stage.may(token, resource) is Refusal.REVOKED


@pytest.mark.requirement("AR-15")
@pytest.mark.parametrize("timeout_s", [0.0, 9.0])
@pytest.mark.parametrize("wanted", [("TTS",), ("Audio",), ("TTS", "LHand")])
def test_lower_priority_is_denied_at_once_with_the_reason(
    wanted: tuple[str, ...], timeout_s: float
) -> None:
    """No demand is sent, and nothing changes."""
    stage = LedgerSetup(preemption=BY_PRIORITY, denies_lower=True)
    stage.owner("high", priority=7, policy=StopOnDemand())
    stage.owner("low", priority=2)
    token = stage.take("high", "TTS")
    denied = stage.ask("low", *wanted, timeout_s=timeout_s)
    assert end_of(denied) == (DENIED, 0.0)
    assert why(denied) is Why.OUTRANKED
    assert [b.owners for b in outcome_of(denied).blockers] == [("high",)]
    with pytest.raises(NotGranted, match=r"outranked \(blocked by: TTS: high\)\. Ask"):
        _ = denied.token
    assert not stage.demands_on("high")
    assert stage.may(token, "TTS") is None
    assert not stage.ledger.waiting
    stage.release(token)
    stage.take("low", *wanted)


@pytest.mark.requirement("AR-15", "RM-17")
def test_equal_priority_and_later_requests_may_still_wait() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY, denies_lower=True)
    stage.owners("one", "two", "three", priority=4)
    stage.take("one", "TTS")
    assert stage.ask("two", "TTS", timeout_s=9.0).outcome is None
    assert stage.ask("three", "TTS", timeout_s=9.0).outcome is None
    mute = LedgerSetup(denies_lower=True)  # without preemption the holder decides
    mute.owner("high", priority=7)
    mute.owner("low", priority=2)
    mute.take("high", "TTS")
    assert mute.ask("low", "TTS", timeout_s=9.0).outcome is None


@pytest.mark.requirement("AR-15", "RM-40")
def test_reason_frozen_precedes_outranked() -> None:
    """The request waits until its timeout, since the fault may end."""
    stage = LedgerSetup(preemption=BY_PRIORITY, denies_lower=True)
    stage.owner("high", priority=7)
    stage.owner("low", priority=2)
    stage.take("high", "TTS")
    stage.ledger.freeze(["LHand"], "brokenArm", stage.tick)
    assert why(stage.ask("low", "TTS", "LHand", timeout_s=0.0)) is Why.FROZEN
    waiting = stage.ask("low", "TTS", "LHand", timeout_s=1.0)
    assert waiting.outcome is None
    stage.until(1.0)
    assert why(waiting) is Why.FROZEN


@pytest.mark.requirement("AR-15", "RM-57")
def test_share_is_outranked_only_if_lower_ones_do_not_suffice() -> None:
    stage = LedgerSetup(preemption=BY_PRIORITY, denies_lower=True)
    for name, priority in (("high", 7), ("low", 1), ("asker", 4)):
        stage.owner(name, priority=priority)
    stage.ask("high", rates={"CPU": 60.0})
    stage.ask("low", rates={"CPU": 30.0})
    assert why(stage.ask("asker", rates={"CPU": 50.0})) is Why.OUTRANKED
    assert end_of(stage.ask("asker", rates={"CPU": 40.0}))[0] is GRANTED
    stage.owner("part", parent="asker")
    more = stage.ask("part", rates={"CPU": 50.0}, timeout_s=0.0)
    assert why(more) is Why.BUSY  # more than the parent's 40 %


@pytest.mark.requirement("AR-15")
def test_child_is_outranked_by_its_sibling_without_a_demand() -> None:
    """No invariant requires that the sibling is notified."""
    stage = LedgerSetup(preemption=BY_PRIORITY, denies_lower=True)
    stage.owner("whole")
    stage.owner("high", parent="whole", priority=2)
    stage.owner("low", parent="whole", priority=1)
    stage.take("whole", *HEAD)
    stage.take("high", "HeadYaw")
    assert why(stage.ask("low", "HeadYaw")) is Why.OUTRANKED
    assert stage.demands_on("high") == []


@pytest.mark.requirement("AR-15")
def test_single_try_reports_outranked_without_denies_lower(stage: LedgerSetup) -> None:
    stage.take("high", "TTS")
    assert why(stage.ask("low", "TTS", timeout_s=0.0)) is Why.OUTRANKED
    assert stage.ask("low", "TTS", timeout_s=9.0).outcome is None
    assert why(stage.ask("high", "TTS", timeout_s=0.0)) is Why.BUSY


@pytest.mark.requirement("AR-13")
def test_priority_above_the_owners_maximum_is_rejected(stage: LedgerSetup) -> None:
    stage.owners("guest", priority=1, max_priority=4)
    stage.take("guest", "TTS", priority=4)
    with pytest.raises(BadInput, match="'guest' asks with priority 5; its highest is"):
        stage.ask("guest", "HeadYaw", priority=5)
    with pytest.raises(BadInput, match="its highest is 4"):
        Owner(name="bold", priority=5, max_priority=4)
