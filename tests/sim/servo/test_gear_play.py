"""Gear play: free within the play, a one-sided spring at its ends."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nao_testbed.controllers import Command
from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.published import load_preset
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.servo import COUPLING_STIFFNESS, Servo, ServoCfg

DT = 1e-3
PLAY_DEG = 1.0
BETA = np.deg2rad(PLAY_DEG / 2.0)

errors = st.floats(-0.04, 0.04)  # rad


def servo_of(robot: Robot, friction: float = 0.0) -> Servo:
    cfg = ServoCfg(play_deg=PLAY_DEG, friction_scale=friction, encoder=False)
    return Servo(robot, cfg, DT, np.zeros(len(robot.joints)))


def at(robot: Robot, angle: float, speed: float = 0.0) -> tuple[FloatArray, FloatArray]:
    n = len(robot.joints)
    return np.full(n, angle), np.full(n, speed)


@given(error=errors)
def test_the_spring_acts_outside_the_play(two_leg: Robot, error: float) -> None:
    """τ = kp (|θ* - θ| - β) beyond ± β, 0 within."""
    servo = servo_of(two_leg)
    assert servo.step(*at(two_leg, -error))
    wanted = two_leg.joints[0].kp * max(abs(error) - BETA, 0.0) * np.sign(error)
    wanted = np.clip(wanted, -servo.limit[0], servo.limit[0])
    assert servo.motor_torque[0] == pytest.approx(wanted, abs=1e-12)
    assert servo.joint_torque[0] == pytest.approx(wanted, abs=1e-12)


@given(error=errors, speed=st.floats(-3.0, 3.0))
def test_motor_applies_no_torque_within_the_play(
    two_leg: Robot, error: float, speed: float
) -> None:
    servo = servo_of(two_leg, friction=1.0)
    for _ in range(3):
        assert servo.step(*at(two_leg, -error, speed))
    side = np.sign(error) if abs(error) >= BETA else 0.0
    assert side * servo.joint_torque[0] >= 0.0
    assert side * servo.motor_torque[0] >= 0.0
    if side == 0.0:
        assert servo.joint_torque[0] == servo.motor_torque[0] == 0.0


def test_gear_friction_does_not_act_within_the_play(two_leg: Robot) -> None:
    """A limp motor follows the joint: then friction acts everywhere."""
    for limit, felt in ((1.0, 0.0), (0.0, -two_leg.joints[0].friction)):
        servo = servo_of(two_leg, friction=1.0)
        servo.limit[:] = limit
        for _ in range(200):
            servo.step(*at(two_leg, 0.0, 1.0))
        assert servo.joint_torque[0] == pytest.approx(felt)


def test_coupled_joints_have_play(nao: Robot) -> None:
    left, right = nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")
    for apart, beyond in ((0.9 * BETA, 0.0), (1.5 * BETA, 0.5 * BETA)):
        servo, (q, v) = servo_of(nao), at(nao, 0.0)
        q[left], q[right] = 0.5 * apart, -0.5 * apart
        servo.step(q, v)
        wanted = COUPLING_STIFFNESS * beyond
        assert servo.joint_torque[left] == pytest.approx(-wanted, abs=1e-12)
        assert servo.joint_torque[right] == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("where", ["q", "target"])
def test_nan_input_is_reported(two_leg: Robot, where: str) -> None:
    servo, (q, v) = servo_of(two_leg), at(two_leg, 0.0)
    {"q": q, "target": servo.target}[where][3] = np.nan
    assert not servo.step(q, v)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pybullet", "mujoco"])
def test_play_halves_the_loss_of_misaligned_legs(
    nao: Robot, engine: EngineName
) -> None:
    """Gears with 1° of play absorb errors of about 1° in all leg joints."""
    pytest.importorskip(engine)
    power, joint_loss = {}, joule_loss(nao)
    for play in (0.0, PLAY_DEG):
        cfg = SimulationCfg(
            world=WorldCfg(engine=engine),
            servo=ServoCfg(play_deg=play),
            misalignment_deg=load_preset("document").misalignment_deg,
        )
        sim = SimulatedRobot(nao, cfg, "PoseInit")
        sim.write(Command(target=nao.posture("PoseInit").angles))
        sim.step(3000)
        power[play] = float(joint_loss @ sim.mean_square)
        assert not sim.has_fallen()
        sim.close()
    assert power[PLAY_DEG] < 0.5 * power[0.0]


def test_robot_setting_sets_the_servo_play() -> None:
    assert RobotSetting(gear_play_deg=0.5).simulation().servo.play_deg == 0.5
    assert RobotSetting().simulation().servo.play_deg == 0.0


def test_invalid_play_is_rejected() -> None:
    with pytest.raises(BadInput, match=r"play_deg = 9\.0"):
        ServoCfg(play_deg=9.0)
    with pytest.raises(BadInput, match="needs the servo 'torque'"):
        dataclasses.replace(ServoCfg(kind="pybullet"), play_deg=0.5)
