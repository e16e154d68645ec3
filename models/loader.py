"""Read a robot from its folder: `robot.yaml`, a URDF and the tables beside it.

Every error is a `RobotDataError` whose message begins with `file:line`. The tables:
`joints.csv`, `motors.csv`, `motor_types.csv`, `heating_one_node.csv`,
`heating_two_node.csv`, `force_sensors.csv`, `contacts.csv`, `postures.csv` and, for a
robot with lights, `leds.csv`. `models.rows` and `models.robot_yaml` hold their columns.
The tree of resources is in `resources.yaml`, or follows from the rest where there is no
such file (`models.default_resources`). What the robot can do by heart is in `library/`
(`models.load_library`); without that it can do nothing by heart.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

from models.devices import Battery, Imu, SensorRates, Speaker
from models.errors import BadInput, UnknownName
from models.library.on_demand import LibraryOnDemand
from models.links import Joint
from models.load_devices import (
    check_devices,
    load_contacts,
    load_force_sensors,
    load_groups,
    load_leds,
)
from models.load_library import has_library, load_library
from models.load_motors import load_motors
from models.load_postures import load_postures
from models.load_resources import check_resource_names, load_resources
from models.robot import Robot
from models.robot_yaml import RobotFile
from models.rows import JointRow
from models.tables import Table, read_table
from models.urdf_tree import UrdfTree, read_urdf
from models.write_urdf import check_urdf, urdf_path
from models.yaml_lines import YamlFile, read_yaml

ROBOT_FILE = "robot.yaml"
ATOL_MASS = 1e-3  # kg; a stated total is rounded to the gram
ATOL_LIMIT = 1e-6  # rad; six printed digits


def default_robot_folder() -> Path:
    """Return the folder of the NAO that comes with the package."""
    return Path(__file__).resolve().parent / "nao"


def load_robot(folder: Path | str | None = None) -> Robot:
    """Return the robot of a folder, checked; None means the NAO.

    Its library is read and checked when somebody first looks into it, and may raise
    `FileErrors` then.

    Raises:
        BadInput: there is no such folder.
        RobotDataError: a file of it is wrong; the message says where and why.
    """
    folder = default_robot_folder() if folder is None else Path(folder)
    if not folder.is_dir():
        raise BadInput(
            f"Robot folder {str(folder)!r} is not a directory; give a folder that "
            "holds robot.yaml and its tables."
        )
    file = read_yaml(folder / ROBOT_FILE, RobotFile)
    settings = file.value
    urdf = read_urdf(urdf_path(folder, settings.urdf))
    check_urdf(folder, urdf.path)
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
        joints=tuple(_joint(row, urdf) for row in joints),
        motors=motors,
        contact_points=contacts,
        feet=settings.feet,
        contact_threshold=settings.contact_threshold,
        force_sensors=sensors,
        imu=Imu(**settings.imu.model_dump()),
        sensor_rates=SensorRates(**settings.sensor_rates.model_dump()),
        groups=load_groups(file, joints),
        postures=postures,
        leds=load_leds(folder, urdf),
        speakers=tuple(Speaker(**item.model_dump()) for item in settings.speakers),
        battery=Battery(**settings.battery.model_dump()),
        bodies=settings.bodies,
    )
    robot = replace(robot, resources=load_resources(robot))
    check_resource_names(file, robot)
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
            f"sum to {total:.5f} kg, accepted is a difference of {ATOL_MASS} kg. "
            "Correct the one or the other.",
            "total_mass",
        )


def _load_joints(folder: Path, urdf: UrdfTree) -> Table[JointRow]:
    table = read_table(folder / "joints.csv", JointRow, "name", "joint")
    moving = urdf.moving
    for row in table:
        if row.name not in moving:
            unknown = UnknownName("Joint", row.name, moving, urdf.path.name)
            table.fail(row.name, str(unknown))
        if row.lower >= row.upper:
            table.fail(
                row.name,
                f"joint {row.name!r} has lower limit {row.lower} and upper limit "
                f"{row.upper} rad; the lower one must be the smaller.",
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
    """Joints share a motor where the URDF couples them, and nowhere else."""
    expected = mimics or row.name
    if row.motor != expected:
        table.fail(
            row.name,
            f"joint {row.name!r} has motor {row.motor!r}; the URDF says "
            + (f"that it follows {mimics!r}" if mimics else "that it moves on its own")
            + f", so its motor must be {expected!r}.",
        )


def _joint(row: JointRow, urdf: UrdfTree) -> Joint:
    joint = urdf.joints[row.name]
    numbers = row.model_dump(exclude={"source", "status", "servo_status", "note"})
    return Joint(parent=joint.parent, link=joint.child, **numbers)
