"""`hotEngine` freezes a hot motor, caps its effort, and thaws it when cool."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers.arbitration.events import Frozen, Revoked, Thawed
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    HotEngine,
    HotEngineCfg,
)
from nao_testbed.controllers.arbitration.policies import Lock
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import LossCause, Refusal
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from tests.controllers.arbitration.ledger_setup import (
    LedgerSetup,
    end_of,
    outcome_of,
    token_of,
)
from tests.messages import Messages, each

ONSET, RELEASE = 76.0, 70.0


def temperatures(robot: Robot, **hot: float) -> FloatArray:
    """Return 30 °C for all motors except those named."""
    degc = np.full(len(robot.motors), 30.0)
    for name, value in hot.items():
        degc[robot.motor_names.index(name)] = value
    return degc


@pytest.fixture
def stage(nao: Robot) -> LedgerSetup:
    return LedgerSetup(nao.resources)


@pytest.mark.requirement("RM-43", "RM-40", "I-22")
def test_hot_motor_is_revoked_from_a_locking_holder(
    nao: Robot, stage: LedgerSetup
) -> None:
    stage.owners("look around", policy=Lock())
    token = stage.take("look around", "Head")
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    assert stage.may(token, "HeadYaw") is Refusal.REVOKED
    (lost,) = (event for event in stage.events if isinstance(event, Revoked))
    assert (lost.lost, lost.freed) == (("HeadYaw",), ("HeadPitch",))
    assert (lost.why, lost.by) == (LossCause.FROZEN, "hotEngine")
    assert engine.hot == ("HeadYaw",)
    assert [hold.by for hold in stage.row("HeadYaw").virtual] == ["hotEngine"]


@pytest.mark.requirement("RM-43")
def test_effort_of_a_hot_motor_is_capped(nao: Robot, stage: LedgerSetup) -> None:
    engine = HotEngine(stage.ledger, nao, HotEngineCfg(effort_cap=0.15))
    engine.step(temperatures(nao, LKneePitch=ONSET), 1)
    assert stage.ledger.effort_cap("LKneePitch") == 0.15
    assert stage.ledger.effort_cap("RKneePitch") == 1.0


@pytest.mark.requirement("RM-43")
def test_default_cap_cools_every_motor_at_any_load(
    nao: Robot,
) -> None:
    """Steady state at the capped torque, by the one-node equation."""
    cfg = HotEngineCfg()
    for motor in nao.motors:
        heat = motor.one_node
        limit = sum(nao.effort_limit[nao.joint_index(name)] for name in motor.joints)
        torque = cfg.effort_cap * limit / len(motor.joints)
        power = heat.resistance * (torque / heat.torque_constant) ** 2
        assert heat.ambient_degc + power / heat.conductance < cfg.release_degc


@pytest.mark.requirement("RM-45")
def test_motor_is_thawed_only_below_the_release_threshold(
    nao: Robot, stage: LedgerSetup
) -> None:
    stage.owners("look around")
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=ONSET), 0)
    ticket = stage.ask("look around", "HeadYaw", timeout_s=60.0)
    for tick, degc in enumerate((ONSET - 0.1, RELEASE + 3.0, RELEASE), start=1):
        engine.step(temperatures(nao, HeadYaw=degc), tick)
        assert ticket.outcome is None
    engine.step(temperatures(nao, HeadYaw=RELEASE - 0.1), 4)
    assert outcome_of(ticket).tick == 4  # in the same tick (I-22)
    assert stage.may(token_of(ticket), "HeadYaw") is None
    assert stage.ledger.effort_cap("HeadYaw") == 1.0
    assert engine.hot == ()


@pytest.mark.requirement("RM-43")
def test_cool_motor_between_the_thresholds_stays_free(
    nao: Robot, stage: LedgerSetup
) -> None:
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=ONSET - 0.1), 1)
    assert engine.hot == ()
    assert not any(isinstance(event, Frozen) for event in stage.events)


@pytest.mark.requirement("RM-46", "RM-43")
def test_partial_freeze_keeps_the_holder_and_caps_effort(
    nao: Robot, stage: LedgerSetup
) -> None:
    stage.owners("look around")
    token = stage.take("look around", "Head")
    engine = HotEngine(stage.ledger, nao, HotEngineCfg(is_total=False))
    engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    assert stage.may(token, "HeadYaw") is None
    assert stage.ledger.effort_cap("HeadYaw") == HotEngineCfg().effort_cap


@pytest.mark.requirement("RM-45")
def test_one_motor_is_thawed_while_another_stays_hot(
    nao: Robot, stage: LedgerSetup
) -> None:
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=90.0, LHand=90.0), 1)
    engine.step(temperatures(nao, HeadYaw=40.0, LHand=90.0), 2)
    assert engine.hot == ("LHand",)
    stage.at(0.02)
    stage.owners("x")
    assert end_of(stage.ask("x", "LHand", timeout_s=0.0))[0] == "denied"
    assert outcome_of(stage.ask("x", "HeadYaw")).is_granted


@pytest.mark.requirement("RM-43")
def test_motor_of_two_joints_is_one_leaf(nao: Robot, stage: LedgerSetup) -> None:
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, LHipYawPitch=ONSET), 1)
    assert engine.hot == ("LHipYawPitch",)


@pytest.mark.requirement("RM-43", "RM-42")
def test_hot_engine_works_on_a_two_leg_robot(two_leg: Robot) -> None:
    stage = LedgerSetup(two_leg.resources)
    engine = HotEngine(stage.ledger, two_leg)
    hottest = two_leg.motor_names[0]
    engine.step(temperatures(two_leg, **{hottest: 99.0}), 1)
    assert len(engine.hot) == 1
    assert stage.ledger.effort_cap(engine.hot[0]) == HotEngineCfg().effort_cap


@given(
    walk=st.lists(st.floats(min_value=60.0, max_value=90.0), min_size=1, max_size=30),
)
def test_freezes_and_thaws_follow_the_thresholds(nao: Robot, walk: list[float]) -> None:
    """Random temperatures, compared with an independent hysteresis."""
    stage = LedgerSetup(nao.resources)
    engine = HotEngine(stage.ledger, nao)
    expected: list[tuple[type[Frozen | Thawed], int]] = []
    is_hot = False
    for tick, degc in enumerate(walk):
        engine.step(temperatures(nao, HeadYaw=degc), tick)
        if not is_hot and degc >= ONSET:
            is_hot = True
            expected.append((Frozen, tick))
        elif is_hot and degc < RELEASE:
            is_hot = False
            expected.append((Thawed, tick))
    changes = [e for e in stage.events if isinstance(e, Frozen | Thawed)]
    assert [(type(event), event.tick) for event in changes] == expected
    assert all(event.leaves == ("HeadYaw",) for event in changes)


@pytest.mark.requirement("RM-43", "RM-65")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_failed_sensor_does_not_disable_other_motors(
    nao: Robot, stage: LedgerSetup, bad: float
) -> None:
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, LHand=bad, HeadYaw=ONSET), 1)
    assert [*engine.hot] == ["HeadYaw"]
    engine.step(temperatures(nao, LHand=bad, RHand=bad, HeadPitch=ONSET), 2)
    assert [*engine.hot] == ["HeadPitch"]
    assert [*engine.failing] == ["LHand", "RHand"]
    assert engine.failed_readings == 3
    engine.step(temperatures(nao), 3)
    assert [*engine.failing] == []
    assert engine.failed_readings == 3


@pytest.mark.requirement("RM-43")
def test_motor_with_a_failed_sensor_counts_as_hot_after_a_while(
    nao: Robot, stage: LedgerSetup
) -> None:
    engine = HotEngine(stage.ledger, nao, HotEngineCfg(failures_borne=3))
    failed = temperatures(nao, LHand=np.nan, HeadYaw=np.nan)
    engine.step(temperatures(nao, HeadYaw=ONSET), 0)
    for tick in (1, 2, 3):
        engine.step(failed, tick)
        assert [*engine.hot] == ["HeadYaw"]
    engine.step(failed, 4)
    assert [*engine.hot] == ["HeadYaw", "LHand"]
    engine.step(temperatures(nao, LHand=RELEASE, HeadYaw=RELEASE - 0.1), 5)
    assert [*engine.hot] == ["LHand"]  # not below the release threshold yet
    engine.step(temperatures(nao, LHand=RELEASE - 0.1), 6)
    assert [*engine.hot] == []
    for tick in (7, 8, 9):  # the count restarts
        engine.step(failed, tick)
    assert [*engine.hot] == []


@pytest.mark.requirement("RM-43", "RM-65")
def test_motor_that_is_no_resource_does_not_disable_others(
    nao: Robot,
) -> None:
    stage = LedgerSetup(ResourceTree(nao.resources).without("HeadYaw").root)
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=95.0, LHand=95.0), 1)
    assert [*engine.hot] == ["LHand"]
    assert [*engine.out_of_reach] == ["HeadYaw"]
    with pytest.raises(BadInput, match="cannot be removed"):
        stage.ledger.remove_resource("RHand", 1)  # motors cannot be removed
    engine.step(temperatures(nao, RHand=95.0), 2)
    assert [*engine.hot, *engine.out_of_reach] == ["RHand"]


@pytest.mark.requirement("RM-43", "RM-65")
def test_update_rejected_by_the_ledger_is_repeated(
    nao: Robot, stage: LedgerSetup
) -> None:
    """A step at a past tick fails; the next one freezes the motor."""
    engine = HotEngine(stage.ledger, nao)
    stage.until(0.05)
    with pytest.raises(BadInput, match="a tick must not decrease"):
        engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    assert [*engine.hot] == []
    engine.step(temperatures(nao, HeadYaw=RELEASE), 6)  # hot until below it
    assert [*engine.hot] == ["HeadYaw"]
    assert stage.ledger.effort_cap("HeadYaw") == HotEngineCfg().effort_cap


@pytest.mark.requirement("RM-40", "RM-65")
def test_name_of_the_virtual_owner_is_reserved(nao: Robot, stage: LedgerSetup) -> None:
    engine = HotEngine(stage.ledger, nao)
    with pytest.raises(BadInput, match="hotEngine"):
        stage.owners("hotEngine")
    engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    assert [*engine.hot] == ["HeadYaw"]


def test_temperatures_of_wrong_size_change_nothing(
    nao: Robot, stage: LedgerSetup
) -> None:
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    before = stage.picture()
    with pytest.raises(BadInput, match=r"\(25,\)"):
        engine.step(np.full(3, 99.0), 2)
    assert stage.picture() == before


def test_messages(messages: Messages) -> None:
    messages(
        invalid_configuration=each(
            HotEngineCfg,
            {"onset_degc": 70.0, "release_degc": 70.0},
            onset_degc=[np.nan],
            effort_cap=[1.1],
            failures_borne=[-1],
        )
    )
