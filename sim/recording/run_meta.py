"""Description of a run, besides its numbers: the file `meta.json`.

It also describes the run's robot, so that the same robot can be loaded again. Most of
these data are in the robot's folder; a run may have used a body that lacks parts, or
other torques at stiffness 1.
"""

import dataclasses
import importlib.metadata
import json
import math
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import cast

import numpy as np
from pydantic import BaseModel

from nao_testbed.models import BadInput, Robot, default_robot_folder, load_robot
from nao_testbed.models.files import cause_of, read_text
from nao_testbed.models.files.csv_tables import json_as

FORMAT = 3
"""Version of the layout of a run folder. Since 2 it has the robot's differences from
its folder, the number of rows and the times of observations; since 3 descriptions of
the channels, and the controller's shifts of set-points. 1 and 2 can be read."""

META_FILE = "meta.json"

_PACKAGES = (
    "nao-testbed",
    "numpy",
    "scipy",
    "pybullet-arm64",
    "pybullet",
    "mujoco-core",
    "pin",
    "numba",
    "pyarrow",
)


@dataclass(frozen=True, kw_only=True)
class RunMeta:
    """Data that suffice to repeat the run; created by `describe_run`."""

    experiment: str
    """Name such as `heat`."""
    robot: str
    """Name of the robot."""
    seed: int
    """Seed of every random number in the run."""
    config: Mapping[str, object]
    """Configuration, field by field."""
    command: tuple[str, ...]
    """Command line; empty for a run from Python."""
    versions: Mapping[str, str]
    """Versions of Python and of the packages that affect the numbers."""
    commit: str | None
    """Commit of the source, with `-dirty` if it was changed; None if unknown."""
    started_utc: str
    """Start time, ISO 8601."""
    state: str = "running"
    """`running`, `done`, or `failed: why`."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Unit of each column."""
    robot_data: Mapping[str, object] = field(default_factory=dict)
    """Data to load the same robot again, see `robot_data`. Empty before format 2."""
    rows: int | None = None
    """Number of recorded rows; None during the run, and before format 2."""
    channels: Mapping[str, str] = field(default_factory=dict)
    """Description by channel (first part of a column's name). Empty before format 3."""
    format: int = FORMAT


class _RobotData(BaseModel):
    """Form of `robot_data` in `meta.json`."""

    folder: str = ""
    absent: list[str] = []
    effort_limits_nm: dict[str, float] = {}


_FIELDS_3 = frozenset(f.name for f in dataclasses.fields(RunMeta))
_FIELDS_2 = _FIELDS_3 - {"channels"}
_FIELDS_1 = _FIELDS_2 - {"robot_data", "rows"}
_FIELDS = {1: _FIELDS_1, 2: _FIELDS_2, FORMAT: _FIELDS_3}
"""Format to the fields of its description."""


def describe_run(
    *,
    experiment: str,
    robot: str,
    seed: int,
    config: object,
    command: Sequence[str] = (),
    robot_data: Mapping[str, object] | None = None,
) -> RunMeta:
    """Return the description of a run that starts now.

    Args:
        experiment: such as `heat`.
        robot: name of the robot.
        seed: seed of the run.
        config: dataclass; nested ones, arrays, enums and paths are converted to plain
            data.
        command: command line of the run.
        robot_data: from `robot_data`; without it a replay loads the robot from its
            folder, unchanged.
    """
    plain_config = plain(config)
    return RunMeta(
        experiment=experiment,
        robot=robot,
        seed=seed,
        config=plain_config if isinstance(plain_config, dict) else {},
        command=tuple(command),
        versions=_versions(),
        commit=commit(),
        started_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        robot_data=robot_data or {},
    )


def write_meta(folder: Path, meta: RunMeta) -> None:
    """Replace `meta.json` atomically."""
    unfinished = folder / f"{META_FILE}.tmp"
    text = json.dumps(plain(meta), indent=2, ensure_ascii=False, allow_nan=False)
    unfinished.write_text(text + "\n", encoding="utf-8")
    unfinished.replace(folder / META_FILE)


def read_meta(folder: Path) -> RunMeta:
    """Read `meta.json`.

    Raises:
        BadInput: the file is missing, has an unknown format, or a field has the wrong
            type.
    """
    path = folder / META_FILE
    try:
        data = json.loads(read_text(path))
    except (FileNotFoundError, NotADirectoryError):
        inner = sorted(str(file.parent) for file in folder.glob(f"*/{META_FILE}"))
        give = (
            f"Give one of those in it: {', '.join(inner)}."
            if inner
            else f"Give the folder of a run, with {META_FILE} and "
            "part-00000.parquet in it."
        )
        raise BadInput(
            f"{folder} is not a run folder: it has no {META_FILE}. {give}"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read: {cause_of(error)}.") from error
    version = data.get("format") if isinstance(data, dict) else None
    fields = _FIELDS.get(version) if isinstance(version, int) else None
    if fields is None or set(data) != fields:
        raise BadInput(
            f"{path} is not the description of a run in format 1 to {FORMAT}; its "
            f"fields must be {', '.join(sorted(_FIELDS[FORMAT]))}."
        )
    if "robot_data" in data:
        json_as(path, json.dumps(data["robot_data"]), _RobotData, "robot_data")
    return json_as(path, json.dumps(data), RunMeta)


def plain(value: object) -> object:
    """Return a value in a form that JSON can hold.

    Dataclasses and mappings become dicts, arrays and sequences lists. A number that is
    not finite becomes `nan`, `inf` or `-inf` in quotes; any other value its text.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    elif isinstance(value, Enum):
        value = value.value
    elif isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    is_finite = not isinstance(value, float) or math.isfinite(value)
    if is_finite and (value is None or isinstance(value, bool | int | float | str)):
        return value
    return str(value)


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "machine": platform.platform()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # package is not installed
    return versions


def commit() -> str | None:
    """Return the commit of this checkout; None outside of one."""
    root = Path(__file__).resolve().parents[2]
    if not (
        root / ".git"
    ).exists():  # an installed package does not belong to a surrounding repository
        return None
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=root,
            capture_output=True,
            encoding="utf-8",
            timeout=5.0,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def robot_data(robot: Robot) -> Mapping[str, object]:
    """Return data to load a robot again: folder, absent parts, effort limits in N·m."""
    return {
        "folder": str(robot.folder),
        "absent": list(robot.absent),
        "effort_limits_nm": {j.name: j.effort_limit for j in robot.joints},
        **({"thermal": robot.thermal} if robot.thermal == "estimate" else {}),
    }


def robot_as_json(robot: Robot) -> dict[str, object]:
    """Return the description of a robot for JSON, in SI, angles in rad."""
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
    """Load the robot of a run as it was in the run.

    Args:
        meta: description of the run.
        folder: folder of the robot; None: the folder named by the run or, if it is
            missing, the built-in robot of the same name.

    Raises:
        BadInput: the folder is missing, or holds another robot.
        RobotDataError: one of its files is invalid.
    """
    data = meta.robot_data
    robot = load_robot(folder or _recorded_folder(meta))
    if robot.name != meta.robot:
        raise BadInput(
            f"the run was recorded on robot {meta.robot!r}, but {robot.folder} has "
            f"{robot.name!r}. Give the folder of {meta.robot!r} with --robot."
        )
    limits = cast("Mapping[str, float]", data.get("effort_limits_nm", {}))
    absent = cast("list[str]", data.get("absent", []))
    robot = robot.with_effort_limits(limits)
    return dataclasses.replace(robot, absent=tuple(absent))


def _recorded_folder(meta: RunMeta) -> Path:
    named = meta.robot_data.get("folder")
    if named is not None and Path(str(named)).is_dir():
        return Path(str(named))
    built_in = default_robot_folder()
    if named is None or Path(str(named)).name == built_in.name:
        return built_in
    raise BadInput(
        f"the run was recorded on robot {meta.robot!r} from {named}, which does not "
        "exist. Give the folder of that robot with --robot."
    )
