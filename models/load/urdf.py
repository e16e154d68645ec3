"""Bodies and joints of a URDF, checked to form one tree of physically valid bodies.

This module reads only data that the tables lack: masses, joints, limits, couplings, and
the validity of shapes. The engine and the dynamics library read the same file
separately (`plain_urdf`). A link without <inertial> is a frame without mass, on a fixed
joint. A root of this kind is removed.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models.files.urdf_numbers import check_numbers
from nao_testbed.models.files.xml_tree import Element, parse_xml
from nao_testbed.models.load.shapes import check_shapes
from nao_testbed.models.robot import Link

RTOL_INERTIA = 1e-6  # rounding to six digits
LONGEST_CHAIN = 200
"""Largest number of links in a chain."""


@dataclass(frozen=True, kw_only=True)
class UrdfJoint:
    """Joint as in the URDF."""

    name: str
    type: str
    """`revolute` or `fixed`."""
    parent: str
    child: str
    lower: float
    upper: float
    mimics: str | None
    """Joint that it follows 1:1, or None."""
    element: Element


@dataclass(frozen=True, kw_only=True)
class UrdfTree:
    """Contents of a URDF; links in the order of the file."""

    path: Path
    root: str
    links: tuple[Link, ...]
    joints: dict[str, UrdfJoint]
    notes: tuple[str, ...] = ()
    """Sentences about replaced shapes."""

    @property
    def moving(self) -> dict[str, UrdfJoint]:
        """Revolute joints by name."""
        return {n: j for n, j in self.joints.items() if j.type == "revolute"}


def read_urdf(path: Path) -> UrdfTree:
    """Read and check a URDF.

    Raises:
        RobotDataError: the file is not a URDF, a body has an impossible inertia or
            shape, a joint is of an unsupported type, or the joints do not form one
            tree.
    """
    robot = parse_xml(path)
    if robot.tag != "robot":
        robot.fail(f"root element is <{robot.tag}>; a URDF begins with <robot>.")
    links: dict[str, Link] = {}
    missing: list[str] = []
    for element in robot.all("link"):
        link = read_link(element)
        missing += check_shapes(element)
        check_numbers(element)
        if link.name in links:
            element.fail(f"link {link.name!r} appears twice.")
        links[link.name] = link
    joints: dict[str, UrdfJoint] = {}
    for element in robot.all("joint"):
        joint = read_joint(element)
        check_numbers(element)
        if joint.name in joints:
            element.fail(f"joint {joint.name!r} appears twice.")
        joints[joint.name] = joint
    materials: set[str] = set()
    for element in robot.all("material"):
        check_numbers(element)
        name = element.text("name")
        if name in materials:
            element.fail(f"material {name!r} appears twice.")
        materials.add(name)
    root = _without_frame(check_tree(robot, links, joints), links, joints)
    _check_mimics(joints)
    _check_masses(links, root, joints)
    notes: tuple[str, ...] = ()
    if missing:
        notes = (
            f"{len(missing)} meshes of {path.name} are missing ({missing[0]}); each "
            "collision is replaced by the box of its link's inertia. Put the meshes "
            f"into {path.parent} or, for package:// names, into a folder above it.",
        )
    return UrdfTree(
        path=path,
        root=root,
        links=tuple(links.values()),
        joints=joints,
        notes=notes,
    )


def _without_frame(
    root: str, links: dict[str, Link], joints: dict[str, UrdfJoint]
) -> str:
    """Remove a massless root on a fixed joint as `plain_urdf`; return the new root."""
    below = [joint for joint in joints.values() if joint.parent == root]
    if links[root].mass > 0.0 or [joint.type for joint in below] != ["fixed"]:
        return root
    del links[root], joints[below[0].name]
    return _without_frame(below[0].child, links, joints)


def check_inertia(inertia: NDArray[np.float64]) -> str | None:
    """Return why no body of positive density can have this inertia; None if one can.

    I = I.T, principal moments i <= j <= k not negative, and i + j >= k.

    Args:
        inertia: (3, 3) about the centre of mass, in kg·m².
    """
    least, middle, most = np.linalg.eigvalsh(inertia)
    slack = RTOL_INERTIA * abs(most)
    if least < -slack:
        return f"inertia has the negative principal moment {least:.3g} kg·m²."
    if least + middle < most - slack:
        return (
            f"principal moments {least:.3g}, {middle:.3g}, {most:.3g} kg·m² violate "
            "the triangle inequality; no body has these."
        )
    return None


def read_link(element: Element) -> Link:
    """Return a link; raise `RobotDataError` at its line if its inertia is wrong."""
    name = element.text("name")
    inertial = element.find("inertial")
    if inertial is None:
        return Link(name=name, mass=0.0, com=(0.0, 0.0, 0.0))
    mass_element = inertial.need("mass")
    mass = mass_element.number("value")
    if mass < 0.0:
        mass_element.fail(f"mass of link {name!r} is {mass} kg; it cannot be negative.")
    tensor = inertial.need("inertia")
    xx, yy, zz = (tensor.number(key) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (tensor.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if problem := check_inertia(inertia):
        tensor.fail(f"link {name!r}: {problem}")
    origin = inertial.find("origin")
    zero = (0.0, 0.0, 0.0)
    com = origin.vector("xyz", zero) if origin else zero
    return Link(name=name, mass=mass, com=com)


def read_joint(element: Element) -> UrdfJoint:
    """Return a joint; raise `RobotDataError` at its line if it is not supported."""
    name, kind = element.text("name"), element.text("type")
    if kind not in ("revolute", "fixed"):
        element.fail(
            f"joint {name!r} is {kind}; accepted are revolute (with limits) and fixed."
        )
    lower = upper = 0.0
    mimics = None
    if kind == "revolute":
        limit = element.need("limit")
        lower, upper = limit.number("lower"), limit.number("upper")
        if lower >= upper:
            limit.fail(
                f"joint {name!r} has lower limit {lower} and upper limit {upper} rad; "
                "the lower limit must be smaller."
            )
        if axis := element.find("axis"):
            vector = axis.vector("xyz", (1.0, 0.0, 0.0))
            if abs(np.linalg.norm(vector) - 1.0) > 1e-3:
                axis.fail(f"axis of joint {name!r} is {vector}; give a unit vector.")
        if mimic := element.find("mimic"):
            mimics = mimic.text("joint")
            gain, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
            if (gain, offset) != (1.0, 0.0):
                mimic.fail(
                    f"joint {name!r} follows {mimics!r} with multiplier {gain} and "
                    f"offset {offset}; only 1 and 0 are supported. "
                    "Make the joint fixed, or remove its <mimic>."
                )
    return UrdfJoint(
        name=name,
        type=kind,
        parent=element.need("parent").text("link"),
        child=element.need("child").text("link"),
        lower=lower,
        upper=upper,
        mimics=mimics,
        element=element,
    )


def check_tree(
    robot: Element, links: dict[str, Link], joints: dict[str, UrdfJoint]
) -> str:
    """Return the root link; raise `RobotDataError` if the joints form no tree."""
    joint_to: dict[str, UrdfJoint] = {}
    for joint in joints.values():
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                joint.element.fail(
                    f"joint {joint.name!r} has the {role} link {link!r}, which does "
                    "not exist."
                )
        if joint.child in joint_to:
            other = joint_to[joint.child].name
            joint.element.fail(
                f"link {joint.child!r} has two parent joints, {other!r} and "
                f"{joint.name!r}: a cycle. A robot is a tree; remove one."
            )
        joint_to[joint.child] = joint
    for name in links:
        passed = [name]
        while passed[-1] in joint_to:
            above = joint_to[passed[-1]]
            if above.parent in passed:
                loop = " > ".join(reversed([*passed, above.parent]))
                above.element.fail(f"links make a cycle: {loop}. A robot is a tree.")
            passed.append(above.parent)
        if len(passed) > LONGEST_CHAIN:
            joint_to[name].element.fail(
                f"link {name!r} is the end of a chain of {len(passed)} links; "
                f"accepted: {LONGEST_CHAIN}."
            )
    roots = [name for name in links if name not in joint_to]
    if len(roots) != 1:
        robot.fail(
            f"{len(roots)} root links: {', '.join(roots) or 'none'}; there must be one."
        )
    return roots[0]


def _check_mimics(joints: dict[str, UrdfJoint]) -> None:
    for joint in joints.values():
        if joint.mimics is None:
            continue
        leader = joints.get(joint.mimics)
        if leader is None or leader.type != "revolute" or leader.mimics is not None:
            joint.element.fail(
                f"joint {joint.name!r} follows {joint.mimics!r}, which is not an "
                "independent revolute joint."
            )


def _check_masses(
    links: dict[str, Link], root: str, joints: dict[str, UrdfJoint]
) -> None:
    for joint in joints.values():
        if joint.type == "revolute" and links[joint.child].mass == 0.0:
            joint.element.fail(
                f"joint {joint.name!r} moves link {joint.child!r}, whose mass is 0 kg; "
                "give it a mass."
            )
    if links[root].mass == 0.0:
        # Engines weld a massless base to the world.
        next(iter(joints.values())).element.fail(
            f"base link {root!r} has mass 0 kg; give it a mass."
        )
