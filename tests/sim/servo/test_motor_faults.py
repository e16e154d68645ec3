"""A motor that fails gives nothing, and the robot does not notice."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from controllers.interface.robot_interface import Command
from models import Robot, UnknownName
from sim.robot import SimulationCfg
from sim.servo import MotorFaults, ServoCfg
from tests.sim.conftest import Simulate

SHOULDER = "LShoulderPitch"


@pytest.mark.requirement("RM-44")
@pytest.mark.parametrize("kind", ["torque", "pybullet"])
def test_a_failed_shoulder_lets_the_arm_hang(
    nao: Robot, simulate: Simulate, kind: str
) -> None:
    sim = simulate(nao, SimulationCfg(servo=ServoCfg(kind=kind)), "StandZero")
    joint = nao.joint_index(SHOULDER)
    motor = nao.motor_names.index(SHOULDER)
    sim.step(200)
    assert abs(sim.read().q[joint]) < 0.05  # straight ahead
    sim.fail_motors([SHOULDER])
    sim.step(600)
    assert sim.motor_torque[motor] == 0.0
    assert sim.read().q[joint] > 0.8  # it falls, the hand down
    assert sim.failed_motors == (SHOULDER,)


@pytest.mark.requirement("RM-44")
def test_the_robot_does_not_notice(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, SimulationCfg(), "StandZero")
    before = sim.read()
    sim.fail_motors([SHOULDER])
    after = sim.read()
    assert_array_equal(after.stiffness, before.stiffness)
    assert_array_equal(after.target, before.target)


@pytest.mark.requirement("RM-45")
def test_a_repaired_shoulder_lifts_the_arm_again(
    nao: Robot, simulate: Simulate
) -> None:
    sim = simulate(nao, SimulationCfg(), "StandZero")
    joint = nao.joint_index(SHOULDER)
    sim.fail_motors([SHOULDER])
    sim.step(400)
    sim.write(Command(stiffness=np.ones(len(nao.joints))))  # it stays broken
    sim.step(200)
    hanging = sim.read().q[joint]
    sim.repair_motors([SHOULDER])
    sim.step(600)
    assert hanging > 0.8
    assert abs(sim.read().q[joint]) < 0.1
    assert sim.failed_motors == ()


def test_a_kept_state_knows_what_was_broken(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, SimulationCfg(), "StandZero")
    sim.fail_motors([SHOULDER])
    kept = sim.snapshot()
    sim.repair_motors([SHOULDER])
    sim.restore(kept)
    assert sim.failed_motors == (SHOULDER,)
    sim.forget(kept)


def test_a_motor_that_drives_two_joints_fails_for_both(nao: Robot) -> None:
    faults = MotorFaults(nao)
    faults.fail(["LHipYawPitch"])
    both = [nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")]
    assert set(np.flatnonzero(faults.health == 0.0)) == set(both)


def test_an_unknown_motor_breaks_nothing(nao: Robot) -> None:
    faults = MotorFaults(nao)
    with pytest.raises(UnknownName, match="Did you mean 'LShoulderPitch'"):
        faults.fail(["HeadYaw", "LShoulderPich"])
    assert faults.failed == ()
