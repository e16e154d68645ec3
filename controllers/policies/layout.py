"""Layout of a policy: its joints, gains, set-points and observation.

    set-point of joint i = default_i + scale_i · clip(action_i)

A layout comes from the metadata of an ONNX file, from a YAML file, or from both: keys
of the YAML file take precedence. Exporters with known metadata:

holosoma 0.1.3   JSON: `dof_names`, `kp`, `kd`, `command_ranges`; the observation is
                 part of its configuration, here in `layouts/holosoma-ROBOT.yaml`
mjlab 1.6        comma-separated texts: `joint_names`, `joint_stiffness`,
                 `joint_damping`, `default_joint_pos`, `action_scale`,
                 `observation_names`
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from nao_testbed.controllers.interface.robot_interface import ServoGains
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.files.csv_tables import message_of
from nao_testbed.models.files.documented import Documented
from nao_testbed.models.files.yaml_forms import read_yaml
from nao_testbed.models.values import (
    FloatArray,
    NotNegative,
    Positive,
    Real,
    number_of,
    short,
)

TermName = Literal[
    "angular_velocity",
    "gravity",
    "command",
    "command_xy",
    "command_yaw",
    "joint_position",
    "joint_velocity",
    "last_action",
    "phase_sin",
    "phase_cos",
]


class Term(Documented):
    """Part of the observation vector."""

    term: TermName
    """Name of the term, see `terms`."""
    scale: Real | tuple[Real, ...] = 1.0
    """Factor of all elements, or one per element."""
    history: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of steps in the part, oldest first."""


class PolicyLayout(Documented):
    """Layout of a policy; None: the value is not given."""

    joints: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Joint names in the policy's order; the suffix `_joint` may be missing."""
    kp: tuple[NotNegative, ...] | None = None
    """Proportional gains of these joints in N·m/rad; None: the robot's."""
    kd: tuple[NotNegative, ...] | None = None
    """Derivative gains of these joints in N·m·s/rad; None: the robot's."""
    default: str | tuple[Real, ...] | None = None
    """Set-points at action 0: name of a posture, or angles of these joints in rad."""
    action_scale: Real | tuple[Real, ...] = 1.0
    """Angle in rad per unit of the action, common or per joint."""
    action_clip: Positive | None = None
    """Largest |action|; None: no limit."""
    period_s: Positive = 0.02
    """Time between two steps in s."""
    gait_period_s: Positive = 1.0
    """Period in s of the terms `phase_sin` and `phase_cos`."""
    command_ranges: tuple[tuple[Real, Real], ...] | None = None
    """Smallest and largest command of x, y in m/s and yaw in rad/s."""
    observation: Annotated[tuple[Term, ...], Field(min_length=1)] | None = None
    """Terms in the order of the vector."""

    def over(self, below: "PolicyLayout") -> "PolicyLayout":
        """Return a copy whose missing values come from `below`."""
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return below.model_copy(update=given)


def layout_from(values: Mapping[str, Any], where: str) -> PolicyLayout:
    """Return a layout from plain values.

    Args:
        values: field names of `PolicyLayout` to values.
        where: source of the values, for messages.

    Raises:
        BadInput: a value is invalid; the message names the first one.
    """
    try:
        return PolicyLayout.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadInput(
            f"{where}: {place} is {short(first['input'])}: {message_of(first)}."
        ) from error


def read_layout(path: Path) -> PolicyLayout:
    """Read a layout from a YAML file.

    Raises:
        BadInput: the file is missing, or a value in it is unknown or invalid.
    """
    return read_yaml(path, PolicyLayout).value


@dataclass(frozen=True, kw_only=True)
class FittedLayout:
    """Layout of a policy on one robot."""

    layout: PolicyLayout
    index: NDArray[np.intp]
    """(n_actions,) index of each joint of the policy in the robot's arrays."""
    default: FloatArray
    """(n_joints,) set-points at action 0, in rad; joints without actions keep them."""
    scale: FloatArray
    """(n_actions,) angle per unit of the action, in rad."""
    gains: ServoGains | None
    terms: tuple[Term, ...]

    @classmethod
    def of(
        cls, layout: PolicyLayout, robot: Robot, own: ServoGains, where: str
    ) -> Self:
        """Fit a layout to a robot.

        Args:
            layout: layout of the policy.
            robot: robot.
            own: gains of the joints without actions.
            where: name of the policy, for messages.

        Raises:
            BadInput: a value is missing, has the wrong length, or does not fit this
                robot.
        """
        joints, terms, given = layout.joints, layout.observation, layout.default
        if joints is None:
            raise _missing(where, "the names of its joints", "joints")
        if terms is None:
            raise _missing(where, "the terms of its observation", "observation")
        if given is None:
            raise _missing(where, "the default angles", "default")
        index = np.array([_place(name, robot, where) for name in joints])
        if len(set(index.tolist())) < len(joints):
            twice = next(name for name in joints if joints.count(name) > 1)
            raise BadInput(f"{where}: joint {short(twice)} is listed twice.")

        def of_each(key: str) -> FloatArray:
            array = np.array(getattr(layout, key), dtype=np.float64)
            if array.ndim and len(array) != len(index):
                raise BadInput(
                    f"{where}: {key} has {len(array)} values for {len(index)} joints; "
                    "give one each."
                )
            return np.broadcast_to(array, index.shape).copy()

        posture = robot.posture_name(None) if isinstance(given, tuple) else given
        default = robot.posture(posture).angles.copy()
        if isinstance(given, tuple):
            default[index] = of_each("default")
        gains = None
        if layout.kp is not None or layout.kd is not None:
            for name in ("kp", "kd"):
                if getattr(layout, name) is None:
                    raise _missing(where, f"{name} of its joints", name)
            gains = ServoGains(kp=own.kp.copy(), kd=own.kd.copy())
            gains.kp[index], gains.kd[index] = of_each("kp"), of_each("kd")
        return cls(
            layout=layout,
            index=index,
            default=default,
            scale=of_each("action_scale"),
            gains=gains,
            terms=terms,
        )


def _missing(where: str, what: str, key: str) -> BadInput:
    return BadInput(
        f"{where}: its metadata lack {what}; give them under {key!r} of a YAML file, "
        "as in --policy FILE.onnx+layout=FILE.yaml."
    )


def _place(name: str, robot: Robot, where: str) -> int:
    for known in (name, name.removesuffix("_joint")):
        if known in robot.joint_names:
            return robot.joint_index(known)
    raise UnknownName(
        f"{where}: joint", name, robot.joint_names, f"robot {robot.name!r}"
    )


# -- metadata of ONNX files ------------------------------------------------------------

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
_MJLAB = {
    "kp": "joint_stiffness",
    "kd": "joint_damping",
    "default": "default_joint_pos",
    "action_scale": "action_scale",
}
_HOLOSOMA = {"joints": "dof_names", "kp": "kp", "kd": "kd"}
_COMMANDS = ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")


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
    values: dict[str, Any] = {}
    if "dof_names" in metadata:  # holosoma writes JSON
        for name, key in _HOLOSOMA.items():
            if key in metadata:
                values[name] = _json(metadata[key], key, where)
        ranges = _json(metadata.get("command_ranges", "null"), "command_ranges", where)
        if isinstance(ranges, dict):
            values["command_ranges"] = [ranges.get(key) for key in _COMMANDS]
        found = layout_from(values, where)
        shipped = LAYOUTS / f"holosoma-{robot.name}.yaml"
        return found.over(read_layout(shipped)) if shipped.exists() else found
    if "joint_names" in metadata:  # mjlab writes texts with commas
        values["joints"] = _texts(metadata["joint_names"])
        for name, key in _MJLAB.items():
            if key in metadata:
                values[name] = _numbers(metadata[key], key, where)
        if len(scale := values.get("action_scale", ())) == 1:
            values["action_scale"] = scale[0]
        if "observation_names" in metadata:
            names = _texts(metadata["observation_names"])
            values["observation"] = [{"term": _mjlab_term(n, where)} for n in names]
    return layout_from(values, where)


def _json(text: str, key: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{where}: {key} is {short(text)}, which is not JSON; export it again."
        ) from error


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
