"""Conversion of the metadata of ONNX files, written by exporters, to layouts.

holosoma (0.1.3) writes JSON: `dof_names`, `kp`, `kd`, `command_ranges`; the observation
is part of its configuration, here in `layouts/holosoma-ROBOT.yaml`.

mjlab (1.6) writes comma-separated texts: `joint_names`, `joint_stiffness`,
`joint_damping`, `default_joint_pos`, `action_scale`, `observation_names`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nao_testbed.controllers.policies.layout import (
    PolicyLayout,
    layout_from,
    read_layout,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import number_of, short

LAYOUTS = Path(__file__).parent / "layouts"
MJLAB_TERMS = {
    "base_ang_vel": "angular_velocity",
    "projected_gravity": "gravity",
    "command": "command",
    "joint_pos": "joint_position",
    "joint_vel": "joint_velocity",
    "actions": "last_action",
}
"""Observation term of mjlab to our term."""
_HOLOSOMA_COMMANDS = ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")


def layout_of_metadata(
    metadata: Mapping[str, str], robot: Robot, where: str
) -> PolicyLayout:
    """Return the layout described by the metadata of an ONNX file.

    Args:
        metadata: key to text.
        robot: robot of the run.
        where: name of the file, for messages.

    Raises:
        BadInput: a value is invalid or has an unknown type.
    """
    if "dof_names" in metadata:
        return _of_holosoma(metadata, robot, where)
    if "joint_names" in metadata:
        return _of_mjlab(metadata, where)
    return PolicyLayout()


def _of_holosoma(metadata: Mapping[str, str], robot: Robot, where: str) -> PolicyLayout:
    names = {"joints": "dof_names", "kp": "kp", "kd": "kd"}
    values = {
        name: _json(metadata[key], key, where)
        for name, key in names.items()
        if key in metadata
    }
    ranges = _json(metadata.get("command_ranges", "null"), "command_ranges", where)
    if isinstance(ranges, dict):
        values["command_ranges"] = [ranges.get(key) for key in _HOLOSOMA_COMMANDS]
    found = layout_from(values, where)
    shipped = LAYOUTS / f"holosoma-{robot.name}.yaml"
    return found.over(read_layout(shipped)) if shipped.exists() else found


def _json(text: str, key: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{where}: {key} is {short(text)}, which is not JSON; export it again."
        ) from error


def _of_mjlab(metadata: Mapping[str, str], where: str) -> PolicyLayout:
    values: dict[str, Any] = {"joints": _texts(metadata["joint_names"])}
    numbers = {
        "kp": "joint_stiffness",
        "kd": "joint_damping",
        "default": "default_joint_pos",
        "action_scale": "action_scale",
    }
    for name, key in numbers.items():
        if key in metadata:
            values[name] = _numbers(metadata[key], key, where)
    scale = values.get("action_scale", ())
    if len(scale) == 1:
        values["action_scale"] = scale[0]
    if "observation_names" in metadata:
        values["observation"] = [
            {"term": _mjlab_term(name, where)}
            for name in _texts(metadata["observation_names"])
        ]
    return layout_from(values, where)


def _texts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def _numbers(text: str, key: str, where: str) -> list[float]:
    try:
        return [number_of(part) for part in _texts(text)]
    except ValueError as error:
        raise BadInput(
            f"{where}: {key} is {short(text)}; give numbers with commas in between."
        ) from error


def _mjlab_term(name: str, where: str) -> str:
    if name not in MJLAB_TERMS:
        raise BadInput(
            f"{where}: the robot's sensors do not give observation term {short(name)}; "
            f"known are {', '.join(MJLAB_TERMS)}. Train the policy without it, or "
            "describe it in a YAML file (+layout=FILE.yaml)."
        )
    return MJLAB_TERMS[name]
