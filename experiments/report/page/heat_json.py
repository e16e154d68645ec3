"""The result of a heat experiment, back from the JSON that it has written."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, TypeVar

from experiments.standing.results import ArmResult, HeatResult, JointResult

_T = TypeVar("_T")


def read_heat_result(data: Mapping[str, Any]) -> HeatResult | None:
    """Return what `HeatResult.as_json` was given; None where it is something else.

    Fields that this version does not know are left out; those that an older one did
    not write keep their defaults.
    """
    try:
        arms = {str(name): _arm(str(name), row) for name, row in data["arms"].items()}
        return _made(HeatResult, {**data, "arms": arms})
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _arm(name: str, row: Mapping[str, Any]) -> ArmResult:
    joints = {str(joint): _joint(values) for joint, values in row["joints"].items()}
    return _made(ArmResult, {**row, "controller": name, "joints": joints})


def _joint(values: Mapping[str, Any]) -> JointResult:
    steady = values["steady_degc"]  # null: the motor would burn first
    return _made(
        JointResult, {**values, "steady_degc": math.inf if steady is None else steady}
    )


def _made(kind: type[_T], values: Mapping[str, Any]) -> _T:
    """Make a dataclass of those values that it has fields for."""
    names = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # dataclasses only
    return kind(**{name: value for name, value in values.items() if name in names})
