"""Events as a file writes them: a time or a condition, and one action by its key."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, Tag, model_validator

from experiments.scenarios.form.base import (
    BehaviourPath,
    Celsius,
    Name,
    Part,
    Real,
    by_key,
)
from experiments.scenarios.form.condition import ConditionForm
from models.library.sound import LONGEST_TEXT
from models.rows import PositiveSeconds, Seconds


class Triggered(Part):
    """What every event has: `at_s`, or `when` and perhaps `after_s`."""

    name: Name | None = None
    """By which conditions speak of it."""
    at_s: Seconds | None = None
    """Time at which it happens, in s."""
    when: ConditionForm | None = None
    """It happens once, in the slot after that in which this first comes true."""
    after_s: Seconds | None = None
    """With `when`: later by this time, in s."""

    @model_validator(mode="after")
    def _has_one_trigger(self) -> "Triggered":
        if (self.at_s is None) == (self.when is None):
            raise ValueError("give either at_s or when, to say when it happens")
        if self.after_s is not None and self.when is None:
            raise ValueError("after_s goes with when; add it to at_s here")
        return self


class StartEvent(Triggered):
    """Wake a behaviour."""

    start: BehaviourPath
    """A behaviour of the top level."""


class StopEvent(Triggered):
    """Put a behaviour to sleep, with all below it."""

    stop: BehaviourPath
    """A behaviour of the top level."""


class SayEvent(Triggered):
    """Say something."""

    say: Annotated[Name, Field(max_length=LONGEST_TEXT)]
    """The text."""


Newton = Annotated[Real, Field(ge=-10_000.0, le=10_000.0)]


class PushForm(Part):
    """A force on a link."""

    link: Name
    """Where: at its centre of mass."""
    newton: Annotated[list[Newton], Field(min_length=3, max_length=3)]
    """Force in world axes, in N: x ahead at the start, y to the left, z up."""
    for_s: PositiveSeconds
    """How long, in s."""


class PushEvent(Triggered):
    """Push the robot."""

    push: PushForm


class HeatForm(Part):
    """A temperature for a motor."""

    joint: Name
    """A joint of the motor."""
    degc: Celsius
    """In °C; it goes on from there."""


class HeatEvent(Triggered):
    """Give a motor a temperature."""

    heat: HeatForm


class BreakEvent(Triggered):
    """Let parts fail: no torque, and nobody's."""

    break_: Annotated[list[Name], Field(min_length=1, alias="break")]
    """Resources, such as Left arm."""


class RepairEvent(Triggered):
    """Repair parts that an event broke."""

    repair: Annotated[list[Name], Field(min_length=1)]
    """By the names with which they were broken."""


class BodyEvent(Triggered):
    """Make it another model of the robot."""

    body: Name
    """Such as H25 or T14."""


class GroundForm(Part):
    """A ground; what is absent stays as it is."""

    friction: Annotated[Real, Field(ge=0.0, le=5.0)] | None = None
    """Coulomb coefficient."""
    slope_deg: Annotated[Real, Field(ge=-30.0, le=30.0)] | None = None
    """Rises by this angle towards +x, in degrees."""

    @model_validator(mode="after")
    def _says_something(self) -> "GroundForm":
        if self.friction is None and self.slope_deg is None:
            raise ValueError("give friction, slope_deg or both")
        return self


class GroundEvent(Triggered):
    """Set the ground."""

    ground: GroundForm


class ControllerEvent(Triggered):
    """Use another stiffness controller."""

    controller: Name
    """As `nao-testbed heat --controllers` names it."""


class DeleteGroupEvent(Triggered):
    """Delete a synchronous group."""

    delete_group: Name
    """Its id."""


class ModulateForm(Part):
    """Other parameters of a behaviour."""

    behaviour: BehaviourPath
    """Which one."""
    with_: Annotated[dict[str, Any], Field(alias="with", min_length=1)]
    """Name to value; the others stay."""


class ModulateEvent(Triggered):
    """Change parameters of a behaviour that is awake."""

    modulate: ModulateForm
    """Which behaviour, and how."""


ACTIONS: Mapping[str, type[Part]] = {
    "start": StartEvent,
    "stop": StopEvent,
    "say": SayEvent,
    "push": PushEvent,
    "heat": HeatEvent,
    "break": BreakEvent,
    "repair": RepairEvent,
    "body": BodyEvent,
    "ground": GroundEvent,
    "controller": ControllerEvent,
    "delete_group": DeleteGroupEvent,
    "modulate": ModulateEvent,
}
"""Key to kind."""

AnyEvent = Annotated[
    Annotated[StartEvent, Tag("StartEvent")]
    | Annotated[StopEvent, Tag("StopEvent")]
    | Annotated[SayEvent, Tag("SayEvent")]
    | Annotated[PushEvent, Tag("PushEvent")]
    | Annotated[HeatEvent, Tag("HeatEvent")]
    | Annotated[BreakEvent, Tag("BreakEvent")]
    | Annotated[RepairEvent, Tag("RepairEvent")]
    | Annotated[BodyEvent, Tag("BodyEvent")]
    | Annotated[GroundEvent, Tag("GroundEvent")]
    | Annotated[ControllerEvent, Tag("ControllerEvent")]
    | Annotated[DeleteGroupEvent, Tag("DeleteGroupEvent")]
    | Annotated[ModulateEvent, Tag("ModulateEvent")],
    by_key("an event", ACTIONS),
]
