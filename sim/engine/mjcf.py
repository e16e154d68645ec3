"""Conversion of the robot's URDF to MJCF for MuJoCo: rotor inertias, ground, boxes.

Links become nested bodies, each in the frame of its URDF link. The reflected rotor
inertia J N² is the joint's `armature`; the links keep their own inertia. (PyBullet has
no armature; `sim.engine.rotors` replaces it.)

Contacts: an elliptic friction cone, `impratio` 100, nearly rigid (`RIGIDITY`) with a
time constant of 4 ms, and a no-slip pass after the solver. Without that pass, feet that
press against each other creep, and the torques of a standing robot drift. The friction
of a contact is that of the ground or box alone (`priority`); PyBullet's product with
soles of friction 1 gives the same value. Links of the robot never touch each other.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np

from nao_testbed.models import BadInput, Robot
from nao_testbed.models.load.shapes import mesh_path
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import (
    inertia_in_link_axes,
    loaded_urdf,
    rotation_from_rpy,
    rotor_inertia,
)
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.engine.world import Payload, WorldCfg, slope_quaternion

CONTACT_TIME_S = 0.004
"""Time constant of a contact (`solref`), four physics steps of 1 ms."""
RIGIDITY = (0.999, 0.9999, 1e-4)
"""Impedance of a contact (`solimp`): at zero depth; its maximum, at most 0.9999 in
MuJoCo; the depth in m at which it reaches the maximum.

Chosen because stiffer contacts change the leg torques by at most 0.0006 N·m;
`docs/measured/engines.md` compares three settings."""
IMPRATIO = 100
"""Ratio of the stiffness of friction to that of the normal direction."""
NOSLIP_ITERATIONS = 20
"""Sweeps of the pass that removes the residual slip."""
LEAST_MOMENT = 1e-12
"""Smallest moment of inertia in kg·m²; MuJoCo rejects a moment of 0."""
GROUND = "ground:plane"
ROBOT_GROUP = 1
"""Geom group of the robot's shapes, a filter for rays; ground and boxes have 0."""


def write_mjcf(robot: Robot, cfg: WorldCfg) -> str:
    """Return the world with ground, boxes and robot as MJCF text.

    Raises:
        UnknownName: a payload names no link with a mass.
        BadInput: the URDF has a joint or shape that is not supported.
    """
    root = ET.Element("mujoco", model=robot.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true")
    ET.SubElement(root, "size", memory="4M")
    option = ET.SubElement(
        root,
        "option",
        timestep=f"{cfg.physics_dt:.17g}",
        gravity=_text((0.0, 0.0, -cfg.gravity)),
        cone="elliptic",
        impratio=f"{IMPRATIO}",
        noslip_iterations=f"{NOSLIP_ITERATIONS}",
        noslip_tolerance="0",
        tolerance="1e-10",
        jacobian="dense",
    )
    # A state that is not finite must persist, so that `Body` stops the run; MuJoCo's
    # default is to reset the robot and continue.
    ET.SubElement(option, "flag", eulerdamp="disable", autoreset="disable")
    default = ET.SubElement(root, "default")
    time_s = max(CONTACT_TIME_S, 2.0 * cfg.physics_dt)
    reference = _text((time_s, 1.0))
    rigidity = _text(RIGIDITY)
    ET.SubElement(default, "geom", condim="3", solref=reference, solimp=rigidity)
    ET.SubElement(default, "joint", solreflimit=reference)
    asset = ET.SubElement(root, "asset")
    world = ET.SubElement(root, "worldbody")
    slope = slope_quaternion(cfg.slope_deg)
    _solid(
        world, GROUND, "plane", (0.0, 0.0, 1.0), cfg.friction, {"quat": _wxyz(slope)}
    )
    R = rotation_from_quaternion(slope)
    for box in cfg.obstacles:
        yaw = rotation_from_rpy(np.array([0.0, 0.0, np.deg2rad(box.yaw_deg)]))
        _solid(
            world,
            f"obstacle:{box.name}",
            "box",
            [0.5 * edge for edge in box.size],
            box.friction,
            {"pos": _text(R @ np.array(box.position)), "xyaxes": _axes(R @ yaw)},
        )
    _Bodies(robot, cfg.payloads, asset).add(world)
    return ET.tostring(root, encoding="unicode")


def _solid(
    world: ET.Element,
    name: str,
    kind: str,
    size: Sequence[float],
    friction: float,
    pose: dict[str, str],
) -> None:
    """Add a fixed shape that the robot can touch."""
    ET.SubElement(
        world,
        "geom",
        name=name,
        type=kind,
        size=_text(size),
        friction=_text((friction, 0.0, 0.0)),
        priority="1",
        contype="0",
        conaffinity="1",
        group="0",
    ).attrib.update(pose)


class _Bodies:
    """Conversion of the links and joints of a URDF to nested bodies."""

    def __init__(
        self, robot: Robot, payloads: Sequence[Payload], asset: ET.Element
    ) -> None:
        self._robot = robot
        self._asset = asset
        urdf, inertials = loaded_urdf(robot, payloads)
        self._inertials = inertials
        self._links = {link.attrib["name"]: link for link in urdf.findall("link")}
        self._rotor = rotor_inertia(robot)
        self._absent = {
            joint.link for joint in robot.joints if joint.name in robot.absent_joints
        }
        self._children: dict[str, list[ET.Element]] = {}
        for joint in urdf.findall("joint"):
            parent = _child(joint, "parent").attrib["link"]
            self._children.setdefault(parent, []).append(joint)

    def add(self, world: ET.Element) -> None:
        """Add the robot; its base is free if it has legs."""
        base = ET.SubElement(world, "body", name=self._robot.base_link)
        if self._robot.has_legs:
            ET.SubElement(base, "freejoint")
        self._fill(base, self._robot.base_link)

    def _fill(self, body: ET.Element, link: str) -> None:
        if link in self._inertials:
            _add_inertial(body, self._inertials[link])
        for number, collision in enumerate(self._links[link].findall("collision")):
            self._add_shape(body, link, number, collision)
        for joint in self._children.get(link, []):
            self._add_child(body, joint)

    def _add_child(self, body: ET.Element, joint: ET.Element) -> None:
        position, R = _origin(joint)
        link, name = _child(joint, "child").attrib["link"], joint.attrib["name"]
        inner = ET.SubElement(
            body, "body", name=link, pos=_text(position), xyaxes=_axes(R)
        )
        kinds = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}
        kind = joint.attrib["type"]
        if kind in kinds:
            axis, limit = joint.find("axis"), joint.find("limit")
            values = {
                "name": name,
                "type": kinds[kind],
                "axis": "1 0 0" if axis is None else axis.attrib["xyz"],
                "armature": f"{self._rotor.get(name, 0.0):.17g}",
            }
            if limit is not None and kind != "continuous":
                low, high = limit.attrib.get("lower", "0"), limit.attrib.get("upper", 0)
                values["range"] = f"{low} {high}"
            ET.SubElement(inner, "joint", values)
        elif kind != "fixed":
            raise BadInput(
                f"joint {name!r} is {kind!r}; engine 'mujoco' supports revolute, "
                "continuous, prismatic and fixed joints; use --engine pybullet."
            )
        self._fill(inner, link)

    def _add_shape(
        self, body: ET.Element, link: str, number: int, collision: ET.Element
    ) -> None:
        (shape,) = _child(collision, "geometry")
        position, R = _origin(collision)
        touches = "0" if link in self._absent else "1"
        geom = {
            "name": f"{link}:{number}",
            "pos": _text(position),
            "xyaxes": _axes(R),
            "contype": touches,
            "conaffinity": "0",
            "group": str(ROBOT_GROUP),
            "mass": "0",
        }
        a = shape.attrib
        if shape.tag == "box":
            edges = [float(x) for x in a["size"].split()]
            geom |= {"type": "box", "size": _text([0.5 * edge for edge in edges])}
        elif shape.tag == "sphere":
            geom |= {"type": "sphere", "size": a["radius"]}
        elif shape.tag in {"cylinder", "capsule"}:
            size = (float(a["radius"]), 0.5 * float(a["length"]))
            geom |= {"type": shape.tag, "size": _text(size)}
        else:
            path = mesh_path(self._robot.urdf, a["filename"])
            scale = a.get("scale", "1 1 1")
            mesh = {"name": geom["name"], "file": str(path), "scale": scale}
            ET.SubElement(self._asset, "mesh", mesh)
            geom |= {"type": "mesh", "mesh": geom["name"]}
        ET.SubElement(body, "geom", geom)


def _add_inertial(body: ET.Element, inertial: ET.Element) -> None:
    mass = _child(inertial, "mass").attrib["value"]
    if float(mass) == 0.0:
        return  # a frame without mass
    I = inertia_in_link_axes(inertial)  # noqa: E741  # usual symbol of an inertia
    lack = LEAST_MOMENT - np.linalg.eigvalsh(I)[0]
    if lack > 0.0:  # a point mass, or a rod
        I = I + lack * np.eye(3)  # noqa: E741
    position, _ = _origin(inertial)
    ET.SubElement(
        body,
        "inertial",
        pos=_text(position),
        mass=mass,
        fullinertia=_text([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]),
    )


def _child(element: ET.Element, tag: str) -> ET.Element:
    found = element.find(tag)
    if found is None:
        name = element.attrib.get("name", element.tag)
        raise BadInput(f"the URDF's {name!r} has no <{tag}>; give one.")
    return found


def _origin(element: ET.Element) -> tuple[FloatArray, FloatArray]:
    """Return position (3,) in m and rotation (3, 3) of an element's <origin>."""
    origin = element.find("origin")
    a = {} if origin is None else origin.attrib
    numbers = [
        np.array([float(x) for x in a.get(key, "0 0 0").split()])
        for key in ("xyz", "rpy")
    ]
    return numbers[0], rotation_from_rpy(numbers[1])


def _axes(R: FloatArray) -> str:
    """Return a rotation as MJCF's `xyaxes`."""
    return _text([*R[:, 0], *R[:, 1]])


def _wxyz(quaternion: Sequence[float]) -> str:
    x, y, z, w = quaternion
    return _text((w, x, y, z))


def _text(numbers: Sequence[float] | FloatArray) -> str:
    return " ".join(f"{x:.17g}" for x in numbers)
