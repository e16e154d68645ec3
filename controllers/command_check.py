"""What a robot refuses to be told."""

from collections.abc import Iterable
from math import pi

import numpy as np
from numpy.typing import NDArray

from controllers.effectors import LedSetting, SoundChunk
from controllers.robot_interface import Command
from models import BadInput, LedGroup, Robot, Speaker, UnknownName

FloatArray = NDArray[np.float64]


def check_command(command: Command, robot: Robot) -> None:
    """Check every value of a command before any of it is obeyed.

    Raises:
        BadInput: a value is not finite, a stiffness outside [0, 1], a set-point outside
            the joint's range, or there is not one value for each joint; LEDs or a
            sound do not fit the robot's (`check_leds`, `check_sound`).
    """
    if command.target is not None:
        limits = robot.lower, robot.upper
        _check_values("set-point", command.target, robot, " rad", *limits)
    if command.stiffness is not None:
        _check_values("stiffness", command.stiffness, robot, "", 0.0, 1.0)
    if command.leds is not None:
        groups = {group.name: group for group in robot.leds}
        for name, setting in command.leds.items():
            if name not in groups:
                raise UnknownName("LED group", name, groups, f"robot {robot.name!r}")
            check_leds(setting, groups[name])
    if command.sound is not None:
        check_sound(command.sound, robot.speakers)


def check_shift(shift: FloatArray, robot: Robot) -> None:
    """Check a shift of the set-points before it is put on top of them.

    Raises:
        BadInput: there is not one value for each joint, or one is not finite or beyond
            half a turn.
    """
    _check_values("shift of the set-point", np.asarray(shift), robot, " rad", -pi, pi)


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


def _check_values(
    what: str,
    values: FloatArray,
    robot: Robot,
    unit: str,
    lower: FloatArray | float,
    upper: FloatArray | float,
) -> None:
    n = len(robot.joints)
    if values.shape != (n,):
        raise BadInput(f"{what} has shape {values.shape}; give ({n},), one a joint.")
    inside = (values >= lower) & (values <= upper)  # false for NaN
    if inside.all():
        return
    j = int(np.argmin(inside))
    low = np.broadcast_to(lower, (n,))[j]
    high = np.broadcast_to(upper, (n,))[j]
    raise BadInput(
        f"{what} of {robot.joint_names[j]} is {values[j]:g}{unit}; "
        f"accepted: {low:g} to {high:g}{unit}."
    )
