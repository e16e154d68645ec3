"""Write the URDF of a robot folder from its tables.

    python -m models.write_urdf models/nao

Bodies and joint frames come from `links.csv`, limits from `joints.csv`, shapes from
`shapes.csv` and their colours from `materials.csv`. Shapes marked `mirror` are written
a second time for the right side, reflected in the plane y = 0:
(x, y, z) -> (x, -y, z), (roll, pitch, yaw) -> (-roll, pitch, -yaw).
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from models.robot_yaml import RobotFile
from models.rows import JointRow, LinkRow, MaterialRow, ShapeRow
from models.tables import read_table, read_yaml

HEADER = """<?xml version="1.0"?>
<!--
  Generated from the tables in {folder}/; do not edit. To write it anew:
    python -m models.write_urdf models/{folder}
  Masses and joints: [nao-v5-urdf], made left-right symmetric; shapes: own primitives.
  What each number is and where it comes from: {folder}/README.md.
-->
"""


def write_urdf(folder: Path) -> str:
    """Return the text of the URDF.

    Args:
        folder: a robot folder with `links.csv`, `shapes.csv` and `materials.csv`.

    Raises:
        RobotDataError: a table is wrong.
    """
    settings = read_yaml(folder / "robot.yaml", RobotFile).value
    links = read_table(folder / "links.csv", LinkRow, "name", "link")
    joints = read_table(folder / "joints.csv", JointRow, "name", "joint")
    materials = read_table(folder / "materials.csv", MaterialRow, "name", "material")
    shapes = read_table(folder / "shapes.csv", ShapeRow, "", "shape")
    all_shapes: list[ShapeRow] = []
    for line, shape in shapes.rows.items():
        if shape.link not in links.rows:
            shapes.fail(line, f"link {shape.link!r} is not in links.csv.")
        if shape.role != "collision" and shape.material not in materials.rows:
            shapes.fail(line, f"material {shape.material!r} is not in materials.csv.")
        all_shapes.append(shape)
        if shape.mirror == "yes":
            all_shapes.append(mirrored(shape))
    text = [HEADER.format(folder=folder.name), f'<robot name="{settings.name}">']
    for material in materials:
        rgba = f"{material.red:g} {material.green:g} {material.blue:g} 1"
        text.append(f'  <material name="{material.name}"><color rgba="{rgba}"/>')
        text.append("  </material>")
    for link in links:
        text += _link(link, [s for s in all_shapes if s.link == link.name])
        if link.joint is not None:
            text += _joint(link, joints.rows[link.joint])
    text.append("</robot>\n")
    return "\n".join(text).replace("-->\n\n", "-->\n")


def mirror_name(name: str) -> str:
    """Return the name of the mirror image: LHip to RHip, l_ankle to r_ankle."""
    if name.startswith(("L", "R")) and name[1:2].isupper():
        return {"L": "R", "R": "L"}[name[0]] + name[1:]
    if name.startswith(("l_", "r_")):
        return {"l": "r", "r": "l"}[name[0]] + name[1:]
    return name


def mirrored(shape: ShapeRow) -> ShapeRow:
    """Return the shape reflected in the plane y = 0."""
    changes = {
        "link": mirror_name(shape.link),
        "y": -shape.y,
        "roll": -shape.roll,
        "yaw": -shape.yaw,
    }
    return shape.model_copy(update=changes)


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value + 0.0:.10g}" for value in values)


def _link(link: LinkRow, shapes: list[ShapeRow]) -> list[str]:
    com = _numbers((link.com_x, link.com_y, link.com_z))
    inertia = " ".join(
        f'{key}="{getattr(link, key) + 0.0:.10g}"'
        for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    text = [
        f'  <link name="{link.name}">',
        "    <inertial>",
        f'      <origin xyz="{com}" rpy="0 0 0"/>',
        f'      <mass value="{link.mass:.10g}"/>',
        f"      <inertia {inertia}/>",
        "    </inertial>",
    ]
    for shape in shapes:
        if shape.role != "collision":
            text += _shape("visual", shape)
    for shape in shapes:
        if shape.role != "visual":
            text += _shape("collision", shape)
    return [*text, "  </link>"]


def _shape(tag: str, shape: ShapeRow) -> list[str]:
    origin = _numbers((shape.x, shape.y, shape.z))
    rpy = _numbers((shape.roll, shape.pitch, shape.yaw))
    if shape.shape == "box":
        size = (shape.size_x or 0.0, shape.size_y or 0.0, shape.size_z or 0.0)
        geometry = f'<box size="{_numbers(size)}"/>'
    elif shape.shape == "sphere":
        geometry = f'<sphere radius="{shape.radius:g}"/>'
    else:
        geometry = f'<cylinder radius="{shape.radius:g}" length="{shape.length:g}"/>'
    text = [
        f"    <{tag}>",
        f'      <origin xyz="{origin}" rpy="{rpy}"/>',
        f"      <geometry>{geometry}</geometry>",
    ]
    if tag == "visual":
        text.append(f'      <material name="{shape.material}"/>')
    return [*text, f"    </{tag}>"]


def _joint(link: LinkRow, joint: JointRow) -> list[str]:
    origin = _numbers((link.origin_x, link.origin_y, link.origin_z))
    axis = _numbers((link.axis_x or 0.0, link.axis_y or 0.0, link.axis_z or 0.0))
    text = [
        f'  <joint name="{link.joint}" type="revolute">',
        f'    <parent link="{link.parent}"/>',
        f'    <child link="{link.name}"/>',
        f'    <origin xyz="{origin}" rpy="0 0 0"/>',
        f'    <axis xyz="{axis}"/>',
        f'    <limit lower="{joint.lower:.10g}" upper="{joint.upper:.10g}" '
        f'effort="{joint.effort_limit:.10g}" velocity="{joint.max_velocity:.10g}"/>',
    ]
    if joint.motor != joint.name:
        text.append(f'    <mimic joint="{joint.motor}" multiplier="1" offset="0"/>')
    return [*text, "  </joint>"]


def main(arguments: list[str]) -> None:
    """Write the URDF of each given folder to the place its robot.yaml names."""
    for argument in arguments:
        folder = Path(argument)
        urdf = read_yaml(folder / "robot.yaml", RobotFile).value.urdf
        (folder / urdf).write_text(write_urdf(folder), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
