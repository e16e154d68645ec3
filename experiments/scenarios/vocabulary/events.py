"""Events: what a scenario does to its robot, and what triggers it.

An event at a time takes place at the beginning of its slot, before anybody acts. One on
a condition takes place once: at the beginning of the slot after that in which the
condition first comes true, or later by a delay.

In a file an event is a time or a condition, and one action by its key (`...Event`);
`read_event` looks up its names and makes its times slots.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from experiments.common.yaml_forms import (
    BehaviourPath,
    Celsius,
    FiniteFloat,
    Name,
    Newton,
    Part,
    kinds_of,
    one_line,
    plain,
    tagged_union,
)
from experiments.scenarios.vocabulary.conditions import (
    AnyCondition,
    Condition,
)
from experiments.scenarios.vocabulary.lookup import (
    Lookup,
    read_controller,
    read_parameters,
)
from models.files.yaml_forms import Place
from models.library import LONGEST_TEXT
from models.values import PositiveSeconds, Seconds

Vector3 = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class AtTick:
    """At a time."""

    tick: int


@dataclass(frozen=True, kw_only=True)
class WhenTrue:
    """After a condition came true for the first time."""

    condition: Condition
    after_ticks: int = 0
    """More slots to wait."""


Trigger = AtTick | WhenTrue


@dataclass(frozen=True, kw_only=True)
class StartBehaviour:
    """Wake a behaviour of the top level; awake already, it goes on."""

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class StopBehaviour:
    """Put a behaviour of the top level to sleep, with all below it."""

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class Say:
    """Say a text, as an independent command of an owner of its own.

    It waits while somebody else has the loudspeaker.
    """

    text: str


@dataclass(frozen=True, kw_only=True)
class Push:
    """A force on a link at its centre of mass, in world axes."""

    link: str
    newton: Vector3
    ticks: int
    """For so many slots, the present one first."""


@dataclass(frozen=True, kw_only=True)
class SetTemperature:
    """Give a joint's motor a temperature; it goes on from there."""

    joint: str
    degc: float


@dataclass(frozen=True, kw_only=True)
class BreakParts:
    """Parts fail: no torque, and nobody's."""

    parts: tuple[str, ...]
    """Resources, as named."""


@dataclass(frozen=True, kw_only=True)
class RepairParts:
    """Parts that an event broke work again."""

    parts: tuple[str, ...]
    """By the names with which they were broken."""


@dataclass(frozen=True, kw_only=True)
class ChangeBody:
    """The robot is another model from now on: what it lacks is nobody's."""

    body: str


@dataclass(frozen=True, kw_only=True)
class SetGround:
    """Another ground; None leaves a value as it is."""

    friction: float | None = None
    """Coulomb coefficient."""
    slope_deg: float | None = None
    """Rises by this angle towards +x."""


@dataclass(frozen=True, kw_only=True)
class UseController:
    """Another stiffness controller from now on."""

    controller: str
    """As `nao-testbed heat --controllers` names it."""


@dataclass(frozen=True, kw_only=True)
class DeleteGroup:
    """Delete a synchronous group: waiting, it never starts; running, it ends whole."""

    group: str


@dataclass(frozen=True, kw_only=True)
class Modulate:
    """Change parameters of a behaviour that is awake; asleep, it stays as it is."""

    behaviour: str
    """Its path."""
    parameters: Mapping[str, Any]
    """Name to value; the others stay."""


Action = (
    StartBehaviour
    | StopBehaviour
    | Say
    | Push
    | SetTemperature
    | BreakParts
    | RepairParts
    | ChangeBody
    | SetGround
    | UseController
    | DeleteGroup
    | Modulate
)


@dataclass(frozen=True, kw_only=True)
class ScenarioEvent:
    """An action and its trigger."""

    trigger: Trigger
    action: Action
    name: str | None
    """By which conditions speak of it."""
    text: str
    """As in the file, on one line."""
    line: int
    """Of the file."""


class Triggered(Part):
    """What every event has: `at_s`, or `when` and perhaps `after_s`."""

    name: Name | None = None
    """By which conditions speak of it."""
    at_s: Seconds | None = None
    """Time at which it happens, in s."""
    when: AnyCondition | None = None
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

    friction: Annotated[FiniteFloat, Field(ge=0.0, le=5.0)] | None = None
    """Coulomb coefficient."""
    slope_deg: Annotated[FiniteFloat, Field(ge=-30.0, le=30.0)] | None = None
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


ACTIONS = kinds_of(Triggered)
"""Key to kind."""

if TYPE_CHECKING:
    AnyEvent = Triggered
else:
    AnyEvent = tagged_union("an event", ACTIONS)


def read_event(
    form: Triggered, place: Place, lookup: Lookup, tree: Any, line: int
) -> ScenarioEvent | None:
    """Return an event; None, and notes, where something in it is wrong.

    Args:
        form: of the event.
        place: of the event in the file.
        lookup: what it may name.
        tree: the event as it was read.
        line: of the event in the file.
    """
    trigger = _trigger(form, place, lookup)
    action = _READERS[type(form)](form, place, lookup)
    if trigger is None or action is None:
        return None
    text = one_line(tree)
    return ScenarioEvent(
        trigger=trigger, action=action, name=form.name, text=text, line=line
    )


def event_names(forms: Iterable[Triggered], lookup: Lookup) -> dict[str, float | None]:
    """Return name to time in s, None of one on a condition; note names of two."""
    names: dict[str, float | None] = {}
    for i, form in enumerate(forms):
        if form.name is None:
            continue
        if form.name in names:
            lookup.notes.add(
                ("events", i, "name"),
                f"a second event is called {form.name!r}; give each a name of its own.",
            )
        names[form.name] = form.at_s
    return names


def _trigger(form: Triggered, place: Place, lookup: Lookup) -> Trigger | None:
    if form.when is None:
        return AtTick(tick=lookup.moment((*place, "at_s"), form.at_s or 0.0))
    condition = form.when.resolved((*place, "when"), lookup)
    after = lookup.ticks((*place, "after_s"), form.after_s or 0.0)
    if condition is None:
        return None
    return WhenTrue(condition=condition, after_ticks=after)


def _top_level(name: str, place: Place, lookup: Lookup) -> str | None:
    role = lookup.behaviour(place, name)
    if role is None:
        return None
    if not role.is_top:
        above = role.path.partition("/")[0]
        lookup.notes.add(
            place,
            f"behaviour {name!r} is below {above!r}, which alone wakes it and puts it "
            "to sleep; name one of the top level.",
        )
        return None
    return role.path


def _start(form: Any, place: Place, lookup: Lookup) -> Action | None:
    name = _top_level(form.start, (*place, "start"), lookup)
    return None if name is None else StartBehaviour(behaviour=name)


def _stop(form: Any, place: Place, lookup: Lookup) -> Action | None:
    name = _top_level(form.stop, (*place, "stop"), lookup)
    return None if name is None else StopBehaviour(behaviour=name)


def _say(form: Any, place: Place, lookup: Lookup) -> Action | None:
    if not any(letter.isalnum() for letter in form.say):
        lookup.notes.add(
            (*place, "say"),
            f"{form.say!r} has no letter and no digit; give something to say.",
        )
        return None
    return Say(text=form.say)


def _push(form: Any, place: Place, lookup: Lookup) -> Action | None:
    here = (*place, "push")
    push: PushForm = form.push
    links = [link.name for link in lookup.robot.links]
    where = f"robot {lookup.robot.name!r}"
    ticks = lookup.ticks((*here, "for_s"), push.for_s)
    if not lookup.notes.is_known((*here, "link"), "Link", push.link, links, where):
        return None
    x, y, z = push.newton
    return Push(link=push.link, newton=(x, y, z), ticks=ticks)


def _heat(form: Any, place: Place, lookup: Lookup) -> Action | None:
    heat: HeatForm = form.heat
    if not lookup.joint((*place, "heat", "joint"), heat.joint):
        return None
    return SetTemperature(joint=heat.joint, degc=heat.degc)


def _break(form: Any, place: Place, lookup: Lookup) -> Action | None:
    here = (*place, "break")
    known = [lookup.resource((*here, i), part) for i, part in enumerate(form.break_)]
    return BreakParts(parts=tuple(form.break_)) if all(known) else None


def _repair(form: Any, place: Place, lookup: Lookup) -> Action | None:
    here = (*place, "repair")
    known = [lookup.resource((*here, i), part) for i, part in enumerate(form.repair)]
    return RepairParts(parts=tuple(form.repair)) if all(known) else None


def _body(form: Any, place: Place, lookup: Lookup) -> Action | None:
    robot = lookup.robot
    where = f"robot {robot.name!r}"
    is_known = lookup.notes.is_known(
        (*place, "body"), "Body", form.body, robot.bodies, where
    )
    return ChangeBody(body=form.body) if is_known else None


def _ground(form: Any, place: Place, lookup: Lookup) -> Action | None:
    del place, lookup  # its form has the ranges
    ground: GroundForm = form.ground
    return SetGround(friction=ground.friction, slope_deg=ground.slope_deg)


def _controller(form: Any, place: Place, lookup: Lookup) -> Action | None:
    read_controller((*place, "controller"), form.controller, lookup.notes)
    return UseController(controller=form.controller)


def _delete_group(form: Any, place: Place, lookup: Lookup) -> Action | None:
    lookup.group((*place, "delete_group"), form.delete_group)
    return DeleteGroup(group=form.delete_group)


def _modulate(form: Any, place: Place, lookup: Lookup) -> Action | None:
    here = (*place, "modulate")
    modulate: ModulateForm = form.modulate
    role = lookup.behaviour((*here, "behaviour"), modulate.behaviour)
    if role is None:
        return None
    given = plain(modulate.with_)
    if role.schema is not None:
        there = (*here, "with")
        base = role.parameters
        read_parameters(role.schema.info, given, there, lookup.notes, base)
    return Modulate(behaviour=role.path, parameters=given)


_READERS: Mapping[type, Callable[[Any, Place, Lookup], Action | None]] = {
    StartEvent: _start,
    StopEvent: _stop,
    SayEvent: _say,
    PushEvent: _push,
    HeatEvent: _heat,
    BreakEvent: _break,
    RepairEvent: _repair,
    BodyEvent: _body,
    GroundEvent: _ground,
    ControllerEvent: _controller,
    DeleteGroupEvent: _delete_group,
    ModulateEvent: _modulate,
}
