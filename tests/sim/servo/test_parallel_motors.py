"""Parallel motors against a separate numpy implementation."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.controllers.interface.robot_interface import Command
from nao_testbed.models import Robot, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.robot import SimulationCfg
from nao_testbed.sim.servo import Servo, ServoCfg, servo_torques
from nao_testbed.sim.thermal.protection import make_protection
from tests.sim.conftest import Simulate

DT = 1e-3  # s
G1 = load_robot("g1")
ANKLE = [G1.joint_index("left_ankle_pitch"), G1.joint_index("left_ankle_roll")]
PAIR = [G1.motor_index("left_ankle_a"), G1.motor_index("left_ankle_b")]
seeds = st.integers(0, 2**32 - 1)


def skewed() -> Robot:
    """Return a G1 whose left ankle has different motors and unequal ratios."""
    a, b = (G1.motors[m] for m in PAIR)
    motors = list(G1.motors)
    motors[PAIR[0]] = replace(a, ratios=(0.7, 0.4), stall_torque=0.4)
    motors[PAIR[1]] = replace(b, ratios=(0.3, -0.6), rotor_inertia=5e-5)
    return replace(G1, motors=tuple(motors))


SKEWED = skewed()
ROBOTS = st.sampled_from(["g1", "skewed"])


def state(robot: Robot, seed: int) -> tuple[Servo, FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    n = len(robot.joints)
    servo = Servo(robot, ServoCfg(), DT, rng.uniform(-0.1, 0.1, n))
    servo.target[:] = rng.uniform(robot.lower, robot.upper)
    servo.limit[:] = rng.uniform(0.0, 1.0, n) * robot.effort_limit
    servo.parallel.limit[:] = rng.uniform(0.0, 30.0, n)
    servo.presliding[:] = rng.uniform(-1e-3, 1e-3, n)
    q = servo.target + rng.uniform(-1.0, 1.0, n) * rng.choice([1e-4, 1.0], n)
    v = rng.uniform(-1.0, 1.0, n) * rng.choice([0.1, 40.0], n)
    return servo, q, v


@given(which=ROBOTS, seed=seeds)
def test_the_kernel_agrees_with_the_equations(which: str, seed: int) -> None:
    """τ asked by joint, clipped by motor; friction by motor; both ankles and waist."""
    robot = {"g1": G1, "skewed": SKEWED}[which]
    servo, q, v = state(robot, seed)
    before = servo.presliding.copy()
    assert servo.step(q, v)
    for pair in ("left_ankle", "right_ankle", "waist"):
        joints = [robot.joint_index(f"{pair}_{one}") for one in ("pitch", "roll")]
        motors = [robot.motor_index(f"{pair}_{one}") for one in "ab"]
        rows = [robot.joints[j] for j in joints]
        theta = (q - servo.misalignment)[joints]
        step = np.array([row.servo_step for row in rows])
        theta = np.rint(theta / step) * step
        kp, kd = np.array([(row.kp, row.kd) for row in rows]).T
        asked = kp * (servo.target[joints] - theta) - kd * v[joints]
        asked = np.clip(asked, -servo.limit[joints], servo.limit[joints])
        G = np.array([robot.motors[m].ratios for m in motors]).T  # joints x motors
        omega = np.linalg.solve(G, v[joints])
        given = G.T @ asked
        stuck = np.zeros(2)
        for i, m in enumerate(motors):
            motor = robot.motors[m]
            stall = motor.stall_torque * motor.gear_ratio
            fall = stall / (motor.no_load_speed / motor.gear_ratio) * omega[i]
            given[i] = np.clip(given[i], -stall - fall, stall - fall)
            most = np.abs(G[:, i]) @ servo.limit[joints]
            most = min(most, servo.parallel.limit[m])
            given[i] = np.clip(given[i], -most, most)
            k, friction = robot.motor_presliding[m], robot.motor_friction[m]
            place = robot.joint_index(robot.servo_names[m])
            z = np.clip(before[place] + omega[i] * DT, -friction / k, friction / k)
            stuck[i] = k * z
        assert_allclose(servo.motor_torque[motors], given, atol=1e-9)
        torque = np.linalg.solve(G.T, given - stuck)
        assert_allclose(servo.joint_torque[joints], torque, atol=1e-9)
        assert_allclose(servo.square_sum[motors], given**2, rtol=1e-12, atol=1e-12)


@given(which=ROBOTS, seed=seeds)
def test_compiled_kernel_matches_python(which: str, seed: int) -> None:
    robot = {"g1": G1, "skewed": SKEWED}[which]
    compiled, q, v = state(robot, seed)
    written, _, _ = state(robot, seed)
    kernel: Callable[..., bool] = cast(Any, servo_torques).py_func
    compiled.step(q, v)
    assert kernel(q, v, *written.arguments)
    assert_allclose(compiled.joint_torque, written.joint_torque, rtol=1e-13)


@pytest.mark.parametrize("field", ["q", "v"])
def test_nan_input_is_reported(field: str) -> None:
    servo, q, v = state(G1, 0)
    {"q": q, "v": v}[field][ANKLE[1]] = np.nan
    assert not servo.step(q, v)


def test_limp_joints_of_parallel_motors_get_friction_only() -> None:
    servo, q, v = state(G1, 1)
    servo.limit[ANKLE] = 0.0
    servo.step(q, v)
    assert_array_equal(servo.motor_torque[PAIR], 0.0)
    stuck = G1.motor_presliding[PAIR] * servo.presliding[ANKLE[::-1]]
    assert_allclose(servo.joint_torque[ANKLE], [-stuck.sum(), -stuck[0] + stuck[1]])


def test_play_of_a_joint_leaves_it_without_torque() -> None:
    n = len(G1.joints)
    servo = Servo(G1, ServoCfg(play_deg=2.0), DT, np.zeros(n))
    q = np.zeros(n)
    q[ANKLE] = np.deg2rad([0.5, 3.0])
    servo.step(q, np.zeros(n))
    assert servo.joint_torque[ANKLE[0]] == 0.0
    assert servo.joint_torque[ANKLE[1]] < -1.0


def test_the_other_motor_drives_both_joints_after_a_failure(simulate: Simulate) -> None:
    sim = simulate(G1, SimulationCfg(), "bent")
    sim.fail_motors(["left_ankle_a"])
    sim.step(20)
    a, b = sim.motor_torque[PAIR]
    assert (a, b != 0.0) == (0.0, True)
    assert sim.failed_motors == ("left_ankle_a",)
    stuck = G1.motor_presliding[PAIR] * sim._servo.presliding[ANKLE[::-1]]
    pitch, roll = sim.joint_torque[ANKLE] + [stuck.sum(), stuck[0] - stuck[1]]
    assert_allclose([pitch, roll], [b, -b], atol=1e-9)
    sim.repair_motors(["left_ankle_a"])
    sim.step(20)
    assert sim.motor_torque[PAIR[0]] != 0.0


def test_a_current_limit_applies_to_each_motor(simulate: Simulate) -> None:
    """The minimum of its joints' limits times K = 1.2 N·m/A."""
    sim = simulate(G1, SimulationCfg(), "bent")
    assert not sim.limits_current
    amps = np.full(len(G1.joints), np.inf)
    amps[ANKLE[1]] = 0.5
    sim.write(Command(current_limit=amps))
    assert sim.current_limit[ANKLE[1]] == 0.5
    pushed = G1.posture("bent").angles.copy()
    pushed[ANKLE[0]] -= 0.2
    sim.write(Command(target=pushed))
    sim.step(100)
    assert_allclose(np.abs(sim.motor_torque[PAIR]), 0.6, atol=1e-9)


def test_the_hottest_motor_protects_all_its_joints() -> None:
    degc = np.full(len(G1.motors), 30.0)
    degc[PAIR[1]] = 85.0
    left = make_protection("nao", G1).apply(np.ones(len(G1.joints)), degc)
    assert_array_equal(np.flatnonzero(left < 1.0), ANKLE)
