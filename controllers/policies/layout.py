"""Layout of a policy: its joints, gains, set-points and observation.

    set-point of joint i = default_i + scale_i · clip(action_i)

A layout comes from the metadata of an ONNX file (`metadata`), from a YAML file, or from
both: keys of the YAML file take precedence.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nao_testbed.controllers.interface.robot_interface import ServoGains
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.files.csv_tables import message_of
from nao_testbed.models.files.yaml_forms import read_yaml
from nao_testbed.models.values import FloatArray, NotNegative, Positive, Real, short

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
_FORM = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Term(BaseModel):
    """Part of the observation vector."""

    model_config = _FORM

    term: TermName
    """Name of the term, see `terms`."""
    scale: Real | tuple[Real, ...] = 1.0
    """Factor of all elements, or one per element."""
    history: Annotated[int, Field(ge=1, le=1000)] = 1
    """Number of steps in the part, oldest first."""


class PolicyLayout(BaseModel):
    """Layout of a policy; None: the value is not given."""

    model_config = _FORM

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
        joints, terms = layout.joints, layout.observation
        if joints is None:
            raise _missing(where, "the names of its joints", "joints")
        if terms is None:
            raise _missing(where, "the terms of its observation", "observation")
        index = np.array([_place(name, robot, where) for name in joints])
        if len(set(index.tolist())) < len(joints):
            twice = next(name for name in joints if joints.count(name) > 1)
            raise BadInput(f"{where}: joint {short(twice)} is listed twice.")
        n = len(joints)
        return cls(
            layout=layout,
            index=index,
            default=_default(layout, robot, index, where),
            scale=_of_each(layout.action_scale, n, "action_scale", where),
            gains=_gains(layout, own, index, where),
            terms=terms,
        )


def _missing(where: str, what: str, key: str) -> BadInput:
    return BadInput(
        f"{where}: its metadata lack {what}; give them under {key!r} of a YAML file, "
        "as in --policy FILE.onnx+layout=FILE.yaml."
    )


def _place(name: str, robot: Robot, where: str) -> int:
    for known in (name, re.sub("_joint$", "", name)):
        if known in robot.joint_names:
            return robot.joint_index(known)
    raise UnknownName(
        f"{where}: joint", name, robot.joint_names, f"robot {robot.name!r}"
    )


def _of_each(
    values: float | tuple[float, ...], n: int, key: str, where: str
) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    if array.ndim and len(array) != n:
        raise BadInput(
            f"{where}: {key} has {len(array)} values for {n} joints; give one each."
        )
    return np.broadcast_to(array, (n,)).copy()


def _default(
    layout: PolicyLayout, robot: Robot, index: NDArray[np.intp], where: str
) -> FloatArray:
    given = layout.default
    if given is None:
        raise _missing(where, "the default angles", "default")
    if isinstance(given, str):
        return robot.posture(given).angles.copy()
    angles = robot.posture(robot.posture_name(None)).angles.copy()
    angles[index] = _of_each(given, len(index), "default", where)
    return angles


def _gains(
    layout: PolicyLayout, own: ServoGains, index: NDArray[np.intp], where: str
) -> ServoGains | None:
    if layout.kp is None and layout.kd is None:
        return None
    if layout.kp is None or layout.kd is None:
        missing = "kp" if layout.kp is None else "kd"
        raise _missing(where, f"{missing} of its joints", missing)
    kp, kd = own.kp.copy(), own.kd.copy()
    kp[index] = _of_each(layout.kp, len(index), "kp", where)
    kd[index] = _of_each(layout.kd, len(index), "kd", where)
    return ServoGains(kp=kp, kd=kd)
