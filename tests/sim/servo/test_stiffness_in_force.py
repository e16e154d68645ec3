"""Effective stiffness of the motors: reduced by heat and faults."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import Robot, UnknownName, default_robot_folder, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body.stiffness import EffectiveStiffness
from nao_testbed.sim.robot import SimulationCfg
from nao_testbed.sim.servo import ServoCfg
from nao_testbed.sim.thermal.protection import make_protection
from tests.sim.conftest import Simulate

NAO = load_robot(default_robot_folder())
N = len(NAO.joints)
COOL = np.full(len(NAO.motors), 30.0)
SHOULDER = "LShoulderPitch"
K = np.array([motor.one_node.torque_constant for motor in NAO.motors])
NO_LIMIT = np.full(N, np.inf)


def in_force(robot: Robot, protection: str, limit: FloatArray) -> EffectiveStiffness:
    """Return limits without one of current."""
    made = make_protection(protection, robot)
    of_motors = np.zeros(len(robot.motors))
    return EffectiveStiffness(robot, made, limit, of_motors, K, NO_LIMIT)


@given(st.lists(st.floats(0.0, 1.0), min_size=N, max_size=N))
@pytest.mark.requirement("ST-3")
def test_limit_is_that_fraction_of_the_effort_limit(
    values: list[float],
) -> None:
    limit = np.full(len(NAO.joints), np.nan)
    stiffness = in_force(NAO, "none", limit)
    stiffness.commanded[:] = values
    stiffness.put(COOL)
    assert_array_equal(limit, np.array(values) * NAO.effort_limit)


@pytest.mark.requirement("ST-4")
def test_a_hot_motor_reads_back_the_reduced_stiffness(nao: Robot) -> None:
    limit = np.zeros(len(nao.joints))
    stiffness = in_force(nao, "nao", limit)
    hot = COOL.copy()
    hot[nao.motor_names.index("LKneePitch")] = 99.0
    stiffness.put(hot)
    knee = nao.joint_index("LKneePitch")
    assert stiffness.in_force[knee] < stiffness.commanded[knee] == 1.0
    assert limit[knee] == stiffness.in_force[knee] * nao.effort_limit[knee]
    others = np.arange(len(limit)) != knee
    assert_array_equal(limit[others], nao.effort_limit[others])


def test_a_broken_motor_reads_back_as_commanded_and_gives_nothing(nao: Robot) -> None:
    limit = np.zeros(len(nao.joints))
    stiffness = in_force(nao, "none", limit)
    stiffness.set_health(["HeadYaw"], 0.0)
    stiffness.put(COOL)
    head = nao.joint_index("HeadYaw")
    assert stiffness.failed_motors == ("HeadYaw",)
    assert (stiffness.in_force[head], limit[head]) == (1.0, 0.0)
    stiffness.set_health(["HeadYaw"], 1.0)
    stiffness.put(COOL)
    assert_array_equal(limit, nao.effort_limit)


def test_a_motor_that_drives_two_joints_fails_for_both(nao: Robot) -> None:
    limit = np.zeros(len(nao.joints))
    stiffness = in_force(nao, "none", limit)
    stiffness.set_health(["LHipYawPitch"], 0.0)
    both = {nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")}
    assert set(np.flatnonzero(stiffness.health == 0.0)) == both
    with pytest.raises(UnknownName, match="Did you mean 'LShoulderPitch'"):
        stiffness.set_health(["HeadYaw", "LShoulderPich"], 0.0)
    assert stiffness.failed_motors == ("LHipYawPitch",)


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
    assert sim.read().q[joint] > 0.8  # the arm falls, hand down
    assert sim.failed_motors == (SHOULDER,)


@pytest.mark.requirement("RM-44")
def test_failure_is_not_observable(nao: Robot, simulate: Simulate) -> None:
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
    sim.write(Command(stiffness=np.ones(len(nao.joints))))  # it still has failed
    sim.step(200)
    hanging = sim.read().q[joint]
    sim.repair_motors([SHOULDER])
    sim.step(600)
    assert hanging > 0.8
    assert abs(sim.read().q[joint]) < 0.1
    assert sim.failed_motors == ()


def test_a_snapshot_holds_failed_motors(nao: Robot, simulate: Simulate) -> None:
    sim = simulate(nao, SimulationCfg(), "StandZero")
    sim.fail_motors([SHOULDER])
    kept = sim.snapshot()
    sim.repair_motors([SHOULDER])
    sim.restore(kept)
    assert sim.failed_motors == (SHOULDER,)
    sim.forget(kept)
