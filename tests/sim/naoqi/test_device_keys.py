"""Names, units and signs between NAOqi and an observation."""

from typing import Any

import numpy as np
import pytest

from nao_testbed.models import BadInput, load_robot
from nao_testbed.sim.naoqi.device_keys import CLOCK, PREFIX, RECORDING_OVER, DeviceKeys
from tests.messages import Messages, each

NAO = load_robot()
KNEE = "RKneePitch"


def values_at_rest() -> dict[str, Any]:
    """Return the values of a standing NAO with NAOqi 2."""
    found: dict[str, Any] = {CLOCK: 1000, "RobotConfig/Body/Type": "Nao"}
    for motor in NAO.motor_names:
        base = f"{PREFIX}{motor}/"
        found |= {
            f"{base}Position/Sensor/Value": 0.10,
            f"{base}Position/Actuator/Value": 0.11,
            f"{base}Hardness/Actuator/Value": 0.9,
            f"{base}Temperature/Sensor/Value": 38.0,
            f"{base}ElectricCurrent/Sensor/Value": 0.5,
        }
    for foot in "LR":
        for corner in ("FrontLeft", "FrontRight", "RearLeft", "RearRight"):
            found[f"{PREFIX}{foot}Foot/FSR/{corner}/Sensor/Value"] = 0.6
    for axis, felt in zip("XYZ", (0.1, 0.2, 9.7), strict=True):
        found[f"{PREFIX}InertialSensor/Accelerometer{axis}/Sensor/Value"] = felt
        found[f"{PREFIX}InertialSensor/Gyroscope{axis}/Sensor/Value"] = 0.01
    for side in ("Left", "Right"):
        found[f"{PREFIX}US/{side}/Sensor/Value"] = 0.8
    found[f"{PREFIX}Battery/Charge/Sensor/Value"] = 0.7
    return found


def settled(found: dict[str, Any]) -> DeviceKeys:
    keys = DeviceKeys(NAO)
    assert set(keys.names) >= set(found)
    keys.choose_keys(found)
    return keys


def observed(keys: DeviceKeys, found: dict[str, Any], time_s: float = 0.0) -> Any:
    return keys.observe([found.get(name) for name in keys.names], time_s)


def test_values_are_converted_in_unit_and_order() -> None:
    found = values_at_rest()
    found[f"{PREFIX}{KNEE}/Position/Sensor/Value"] = 0.7
    found[f"{PREFIX}LFoot/FSR/RearRight/Sensor/Value"] = 2.0
    seen = observed(settled(found), found)
    assert seen.q[NAO.joint_index(KNEE)] == 0.7
    assert seen.q.shape == (len(NAO.joints),)
    np.testing.assert_allclose(seen.stiffness, 0.9)
    np.testing.assert_allclose(seen.temperature, 38.0)
    names = [sensor.name for sensor in NAO.force_sensors]
    assert seen.fsr[names.index("LFsrRR")] == pytest.approx(19.62)
    assert seen.fsr[names.index("RFsrFL")] == pytest.approx(5.886)
    np.testing.assert_allclose(seen.accelerometer, (0.1, 0.2, 9.7))
    np.testing.assert_allclose(seen.sonar, 0.8)
    np.testing.assert_allclose(seen.battery, 0.7)


def test_current_sign_is_towards_the_set_point() -> None:
    """NAOqi gives the magnitude only: the sign is that of the servo's error."""
    found = values_at_rest()
    found[f"{PREFIX}{KNEE}/Position/Sensor/Value"] = 0.2  # beyond its set-point
    seen = observed(settled(found), found)
    knee = NAO.motor_index(KNEE)
    assert seen.current[knee] == -0.5
    np.testing.assert_allclose(np.delete(seen.current, knee), 0.5)


def test_one_flicker_of_an_encoder_does_not_turn_a_current() -> None:
    found = values_at_rest()
    keys = settled(found)
    observed(keys, found, 0.0)
    found[f"{PREFIX}{KNEE}/Position/Sensor/Value"] = 0.1115
    seen = observed(keys, found, 0.02)
    assert seen.current[NAO.motor_index(KNEE)] == 0.5


def test_recording_end_is_detected() -> None:
    found = values_at_rest()
    robot = settled(found)
    assert not robot.is_recording
    assert not robot.is_over([found.get(name) for name in robot.names])
    found[RECORDING_OVER] = 0
    log = settled(found)
    assert log.is_recording
    assert not log.is_over([found[name] for name in log.names])
    found[RECORDING_OVER] = 1
    assert log.is_over([found[name] for name in log.names])
    assert observed(log, found).q.shape == (len(NAO.joints),)


def test_joints_on_one_motor_share_the_values_of_its_key() -> None:
    found = values_at_rest()
    found[f"{PREFIX}LHipYawPitch/Position/Sensor/Value"] = -0.3
    assert not any("RHipYawPitch" in name for name in DeviceKeys(NAO).names)
    seen = observed(settled(found), found)
    assert seen.q[NAO.joint_index("RHipYawPitch")] == -0.3


def test_velocities_are_angle_differences_over_robot_time() -> None:
    found = values_at_rest()
    keys = settled(found)
    np.testing.assert_array_equal(observed(keys, found, 1.0).v, 0.0)
    found[f"{PREFIX}{KNEE}/Position/Sensor/Value"] = 0.12
    seen = observed(keys, found, 1.04)
    assert seen.v[NAO.joint_index(KNEE)] == pytest.approx(0.5)
    again = observed(keys, found, 1.04)  # no time passed: nothing new
    assert again.v[NAO.joint_index(KNEE)] == pytest.approx(0.5)


def test_names_of_naoqi_1_and_gravity_downward_are_understood() -> None:
    found = values_at_rest()
    for axis in "XYZ":
        for new, old in (("Accelerometer", "Acc"), ("Gyroscope", "Gyr")):
            base = f"{PREFIX}InertialSensor/"
            value = found.pop(f"{base}{new}{axis}/Sensor/Value")
            found[f"{base}{old}{axis}/Sensor/Value"] = (
                -value if new == "Accelerometer" else value
            )
    del found[f"{PREFIX}InertialSensor/GyrZ/Sensor/Value"]  # no such axis there
    keys = settled(found)
    seen = observed(keys, found)
    np.testing.assert_allclose(seen.accelerometer, (0.1, 0.2, 9.7))
    np.testing.assert_allclose(seen.gyro, (0.01, 0.01, 0.0))
    assert len(keys.remarks) == 2


def test_missing_sonars_and_battery_read_empty() -> None:
    found = values_at_rest()
    for name in [n for n in found if "/US/" in n or "Battery" in n]:
        del found[name]
    seen = observed(settled(found), found)
    assert seen.sonar.size == seen.battery.size == 0


def test_a_value_missing_later_is_named() -> None:
    found = values_at_rest()
    keys = settled(found)
    found[f"{PREFIX}{KNEE}/Position/Sensor/Value"] = None
    with pytest.raises(BadInput, match=KNEE):
        observed(keys, found)


def test_messages(messages: Messages) -> None:
    messages(
        another_robot=each(
            lambda key, value: settled(values_at_rest() | {key: value}),
            ("RobotConfig/Body/Type", "Juliette"),
            (f"{PREFIX}{KNEE}/Position/Sensor/Value", None),
            (f"{PREFIX}LHand/Temperature/Sensor/Value", None),
            (f"{PREFIX}InertialSensor/AccelerometerZ/Sensor/Value", 58.0),
        )
    )
