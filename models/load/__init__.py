"""Loader of a robot from its folder: `robot.yaml`, a URDF and tables.

Every error is a `RobotDataError` whose message begins with `file:line`. The tables:
`joints.csv`, `motors.csv`, `motor_types.csv`, `heating_one_node.csv`,
`heating_two_node.csv`, `force_sensors.csv`, `contacts.csv`, `postures.csv` and, for a
robot with lights, `leds.csv`. `models.load.forms` holds their columns. The tree of
resources is in `resources.yaml`; without that file it is derived from the other data
(`models.load.resource_tree`). Stored actions are in `library/`
(`models.load.library_files`); a robot without it has none. `copy_robot` copies a
folder, URDF included, into a separate robot.
"""

import hashlib
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

from nao_testbed.models.errors import BadInput
from nao_testbed.models.files.csv_tables import Table, read_table
from nao_testbed.models.files.yaml_forms import YamlFile, read_yaml
from nao_testbed.models.files.yaml_tree import MAX_BYTES
from nao_testbed.models.folders import ROBOT_FILE, find_robot_folder
from nao_testbed.models.library import LibraryOnDemand
from nao_testbed.models.load.forms import JointRow, RobotFile, part_of
from nao_testbed.models.load.library_files import has_library, load_library
from nao_testbed.models.load.parts import (
    check_devices,
    check_roles,
    load_contacts,
    load_force_sensors,
    load_groups,
    load_leds,
    load_motors,
    load_postures,
)
from nao_testbed.models.load.resource_tree import check_resource_names, load_resources
from nao_testbed.models.load.urdf import UrdfTree, read_urdf
from nao_testbed.models.load.write_urdf import check_urdf, name_urdf, urdf_path
from nao_testbed.models.robot import Joint, Robot

TEXTS = {".csv", ".yaml", ".urdf"}
"""Suffixes of the files of a robot."""
ATOL_MASS = 1e-3  # kg; a stated total is rounded to the gram
ATOL_LIMIT = 1e-6  # rad; six printed digits


def load_robot(folder: Path | str | None = None) -> Robot:
    """Return the robot of a folder or name, checked; None means the NAO.

    A folder is read once per process, and again when the text of a file has changed.
    Its library is read and checked on first access, which may raise `FileErrors`.

    Raises:
        BadInput: the folder or name does not exist.
        RobotDataError: a file of the robot is invalid; the message has the place and
            the cause.
    """
    found = find_robot_folder(folder)
    place = found.resolve()
    kept = _ROBOTS.get(place)
    if kept is not None and kept[0] == _digest(place, kept[1].urdf):
        return kept[1]
    robot = _read_robot(found)
    _ROBOTS[place] = _digest(place, robot.urdf), robot
    return robot


_ROBOTS: dict[Path, tuple[bytes, Robot]] = {}
"""Folder to the digest of its files, and its robot."""


def _digest(folder: Path, urdf: Path) -> bytes:
    """Return a digest of the text files of a robot: a hundredth of reading them."""
    files = [*folder.glob("*.*"), *folder.glob("library/*.*"), urdf]
    known = sorted(f for f in files if f.suffix in TEXTS and f.is_file())
    texts = [f.read_bytes() for f in known if f.stat().st_size <= MAX_BYTES]
    names = [str(f).encode("utf-8", "surrogateescape") for f in known]
    digest = hashlib.blake2b()
    for part in (*names, *texts):
        digest.update(b"%d:%b" % (len(part), part))
    return digest.digest()


def _read_robot(folder: Path) -> Robot:
    """Return the robot of an existing folder."""
    file = read_yaml(folder / ROBOT_FILE, RobotFile)
    settings = file.value
    urdf = read_urdf(urdf_path(folder, settings.urdf))
    check_urdf(folder, urdf.path, settings.name)
    _check_body(file, urdf)
    joints = _load_joints(folder, urdf)
    motors = load_motors(folder, joints)
    sensors = load_force_sensors(folder, urdf)
    contacts = load_contacts(folder, urdf, sensors)
    effectors = tuple(dict.fromkeys(point.effector for point in contacts))
    postures = load_postures(folder, file, joints, effectors)
    check_devices(file, urdf, effectors)
    robot = Robot(
        name=settings.name,
        folder=folder.resolve(),
        urdf=urdf.path,
        base_link=settings.base_link,
        links=urdf.links,
        joints=tuple(
            part_of(Joint, row, parent=moved.parent, link=moved.child)
            for row, moved in ((row, urdf.joints[row.name]) for row in joints)
        ),
        motors=motors,
        contact_points=contacts,
        feet=settings.feet,
        contact_threshold=settings.contact_threshold,
        force_sensors=sensors,
        imu=settings.imu,
        sensor_rates=settings.sensor_rates,
        groups=load_groups(file, joints),
        postures=postures,
        leds=load_leds(folder, urdf),
        speakers=settings.speakers,
        sonars=settings.sonars,
        cameras=settings.cameras,
        touch_sensors=settings.touch_sensors,
        battery=settings.battery,
        bodies=settings.bodies,
        thermal=settings.thermal,
        notes=urdf.notes,
        roles=settings.roles,
        protection=settings.protection,
    )
    robot = replace(robot, resources=load_resources(robot))
    check_resource_names(file, robot)
    check_roles(file, robot)
    if has_library(folder):
        robot = replace(robot, library=LibraryOnDemand(partial(load_library, robot)))
    return robot


def _check_body(file: YamlFile[RobotFile], urdf: UrdfTree) -> None:
    settings = file.value
    if settings.base_link != urdf.root:
        file.fail(
            f"base_link is {settings.base_link!r}; the root link of {urdf.path.name} "
            f"is {urdf.root!r}.",
            "base_link",
        )
    total = sum(link.mass for link in urdf.links)
    if abs(total - settings.total_mass) > ATOL_MASS:
        file.fail(
            f"total_mass is {settings.total_mass} kg; the links of {urdf.path.name} "
            f"sum to {total:.5f} kg, accepted: a difference of {ATOL_MASS} kg. "
            "Correct one of them.",
            "total_mass",
        )


def _load_joints(folder: Path, urdf: UrdfTree) -> Table[JointRow]:
    table = read_table(folder / "joints.csv", JointRow, "name", "joint")
    moving = urdf.moving
    for row in table:
        table.need(row.name, "Joint", row.name, moving, urdf.path.name)
        if row.lower >= row.upper:
            table.fail(
                row.name,
                f"joint {row.name!r} has lower limit {row.lower} and upper limit "
                f"{row.upper} rad; the lower limit must be smaller.",
            )
        joint = moving[row.name]
        for side, here, there in (
            ("lower", row.lower, joint.lower),
            ("upper", row.upper, joint.upper),
        ):
            if abs(here - there) > ATOL_LIMIT:
                table.fail(
                    row.name,
                    f"{side} limit of joint {row.name!r} is {here} rad here and "
                    f"{there} rad in {urdf.path.name}:{joint.element.line}; make them "
                    "equal.",
                )
        _check_coupling(table, row, joint.mimics)
    missing = [name for name in moving if name not in table.rows]
    if missing:
        moving[missing[0]].element.fail(
            f"joint {missing[0]!r} has no row in {table.path.name}."
        )
    return table


def _check_coupling(table: Table[JointRow], row: JointRow, mimics: str | None) -> None:
    """Check that joints share a motor exactly if the URDF couples them."""
    expected = mimics or row.name
    if row.motor != expected:
        table.fail(
            row.name,
            f"joint {row.name!r} has motor {row.motor!r}; the URDF says "
            + (f"that it follows {mimics!r}" if mimics else "that it moves on its own")
            + f", so its motor must be {expected!r}.",
        )


def copy_robot(source: Path, folder: Path) -> Path:
    """Copy the folder of a robot, and its URDF into the copy.

    A URDF that names mesh files is not copied, so that it stays beside them; the copy
    then refers to its path.

    Args:
        source: a robot folder.
        folder: new folder.

    Returns:
        `folder`.

    Raises:
        BadInput: the folder exists, or cannot be written.
        RobotDataError: the source is not a robot.
    """
    robot = load_robot(source)
    if folder.exists():
        raise BadInput(f"{folder} exists; give a folder that does not.")
    try:
        shutil.copytree(robot.folder, folder)
        if not robot.urdf.is_relative_to(robot.folder):
            has_meshes = re.search(rb"filename\s*=", robot.urdf.read_bytes())
            if not has_meshes:
                shutil.copy(robot.urdf, folder)
            name_urdf(folder, str(robot.urdf) if has_meshes else robot.urdf.name)
    except OSError as error:
        raise BadInput(f"{folder} cannot be written: {error}. Give another.") from error
    return folder
