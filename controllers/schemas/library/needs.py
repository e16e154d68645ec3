"""Which resources a motion, a light or a sound takes, by the robot's own names.

What all motors of an arm move is asked for as the arm, so that lists of reservations
stay short.
"""

from collections.abc import Iterable, Set

from models import Robot, UnknownName
from models.resources import DeviceKind, ResourceNode


def resources_of_joints(robot: Robot, joints: Iterable[str]) -> tuple[str, ...]:
    """Return the resources whose motors drive some joints, and no others.

    Raises:
        UnknownName: the robot has no such joint.
    """
    motors = {robot.joints[robot.joint_index(joint)].motor for joint in joints}
    return _cover(robot.resources, _leaves(robot, DeviceKind.MOTOR, motors))


def resources_of_all(robot: Robot, kind: DeviceKind) -> tuple[str, ...]:
    """Return the resources that hold every device of a kind, and nothing else."""
    names = {
        name
        for node in robot.resources.walk()
        if node.device is not None and node.device.kind is kind
        for name in node.device.names
    }
    return _cover(robot.resources, _leaves(robot, kind, names))


def leaves_under(robot: Robot, names: Iterable[str]) -> tuple[str, ...]:
    """Return the leaves of some resources, in the order of the tree.

    Raises:
        UnknownName: the robot has no such resource.
    """
    nodes = {node.name: node for node in robot.resources.walk()}
    found: dict[str, None] = {}
    for name in names:
        if name not in nodes:
            raise UnknownName("Resource", name, nodes, f"robot {robot.name!r}")
        for node in nodes[name].walk():
            if not node.children:
                found[node.name] = None
    return tuple(found)


def set_of_states(robot: Robot, state: str) -> str | None:
    """Return the set that a state belongs to, such as `State`; None if in none."""
    for node in robot.resources.walk():
        if any(child.name == state for child in node.children):
            return node.name
    return None


def _leaves(robot: Robot, kind: DeviceKind, names: Set[str]) -> frozenset[str]:
    return frozenset(
        node.name
        for node in robot.resources.walk()
        if node.device is not None
        and node.device.kind is kind
        and names & set(node.device.names)
    )


def _cover(node: ResourceNode, leaves: Set[str]) -> tuple[str, ...]:
    """Return the fewest names under a node whose leaves are these."""
    if not node.children:
        return (node.name,) if node.name in leaves else ()
    if all(one.name in leaves for one in node.walk() if not one.children):
        return (node.name,)
    return tuple(name for child in node.children for name in _cover(child, leaves))
