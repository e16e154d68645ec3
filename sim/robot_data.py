"""What a recording says about its robot, so that the same one is loaded again.

The folder of a robot says almost everything; a run may have given it a body that lacks
parts, or other torques at stiffness 1. Those stand in `meta.json`.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from models import BadInput, Robot, default_robot_folder, load_robot
from sim.run_meta import RunMeta, plain


def robot_data(robot: Robot) -> Mapping[str, object]:
    """Return how to load a robot again: folder, absent parts, effort limits in N·m."""
    return {
        "folder": str(robot.folder),
        "absent": list(robot.absent),
        "effort_limits_nm": {j.name: j.effort_limit for j in robot.joints},
    }


def robot_as_json(robot: Robot) -> dict[str, object]:
    """Return what a robot is as JSON can hold it, in SI, angles in rad."""
    return {
        "robot": robot.name,
        "folder": str(robot.folder),
        "urdf": str(robot.urdf),
        "mass_kg": robot.total_mass,
        "joints": plain(robot.joints),
        "motors": plain(robot.motors),
        "links": plain(robot.links),
        "postures": plain(robot.postures),
        "groups": plain(robot.groups),
    }


def recorded_robot(meta: RunMeta, folder: Path | None = None) -> Robot:
    """Load the robot of a run as the run had it.

    Args:
        meta: of the run.
        folder: of the robot; None takes the one that the run names or, where that is
            gone, the built-in robot of the same name.

    Raises:
        BadInput: there is no such folder, or another robot in it.
        RobotDataError: a file of it is wrong.
    """
    data = meta.robot_data
    robot = load_robot(folder or _folder(meta))
    if robot.name != meta.robot:
        raise BadInput(
            f"the run was recorded on robot {meta.robot!r}; in {robot.folder} is "
            f"{robot.name!r}. Give the folder of {meta.robot!r} by --robot."
        )
    limits = cast("Mapping[str, float]", data.get("effort_limits_nm", {}))
    absent = cast("list[str]", data.get("absent", []))
    robot = robot.with_effort_limits(limits)
    return dataclasses.replace(robot, absent=tuple(absent))


def _folder(meta: RunMeta) -> Path:
    named = meta.robot_data.get("folder")
    if named is not None and Path(str(named)).is_dir():
        return Path(str(named))
    built_in = default_robot_folder()
    if named is None or Path(str(named)).name == built_in.name:
        return built_in
    raise BadInput(
        f"the run was recorded on robot {meta.robot!r} from {named}, which is not "
        f"there. Give the folder of that robot by --robot."
    )
