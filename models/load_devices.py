"""Sensors, contact candidates, lights and groups of a robot folder.

Each function reads one table and checks it against the links of the URDF.
"""

from pathlib import Path
from typing import Any

from models.devices import ForceSensor, LedGroup
from models.errors import UnknownName
from models.links import ContactPoint, Vector3
from models.robot_yaml import RobotFile
from models.rows import ContactRow, ForceSensorRow, JointRow, LedRow
from models.tables import Table, read_table
from models.urdf_tree import UrdfTree
from models.yaml_lines import YamlFile


def load_force_sensors(folder: Path, urdf: UrdfTree) -> tuple[ForceSensor, ...]:
    """Return the rows of `force_sensors.csv`."""
    path = folder / "force_sensors.csv"
    table = read_table(path, ForceSensorRow, "name", "force sensor")
    for row in table:
        _check_link(table, row.name, row.link, urdf)
    return tuple(
        ForceSensor(
            name=row.name,
            link=row.link,
            position=(row.x, row.y, row.z),
            range_newton=row.range_newton,
            step_newton=row.step_newton,
            noise_newton=row.noise_newton,
        )
        for row in table
    )


def load_contacts(
    folder: Path, urdf: UrdfTree, sensors: tuple[ForceSensor, ...]
) -> tuple[ContactPoint, ...]:
    """Return the rows of `contacts.csv`; a point with a sensor is where it is."""
    table = read_table(folder / "contacts.csv", ContactRow, "name", "contact point")
    by_name = {sensor.name: sensor for sensor in sensors}
    for row in table:
        _check_link(table, row.name, row.link, urdf)
        if row.fsr is None:
            continue
        if row.fsr not in by_name:
            unknown = UnknownName("Sensor", row.fsr, by_name, "force_sensors.csv")
            table.fail(row.name, str(unknown))
        sensor = by_name[row.fsr]
        if (row.link, (row.x, row.y, row.z)) != (sensor.link, sensor.position):
            table.fail(
                row.name,
                f"contact point {row.name!r} is at {row.x} {row.y} {row.z} on "
                f"{row.link!r}; its sensor {sensor.name!r} is elsewhere. Give both "
                "the same place.",
            )
    return tuple(
        ContactPoint(
            name=row.name,
            link=row.link,
            position=(row.x, row.y, row.z),
            effector=row.effector,
            fsr=row.fsr,
        )
        for row in table
    )


def load_leds(folder: Path, urdf: UrdfTree) -> tuple[LedGroup, ...]:
    """Return the rows of `leds.csv`, or nothing where there is no such file."""
    path = folder / "leds.csv"
    if not path.exists():
        return ()
    table = read_table(path, LedRow, "name", "LED group")
    for row in table:
        _check_link(table, row.name, row.link, urdf)
        _check_place(table, row)
    return tuple(
        LedGroup(
            name=row.name,
            link=row.link,
            count=row.count,
            channels=row.channels,
            levels=row.levels,
            place=_place(row),
        )
        for row in table
    )


def _place(row: LedRow) -> Vector3 | None:
    if row.x is None or row.y is None or row.z is None:
        return None
    return (row.x, row.y, row.z)


def _check_place(table: Table[LedRow], row: LedRow) -> None:
    """Refuse half a place, and one that does not say where it is from."""
    given = {"x": row.x, "y": row.y, "z": row.z}
    without = [name for name, value in given.items() if value is None]
    if without and len(without) < len(given):
        table.fail(
            row.name,
            f"LED group {row.name!r} lacks {' and '.join(without)} of its place. Give "
            "x, y and z in m, or none of them.",
        )
    if not without and not (row.place_source and row.place_status):
        table.fail(
            row.name,
            f"LED group {row.name!r} has a place, but no place_source or place_status. "
            "Give both.",
        )


def load_groups(
    file: YamlFile[RobotFile], joints: Table[JointRow]
) -> dict[str, tuple[str, ...]]:
    """Return the joints of each group, groups within groups resolved."""
    groups: dict[str, tuple[str, ...]] = {}
    for name, members in file.value.groups.items():
        if name in joints.rows:
            file.fail(f"group {name!r} has the name of a joint.", "groups", name)
        found: list[str] = []
        for member in members:
            if member not in joints.rows and member not in groups:
                known = [*joints.rows, *groups]
                unknown = UnknownName("Joint", member, known, "joints or groups above")
                file.fail(f"group {name!r}: {unknown}", "groups", name)
            found += groups.get(member, (member,))
        if len(set(found)) != len(found):
            file.fail(f"group {name!r} has a joint twice.", "groups", name)
        groups[name] = tuple(found)
    return groups


def check_devices(
    file: YamlFile[RobotFile], urdf: UrdfTree, effectors: tuple[str, ...]
) -> None:
    """Refuse an IMU, loudspeaker or foot that is on nothing known."""
    links = [link.name for link in urdf.links]
    settings = file.value
    if settings.imu.link not in links:
        unknown = UnknownName("Link", settings.imu.link, links, urdf.path.name)
        file.fail(str(unknown), "imu", "link")
    for i, speaker in enumerate(settings.speakers):
        if speaker.link not in links:
            unknown = UnknownName("Link", speaker.link, links, urdf.path.name)
            file.fail(str(unknown), "speakers", i, "link")
    for foot in settings.feet:
        if foot not in effectors:
            unknown = UnknownName("Effector", foot, effectors, "contacts.csv")
            file.fail(str(unknown), "feet")


def _check_link(table: Table[Any], key: str, link: str, urdf: UrdfTree) -> None:
    names = [item.name for item in urdf.links]
    if link not in names:
        table.fail(key, str(UnknownName("Link", link, names, urdf.path.name)))
