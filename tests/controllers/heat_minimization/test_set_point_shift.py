"""Set-point shift: follows the wanted torques slowly, within bounds, and back."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from nao_testbed.controllers.heat_minimization.leg_relief import (
    TemperatureWeightsCfg,
    temperature_weights,
)
from nao_testbed.controllers.heat_minimization.set_point_shift import (
    SetPointShift,
    SetPointShiftCfg,
)
from nao_testbed.models import load_robot

NAO = load_robot()
CFG = SetPointShiftCfg()
NO_GEAR = SetPointShiftCfg(gear_share=0.0)
M = len(NAO.motors)
torques = st.lists(st.floats(-20.0, 20.0), min_size=M, max_size=M).map(np.array)


@settings(max_examples=50)
@given(change=torques, remaining=torques, steps=st.integers(1, 80))
def test_shift_never_exceeds_bound_or_rate(
    change: np.ndarray, remaining: np.ndarray, steps: int
) -> None:
    shift, last, dt = SetPointShift(NAO, CFG), np.zeros(len(NAO.joints)), 0.1
    gear = 2.0 * max(j.friction * (1 / j.kp + 1 / 65.0) for j in NAO.joints)
    for _ in range(steps):
        shift.follow(change, remaining, dt)
        assert np.abs(shift.value).max() <= CFG.bound_rad + 1e-12
        moved = np.abs(shift.value - last).max()
        assert moved <= CFG.rate_rad_s * dt + 2.0 * gear
        last = shift.value
    for _ in range(round(CFG.bound_rad / CFG.rate_rad_s / dt) + 10):
        shift.return_to_zero(dt)
    assert not shift.value.any()


def test_shift_follows_with_its_time_constant() -> None:
    """ds = ΔT / (kp t_s) dt, by hand: 0.3 N·m / 150 / 1.5 s · 0.1 s = 0.133 mrad."""
    shift = SetPointShift(NAO, NO_GEAR)
    change = np.zeros(M)
    change[NAO.motor_names.index("LKneePitch")] = -0.3
    shift.follow(change, np.zeros(M), 0.1)
    expected = np.zeros(len(NAO.joints))
    expected[NAO.joint_index("LKneePitch")] = -0.3 / 150.0 / 1.5 * 0.1
    assert_allclose(shift.value, expected, atol=1e-15)


def test_rate_limit_keeps_the_direction_of_the_shift() -> None:
    shift, change = SetPointShift(NAO, NO_GEAR), np.zeros(M)
    change[:2] = 40.0, 10.0
    kp = np.array([NAO.joints[NAO.joint_index(m.joints[0])].kp for m in NAO.motors[:2]])
    shift.follow(change, np.zeros(M), 0.1)
    moved = [shift.value[NAO.joint_index(m.joints[0])] for m in NAO.motors[:2]]
    assert_allclose(max(moved), CFG.rate_rad_s * 0.1)
    assert_allclose(moved[0] / moved[1], 4.0 * kp[1] / kp[0])


def test_joints_of_one_motor_shift_alike() -> None:
    shift, change = SetPointShift(NAO, CFG), np.zeros(M)
    change[NAO.motor_names.index("LHipYawPitch")] = 1.0
    shift.follow(change, np.zeros(M), 0.1)
    left, right = (NAO.joint_index(f"{side}HipYawPitch") for side in "LR")
    assert shift.value[left] == shift.value[right] > 0.0


def test_gear_part_is_bounded_by_its_friction() -> None:
    """2 f (1/kp + 1/kg) of a knee: 2 · 0.0985 · (1/150 + 1/65.6) = 4.31 mrad."""
    shift, remaining = SetPointShift(NAO, CFG), np.full(M, 1.0)
    for _ in range(200):
        shift.follow(np.zeros(M), remaining, 0.1)
    knee = shift.value[NAO.joint_index("LKneePitch")]
    assert_allclose(knee, -2.0 * 0.0984689 * (1.0 / 150.0 + 1.0 / 65.6459), rtol=1e-6)


def test_gear_part_returns_and_restarts_after_a_motion() -> None:
    shift, remaining = SetPointShift(NAO, CFG), np.full(M, 1.0)
    for _ in range(200):
        shift.follow(np.zeros(M), remaining, 0.1)
    there = shift.value
    shift.restart_gear()
    least = np.abs(there)
    for _ in range(200):
        shift.follow(np.zeros(M), remaining, 0.1)
        least = np.minimum(least, np.abs(shift.value))
    assert_allclose(least, 0.0, atol=1e-15)
    assert_allclose(shift.value, there)


def test_motor_at_its_bound_is_reported() -> None:
    shift = SetPointShift(NAO, CFG)
    assert not shift.is_at_bound
    for _ in range(100):
        shift.follow(np.full(M, 50.0), np.zeros(M), 0.1)
    assert shift.is_at_bound


def test_hot_motors_have_larger_weights() -> None:
    """(80 - 40) / (80 - 60) = 2; 1 below 40 °C; 10 from 76 °C."""
    cfg = TemperatureWeightsCfg()
    weights = temperature_weights(np.array((20.0, 40.0, 60.0, 76.0, 200.0)), cfg)
    assert_allclose(weights, (1.0, 1.0, 2.0, 10.0, 10.0))
