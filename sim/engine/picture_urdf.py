"""Robot model for pictures: smooth shapes, greys, and a drum at every joint.

Each joint gets a drum about its axis, drawn as a separate body, so that the picture
maps pixels to joints. The drum is just long enough to stick out of the shapes around
it. Colours turn to greys: colour is reserved for the data of the picture.

The engine draws a sphere with a dozen corners, so primitives become finer meshes.
Spheres, cylinders and drums are surfaces of revolution: a profile (radius, height)
turned about z, with the normals of the profile.
"""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import (
    name_meshes,
    rotation_from_rpy,
    rpy_from_rotation,
)

AROUND = 40
"""Corners of a circle."""
ALONG = 12
"""Rings of a sphere from pole to pole; parts of a straight line."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Mesh:
    """Triangle mesh with a normal at every corner."""

    points: FloatArray
    """(n, 3) in m."""
    normals: FloatArray
    """(n, 3) unit vectors away from the body."""
    triangles: NDArray[np.intp]
    """(m, 3) rows of `points`, counter-clockwise seen from outside."""

    def write_obj(self, path: Path) -> None:
        """Write a Wavefront file."""
        lines = [f"v {x:.6g} {y:.6g} {z:.6g}" for x, y, z in self.points.tolist()]
        lines += [f"vn {x:.4g} {y:.4g} {z:.4g}" for x, y, z in self.normals.tolist()]
        lines += [
            f"f {a}//{a} {b}//{b} {c}//{c}" for a, b, c in (self.triangles + 1).tolist()
        ]
        path.write_text("\n".join(lines) + "\n", encoding="ascii")


def sphere(radius: float) -> Mesh:
    """Return a sphere about the origin."""
    angle = np.linspace(-np.pi / 2.0, np.pi / 2.0, ALONG + 1)
    profile = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    profile[[0, -1], 0] = 0.0
    return _turned(radius * profile, profile)


def cylinder(radius: float, length: float, bevel: float = 0.0015) -> Mesh:
    """Return a cylinder about z, centred at the origin, with rounded edges.

    Args:
        radius: radius in m.
        length: length in m.
        bevel: radius of the rounded edges in m; smaller on a thin cylinder.
    """
    b = min(bevel, 0.4 * radius, 0.4 * length)
    turn = np.linspace(0.0, np.pi / 2.0, 4)
    out = np.stack([np.sin(turn), np.cos(turn)], axis=1)  # from +z to outwards
    edge = np.array([radius - b, length / 2.0 - b]) + b * out
    cap_radius = np.linspace(0.0, radius - b, 4)[:-1]
    cap = np.stack([cap_radius, np.full(3, length / 2.0)], axis=1)
    upper = np.vstack([cap, edge])
    normal = np.vstack([np.tile([0.0, 1.0], (3, 1)), out])
    middle_z = np.linspace(edge[-1, 1], -edge[-1, 1], ALONG)[1:-1]
    middle = np.stack([np.full_like(middle_z, radius), middle_z], axis=1)
    profile = np.vstack([upper, middle, upper[::-1] * (1.0, -1.0)])
    normals = np.vstack(
        [normal, np.tile([1.0, 0.0], (len(middle), 1)), normal[::-1] * (1.0, -1.0)]
    )
    return _turned(profile[::-1], normals[::-1])


def box(size: FloatArray) -> Mesh:
    """Return a box of the given edges (3,) in m about the origin."""
    n = 8
    line = np.linspace(-0.5, 0.5, n + 1)
    u, v = (grid.ravel() for grid in np.meshgrid(line, line))
    points: list[FloatArray] = []
    normals: list[FloatArray] = []
    triangles: list[NDArray[np.intp]] = []
    face = _grid_triangles(n + 1, n + 1)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            corner = np.zeros((len(u), 3))
            corner[:, axis] = 0.5 * sign
            corner[:, (axis + 1) % 3], corner[:, (axis + 2) % 3] = u, v
            points.append(corner * size)
            normals.append(np.tile(sign * np.eye(3)[axis], (len(u), 1)))
            outward = face if sign > 0.0 else face[:, ::-1]
            triangles.append(outward + len(u) * len(triangles))
    return Mesh(
        points=np.vstack(points),
        normals=np.vstack(normals),
        triangles=np.vstack(triangles),
    )


def _turned(profile: FloatArray, normal: FloatArray) -> Mesh:
    """Turn a profile (n, 2) of radius and height, from below to above, about z."""
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def turned(rows: FloatArray) -> FloatArray:
        around = rows[:, None, :1] * circle  # (n, AROUND + 1, 2)
        height = np.broadcast_to(rows[:, None, 1:], (*around.shape[:2], 1))
        flat: FloatArray = np.concatenate([around, height], axis=2).reshape(-1, 3)
        return flat

    return Mesh(
        points=turned(profile),
        normals=turned(normal),
        triangles=_grid_triangles(len(profile), AROUND + 1),
    )


def _grid_triangles(rows: int, columns: int) -> NDArray[np.intp]:
    """Return two triangles for each cell of a grid, points row by row."""
    first = np.arange(rows * columns).reshape(rows, columns)
    a, b = first[:-1, :-1].ravel(), first[:-1, 1:].ravel()
    c, d = first[1:, :-1].ravel(), first[1:, 1:].ravel()
    return np.vstack([np.stack([a, b, d], axis=1), np.stack([a, d, c], axis=1)])


RADIUS = 0.026
"""Radius of the strongest joint's drum over the robot's diagonal. The radii of the
others scale with the cube root of the torque, as size scales with strength."""
STICKS_OUT = 0.2
"""Length by which a drum sticks out of the shapes around it, in radii."""
LONGEST = 3.4
"""Half the length of the longest drum, in radii: a drum deeper inside stays hidden."""
NEIGHBOURS = 2
"""Distance in joints up to which shapes count as around a drum."""


def drum_of(joint: str) -> str:
    """Return the name of the link that draws a joint's drum."""
    return f"{joint}.drum"


def write_picture_urdf(
    robot: Robot,
    poses: Mapping[str, tuple[FloatArray, FloatArray]],
    joints: Sequence[str],
    folder: Path,
) -> Robot:
    """Write the URDF for pictures and its meshes.

    Args:
        robot: robot to draw.
        poses: link to position (3,) in m and rotation (3, 3) in the world, in the
            posture of the picture.
        joints: joints with a drum.
        folder: destination; needed until an engine has loaded the robot.

    Returns:
        The same robot with the new URDF.
    """
    tree = ET.parse(robot.urdf)
    root = tree.getroot()
    name_meshes(root, robot.urdf)
    _grey_materials(root)
    surface: dict[str, FloatArray] = {}
    for link in root.findall("link"):
        name = link.attrib["name"]
        points = [
            _smooth(visual, folder / f"{name}-{i}.obj")
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


def _smooth(visual: ET.Element, path: Path) -> FloatArray:
    """Replace a primitive by a fine mesh; return its points (n, 3).

    The points are in the link frame; none for meshes of the robot itself.
    """
    geometry = visual.find("geometry")
    shape = geometry[0] if geometry is not None and len(geometry) else None
    if geometry is None or shape is None:
        return np.zeros((0, 3))
    mesh = _mesh(shape)
    if mesh is None:
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
    """Return for each link the links within `NEIGHBOURS` joints of it."""
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
    """Add the drum as a link, fixed to the link that the joint moves."""
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
