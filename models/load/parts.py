"""Motors, sensors, contact points, lights, groups and postures of a robot folder.

Each function reads one table, or a part of `robot.yaml`, and checks it against the
joints and the links of the URDF.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field, create_model

from nao_testbed.models.files.csv_tables import Table, read_table
from nao_testbed.models.files.yaml_forms import YamlFile
from nao_testbed.models.load.forms import (
    ContactRow,
    ForceSensorRow,
    JointRow,
    LedRow,
    MotorRow,
    MotorTypeRow,
    OneNodeRow,
    RobotFile,
    SourcedRow,
    TwoNodeRow,
    part_of,
)
from nao_testbed.models.load.urdf import UrdfTree
from nao_testbed.models.robot import (
    ContactPoint,
    ForceSensor,
    LedGroup,
    Motor,
    OneNodeHeating,
    Posture,
    Robot,
    TwoNodeHeating,
)
from nao_testbed.models.values import Name, Real


def load_motors(folder: Path, joints: Table[JointRow]) -> tuple[Motor, ...]:
    """Return the motors in the order of their leading joints.

    Raises:
        RobotDataError: a motor drives no joint, a joint has no motor, a motor's type or
            heating row does not exist, or parallel motors do not determine their
            joints.
    """
    motors = read_table(folder / "motors.csv", MotorRow, "name", "motor")
    types = read_table(folder / "motor_types.csv", MotorTypeRow, "type", "motor type")
    one_node = read_table(
        folder / "heating_one_node.csv", OneNodeRow, "group", "heating group"
    )
    two_node = read_table(
        folder / "heating_two_node.csv", TwoNodeRow, "type", "motor type"
    )
    driven = _driven_joints(joints, motors)
    for row in motors:
        if row.name not in driven:
            motors.fail(
                row.name,
                f"motor {row.name!r} drives no joint: no row of {joints.path.name} "
                "has it; add one, or remove the motor.",
            )
        for kind, name, table in (
            ("Motor type", row.type, types),
            ("Motor type", row.type, two_node),
            ("Heating group", row.one_node, one_node),
        ):
            motors.need(row.name, kind, name, table.rows, table.path.name)
    return tuple(
        part_of(
            Motor,
            types.rows[row.type],
            name=row.name,
            joints=tuple(ratios),
            ratios=tuple(ratios.values()),
            gear_ratio=row.gear_ratio,
            one_node=part_of(OneNodeHeating, one_node.rows[row.one_node]),
            two_node=part_of(TwoNodeHeating, two_node.rows[row.type]),
        )
        for row, ratios in ((motors.rows[name], driven[name]) for name in driven)
    )


Ratios = dict[str, float]
"""Column of G of a motor, by joint."""


def _driven_joints(
    joints: Table[JointRow], motors: Table[MotorRow]
) -> dict[str, Ratios]:
    """Return the joints of each motor, leading joint first, in joint order."""
    parallel = {row.name: _ratios(motors, row, joints) for row in motors if row.joints}
    motor_at = _check_parallel(parallel, motors, joints)
    driven: dict[str, Ratios] = {}
    for row in joints:
        if row.name in motor_at:
            driven[motor_at[row.name]] = parallel[motor_at[row.name]]
        elif row.motor == row.name:
            driven[row.name] = {row.name: 1.0}
    for row in joints:
        where, before = motors.path.name, f"joint {row.name!r}: "
        if {row.name, row.motor} & motor_at.keys():
            if row.motor != row.name:
                joints.fail(
                    row.name,
                    f"joint {row.name!r} follows {row.motor!r}, and several motors "
                    f"drive one of them in {where}; a joint may do only one of both.",
                )
            continue
        joints.need(row.name, "Motor", row.motor, motors.rows, where, before)
        driven[row.motor][row.name] = 1.0
    return driven


def _ratios(motors: Table[MotorRow], row: MotorRow, joints: Table[JointRow]) -> Ratios:
    """Return the ratios of a motor that shares its joints."""
    words = row.joints.split()
    names = words[1::2]
    try:
        ratios = dict(zip(names, map(float, words[::2]), strict=True))
    except ValueError:
        ratios = {}
    if len(ratios) != len(names) or not all(0 < abs(r) < 100 for r in ratios.values()):
        motors.fail(
            row.name,
            f"joints is {row.joints!r}; give a ratio that is not 0, and a joint, in "
            "turn, each joint once: '0.5 ankle_pitch -0.5 ankle_roll'.",
        )
    for name in names:
        motors.need(row.name, "Joint", name, joints.rows, joints.path.name)
    if row.name in joints.rows:
        motors.fail(
            row.name,
            f"motor {row.name!r} has the name of a joint, but shares its joints with "
            "other motors; rename it.",
        )
    return ratios


def _check_parallel(
    parallel: dict[str, Ratios], motors: Table[MotorRow], joints: Table[JointRow]
) -> dict[str, str]:
    """Check that parallel motors and their joints determine each other.

    Returns:
        A motor for each joint: the k-th joint of a group has its k-th motor.
    """
    motor_at: dict[str, str] = {}
    left = dict(parallel)
    while left:
        first = next(iter(left))
        shared = set(left[first])
        while (
            more := {j for r in left.values() if shared & r.keys() for j in r} - shared
        ):
            shared |= more
        names = [name for name, ratios in left.items() if shared & ratios.keys()]
        moved = [row.name for row in joints if row.name in shared]
        own = [name for name in moved if name in motors.rows]
        table = np.array([[left[m].get(j, 0.0) for m in names] for j in moved])
        text = f"motors {', '.join(names)} drive joints {', '.join(moved)}"
        if own:
            motors.fail(
                own[0], f"{text}, so {own[0]!r} has no motor of its own; remove it."
            )
        if len(names) != len(moved):
            motors.fail(first, f"{text}; give as many motors as joints.")
        if np.linalg.cond(table) > LARGEST_CONDITION:
            motors.fail(
                first,
                f"{text}, but their ratios do not determine the joints (singular "
                "matrix); change a ratio or a sign.",
            )
        motor_at |= dict(zip(moved, names, strict=True))
        left = {name: ratios for name, ratios in left.items() if name not in names}
    return motor_at


LARGEST_CONDITION = 1e4
"""Condition of G above which small errors of a ratio become large torques."""


def load_force_sensors(folder: Path, urdf: UrdfTree) -> tuple[ForceSensor, ...]:
    """Return the rows of `force_sensors.csv`."""
    path = folder / "force_sensors.csv"
    table = read_table(path, ForceSensorRow, "name", "force sensor")
    for row in table:
        _check_link(table, row.name, row.link, urdf)
    return tuple(part_of(ForceSensor, row) for row in table)


def load_contacts(
    folder: Path, urdf: UrdfTree, sensors: tuple[ForceSensor, ...]
) -> tuple[ContactPoint, ...]:
    """Return the rows of `contacts.csv`; a point with a sensor has its position."""
    table = read_table(folder / "contacts.csv", ContactRow, "name", "contact point")
    by_name = {sensor.name: sensor for sensor in sensors}
    for row in table:
        _check_link(table, row.name, row.link, urdf)
        if row.fsr is None:
            continue
        table.need(row.name, "Sensor", row.fsr, by_name, "force_sensors.csv")
        sensor = by_name[row.fsr]
        if (row.link, row.position) != (sensor.link, sensor.position):
            table.fail(
                row.name,
                f"contact point {row.name!r} is at {row.x} {row.y} {row.z} on "
                f"{row.link!r}; its sensor {sensor.name!r} is elsewhere. Give both "
                "the same position.",
            )
    return tuple(part_of(ContactPoint, row) for row in table)


def load_leds(folder: Path, urdf: UrdfTree) -> tuple[LedGroup, ...]:
    """Return the rows of `leds.csv`, or nothing without that file."""
    path = folder / "leds.csv"
    if not path.exists():
        return ()
    table = read_table(path, LedRow, "name", "LED group")
    for row in table:
        _check_link(table, row.name, row.link, urdf)
        _check_led_place(table, row)
    return tuple(part_of(LedGroup, row) for row in table)


def _check_led_place(table: Table[LedRow], row: LedRow) -> None:
    """Reject an incomplete place, and a place without source and status."""
    given = {"x": row.x, "y": row.y, "z": row.z}
    without = [name for name, value in given.items() if value is None]
    if without and len(without) < len(given):
        table.fail(
            row.name,
            f"LED group {row.name!r} lacks {' and '.join(without)} of its position. "
            "Give x, y and z in m, or none of them.",
        )
    if not without and not (row.place_source and row.place_status):
        table.fail(
            row.name,
            f"LED group {row.name!r} has a position, but no place_source or "
            "place_status. Give both.",
        )


def load_groups(
    file: YamlFile[RobotFile], joints: Table[JointRow]
) -> dict[str, tuple[str, ...]]:
    """Return the joints of each group, with nested groups expanded."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, members in file.value.groups.items():
        if name in joints.rows:
            file.fail(f"group {name!r} has a joint's name; rename it.", "groups", name)
        found: list[str] = []
        for member in members:
            known, where = [*joints.rows, *groups], "joints or groups above"
            place, before = ("groups", name), f"group {name!r}: "
            file.need("Joint", member, known, where, *place, before=before)
            found += groups.get(member, (member,))
        if len(set(found)) != len(found):
            file.fail(f"group {name!r} has a joint twice.", "groups", name)
        groups[name] = tuple(found)
    return groups


def check_devices(
    file: YamlFile[RobotFile], urdf: UrdfTree, effectors: tuple[str, ...]
) -> None:
    """Check the links of IMU, speakers, sonars, cameras, touch; feet are effectors."""
    links = [link.name for link in urdf.links]
    settings, where = file.value, urdf.path.name
    file.need("Link", settings.imu.link, links, where, "imu", "link")
    for i, speaker in enumerate(settings.speakers):
        file.need("Link", speaker.link, links, where, "speakers", i, "link")
    for kind in ("sonars", "cameras"):
        for i, device in enumerate(getattr(settings, kind)):
            file.need("Link", device.link, links, where, kind, i, "link")
    for name, sensor in settings.touch_sensors.items():
        file.need("Link", sensor.link, links, where, "touch_sensors", name, "link")
    for foot in settings.feet:
        file.need("Effector", foot, effectors, "contacts.csv", "feet")


def check_roles(file: YamlFile[RobotFile], robot: Robot) -> None:
    """Check that roles name parts of the robot, and that angles are in their range."""
    joints, links = robot.joint_names, [link.name for link in robot.links]
    known: dict[str, tuple[str, Collection[str]]] = {
        "postures": ("Posture", robot.postures),
        "saving": ("Resource", [node.name for node in robot.resources.walk()]),
        **dict.fromkeys(("loads", "grips"), ("Link", links)),
        **dict.fromkeys(("legs", "idle_joints"), ("Joint", (*joints, *robot.groups))),
        **dict.fromkeys(("head", "breathing_deg", "falling"), ("Joint", joints)),
    }
    for role, (kind, names) in known.items():
        for name, *place in _names_in(getattr(robot.roles, role)):
            where = f"robot {robot.name!r}"
            file.need(kind, name, names, where, "roles", role, *place)
    for heading, angles in robot.roles.falling.items():
        for name, angle in angles.items():
            joint = robot.joints[robot.joint_index(name)]
            if not joint.lower <= angle <= joint.upper:
                file.fail(
                    f"{name} is {angle} rad in falling; give {joint.lower} to "
                    f"{joint.upper}.",
                    *("roles", "falling", heading, name),
                )


def _names_in(value: Any, *place: str | int) -> Iterator[tuple[Any, ...]]:
    """Yield each name in the value of a role, and its place below the role."""
    if isinstance(value, str):
        yield (value, *place)
    elif isinstance(value, float):
        yield (place[-1], *place)
    elif isinstance(value, tuple):
        for i, name in enumerate(value):
            yield (name, *place, i)
    elif value is not None:
        for key, inner in dict(
            value if isinstance(value, Mapping) else vars(value)
        ).items():
            yield from _names_in(inner, *place, key)


def _check_link(table: Table[Any], key: str, link: str, urdf: UrdfTree) -> None:
    names = [item.name for item in urdf.links]
    table.need(key, "Link", link, names, urdf.path.name)


@cache
def _posture_form(ranges: tuple[tuple[str, float, float], ...]) -> type[SourcedRow]:
    """Return the form of a row of `postures.csv`: one angle per joint, in its range."""
    angles: dict[str, Any] = {
        name: (Annotated[Real, Field(ge=lower, le=upper)], ...)
        for name, lower, upper in ranges
    }
    return create_model("PostureRow", __base__=SourcedRow, name=(Name, ...), **angles)


def load_postures(
    folder: Path,
    file: YamlFile[RobotFile],
    joints: Table[JointRow],
    effectors: tuple[str, ...],
) -> dict[str, Posture]:
    """Return the postures by name, angles in the order of `joints`.

    Raises:
        RobotDataError: an angle is not a number or outside its joint's limits, coupled
            joints differ, or a joint or a posture is unknown or a duplicate.
    """
    form = _posture_form(tuple((row.name, row.lower, row.upper) for row in joints))
    table = read_table(folder / "postures.csv", form, "name", "posture")
    settings = file.value.typical_postures
    postures: dict[str, Posture] = {}
    for name, found in table.rows.items():
        angle = {row.name: getattr(found, row.name) for row in joints}
        for row in joints:
            if angle[row.name] != angle[row.motor]:
                table.fail(
                    name,
                    f"posture {name!r}: {row.name} is {angle[row.name]} rad and "
                    f"{row.motor} {angle[row.motor]} rad, but one motor drives both; "
                    "make them equal.",
                )
        angles = np.array(list(angle.values()))
        angles.setflags(write=False)
        typical = settings.get(name)
        postures[name] = Posture(
            name=name,
            angles=angles,
            effectors=typical.effectors if typical else (),
            offset=typical.offset if typical else None,
            state=typical.state if typical else None,
            status=found.status,
        )
    for name, typical in settings.items():
        place = ("typical_postures", name)
        file.need("Posture", name, postures, table.path.name, *place)
        for effector in typical.effectors:
            file.need("Effector", effector, effectors, "contacts.csv", *place)
    return postures
