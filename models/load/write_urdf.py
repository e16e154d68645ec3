"""Generation of a robot's URDF from its tables, and check that both agree.

    nao-testbed robot --robot DIR --write-urdf
    python -m nao_testbed.models.load.write_urdf DIR

If a folder holds `links.csv`, its tables are the source of the URDF: `load_robot`
rejects a URDF that differs from them.

Bodies and joint frames come from `links.csv`, limits from `joints.csv`, shapes from
`shapes.csv` and their colours from `materials.csv`. Shapes marked `mirror` are written
a second time for the right side, reflected in the plane y = 0:
(x, y, z) -> (x, -y, z), (roll, pitch, yaw) -> (-roll, pitch, -yaw).
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from nao_testbed.models.errors import BadInput, RobotDataError, UnknownName
from nao_testbed.models.files.csv_tables import Table, read_table, read_text_of
from nao_testbed.models.files.xml_tree import Element, parse_xml
from nao_testbed.models.files.yaml_forms import read_yaml
from nao_testbed.models.load.forms import (
    JointRow,
    LinkRow,
    MaterialRow,
    RobotFile,
    ShapeRow,
)

GENERATED_URDFS = Path(__file__).resolve().parents[1] / "urdf"

HEADER = """<?xml version="1.0"?>
<!--
  Generated from the tables in {folder}/; do not edit. To write it anew:
    python -m nao_testbed.models.load.write_urdf models/{folder}
  Masses and joints: {sources}; shapes: own primitives.
  What each number is and where it comes from: {folder}/README.md.
-->
"""


def write_urdf(folder: Path, name: str) -> str:
    """Return the text of the URDF.

    Args:
        folder: a robot folder with `links.csv`, `shapes.csv` and `materials.csv`.
        name: name of the robot.

    Raises:
        RobotDataError: a table is invalid.
    """
    links = read_table(folder / "links.csv", LinkRow, "name", "link")
    joints = read_table(folder / "joints.csv", JointRow, "name", "joint")
    materials = read_table(folder / "materials.csv", MaterialRow, "name", "material")
    shapes = read_table(folder / "shapes.csv", ShapeRow, "", "shape")
    all_shapes: list[ShapeRow] = []
    for table in (links, joints, materials):
        for key in table.rows:
            if set(key) & set('<>&"'):
                table.fail(key, f'{table.kind} {key!r} has one of < > & "; rename it.')
    for link in links:
        _check_link(links, link, joints)
    for line, shape in shapes.rows.items():
        sizes = _SIZES[shape.shape]
        if any(getattr(shape, size) is None for size in sizes):
            shapes.fail(line, f"a {shape.shape} has {', '.join(sizes)}; give each.")
        if shape.link not in links.rows:
            shapes.fail(line, f"link {shape.link!r} is not in links.csv.")
        if shape.role != "collision" and shape.material not in materials.rows:
            shapes.fail(line, f"material {shape.material!r} is not in materials.csv.")
        all_shapes.append(shape)
        if shape.mirror == "yes":
            image = mirrored(shape)
            shapes.need(line, "Mirrored link", image.link, links.rows, "links.csv")
            all_shapes.append(image)
    header = HEADER.format(folder=folder.name, sources=_sources(links))
    text = [header, f'<robot name="{name}">']
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


_SIZES = {
    "box": ("size_x", "size_y", "size_z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
}
"""Columns with the size of each shape."""


def _sources(links: Table[LinkRow]) -> str:
    """Return the references for the bodies, for the comment that heads the URDF."""
    keys = dict.fromkeys(key for link in links for key in link.source.split())
    symmetric = any("mirrored" in link.note for link in links)
    named = " ".join(f"[{key}]" for key in keys)
    return named + (", made left-right symmetric" if symmetric else "")


def _check_link(links: Table[LinkRow], link: LinkRow, joints: Table[JointRow]) -> None:
    """Reject a link whose joint is missing or not in the tables."""
    if (link.parent is None) != (link.joint is None):
        links.fail(
            link.name,
            f"link {link.name!r} is attached to {link.parent!r} by joint "
            f"{link.joint!r}; give both, or none for the base.",
        )
    if link.joint is not None and link.joint not in joints.rows:
        unknown = UnknownName("Joint", link.joint, joints.rows, joints.path.name)
        links.fail(link.name, str(unknown))


def urdf_path(folder: Path, named: str) -> Path:
    """Return the path of the URDF that `robot.yaml` of a folder names.

    If a URDF generated from tables does not exist, the bundled URDF of the same file
    name is used. So a plain copy of `models/nao` is a robot, provided that its tables
    agree with that URDF.
    """
    path = (folder / named).resolve()
    ours = GENERATED_URDFS / path.name
    is_written = (folder / "links.csv").is_file()
    return ours if is_written and not path.exists() and ours.exists() else path


def check_urdf(folder: Path, path: Path, name: str) -> None:
    """Reject a URDF that differs from the tables of its folder.

    The robot's name, efforts and speeds are not compared, because the URDF's values are
    not used. A folder without `links.csv` has no tables to compare.

    Raises:
        RobotDataError: they differ; the error names file and line of the table.
    """
    links = folder / "links.csv"
    if not links.is_file():
        return
    text = write_urdf(folder, name)
    if _body(text) == _body(read_text_of(path)):
        return
    expected, found = parse_xml(path, text), parse_xml(path)
    difference = _difference(expected, found)
    if difference is None:
        return
    parts, what = difference
    tables = read_table(links, LinkRow, "name", "link")
    names = {part.attributes["name"] for part in parts if "name" in part.attributes}
    rows = [row for row in tables if names & {row.name, row.joint}]
    place, line = links, tables.lines[rows[0].name] if rows else None
    tags = {part.tag for part in parts}
    if tags & {"visual", "collision"}:
        place, line = folder / "shapes.csv", None
    elif "material" in tags:
        place, line = folder / "materials.csv", None
    where = ", ".join(part.title for part in parts[1:])
    raise RobotDataError(
        place,
        line,
        f"{where}: {what} in {path.name}:{parts[-1].line}. The URDF is generated "
        f"from the tables: run `nao-testbed robot --robot {folder} --write-urdf`.",
    )


def _body(text: str) -> str:
    """Return the text after the heading, which contains only names."""
    return text.partition("<robot ")[2].partition(">")[2]


def _difference(
    here: Element, there: Element, above: tuple[Element, ...] = ()
) -> tuple[tuple[Element, ...], str] | None:
    """Return the elements of a URDF down to the first difference, and its text."""
    parts = (*above, there)
    ignored = {"robot": {"name"}, "limit": {"effort", "velocity"}}.get(here.tag, set())
    for key in {**here.attributes, **there.attributes}:
        mine, other = here.attributes.get(key), there.attributes.get(key)
        if key not in ignored and mine != other:
            return parts, f"{key} is {mine!r} in the tables and {other!r}"
    for ours, theirs in zip(here.children, there.children, strict=False):
        if ours.title != theirs.title:
            return (*parts, theirs), f"the tables have {ours.title} here,"
        if (found := _difference(ours, theirs, parts)) is not None:
            return found
    if len(here.children) != len(there.children):
        counts = f"{len(here.children)} parts in the tables and {len(there.children)}"
        return parts, f"it has {counts}"
    return None


_PAIRS = (("L", "R"), ("l", "r"), ("Left", "Right"), ("left", "right"))
_OTHER_SIDE = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_SIDE = re.compile(
    rf"(?<![A-Za-z])({'|'.join(_OTHER_SIDE)})(?![0-9a-z])"
    r"|(?<=[0-9a-z])(Left|Right)(?![0-9a-z])"
)


def mirror_name(name: str) -> str:
    """Return the name of the mirror image: every word for a side is exchanged.

    LHip becomes RHip, l_ankle becomes r_ankle, Hip_Left becomes Hip_Right; a name
    without a side is unchanged.
    """
    return _SIDE.sub(lambda found: _OTHER_SIDE[found[0]], name)


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
    rpy = _numbers((link.origin_roll, link.origin_pitch, link.origin_yaw))
    axis = _numbers((link.axis_x or 0.0, link.axis_y or 0.0, link.axis_z or 0.0))
    text = [
        f'  <joint name="{link.joint}" type="revolute">',
        f'    <parent link="{link.parent}"/>',
        f'    <child link="{link.name}"/>',
        f'    <origin xyz="{origin}" rpy="{rpy}"/>',
        f'    <axis xyz="{axis}"/>',
        f'    <limit lower="{joint.lower:.10g}" upper="{joint.upper:.10g}" '
        f'effort="{joint.effort_limit:.10g}" velocity="{joint.max_velocity:.10g}"/>',
    ]
    if joint.motor != joint.name:
        text.append(f'    <mimic joint="{joint.motor}" multiplier="1" offset="0"/>')
    return [*text, "  </joint>"]


def rewrite_urdf(folder: Path) -> Path:
    """Write the URDF of a folder from its tables, and return its path.

    The path is the one that `robot.yaml` names. If no file exists there, or if it is
    the URDF of a built-in robot, the new URDF is written into the folder and
    `robot.yaml` is updated.

    Raises:
        RobotDataError: a table is invalid.
        BadInput: the file cannot be written.
    """
    if not (folder / "links.csv").is_file():
        raise BadInput(
            f"robot folder {folder} has no links.csv, so its URDF is written by hand; "
            "give a folder with tables."
        )
    settings = read_yaml(folder / "robot.yaml", RobotFile).value
    text = write_urdf(folder, settings.name)
    path = folder / settings.urdf
    is_shared = path.resolve().parent == GENERATED_URDFS and folder.resolve() not in (
        file.parent for file in GENERATED_URDFS.parent.glob("*/robot.yaml")
    )
    try:
        if is_shared or not path.exists():
            path = folder / path.name
            name_urdf(folder, path.name)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"{path} cannot be written: {error.strerror}. Make it writable, or give "
            "another folder."
        ) from error
    return path


def name_urdf(folder: Path, named: str) -> None:
    """Write the path of the URDF into `robot.yaml`; leave the rest unchanged."""
    file = folder / "robot.yaml"
    text = file.read_text(encoding="utf-8")
    line = re.compile(r"^urdf:.*$", re.MULTILINE)
    file.write_text(line.sub(lambda _: f"urdf: {named}", text, count=1), "utf-8")


def main(arguments: list[str]) -> None:
    """Write the URDF of each given folder."""
    for argument in arguments:
        rewrite_urdf(Path(argument))


if __name__ == "__main__":
    main(sys.argv[1:])
