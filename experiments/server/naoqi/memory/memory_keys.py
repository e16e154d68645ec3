"""Device keys of the robot in the memory, each with its source.

`Device/SubDeviceList/<device>/../Value` as published [naoqi-api]; SI units, weights in
kg. Values follow the newest observation.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from math import atan2, hypot, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilter,
    GravityFilterCfg,
)
from nao_testbed.experiments.server.naoqi.memory.store import Live, Memory
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot
from nao_testbed.models.values import FloatArray

PREFIX = "Device/SubDeviceList/"
G = 9.81
"""Gravity in m/s²: force sensors report kg."""
LIGHT_KG = 0.2
"""Load of a foot in kg below which there is no contact and no centre of pressure."""
PROCESSOR_DEGC = 50.0
"""Temperature of the head's processor: constant, since no computer is simulated."""
TILT_S = 2.0
"""Time constant of the torso's tilt in s. While the arms move at full speed, the tilt
is off by 1.4° at most; with the 0.5 s of `smart` by 3.2°, by the accelerometer alone by
36°."""
SIDES = {"L": "Left", "R": "Right"}
CONSTANTS = json.loads(Path(__file__).with_name("constants.json").read_text("utf-8"))
"""Published names with their values, by topic."""
TOUCHES: Mapping[str, str] = CONSTANTS["events of touch sensors"]
"""Touch sensor to its event. A touch (`Disturbance.touch`), or a program, raises the
event with 1 or 0, and the key of the sensor has this value."""
TOUCH_CHANGED = "TouchChanged"
FIRST_VALUES: Mapping[str, Any] = {
    **dict.fromkeys(TOUCHES.values(), 0.0),
    **CONSTANTS["first values of events"],
}
"""Values of the events before they are first raised, of a robot that stands awake."""
CONFIG: Mapping[str, str] = CONSTANTS["equipment"]
"""Equipment of the robot, a NAO V5."""
WRAP = 1 << 31
"""Range of the device manager's clock, in ms."""


def add_device_keys(memory: Memory, served: ServedRobot) -> None:
    """Add all keys of a robot's devices, and the first values of its events."""
    for add in (_motors, _feet, _inertial, _others):
        memory.add_live(add(served))
    for touch, event in TOUCHES.items():
        key = f"{PREFIX}{touch}/Sensor/Value"
        memory.add_live({key: partial(_is_touched, memory, event)})
    for name, value in FIRST_VALUES.items():
        memory.raise_event(name, value)
    for event in dict.fromkeys(TOUCHES.values()):
        memory.listen(event, "ALTouch", partial(_raise_touch, memory))


def _is_touched(memory: Memory, event: str) -> float:
    return float(bool(memory.find(event)))


def _raise_touch(memory: Memory, event: str, value: Any) -> None:
    """Notify listeners of a touch, by the names of the sensors."""
    touched = [[name, bool(value)] for name, of in TOUCHES.items() if of == event]
    memory.raise_event(TOUCH_CHANGED, touched)


def _motors(served: ServedRobot) -> dict[str, Live]:
    robot, keys = served.robot, dict[str, Live]()
    for k, (servo, motor) in enumerate(
        zip(robot.servo_names, robot.motors, strict=True)
    ):
        i = robot.joint_index(servo)
        most = motor.stall_torque / motor.torque_constant
        base, drive = f"{PREFIX}{servo}/", f"{PREFIX}{motor.name}/"
        keys |= {
            f"{base}Position/Actuator/Value": partial(_commanded, served, i),
            f"{base}Position/Sensor/Value": _seen(served, "q", i),
            f"{drive}ElectricCurrent/Sensor/Value": partial(_current, served, k),
            f"{drive}ElectricCurrent/Sensor/Max": _always(most),
            f"{drive}Temperature/Sensor/Value": _seen(served, "temperature", k),
            f"{base}Hardness/Actuator/Value": _seen(served, "stiffness", i),
        }
    return keys


def _feet(served: ServedRobot) -> dict[str, Live]:
    robot, keys = served.robot, dict[str, Live]()
    index = {sensor.name: i for i, sensor in enumerate(robot.force_sensors)}
    for foot, word in (("LFoot", "left"), ("RFoot", "right")):
        mine = [i for name, i in index.items() if _foot_of(name) == foot]
        if not mine:
            continue
        places = np.array([robot.force_sensors[i].position[:2] for i in mine])

        weight = partial(_weight, served, mine)
        base = f"{PREFIX}{foot}/FSR/"
        for place, i in zip(_corners(places), mine, strict=True):
            keys[f"{base}{place}/Sensor/Value"] = partial(_weight, served, [i])
        for axis, along in zip("XY", places.T, strict=True):
            key = f"{base}CenterOfPressure/{axis}/Sensor/Value"
            keys[key] = partial(_centre, served, mine, along)
        keys |= {
            f"{base}TotalWeight/Sensor/Value": weight,
            f"{word}FootTotalWeight": weight,
            f"{word}FootContact": partial(_contact, weight),
        }
    if "leftFootContact" in keys and "rightFootContact" in keys:
        left, right = keys["leftFootContact"], keys["rightFootContact"]
        keys["footContact"] = lambda: max(left(), right())
    return keys


def _weight(served: ServedRobot, sensors: list[int]) -> float:
    return float(served.seen.fsr[sensors].sum() / G)


def _contact(weight: Callable[[], float]) -> float:
    return float(weight() > LIGHT_KG)


def _centre(served: ServedRobot, sensors: list[int], places: FloatArray) -> float:
    """Return the mean of places in m, weighted by the forces on the sensors."""
    force = served.seen.fsr[sensors]
    total = force.sum()
    return float(force @ places / total) if total > LIGHT_KG * G else 0.0


def _foot_of(sensor: str) -> str:
    return "LFoot" if sensor.startswith("L") else "RFoot"


def _corners(places: Any) -> list[str]:
    """Return the names of a foot's sensors by position: x forwards, y to the left."""
    middle = places.mean(axis=0)
    return [
        f"{'Front' if x > middle[0] else 'Rear'}{'Left' if y > middle[1] else 'Right'}"
        for x, y in places
    ]


def _inertial(served: ServedRobot) -> dict[str, Live]:
    keys: dict[str, Live] = {}
    base = f"{PREFIX}InertialSensor/"
    for i, axis in enumerate("XYZ"):
        for long, brief, field in (
            ("Gyroscope", "Gyr", "gyro"),
            ("Accelerometer", "Acc", "accelerometer"),
        ):
            for name in (long, brief):
                keys[f"{base}{name}{axis}/Sensor/Value"] = _seen(served, field, i)

    tilt = _Tilt()
    served.each_slot.append(tilt)
    for axis, i in {"X": 0, "Y": 1}.items():
        keys[f"{base}Angle{axis}/Sensor/Value"] = lambda i=i: tilt.angles[i]  # type: ignore[misc]
    keys[f"{base}AngleZ/Sensor/Value"] = _always(0.0)
    return keys


class _Tilt:
    """Roll and pitch of the torso, fused from gyroscope and accelerometer.

    With the estimated vertical u in the frame of the torso (`GravityFilter`):

        roll = atan2(u_y, u_z),  pitch = atan2(-u_x, sqrt(u_y² + u_z²)).
    """

    def __init__(self) -> None:
        self._filter = GravityFilter(GravityFilterCfg(time_constant_s=TILT_S))
        self.angles = (0.0, 0.0)
        """Roll and pitch in rad."""

    def __call__(self, _: int, seen: Observation) -> None:
        """Process the readings of a slot; a recording may lack one of both sensors."""
        if isnan(seen.accelerometer.sum()):
            self.angles = nan, nan
            return
        gyro = np.nan_to_num(seen.gyro) if isnan(seen.gyro.sum()) else seen.gyro
        x, y, z = self._filter.step(seen.time_s, gyro, seen.accelerometer).tolist()
        self.angles = atan2(y, z), atan2(-x, hypot(y, z))


def _others(served: ServedRobot) -> dict[str, Live]:
    robot = served.robot

    def charge() -> float:
        left = served.seen.battery
        return float(left[0]) if len(left) else 1.0

    def drawn() -> float:
        return -float(np.abs(served.seen.current).sum())

    keys: dict[str, Live] = {
        f"{PREFIX}Battery/Charge/Sensor/Value": charge,
        f"{PREFIX}Battery/Current/Sensor/Value": drawn,
        f"{PREFIX}Battery/Temperature/Sensor/Value": _always(25.0),
        f"{PREFIX}Head/Temperature/Sensor/Value": _always(PROCESSOR_DEGC),
        "DCM/Time": lambda: wrapped_ms(served.time_s),
        **{key: _always(value) for key, value in CONFIG.items()},
    }
    for i, joint in enumerate(robot.joint_names):
        keys[f"Motion/Velocity/Sensor/{joint}"] = _seen(served, "v", i)
        keys[f"Motion/Torque/Sensor/{joint}"] = partial(
            _torque, served, robot.servo_of_joint[i]
        )
    for i, sonar in enumerate(robot.sonars):
        side = "Left" if sonar.name.startswith("L") else "Right"
        keys[f"{PREFIX}US/{side}/Sensor/Value"] = _seen(served, "sonar", i)
    return keys


def wrapped_ms(time_s: float) -> int:
    """Return a time as on the device manager's clock: signed 32-bit integer in ms."""
    return (round(1000.0 * time_s) + WRAP) % (2 * WRAP) - WRAP


def _commanded(served: ServedRobot, i: int) -> float:
    return float(served.commanded[i])


def _current(served: ServedRobot, k: int) -> float:
    return abs(float(served.seen.current[k]))


def _torque(served: ServedRobot, k: int) -> float:
    return float(served.seen.current[k]) * served.robot.motors[k].torque_constant


def _seen(served: ServedRobot, field: str, i: int) -> Live:
    return lambda: float(getattr(served.seen, field)[i])


def _always(value: Any) -> Live:
    return lambda: value
