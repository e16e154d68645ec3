"""The tree of resources of a robot whose folder has no `resources.yaml` (RM-42).

    root > State        the states that stored postures name
         > Leds         the LED groups
         > Audio        Loudspeakers, all of them: a robot says one thing at a time
         > All motors   joint groups, nested as their joints are; then motors
         > Stiffness    for each group directly under All motors, `<group>-stiffness`
         > Computing    CPU and Network, by rates

A branch with nothing in it is left out. Of joint groups that cross, the larger one is
in the tree (of equal ones the one named first); a group of all joints is `All motors`
itself. A motor is under the smallest group that has all its joints, so one that moves
both legs is a part of the legs, and of neither leg.
"""

from collections import Counter
from collections.abc import Iterable

from models.errors import RobotDataError
from models.resource_node import Device, DeviceKind, ResourceKind, ResourceNode
from models.robot import Robot

ALL_MOTORS = "All motors"
Groups = dict[str, frozenset[str]]
"""Joints of each group of the tree."""


def default_resources(robot: Robot) -> ResourceNode:
    """Return the tree that follows from groups, postures and devices of a robot.

    Raises:
        RobotDataError: two of these share a name, so the tree must be written.
    """
    groups = _nested_groups(robot)
    states = dict.fromkeys(x.state for x in robot.postures.values() if x.state)
    branches = (
        _composite("State", (_leaf(name, ResourceKind.STATE) for name in states)),
        _composite("Leds", (_device_leaf(x.name, DeviceKind.LEDS) for x in robot.leds)),
        _composite("Audio", _loudspeakers(robot)),
        _composite(ALL_MOTORS, _parts(ALL_MOTORS, groups, robot)),
        _composite("Stiffness", _stiffness_leaves(groups, robot)),
        _composite(
            "Computing",
            (_leaf(name, ResourceKind.CUMULATIVE) for name in ("CPU", "Network")),
        ),
    )
    root = _composite("root", (branch for branch in branches if branch.children))
    name, count = Counter(node.name for node in root.walk()).most_common(1)[0]
    if count > 1:
        raise RobotDataError(
            robot.folder / "resources.yaml",
            None,
            f"file is missing, and the default tree would have {count} resources "
            f"{name!r} (a motor, joint group, LED group, speaker or state); write the "
            "file, or rename one of them.",
        )
    return root


def motor_leaf(name: str) -> ResourceNode:
    """Return the leaf of a motor, which is called as the motor is."""
    return _device_leaf(name, DeviceKind.MOTOR)


def _composite(name: str, children: Iterable[ResourceNode]) -> ResourceNode:
    return ResourceNode(name=name, children=tuple(children))


def _leaf(name: str, kind: ResourceKind) -> ResourceNode:
    return ResourceNode(name=name, kind=kind)


def _device_leaf(name: str, kind: DeviceKind) -> ResourceNode:
    return ResourceNode(name=name, device=Device(kind=kind, names=(name,)))


def _loudspeakers(robot: Robot) -> tuple[ResourceNode, ...]:
    names = tuple(speaker.name for speaker in robot.speakers)
    device = Device(kind=DeviceKind.SPEAKER, names=names)
    return (ResourceNode(name="Loudspeakers", device=device),) if names else ()


def _nested_groups(robot: Robot) -> Groups:
    """Return the groups that do not cross, the largest first, with all joints above."""
    nested: Groups = {ALL_MOTORS: frozenset(robot.joint_names)}
    by_size = sorted(robot.groups.items(), key=lambda item: -len(set(item[1])))
    for name, members in by_size:
        joints = frozenset(members)
        fits = all(joints < other or not joints & other for other in nested.values())
        if fits and any(joints.issuperset(motor.joints) for motor in robot.motors):
            nested[name] = joints
    return nested


def _smallest_around(joints: frozenset[str], groups: Groups) -> str:
    return min(
        (name for name, others in groups.items() if joints <= others),
        key=lambda name: len(groups[name]),
    )


def _parts(name: str, groups: Groups, robot: Robot) -> list[ResourceNode]:
    """Return the motors and groups directly in a group, in the order of the joints."""
    inner = {
        group: joints
        for group, joints in groups.items()
        if joints < groups[name]
        and not any(joints < other < groups[name] for other in groups.values())
    }
    parts = [
        (robot.joint_index(motor.name), motor_leaf(motor.name))
        for motor in robot.motors
        if _smallest_around(frozenset(motor.joints), groups) == name
    ]
    parts += [
        (
            min(robot.joint_index(joint) for joint in joints),
            _composite(group, _parts(group, groups, robot)),
        )
        for group, joints in inner.items()
    ]
    return [node for _, node in sorted(parts, key=lambda part: part[0])]


def _stiffness_leaves(groups: Groups, robot: Robot) -> list[ResourceNode]:
    """Return a leaf for each outermost group, and for each joint outside of them."""
    every = groups[ALL_MOTORS]
    outermost = sorted(
        (
            name
            for name, joints in groups.items()
            if joints < every
            and not any(joints < other < every for other in groups.values())
        ),
        key=lambda name: min(robot.joint_index(joint) for joint in groups[name]),
    )
    inside = {joint for name in outermost for joint in groups[name]}
    rest = [joint for joint in robot.joint_names if joint not in inside]
    return [
        ResourceNode(
            name=f"{name}-stiffness",
            device=Device(kind=DeviceKind.STIFFNESS, names=(name,)),
        )
        for name in (*outermost, *rest)
    ]
