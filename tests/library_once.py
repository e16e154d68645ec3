"""The library of the NAO, half a second of YAML, read once for all tests."""

import pkgutil

from models import Robot, default_robot_folder
from models.library import Library
from models.load.library_files import load_library


class LibraryOnce:
    """Reads a robot's library as `load_library` does, that of the NAO only once."""

    def __init__(self) -> None:
        self.folder = default_robot_folder()
        self.kept: list[Library] = []

    def __call__(self, robot: Robot) -> Library:
        if robot.folder != self.folder:
            return load_library(robot)
        if not self.kept:
            self.kept.append(load_library(robot))
        return self.kept[0]

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Be `load_library` itself in another process."""
        return (pkgutil.resolve_name, ("models.load.library_files:load_library",))
