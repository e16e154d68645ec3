"""Where the links of a robot are, for many recorded moments at once.

The pose of a link in its parent's frame is T_origin · Rot(a, q), with the axis a and
the origin as in the URDF; poses in the base frame are products along the tree.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from sim.bullet_urdf import rotation_from_rpy

FloatArray = NDArray[np.float64]
Poses = Mapping[str, tuple[FloatArray, FloatArray]]
"""Link to rotations (n, 3, 3) and positions (n, 3) in m, in the base frame."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeJoint:
    """A joint of a URDF, fixed ones included."""

    name: str
    parent: str
    child: str
    rotation: FloatArray
    """(3, 3) of the origin, in the parent's frame."""
    position: FloatArray
    """(3,) of the origin in m."""
    axis: FloatArray | None
    """(3,) unit vector; None for a fixed joint."""


def read_tree(urdf: Path) -> tuple[TreeJoint, ...]:
    """Return the joints of a URDF that the loader has accepted, parents first."""
    root = ET.parse(urdf).getroot()
    waiting = [_joint(element) for element in root.findall("joint")]
    children = {joint.child for joint in waiting}
    known = {link.attrib["name"] for link in root.findall("link")} - children
    ordered: list[TreeJoint] = []
    while waiting:
        ready = [joint for joint in waiting if joint.parent in known]
        ordered += ready
        known |= {joint.child for joint in ready}
        waiting = [joint for joint in waiting if joint.child not in known]
    return tuple(ordered)


def turns(joint: TreeJoint, q: FloatArray | None, n: int) -> FloatArray:
    """Return rotations (n, 3, 3) of a joint's child in the frame of its parent.

    Args:
        joint: of the tree.
        q: (n,) angles in rad; None for a joint that does not move.
        n: how many.
    """
    if joint.axis is None or q is None:
        return np.broadcast_to(joint.rotation, (n, 3, 3))
    turned: FloatArray = Rotation.from_rotvec(q[:, None] * joint.axis).as_matrix()
    return joint.rotation @ turned


def place_links(
    tree: Sequence[TreeJoint], base: str, names: Sequence[str], q: FloatArray
) -> Poses:
    """Return the poses of all links.

    Args:
        tree: from `read_tree`.
        base: name of the base link.
        names: of the joints, in the order of `q`.
        q: (n, n_joints) angles in rad.
    """
    n = len(q)
    column = {name: q[:, j] for j, name in enumerate(names)}
    poses = {base: (np.broadcast_to(np.eye(3), (n, 3, 3)), np.zeros((n, 3)))}
    for joint in tree:
        rotation, p = poses[joint.parent]
        poses[joint.child] = (
            rotation @ turns(joint, column.get(joint.name), n),
            p + rotation @ joint.position,
        )
    return poses


def _joint(element: ET.Element) -> TreeJoint:
    origin = element.find("origin")
    attributes = {} if origin is None else origin.attrib
    axis = element.find("axis")
    a = _vector(axis.attrib["xyz"] if axis is not None else "1 0 0")
    is_fixed = element.attrib["type"] == "fixed"
    return TreeJoint(
        name=element.attrib["name"],
        parent=_link(element, "parent"),
        child=_link(element, "child"),
        rotation=rotation_from_rpy(_vector(attributes.get("rpy", "0 0 0"))),
        position=_vector(attributes.get("xyz", "0 0 0")),
        axis=None if is_fixed else a / np.linalg.norm(a),
    )


def _link(element: ET.Element, which: str) -> str:
    found = element.find(which)
    return "" if found is None else found.attrib["link"]


def _vector(text: str) -> FloatArray:
    return np.array([float(x) for x in text.split()])
