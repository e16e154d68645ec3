"""A copy of a robot's folder that knows one posture more.

A posture is a row of `postures.csv` and, where it is a typical one, an entry of
`robot.yaml`; so every command takes it by `--robot DIR --posture NAME`.
"""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML

from models import BadInput, Posture, Robot, load_robot
from models.files.yaml_tree import read_tree
from models.load import copy_robot

FloatArray = NDArray[np.float64]

DIGITS = 6
"""Of angles in rad, as the shipped postures have them."""


def posture_angles(robot: Robot, angles: FloatArray) -> FloatArray:
    """Return (n_joints,) angles in rad, rounded, inside the ranges, coupled alike."""
    rounded = np.clip(np.round(angles, DIGITS), robot.lower, robot.upper)
    leads = [robot.joint_index(joint.motor) for joint in robot.joints]
    return np.asarray(rounded[leads])


def check_folder(robot: Robot, name: str, folder: Path | None) -> None:
    """Look whether a posture could be added, before a search is made.

    Raises:
        BadInput: the robot has a posture of this name, or the folder is there.
    """
    if name in robot.postures:
        raise BadInput(
            f"robot {robot.name!r} has a posture {name!r} already; give another --name."
        )
    if not name.isidentifier():
        raise BadInput(
            f"{name!r} is no name for a posture; use letters, digits and underscores."
        )
    if folder is not None and folder.exists():
        raise BadInput(f"{folder} exists; give a folder that does not, for --out.")


def write_robot_folder(
    robot: Robot, wanted: Posture, name: str, angles: FloatArray, folder: Path
) -> Robot:
    """Write the folder and return the robot that it describes.

    Args:
        robot: whose folder is copied, with its URDF.
        wanted: gives the new posture its effectors, offset and state.
        name: of the new posture.
        angles: (n_joints,) in rad.
        folder: does not exist yet.

    Raises:
        BadInput: it cannot be written.
    """
    try:
        copy_robot(robot.folder, folder)
        _add_row(folder / "postures.csv", robot, wanted.name, name, angles)
        _add_settings(folder / "robot.yaml", wanted, name)
    except OSError as error:
        raise BadInput(
            f"--out {folder} cannot be written: {error.strerror}. Give another folder."
        ) from error
    return load_robot(folder)


def _add_row(
    path: Path, robot: Robot, wanted: str, name: str, angles: FloatArray
) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        columns = next(csv.reader(file))
    cells = dict(
        zip(robot.joint_names, posture_angles(robot, angles).tolist(), strict=True)
    )
    row = {column: str(cells[column]) for column in columns if column in cells}
    row |= {"name": name, "source": "posture-search", "status": "derived"}
    row["note"] = f"coolest posture found near {wanted}"
    text = path.read_text(encoding="utf-8")
    with path.open("a", newline="", encoding="utf-8") as file:
        if not text.endswith("\n"):
            file.write("\n")
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writerow(row)


def _add_settings(path: Path, wanted: Posture, name: str) -> None:
    yaml = YAML()
    yaml.width = 120
    data = read_tree(path)
    if wanted.effectors:
        settings: dict[str, object] = {
            "effectors": list(wanted.effectors),
            "offset": wanted.offset,
        }
        if wanted.state is not None:
            settings["state"] = wanted.state
        data["typical_postures"][name] = settings
    yaml.dump(data, path)
