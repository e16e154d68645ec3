"""What an operator may ask of a live robot, and what the robot tells of itself.

Both travel between processes, so that they are plain data; a value that makes no sense
is refused where it is made, and again by the robot.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from controllers.arbitration.manager.front import OwnerRow, ResourceRow
from controllers.arbitration.requests import HIGHEST
from controllers.interface.checked import Checked
from controllers.interface.panel import Panel
from controllers.interface.robot_interface import Observation, Picture
from controllers.transmitter.buses.group import GroupNow
from models import BadInput, UnknownName
from models.values import short

FloatArray = NDArray[np.float64]
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


@dataclass(frozen=True, kw_only=True)
class Group:
    """A resource that an operator takes whole."""

    name: str
    holders: tuple[str, ...]
    """Of its leaves; virtual owners among them."""
    is_mine: bool
    """Whether the operator may command all of it."""
    wait_left_s: float | None = None
    """Until the operator's request for it times out; None: it waits for nothing."""


@dataclass(frozen=True, kw_only=True)
class SchemaView:
    """An instance of a schema, for who looks."""

    path: str
    """Names from the root down, with '/' between."""
    state: str
    note: str
    """What it waits for, whether it is done, with what it failed."""
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class PanelView:
    """What a controller or a schema shows of itself, or why it does not."""

    kind: str
    """`controller` or `schema`."""
    name: str
    """Of the controller, or the schema's path."""
    panel: Panel | None = None
    fault: str = ""


@dataclass(frozen=True, kw_only=True)
class Reservations:
    """Who holds what, who waits for it, and what waits in the transmitter."""

    resources: tuple[ResourceRow, ...]
    """From the top of the tree down."""
    owners: tuple[OwnerRow, ...]
    groups: tuple[GroupNow, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Moment:
    """A robot at one time, for who looks."""

    time_s: float
    late_s: float
    """How far it is behind the clock on the wall, in s."""
    n_taken: int = 0
    """Wishes that it has taken since it began."""
    controller: str
    q: FloatArray
    """(n_joints,) true angles in rad."""
    position: FloatArray
    """(3,) of the base in the world, in m."""
    quaternion: FloatArray
    """Of the base, x y z w."""
    degc: FloatArray
    """(n_joints,) true temperature of the joints' motors in °C."""
    seen: Observation
    """What the sensors say."""
    lights: FloatArray
    """(n,) brightness of LED groups, in the order of `sim.effectors.colour_names`."""
    says: str
    """What is heard from its loudspeakers, empty in silence."""
    picture: Picture | None = None
    """That was asked for, in one moment alone."""
    has_fallen: bool
    groups: tuple["Group", ...]
    """What the operator may take, and who has it."""
    schemas: tuple[SchemaView, ...]
    panels: tuple[PanelView, ...]
    reservations: Reservations | None = None
    """None: as in the moment before."""
    tick_s: float = 0.01
    """Length of a slot in s."""
    said: tuple[str, ...]
    """What became of the operator's wishes, the newest last."""
