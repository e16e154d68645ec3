"""Parts absent from a body are frozen by `RobotModel` from the start."""

import pytest

from nao_testbed.controllers.arbitration.events import Frozen, Revoked
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    change_absent,
    freeze_absent,
)
from nao_testbed.controllers.arbitration.tokens import OutcomeKind
from nao_testbed.models import Robot
from tests.controllers.arbitration.ledger_setup import LedgerSetup, end_of, outcome_of

LEGS = 11


def stage_of(robot: Robot) -> LedgerSetup:
    stage = LedgerSetup(robot.resources)
    freeze_absent(stage.ledger, robot, 0)
    return stage


@pytest.mark.requirement("RM-41", "RM-40")
def test_legs_of_a_robot_without_legs_are_frozen(nao: Robot) -> None:
    stage = stage_of(nao.with_body("T14"))
    legs = stage.ledger.tree.exclusive_leaves("Legs")
    assert len(legs) == LEGS
    for leaf in legs:
        (hold,) = stage.row(leaf).virtual
        assert (hold.by, hold.is_total) == ("RobotModel", True)
    motors = stage.ledger.tree.exclusive_leaves("All motors")
    others = [leaf for leaf in motors if leaf not in legs]
    assert len(others) == 14
    assert not any(stage.row(leaf).virtual for leaf in others)


@pytest.mark.requirement("RM-41")
def test_complete_robot_has_no_frozen_parts(nao: Robot) -> None:
    for robot in (nao, nao.with_body("H25")):
        stage = stage_of(robot)
        assert not any(row.virtual for row in stage.picture())
        assert not any(isinstance(event, Frozen) for event in stage.events)


@pytest.mark.requirement("RM-41")
def test_request_for_absent_joints_times_out(nao: Robot) -> None:
    stage = stage_of(nao.with_body("T14"))
    stage.owners("walk")
    walk = stage.ask("walk", "Legs", timeout_s=3.0)
    stage.until(10.0)
    assert end_of(walk) == (OutcomeKind.TIMED_OUT, 3.0)
    blockers = {b.resource: b.owners for b in outcome_of(walk).blockers}
    assert blockers["LKneePitch"] == ("RobotModel",)


@pytest.mark.requirement("RM-42", "RM-48")
@pytest.mark.parametrize(("body", "steps"), [("H25", True), ("T14", False)])
def test_same_behaviour_runs_with_and_without_legs(
    nao: Robot, body: str, *, steps: bool
) -> None:
    """The greeting uses an arm, and walks two steps if the body has legs."""
    stage = stage_of(nao.with_body(body))
    stage.owners("greet")
    got = outcome_of(stage.ask("greet", "TTS", "Right arm", optional=("Legs",)))
    assert got.is_granted
    assert ("RKneePitch" in got.obtained) is steps
    assert got.missing == (() if steps else ("Legs",))


@pytest.mark.requirement("RM-46")
def test_body_variant_is_defined_in_the_robot_data(nao: Robot) -> None:
    stage = stage_of(nao.with_body("T2"))
    frozen = {row.name for row in stage.picture() if row.virtual}
    motors = set(stage.ledger.tree.exclusive_leaves("All motors"))
    assert motors - frozen == {"HeadYaw", "HeadPitch"}


@pytest.mark.requirement("RM-41", "RM-45")
def test_change_of_body_freezes_and_thaws_the_difference(nao: Robot) -> None:
    """From T14 to T2 the legs stay frozen; the arms are frozen too."""
    before, after = nao.with_body("T14"), nao.with_body("T2")
    stage = stage_of(before)
    stage.owners("walk", "wave")
    legs = stage.ask("walk", "LKneePitch", timeout_s=60.0)
    arm = stage.ask("wave", "Left arm", timeout_s=60.0)
    assert outcome_of(arm).kind is OutcomeKind.GRANTED
    change_absent(stage.ledger, before, after, stage.ledger.tick + 1)
    lost = [e for e in stage.events if isinstance(e, Revoked)]
    assert [event.owner for event in lost] == ["wave"]
    assert legs.outcome is None
    change_absent(stage.ledger, after, nao, stage.ledger.tick + 1)
    assert outcome_of(legs).kind is OutcomeKind.GRANTED
    assert not any(row.virtual for row in stage.picture())
