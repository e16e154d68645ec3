"""Device keys of the robot in the memory, each with its source.

`Device/SubDeviceList/<device>/../Value` as published [naoqi-api]; SI units, weights in
kg. Values follow the newest observation.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import atan2, hypot, nan
from typing import Any

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.controllers.stiffness.ground_plane import (
    GravityFilter,
    GravityFilterCfg,
)
from nao_testbed.experiments.server.naoqi.memory.store import (
    KEY_ADDED,
    KEY_REMOVED,
    Live,
    Memory,
)
from nao_testbed.experiments.server.naoqi.served_robot import ServedRobot
from nao_testbed.models import Robot

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
HEAD = ("Front", "Middle", "Rear")
SIDES = {"L": "Left", "R": "Right"}
TOUCHES = {
    **{f"Head/Touch/{part}": f"{part}TactilTouched" for part in HEAD},
    **{
        f"{side}Hand/Touch/{part}": f"Hand{word}{part}Touched"
        for side, word in SIDES.items()
        for part in ("Back", *SIDES.values())
    },
    **{
        f"{side}Foot/Bumper/{part}": f"{word}BumperPressed"
        for side, word in SIDES.items()
        for part in SIDES.values()
    },
    "ChestBoard/Button": "ChestButtonPressed",
}
"""Touch sensor to its event. A touch (`Disturbance.touch`), or a program, raises the
event with 1 or 0, and the key of the sensor has this value."""
TOUCH_CHANGED = "TouchChanged"
FIRST_VALUES: Mapping[str, Any] = {
    **dict.fromkeys(TOUCHES.values(), 0.0),
    TOUCH_CHANGED: [],
    **{f"Sonar{side}Detected": 0.0 for side in SIDES.values()},
    **dict.fromkeys(
        (
            *("robotHasFallen", "ALMotion/RobotIsFalling"),
            *("ALMotion/Stiffness/wakeUpStarted", "ALMotion/Stiffness/wakeUpFinished"),
            *("ALMotion/Stiffness/restStarted", "ALMotion/Stiffness/restFinished"),
            *("ALTextToSpeech/TextStarted", "ALTextToSpeech/TextInterrupted"),
            *("BatteryPowerPluggedChanged", "BatteryChargingFlagChanged"),
            "BatteryFullChargedFlagChanged",
        ),
        False,
    ),
    **dict.fromkeys(("robotIsWakeUp", "ALTextToSpeech/TextDone", "NAOqiReady"), True),
    **{
        name: []
        for name in (
            *("BehaviorsRun", "ALMotion/MoveFailed"),
            "ALMotion/Protection/DisabledDevicesChanged",
            "ALMotion/Protection/DisabledFeaturesChanged",
            *("HotDeviceDetected", "HotJointDetected", "DeviceNoLongerHotDetected"),
        )
    },
    **dict.fromkeys(
        (
            *("ALTextToSpeech/CurrentSentence", "ALTextToSpeech/CurrentWord"),
            *(KEY_ADDED, KEY_REMOVED),
        ),
        "",
    ),
    "ALTextToSpeech/CurrentBookMark": 0,
    "ALTextToSpeech/Status": [0, "done"],
    "AutonomousLife/State": "disabled",
    "BodyStiffnessChanged": 2,
    "TemperatureStatusChanged": [0, []],
    "TemperatureDiagnosisErrorChanged": [0, []],
    "HeadProcessorIsHot": PROCESSOR_DEGC,
    "HeadProcessorIsCriticallyHot": PROCESSOR_DEGC,
}
"""Values of the events before they are first raised, of a robot that stands awake."""
WRAP = 1 << 31
"""Range of the device manager's clock, in ms."""
PARTS = ("LeftArm", "RightArm", "Hand/Left", "Hand/Right", "Legs")
CONFIG = {
    "RobotConfig/Body/Type": "Nao",
    "RobotConfig/Body/BaseVersion": "V5.0",
    "RobotConfig/Body/Version": "5.0.0",
    **{f"RobotConfig/Body/Device/{part}/Version": "5.0.0" for part in PARTS},
    "RobotConfig/Body/SoftwareRequirement": "2.8.5",
    "RobotConfig/Head/FullHeadId": "simulated",
    "RobotConfig/Head/Version": "5.0.0",
    "RobotConfig/Head/Device/Micro/Version": "2",
    "Device/DeviceList/ChestBoard/BodyId": "simulated",
}
"""Equipment of the robot, a NAO V5."""
FSR = ("FrontLeft", "FrontRight", "RearLeft", "RearRight")


def motor_joints(robot: Robot) -> tuple[str, ...]:
    """Return the joints that have keys: one per servo."""
    return robot.servo_names


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
            f"{base}Position/Actuator/Value": _of(served, "commanded", i),
            f"{base}Position/Sensor/Value": _seen(served, "q", i),
            f"{drive}ElectricCurrent/Sensor/Value": _size(served, "current", k),
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

        def weights(mine: list[int] = mine) -> Any:
            return served.seen.fsr[mine] / G

        def total(weights: Callable[[], Any] = weights) -> float:
            return float(weights().sum())

        def centre(
            axis: int, weights: Callable[[], Any] = weights, places: Any = places
        ) -> float:
            w = weights()
            return float(w @ places[:, axis] / w.sum()) if w.sum() > LIGHT_KG else 0.0

        base = f"{PREFIX}{foot}/FSR/"
        for place, i in zip(_corners(places), mine, strict=True):
            keys[f"{base}{place}/Sensor/Value"] = lambda i=i: float(  # type: ignore[misc]
                served.seen.fsr[i] / G
            )
        keys |= {
            f"{base}TotalWeight/Sensor/Value": total,
            f"{base}CenterOfPressure/X/Sensor/Value": partial(centre, 0),
            f"{base}CenterOfPressure/Y/Sensor/Value": partial(centre, 1),
            f"{word}FootTotalWeight": total,
            f"{word}FootContact": lambda t=total: float(t() > LIGHT_KG),  # type: ignore[misc]
        }
    if "leftFootContact" in keys and "rightFootContact" in keys:
        left, right = keys["leftFootContact"], keys["rightFootContact"]
        keys["footContact"] = lambda: max(left(), right())
    return keys


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
        if np.isnan(seen.accelerometer).any():
            self.angles = nan, nan
            return
        gyro = np.nan_to_num(seen.gyro)
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


def _torque(served: ServedRobot, k: int) -> float:
    return float(served.seen.current[k]) * served.robot.motors[k].torque_constant


def _seen(served: ServedRobot, field: str, i: int) -> Live:
    return lambda: float(getattr(served.seen, field)[i])


def _size(served: ServedRobot, field: str, i: int) -> Live:
    return lambda: abs(float(getattr(served.seen, field)[i]))


def _of(served: ServedRobot, field: str, i: int) -> Live:
    return lambda: float(getattr(served, field)[i])


def _always(value: Any) -> Live:
    return lambda: value
