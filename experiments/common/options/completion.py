"""Shell completion of option values; each function returns candidates for typer.

Completion runs the program at every Tab: names come from file names and the first
columns of a robot's tables, without loading the robot.
"""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path

import typer

from nao_testbed.models import BadInput
from nao_testbed.models.folders import find_robot_folder, robot_names

EXPERIMENTS = Path(__file__).resolve().parents[2]
Complete = Callable[..., list[str]]
"""Function of the incomplete word, and of the context if the robot matters."""


def _first_column(context: typer.Context, table: str) -> list[str]:
    """Return the names in a table of the robot given on the command line."""
    try:
        folder = find_robot_folder(context.params.get("robot"))
        with (folder / table).open(encoding="utf-8", newline="") as file:
            names = [row[0] for row in csv.reader(file) if row]
    except (BadInput, OSError, csv.Error):
        return []
    return list(dict.fromkeys(n for n in names[1:] if not n.startswith("#")))


def _starting(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def robots(incomplete: str) -> list[str]:
    """Return the built-in robots; folders are left to the shell."""
    return _starting([*robot_names()], incomplete)


def postures(context: typer.Context, incomplete: str) -> list[str]:
    """Return the postures of the robot."""
    return _starting(_first_column(context, "postures.csv"), incomplete)


def joints(context: typer.Context, incomplete: str) -> list[str]:
    """Return the joints of the robot."""
    return _starting(_first_column(context, "joints.csv"), incomplete)


def joint_values(context: typer.Context, incomplete: str) -> list[str]:
    """Return the joints of the robot, each followed by `=`."""
    names = [f"{name}=" for name in _first_column(context, "joints.csv")]
    return _starting(names, incomplete)


def controllers(incomplete: str) -> list[str]:
    """Return the comma-separated list with its last controller completed."""
    from nao_testbed.controllers.registry import controller_names  # noqa: PLC0415  # heavy

    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in _starting([*controller_names()], last)]


def one_of(*names: str) -> Complete:
    """Return the completion of a fixed choice."""

    def complete(incomplete: str) -> list[str]:
        return _starting([*names], incomplete)

    return complete


def file_of(folder: str) -> Complete:
    """Return the completion of a built-in YAML file; paths are left to the shell."""
    names = sorted(path.stem for path in (EXPERIMENTS / folder).glob("*.yaml"))
    return one_of(*names)


OPTIONS: Mapping[str, Complete] = {
    "posture": postures,
    "misalign": joint_values,
    "start": joint_values,
    "current_limit": joint_values,
}
"""Completion of those options of a robot setting whose values depend on the robot."""
