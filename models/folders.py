"""Robot folders by name, without reading their files.

Separate from `models.load`, so that the command line can check and complete names
before it imports the loader.
"""

from pathlib import Path

from nao_testbed.models.errors import BadInput

ROBOT_FILE = "robot.yaml"


def default_robot_folder() -> Path:
    """Return the folder of the built-in NAO."""
    return Path(__file__).resolve().parent / "nao"


def robot_names() -> tuple[str, ...]:
    """Return the sorted names of the built-in robots."""
    files = default_robot_folder().parent.glob(f"*/{ROBOT_FILE}")
    return tuple(sorted(file.parent.name for file in files))


def find_robot_folder(robot: Path | str | None) -> Path:
    """Return the folder of a robot from its folder or name; None: the NAO.

    Raises:
        BadInput: the text is neither a folder nor the name of a built-in robot.
    """
    if robot is None:
        return default_robot_folder()
    folder = Path(robot)
    if folder.is_dir():
        return folder
    if str(robot) in robot_names():
        return default_robot_folder().parent / str(robot)
    raise BadInput(
        f"Robot {str(robot)!r} is neither a directory nor a robot of the testbed "
        f"({', '.join(robot_names())}); give a folder with robot.yaml and its "
        "tables."
    )
