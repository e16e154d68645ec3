"""Stored postures of a robot folder: `postures.csv` and the settings of robot.yaml."""

import math
from pathlib import Path

import numpy as np

from models.errors import RobotDataError, UnknownName
from models.robot import Posture
from models.robot_yaml import RobotFile
from models.rows import JointRow
from models.tables import Table, read_cells
from models.yaml_lines import YamlFile

TEXT_COLUMNS = ("name", "source", "status", "note")
STATUSES = ("published", "derived", "estimate")


def load_postures(
    folder: Path,
    file: YamlFile[RobotFile],
    joints: Table[JointRow],
    effectors: tuple[str, ...],
) -> dict[str, Posture]:
    """Return the postures by name, angles in the order of `joints`.

    Raises:
        RobotDataError: an angle is no number or outside its joint's limits, coupled
            joints differ, a joint or a posture is unknown or there twice.
    """
    path = folder / "postures.csv"
    settings = file.value.typical_postures
    postures: dict[str, Posture] = {}
    for line, cells in read_cells(path):
        _check_header(path, list(cells), joints)
        name = cells["name"]
        if not name or name in postures:
            problem = f"posture {name!r} appears twice." if name else "name is empty."
            raise RobotDataError(path, line, problem)
        if cells["status"] not in STATUSES:
            raise RobotDataError(
                path,
                line,
                f"status is {cells['status']!r}; accepted: {', '.join(STATUSES)}.",
            )
        angles = np.array([_angle(path, line, cells, row) for row in joints])
        angles.setflags(write=False)
        typical = settings.get(name)
        postures[name] = Posture(
            name=name,
            angles=angles,
            effectors=typical.effectors if typical else (),
            offset=typical.offset if typical else None,
            state=typical.state if typical else None,
            status=cells["status"],
        )
    for name, typical in settings.items():
        place = ("typical_postures", name)
        if name not in postures:
            file.fail(str(UnknownName("Posture", name, postures, path.name)), *place)
        for effector in typical.effectors:
            if effector not in effectors:
                unknown = UnknownName("Effector", effector, effectors, "contacts.csv")
                file.fail(str(unknown), *place)
    return postures


def _check_header(path: Path, columns: list[str], joints: Table[JointRow]) -> None:
    known = [*TEXT_COLUMNS, *joints.rows]
    if missing := [name for name in known if name not in columns]:
        raise RobotDataError(path, 1, f"columns are missing: {', '.join(missing)}.")
    for name in columns:
        if name not in known:
            unknown = UnknownName("Joint", name, joints.rows, joints.path.name)
            raise RobotDataError(path, 1, str(unknown))


def _angle(path: Path, line: int, cells: dict[str, str], row: JointRow) -> float:
    name = cells["name"]
    value = _number(cells[row.name])
    if not math.isfinite(value):
        raise RobotDataError(
            path,
            line,
            f"posture {name!r}: {row.name} is {cells[row.name]!r}; give a finite "
            "number.",
        )
    if not row.lower <= value <= row.upper:
        raise RobotDataError(
            path,
            line,
            f"posture {name!r}: {row.name} is {value} rad, outside its range "
            f"{row.lower} to {row.upper} rad; bring it inside.",
        )
    if row.motor != row.name and value != _number(cells[row.motor]):
        raise RobotDataError(
            path,
            line,
            f"posture {name!r}: {row.name} is {value} rad and {row.motor} "
            f"{cells[row.motor]} rad, but one motor drives both; make them equal.",
        )
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
