"""Map from resources to devices, read from the robot's data.

    leaf -> device -> motor             -> its joints: their set-points
                   -> joints and groups -> their torque limits (stiffness)
                   -> LED groups        -> their colours
                   -> loudspeakers      -> sound

At most one leaf commands a joint's set-point, at most one its stiffness, and at most
one the colours of an LED group; otherwise two owners could command the same device. All
loudspeakers form one leaf, since a robot says one thing at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import BadInput, LedGroup, Robot, Speaker, UnknownName
from nao_testbed.models.resources import Device, DeviceKind, ResourceNode


@dataclass(frozen=True, kw_only=True)
class JointLeaf:
    """Resource that commands joints."""

    name: str
    kind: DeviceKind
    """MOTOR: set-points; STIFFNESS: torque limits."""
    joints: NDArray[np.intp]
    """(n,) indices in joint arrays. Motor: its leading joint first, then the other
    joints that it moves. Stiffness leaf: ascending."""


@dataclass(frozen=True, kw_only=True)
class LedLeaf:
    """Resource that commands LEDs."""

    name: str
    groups: tuple[LedGroup, ...]
    """LED groups, which get the same colours."""


@dataclass(frozen=True, kw_only=True)
class SpeakerLeaf:
    """Resource that commands the loudspeakers."""

    name: str
    speakers: tuple[Speaker, ...]


@dataclass(frozen=True, kw_only=True)
class DeviceMap:
    """Leaves of a robot that command devices."""

    joint_leaves: tuple[JointLeaf, ...]
    led_leaves: tuple[LedLeaf, ...] = ()
    speaker_leaf: SpeakerLeaf | None = None

    def of_kind(self, kind: DeviceKind) -> tuple[JointLeaf, ...]:
        """Return the leaves that command the given quantity of joints."""
        return tuple(leaf for leaf in self.joint_leaves if leaf.kind is kind)


def map_devices(root: ResourceNode, robot: Robot) -> DeviceMap:
    """Find the joints, LEDs and loudspeakers of every leaf.

    Raises:
        UnknownName: a device names a part that the robot does not have.
        BadInput: two leaves command one device, or a composite commands a device.
    """
    joint_leaves: list[JointLeaf] = []
    led_leaves: list[LedLeaf] = []
    speaker_leaves: list[SpeakerLeaf] = []
    for node, device in _devices(root):
        if device.kind is DeviceKind.MOTOR:
            joints = _joints_of_motor(node.name, device.names, robot)
        elif device.kind is DeviceKind.STIFFNESS:
            joints = _joints_of_groups(device.names, robot)
        elif device.kind is DeviceKind.LEDS:
            groups = _named("LED group", device.names, robot.leds, robot)
            led_leaves.append(LedLeaf(name=node.name, groups=groups))
            continue
        else:
            speakers = _named("Loudspeaker", device.names, robot.speakers, robot)
            speaker_leaves.append(SpeakerLeaf(name=node.name, speakers=speakers))
            continue
        places = np.array(joints, dtype=np.intp)
        places.setflags(write=False)
        joint_leaves.append(JointLeaf(name=node.name, kind=device.kind, joints=places))
    names = robot.joint_names
    joints_of = (
        (f"joint {names[joint]!r} ({leaf.kind})", leaf.name)
        for leaf in joint_leaves
        for joint in leaf.joints.tolist()
    )
    groups_of = (
        (f"LED group {group.name!r}", leaf.name)
        for leaf in led_leaves
        for group in leaf.groups
    )
    _check_one_leaf_each((*joints_of, *groups_of))
    return DeviceMap(
        joint_leaves=tuple(joint_leaves),
        led_leaves=tuple(led_leaves),
        speaker_leaf=_single(speaker_leaves),
    )


def _devices(root: ResourceNode) -> Iterator[tuple[ResourceNode, Device]]:
    for node in root.walk():
        if node.device is None:
            continue
        if node.children:
            raise BadInput(
                f"resource {node.name!r} is a composite and commands a device; only a "
                "leaf may: move the device to one."
            )
        yield node, node.device


def _joints_of_motor(leaf: str, names: tuple[str, ...], robot: Robot) -> list[int]:
    if len(names) != 1:
        raise BadInput(
            f"resource {leaf!r} commands the motors {', '.join(names) or 'none'}; give "
            "one motor a leaf, and put the leaves under a composite."
        )
    if names[0] not in robot.servos:
        raise UnknownName("Motor", names[0], robot.servos, f"robot {robot.name!r}")
    return [robot.joint_index(joint) for joint in robot.servos[names[0]]]


def _joints_of_groups(names: Iterable[str], robot: Robot) -> list[int]:
    joints: set[int] = set()
    for name in names:
        if name in robot.groups:
            joints.update(robot.joint_index(joint) for joint in robot.groups[name])
        elif name in robot.joint_names:
            joints.add(robot.joint_index(name))
        else:
            known = (*robot.groups, *robot.joint_names)
            where = f"robot {robot.name!r}"
            raise UnknownName("Joint or joint group", name, known, where)
    return sorted(joints)


_Part = TypeVar("_Part", LedGroup, Speaker)


def _named(
    kind: str, names: Iterable[str], parts: Iterable[_Part], robot: Robot
) -> tuple[_Part, ...]:
    known = {part.name: part for part in parts}
    for name in names:
        if name not in known:
            raise UnknownName(kind, name, known, f"robot {robot.name!r}")
    return tuple(known[name] for name in names)


def _check_one_leaf_each(devices: Iterable[tuple[str, str]]) -> None:
    """Raise if two leaves command the same device."""
    commanded: dict[str, str] = {}
    for device, leaf in devices:
        first = commanded.setdefault(device, leaf)
        if first != leaf:
            raise BadInput(
                f"{device} would obey two resources, {first!r} and {leaf!r}; name it "
                "in one of them."
            )


def _single(leaves: Sequence[SpeakerLeaf]) -> SpeakerLeaf | None:
    if len(leaves) > 1:
        raise BadInput(
            f"loudspeakers obey {' and '.join(repr(leaf.name) for leaf in leaves)}, "
            "but the robot takes one sound at a time; name them all in one resource."
        )
    return leaves[0] if leaves else None
