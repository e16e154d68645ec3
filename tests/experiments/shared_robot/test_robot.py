"""Robot body and reservations, coupled slot by slot."""

import dataclasses

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.events import Event, Executed
from nao_testbed.controllers.arbitration.faults.virtual_owners import (
    ENERGY_SAVING,
    energy_saving,
)
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.tokens import Refusal
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.experiments.shared_robot.robot_with_ledger import (
    RobotWithLedger,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.testing import check_trace
from tests.experiments.shared_robot.conftest import Couple, take
from tests.messages import Messages, each

pytestmark = pytest.mark.scenario

SHOULDER = "LShoulderPitch"


def failed(body: RobotWithLedger) -> list[str]:
    return list(body.sim.failed_motors)


@pytest.mark.requirement("RM-44", "RM-45")
def test_broken_arm_hangs_and_repaired_arm_lifts(
    couple: Couple, events: list[Event]
) -> None:
    body = couple(posture="StandZero")
    joint = body.sim.robot.joint_index(SHOULDER)
    token = take(body, "point ahead", "Left arm")
    assert body.gate.submit(token, SHOULDER, 0.0) is None
    body.run(0.2)
    body.break_parts(["Left arm"])
    refused = body.gate.submit(token, SHOULDER, 0.0)
    assert refused is not None
    assert refused.reason is Refusal.REVOKED
    body.run(1.0)
    assert body.sim.read().q[joint] > 0.8
    assert body.sim.read().stiffness[joint] == 0.0
    assert len(failed(body)) == 6

    body.repair_parts(["Left arm"])
    token = take(body, "point again", "Left arm")
    assert body.gate.submit(token, SHOULDER, 0.0) is None
    body.run(1.0)
    assert abs(body.sim.read().q[joint]) < 0.1
    assert failed(body) == []
    assert list(check_trace(events)) == []


@pytest.mark.requirement("RM-45")
def test_motor_stays_broken_while_any_fault_remains(couple: Couple) -> None:
    body = couple()
    body.break_parts([SHOULDER])
    body.break_parts(["Left arm"])
    body.repair_parts(["Left arm"])
    assert failed(body) == [SHOULDER]


@pytest.mark.requirement("RM-41")
def test_robot_without_legs_starts_with_them_frozen(couple: Couple) -> None:
    body = couple("T14")
    rows = {row.name: row for row in take_snapshot(body.ledger).resources}
    legs = body.ledger.tree.exclusive_leaves("Legs")
    assert len(legs) == 11
    assert {hold.by for leg in legs for hold in rows[leg].virtual} == {"RobotModel"}
    assert not rows["HeadYaw"].virtual
    token = take(body, "look", "HeadYaw")
    assert body.gate.submit(token, "HeadYaw", 0.3) is None
    body.run(1.0)
    joint = body.sim.robot.joint_index("HeadYaw")
    assert abs(body.sim.read().q[joint] - 0.3) < 0.03
    assert not body.sim.has_fallen()
    assert body.state is None


@pytest.mark.requirement("RM-43")
def test_hot_joint_is_revoked_before_behaviours_act(
    couple: Couple, events: list[Event]
) -> None:
    """Revoked and refused in the same slot: no command reaches the motor."""
    body = couple()
    token = take(body, "look around", "HeadYaw")
    motor = body.sim.robot.motor_names.index("HeadYaw")
    reasons = []

    def look(tick: int, seen: Observation) -> None:
        del tick, seen
        rejected = body.gate.submit(token, "HeadYaw", 0.1)
        reasons.append(rejected.reason if rejected else None)

    body.behaviours.add("look around", look)
    degc = body.sim.heating.temperature
    degc[motor] = 80.0
    body.sim.heating.reset(degc)
    body.run(1.01)
    assert reasons == [None] * 100 + [Refusal.REVOKED]
    assert len([e for e in events if isinstance(e, Executed)]) == 100


@pytest.mark.requirement("RM-43", "RM-65")
@pytest.mark.parametrize("posture", ["StandInit", "Crouch"])
def test_robot_with_hot_legs_keeps_standing(couple: Couple, posture: str) -> None:
    """The capped effort of both legs suffices, and set-points are unchanged."""
    body = couple(posture=posture)
    robot = body.sim.robot
    hot = [name for name in robot.motor_names if name in robot.groups["Legs"]]
    degc = body.sim.heating.temperature
    degc[[robot.motor_names.index(name) for name in hot]] = 80.0
    body.sim.heating.reset(degc)
    body.run(2.0)
    assert set(body.hot_engine.hot) == set(hot)
    joints = [robot.joint_index(name) for name in hot]
    seen = body.sim.read()
    assert seen.stiffness[joints].max() == body.hot_engine.cfg.effort_cap
    assert not body.sim.has_fallen()
    sag = np.abs(seen.q - robot.posture(posture).angles)[joints]
    assert np.rad2deg(sag.max()) < 1.0


def test_each_slot_is_decided_once(couple: Couple) -> None:
    body = couple()
    ticks: list[int] = []
    take(body, "count", "TTS")
    body.behaviours.add("count", lambda tick, seen: ticks.append(tick))
    none = np.zeros(len(body.sim.robot.motors))
    body.run(0.05)
    body.pass_heat(none, 3.0, lambda: len(ticks) > 101)
    body.run(0.02)
    assert ticks == [*range(100), 100, 200, 201]


@pytest.mark.requirement("RM-65")
def test_owner_cannot_use_the_name_of_a_fault(couple: Couple) -> None:
    body = couple("T14")
    for name in ("hotEngine", "brokenArm", "RobotModel"):
        with pytest.raises(BadInput, match=name):
            take(body, name, SHOULDER)


def test_no_trace_is_kept_by_default(nao: Robot) -> None:
    body = RobotWithLedger(nao)
    try:
        assert body.ledger.listeners == []
    finally:
        body.close()


@pytest.mark.requirement("RM-46")
def test_degraded_mode_limits_joint_stiffness(couple: Couple) -> None:
    """An owner that commands stiffness 1 gets 0.2 and keeps its token."""
    body = couple()
    token = take(body, "wave", "Left arm", "Stiffness")
    full = np.ones(len(body.sim.robot.joints))
    body.behaviours.add("wave", lambda *_: body.gate.submit_stiffness(token, full))
    joint = body.sim.robot.joint_index(SHOULDER)

    def stiffness() -> float:
        body.run(0.05)
        return float(body.sim.read().stiffness[joint])

    before = stiffness()
    body.modes.enter(energy_saving(body.sim.robot), body.tick)
    within = stiffness()
    body.modes.leave(ENERGY_SAVING, body.tick)
    assert (before, within, stiffness()) == (1.0, 0.2, 1.0)
    assert body.ledger.authorise(token, SHOULDER) is None


def test_robot_without_states_has_no_posture_monitor(
    couple: Couple, two_leg: Robot
) -> None:
    """Another humanoid with resources from its joints and a single posture."""
    alone = {"Straight": two_leg.postures["Straight"]}
    body = couple(dataclasses.replace(two_leg, postures=alone))
    body.run(0.1)
    np.testing.assert_allclose(body.sim.truth().q, 0.0, atol=0.01)
    assert (body.posture, body.state) == (None, None)
    assert body.time_s == pytest.approx(0.1)


def test_messages(messages: Messages, couple: Couple) -> None:
    messages(
        periods_not_of_whole_slots=each(
            couple, posture_period_s=[0.015], heat_period_s=[0.0]
        )
    )
