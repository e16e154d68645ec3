"""Operator's requests to a live robot.

They are plain data, sent between processes. Invalid values are rejected on creation,
and again by the robot.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, get_args

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from nao_testbed.controllers.arbitration.requests import HIGHEST
from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short

OPERATOR_PRIORITY = 6
"""Default priority: above behaviours and the stiffness controller."""
_COLOUR = re.compile("#[0-9a-fA-F]{6}")


class OperatorRequest(Checked):
    """Base of an operator's requests; strict types without conversion."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        str_min_length=1,
        str_max_length=200,
    )


@dataclass(frozen=True, kw_only=True)
class PushNow(OperatorRequest):
    """Push the base at its centre of mass."""

    direction_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="direction")]
    """Horizontal direction in degrees in the world frame: 0 forwards, 90 to the
    left."""
    force_n: Annotated[float, Field(ge=0.0, le=100.0, title="force")]
    duration_s: Annotated[float, Field(gt=0.0, le=5.0, title="duration")]


@dataclass(frozen=True, kw_only=True)
class HeatNow(OperatorRequest):
    """Set the temperature of a joint's motor."""

    joint: str
    degc: Annotated[float, Field(ge=-20.0, le=150.0, title="temperature")]


@dataclass(frozen=True, kw_only=True)
class ChangeController(OperatorRequest):
    """Switch to another stiffness controller."""

    controller: str


@dataclass(frozen=True, kw_only=True)
class BreakPart(OperatorRequest):
    """Break a motor, or repair it."""

    part: str
    """Leaf of the resource tree."""
    is_broken: bool = True


@dataclass(frozen=True, kw_only=True)
class TiltGround(OperatorRequest):
    """Turn the ground, at 2 degrees/s."""

    slope_deg: Annotated[float, Field(ge=-30.0, le=30.0, title="slope")]
    """Slope, rising towards +x."""


@dataclass(frozen=True, kw_only=True)
class SetDown(OperatorRequest):
    """Pick the robot up and put it on the ground as at the start."""


@dataclass(frozen=True, kw_only=True)
class Touch(OperatorRequest):
    """Touch a sensor, or press a button, for a moment."""

    sensor: str
    duration_s: Annotated[float, Field(ge=0.01, le=5.0, title="duration")] = 0.5


@dataclass(frozen=True, kw_only=True)
class Misalign(OperatorRequest):
    """Change the error of a joint's encoder, at 1 degree/s."""

    joint: str
    error_deg: Annotated[float, Field(ge=-10.0, le=10.0, title="error")]
    """True angle minus measured angle."""


@dataclass(frozen=True, kw_only=True)
class Take(OperatorRequest):
    """Reserve a complete resource for the operator, with one token."""

    resource: str
    priority: Annotated[int, Field(ge=0, le=HIGHEST, title="priority")] = (
        OPERATOR_PRIORITY
    )
    timeout_s: Annotated[float, Field(ge=0.0, le=60.0, title="longest wait")] = 0.0
    """Longest wait for the present holders; 0: no wait."""


@dataclass(frozen=True, kw_only=True)
class GiveBack(OperatorRequest):
    """Release a resource of the operator, or stop waiting for it."""

    resource: str


@dataclass(frozen=True, kw_only=True)
class MoveJoint(OperatorRequest):
    """Move a joint to an angle; without a token the gate refuses."""

    joint: str
    angle_deg: Annotated[float, Field(ge=-360.0, le=360.0, title="angle")]


@dataclass(frozen=True, kw_only=True)
class TurnHead(OperatorRequest):
    """Move both joints of the head at once."""

    yaw_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="yaw")]
    pitch_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="pitch")]


@dataclass(frozen=True, kw_only=True)
class GoTo(OperatorRequest):
    """Go to a posture by the transitions of the library."""

    posture: str


@dataclass(frozen=True, kw_only=True)
class Play(OperatorRequest):
    """Play a motion of the library, after the transition to its start posture."""

    motion: str


@dataclass(frozen=True, kw_only=True)
class Light(OperatorRequest):
    """Fade LEDs to a colour."""

    leds: str
    """Resource: one group, or all LEDs."""
    colour: str
    """Colour as `#rrggbb`."""

    def __post_init__(self) -> None:
        """Validate the colour.

        Raises:
            BadInput: the text is not a colour.
        """
        super().__post_init__()
        if _COLOUR.fullmatch(self.colour) is None:
            raise BadInput(f"colour is {short(self.colour)}; give one as #rrggbb.")


@dataclass(frozen=True, kw_only=True)
class Say(OperatorRequest):
    """Say a text."""

    text: str


@dataclass(frozen=True, kw_only=True)
class WakeSchema(OperatorRequest):
    """Activate a schema of this installation."""

    schema: str
    priority: Annotated[int, Field(ge=0, le=HIGHEST, title="priority")] = (
        OPERATOR_PRIORITY
    )
    """Priority of its requests; a schema that was activated before keeps its own."""


@dataclass(frozen=True, kw_only=True)
class SleepSchema(OperatorRequest):
    """Deactivate a schema and its descendants."""

    schema: str


@dataclass(frozen=True, kw_only=True)
class ModulateSchema(OperatorRequest):
    """Change a parameter of a schema."""

    path: str
    parameter: str
    value: bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class ChangeSetting(OperatorRequest):
    """Change a setting of the controller's own panel."""

    setting: str
    value: bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class Foresee(OperatorRequest):
    """Forecast the temperatures of the next 15 minutes without changing the robot."""

    controller: str | None = None
    """Controller assumed in the forecast; None: the present one."""
    joint: str | None = None
    """Joint whose encoder error is assumed to change at 1 degree/s; None: no joint."""
    error_deg: Annotated[float, Field(ge=-10.0, le=10.0, title="error")] = 0.0
    """Assumed error of that joint, true angle minus measured angle."""


@dataclass(frozen=True, kw_only=True)
class TakePicture(OperatorRequest):
    """Take a camera image; the robot is delayed by tens of ms."""

    camera: str


@dataclass(frozen=True, kw_only=True)
class Stop:
    """End the run; its data are kept."""


Action = (
    PushNow
    | HeatNow
    | BreakPart
    | TiltGround
    | SetDown
    | Touch
    | Misalign
    | ChangeController
    | Take
    | GiveBack
    | MoveJoint
    | TurnHead
    | GoTo
    | Play
    | Light
    | Say
    | TakePicture
    | WakeSchema
    | SleepSchema
    | ModulateSchema
    | ChangeSetting
    | Foresee
)
ACTIONS: Mapping[str, type[Action]] = {one.__name__: one for one in get_args(Action)}
"""Requests by name."""


def action_of(data: object, actions: Mapping[str, type] = ACTIONS) -> Any:
    """Parse a page's request: `{"do": "PushNow", "force_n": 5, ...}`.

    Args:
        data: received data.
        actions: accepted requests by name.

    Raises:
        UnknownName: the action is unknown.
        BadInput: a field is missing, unknown, of another type or out of its range.
    """
    if not isinstance(data, Mapping):
        raise BadInput(f"the request is {short(data)}; give an object with `do`.")
    word = data.get("do")
    if not isinstance(word, str) or word not in actions:
        raise UnknownName("Action", str(word)[:60], actions, "the requests of a page")
    given = {str(name): value for name, value in data.items() if name != "do"}
    try:
        return _reader(actions[word]).validate_json(json.dumps(given))
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))[:60]
        if fault["type"] == "missing_keyword_only" or fault["type"] == "missing":
            raise BadInput(f"{word} has no {place}; give it.") from None
        raise BadInput(
            f"{place} of {word} is {short(fault['input'])}: {fault['msg']}."
        ) from None


@cache
def _reader(action: type) -> "TypeAdapter[Any]":
    return TypeAdapter(action)
