"""Streams: the output of one output command, one item per slot.

Converters make streams, and the transmitter plays them [CN1396856, fig. 18]. Items with
the same index in the streams of a group are sent in the same slot. A slot takes 10 ms;
item k is sent k slots after the start.

This module defines the protocol, the content of an output command (motions, a light
pattern or a sound), and the leaves of the resource tree for the effectors of a robot.
`motion_stream` and `light_and_sound_streams` implement the streams.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from nao_testbed.controllers.arbitration.gate.writers import Value
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.models import DeviceKind, Robot, TestbedError
from nao_testbed.models.library import LightPattern, Motion, Sound, Unit
from nao_testbed.models.robot import max_speed


@dataclass(frozen=True, kw_only=True)
class EffectorLeaves:
    """Mapping from the names of a library to resource leaves."""

    motors: Mapping[str, str]
    """Motor to the leaf of its set-point."""
    max_speeds: Mapping[str, float]
    """Motor to its maximum speed, that of its slowest joint, in rad/s."""
    led_channels: Mapping[str, int]
    """Leaf with LEDs to the number of channels: 3 for red, green and blue, 1 for one
    colour."""
    speaker: str | None
    """Leaf of the loudspeakers; None: the robot has no loudspeaker."""


def effector_leaves(robot: Robot) -> EffectorLeaves:
    """Return the leaves of a robot's effectors."""
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
        max_speeds={name: max_speed(robot, name) for name in robot.servo_names},
        led_channels=lamps,
        speaker=speaker,
    )


Content = tuple[Motion, ...] | LightPattern | Sound
"""Consecutive motions, a light pattern, or a sound."""

STAY = "stay"
"""Name of an empty sequence of motions: the robot is already there."""


def name_of(content: Content) -> str:
    """Return the name of a content; for motions, all their names."""
    if isinstance(content, tuple):
        return ", ".join(motion.name for motion in content) or STAY
    return content.name


SLOT_S = 0.01
"""Length of a device slot, one tick of the ledger, in s."""

Present = Mapping[str, float]
"""Leaf of a motor to its present set-point in rad (`Gate.present`)."""

Item = Mapping[str, Value]
"""Leaf to its command of one slot; empty if no command changes."""

NO_PARTS: Mapping[int, str] = MappingProxyType({})
"""Value of `parts` for a stream with a single part."""


class CannotBegin(TestbedError):
    """A stream cannot begin from the present state of the robot; nothing was sent."""

    def __init__(self, label: str, reason: str) -> None:
        """Name the stream and the reason."""
        self.label = label
        self.reason = reason
        super().__init__(f"{label!r} cannot begin: {reason}")


class Stream(Protocol):
    """Output of one output command, played once."""

    @property
    def unit(self) -> Unit:
        """Kind of effector; it gives the order within a slot."""

    @property
    def label(self) -> str:
        """Name of the motion, light pattern or sound, for people."""

    @property
    def token(self) -> Token:
        """Token of a reservation of all its leaves."""

    @property
    def leaves(self) -> tuple[str, ...]:
        """All leaves that its items may command, sorted."""

    @property
    def parts(self) -> Mapping[int, str]:
        """For several motions: index of each motion's first item to its name."""

    def begin(self, present: Present) -> int:
        """Prepare all items; called by the transmitter in the slot of the start.

        Args:
            present: set-points from which the motors start.

        Returns:
            The number of items, at least 1.

        Raises:
            CannotBegin: the stream cannot start from these set-points.
        """

    def item(self, k: int) -> Item:
        """Return item `k`, counted from 0; callable after `begin`.

        The mapping is read-only and valid until the next call.
        """

    def rejoin(self, k: int, present: Present) -> Sequence[Item]:
        """Return items that move the motors from `present` to the start of item `k`.

        The transmitter plays them after an interrupt, before item `k`. Empty if item
        `k` can follow at once, as always for lights and sounds.
        """
