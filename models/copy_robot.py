"""Copy a robot's folder, its URDF included, so that the copy is a robot of its own."""

import re
import shutil
from pathlib import Path

from models.errors import BadInput
from models.loader import load_robot
from models.write_urdf import name_urdf


def copy_robot(source: Path, folder: Path) -> Path:
    """Copy the folder of a robot, and its URDF into the copy.

    A URDF that names files of meshes stays where it is, beside them; the copy then
    names its place.

    Args:
        source: a robot folder.
        folder: does not exist yet.

    Returns:
        `folder`.

    Raises:
        BadInput: it exists, or cannot be written.
        RobotDataError: the source is no robot.
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
