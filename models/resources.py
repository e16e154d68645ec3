"""What a resource is, as data: a tree whose leaves one behaviour at a time may use."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class ResourceKind(StrEnum):
    """How a leaf is shared."""

    EXCLUSIVE = "exclusive"
    """One user at a time: a motor, a microphone, a ball."""
    STATE = "state"
    """Shared by all who need the state; one of its siblings is active."""
    CUMULATIVE = "cumulative"
    """Shared by rates that sum to at most 100 %: processor, network."""


class DeviceKind(StrEnum):
    """What a leaf commands on the robot."""

    MOTOR = "motor"
    """Set-points of the joints of one motor."""
    STIFFNESS = "stiffness"
    """Torque limits of a joint group."""
    LEDS = "leds"
    SPEAKER = "speaker"


@dataclass(frozen=True, kw_only=True)
class Device:
    """The part of a robot that a leaf commands."""

    kind: DeviceKind
    names: tuple[str, ...]
    """A motor; joints or joint groups; LED groups; speakers: names of the robot's."""
    joints: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Joints that a motor moves, or whose torque is limited; they follow from the names
    and the robot. None given: called as the names are."""


@dataclass(frozen=True, kw_only=True)
class ResourceNode:
    """A leaf, or a composite of what is under it."""

    name: str
    kind: ResourceKind = ResourceKind.EXCLUSIVE
    """Of a leaf; a composite has none of its own."""
    children: tuple["ResourceNode", ...] = ()
    device: Device | None = None
    """None: nothing on the robot (a state, a rate, a ball, a microphone)."""

    def walk(self) -> Iterator["ResourceNode"]:
        """Yield this node and all below it, from the top, in their order."""
        yield self
        for child in self.children:
            yield from child.walk()
