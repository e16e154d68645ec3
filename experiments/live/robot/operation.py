"""What an operator may ask of a live robot.

It travels between processes, so that it is plain data; a value that makes no sense is
refused where it is made, and again by the robot.
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
"""Above behaviours and the stiffness controller, unless the operator says."""
_COLOUR = re.compile("#[0-9a-fA-F]{6}")


class Wish(Checked):
    """Base of what an operator may ask; from a page nothing is taken for a number."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        str_min_length=1,
        str_max_length=200,
    )


@dataclass(frozen=True, kw_only=True)
class PushNow(Wish):
    """Push the base at its centre of mass."""

    direction_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="direction")]
    """0 is ahead, 90 to the left; in the world, level."""
    force_n: Annotated[float, Field(ge=0.0, le=100.0, title="force")]
    duration_s: Annotated[float, Field(gt=0.0, le=5.0, title="duration")]


@dataclass(frozen=True, kw_only=True)
class HeatNow(Wish):
    """Give the motor of a joint a temperature."""

    joint: str
    degc: Annotated[float, Field(ge=-20.0, le=150.0, title="temperature")]


@dataclass(frozen=True, kw_only=True)
class ChangeController(Wish):
    """Let another controller decide the stiffness from now on."""

    controller: str


@dataclass(frozen=True, kw_only=True)
class BreakPart(Wish):
    """Let a motor fail, or repair it."""

    part: str
    """A leaf of the resources."""
    is_broken: bool = True


@dataclass(frozen=True, kw_only=True)
class TiltGround(Wish):
    """Turn the ground, at 2 degrees/s."""

    slope_deg: Annotated[float, Field(ge=-30.0, le=30.0, title="slope")]
    """It rises by this towards +x."""


@dataclass(frozen=True, kw_only=True)
class Misalign(Wish):
    """Let the error of a joint's encoder go to another one, at 1 degree/s."""

    joint: str
    error_deg: Annotated[float, Field(ge=-10.0, le=10.0, title="error")]
    """True angle minus measured angle."""


@dataclass(frozen=True, kw_only=True)
class Take(Wish):
    """Reserve a resource for the operator, whole, by one token."""

    resource: str
    priority: Annotated[int, Field(ge=0, le=HIGHEST, title="priority")] = (
        OPERATOR_PRIORITY
    )
    timeout_s: Annotated[float, Field(ge=0.0, le=60.0, title="longest wait")] = 0.0
    """How long to wait for who is in the way; 0 tries once."""


@dataclass(frozen=True, kw_only=True)
class GiveBack(Wish):
    """Release a resource of the operator, or stop waiting for it."""

    resource: str


@dataclass(frozen=True, kw_only=True)
class MoveJoint(Wish):
    """Lead a joint to an angle; without a token the gate refuses."""

    joint: str
    angle_deg: Annotated[float, Field(ge=-360.0, le=360.0, title="angle")]


@dataclass(frozen=True, kw_only=True)
class TurnHead(Wish):
    """Lead both joints of the head at once."""

    yaw_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="yaw")]
    pitch_deg: Annotated[float, Field(ge=-180.0, le=180.0, title="pitch")]


@dataclass(frozen=True, kw_only=True)
class GoTo(Wish):
    """Go to a posture by the transitions of the library."""

    posture: str


@dataclass(frozen=True, kw_only=True)
class Play(Wish):
    """Play a motion of the library, and first the way to where it begins."""

    motion: str


@dataclass(frozen=True, kw_only=True)
class Light(Wish):
    """Fade LEDs to a colour."""

    leds: str
    """A resource: one group, or all of them."""
    colour: str
    """As `#rrggbb`."""

    def __post_init__(self) -> None:
        """Refuse what is no colour.

        Raises:
            BadInput: it is not.
        """
        super().__post_init__()
        if _COLOUR.fullmatch(self.colour) is None:
            raise BadInput(f"colour is {short(self.colour)}; give one as #rrggbb.")


@dataclass(frozen=True, kw_only=True)
class Say(Wish):
    """Say a text."""

    text: str


@dataclass(frozen=True, kw_only=True)
class WakeSchema(Wish):
    """Activate a schema of this installation."""

    schema: str
    priority: Annotated[int, Field(ge=0, le=HIGHEST, title="priority")] = (
        OPERATOR_PRIORITY
    )
    """Of what it reserves; one that was activated before keeps its own."""


@dataclass(frozen=True, kw_only=True)
class SleepSchema(Wish):
    """Deactivate a schema, and all below it."""

    schema: str


@dataclass(frozen=True, kw_only=True)
class ModulateSchema(Wish):
    """Change a parameter of a schema."""

    path: str
    parameter: str
    value: bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class ChangeSetting(Wish):
    """Change a setting of the controller's own panel."""

    setting: str
    value: bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class Foresee(Wish):
    """Forecast the temperatures of the next 15 minutes; the robot goes on as it is."""

    controller: str | None = None
    """As if it were changed to this one; None: it is not."""
    joint: str | None = None
    """As if the error of its encoder went to another one, at 1 degree/s; None: none."""
    error_deg: Annotated[float, Field(ge=-10.0, le=10.0, title="error")] = 0.0
    """Of that joint, true angle minus measured angle."""


@dataclass(frozen=True, kw_only=True)
class TakePicture(Wish):
    """See what a camera sees; the robot is late by the tens of ms that it takes."""

    camera: str


@dataclass(frozen=True, kw_only=True)
class Stop:
    """End the run; its data are kept."""


Action = (
    PushNow
    | HeatNow
    | BreakPart
    | TiltGround
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
"""What may be asked, by the word for it."""


def action_of(data: object, actions: Mapping[str, type] = ACTIONS) -> Any:
    """Return what a page asks for: `{"do": "PushNow", "force_n": 5, ...}`.

    Args:
        data: that came.
        actions: what may be asked, by the word for it.

    Raises:
        UnknownName: there is no such action.
        BadInput: a field is missing, one too many, of another type or out of its range.
    """
    if not isinstance(data, Mapping):
        raise BadInput(f"what is wanted is {short(data)}; give an object with `do`.")
    word = data.get("do")
    if not isinstance(word, str) or word not in actions:
        raise UnknownName("Action", str(word)[:60], actions, "what a page may ask for")
    given = {str(name): value for name, value in data.items() if name != "do"}
    try:
        return _reader(actions[word]).validate_json(json.dumps(given))
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))[:60]
        if fault["type"] == "missing_keyword_only" or fault["type"] == "missing":
            raise BadInput(f"{word} lacks {place}; give it.") from None
        raise BadInput(
            f"{place} of {word} is {short(fault['input'])}: {fault['msg']}."
        ) from None


@cache
def _reader(action: type) -> "TypeAdapter[Any]":
    return TypeAdapter(action)
