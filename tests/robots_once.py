"""Robots that many tests ask for and none changes, read once: a third of a second."""

from collections.abc import Callable
from pathlib import Path

from nao_testbed.models import Robot, default_robot_folder

TWO_LEG = Path(__file__).parent / "data" / "two_leg"


class RobotsOnce:
    """Reads the NAO and the walker once, with their libraries; others as asked for.

    No test changes a file of these two: who wants another robot copies the folder.
    """

    def __init__(self, read: Callable[[Path], Robot]) -> None:
        self.read = read
        self.kept: dict[Path, Robot | None] = {
            default_robot_folder(): None,
            TWO_LEG.resolve(): None,
        }

    def __call__(self, folder: Path) -> Robot:
        whole = folder.resolve()
        if whole not in self.kept:
            return self.read(folder)
        robot = self.kept[whole]
        if robot is None:
            robot = self.kept[whole] = self.read(folder)
        return robot
