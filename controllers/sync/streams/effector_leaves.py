"""Which leaves of the resource tree the streams of a robot command."""

from collections.abc import Mapping
from dataclasses import dataclass

from models import DeviceKind, Robot
from models.robot import max_speed


@dataclass(frozen=True, kw_only=True)
class EffectorLeaves:
    """From the names of a library to the leaves behind them."""

    motors: Mapping[str, str]
    """Motor to the leaf that takes its set-point."""
    max_speeds: Mapping[str, float]
    """Motor to its largest speed, that of its slowest joint, in rad/s."""
    led_channels: Mapping[str, int]
    """Leaf with LEDs to their channels: 3 for red, green and blue, 1 for one colour."""
    speaker: str | None
    """Leaf of the loudspeakers; None: the robot is dumb."""


def effector_leaves(robot: Robot) -> EffectorLeaves:
    """Read the leaves from a robot's data."""
    channels = {group.name: group.n_channels for group in robot.leds}
    motors: dict[str, str] = {}
    lamps: dict[str, int] = {}
    speaker = None
    for node in robot.resources.walk():
        device = node.device
        if device is None:
            continue
        if device.kind is DeviceKind.MOTOR:
            motors[device.names[0]] = node.name
        elif device.kind is DeviceKind.LEDS:
            lamps[node.name] = channels[device.names[0]]
        elif device.kind is DeviceKind.SPEAKER:
            speaker = node.name
    return EffectorLeaves(
        motors=motors,
        max_speeds={name: max_speed(robot, name) for name in robot.motor_names},
        led_channels=lamps,
        speaker=speaker,
    )
