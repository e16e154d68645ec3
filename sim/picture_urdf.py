"""A robot dressed for a picture: smooth shapes, greys, and a drum at every joint.

Each joint gets a drum about its axis, drawn as a body of its own, so that the picture
knows which pixel shows which joint; it is just long enough to stick out of the shapes
around it. Colours turn to greys: colour is left to what the picture shows.
"""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models import Robot
from sim.bullet_urdf import rotation_from_rpy, rpy_from_rotation
from sim.smooth_shapes import Mesh, box, cylinder, sphere

FloatArray = NDArray[np.float64]

RADIUS = 0.026
"""Radius of the strongest joint's drum as a part of the robot's diagonal; that of the
others goes with the cube root of the torque, as size does with strength."""
STICKS_OUT = 0.2
"""How far a drum sticks out of the shapes around it, in radii."""
LONGEST = 3.4
"""Half the length of the longest drum, in radii: a drum deeper inside stays hidden."""
NEIGHBOURS = 2
"""Shapes this many joints away count as around a drum."""


def drum_of(joint: str) -> str:
    """Return the name of the link that draws a joint's drum."""
    return f"{joint}.drum"


def write_picture_urdf(
    robot: Robot,
    poses: Mapping[str, tuple[FloatArray, FloatArray]],
    joints: Sequence[str],
    folder: Path,
) -> Robot:
    """Write the dressed URDF and its meshes.

    Args:
        robot: to be dressed.
        poses: link to position (3,) in m and rotation (3, 3) in the world, in the
            posture of the picture.
        joints: those that get a drum.
        folder: where the files go; needed until an engine has loaded the robot.

    Returns:
        The same robot with the new URDF.
    """
    tree = ET.parse(robot.urdf)
    root = tree.getroot()
    _grey_materials(root)
    surface: dict[str, FloatArray] = {}
    for link in root.findall("link"):
        name = link.attrib["name"]
        points = [
            _smooth(visual, robot.urdf.parent, folder / f"{name}-{i}.obj")
            for i, visual in enumerate(link.findall("visual"))
        ]
        position, R = poses[name]
        surface[name] = np.vstack([np.zeros((0, 3)), *points]) @ R.T + position
    everything = np.vstack(list(surface.values()))
    size = RADIUS * float(np.linalg.norm(np.ptp(everything, axis=0)))
    strength = np.cbrt(robot.effort_limit / robot.effort_limit.max())
    near = _neighbours(root)
    for element in root.findall("joint"):
        name = element.attrib["name"]
        if name in joints:
            radius = size * float(strength[robot.joint_index(name)])
            link_name = _link(element, "child")
            around = np.vstack([surface[other] for other in near[link_name]])
            _add_drum(root, element, poses[link_name], around, radius, folder)
    ET.indent(tree)  # the engine's reader cuts lines at a thousand letters
    path = folder / robot.urdf.name
    tree.write(path)
    return dataclasses.replace(robot, urdf=path)


def _grey_materials(root: ET.Element) -> None:
    for color in root.iter("color"):
        r, g, b, alpha = (float(x) for x in color.attrib["rgba"].split())
        grey = 0.2126 * r + 0.7152 * g + 0.0722 * b
        color.attrib["rgba"] = f"{grey:.3f} {grey:.3f} {grey:.3f} {alpha:g}"


def _smooth(visual: ET.Element, source: Path, path: Path) -> FloatArray:
    """Put a fine mesh in the place of a primitive; return its points (n, 3).

    The points are in the link frame; a mesh of the robot itself has none, but its file
    name becomes absolute.
    """
    geometry = visual.find("geometry")
    shape = geometry[0] if geometry is not None and len(geometry) else None
    if geometry is None or shape is None:
        return np.zeros((0, 3))
    mesh = _mesh(shape)
    if mesh is None:
        file = source / shape.attrib.get("filename", "")
        if file.is_file():
            shape.attrib["filename"] = str(file.resolve())
        return np.zeros((0, 3))
    mesh.write_obj(path)
    geometry.remove(shape)
    ET.SubElement(geometry, "mesh", filename=str(path))
    origin = visual.find("origin")
    attributes = {} if origin is None else origin.attrib
    R = rotation_from_rpy(_vector(attributes.get("rpy", "0 0 0")))
    return mesh.points @ R.T + _vector(attributes.get("xyz", "0 0 0"))


def _mesh(shape: ET.Element) -> Mesh | None:
    size = shape.attrib
    if shape.tag == "sphere":
        return sphere(float(size["radius"]))
    if shape.tag == "cylinder":
        return cylinder(float(size["radius"]), float(size["length"]))
    if shape.tag == "box":
        return box(_vector(size["size"]))
    return None


def _neighbours(root: ET.Element) -> dict[str, set[str]]:
    """Return for each link those within a few joints of it."""
    pairs = [(_link(j, "parent"), _link(j, "child")) for j in root.findall("joint")]
    names = [link.attrib["name"] for link in root.findall("link")]
    near = {name: {name} for name in names}
    for _ in range(NEIGHBOURS):
        reach = {name: set(found) for name, found in near.items()}
        for a, b in pairs:
            for name in names:
                if a in reach[name]:
                    near[name].add(b)
                if b in reach[name]:
                    near[name].add(a)
    return near


def _add_drum(
    root: ET.Element,
    joint: ET.Element,
    pose: tuple[FloatArray, FloatArray],
    around: FloatArray,
    radius: float,
    folder: Path,
) -> None:
    """Add the drum as a link that is fixed to the one the joint moves."""
    axis = joint.find("axis")
    a = _vector(axis.attrib["xyz"] if axis is not None else "1 0 0")
    a = a / np.linalg.norm(a)
    position, R = pose
    relative = (around - position) @ R  # in the link frame
    along = relative @ a
    across = np.linalg.norm(relative - along[:, None] * a, axis=1)
    ends = []
    for sign in (-1.0, 1.0):
        inside = (across < 0.9 * radius) & (np.abs(along) < (LONGEST + 2.0) * radius)
        depth = float((sign * along[inside]).max(initial=0.0)) + STICKS_OUT * radius
        ends.append(sign * (depth if depth < LONGEST * radius else radius))
    name = drum_of(joint.attrib["name"])
    path = folder / f"{name}.obj"
    cylinder(radius, ends[1] - ends[0]).write_obj(path)
    link = ET.SubElement(root, "link", name=name)
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "mass", value="1e-6")
    moments = dict.fromkeys(("ixx", "iyy", "izz"), "1e-9")
    ET.SubElement(inertial, "inertia", {**moments, "ixy": "0", "ixz": "0", "iyz": "0"})
    visual = ET.SubElement(link, "visual")
    centre = a * (ends[0] + ends[1]) / 2.0
    rpy = rpy_from_rotation(_frame_with_z(a))
    ET.SubElement(visual, "origin", xyz=_text(centre), rpy=_text(rpy))
    ET.SubElement(ET.SubElement(visual, "geometry"), "mesh", filename=str(path))
    material = ET.SubElement(visual, "material", name="drum")
    ET.SubElement(material, "color", rgba="1 1 1 1")
    fixed = ET.SubElement(root, "joint", name=name, type="fixed")
    ET.SubElement(fixed, "parent", link=_link(joint, "child"))
    ET.SubElement(fixed, "child", link=name)


def _frame_with_z(a: FloatArray) -> FloatArray:
    """Return a rotation (3, 3) whose third column is the unit vector a."""
    other = np.eye(3)[int(np.argmin(np.abs(a)))]
    x = np.cross(other, a)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(a, x), a], axis=1)


def _link(joint: ET.Element, which: str) -> str:
    element = joint.find(which)
    return "" if element is None else element.attrib["link"]


def _vector(text: str) -> FloatArray:
    return np.array([float(x) for x in text.split()])


def _text(vector: FloatArray) -> str:
    return " ".join(f"{x:.9g}" for x in vector)
