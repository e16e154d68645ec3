"""Robot of a 3-D replay: poses and shapes of its links.

The pose of a link in its parent's frame is T_origin · Rot(a, q), with the axis a and
the origin as in the URDF; poses in the base frame are products along the tree, computed
for many times at once.

Shapes are smooth and grey, with a drum at every joint: those of the still picture
(`sim.sensors.drawing.meshes`). A lamp is an LED group with a known position, in
the mean colour of the group.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import LedGroup, Robot
from nao_testbed.models.load.plain_urdf import plain_urdf
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.sensors.drawing.meshes import Shape, drums, read_body

Poses = Mapping[str, tuple[FloatArray, FloatArray]]
"""Link to rotations (n, 3, 3) and positions (n, 3) in m, in the base frame."""


FLAT_M2 = 1e-12
"""Twice the area of a triangle in m² below which it has no direction."""
CONVEX_M = 1e-7
"""Largest distance of a point outside a plane of a convex shape, in m."""
Hull = tuple[FloatArray, FloatArray]
"""Normals (m, 3) and offsets (m,) in m of a convex hull."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeJoint:
    """Joint of a URDF, possibly fixed."""

    name: str
    parent: str
    child: str
    rotation: FloatArray
    """(3, 3) rotation of the origin in the parent's frame."""
    position: FloatArray
    """(3,) position of the origin in m."""
    axis: FloatArray | None
    """(3,) unit vector; None for a fixed joint."""


def read_tree(urdf: Path) -> tuple[TreeJoint, ...]:
    """Return the joints of a URDF that the loader has accepted, parents first."""
    root = plain_urdf(urdf)
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
        joint: joint of the tree.
        q: (n,) angles in rad; None for a joint that does not move.
        n: number of rotations.
    """
    if joint.axis is None or q is None:
        return np.broadcast_to(joint.rotation, (n, 3, 3))
    x, y, z = joint.axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])  # a x
    s, c = np.sin(q)[:, None, None], np.cos(q)[:, None, None]
    turned = np.eye(3) + s * cross + (1.0 - c) * (cross @ cross)  # Rodrigues
    placed: FloatArray = joint.rotation @ turned
    return placed


def place_links(
    tree: Sequence[TreeJoint], base: str, names: Sequence[str], q: FloatArray
) -> Poses:
    """Return the poses of all links.

    Args:
        tree: tree from `read_tree`.
        base: name of the base link.
        names: names of the joints, in the order of `q`.
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Rig:
    """Drawable robot of a replay."""

    robot: Robot
    tree: tuple[TreeJoint, ...]
    """Joints without the drums, which are shapes of the links that they turn."""
    shapes: tuple[Shape, ...]
    n_left_out: int
    """Number of meshes whose files cannot be read."""


def clothe(robot: Robot, q: FloatArray) -> Rig:
    """Return the shapes of a robot.

    Args:
        robot: any robot; each joint gets a drum as long as the surrounding shapes.
        q: (n_joints,) in rad, the posture for the size of the drums.
    """
    tree = read_tree(robot.urdf)
    poses = place_links(tree, robot.base_link, robot.joint_names, q[None, :])
    frames = {link: (p[0], R[0]) for link, (R, p) in poses.items()}
    body = read_body(robot)
    shapes = (*body.shapes, *drums(robot, body, frames))
    return Rig(robot=robot, tree=tree, shapes=shapes, n_left_out=body.n_left_out)


OFF = 45.0
"""Colour of a lamp that is off, from 0 to 255: a dark grey, visible on light parts."""
PARTS = {"rgb": (0, 1, 2), "blue": (2,), "white": (0, 1, 2)}
"""Indices of red, green and blue that the channels of a group set."""


def lamp_places(body: Rig) -> tuple[tuple[LedGroup, FloatArray], ...]:
    """Return the LED groups with a known position, and the visible positions.

    Shapes are opaque, so a position inside the shapes of its link is moved to the
    surface: forwards, upwards or sideways, along the axis that leads away from the
    centre of the link.

    Returns:
        Groups, each with its (3,) position in the link frame in m.
    """
    groups = [group for group in body.robot.leds if group.place is not None]
    hull_of = cache(_hull)
    shapes = {
        link: [s for s in body.shapes if s.link == link and s.joint is None]
        for link in {group.link for group in groups}
    }
    return tuple(
        (group, _on_the_outside(np.array(group.place), shapes[group.link], hull_of))
        for group in groups
    )


def lamp_colours(group: LedGroup, seen: FloatArray) -> NDArray[np.intp]:
    """Return colours (n, 3) from 0 to 255: grey fades with increasing brightness.

    Args:
        group: LED group.
        seen: (n, n_channels) mean brightness of the group, in [0, 1].
    """
    light = np.zeros((len(seen), 3))
    light[:, PARTS[group.channels]] = seen
    off = OFF * (1.0 - light.max(axis=1, keepdims=True))
    rgb: NDArray[np.intp] = np.rint(off + 255.0 * light).astype(np.intp)
    return rgb


def _on_the_outside(
    place: FloatArray,
    shapes: Sequence[Shape],
    hull_of: Callable[[Shape], Hull | None],
) -> FloatArray:
    if not shapes:
        return place
    boxes = [(shape.points.min(axis=0), shape.points.max(axis=0)) for shape in shapes]
    least, most = np.array(boxes).swapaxes(0, 1)
    away = place - 0.5 * (least.min(axis=0) + most.max(axis=0))
    axis = int(np.abs(away).argmax())
    way = np.eye(3)[axis] * (1.0 if away[axis] >= 0.0 else -1.0)
    for _ in shapes:  # outside one hull it may be inside another
        for shape, low, high in zip(shapes, least, most, strict=True):
            is_in_box = (low <= place).all() and (place <= high).all()
            hull = hull_of(shape) if is_in_box else None
            if hull is None:
                continue
            normals, offsets = hull
            level = normals @ place + offsets
            if (level < 0.0).all():
                rise = normals @ way
                ahead = rise > 1e-12
                place = place + way * (-level[ahead] / rise[ahead]).min()
    return place


def _hull(shape: Shape) -> Hull | None:
    """Return the planes of the hull; None for a flat shape."""
    planes = _planes(shape)
    if planes is not None:
        return planes
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415  # slow

    try:
        sides = ConvexHull(shape.points).equations
    except (QhullError, ValueError):
        return None
    return sides[:, :3], sides[:, 3]


def _planes(shape: Shape) -> Hull | None:
    """Return the planes of the triangles of a convex shape; None for another one."""
    a, b, c = np.moveaxis(shape.points[shape.triangles], 1, 0)
    normals = np.cross(b - a, c - a)
    size = np.linalg.norm(normals, axis=1)
    normals, a = normals[size > FLAT_M2], a[size > FLAT_M2]
    if len(normals) < 4:
        return None
    normals /= size[size > FLAT_M2, None]
    offsets = -np.einsum("ij,ij->i", normals, a)
    inside = shape.points.mean(axis=0)
    sides = -np.sign(normals @ inside + offsets)  # outwards
    normals, offsets = sides[:, None] * normals, sides * offsets
    is_convex = (normals @ shape.points.T + offsets[:, None]).max() < CONVEX_M
    return (normals, offsets) if is_convex and sides.all() else None
