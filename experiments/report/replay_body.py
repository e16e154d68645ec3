"""The robot of a 3-D replay: where its links are, and what they look like.

The pose of a link in its parent's frame is T_origin · Rot(a, q), with the axis a and
the origin as in the URDF; poses in the base frame are products along the tree, for many
recorded moments at once.

Shapes are smooth and grey, with a drum at every joint: those of the still picture
(`sim.engine.picture_urdf`), read back as meshes.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from models import Robot
from sim.engine.picture_urdf import drum_of, write_picture_urdf
from sim.engine.urdf import rotation_from_rpy

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


GREY = 0.7
"""Of a shape without a colour."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shape:
    """A mesh that is fixed to a link."""

    link: str
    points: FloatArray
    """(n, 3) in the link frame, in m."""
    triangles: NDArray[np.intp]
    """(m, 3) rows of `points`."""
    rgb: tuple[int, int, int]
    joint: str | None
    """The joint whose drum it is; None for a part of the body."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Body:
    """A robot as a replay draws it."""

    robot: Robot
    tree: tuple[TreeJoint, ...]
    """Without the drums: they are shapes of the links that they turn."""
    shapes: tuple[Shape, ...]
    n_left_out: int
    """Meshes whose files cannot be read."""


def clothe(robot: Robot, q: FloatArray) -> Body:
    """Return the shapes of a robot.

    Args:
        robot: any robot; each joint gets a drum as long as what is around it.
        q: (n_joints,) in rad, the posture in which the drums are measured.
    """
    tree = read_tree(robot.urdf)
    poses = place_links(tree, robot.base_link, robot.joint_names, q[None, :])
    frames = {link: (p[0], R[0]) for link, (R, p) in poses.items()}
    shapes: list[Shape] = []
    left_out = 0
    with TemporaryDirectory() as folder:
        dressed = write_picture_urdf(robot, frames, robot.joint_names, Path(folder))
        root = ET.parse(dressed.urdf).getroot()
        drums = {drum_of(name): name for name in robot.joint_names}
        carrier = {joint.child: joint.parent for joint in read_tree(dressed.urdf)}
        greys = _materials(root)
        for link in root.findall("link"):
            name = link.attrib["name"]
            for visual in link.findall("visual"):
                shape = _shape(
                    visual,
                    link=carrier[name] if name in drums else name,
                    joint=drums.get(name),
                    greys=greys,
                )
                if shape is None:
                    left_out += 1
                else:
                    shapes.append(shape)
    return Body(robot=robot, tree=tree, shapes=tuple(shapes), n_left_out=left_out)


def _shape(
    visual: ET.Element, *, link: str, joint: str | None, greys: dict[str, float]
) -> Shape | None:
    mesh = visual.find("geometry/mesh")
    read = None if mesh is None else _read_mesh(Path(mesh.attrib["filename"]))
    if mesh is None or read is None:
        return None
    points, triangles = read
    scale = _vector(mesh.attrib.get("scale", "1 1 1"))
    origin = visual.find("origin")
    attributes = {} if origin is None else origin.attrib
    rotation = rotation_from_rpy(_vector(attributes.get("rpy", "0 0 0")))
    moved = (points * scale) @ rotation.T + _vector(attributes.get("xyz", "0 0 0"))
    grey = round(255.0 * _grey(visual, greys))
    return Shape(
        link=link, points=moved, triangles=triangles, rgb=(grey,) * 3, joint=joint
    )


def _read_mesh(path: Path) -> tuple[FloatArray, NDArray[np.intp]] | None:
    """Return points and triangles of a mesh file; None where it cannot be read."""
    import trimesh  # noqa: PLC0415  # comes with the extra `report`

    try:
        mesh = trimesh.load(path, force="mesh", process=False)
    except (OSError, ValueError, KeyError, IndexError, ImportError):
        return None
    if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
        return None
    return np.array(mesh.vertices, float), np.array(mesh.faces, np.intp)


def _materials(root: ET.Element) -> dict[str, float]:
    return {
        material.attrib["name"]: _grey_of(color)
        for material in root.iter("material")
        if (color := material.find("color")) is not None
    }


def _grey(visual: ET.Element, greys: dict[str, float]) -> float:
    material = visual.find("material")
    if material is None:
        return GREY
    color = material.find("color")
    if color is not None:
        return _grey_of(color)
    return greys.get(material.attrib.get("name", ""), GREY)


def _grey_of(color: ET.Element) -> float:
    return float(color.attrib["rgba"].split()[0])
