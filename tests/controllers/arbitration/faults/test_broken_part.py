"""`brokenArm` freezes a broken part until it is repaired; faults may overlap."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import Frozen, Thawed
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    BrokenPart,
    Occupation,
)
from nao_testbed.controllers.arbitration.policies import Lock
from nao_testbed.controllers.arbitration.tokens import Refusal
from nao_testbed.models import BadInput, Robot, UnknownName
from tests.controllers.arbitration.ledger_setup import LedgerSetup, outcome_of

LEFT_ARM = (
    "LElbowRoll",
    "LElbowYaw",
    "LHand",
    "LShoulderPitch",
    "LShoulderRoll",
    "LWristYaw",
)
PARTS = ("Left arm", "LElbowRoll", "LHand", "Arms", "Head", "HeadYaw")


@pytest.fixture
def stage(nao: Robot) -> LedgerSetup:
    return LedgerSetup(nao.resources)


@pytest.mark.requirement("RM-44", "RM-40")
def test_broken_arm_cannot_be_used(stage: LedgerSetup) -> None:
    stage.owners("wave", policy=Lock())
    token = stage.take("wave", "LShoulderPitch")
    broken = BrokenPart(stage.ledger)
    broken.inject(["Left arm"], 1)
    stage.at(0.01)
    assert broken.broken == LEFT_ARM
    assert stage.may(token, "LShoulderPitch") is Refusal.REVOKED
    assert not outcome_of(stage.ask("wave", "LHand", timeout_s=0.0)).is_granted
    assert outcome_of(stage.ask("wave", "Right arm")).is_granted
    assert [hold.by for hold in stage.row("LHand").virtual] == ["brokenArm"]
    assert stage.ledger.effort_cap("LElbowRoll") == 0.0, "the arm is limp"
    assert stage.ledger.effort_cap("RElbowRoll") == 1.0


@pytest.mark.requirement("RM-45")
def test_repaired_part_is_granted_to_the_first_waiter_at_once(
    stage: LedgerSetup,
) -> None:
    broken = BrokenPart(stage.ledger)
    broken.inject(["Left arm"], 0)
    stage.owners("first", "second")
    first = stage.ask("first", "LHand", timeout_s=60.0)
    second = stage.ask("second", "LHand", timeout_s=60.0)
    broken.repair(["Left arm"], 7)
    assert outcome_of(first).tick == 7
    assert second.outcome is None


@pytest.mark.requirement("RM-45")
def test_joint_stays_broken_when_its_arm_is_repaired(
    stage: LedgerSetup,
) -> None:
    broken = BrokenPart(stage.ledger)
    broken.inject(["LElbowRoll"], 1)
    broken.inject(["Left arm"], 2)
    broken.repair(["Left arm"], 3)
    assert broken.broken == ("LElbowRoll",)
    thawed = [event for event in stage.events if isinstance(event, Thawed)]
    assert [event.leaves for event in thawed] == [
        tuple(leaf for leaf in LEFT_ARM if leaf != "LElbowRoll")
    ]


@pytest.mark.requirement("RM-45")
def test_repair_of_one_cause_leaves_the_hold_of_another(stage: LedgerSetup) -> None:
    arm, battery = BrokenPart(stage.ledger), BrokenPart(stage.ledger, "lowBattery")
    arm.inject(["LHand"], 1)
    battery.inject(["LHand"], 2, Occupation(effort_cap=0.5, is_total=False))
    assert stage.ledger.effort_cap("LHand") == 0.0
    arm.repair(["LHand"], 3)
    stage.at(0.03)
    assert stage.ledger.effort_cap("LHand") == 0.5
    stage.owners("wave")
    assert outcome_of(stage.ask("wave", "LHand")).is_granted


@pytest.mark.slow
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(PARTS),
            st.sampled_from([None, 0.0, 0.3, 0.7]),
            st.booleans(),
            st.booleans(),
        ),
        max_size=20,
    )
)
def test_leaf_state_follows_its_worst_fault(
    nao: Robot, steps: list[tuple[str, float | None, bool, bool]]
) -> None:
    """Compared with a scan over the list of all faults after each step."""
    stage = LedgerSetup(nao.resources)
    broken = BrokenPart(stage.ledger)
    faults: dict[str, Occupation] = {}
    for tick, (part, cap, is_total, is_repair) in enumerate(steps):
        if is_repair and part in faults:
            del faults[part]
            broken.repair([part], tick)
        elif not is_repair:
            faults[part] = Occupation(effort_cap=cap, is_total=is_total)
            broken.inject([part], tick, faults[part])
    tree = stage.ledger.tree
    for leaf in tree.leaves("All motors"):
        on_it = [o for part, o in faults.items() if leaf in tree.leaves(part)]
        caps = [o.effort_cap for o in on_it if o.effort_cap is not None]
        assert stage.ledger.effort_cap(leaf) == min(caps, default=1.0)
        assert (leaf in broken.broken) == bool(on_it)
        held = stage.row(leaf).virtual
        assert any(hold.is_total for hold in held) == any(o.is_total for o in on_it)


def test_repeated_fault_gives_one_event(stage: LedgerSetup) -> None:
    broken = BrokenPart(stage.ledger)
    broken.inject(["LHand"], 1)
    broken.inject(["LHand"], 2)
    assert len([e for e in stage.events if isinstance(e, Frozen)]) == 1


@pytest.mark.requirement("RM-44", "RM-65")
def test_fault_is_recorded_only_if_the_ledger_accepts_it(stage: LedgerSetup) -> None:
    broken = BrokenPart(stage.ledger)
    stage.until(0.05)
    with pytest.raises(BadInput, match="a tick must not decrease"):
        broken.inject(["LHand"], 1)
    assert [*broken.faults, *broken.broken] == []
    broken.inject(["LHand"], 5)
    with pytest.raises(BadInput, match="a tick must not decrease"):
        broken.repair(["LHand"], 1)
    assert [*broken.faults, *broken.broken] == ["LHand", "LHand"]
    broken.repair(["LHand"], 6)
    assert [*broken.faults, *broken.broken] == []


def test_invalid_faults_change_nothing(stage: LedgerSetup) -> None:
    broken = BrokenPart(stage.ledger)
    broken.inject(["LHand"], 1)
    before = stage.picture()
    with pytest.raises(UnknownName, match="Did you mean 'LElbowRoll'"):
        broken.inject(["HeadYaw", "LElbowRol"], 2)
    with pytest.raises(UnknownName, match="'Left arm' is not in the list of faults"):
        broken.repair(["LHand", "Left arm"], 2)
    with pytest.raises(BadInput, match=r"cap is -0\.1"):
        broken.inject(["LHand"], 2, Occupation(effort_cap=-0.1, is_total=True))
    with pytest.raises(BadInput, match="names no part"):
        broken.inject([], 2)
    assert stage.picture() == before
    assert broken.faults == ("LHand",)
