"""What a robot refuses to be told."""

from collections.abc import Iterable
from math import pi

import numpy as np
from numpy.typing import NDArray

from controllers.effectors import LedSetting, SoundChunk
from controllers.robot_interface import Command, Controller, Limits
from models import BadInput, LedGroup, Robot, Speaker, UnknownName
from models.real_numbers import as_numbers, short

FloatArray = NDArray[np.float64]


def check_answer(controller: Controller, decided: object) -> None:
    """Check that a controller answered at all.

    Raises:
        BadInput: with something else than limits.
    """
    if not isinstance(decided, Limits):
        raise BadInput(
            f"controller {controller.name!r} answered {short(decided)}; its `step` "
            "must return Limits."
        )


def check_command(command: Command, robot: Robot) -> None:
    """Check every value of a command before any of it is obeyed.

    Raises:
        BadInput: a value is not finite, a stiffness outside [0, 1], a set-point outside
            the joint's range, or there is not one value for each joint; LEDs or a
            sound do not fit the robot's (`check_leds`, `check_sound`).
    """
    if command.target is not None:
        check_target(command.target, robot)
    if command.stiffness is not None:
        check_stiffness(command.stiffness, robot)
    if command.leds is not None:
        groups = {group.name: group for group in robot.leds}
        for name, setting in command.leds.items():
            if name not in groups:
                raise UnknownName("LED group", name, groups, f"robot {robot.name!r}")
            check_leds(setting, groups[name])
    if command.sound is not None:
        check_sound(command.sound, robot.speakers)


def check_target(target: FloatArray, robot: Robot) -> FloatArray:
    """Return set-points (n_joints,) in rad as a checked copy.

    Raises:
        BadInput: there is not one number for each joint, within its range.
    """
    return _checked("set-point", target, robot, " rad", robot.lower, robot.upper)


def check_stiffness(stiffness: FloatArray, robot: Robot) -> FloatArray:
    """Return a stiffness (n_joints,) as a checked copy.

    Raises:
        BadInput: there is not one number for each joint, from 0 to 1.
    """
    return _checked("stiffness", stiffness, robot, "", 0.0, 1.0)


def check_shift(shift: FloatArray, robot: Robot) -> FloatArray:
    """Return a shift of the set-points (n_joints,) in rad as a checked copy.

    Raises:
        BadInput: there is not one value for each joint, or one is not finite or beyond
            half a turn.
    """
    return _checked("shift of the set-point", shift, robot, " rad", -pi, pi)


def check_leds(setting: LedSetting, group: LedGroup) -> None:
    """Check that a setting has the channels, and perhaps the count, of a group.

    Raises:
        BadInput: it has others.
    """
    n = group.n_channels
    if setting.colours.shape not in {(n,), (group.count, n)}:
        raise BadInput(
            f"colours for {group.name} have shape {setting.colours.shape}; give ({n},) "
            f"or ({group.count}, {n}): it is {group.count} LEDs, {group.channels}."
        )


def check_sound(sound: SoundChunk, speakers: Iterable[Speaker]) -> None:
    """Check that every loudspeaker plays the rate of a sound, and that there is one.

    Raises:
        BadInput: one does not, or there is none.
    """
    rates = [set(speaker.sample_rates_hz) for speaker in speakers]
    if not rates:
        raise BadInput(f"sound {sound.label!r} on a robot without a loudspeaker.")
    common = sorted(set.intersection(*rates))
    if sound.sample_rate_hz not in common:
        raise BadInput(
            f"sound {sound.label!r} has {sound.sample_rate_hz} samples a second; the "
            f"loudspeakers play {', '.join(map(str, common))}."
        )


def _checked(
    what: str,
    values: FloatArray,
    robot: Robot,
    unit: str,
    lower: FloatArray | float,
    upper: FloatArray | float,
) -> FloatArray:
    n = len(robot.joints)
    numbers = as_numbers(values)
    if numbers is None:
        raise BadInput(f"{what} is {short(values)}; give ({n},) numbers, one a joint.")
    if numbers.shape != (n,):
        raise BadInput(f"{what} has shape {numbers.shape}; give ({n},), one a joint.")
    inside = (numbers >= lower) & (numbers <= upper)  # false for NaN
    if inside.all():
        return numbers
    j = int(np.argmin(inside))
    low = np.broadcast_to(lower, (n,))[j]
    high = np.broadcast_to(upper, (n,))[j]
    raise BadInput(
        f"{what} of {robot.joint_names[j]} is {numbers[j]:g}{unit}; "
        f"accepted: {low:g} to {high:g}{unit}."
    )
