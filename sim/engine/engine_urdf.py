"""Conversion of the robot's URDF for PyBullet: rotor inertias in the links.

PyBullet has no rotor inertia ("armature"), and light joints chatter without it. The
reflected inertia J N² of the motor is therefore added to the link that the joint
moves, about the joint's axis a, and c times that to the inner link:

    I' = I + J N² a aᵀ + c Σ J N² a aᵀ of the joints that the link holds

`sim.engine.rotors` compensates the resistance to rotation of the whole body, and
explains why two links carry the inertia. Such a tensor is not that of a rigid body (one
moment exceeds the sum of the others), and the URDF loader would set it to zero. The
file therefore holds the principal *frame* of I' with valid placeholder moments; the
engine sets the true moments after loading.

A payload of mass m at p joins its link's mass m_0 at c_0:

    M = m_0 + m,    c = (m_0 c_0 + m p) / M,
    I_c = I_0 + m_0 [c_0 - c] + m [p - c],    [d] = |d|² 1 - d dᵀ.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from nao_testbed.models import Robot, UnknownName
from nao_testbed.models.load.plain_urdf import plain_urdf
from nao_testbed.models.load.shapes import mesh_path
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import Payload

INNER_SHARE = 0.25
"""c: share of J N² on the inner link, which holds the joint; 1 on the moved link."""


@dataclass(frozen=True)
class PrincipalInertia:
    """Principal moments of a link's inertia, rotor included."""

    moments: tuple[float, float, float]
    """Principal moments in kg·m², about the axes of the frame in the file."""


_TEXTS: WeakKeyDictionary[Robot, tuple[bytes, dict[str, PrincipalInertia]]]
_TEXTS = WeakKeyDictionary()
"""URDFs of robots without payloads: tests and sweeps simulate few robots often."""


def write_bullet_urdf(
    robot: Robot, folder: str, payloads: Sequence[Payload] = ()
) -> tuple[Path, dict[str, PrincipalInertia]]:
    """Write the URDF with principal frames of the inertias, rotors included.

    Args:
        robot: robot with this URDF.
        folder: destination.
        payloads: masses on its links.

    Returns:
        The path of the file in `folder`, and the moments of each link with mass.

    Raises:
        UnknownName: a payload names no link with a mass.
    """
    if payloads:
        text, inertias = _bullet_urdf(robot, payloads)
    else:
        if robot not in _TEXTS:
            _TEXTS[robot] = _bullet_urdf(robot, ())
        text, inertias = _TEXTS[robot]
    path = Path(folder) / robot.urdf.name
    path.write_bytes(text)
    return path, inertias


def _bullet_urdf(
    robot: Robot, payloads: Sequence[Payload]
) -> tuple[bytes, dict[str, PrincipalInertia]]:
    root, inertials = loaded_urdf(robot, payloads)
    armature = _armature_of_link(robot, root)
    inertias: dict[str, PrincipalInertia] = {}
    for name, inertial in inertials.items():
        inertia = inertia_in_link_axes(inertial) + armature.get(name, 0.0)
        moments, axes = np.linalg.eigh(inertia)
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        inertias[name] = PrincipalInertia(tuple(moments.tolist()))
        _write_frame(inertial, axes, float(moments.max()))
    for joint in root.findall("joint"):
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)  # the servo couples the joints, see sim.servo
    name_meshes(root, robot.urdf)
    ET.indent(root)  # PyBullet truncates long lines
    return ET.tostring(root), inertias


def name_meshes(root: ET.Element, urdf: Path) -> None:
    """Replace mesh file names by absolute paths, since only the URDF is moved."""
    for body in ("collision", "visual"):
        for mesh in root.iterfind(f"link/{body}/geometry/mesh"):
            name = mesh.attrib["filename"]
            mesh.attrib["filename"] = str(mesh_path(urdf, name))


def loaded_urdf(
    robot: Robot, payloads: Sequence[Payload]
) -> tuple[ET.Element, dict[str, ET.Element]]:
    """Return the root of the URDF with payloads added, and each link's <inertial>.

    Raises:
        UnknownName: a payload names no link with a mass.
    """
    root = plain_urdf(robot.urdf)
    inertials = {link.attrib["name"]: _inertial(link) for link in root.findall("link")}
    for payload in payloads:
        if payload.link not in inertials:
            known = list(inertials)
            raise UnknownName("Link", payload.link, known, f"robot {robot.name!r}")
        _load(inertials[payload.link], payload)
    return root, inertials


def _inertial(link: ET.Element) -> ET.Element:
    """Return a link's <inertial>; add one with zero mass if it is missing."""
    inertial = link.find("inertial")
    if inertial is None:
        inertial = ET.SubElement(link, "inertial")
        ET.SubElement(inertial, "mass", value="0")
        zero = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0")
        ET.SubElement(inertial, "inertia", zero)
    return inertial


def rotor_inertia(robot: Robot) -> dict[str, float]:
    """Return the rotor inertia at each joint in kg·m², `Robot.armature`."""
    return dict(zip(robot.joint_names, robot.armature.tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class RotorJoint:
    """Joint data for the rotor computation."""

    parent: int
    """Number in `Robot.joints` of the joint that moves the inner link; -1: base."""
    origin: FloatArray
    """(3, 3) rotation at angle 0 of its link in the link that `parent` moves."""
    axis: FloatArray
    """(3,) unit vector, in the frame of its link."""
    armature: float
    """Its share of J N² in kg·m²."""


def rotor_joints(robot: Robot, root: ET.Element) -> list[RotorJoint]:
    """Return the rotor data of a robot's joints in order; `root` is its URDF's root."""
    share = rotor_inertia(robot)
    number = {joint.link: i for i, joint in enumerate(robot.joints)}
    above = {_attribute(j, "child", "link", ""): j for j in root.findall("joint")}

    def origin_of(joint: ET.Element) -> tuple[int, FloatArray]:
        """Return `parent` and `origin`, across fixed joints."""
        R = rotation_from_rpy(_vector(_attribute(joint, "origin", "rpy", "0 0 0")))
        link = _attribute(joint, "parent", "link", "")
        if link in number or link not in above:
            return number.get(link, -1), R
        parent, inner = origin_of(above[link])
        return parent, inner @ R

    found = []
    for joint in robot.joints:
        element = above[joint.link]
        parent, origin = origin_of(element)
        a = _vector(_attribute(element, "axis", "xyz", "1 0 0"))
        found.append(
            RotorJoint(
                parent=parent,
                origin=origin,
                axis=a / np.linalg.norm(a),
                armature=share[joint.name],
            )
        )
    return found


def _attribute(joint: ET.Element, tag: str, key: str, otherwise: str) -> str:
    element = joint.find(tag)
    return otherwise if element is None else element.attrib.get(key, otherwise)


def _armature_of_link(robot: Robot, root: ET.Element) -> dict[str, FloatArray]:
    """Return the inertia that the rotors add to each link."""
    tensors: dict[str, FloatArray] = {}
    for joint, rotor in zip(robot.joints, rotor_joints(robot, root), strict=True):
        own, a = joint.link, rotor.axis
        inner = robot.base_link if rotor.parent < 0 else robot.joints[rotor.parent].link
        b = rotor.origin @ a
        for link, axis, share in ((own, a, 1.0), (inner, b, INNER_SHARE)):
            tensor = share * rotor.armature * np.outer(axis, axis)
            tensors[link] = tensors.get(link, 0.0) + tensor
    return tensors


def inertia_in_link_axes(inertial: ET.Element) -> FloatArray:
    """Return a link's inertia (3, 3) about its centre of mass, in link axes."""
    element = inertial.find("inertia")
    if element is None:
        return np.zeros((3, 3))
    keys = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    i = {key: float(element.attrib.get(key, "0")) for key in keys}
    tensor = np.array(
        [
            [i["ixx"], i["ixy"], i["ixz"]],
            [i["ixy"], i["iyy"], i["iyz"]],
            [i["ixz"], i["iyz"], i["izz"]],
        ]
    )
    origin = inertial.find("origin")
    if origin is None:
        return tensor
    R = rotation_from_rpy(_vector(origin.attrib.get("rpy", "0 0 0")))
    rotated: FloatArray = R @ tensor @ R.T
    return rotated


def _load(inertial: ET.Element, payload: Payload) -> None:
    """Add a payload to a link's mass, centre and inertia."""
    inertia = inertia_in_link_axes(inertial)
    origin, mass = inertial.find("origin"), inertial.find("mass")
    if origin is None:
        origin = ET.SubElement(inertial, "origin")
    if mass is None:
        mass = ET.SubElement(inertial, "mass", {"value": "0"})
    c_0 = _vector(origin.attrib.get("xyz", "0 0 0"))
    m_0, m = float(mass.attrib["value"]), payload.mass_kg
    place = c_0 if payload.position is None else np.array(payload.position)
    c = (m_0 * c_0 + m * place) / (m_0 + m)
    inertia = inertia + m_0 * _spread(c_0 - c) + m * _spread(place - c)
    mass.attrib["value"] = f"{m_0 + m:.17g}"
    origin.attrib |= {"xyz": " ".join(f"{x:.17g}" for x in c), "rpy": "0 0 0"}
    for element in inertial.findall("inertia"):
        inertial.remove(element)
    axes = "xyz"
    moments = {
        f"i{axes[i]}{axes[j]}": f"{inertia[i, j]:.17g}"
        for i in range(3)
        for j in range(i, 3)
    }
    ET.SubElement(inertial, "inertia", moments)


def _spread(d: FloatArray) -> FloatArray:
    """Return |d|² 1 - d dᵀ, the inertia of a unit mass at d."""
    return np.asarray((d @ d) * np.eye(3) - np.outer(d, d))


def _write_frame(inertial: ET.Element, axes: FloatArray, moment: float) -> None:
    origin = inertial.find("origin")
    if origin is None:
        origin = ET.SubElement(inertial, "origin", {"xyz": "0 0 0"})
    origin.attrib["rpy"] = " ".join(f"{x:.17g}" for x in rpy_from_rotation(axes))
    element = inertial.find("inertia")
    if element is None:
        element = ET.SubElement(inertial, "inertia")
    for key in ("ixy", "ixz", "iyz"):
        element.attrib[key] = "0"
    for key in ("ixx", "iyy", "izz"):
        element.attrib[key] = f"{moment:.17g}"


def _vector(text: str) -> FloatArray:
    return np.array([float(x) for x in text.split()])


def rotation_from_rpy(rpy: FloatArray) -> FloatArray:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed-axis convention."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(R: FloatArray) -> FloatArray:
    """Return roll, pitch, yaw in rad of a rotation matrix."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if abs(np.cos(pitch)) < 1e-9:  # gimbal lock: put the whole rotation into roll
        roll = np.arctan2(-R[1, 2], R[1, 1])
        return np.array([roll, pitch, 0.0])
    return np.array(
        [
            np.arctan2(R[2, 1], R[2, 2]),
            pitch,
            np.arctan2(R[1, 0], R[0, 0]),
        ]
    )
