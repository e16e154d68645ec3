"""NAOqi's keys for the devices of a NAO, and conversions of their values.

    testbed                    NAOqi, behind Device/SubDeviceList/        conversion
    q           rad            JOINT/Position/Sensor/Value         rad    none
    target      rad            JOINT/Position/Actuator/Value       rad    none
    v           rad/s          -                                          Δq / Δt
    stiffness   [0, 1]         JOINT/Hardness/Actuator/Value       [0, 1] below 0 is 0
    temperature °C             JOINT/Temperature/Sensor/Value      °C     none
    current     A, signed      JOINT/ElectricCurrent/Sensor/Value  A ≥ 0  `CurrentSign`
    fsr         N              LFoot/FSR/FrontLeft/Sensor/Value    kg     · 9.81 m/s²
    gyro        rad/s          InertialSensor/GyroscopeX, or GyrX  rad/s  none
    accelerometer m/s²         InertialSensor/AccelerometerX, or AccX     -1 where z < 0
    sonar       m              US/Left/Sensor/Value                m      none
    battery     [0, 1]         Battery/Charge/Sensor/Value         [0, 1] none

[naoqi-api]. Joint names and signs are the same. A motor that drives two joints has keys
for the first joint only: `LHipYawPitch`. Hands go from 0 to 1. A served recording has
one more key, `RECORDING_OVER`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nao_testbed.controllers.interface.robot_interface import AXES, Observation
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.sensors.current_sign import CurrentSign

PREFIX = "Device/SubDeviceList/"
CLOCK = "DCM/Time"
"""Time of the device manager in ms, with a sign and 32 bits."""
BODY_TYPE = "RobotConfig/Body/Type"
RECORDING_OVER = "NaoTestbed/RecordingOver"
"""0, or 1 from the last row on; only `naoqi serve --log` has this key."""
N_PER_KG = 9.81
CORNERS = {"FL": "FrontLeft", "FR": "FrontRight", "RL": "RearLeft", "RR": "RearRight"}
INERTIAL = {
    "gyro": ("Gyroscope", "Gyr"),
    "accelerometer": ("Accelerometer", "Acc"),
}
"""Field to the sensor's names in NAOqi 2 and NAOqi 1."""
OPTIONAL = ("gyro.z", "sonar", "battery")
"""Values that older robots lack: they are left out, gyro.z is 0."""
REST_ACCELERATION = (7.0, 13.0)
"""Accepted range of the acceleration of a standing robot, in m/s²."""


class DeviceKeys:
    """Keys of one robot's devices, in reading order.

    Use: read `names` once, choose names and signs by `choose_keys`; then convert each
    list of values to an `Observation` by `observe`.
    """

    def __init__(self, robot: Robot) -> None:
        """Collect the candidate keys of a robot's devices."""
        self._robot = robot
        self._candidates = _candidates(robot)
        self._chosen: dict[str, str] = {}
        self._up_sign = 1.0
        self._time_s: float | None = None
        self._q: FloatArray = np.zeros(len(robot.joints))
        self._v: FloatArray = np.zeros(len(robot.joints))
        self._current_sign = CurrentSign(robot)
        self._lead = robot.lead_joints
        self.remarks: list[str] = []
        """Missing devices and reversed signs of this robot."""
        self.is_recording = False
        """True if a recording answers: commands move nothing."""

    @property
    def names(self) -> list[str]:
        """Keys to read: all candidates before `choose_keys`, then one per value."""
        if self._chosen:
            last = [RECORDING_OVER] if self.is_recording else []
            return [CLOCK, *self._chosen.values(), *last]
        every = [key for keys in self._candidates.values() for key in keys]
        return [CLOCK, BODY_TYPE, RECORDING_OVER, *every]

    @property
    def positions(self) -> list[str]:
        """Actuators of the servos' set-points, in motor order."""
        return [f"{name}/Position/Actuator/Value" for name in self._robot.servo_names]

    @property
    def stiffness_actuators(self) -> list[str]:
        """Actuators of the servos' stiffness, in motor order."""
        return [f"{name}/Hardness/Actuator/Value" for name in self._robot.servo_names]

    def of_motors(self, values: FloatArray) -> FloatArray:
        """Return the leading joints' values (n_motors,) from (n_joints,) values."""
        leading: FloatArray = values[self._lead]
        return leading

    def choose_keys(self, found: Mapping[str, Any]) -> None:
        """Choose keys and signs by the first values, None for missing keys.

        Raises:
            BadInput: a required value is missing, or the robot is of another type.
        """
        body = found.get(BODY_TYPE)
        if isinstance(body, str) and body.lower() not in {"nao", ""}:
            raise BadInput(
                f"the robot there is a {body!r} ({BODY_TYPE}), and {self._robot.name} "
                "is a Nao; give the address of a NAO."
            )
        chosen, missing = {}, []
        for name, keys in self._candidates.items():
            there = [key for key in keys if _is_number(found.get(key))]
            if there:
                chosen[name] = there[0]
            elif name == "gyro.z" or name.partition(".")[0] in OPTIONAL:
                self.remarks.append(f"no {name}: {keys[0]} has no value")
            else:
                missing.append(keys[0])
        if missing:
            raise BadInput(
                f"the robot there lacks {len(missing)} of {len(self._candidates)} "
                f"values that {self._robot.name} has, such as {missing[0]}; it is "
                "another robot, or its memory is not filled yet. Give its model "
                "with --robot ROBOT."
            )
        self._chosen = chosen
        self.is_recording = _is_number(found.get(RECORDING_OVER))
        if self.is_recording:
            self.remarks.append("a recording answers; commands have no effect")
        self._choose_up_sign(
            np.array([float(found[chosen[f"accelerometer.{a}"]]) for a in AXES])
        )

    def _choose_up_sign(self, measured: FloatArray) -> None:
        """Choose the sign of the upward axis, which differs between robots."""
        size = float(np.linalg.norm(measured))
        if not REST_ACCELERATION[0] < size < REST_ACCELERATION[1]:
            raise BadInput(
                f"the accelerometer measures {size:.3g} m/s², and a robot at rest has "
                f"9.81; the values are {', '.join(f'{x:.3g}' for x in measured)}. Keep "
                "it still; if it is, its values have another unit."
            )
        if measured[2] < 0.0:
            self._up_sign = -1.0
            self.remarks.append("accelerometer with gravity downward: sign inverted")

    def clock_ms(self, values: Sequence[Any]) -> int | None:
        """Return the robot's clock read with some values, or None without its key."""
        return int(values[0]) if _is_number(values[0]) else None

    def is_over(self, values: Sequence[Any]) -> bool:
        """Return True if a recording answers and has ended."""
        return self.is_recording and bool(values[-1])

    def sensed(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the noisy values, which change with each new measurement."""
        return tuple(
            value
            for name, value in zip(self._chosen, self._of_devices(values), strict=True)
            if name.startswith(("gyro", "accelerometer", "current"))
        )

    def observe(self, values: Sequence[Any], time_s: float) -> Observation:
        """Return an observation from the values of `names`.

        Args:
            values: as read.
            time_s: time of reading by the robot's clock, since the start.

        Raises:
            BadInput: a value is missing, or is not a number.
        """
        devices = self._of_devices(values)
        bad = [
            key
            for key, value in zip(self._chosen.values(), devices, strict=True)
            if not _is_number(value)
        ]
        if bad:
            raise BadInput(f"{bad[0]} no longer has a value.")
        read = dict(zip(self._chosen, map(float, devices), strict=True))
        robot, of_joint = self._robot, self._robot.servo_of_joint
        servos, motors = robot.servo_names, robot.motor_names
        sensors = [sensor.name for sensor in robot.force_sensors]

        def block(field: str, members: Sequence[str]) -> FloatArray:
            return np.array([read.get(f"{field}.{name}", 0.0) for name in members])

        q, target = block("q", servos), block("target", servos)
        sonar = [f"sonar.{one.name}" for one in robot.sonars]
        dt = 0.0 if self._time_s is None else time_s - self._time_s
        return Observation(
            time_s=time_s,
            q=q[of_joint],
            v=self._velocity(q[of_joint], time_s),
            target=target[of_joint],
            stiffness=np.clip(block("stiffness", servos), 0.0, 1.0)[of_joint],
            temperature=block("temperature", motors),
            current=self._current_sign.step(block("current", motors), target - q, dt),
            fsr=N_PER_KG * block("fsr", sensors),
            gyro=block("gyro", AXES),
            accelerometer=self._up_sign * block("accelerometer", AXES),
            sonar=np.array([read[key] for key in sonar if key in read]),
            battery=np.array([read["battery"]] if "battery" in read else []),
        )

    def _of_devices(self, values: Sequence[Any]) -> Sequence[Any]:
        """Return the values of devices among the values of `names`."""
        return values[1 : 1 + len(self._chosen)]

    def _velocity(self, q: FloatArray, time_s: float) -> FloatArray:
        """Return (n_joints,) speeds in rad/s from angles: NAOqi reports no speeds."""
        if self._time_s is not None and time_s > self._time_s:
            self._v = (q - self._q) / (time_s - self._time_s)
        if self._time_s is None or time_s > self._time_s:
            self._time_s, self._q = time_s, q
        return self._v.copy()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _candidates(robot: Robot) -> dict[str, list[str]]:
    """Return a mapping of value, as `CHANNEL.MEMBER`, to its candidate keys."""
    found: dict[str, list[str]] = {}
    for servo, motor in zip(robot.servo_names, robot.motor_names, strict=True):
        base, drive = f"{PREFIX}{servo}/", f"{PREFIX}{motor}/"
        found |= {
            f"q.{servo}": [f"{base}Position/Sensor/Value"],
            f"target.{servo}": [f"{base}Position/Actuator/Value"],
            f"stiffness.{servo}": [f"{base}Hardness/Actuator/Value"],
            f"temperature.{motor}": [f"{drive}Temperature/Sensor/Value"],
            f"current.{motor}": [f"{drive}ElectricCurrent/Sensor/Value"],
        }
    for sensor in robot.force_sensors:
        side, corner = sensor.name[0], CORNERS.get(sensor.name[-2:], sensor.name)
        found[f"fsr.{sensor.name}"] = [f"{PREFIX}{side}Foot/FSR/{corner}/Sensor/Value"]
    for field, words in INERTIAL.items():
        for axis in AXES:
            found[f"{field}.{axis}"] = [
                f"{PREFIX}InertialSensor/{word}{axis.upper()}/Sensor/Value"
                for word in words
            ]
    for sonar in robot.sonars:
        side = "Left" if sonar.name.startswith("L") else "Right"
        found[f"sonar.{sonar.name}"] = [f"{PREFIX}US/{side}/Sensor/Value"]
    found["battery"] = [f"{PREFIX}Battery/Charge/Sensor/Value"]
    return found
