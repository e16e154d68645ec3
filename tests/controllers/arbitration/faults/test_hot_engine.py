"""`hotEngine` takes a hot motor, lowers its effort, and gives it back when cool."""

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
    """Return 30 °C for all motors but those named."""
    degc = np.full(len(robot.motors), 30.0)
    for name, value in hot.items():
        degc[robot.motor_names.index(name)] = value
    return degc


@pytest.fixture
def stage(nao: Robot) -> LedgerSetup:
    return LedgerSetup(nao.resources)


@pytest.mark.requirement("RM-43", "RM-40", "I-22")
def test_a_hot_motor_is_taken_from_a_holder_that_locks(
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
def test_the_energy_sent_to_a_hot_motor_is_lowered(
    nao: Robot, stage: LedgerSetup
) -> None:
    engine = HotEngine(stage.ledger, nao, HotEngineCfg(effort_cap=0.15))
    engine.step(temperatures(nao, LKneePitch=ONSET), 1)
    assert stage.ledger.effort_cap("LKneePitch") == 0.15
    assert stage.ledger.effort_cap("RKneePitch") == 1.0


@pytest.mark.requirement("RM-43")
def test_with_the_default_cap_every_motor_cools_whatever_it_has_to_hold(
    nao: Robot,
) -> None:
    """Steady state at the capped torque, from the one-node equation itself."""
    cfg = HotEngineCfg()
    for motor in nao.motors:
        heat = motor.one_node
        limit = sum(nao.effort_limit[nao.joint_index(name)] for name in motor.joints)
        torque = cfg.effort_cap * limit / len(motor.joints)
        power = heat.resistance * (torque / heat.torque_constant) ** 2
        assert heat.ambient_degc + power / heat.conductance < cfg.release_degc


@pytest.mark.requirement("RM-45")
def test_it_is_given_back_only_below_the_lower_threshold(
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
def test_between_the_thresholds_a_cool_motor_stays_free(
    nao: Robot, stage: LedgerSetup
) -> None:
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=ONSET - 0.1), 1)
    assert engine.hot == ()
    assert not any(isinstance(event, Frozen) for event in stage.events)


@pytest.mark.requirement("RM-46", "RM-43")
def test_in_part_the_holder_keeps_the_motor_and_its_effort_is_capped(
    nao: Robot, stage: LedgerSetup
) -> None:
    stage.owners("look around")
    token = stage.take("look around", "Head")
    engine = HotEngine(stage.ledger, nao, HotEngineCfg(is_total=False))
    engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    assert stage.may(token, "HeadYaw") is None
    assert stage.ledger.effort_cap("HeadYaw") == HotEngineCfg().effort_cap


@pytest.mark.requirement("RM-45")
def test_one_motor_cools_while_another_stays_hot(
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
def test_a_motor_that_drives_two_joints_is_one_leaf(
    nao: Robot, stage: LedgerSetup
) -> None:
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, LHipYawPitch=ONSET), 1)
    assert engine.hot == ("LHipYawPitch",)


@pytest.mark.requirement("RM-43", "RM-42")
def test_another_robot_is_watched_by_its_own_motors(two_leg: Robot) -> None:
    stage = LedgerSetup(two_leg.resources)
    engine = HotEngine(stage.ledger, two_leg)
    hottest = two_leg.motor_names[0]
    engine.step(temperatures(two_leg, **{hottest: 99.0}), 1)
    assert len(engine.hot) == 1
    assert stage.ledger.effort_cap(engine.hot[0]) == HotEngineCfg().effort_cap


@given(
    walk=st.lists(st.floats(min_value=60.0, max_value=90.0), min_size=1, max_size=30),
)
def test_the_trace_freezes_and_thaws_in_turn_as_the_thresholds_say(
    nao: Robot, walk: list[float]
) -> None:
    """A motor that wanders: what the hysteresis says, computed on its own."""
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
def test_a_failed_sensor_ends_the_protection_of_no_other_motor(
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
def test_a_motor_whose_sensor_fails_stays_hot_or_cool_for_a_while_and_then_is_hot(
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
    assert [*engine.hot] == ["LHand"]  # no word yet that it is cool
    engine.step(temperatures(nao, LHand=RELEASE - 0.1), 6)
    assert [*engine.hot] == []
    for tick in (7, 8, 9):  # the count begins anew
        engine.step(failed, tick)
    assert [*engine.hot] == []


@pytest.mark.requirement("RM-43", "RM-65")
def test_a_motor_that_is_no_resource_ends_the_protection_of_no_other(
    nao: Robot,
) -> None:
    stage = LedgerSetup(ResourceTree(nao.resources).without("HeadYaw").root)
    engine = HotEngine(stage.ledger, nao)
    engine.step(temperatures(nao, HeadYaw=95.0, LHand=95.0), 1)
    assert [*engine.hot] == ["LHand"]
    assert [*engine.out_of_reach] == ["HeadYaw"]
    with pytest.raises(BadInput, match="cannot be removed"):
        stage.ledger.remove_resource("RHand", 1)  # nor does one become none
    engine.step(temperatures(nao, RHand=95.0), 2)
    assert [*engine.hot, *engine.out_of_reach] == ["RHand"]


@pytest.mark.requirement("RM-43", "RM-65")
def test_what_the_ledger_did_not_take_is_told_again(
    nao: Robot, stage: LedgerSetup
) -> None:
    """A step at a tick that is over fails; the next one protects."""
    engine = HotEngine(stage.ledger, nao)
    stage.until(0.05)
    with pytest.raises(BadInput, match="a tick must not decrease"):
        engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    assert [*engine.hot] == []
    engine.step(temperatures(nao, HeadYaw=RELEASE), 6)  # still hot: not below it yet
    assert [*engine.hot] == ["HeadYaw"]
    assert stage.ledger.effort_cap("HeadYaw") == HotEngineCfg().effort_cap


@pytest.mark.requirement("RM-40", "RM-65")
def test_no_real_owner_takes_its_name(nao: Robot, stage: LedgerSetup) -> None:
    engine = HotEngine(stage.ledger, nao)
    with pytest.raises(BadInput, match="hotEngine"):
        stage.owners("hotEngine")
    engine.step(temperatures(nao, HeadYaw=ONSET), 1)
    assert [*engine.hot] == ["HeadYaw"]


def test_temperatures_of_another_robot_change_nothing(
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
        thresholds_that_would_chatter=each(
            HotEngineCfg,
            {"onset_degc": 70.0, "release_degc": 70.0},
            onset_degc=[np.nan],
            effort_cap=[1.1],
            failures_borne=[-1],
        )
    )
