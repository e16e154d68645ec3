"""Velocity set-points: a moving joint does not lag by kd ω / kp."""

import numpy as np
import pytest

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg
from nao_testbed.sim.sensors import SensorCfg
from nao_testbed.sim.servo import ServoCfg
from tests.sim.conftest import Simulate

JOINT = "HeadYaw"
QUIET = SensorCfg(noise=False, resolution=False)
SPEED = 1.0  # rad/s
pytestmark = pytest.mark.requirement("ST-29")


def lag(nao: Robot, sim: SimulatedRobot, velocity: float | None) -> float:
    """Turn the head at `SPEED` for 0.6 s; return its lag in rad.

    The lag is the mean of the last 0.2 s.
    """
    joint = nao.joint_index(JOINT)
    target = nao.posture("Stand").angles.copy()
    given = None
    if velocity is not None:
        given = np.zeros(len(target))
        given[joint] = velocity
    start, behind = target[joint], []
    for k in range(600):
        target[joint] = start + SPEED * 1e-3 * k
        sim.write(Command(target=target, velocity=given))
        sim.step(1)
        behind.append(target[joint] + SPEED * 1e-3 - sim.truth().q[joint])
    return float(np.mean(behind[400:]))


def test_velocity_set_point_removes_the_damping_lag_only(
    nao: Robot, simulate: Simulate
) -> None:
    cfg = SimulationCfg(sensors=QUIET, servo=ServoCfg(encoder=False))
    data = nao.joints[nao.joint_index(JOINT)]
    without = lag(nao, simulate(nao, cfg, "Stand"), None)
    none_at_all = lag(nao, simulate(nao, cfg, "Stand"), 0.0)
    given = lag(nao, simulate(nao, cfg, "Stand"), SPEED)
    assert none_at_all == without
    damping = data.kd * SPEED / data.kp
    assert damping > 5e-3, "too little damping lag"
    assert without - given == pytest.approx(damping, rel=0.02)
    assert given == pytest.approx(data.friction / data.kp, rel=0.02)


@pytest.mark.slow
def test_velocity_set_point_works_on_engine_motors(
    nao: Robot, simulate: Simulate
) -> None:
    cfg = SimulationCfg(sensors=QUIET, servo=ServoCfg(kind="pybullet"))
    without = lag(nao, simulate(nao, cfg, "Stand"), None)
    given = lag(nao, simulate(nao, cfg, "Stand"), SPEED)
    assert abs(given) < 0.5 * abs(without)


def test_target_alone_stops_it_and_snapshot_restores_it(
    nao: Robot, simulate: Simulate
) -> None:
    sim = simulate(nao, SimulationCfg(sensors=QUIET), "Stand")
    target = nao.posture("Stand").angles
    velocity = np.zeros(len(target))
    velocity[nao.joint_index(JOINT)] = SPEED
    sim.write(Command(target=target, velocity=velocity))
    kept = sim.snapshot()
    sim.step(200)
    moved = sim.truth().q
    sim.restore(kept)
    sim.write(Command(stiffness=np.ones(len(target))))
    sim.step(200)
    assert np.array_equal(sim.truth().q, moved), "stiffness keeps velocity"
    sim.restore(kept)
    sim.write(Command(target=target))
    sim.step(200)
    joint = nao.joint_index(JOINT)
    assert abs(sim.truth().q[joint] - target[joint]) < 0.2 * abs(
        moved[joint] - target[joint]
    )
    sim.forget(kept)


def test_joints_on_one_motor_follow_the_leader(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, SimulationCfg(sensors=QUIET), "Stand")
    target = nao.posture("Stand").angles
    velocity = np.zeros(len(target))
    pair = [nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")]
    velocity[pair] = (0.5, -0.5)
    sim.write(Command(target=target, velocity=velocity))
    assert sim._servo.velocity[pair].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("value", [np.nan, 9.0, -9.0])
def test_an_invalid_velocity_is_rejected(
    nao: Robot, simulate: Simulate, value: float
) -> None:
    sim = simulate(nao, SimulationCfg(sensors=QUIET), "Stand")
    target = nao.posture("Stand").angles
    velocity = np.zeros(len(target))
    velocity[nao.joint_index(JOINT)] = value
    with pytest.raises(BadInput, match="velocity of HeadYaw is"):
        sim.write(Command(target=target, velocity=velocity))
    with pytest.raises(BadInput, match="`target` beside `velocity`"):
        sim.write(Command(velocity=np.zeros(len(target))))
