"""Writers from accepted values to the robot's command, one per resource.

A writer checks a value, puts it into the slot's command, and sets the safe output of
the device. A new kind of device needs a class here, a field in `Command`, and a line in
`make_writers`; the gate does not change.

The robot's own functions check light and sound values. Only set-points need a safe
value. The last commanded stiffness stays: with less the robot would sag, with more it
would heat up. LEDs keep their last colours, and a loudspeaker without a further chunk
is silent from the next slot on.
"""

from typing import Any

import numpy as np

from nao_testbed.controllers.arbitration.gate.device_map import (
    DeviceMap,
    JointLeaf,
    LedLeaf,
    SpeakerLeaf,
)
from nao_testbed.controllers.arbitration.gate.outputs import Outputs, hold
from nao_testbed.controllers.interface.robot_interface import (
    DEVICE_SLOT_S,
    LedSetting,
    MotorLimit,
    MotorTarget,
    Observation,
    SoundChunk,
    check_leds,
    check_sound,
)
from nao_testbed.models import BadInput
from nao_testbed.models.resources import DeviceKind
from nao_testbed.models.values import FloatArray, as_number, as_numbers, short

Value = float | FloatArray | MotorTarget | MotorLimit | LedSetting | SoundChunk
"""Value of a command: an angle, an angle with a velocity, a stiffness, a stiffness with
a current limit, a colour of LEDs, or a slot of sound."""


class DeviceWriter:
    """Writer of the values of one resource to a part of the robot's command."""

    __slots__ = ()

    joints: tuple[int, ...] = ()
    """Indices of the commanded joints, whose stiffness an effort cap limits."""

    def accept(self, value: Value | None) -> Value | None:
        """Return a checked copy of a value, in the form for `put`.

        Raises:
            BadInput: the value has the wrong shape, is not finite, or is out of range.
        """
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Put a value returned by `accept` into the slot's command."""

    def make_safe(self, observation: Observation) -> None:
        """Set the safe output after a loss; by default the last command."""


class LedWriter(DeviceWriter):
    """Writer of one `LedSetting` to one or several LED groups."""

    def __init__(self, leaf: LedLeaf, outputs: Outputs) -> None:
        self._name = leaf.name
        self._groups = leaf.groups
        self._names = tuple(group.name for group in leaf.groups)
        self._outputs = outputs

    def accept(self, value: Value | None) -> LedSetting:
        """Accept a setting with the channels of every group of the leaf."""
        if not isinstance(value, LedSetting):
            raise BadInput(
                f"value of {self._name!r} is {short(value)}; give a LedSetting: "
                "colours, and a time to fade."
            )
        for group in self._groups:
            check_leds(value, group)
        return value

    def put(self, value: LedSetting) -> None:
        """Start the fade of the groups in this slot."""
        outputs = self._outputs
        if outputs.leds is None:
            outputs.leds = {}
        for name in self._names:
            outputs.leds[name] = value


class SpeakerWriter(DeviceWriter):
    """Writer of one slot of sound, a `SoundChunk`, to all loudspeakers."""

    def __init__(self, leaf: SpeakerLeaf, outputs: Outputs, slot_s: float) -> None:
        self._name = leaf.name
        self._speakers = leaf.speakers
        self._slot_s = slot_s
        self._outputs = outputs

    def accept(self, value: Value | None) -> SoundChunk:
        """Accept a chunk of at most one slot, with a supported sample rate."""
        if not isinstance(value, SoundChunk):
            raise BadInput(
                f"value of {self._name!r} is {short(value)}; give a SoundChunk: "
                "samples, their rate and a label."
            )
        check_sound(value, self._speakers)
        most = self._slot_s * value.sample_rate_hz
        if len(value.samples) - 1 >= most:  # the last sample is played to its end
            raise BadInput(
                f"sound {value.label!r} has {len(value.samples)} samples for one slot "
                f"of {self._slot_s * 1e3:g} ms; give at most {_rounded_up(most)} and "
                "the rest in the slots after it."
            )
        return value

    def put(self, value: SoundChunk) -> None:
        """Play the sound in this slot."""
        self._outputs.sound = value


def _rounded_up(samples: float) -> int:
    return -int(-samples // 1)


class MotorWriter(DeviceWriter):
    """Writer of the set-point of one motor: an angle in rad for all its joints.

    A `MotorTarget` also has a velocity, for this slot.
    """

    __slots__ = (
        *("_bounds", "_lag", "_max_speed", "_name", "_outputs", "_place", "joints"),
    )

    def __init__(self, leaf: JointLeaf, outputs: Outputs) -> None:
        robot = outputs.robot
        self.joints = tuple(leaf.joints.tolist())
        lead = self.joints[0]
        self._place = lead if len(self.joints) == 1 else leaf.joints
        self._name = robot.joint_names[lead]
        lower, upper = robot.lower[leaf.joints], robot.upper[leaf.joints]
        self._bounds = float(lower.max()), float(upper.min())
        self._lag = float(outputs.lags[leaf.joints].min())
        self._max_speed = min(robot.joints[joint].max_velocity for joint in self.joints)
        self._outputs = outputs

    def accept(self, value: Value | None) -> Value | None:
        """Accept an angle in rad within the range of every joint of the motor."""
        if type(value) is not float:
            if type(value) is MotorTarget:
                angle = self.accept(value.angle)
                assert isinstance(angle, float)
                return MotorTarget(angle=angle, velocity=self._speed(value.velocity))
            number = as_number(value)
            if number is None:
                raise BadInput(
                    f"set-point of {self._name} is {short(value)}; give one angle in "
                    "rad, for all joints of the motor."
                )
            value = number
        lower, upper = self._bounds
        if lower <= value <= upper:  # false for NaN
            return value
        raise BadInput(
            f"set-point of {self._name} is {value:g} rad; accepted: {lower:g} to "
            f"{upper:g} rad."
        )

    def put(self, value: Any) -> None:
        """Set the angle of every joint of the motor, and the velocity if given."""
        outputs = self._outputs
        if type(value) is MotorTarget:
            outputs.set_velocity(self._place, value.velocity)
            value = value.angle
        outputs.target[self._place] = value
        outputs.moves = True

    def _speed(self, value: object) -> float:
        """Return a checked velocity in rad/s."""
        number, most = as_number(value), self._max_speed
        if number is not None and -most <= number <= most:  # false for NaN
            return number
        raise BadInput(
            f"set-point of velocity of {self._name} is {short(value)}; give a number "
            f"from {-most:g} to {most:g} rad/s."
        )

    def make_safe(self, observation: Observation) -> None:
        """Hold the present position; joints on one motor hold their mean angle."""
        in_force = float(self._outputs.target[self.joints[0]])
        measured = self._measured(observation)
        self.put(hold(in_force, measured, self._lag, *self._bounds))

    def follow(self, observation: Observation) -> None:
        """Set the set-point of a joint without stiffness to its measured angle."""
        measured = self._measured(observation)
        self.put(hold(measured, measured, 0.0, *self._bounds))

    def _measured(self, observation: Observation) -> float:
        """Return the set-point in rad that plus the shift equals the measured angle."""
        joints = list(self.joints)
        return float((observation.q - self._outputs.shift)[joints].mean())


class StiffnessWriter(DeviceWriter):
    """Writer of torque limits: one stiffness in [0, 1], or one per joint.

    Each command replaces the whole limit: without a current limit it removes that of
    the command before.
    """

    def __init__(self, leaf: JointLeaf, outputs: Outputs) -> None:
        self.joints = tuple(leaf.joints.tolist())
        names = outputs.robot.joint_names
        self._names = tuple(names[joint] for joint in self.joints)
        whole = len(self.joints) == len(names)
        self._place = slice(None) if whole else leaf.joints
        self._outputs = outputs

    def accept(self, value: Value | None) -> Value | None:
        """Accept a number, or an array in the order of the joints, all in [0, 1].

        A `MotorLimit` also has a current limit, 0 or more.
        """
        if not isinstance(value, MotorLimit):
            return self._within("stiffness", value, 1.0, "0 to 1")
        return MotorLimit(
            stiffness=self._within("stiffness", value.stiffness, 1.0, "0 to 1"),
            current=self._within(
                "current limit in A", value.current, np.inf, "0 or more"
            ),
        )

    def put(self, value: Any) -> None:
        """Set the stiffness and the current limit of the joints."""
        outputs = self._outputs
        if type(value) is MotorLimit:
            outputs.limit_current(self._place, value.current)
            value = value.stiffness
        elif outputs.current is not None:
            outputs.limit_current(self._place, np.inf)
        outputs.stiffness[self._place] = value
        outputs.stiffens = True

    def _within(self, what: str, value: object, most: float, said: str) -> FloatArray:
        """Return values of joints, (n,) or one for all, checked to be in [0, most]."""
        values, n = as_numbers(value), len(self._names)
        if values is None or values.shape not in {(), (n,)}:
            wrong = (
                f"is {short(value)}" if values is None else f"has shape {values.shape}"
            )
            raise BadInput(
                f"{what} {wrong}; give ({n},), one for each joint of the "
                "resource, or one number for all."
            )
        if values.min() >= 0.0 and values.max() <= most:  # false for NaN
            return values
        inside = np.broadcast_to((values >= 0.0) & (values <= most), (n,))
        bad = int(np.argmin(inside))
        raise BadInput(
            f"{what} of {self._names[bad]} is {values.flat[bad % values.size]:g}; "
            f"accepted: {said}."
        )


class NoDevice(DeviceWriter):
    """Resource without a device: its uses are only authorised."""

    def __init__(self, name: str) -> None:
        self._name = name

    def accept(self, value: Value | None) -> Value | None:
        """Raise unless the value is None."""
        if value is not None:
            raise BadInput(
                f"resource {self._name!r} has no device; submit its use without a "
                "value."
            )
        return None


def make_writers(
    devices: DeviceMap, outputs: Outputs, slot_s: float = DEVICE_SLOT_S
) -> dict[str, DeviceWriter]:
    """Return the writer of every leaf that has a device.

    Args:
        devices: devices that the leaves command.
        outputs: outputs to be changed by the writers.
        slot_s: time between two writes to the robot in s: the longest sound of one
            write.
    """
    writers: dict[str, DeviceWriter] = {}
    for leaf in devices.joint_leaves:
        if leaf.kind is DeviceKind.MOTOR:
            writers[leaf.name] = MotorWriter(leaf, outputs)
        else:
            writers[leaf.name] = StiffnessWriter(leaf, outputs)
    for lights in devices.led_leaves:
        writers[lights.name] = LedWriter(lights, outputs)
    if devices.speaker_leaf is not None:
        speaker = devices.speaker_leaf
        writers[speaker.name] = SpeakerWriter(speaker, outputs, slot_s)
    return writers
