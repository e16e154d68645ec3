"""Which joints a resource commands, read from the robot's data (RM-2, RM-3).

    leaf -> device -> motor            -> its joints: their set-points
                   -> joints and groups -> their torque limits (stiffness)

A joint takes its set-point from one leaf at most, and its stiffness from one leaf at
most: else two owners could command it at once (RM-14).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models import BadInput, Robot, UnknownName
from models.resource_node import Device, DeviceKind, ResourceNode


@dataclass(frozen=True, kw_only=True)
class JointLeaf:
    """A resource that commands joints."""

    name: str
    kind: DeviceKind
    """MOTOR: their set-points; STIFFNESS: their torque limits."""
    joints: NDArray[np.intp]
    """(n,) places in every joint array: of a motor its leading joint first, then those
    that it moves too; of a stiffness leaf rising."""


@dataclass(frozen=True, kw_only=True)
class DeviceMap:
    """The leaves of a robot that command something on it."""

    joint_leaves: tuple[JointLeaf, ...]
    others: tuple[tuple[str, DeviceKind], ...]
    """Leaves of other devices (LEDs, speakers) and what these are."""

    def of_kind(self, kind: DeviceKind) -> tuple[JointLeaf, ...]:
        """Return the leaves that command joints in one way."""
        return tuple(leaf for leaf in self.joint_leaves if leaf.kind is kind)


def map_devices(root: ResourceNode, robot: Robot) -> DeviceMap:
    """Find the joints of every leaf.

    Raises:
        UnknownName: a device names a motor, joint or group that the robot has not.
        BadInput: a joint would obey two leaves, or a composite commands a device.
    """
    joint_leaves: list[JointLeaf] = []
    others: list[tuple[str, DeviceKind]] = []
    for node, device in _devices(root):
        if device.kind is DeviceKind.MOTOR:
            joints = _joints_of_motor(node.name, device.names, robot)
        elif device.kind is DeviceKind.STIFFNESS:
            joints = _joints_of_groups(device.names, robot)
        else:
            others.append((node.name, device.kind))
            continue
        places = np.array(joints, dtype=np.intp)
        places.setflags(write=False)
        joint_leaves.append(JointLeaf(name=node.name, kind=device.kind, joints=places))
    _check_one_leaf_a_joint(joint_leaves, robot)
    return DeviceMap(joint_leaves=tuple(joint_leaves), others=tuple(others))


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
    motors = {motor.name: motor.joints for motor in robot.motors}
    if names[0] not in motors:
        raise UnknownName("Motor", names[0], motors, f"robot {robot.name!r}")
    return [robot.joint_index(joint) for joint in motors[names[0]]]


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


def _check_one_leaf_a_joint(leaves: Iterable[JointLeaf], robot: Robot) -> None:
    commanded: dict[tuple[DeviceKind, int], str] = {}
    for leaf in leaves:
        for joint in leaf.joints.tolist():
            first = commanded.setdefault((leaf.kind, joint), leaf.name)
            if first != leaf.name:
                raise BadInput(
                    f"joint {robot.joint_names[joint]!r} would obey two resources, "
                    f"{first!r} and {leaf.name!r} ({leaf.kind}); name its device in "
                    "one of them."
                )
