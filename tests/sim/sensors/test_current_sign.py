"""Signs of currents that arrive without one."""

import numpy as np

from nao_testbed.models import load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.sensors.current_sign import CurrentSign

NAO = load_robot()
KNEE = NAO.motor_index("RKneePitch")
JOINT = NAO.joints[NAO.joint_index("RKneePitch")]
K = NAO.motors[KNEE].one_node.torque_constant
STEP = JOINT.encoder_step
PERIOD_S = 0.02
SMALL = 0.3 * STEP * JOINT.kp
"""Torque in N·m whose deflection is below half an encoder step."""


class Knee:
    """A servo whose true torque and set-point are known."""

    def __init__(self) -> None:
        self.sign = CurrentSign(NAO)
        self._n = len(NAO.motors)
        self._rng = np.random.default_rng(0)

    def told(self, torque: float, target: float, *, seen: float | None = None) -> float:
        """Return the torque in N·m from the signed current of one period."""
        angle = target - torque / JOINT.kp
        counted = STEP * round(angle / STEP) if seen is None else seen
        noise = NAO.sensor_rates.current_noise * self._rng.standard_normal()
        size, error = np.zeros(self._n), np.zeros(self._n)
        size[KNEE], error[KNEE] = abs(torque / K + noise), target - counted
        return float(K * self.sign.step(size, error, PERIOD_S)[KNEE])

    def follow(self, torque: FloatArray, target: FloatArray) -> FloatArray:
        return np.array([self.told(*one) for one in zip(torque, target, strict=True)])


def test_a_large_current_has_the_sign_of_the_servo_error_at_once() -> None:
    for torque in (1.0, -1.0):
        knee = Knee()
        assert abs(knee.told(torque, 0.3) - torque) < 0.1


def test_an_unobservable_sign_gives_zero_torque() -> None:
    """Both signs are consistent with an angle in the middle of its step."""
    knee = Knee()
    told = [knee.told(SMALL, 100 * STEP, seen=100 * STEP) for _ in range(100)]
    assert np.abs(told).max() < 0.02


def test_a_small_current_gets_its_sign_when_the_set_point_moves_by_a_step() -> None:
    for torque in (SMALL, -SMALL):
        target = 0.3 + np.linspace(0.0, STEP, 200)
        told = Knee().follow(np.full(200, torque), target)
        np.testing.assert_allclose(told[-50:].mean(), torque, rtol=0.1)


def test_a_sign_is_kept_until_the_current_has_vanished() -> None:
    """Known at 1 N·m, it is kept at 0.07 N·m, where readings cannot show it."""
    knee = Knee()
    torque = np.linspace(1.0, SMALL, 300)
    knee.follow(torque, np.full(300, 0.3))
    middle = 100 * STEP
    told = [knee.told(SMALL, middle, seen=middle) for _ in range(250)]
    np.testing.assert_allclose(np.mean(told), SMALL, rtol=0.1)
    for _ in range(100):
        knee.told(0.0, middle, seen=middle)
    told = [knee.told(SMALL, middle, seen=middle) for _ in range(50)]
    assert np.abs(told).max() < 0.02


def test_current_reversal_is_detected_within_half_a_second() -> None:
    knee = Knee()
    knee.follow(np.full(100, 0.5), np.full(100, 0.3))
    told = knee.follow(np.full(50, -0.5), np.full(50, 0.3))
    np.testing.assert_allclose(told[25:], -0.5, atol=0.06)


def test_one_wrong_reading_keeps_the_sign() -> None:
    knee = Knee()
    knee.follow(np.full(100, 0.5), np.full(100, 0.3))
    assert knee.told(0.5, 0.3, seen=0.31) > 0.4


def test_the_mean_torque_of_a_small_current_is_right_over_all_places_of_a_step() -> (
    None
):
    """Set-points and angles alone would be wrong by up to half a step."""
    rng = np.random.default_rng(1)
    off = []
    for torque in rng.uniform(-SMALL, SMALL, 40):
        target = rng.uniform(0.0, 0.5) + np.linspace(0.0, 2.0 * STEP, 400)
        told = Knee().follow(np.full(400, torque), target)
        off.append(told[-100:].mean() - torque)
    assert np.abs(off).mean() < 0.25 * SMALL
