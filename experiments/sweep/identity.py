"""What makes a sweep this one: for a folder that holds the trials of an earlier run."""

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from experiments.sweep.spec import SweepSpec
from models import default_robot_folder, load_robot
from models.files import read_bytes
from sim.run_meta import plain


@lru_cache(maxsize=8)
def robot_digest(folder: Path | None) -> str:
    """Return a short hash of all data of a robot: its tables and its URDF.

    Read once a process. Two machines whose robots have the same digest run the same
    trials.

    Args:
        folder: of the robot; None: the NAO.

    Raises:
        RobotDataError: it is no robot folder.
    """
    robot = load_robot(folder or default_robot_folder())
    files = [p for p in robot.folder.rglob("*") if p.suffix in {".csv", ".yaml"}]
    digest = hashlib.sha256()
    for path in (*sorted(files), robot.urdf):
        digest.update(path.name.encode())
        digest.update(read_bytes(path))
    return digest.hexdigest()[:12]


def identity(spec: SweepSpec) -> dict[str, Any]:
    """Return what defines the trials of a sweep, as JSON can hold it."""
    return {
        "robot": f"{spec.robot_name} {spec.robot_digest}",
        "robots": spec.robots,
        "seed": spec.seed,
        **{name: _words(p.values) for p in spec.parameters for name in p.columns},
        "pushes": plain(spec.pushes),
        "fast_forward": plain(spec.fast_forward),
        "keep": plain(spec.keep),
    }


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return what differs, in words; more robots than before are no difference."""
    found = []
    for name in dict.fromkeys([*there, *here]):
        before, now = there.get(name), here.get(name)
        if before == now:
            continue
        if name == "robots" and before is not None and now is not None and before < now:
            continue  # robot 7 is the same, however many there are
        found.append(f"{name} was {_said(before)} and is {_said(now)}")
    return found


def _words(values: Any) -> dict[str, Any]:
    return {type(values).__name__.lower(): plain(values)}


def _said(value: Any) -> str:
    """Return a value as the sweep file has it."""
    if value is None:
        return "absent"
    if isinstance(value, dict) and len(value) == 1:
        ((kind, inside),) = value.items()
        found = list(inside.values()) if isinstance(inside, dict) else [inside]
        is_one = kind in {"fixed", "grid"} and len(found) == 1
        value = found[0] if is_one else {kind: found}
    text = str(list(value) if isinstance(value, tuple) else value)
    return text if len(text) <= 100 else f"{text[:97]}..."
