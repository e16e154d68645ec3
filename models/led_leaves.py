"""Which leaves light up under a name of the resource tree."""

from models.resource_node import DeviceKind, ResourceNode
from models.robot import Robot


def led_leaves(robot: Robot) -> dict[str, tuple[str, ...]]:
    """Return the leaves under each resource that holds nothing but LEDs.

    Returns:
        Name of a leaf or composite to its leaves, in the order of the tree.
    """
    return {
        node.name: leaves
        for node in robot.resources.walk()
        if (leaves := _leaves(node))
    }


def _leaves(node: ResourceNode) -> tuple[str, ...]:
    """Return the leaves under a node; none if one of them is no LED."""
    leaves = [leaf for leaf in node.walk() if not leaf.children]
    kinds = {leaf.device.kind if leaf.device else None for leaf in leaves}
    return tuple(leaf.name for leaf in leaves) if kinds == {DeviceKind.LEDS} else ()
