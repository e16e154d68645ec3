"""The shapes of a dressed robot (`sim.engine.picture_urdf`), read back as meshes."""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.engine.picture_urdf import drum_of, write_picture_urdf

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


def dress(
    robot: Robot, frames: Mapping[str, tuple[FloatArray, FloatArray]]
) -> tuple[tuple[Shape, ...], int]:
    """Return smooth grey shapes with a drum at every joint, and how many are left out.

    Args:
        robot: any robot.
        frames: link to position (3,) in m and rotation (3, 3), in the posture in which
            the drums are measured.

    Returns:
        The shapes, and the number of meshes whose files cannot be read.
    """
    shapes: list[Shape] = []
    left_out = 0
    turned = {drum_of(joint.name): joint for joint in robot.joints}
    with TemporaryDirectory() as folder:
        dressed = write_picture_urdf(robot, frames, robot.joint_names, Path(folder))
        root = ET.parse(dressed.urdf).getroot()
        greys = _materials(root)
        for link in root.findall("link"):
            name = link.attrib["name"]
            joint = turned.get(name)
            for visual in link.findall("visual"):
                shape = _shape(
                    visual,
                    link=name if joint is None else joint.link,
                    joint=None if joint is None else joint.name,
                    greys=greys,
                )
                if shape is None:
                    left_out += 1
                else:
                    shapes.append(shape)
    return tuple(shapes), left_out


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
    import coal  # noqa: PLC0415  # heavy; Pinocchio's library of shapes

    try:
        mesh = coal.MeshLoader().load(str(path), np.ones(3))
    except (ValueError, RuntimeError):
        return None
    rows = (mesh.tri_indices(i) for i in range(mesh.num_tris))
    triangles = [(row[0], row[1], row[2]) for row in rows]
    return np.array(mesh.vertices(), float), np.array(triangles, np.intp)


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


def _vector(text: str) -> FloatArray:
    return np.array([float(x) for x in text.split()])
