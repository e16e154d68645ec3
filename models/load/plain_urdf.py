"""URDF of a robot, simplified for all its readers: engines, dynamics and pictures.

A massless root link on a fixed joint (`base_footprint`) is removed, because engines
weld it to the world. A collision mesh in a format that not every reader supports
(COLLADA) is replaced by its bounding box, a missing mesh by the box of its link's
inertia; missing visuals are removed. Without any visual, the collision shapes are
shown. Missing products of inertia are set to 0, since Pinocchio would drop the others.
All else is unchanged.
"""

import copy
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import scipy  # its parts, which are slow to import, load at their first use

from nao_testbed.models.load.shapes import ENGINE_MESHES, mesh_path
from nao_testbed.models.values import FloatArray


def plain_urdf(urdf: Path) -> ET.Element:
    """Return the root element of a robot's URDF after the replacements."""
    root = ET.parse(urdf).getroot()
    _drop_massless_root(root)
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            mesh = visual.find("geometry/mesh")
            if mesh is not None and mesh_path(urdf, mesh.attrib["filename"]) is None:
                link.remove(visual)
        for body in link.findall("collision"):
            mesh = body.find("geometry/mesh")
            path = None if mesh is None else mesh_path(urdf, mesh.attrib["filename"])
            if path is None or path.suffix.lower() not in ENGINE_MESHES:
                replace_mesh(link, body, urdf)
    for inertia in root.iterfind("link/inertial/inertia"):
        for product in ("ixy", "ixz", "iyz"):
            inertia.attrib.setdefault(product, "0")
    if root.find("link/visual") is None:
        show_collisions(root)
    return root


def show_collisions(root: ET.Element) -> None:
    """Give each collision a visual of the same shape."""
    for link in root.findall("link"):
        for body in link.findall("collision"):
            twin = copy.deepcopy(body)
            twin.tag = "visual"
            link.append(twin)


def _drop_massless_root(root: ET.Element) -> None:
    while True:
        joints = root.findall("joint")
        moved = {end_of(joint, "child") for joint in joints}
        links = root.findall("link")
        (base,) = (link for link in links if link.attrib["name"] not in moved)
        below = [j for j in joints if end_of(j, "parent") == base.attrib["name"]]
        fixed = [joint for joint in below if joint.get("type") == "fixed"]
        if mass_of(base) > 0.0 or len(below) != 1 or not fixed:
            return
        root.remove(base)
        root.remove(fixed[0])


def replace_mesh(link: ET.Element, body: ET.Element, urdf: Path) -> str | None:
    """Replace the mesh of a collision by a box; remove it if no box is known.

    Returns:
        `mesh` for the mesh's bounding box, `inertia` for the box of the link's inertia;
        None if the collision is not a mesh.
    """
    geometry, mesh = body.find("geometry"), body.find("geometry/mesh")
    if geometry is None or mesh is None:
        return None
    path = mesh_path(urdf, mesh.attrib["filename"])
    points = None if path is None else mesh_points(path)
    if points is None:
        T, size = _inertia_box(link)
    else:
        scale = [float(x) for x in mesh.get("scale", "1 1 1").split()]
        low, high = (f(points * scale, axis=0) for f in (np.min, np.max))
        T, size = np.eye(4), np.maximum(high - low, 1e-3)
        T[:3, 3] = (low + high) / 2.0
        T = transform_of(body) @ T
    if size is None:
        link.remove(body)
    else:
        geometry.clear()
        ET.SubElement(geometry, "box", size=text_of(size))
        set_transform(body, T)
    return "inertia" if points is None else "mesh"


def mesh_points(path: Path) -> FloatArray | None:
    """Return the vertices (n, 3) of an STL, OBJ or DAE mesh; None for other files."""
    if path.suffix.lower() == ".dae":
        return _collada_points(ET.parse(path).getroot())
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little")
    if path.suffix.lower() == ".stl" and len(data) == 84 + 50 * count > 84:
        rows = np.frombuffer(data, np.uint8, offset=84).reshape(count, 50)
        return rows[:, 12:48].copy().view("<f4").reshape(-1, 3).astype(np.float64)
    word = {".stl": b"vertex", ".obj": b"v"}.get(path.suffix.lower())
    lines = [line.split() for line in data.splitlines()]
    found = [row[1:4] for row in lines if len(row) > 3 and row[0] == word]
    return np.array(found, dtype=np.float64) if found else None


def _collada_points(root: ET.Element) -> FloatArray | None:
    """Return the vertices (n, 3) in m of the scene of a COLLADA file.

    `up_axis` is ignored, as in ROS.
    """
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    positions: dict[str, FloatArray] = {}
    for geometry in root.iter("geometry"):
        used = geometry.find("mesh/vertices/input[@semantic='POSITION']")
        key = "" if used is None else used.attrib["source"][1:]
        numbers = geometry.find(f"mesh/source[@id='{key}']/float_array")
        if numbers is not None and numbers.text:
            rows = np.array(numbers.text.split(), dtype=np.float64).reshape(-1, 3)
            positions[geometry.attrib["id"]] = rows
    unit = root.find("asset/unit")
    metre = 1.0 if unit is None else float(unit.get("meter", 1.0))
    found: list[FloatArray] = []

    def collect(node: ET.Element, T: FloatArray) -> None:
        for part in node:
            if part.tag == "node":
                collect(part, T)
            elif part.tag == "instance_geometry":
                points = positions.get(part.attrib["url"][1:])
                if points is not None:
                    found.append(points @ T[:3, :3].T + T[:3, 3])
            elif part.tag in {"matrix", "translate", "scale", "rotate"}:
                T = T @ _collada_transform(part)

    for scene in root.iter("visual_scene"):
        collect(scene, np.eye(4))
    return metre * np.vstack(found) if found else None


def _collada_transform(part: ET.Element) -> FloatArray:
    numbers = np.array((part.text or "").split(), dtype=np.float64)
    if part.tag == "matrix":
        return numbers.reshape(4, 4)
    T = np.eye(4)
    if part.tag == "translate":
        T[:3, 3] = numbers
    elif part.tag == "scale":
        T[:3, :3] = np.diag(numbers)
    else:
        turn = np.deg2rad(numbers[3]) * numbers[:3] / np.linalg.norm(numbers[:3])
        T[:3, :3] = scipy.spatial.transform.Rotation.from_rotvec(turn).as_matrix()
    return T


def _inertia_box(link: ET.Element) -> tuple[FloatArray, FloatArray | None]:
    """Return position and edge lengths of the box with a link's mass and inertia."""
    inertial, mass = link.find("inertial"), mass_of(link)
    if inertial is None or mass == 0.0 or inertial.find("inertia") is None:
        return np.eye(4), None
    a = next(e for e in inertial if e.tag == "inertia").attrib
    xx, yy, zz = (float(a[key]) for key in ("ixx", "iyy", "izz"))
    squares = 6.0 / mass * np.array([yy + zz - xx, xx + zz - yy, xx + yy - zz])
    return transform_of(inertial), np.sqrt(np.maximum(squares, 1e-4))


def mass_of(link: ET.Element) -> float:
    """Return the mass of a link in kg; 0 without <inertial>."""
    mass = link.find("inertial/mass")
    return 0.0 if mass is None else float(mass.get("value", 0.0))


def end_of(joint: ET.Element, tag: str) -> str:
    """Return the `parent` or `child` link of a joint."""
    return next(e for e in joint if e.tag == tag).attrib["link"]


def transform_of(element: ET.Element) -> FloatArray:
    """Return the (4, 4) transform of an element's <origin>."""
    origin = element.find("origin")
    a = {} if origin is None else origin.attrib
    T = np.eye(4)
    T[:3, 3] = [float(x) for x in a.get("xyz", "0 0 0").split()]
    (cr, cp, cy), (sr, sp, sy) = (
        f([float(x) for x in a.get("rpy", "0 0 0").split()]) for f in (np.cos, np.sin)
    )
    T[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    return T


def set_transform(element: ET.Element, T: FloatArray) -> None:
    """Write a transform (4, 4) as the <origin> of an element."""
    R = T[:3, :3]
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if abs(np.cos(pitch)) < 1e-9:
        rpy = [np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0]
    else:
        rpy = [np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])]
    origin = element.find("origin")
    if origin is None:
        origin = ET.SubElement(element, "origin")
    origin.attrib.update(xyz=text_of(T[:3, 3]), rpy=text_of(rpy))


def text_of(values: Sequence[float] | FloatArray) -> str:
    """Return numbers as the text of an attribute."""
    return " ".join(f"{value + 0.0:.12g}" for value in values)
