"""Resources as data: a tree with leaves for one behaviour at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum


class ResourceKind(StrEnum):
    """Kind of sharing of a leaf."""

    EXCLUSIVE = "exclusive"
    """One user at a time: a motor, a microphone, a ball."""
    STATE = "state"
    """Shared by all users of the state; one of its siblings is active."""
    CUMULATIVE = "cumulative"
    """Shared by rates that sum to at most 100 %: processor, network."""


class DeviceKind(StrEnum):
    """Kind of robot device that a leaf commands."""

    MOTOR = "motor"
    """Set-points of the joints of one motor."""
    STIFFNESS = "stiffness"
    """Torque limits of a joint group."""
    LEDS = "leds"
    SPEAKER = "speaker"


@dataclass(frozen=True, kw_only=True)
class Device:
    """Part of a robot that a leaf commands."""

    kind: DeviceKind
    names: tuple[str, ...]
    """Names in the robot: a motor; joints or joint groups; LED groups; speakers."""
    joints: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """Joints that the motor moves, or whose torque is limited; derived from the names
    and the robot. Empty: the same as the names."""


@dataclass(frozen=True, kw_only=True)
class ResourceNode:
    """Leaf, or composite of the nodes below it."""

    name: str
    kind: ResourceKind = ResourceKind.EXCLUSIVE
    """Kind of a leaf; meaningless for composites."""
    children: tuple["ResourceNode", ...] = ()
    device: Device | None = None
    """Device of the leaf; None: no device of the robot (a state, a rate, a ball, a
    microphone)."""

    def walk(self) -> Iterator["ResourceNode"]:
        """Yield this node and its descendants, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()
