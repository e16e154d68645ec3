"""Streams: what one output command puts out, one item in each slot.

The converters make streams, the transmitter plays them [CN1396856, fig. 18]. Items of
one number in the streams of a group belong to one instant. A slot takes 10 ms;
item k leaves in the slot of the start plus k.

Here are the protocol, what an output command may put out (motions, a light pattern or a
sound), and the leaves of the resource tree that the effectors of a robot stand for.
`motion_stream` and `light_and_sound_streams` hold the streams themselves.
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


Content = tuple[Motion, ...] | LightPattern | Sound
"""Motions that follow each other, a light pattern, or a sound."""

STAY = "stay"
"""Name of no motions: the way to where the robot is."""


def name_of(content: Content) -> str:
    """Return the name by which its data are known: of motions, all their names."""
    if isinstance(content, tuple):
        return ", ".join(motion.name for motion in content) or STAY
    return content.name


SLOT_S = 0.01
"""A device slot, one tick of the ledger, in s."""

Present = Mapping[str, float]
"""Leaf of a motor to its set-point in force, in rad (`Gate.present`)."""

Item = Mapping[str, Value]
"""Leaf to what it is commanded in one slot; empty where nothing changes."""

NO_PARTS: Mapping[int, str] = MappingProxyType({})
"""Of a stream that is one whole."""


class CannotBegin(TestbedError):
    """A stream cannot begin from the present state of the robot; nothing was sent."""

    def __init__(self, label: str, reason: str) -> None:
        """Name the stream and the reason."""
        self.label = label
        self.reason = reason
        super().__init__(f"{label!r} cannot begin: {reason}")


class Stream(Protocol):
    """Output of one output command; it is played once."""

    @property
    def unit(self) -> Unit:
        """The kind of effector, which gives its place within an instant."""

    @property
    def label(self) -> str:
        """Name for people: that of the motion, light pattern or sound."""

    @property
    def token(self) -> Token:
        """Proof of a reservation that covers all its leaves."""

    @property
    def leaves(self) -> tuple[str, ...]:
        """Every leaf that its items may command, sorted."""

    @property
    def parts(self) -> Mapping[int, str]:
        """Of a way of several motions: the first item of each, to its name."""

    def begin(self, present: Present) -> int:
        """Prepare all items; the transmitter calls it in the slot of the start.

        Args:
            present: set-points from which the motors start.

        Returns:
            The number of items, at least 1.

        Raises:
            CannotBegin: it cannot start from there.
        """

    def item(self, k: int) -> Item:
        """Return what goes out at instant `k`, from 0; after `begin`.

        The mapping is read-only and good until the next call.
        """

    def rejoin(self, k: int, present: Present) -> Sequence[Item]:
        """Return items that lead from `present` to where item `k` can follow.

        The transmitter plays them when an interrupt is over, before item `k`. Empty
        where item `k` can follow at once, as for lights and sounds always.
        """
