"""Events: actions of a scenario on its robot, and their triggers.

A timed event occurs at the start of its slot, before any behaviour acts. A conditional
event occurs once: at the start of the slot after the one in which its condition first
comes true, or later by a delay.

Each word is a class, selected by its key (`...Event`). Its fields are the file's
fields, and their types select the name lookup (`JointName`; or `resolved`). `act`
executes the event, `in_words` is its label in the figure. To add an event, add a class
here.
"""

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from nao_testbed.controllers.interface.ranges import (
    Celsius,
    GroundFriction,
    Name,
    SlopeDegrees,
)
from nao_testbed.experiments.common.form_parts import (
    BehaviourPath,
    Newton,
    Part,
    kinds_of,
    one_line,
    plain,
    tagged_union,
)
from nao_testbed.experiments.scenarios.vocabulary.conditions import AnyCondition, Entry
from nao_testbed.experiments.scenarios.vocabulary.lookup import (
    BodyName,
    ControllerName,
    GroupName,
    JointName,
    LinkName,
    Lookup,
    PostureName,
    ResourceName,
    TouchSensorName,
    WholeSlots,
    read_parameters,
)
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models.files.yaml_forms import Place
from nao_testbed.models.library import LONGEST_TEXT
from nao_testbed.models.values import Seconds


class ScenarioEvent(Entry):
    """An event at `at_s`, or `after_s` after `when` comes true."""

    name: Name | None = None
    """Name for reference in conditions."""
    at_s: Seconds | None = None
    """Time of the event in s."""
    when: AnyCondition | None = None
    """Trigger: the event occurs once, in the slot after this first comes true."""
    after_s: Seconds | None = None
    """With `when`: delay in s."""
    _tick: int | None = None
    _after_ticks: int = 0

    @model_validator(mode="after")
    def _has_one_trigger(self) -> Self:
        if (self.at_s is None) == (self.when is None):
            raise ValueError("give either at_s or when")
        if self.after_s is not None and self.when is None:
            raise ValueError("after_s needs when; with at_s, add the delay to at_s")
        return self

    @property
    def tick(self) -> int | None:
        """Slot of the event; None if it depends on a condition."""
        return self._tick

    @property
    def after_ticks(self) -> int:
        """Slots to wait after `when` came true."""
        return self._after_ticks

    @property
    def earliest(self) -> int:
        """Earliest possible slot."""
        return 0 if self.tick is None else self.tick

    @property
    def latest(self) -> float:
        """Latest possible slot."""
        return inf if self.tick is None else self.tick

    def triggered(self, place: Place, lookup: Lookup) -> Self | None:
        """Return a copy with its slot or resolved condition; reports as `resolved`."""
        if self.when is None:
            self._tick = lookup.moment((*place, "at_s"), self.at_s or 0.0)
            return self
        when = self.when.resolved((*place, "when"), lookup)
        self._after_ticks = lookup.ticks((*place, "after_s"), self.after_s or 0.0)
        return None if when is None else self.model_copy(update={"when": when})

    def check(
        self,
        place: Place,
        latest: float,
        events: "Iterable[ScenarioEvent]",
        lookup: Lookup,
    ) -> None:
        """Report an event that cannot occur by its latest slot, given all events."""

    def act(self, setup: Setup) -> None:
        """Execute the event at the start of the present slot.

        Raises:
            TestbedError: the event cannot be executed now; the message gives the
                reason.
        """
        raise NotImplementedError

    def label(self) -> str:
        """Return a short label for the figure: key and value."""
        said = next(iter(self.model_fields_set - ScenarioEvent.model_fields.keys()))
        value = getattr(self, said)
        text = ", ".join(value) if isinstance(value, list) else value
        return f"{said.strip('_').replace('_', ' ')} {text}"


class OfTopLevel(ScenarioEvent):
    """An event that acts on one behaviour of the top level, its only field."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve the behaviour; children are activated by their parent only."""
        key = next(iter(self.model_fields_set - ScenarioEvent.model_fields.keys()))
        name, here = getattr(self, key), (*place, key)
        role = lookup.behaviour(here, name)
        if role is None:
            return None
        if not role.is_top:
            above = role.path.partition("/")[0]
            lookup.notes.add(
                here,
                f"behaviour {name!r} is a child of {above!r}, which starts and stops "
                "it; name a top-level behaviour.",
            )
            return None
        return self.model_copy(update={key: role.path})


class StartEvent(OfTopLevel):
    """Start a behaviour."""

    start: BehaviourPath
    """A behaviour of the top level."""

    def act(self, setup: Setup) -> None:
        """Wake the behaviour; an awake behaviour continues."""
        setup.schemas.wake(self.start, setup.tick)


class StopEvent(OfTopLevel):
    """Stop a behaviour and all its children."""

    stop: BehaviourPath
    """A behaviour of the top level."""

    def act(self, setup: Setup) -> None:
        """Put the behaviour to sleep."""
        setup.schemas.sleep(self.stop, setup.tick)


class SayEvent(ScenarioEvent):
    """Speak a text."""

    say: Annotated[Name, Field(max_length=LONGEST_TEXT)]
    """The text."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Report a text without audible words."""
        if any(letter.isalnum() for letter in self.say):
            return self
        lookup.notes.add(
            (*place, "say"),
            f"{self.say!r} has no letter and no digit; give a text to speak.",
        )
        return None

    def act(self, setup: Setup) -> None:
        """Speak the text as an independent command of a separate owner.

        The command waits while another owner holds the loudspeaker.
        """
        setup.say(self.say)

    def label(self) -> str:
        """Return the text."""
        return f"say “{self.say}”"


class PushForm(Part):
    """A force on a link."""

    link: LinkName
    """Link pushed at its centre of mass."""
    newton: Annotated[list[Newton], Field(min_length=3, max_length=3)]
    """Force in world axes, in N: x forward at the start, y left, z up."""
    for_s: WholeSlots
    """Duration in s."""


class PushEvent(ScenarioEvent):
    """Push the robot."""

    push: PushForm

    def act(self, setup: Setup) -> None:
        """Push for the given number of slots, starting with the present one."""
        over = setup.tick + round(self.push.for_s / setup.tick_s)
        setup.disturbance.push(self.push.link, self.push.newton, over)

    def label(self) -> str:
        """Return link and force."""
        forces = ", ".join(f"{force:g}" for force in self.push.newton)
        return f"push {self.push.link} ({forces}) N"


class HeatForm(Part):
    """A temperature for a motor."""

    joint: JointName
    """A joint of the motor."""
    degc: Celsius
    """Initial temperature in °C; the thermal model continues from it."""


class HeatEvent(ScenarioEvent):
    """Set the temperature of a motor."""

    heat: HeatForm

    def act(self, setup: Setup) -> None:
        """Set the temperature of the joint's motors."""
        setup.set_temperature(self.heat.joint, self.heat.degc)

    def label(self) -> str:
        """Return joint and temperature."""
        return f"{self.heat.joint} set to {self.heat.degc:g} °C"


class BreakEvent(ScenarioEvent):
    """Break parts: they produce no torque, and no owner can hold them."""

    break_: Annotated[list[ResourceName], Field(min_length=1, alias="break")]
    """Resources, such as Left arm."""

    def act(self, setup: Setup) -> None:
        """Break the parts."""
        setup.body.break_parts(tuple(self.break_))


class RepairEvent(ScenarioEvent):
    """Repair parts that an event broke."""

    repair: Annotated[list[ResourceName], Field(min_length=1)]
    """Names with which the parts were broken."""

    def check(
        self,
        place: Place,
        latest: float,
        events: Iterable[ScenarioEvent],
        lookup: Lookup,
    ) -> None:
        """Report parts that are never broken, or are broken only later."""
        broken: dict[str, int] = {}
        for event in events:
            if isinstance(event, BreakEvent):
                for part in event.break_:
                    broken[part] = min(broken.get(part, event.earliest), event.earliest)
        for i, part in enumerate(self.repair):
            here = (*place, "repair", i)
            where = "parts broken by events of this scenario"
            if not lookup.notes.is_known(here, "Part", part, sorted(broken), where):
                continue
            if broken[part] > latest:
                lookup.notes.add(
                    here,
                    f"{part!r} is repaired at {latest * lookup.tick_s:g} s, before it "
                    f"breaks at {broken[part] * lookup.tick_s:g} s; swap the times.",
                )

    def act(self, setup: Setup) -> None:
        """Repair the parts."""
        setup.body.repair_parts(tuple(self.repair))


class BodyEvent(ScenarioEvent):
    """Change the body to another model of the robot."""

    body: BodyName
    """Body type, such as H25 or T14."""

    def act(self, setup: Setup) -> None:
        """Change the body; parts that it lacks cannot be held from now on."""
        setup.body.change_body(self.body)


class SetDownEvent(ScenarioEvent):
    """Pick the robot up and put it on the ground, for example after a fall."""

    set_down: PostureName
    """Posture whose effectors carry it; the joints stay where they are."""

    def act(self, setup: Setup) -> None:
        """Put the robot down, at rest."""
        setup.body.sim.set_down(self.set_down)


class TouchForm(Part):
    """Touch of a sensor."""

    sensor: TouchSensorName
    """Touch sensor, bumper or button."""
    for_s: WholeSlots
    """Duration in s."""


class TouchEvent(ScenarioEvent):
    """Touch the robot, or press a button of it."""

    touch: TouchForm

    def act(self, setup: Setup) -> None:
        """Touch for the given number of slots, starting with the present one."""
        over = setup.tick + round(self.touch.for_s / setup.tick_s)
        setup.disturbance.touch(self.touch.sensor, over)

    def label(self) -> str:
        """Return the sensor."""
        return f"touch {self.touch.sensor}"


class GroundForm(Part):
    """Ground properties; an absent property keeps its value."""

    friction: GroundFriction | None = None
    """Coulomb coefficient."""
    slope_deg: SlopeDegrees | None = None
    """Slope in degrees; the ground rises towards +x."""

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if self.friction is None and self.slope_deg is None:
            raise ValueError("give friction, slope_deg or both")
        return self


class GroundEvent(ScenarioEvent):
    """Change the slope or friction of the ground."""

    ground: GroundForm

    def act(self, setup: Setup) -> None:
        """Set the given properties; the others keep their values."""
        setup.disturbance.set_ground(self.ground.friction, self.ground.slope_deg)

    def label(self) -> str:
        """Return the properties that are set."""
        friction, slope = self.ground.friction, self.ground.slope_deg
        words = [] if friction is None else [f"friction {friction:g}"]
        words += [] if slope is None else [f"slope {slope:g}°"]
        return f"ground {', '.join(words)}"


class ControllerEvent(ScenarioEvent):
    """Use another stiffness controller."""

    controller: ControllerName
    """Name as in `nao-testbed heat --controllers`."""

    def act(self, setup: Setup) -> None:
        """Switch to the controller from this slot on."""
        setup.use_controller(self.controller)


class DeleteGroupEvent(ScenarioEvent):
    """Delete a synchronous group."""

    delete_group: GroupName
    """Group id."""

    def act(self, setup: Setup) -> None:
        """Delete the group: a waiting one never starts; a running one ends whole."""
        setup.delete_group(self.delete_group)


class ModulateForm(Part):
    """New parameters of a behaviour."""

    behaviour: BehaviourPath
    """Path of the behaviour."""
    with_: Annotated[dict[str, Any], Field(alias="with", min_length=1)]
    """Parameter name to value; the others keep their values."""


class ModulateEvent(ScenarioEvent):
    """Change parameters of an active behaviour."""

    modulate: ModulateForm
    """Behaviour and new values."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve the behaviour and validate its parameters."""
        here, modulate = (*place, "modulate"), self.modulate
        role = lookup.behaviour((*here, "behaviour"), modulate.behaviour)
        if role is None:
            return None
        given = plain(modulate.with_)
        if role.schema is not None:
            info, base = role.schema.info, role.parameters
            read_parameters(info, given, (*here, "with"), lookup.notes, base)
        found = modulate.model_copy(update={"behaviour": role.path, "with_": given})
        return self.model_copy(update={"modulate": found})

    def act(self, setup: Setup) -> None:
        """Change the parameters; a sleeping behaviour is left unchanged."""
        setup.modulate(self.modulate.behaviour, self.modulate.with_)

    def label(self) -> str:
        """Return behaviour and values."""
        return f"modulate {self.modulate.behaviour}: {one_line(self.modulate.with_)}"


ACTIONS = kinds_of(ScenarioEvent)
"""Event classes by key."""

if TYPE_CHECKING:
    AnyEvent = ScenarioEvent
else:
    AnyEvent = tagged_union("an event", ACTIONS)


def read_event(
    form: ScenarioEvent, place: Place, lookup: Lookup, tree: Any
) -> ScenarioEvent | None:
    """Return a validated event; report errors and return None if it is invalid.

    Args:
        form: form of the event.
        place: place of the event in the file.
        lookup: known names.
        tree: source of the event.
    """
    event = form.with_text(tree, lookup.line_of(place))
    triggered = event.triggered(place, lookup)
    resolved = (triggered or event).resolved(place, lookup)
    return None if triggered is None else resolved


def event_names(
    forms: Iterable[ScenarioEvent], lookup: Lookup
) -> dict[str, float | None]:
    """Return times in s by name, None for a conditional event; report duplicates."""
    names: dict[str, float | None] = {}
    for i, form in enumerate(forms):
        if form.name is None:
            continue
        if form.name in names:
            lookup.notes.add(
                ("events", i, "name"),
                f"two events are called {form.name!r}; give each a unique name.",
            )
        names[form.name] = form.at_s
    return names
