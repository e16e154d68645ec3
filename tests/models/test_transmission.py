"""Servos, motors and the matrix between them: `v = G ω`, `τ_m = Gᵀ τ`."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from nao_testbed.models import Robot, RobotDataError, load_robot
from nao_testbed.models.folders import find_robot_folder
from nao_testbed.models.load import copy_robot

G1 = load_robot("g1")
ANKLE = [G1.joint_index("left_ankle_pitch"), G1.joint_index("left_ankle_roll")]
PAIR = [G1.motor_index("left_ankle_a"), G1.motor_index("left_ankle_b")]
SMALL = st.floats(-100.0, 100.0, allow_subnormal=False)
of_joints = hnp.arrays(np.float64, len(G1.joints), elements=SMALL)


def test_pitch_7_and_roll_3_load_two_motors_with_5_and_2() -> None:
    """By hand: 0.5 · 7 ± 0.5 · 3; equal motors heat as the squares, 25 : 4."""
    tau = np.zeros(len(G1.joints))
    tau[ANKLE] = 7.0, 3.0
    assert_array_equal((G1.transmission @ tau)[PAIR], [5.0, 2.0])
    assert np.count_nonzero(G1.transmission @ tau) == 2
    assert_array_equal((G1.transmission @ tau)[PAIR] ** 2, [25.0, 4.0])


@given(tau=of_joints, v=of_joints)
def test_motors_do_the_work_of_their_joints(tau: np.ndarray, v: np.ndarray) -> None:
    omega = G1.inverse_transmission @ v
    assert_allclose(G1.transmission.T @ omega, v, atol=1e-9)
    assert_allclose((G1.transmission @ tau) @ omega, tau @ v, rtol=1e-9, atol=1e-6)
    assert_allclose(G1.servo_torques @ (G1.transmission @ tau), tau, atol=1e-9)


def test_a_nao_has_a_motor_for_each_servo(nao: Robot) -> None:
    hips = [nao.joint_index("LHipYawPitch"), nao.joint_index("RHipYawPitch")]
    motor = nao.motor_index("LHipYawPitch")
    expected = np.equal.outer(np.arange(25), nao.servo_of_joint).astype(float)
    assert_array_equal(nao.transmission, expected)
    assert_array_equal(nao.transmission[motor, hips], 1.0)
    assert_array_equal(nao.inverse_transmission[motor, hips], 0.5)
    assert_array_equal(nao.servo_torques, np.eye(25))
    assert nao.servo_names == nao.motor_names
    assert nao.heat_names == nao.joint_names
    assert not nao.is_parallel.any()
    assert nao.armature[hips[0]] == 0.5 * nao.motors[motor].armature


def test_parallel_motors_replace_their_joints_in_tables_of_heat() -> None:
    assert G1.servo_names == G1.joint_names
    assert [name for name in G1.heat_names if name not in G1.joint_names] == [
        *("left_ankle_b", "left_ankle_a", "right_ankle_b", "right_ankle_a"),
        *("waist_a", "waist_b"),
    ]
    assert set(G1.heat_names) == set(G1.motor_names)
    degc = np.zeros(len(G1.motors))
    degc[PAIR] = 40.0, 90.0
    assert_array_equal(np.flatnonzero(G1.largest_of_joint(degc) == 90.0), ANKLE)


def test_rotors_of_a_symmetric_differential_do_not_couple_its_joints() -> None:
    """G⁻ᵀ J N² G⁻¹ has 2 J N² on the diagonal, as published, and nothing beside it."""
    rotors = np.diag([motor.armature for motor in G1.motors])
    matrix = G1.inverse_transmission.T @ rotors @ G1.inverse_transmission
    assert_allclose(matrix, np.diag(G1.armature), atol=1e-15)
    assert_allclose(G1.armature[ANKLE], 2.0 * 16.0**2 * 1.41005e-5)


def test_friction_of_a_joint_that_moves_alone_is_that_of_its_table() -> None:
    share = np.abs(G1.inverse_transmission)
    friction = [joint.friction for joint in G1.joints]
    stiffness = [joint.presliding_stiffness for joint in G1.joints]
    assert_allclose(share.T @ G1.motor_friction, friction)
    assert_allclose((share**2).T @ G1.motor_presliding, stiffness)
    assert_allclose(G1.motor_friction[PAIR], 0.6)


def test_one_ampere_gives_a_joint_the_torque_of_both_motors() -> None:
    """K of each motor is 1.2 N·m/A; pitch alone gets 1.2 from both."""
    K = np.array([motor.one_node.torque_constant for motor in G1.motors])
    assert_allclose(G1.torque_per_current(K)[ANKLE], 2.4)
    assert_allclose(G1.motor_effort_limit[PAIR], 25.0)


def wrong(tmp_path: Path, old: str, new: str, file: str = "motors.csv") -> str:
    folder = copy_robot(find_robot_folder("g1"), tmp_path / "robot")
    text = (folder / file).read_text("utf-8")
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(RobotDataError) as caught:
        load_robot(folder)
    shutil.rmtree(folder)
    return str(caught.value)


ROW = "left_ankle_b,5020,16.0,5020,0.5 left_ankle_pitch -0.5 left_ankle_roll"


@pytest.mark.parametrize(
    ("new", "told"),
    [
        ("0.5 left_ankle_pich -0.5 left_ankle_roll", "Did you mean 'left_ankle_pitch'"),
        ("0.5 left_ankle_pitch 0.5 left_ankle_roll", "do not determine the joints"),
        ("0.5 left_ankle_pitch 0 left_ankle_roll", "give a ratio that is not 0"),
        ("0.5 left_ankle_pitch -nan left_ankle_roll", "give a ratio that is not 0"),
        ("0.5 left_ankle_pitch left_ankle_roll", "and a joint, in turn"),
        ("0.5 left_ankle_pitch 0.5 left_ankle_pitch", "each joint once"),
        ("0.5 left_ankle_pitch -0.5 left_knee", "'left_knee' has no motor of its own"),
        ("1 waist_roll", "drive joints waist_roll, waist_pitch; give as many motors"),
    ],
)
def test_invalid_ratios_are_rejected_with_their_line(
    tmp_path: Path, new: str, told: str
) -> None:
    text = wrong(tmp_path, ROW, ROW.replace(ROW.rsplit(",", maxsplit=1)[-1], new))
    assert "/motors.csv:" in text
    assert told in text


def test_a_parallel_motor_needs_a_unique_name(tmp_path: Path) -> None:
    text = wrong(tmp_path, "left_ankle_b,", "left_ankle_roll,")
    assert "/motors.csv:6: " in text
    assert "has the name of a joint" in text
