"""Motion from sensors: filtered differences and the lever arm of the IMU."""

import dataclasses

import numpy as np
import pytest

from nao_testbed.controllers.stiffness import GRAVITY, MotionCfg
from nao_testbed.controllers.stiffness.dynamics.equation_of_motion import (
    MotionEstimator,
)
from nao_testbed.models import Robot
from tests.controllers.helpers import Observe

UP = np.array((0.0, 0.0, 1.0))
DT = 0.02
SLOW_GAIN = MotionCfg(gain_time_constant_s=1e6)


@pytest.mark.requirement("ST-5")
def test_imu_lever_arm_is_compensated(nao: Robot, observe: Observe) -> None:
    """A base that spins up about its origin: the origin measures gravity only."""
    far = dataclasses.replace(nao.imu, position=(0.1, -0.2, 0.3))
    robot = dataclasses.replace(nao, imu=far)
    estimator = MotionEstimator(robot, SLOW_GAIN)
    r, w_dot = np.array(far.position), np.array((0.5, 0.8, -0.3))
    motion, a = estimator.step(observe(robot), UP), np.zeros(3)
    for k in range(1, 101):
        w = w_dot * k * DT
        a = np.cross(w_dot, r) + np.cross(w, np.cross(w, r))
        motion = estimator.step(
            observe(robot, time_s=k * DT, gyro=w, accelerometer=GRAVITY * UP + a), UP
        )
    # The filters of ω and a lag alike, by T: the residual is (dω/dt T)² |r|, 0.1 %.
    np.testing.assert_allclose(motion.proper_acceleration, GRAVITY * UP, atol=0.01)
    np.testing.assert_allclose(motion.angular_acceleration, w_dot, rtol=1e-3)
    assert np.linalg.norm(a) > 0.5, "the sensor itself measures much more"


@pytest.mark.requirement("ST-5")
def test_ramp_of_velocity_gives_constant_acceleration(
    nao: Robot, observe: Observe
) -> None:
    estimator = MotionEstimator(nao, MotionCfg())
    a = np.linspace(-2.0, 2.0, 26)
    motion = estimator.step(observe(nao), UP)
    for k in range(1, 60):
        motion = estimator.step(observe(nao, time_s=k * DT, v=a * k * DT), UP)
    np.testing.assert_allclose(motion.a, a, rtol=1e-6)


@pytest.mark.requirement("ST-5")
def test_one_encoder_step_gives_no_jerk(nao: Robot, observe: Observe) -> None:
    """A step of 1.5 mrad reads 0.077 rad/s for one cycle; unfiltered, 3.8 rad/s²."""
    estimator = MotionEstimator(nao, MotionCfg())
    estimator.step(observe(nao), UP)
    spike = np.zeros(26)
    spike[4] = 0.077
    motion = estimator.step(observe(nao, time_s=DT, v=spike), UP)
    assert 0.0 < motion.a[4] < 1.2


@pytest.mark.parametrize("time_s", [-1.0, 5.0])
def test_gap_in_time_resets_the_acceleration(
    nao: Robot, observe: Observe, time_s: float
) -> None:
    estimator = MotionEstimator(nao, MotionCfg())
    estimator.step(observe(nao), UP)
    motion = estimator.step(observe(nao, time_s=time_s, v=np.ones(26)), UP)
    np.testing.assert_array_equal(motion.a, 0.0)
    np.testing.assert_array_equal(motion.v, 1.0)
