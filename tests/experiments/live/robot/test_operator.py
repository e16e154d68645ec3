"""The operator as an owner: takes, waits, commands through the gate, releases."""

import numpy as np
import pytest

from nao_testbed.controllers.arbitration.requests import Owner, Request
from nao_testbed.experiments.live.robot.live_robot import LiveRobot
from nao_testbed.experiments.live.robot.operation import (
    Action,
    BreakPart,
    GiveBack,
    GoTo,
    Light,
    MoveJoint,
    Play,
    PushNow,
    Say,
    SetDown,
    Take,
    TiltGround,
    Touch,
    TurnHead,
)
from nao_testbed.experiments.live.robot.operator import SPEED, groups_of
from nao_testbed.models import Robot
from tests.experiments.live.robot.test_live_robot import MakeLive, make_live, run  # noqa: F401

COMMANDS: tuple[Action, ...] = (
    TurnHead(yaw_deg=10.0, pitch_deg=0.0),
    MoveJoint(joint="LShoulderPitch", angle_deg=10.0),
    GoTo(posture="Crouch"),
    Play(motion="nod"),
    Light(leds="Left eye", colour="#ff0000"),
    Say(text="hello"),
)


@pytest.fixture
def live(make_live: MakeLive) -> LiveRobot:  # noqa: F811
    one = make_live()
    run(one, 4)
    return one


def said(live: LiveRobot) -> str:
    return live.moment().said[-1]


def test_groups_are_limbs_all_motors_lights_and_speech(nao: Robot) -> None:
    assert groups_of(nao) == (
        *("Head", "Left arm", "Right arm", "Legs", "All motors", "Leds", "TTS"),
    )


@pytest.mark.requirement("JD-23")
def test_commands_without_a_token_are_refused(live: LiveRobot) -> None:
    """Before the operator takes the resource, and after it releases it."""
    sim = live.body.sim
    before = sim.read().target.copy(), sim.leds.means().copy()
    take = Take(resource="All motors", priority=9)
    for has_had in (False, True):
        if has_had:
            live.act(take)
            live.act(GiveBack(resource="All motors"))
        for command in COMMANDS:
            live.act(command)
            assert "NO_TOKEN" in said(live)
        run(live, 10)
        way = sim.read().target
        assert abs(way[:2]).max() < 1e-6
        assert abs(way - before[0]).max() < 0.05
        np.testing.assert_array_equal(sim.leds.means(), before[1])
        assert not sim.speaker.utterances


def test_commands_for_revoked_resources_are_refused(
    live: LiveRobot,
) -> None:
    live.act(Take(resource="Head"))
    live.act(TurnHead(yaw_deg=60.0, pitch_deg=0.0))
    ledger = live.body.ledger
    ledger.add_owner(Owner(name="thief", priority=9), ledger.tick)
    ledger.request(Request(owner="thief", resources=("Head",)), ledger.tick)
    run(live, 3)
    assert "the gate refused" in said(live)
    assert "REVOKED" in said(live)
    stands = live.body.sim.read().target[0]
    run(live, 10)
    assert live.body.sim.read().target[0] == stands
    live.act(TurnHead(yaw_deg=60.0, pitch_deg=0.0))
    assert "REVOKED; held by thief" in said(live)


def test_joint_moves_at_its_speed_and_stays(live: LiveRobot) -> None:
    live.act(Take(resource="Left arm"))
    arm = live.body.sim.robot.joint_index("LShoulderPitch")
    begin = live.body.sim.read().target[arm]
    live.act(
        MoveJoint(joint="LShoulderPitch", angle_deg=float(np.rad2deg(begin)) - 20.0)
    )
    run(live, 10)
    moved = begin - live.body.sim.read().target[arm]
    assert moved == pytest.approx(10 * 0.01 * SPEED)
    run(live, 40)
    assert begin - live.body.sim.read().target[arm] == pytest.approx(np.deg2rad(20.0))
    live.act(MoveJoint(joint="LShoulderPitch", angle_deg=170.0))
    assert "accepted: " in said(live)
    live.act(MoveJoint(joint="HeadYaw", angle_deg=5.0))
    assert "NO_TOKEN" in said(live)


def test_operator_waits_for_the_holder_and_is_notified(live: LiveRobot) -> None:
    ledger = live.body.ledger
    ledger.add_owner(Owner(name="dance", priority=8), ledger.tick)
    ticket = ledger.request(Request(owner="dance", resources=("Head",)), ledger.tick)
    live.act(Take(resource="Head", timeout_s=2.0))
    assert "waiting up to 2 s for Head; held by: dance (priority 8" in said(live)
    head = next(g for g in live.moment().groups if g.name == "Head")
    assert head.wait_left_s == pytest.approx(2.0)
    assert not head.is_mine
    run(live, 10)
    ledger.release(ticket.token, ledger.tick)
    run(live, 2)
    assert "Head taken" in said(live)
    assert next(g for g in live.moment().groups if g.name == "Head").is_mine
    live.act(GiveBack(resource="Head"))
    live.act(Take(resource="Legs", priority=0, timeout_s=0.1))
    run(live, 15)
    assert "timeout (blocked by: " in said(live)
    assert "posture" in said(live)


def test_one_token_moves_the_body_and_uses_lights_and_speech(live: LiveRobot) -> None:
    for name in ("All motors", "Leds", "TTS"):
        live.act(Take(resource=name))
        assert f"{name} taken" in said(live)
    assert len(live.operator._tokens) == 3
    live.act(Light(leds="Leds", colour="#ffffff"))
    live.act(Say(text="hello <b>"))
    live.act(Play(motion="nod"))
    for _ in range(600):
        live.slot()
        if "'nod' done" in " ".join(live.moment().said):
            break
    told = " ".join(live.moment().said)
    for what in ("'nod' done", "'Leds #ffffff' done", "'hello <b>' done"):
        assert what in told
    assert live.body.sim.leds.means().min() == pytest.approx(1.0)
    assert [one.label for one in live.body.sim.speaker.utterances] == ["hello <b>"]
    live.act(GoTo(posture="Sitt"))
    assert "Sit" in said(live)


def test_motor_can_be_broken_and_the_ground_tilted(live: LiveRobot) -> None:
    live.act(BreakPart(part="LElbowRoll"))
    assert list(live.body.sim.failed_motors) == ["LElbowRoll"]
    live.act(Take(resource="Left arm", priority=9))
    assert "frozen (blocked by: LElbowRoll: brokenArm;" in said(live)
    live.act(BreakPart(part="LElbowRoll", is_broken=False))
    assert not live.body.sim.failed_motors
    live.act(TiltGround(slope_deg=1.0))
    run(live, 60)
    assert live.body.sim.engine.cfg.slope_deg == pytest.approx(1.0)


def test_fallen_robot_is_set_down_as_at_the_start(live: LiveRobot) -> None:
    live.act(PushNow(direction_deg=0.0, force_n=60.0, duration_s=0.5))
    run(live, 200)
    sim = live.body.sim
    assert sim.has_fallen()
    live.act(SetDown())
    assert "picked up and set down" in said(live)
    run(live, 200)
    assert not sim.has_fallen()


def test_touch_lasts_for_its_duration(live: LiveRobot) -> None:
    live.act(Touch(sensor="ChestBoard/Button", duration_s=0.1))
    assert "ChestBoard/Button is touched for 0.1 s" in said(live)
    run(live, 5)
    assert set(live.setup.disturbance.touches) == {"ChestBoard/Button"}
    run(live, 10)
    assert not live.setup.disturbance.touches
    live.act(Touch(sensor="Nose"))
    assert "Touch sensor 'Nose'" in said(live)


def test_released_arm_returns_slowly_to_its_posture(live: LiveRobot) -> None:
    live.act(Take(resource="Right arm"))
    arm = live.body.sim.robot.joint_index("RShoulderPitch")
    stands = live.body.sim.read().target[arm]
    live.act(MoveJoint(joint="RShoulderPitch", angle_deg=20.0))
    run(live, 100)
    live.act(GiveBack(resource="Right arm"))
    away = live.body.sim.read().target[arm]
    run(live, 12)
    here = live.body.sim.read().target[arm]
    assert 0.0 < abs(here - away) <= 12 * 0.01 * SPEED + 1e-9
    run(live, 160)
    assert abs(live.body.sim.read().target[arm] - stands) < 0.2
    holders = {g.name: g.holders for g in live.moment().groups}
    assert holders["All motors"] == ("posture",)
