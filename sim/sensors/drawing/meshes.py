"""Meshes of a robot for pictures: visual shapes in grey, and a drum at every joint.

Each joint gets a drum about its axis, drawn as a separate body, so that the picture
maps pixels to joints. The drum is just long enough to stick out of the shapes around
it. Colours are converted to greys: colour is reserved for the data of the picture.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import Robot
from nao_testbed.models.load.plain_urdf import plain_urdf
from nao_testbed.models.load.shapes import mesh_path
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.sensors.drawing.solids import (
    PARTS,
    Solid,
    box,
    capsule,
    cylinder,
    sphere,
)

GREY, WHITE = 0.7, 255
"""Grey of a shape without a colour, from 0 to 1; brightness of a drum, from 0 to
255."""
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Share of red, green and blue in the grey of a colour (ITU-R BT.709)."""
CREASE = np.deg2rad(35.0)
"""Faces that meet at a larger angle have an edge between them."""
SAME_M = 1e-6
"""Distance in m below which corners are merged."""

RADIUS = 0.026
"""Radius of the strongest joint's drum / diagonal of the robot. The radii of the
others scale with the cube root of the torque, as size scales with strength."""
STICKS_OUT = 0.2
"""Length by which a drum sticks out of the shapes around it, in radii."""
LONGEST = 3.4
"""Half the length of the longest drum, in radii: a drum deeper inside stays hidden."""
NEIGHBOURS = 2
"""Distance in joints up to which shapes count as around a drum."""


def drum_of(joint: str) -> str:
    """Return the name under which a picture lists a joint's drum."""
    return f"{joint}.drum"


@dataclass(frozen=True, kw_only=True, eq=False)
class Shape(Solid):
    """Mesh fixed to a link, in the frame of the link."""

    link: str
    rgb: tuple[int, int, int]
    joint: str | None
    """Joint of the drum; None for a part of the body."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BodyShapes:
    """Shapes of a robot without drums."""

    shapes: tuple[Shape, ...]
    surface: Mapping[str, FloatArray]
    """Link to points (n, 3) on its shapes, in the link frame, in m."""
    axes: Mapping[str, FloatArray]
    """Joint to its axis (3,), a unit vector in the frame of the link that it moves."""
    near: Mapping[str, frozenset[str]]
    """Link to the links within `NEIGHBOURS` joints of it."""
    n_left_out: int
    """Number of shapes whose files cannot be read."""


def read_body(robot: Robot) -> BodyShapes:
    """Return the shapes of a robot from its URDF, which the loader has checked."""
    root = plain_urdf(robot.urdf)
    greys = {
        material.attrib["name"]: _grey_of(color)
        for material in root.iter("material")
        if (color := material.find("color")) is not None
    }
    shapes: list[Shape] = []
    surface: dict[str, list[FloatArray]] = {}
    n_left_out = 0
    for link in root.findall("link"):
        name = link.attrib["name"]
        surface[name] = []
        for visual in link.findall("visual"):
            geometry = visual.find("geometry")
            solid = None if geometry is None else _solid(geometry[0], robot.urdf)
            if geometry is None or solid is None:
                n_left_out += 1
                continue
            rotation, p = _origin(visual)
            grey = round(255.0 * _grey(visual, greys))
            shapes.append(_shape(solid, rotation, p, link=name, grey=grey))
            if geometry[0].tag != "mesh":
                solid = _primitive(geometry[0], PARTS)
            surface[name].append(solid.points @ rotation.T + p)
    return BodyShapes(
        shapes=tuple(shapes),
        surface={n: np.vstack([np.zeros((0, 3)), *p]) for n, p in surface.items()},
        axes={j.attrib["name"]: _axis(j) for j in _turning(root)},
        near=_neighbours(root),
        n_left_out=n_left_out,
    )


def drums(
    robot: Robot, body: BodyShapes, frames: Mapping[str, tuple[FloatArray, FloatArray]]
) -> tuple[Shape, ...]:
    """Return a drum for every joint of a robot.

    Args:
        robot: any robot.
        body: shapes of the robot.
        frames: link to position (3,) in m and rotation (3, 3), in the posture in which
            the drums are measured.
    """
    placed = {n: p @ frames[n][1].T + frames[n][0] for n, p in body.surface.items()}
    size = RADIUS * float(np.linalg.norm(np.ptp(np.vstack([*placed.values()]), axis=0)))
    strength = np.cbrt(robot.effort_limit / robot.effort_limit.max())
    found = []
    for joint, relative_radius in zip(robot.joints, strength, strict=True):
        position, rotation = frames[joint.link]
        around = np.vstack([placed[other] for other in sorted(body.near[joint.link])])
        a, radius = body.axes[joint.name], size * float(relative_radius)
        low, high = _ends((around - position) @ rotation, a, radius)
        found.append(
            _shape(
                cylinder(radius, high - low),
                _frame_with_z(a),
                a * (low + high) / 2.0,
                link=joint.link,
                grey=WHITE,
                joint=joint.name,
            )
        )
    return tuple(found)


def _ends(around: FloatArray, a: FloatArray, radius: float) -> tuple[float, float]:
    """Return the ends of a drum of this radius along its axis a, in m.

    Args:
        around: points (n, 3) of the shapes around the drum, in the frame of its link,
            radius of the drum in m.
        a: (3,) unit vector.
        radius: in m.
    """
    along = around @ a
    across = np.linalg.norm(around - along[:, None] * a, axis=1)
    inside = (across < 0.9 * radius) & (np.abs(along) < (LONGEST + 2.0) * radius)
    low, high = (
        float((sign * along[inside]).max(initial=0.0)) + STICKS_OUT * radius
        for sign in (-1.0, 1.0)
    )
    longest = LONGEST * radius
    return -(low if low < longest else radius), high if high < longest else radius


def corner_normals(points: FloatArray, triangles: NDArray[np.intp]) -> FloatArray:
    """Return the unit normals (m, 3, 3) at the corners of triangles.

    A normal is the mean, weighted by area, of the adjoining faces that meet at less
    than `CREASE`.

    Args:
        points: (n, 3) in m.
        triangles: (m, 3) rows of `points`.
    """
    _, vertex = np.unique(np.rint(points / SAME_M), axis=0, return_inverse=True)
    of_corner = vertex.ravel()[triangles].ravel()  # (3 m,)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)  # (m, 3), length: twice the area
    face = area / np.maximum(np.linalg.norm(area, axis=1, keepdims=True), 1e-30)
    order = np.argsort(of_corner, kind="stable")
    start = np.searchsorted(of_corner[order], of_corner)
    count = np.bincount(of_corner)[of_corner]
    # Pairs of each corner with all faces at its vertex, including its own.
    mine = np.repeat(np.arange(len(of_corner)), count)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    other = order[np.repeat(start, count) + within] // 3
    is_smooth = np.einsum("ij,ij->i", face[mine // 3], face[other]) > np.cos(CREASE)
    smooth, weighted = mine[is_smooth], area[other[is_smooth]]
    total = np.stack(
        [np.bincount(smooth, weighted[:, k], len(of_corner)) for k in range(3)], axis=1
    )
    length = np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-30)
    normals: FloatArray = (total / length).reshape(-1, 3, 3)
    return normals


def _shape(
    solid: Solid,
    rotation: FloatArray,
    p: FloatArray,
    *,
    link: str,
    grey: int,
    joint: str | None = None,
) -> Shape:
    """Return a solid rotated by `rotation` (3, 3) and moved by p (3,) in its link."""
    return Shape(
        points=solid.points @ rotation.T + p,
        triangles=solid.triangles,
        normals=solid.normals @ rotation.T,
        link=link,
        rgb=(grey,) * 3,
        joint=joint,
    )


def _solid(shape: ET.Element, urdf: Path) -> Solid | None:
    """Return the mesh of a shape; None if its file cannot be read."""
    if shape.tag != "mesh":
        return _primitive(shape)
    path = mesh_path(urdf, shape.attrib["filename"])
    scale = _vector(shape.attrib.get("scale", "1 1 1"))
    return None if path is None else _read_mesh(path, scale)


def _primitive(shape: ET.Element, parts: int = 1) -> Solid:
    size = shape.attrib
    if shape.tag == "box":
        return box(_vector(size["size"]), parts)
    radius = float(size["radius"])
    if shape.tag == "sphere":
        return sphere(radius)
    solid = cylinder if shape.tag == "cylinder" else capsule
    return solid(radius, float(size["length"]), parts=parts)


def _read_mesh(path: Path, scale: FloatArray) -> Solid | None:
    """Return the mesh of a file; None if it cannot be read."""
    import coal  # noqa: PLC0415  # heavy; Pinocchio's library of shapes

    try:
        mesh = coal.MeshLoader().load(str(path), np.ones(3))
    except (ValueError, RuntimeError):
        return None
    rows = (mesh.tri_indices(i) for i in range(mesh.num_tris))
    triangles = np.array([(row[0], row[1], row[2]) for row in rows], np.intp)
    points = np.array(mesh.vertices(), float) * scale
    return Solid(
        points=points, triangles=triangles, normals=corner_normals(points, triangles)
    )


def _origin(visual: ET.Element) -> tuple[FloatArray, FloatArray]:
    """Return rotation (3, 3) and position (3,) in m of a shape in its link."""
    origin = visual.find("origin")
    attributes = {} if origin is None else origin.attrib
    return (
        rotation_from_rpy(_vector(attributes.get("rpy", "0 0 0"))),
        _vector(attributes.get("xyz", "0 0 0")),
    )


def _neighbours(root: ET.Element) -> dict[str, frozenset[str]]:
    near = {link.attrib["name"]: {link.attrib["name"]} for link in root.findall("link")}
    for _ in range(NEIGHBOURS):
        reach = {name: set(found) for name, found in near.items()}
        for joint in root.findall("joint"):
            a, b = _link(joint, "parent"), _link(joint, "child")
            for name, found in reach.items():
                if a in found or b in found:
                    near[name] |= {a, b}
    return {name: frozenset(found) for name, found in near.items()}


def _link(joint: ET.Element, which: str) -> str:
    element = joint.find(which)
    return "" if element is None else element.attrib["link"]


def _turning(root: ET.Element) -> list[ET.Element]:
    return [joint for joint in root.findall("joint") if joint.get("type") != "fixed"]


def _axis(joint: ET.Element) -> FloatArray:
    axis = joint.find("axis")
    a = _vector("1 0 0" if axis is None else axis.attrib["xyz"])
    unit: FloatArray = a / np.linalg.norm(a)
    return unit


def _frame_with_z(a: FloatArray) -> FloatArray:
    """Return a rotation (3, 3) whose third column is the unit vector a."""
    other = np.eye(3)[int(np.argmin(np.abs(a)))]
    x = np.cross(other, a)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(a, x), a], axis=1)


def _grey(visual: ET.Element, greys: dict[str, float]) -> float:
    material = visual.find("material")
    if material is None:
        return GREY
    color = material.find("color")
    if color is not None:
        return _grey_of(color)
    return greys.get(material.attrib.get("name", ""), GREY)


def _grey_of(color: ET.Element) -> float:
    return float(LUMINANCE @ _vector(color.attrib["rgba"])[:3])


def _vector(text: str) -> FloatArray:
    return np.array([float(x) for x in text.split()])
