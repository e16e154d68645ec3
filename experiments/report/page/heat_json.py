"""The result of a heat experiment, back from the JSON that it has written."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from experiments.standing.results import HeatResult
from models import BadInput
from models.tables import json_as


class _Settings(BaseModel):
    """Of the settings, what a page takes apart; others it shows as they are."""

    robot: str = ""
    preset: str | None = None
    start_degc: dict[str, float] = {}
    effort_limits_nm: dict[str, float] = {}


def read_heat_result(path: Path, data: Mapping[str, Any]) -> HeatResult:
    """Return what `HeatResult.as_json` was given.

    Fields that this version does not know are left out; those that an older one did
    not write keep their defaults.

    Args:
        path: of the file, for messages.
        data: what it holds.

    Raises:
        BadInput: it is something else; the message says which key is wrong.
    """
    try:
        arms = {str(name): _arm(str(name), row) for name, row in data["arms"].items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"{path} is not the result of a heat experiment: its arms lack "
            f"joints with a steady_degc."
        ) from error
    result = json_as(path, json.dumps({**data, "arms": arms}), HeatResult)
    json_as(path, json.dumps(result.settings), _Settings, "settings")
    return result


def _arm(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    joints = {str(joint): _joint(values) for joint, values in row["joints"].items()}
    return {**row, "controller": name, "joints": joints}


def _joint(values: Mapping[str, Any]) -> dict[str, Any]:
    steady = values["steady_degc"]  # null: the motor would burn first
    return {**values, "steady_degc": math.inf if steady is None else steady}
