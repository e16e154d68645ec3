"""States of the robot: shared, and granted only while active."""

import pytest

from nao_testbed.controllers.arbitration.policies import (
    Answer,
    AnswerKind,
    CallbackOnDemand,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.tokens import LossCause, Refusal, Token
from tests.controllers.arbitration.ledger_setup import (
    GRANTED,
    LOST,
    TIMED_OUT,
    Diary,
    LedgerSetup,
    end_of,
)


@pytest.fixture
def stage() -> LedgerSetup:
    """Return the ledger of a standing robot."""
    stage = LedgerSetup()
    stage.owners("cut motors", "walk", "look", "rest")
    stage.ledger.set_state("State", "Stand", stage.tick)
    return stage


@pytest.mark.requirement("RM-51")
def test_state_is_granted_while_the_robot_is_in_it(stage: LedgerSetup) -> None:
    token = stage.take("walk", "Stand")
    assert stage.may(token, "Stand") is None
    assert stage.row("Stand").is_active
    assert stage.ledger.active_state("State") == "Stand"


@pytest.mark.requirement("RM-51")
def test_request_can_wait_for_a_state(stage: LedgerSetup) -> None:
    waiting = stage.ask("rest", "Sit", "Arms", timeout_s=9.0)
    assert stage.holders("LHand") == ()
    stage.at(4.0)
    stage.ledger.set_state("State", "Sit", stage.tick)
    assert end_of(waiting) == (GRANTED, 4.0)
    assert stage.holders("LHand") == ("rest",)


@pytest.mark.requirement("RM-52")
def test_active_state_is_shared_by_several_owners(stage: LedgerSetup) -> None:
    for name in ("walk", "look", "rest"):
        stage.take(name, "Stand")
    assert stage.holders("Stand") == ("walk", "look", "rest")
    assert stage.demands_on("walk") == []


@pytest.mark.requirement("RM-52")
def test_only_one_state_of_a_group_is_available(stage: LedgerSetup) -> None:
    waits = [stage.ask("rest", state, timeout_s=1.0) for state in ("Sit", "Back")]
    stage.until(1.0)
    assert [end_of(wait)[0] for wait in waits] == [TIMED_OUT, TIMED_OUT]
    active = [name for name in ("Stand", "Sit", "Back") if stage.row(name).is_active]
    assert active == ["Stand"]


@pytest.mark.requirement("RM-53")
def test_request_for_another_state_waits_and_notifies_holders(
    stage: LedgerSetup,
) -> None:
    stage.take("walk", "Stand")
    stage.take("look", "Stand")
    waiting = stage.ask("rest", "Sit", timeout_s=0.8)
    assert stage.demands_on("walk") == [("rest", 0.0)]
    assert stage.demands_on("look") == [("rest", 0.0)]
    stage.until(0.8)
    assert end_of(waiting) == (TIMED_OUT, 0.8)
    assert stage.demands_on("walk") == [("rest", 0.0), ("rest", 0.5)]


@pytest.mark.requirement("RM-53")
def test_consent_of_a_holder_does_not_change_the_state(stage: LedgerSetup) -> None:
    token = stage.take("walk", "Stand", policy=StopOnDemand())
    waiting = stage.ask("rest", "Sit", timeout_s=1.0)
    assert waiting.outcome is None
    assert stage.may(token, "Stand") is None
    assert stage.ledger.active_state("State") == "Stand"


@pytest.mark.requirement("RM-53")
def test_request_to_leave_a_state_fails_if_a_holder_keeps_it(
    stage: LedgerSetup,
) -> None:
    stage.take("walk", "Stand")
    stage.take("look", "Stand", policy=StopOnDemand())
    assert not stage.ledger.ask_state("State", "Sit", stage.tick, by="posture")
    assert stage.holders("Stand") == ("walk", "look")
    assert stage.demands_on("walk") == [("posture", 0.0)]
    assert stage.ledger.active_state("State") == "Stand"


@pytest.mark.requirement("RM-53")
def test_state_is_left_when_all_holders_yield_at_once(stage: LedgerSetup) -> None:
    token = stage.take("look", "Stand", policy=StopOnDemand())
    waiting = stage.ask("rest", "Sit", timeout_s=5.0)
    stage.at(1.0)
    assert stage.ledger.ask_state("State", "Sit", stage.tick)
    assert end_of(waiting) == (GRANTED, 1.0)
    assert stage.may(token, "Stand") is Refusal.REVOKED
    (notice,) = stage.told("look", LOST)
    assert notice.why is LossCause.YIELDED


@pytest.mark.requirement("RM-53")
def test_request_to_leave_a_state_does_not_wait_for_a_promise(
    stage: LedgerSetup,
) -> None:
    soon = Diary(Answer(kind=AnswerKind.YIELD, after_s=0.2))
    stage.take("walk", "Stand", policy=CallbackOnDemand(soon))
    assert not stage.ledger.ask_state("State", "Sit", stage.tick)
    assert stage.holders("Stand") == ("walk",)


@pytest.mark.requirement("RM-53", "RM-54")
def test_fall_revokes_holders_of_the_state_without_asking(stage: LedgerSetup) -> None:
    token = stage.take("walk", "Stand", "Legs")
    stage.at(2.0)
    stage.ledger.set_state("State", "Back", stage.tick)
    assert stage.may(token, "LKneePitch") is Refusal.REVOKED
    (notice,) = stage.told("walk", LOST)
    assert notice.why is LossCause.STATE_LEFT
    assert notice.leaves == ("Stand",)
    assert "LKneePitch" in notice.freed


@pytest.mark.requirement("RM-54")
def test_motors_are_cut_only_after_the_robot_sits(stage: LedgerSetup) -> None:
    stage.take("walk", "Stand", "Legs")
    early = stage.ask("cut motors", "Sit", "Motors", timeout_s=3.0)
    stage.until(3.0)
    assert end_of(early) == (TIMED_OUT, 3.0)
    later = stage.ask("cut motors", "Sit", "Motors", timeout_s=9.0)
    stage.at(6.0)
    stage.ledger.set_state("State", "Sit", stage.tick)  # the walk has ended
    assert end_of(later) == (GRANTED, 6.0)
    stage.at(7.0)
    stage.ledger.set_state("State", "Stand", stage.tick)
    assert stage.may(later.token, "LKneePitch") is Refusal.REVOKED


@pytest.mark.requirement("RM-55")
def test_groups_of_states_are_independent(stage: LedgerSetup) -> None:
    stage.ledger.set_state("Camera", "camera1", stage.tick)
    token = stage.take("look", "camera1")
    waiting = stage.ask("rest", "camera2", timeout_s=9.0)
    stage.ledger.set_state("State", "Back", stage.tick)
    assert stage.may(token, "camera1") is None
    stage.ledger.set_state("Camera", "camera2", stage.tick)
    assert end_of(waiting) == (GRANTED, 0.0)
    stage.ledger.set_state("Camera", None, stage.tick)
    assert stage.held_by("rest") == ()


def test_unchanged_state_revokes_nothing(stage: LedgerSetup) -> None:
    token = stage.take("walk", "Stand")
    stage.ledger.set_state("State", "Stand", stage.tick)
    assert stage.may(token, "Stand") is None
    assert stage.told("walk", LOST) == []


@pytest.mark.requirement("RM-53", "RM-54")
def test_state_can_be_left_without_a_new_one(stage: LedgerSetup) -> None:
    """No state is active while the robot sits down, so motors are not cut early."""
    stage.take("walk", "Stand", policy=StopOnDemand())
    waiting = stage.ask("cut motors", "Sit", "Motors", timeout_s=9.0)
    assert stage.ledger.ask_state("State", None, stage.tick)
    assert stage.ledger.active_state("State") is None
    assert waiting.outcome is None
    stage.at(1.0)
    stage.ledger.set_state("State", "Sit", stage.tick)
    assert end_of(waiting) == (GRANTED, 1.0)


@pytest.mark.requirement("RM-21", "RM-53")
def test_holder_of_a_state_may_wait_for_another_state(stage: LedgerSetup) -> None:
    """The owner waits for the robot, not for itself: no deadlock."""
    stage.take("walk", "Stand")
    waiting = stage.ask("walk", "Sit", timeout_s=9.0)
    assert waiting.outcome is None
    stage.at(2.0)
    stage.ledger.set_state("State", "Sit", stage.tick)
    assert end_of(waiting) == (GRANTED, 2.0)
    assert stage.held_by("walk") == ("Sit",)


@pytest.fixture
def inside(stage: LedgerSetup) -> Token:
    """Return a child's token: state and arm are inside its parent's hold."""
    stage.owner("wave")
    stage.owner("hand", parent="wave", policy=PauseOnDemand())
    stage.take("wave", "Stand", "Arms", policy=StopOnDemand())
    return stage.take("hand", "Stand", "LHand")


@pytest.mark.requirement("RM-30", "RM-52", "AR-18")
def test_child_is_notified_that_the_state_was_left(
    stage: LedgerSetup, inside: Token
) -> None:
    stage.ledger.set_state("State", "Sit", stage.tick)
    (notice,) = stage.told("hand", LOST)
    assert (notice.why, notice.leaves) == (LossCause.STATE_LEFT, ("Stand",))
    assert notice.freed == ("LHand",)


@pytest.mark.requirement("RM-30", "RM-37", "RM-53")
def test_child_paused_by_a_state_change_resumes(
    stage: LedgerSetup, inside: Token
) -> None:
    assert stage.ledger.ask_state("State", "Sit", stage.tick)
    (notice,) = stage.told("hand", LOST)
    assert notice.why is LossCause.PAUSED
    stage.ledger.set_state("State", "Stand", stage.tick)
    assert stage.held_by("hand") == ("LHand", "Stand")
