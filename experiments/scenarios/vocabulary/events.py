"""Events: what a scenario does to its robot, and what triggers it.

An event at a time takes place at the beginning of its slot, before anybody acts. One on
a condition takes place once: at the beginning of the slot after that in which the
condition first comes true, or later by a delay.

A class a word, told by its key (`...Event`): fields are what the file says, their types
how names are looked up (`JointName`; or `resolved`), `act` lets it happen, `in_words`
is its label in the figure. A new event is one more class here.
"""

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from nao_testbed.experiments.common.form_parts import (
    BehaviourPath,
    Name,
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
    ResourceName,
    WholeSlots,
    read_parameters,
)
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models.files.yaml_forms import Place
from nao_testbed.models.library import LONGEST_TEXT
from nao_testbed.models.values import (
    Celsius,
    GroundFriction,
    Seconds,
    SlopeDegrees,
)


class ScenarioEvent(Entry):
    """What happens at `at_s`, or after `when` came true, perhaps `after_s` later."""

    name: Name | None = None
    """By which conditions speak of it."""
    at_s: Seconds | None = None
    """Time at which it happens, in s."""
    when: AnyCondition | None = None
    """It happens once, in the slot after that in which this first comes true."""
    after_s: Seconds | None = None
    """With `when`: later by this time, in s."""
    _tick: int | None = None
    _after_ticks: int = 0

    @model_validator(mode="after")
    def _has_one_trigger(self) -> Self:
        if (self.at_s is None) == (self.when is None):
            raise ValueError("give either at_s or when, to say when it happens")
        if self.after_s is not None and self.when is None:
            raise ValueError("after_s goes with when; add it to at_s here")
        return self

    @property
    def tick(self) -> int | None:
        """Slot in which it happens; None: that is not known beforehand."""
        return self._tick

    @property
    def after_ticks(self) -> int:
        """Slots to wait after `when` came true."""
        return self._after_ticks

    @property
    def earliest(self) -> int:
        """Slot before which it cannot take place."""
        return 0 if self.tick is None else self.tick

    @property
    def latest(self) -> float:
        """Slot after which it cannot take place."""
        return inf if self.tick is None else self.tick

    def triggered(self, place: Place, lookup: Lookup) -> Self | None:
        """Return it with its slot, or its condition resolved; as of `resolved`."""
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
        """Note that it cannot take place by its latest slot, beside all the others."""

    def act(self, setup: Setup) -> None:
        """Let it happen, at the beginning of the present slot.

        Raises:
            TestbedError: it cannot be done now; the message says why.
        """
        raise NotImplementedError

    def in_words(self) -> str:
        """Return it as a label of a figure has room for it: key and value."""
        said = next(iter(self.model_fields_set - ScenarioEvent.model_fields.keys()))
        value = getattr(self, said)
        text = ", ".join(value) if isinstance(value, list) else value
        return f"{said.strip('_').replace('_', ' ')} {text}"


class OfTopLevel(ScenarioEvent):
    """Something is done to a behaviour of the top level, which is all that it says."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look the behaviour up; those below are for the one above them."""
        key = next(iter(self.model_fields_set - ScenarioEvent.model_fields.keys()))
        name, here = getattr(self, key), (*place, key)
        role = lookup.behaviour(here, name)
        if role is None:
            return None
        if not role.is_top:
            above = role.path.partition("/")[0]
            lookup.notes.add(
                here,
                f"behaviour {name!r} is below {above!r}, which alone wakes it and puts "
                "it to sleep; name one of the top level.",
            )
            return None
        return self.model_copy(update={key: role.path})


class StartEvent(OfTopLevel):
    """Wake a behaviour."""

    start: BehaviourPath
    """A behaviour of the top level."""

    def act(self, setup: Setup) -> None:
        """Wake it; awake already, it goes on."""
        setup.schemas.wake(self.start, setup.tick)


class StopEvent(OfTopLevel):
    """Put a behaviour to sleep, with all below it."""

    stop: BehaviourPath
    """A behaviour of the top level."""

    def act(self, setup: Setup) -> None:
        """Put it to sleep."""
        setup.schemas.sleep(self.stop, setup.tick)


class SayEvent(ScenarioEvent):
    """Say something."""

    say: Annotated[Name, Field(max_length=LONGEST_TEXT)]
    """The text."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Note a text of which nothing could be heard."""
        if any(letter.isalnum() for letter in self.say):
            return self
        lookup.notes.add(
            (*place, "say"),
            f"{self.say!r} has no letter and no digit; give something to say.",
        )
        return None

    def act(self, setup: Setup) -> None:
        """Say it, as an independent command of an owner of its own.

        It waits while somebody else has the loudspeaker.
        """
        setup.say(self.say)

    def in_words(self) -> str:
        """Return the text."""
        return f"say “{self.say}”"


class PushForm(Part):
    """A force on a link."""

    link: LinkName
    """Where: at its centre of mass."""
    newton: Annotated[list[Newton], Field(min_length=3, max_length=3)]
    """Force in world axes, in N: x ahead at the start, y to the left, z up."""
    for_s: WholeSlots
    """How long, in s."""


class PushEvent(ScenarioEvent):
    """Push the robot."""

    push: PushForm

    def act(self, setup: Setup) -> None:
        """Push for so many slots, the present one first."""
        over = setup.tick + round(self.push.for_s / setup.tick_s)
        setup.disturbance.push(self.push.link, self.push.newton, over)

    def in_words(self) -> str:
        """Return link and force."""
        forces = ", ".join(f"{force:g}" for force in self.push.newton)
        return f"push {self.push.link} ({forces}) N"


class HeatForm(Part):
    """A temperature for a motor."""

    joint: JointName
    """A joint of the motor."""
    degc: Celsius
    """In °C; it goes on from there."""


class HeatEvent(ScenarioEvent):
    """Give a motor a temperature."""

    heat: HeatForm

    def act(self, setup: Setup) -> None:
        """Set the temperature of the joint's motor."""
        sim = setup.body.sim
        sim.set_temperature(setup.motor_name(self.heat.joint), self.heat.degc)

    def in_words(self) -> str:
        """Return joint and temperature."""
        return f"{self.heat.joint} set to {self.heat.degc:g} °C"


class BreakEvent(ScenarioEvent):
    """Let parts fail: no torque, and nobody's."""

    break_: Annotated[list[ResourceName], Field(min_length=1, alias="break")]
    """Resources, such as Left arm."""

    def act(self, setup: Setup) -> None:
        """Break them."""
        setup.body.break_parts(tuple(self.break_))


class RepairEvent(ScenarioEvent):
    """Repair parts that an event broke."""

    repair: Annotated[list[ResourceName], Field(min_length=1)]
    """By the names with which they were broken."""

    def check(
        self,
        place: Place,
        latest: float,
        events: Iterable[ScenarioEvent],
        lookup: Lookup,
    ) -> None:
        """Note parts that are never broken, or only later."""
        broken: dict[str, int] = {}
        for event in events:
            if isinstance(event, BreakEvent):
                for part in event.break_:
                    broken[part] = min(broken.get(part, event.earliest), event.earliest)
        for i, part in enumerate(self.repair):
            here = (*place, "repair", i)
            where = "what events of this scenario break"
            if not lookup.notes.is_known(here, "Part", part, sorted(broken), where):
                continue
            if broken[part] > latest:
                lookup.notes.add(
                    here,
                    f"{part!r} is repaired at {latest * lookup.tick_s:g} s, but broken "
                    f"at {broken[part] * lookup.tick_s:g} s; exchange the times.",
                )

    def act(self, setup: Setup) -> None:
        """Let them work again."""
        setup.body.repair_parts(tuple(self.repair))


class BodyEvent(ScenarioEvent):
    """Make it another model of the robot."""

    body: BodyName
    """Such as H25 or T14."""

    def act(self, setup: Setup) -> None:
        """Change the body: what it lacks is nobody's from now on."""
        setup.body.change_body(self.body)


class GroundForm(Part):
    """A ground; what is absent stays as it is."""

    friction: GroundFriction | None = None
    """Coulomb coefficient."""
    slope_deg: SlopeDegrees | None = None
    """Rises by this angle towards +x, in degrees."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.friction is None and self.slope_deg is None:
            raise ValueError("give friction, slope_deg or both")
        return self


class GroundEvent(ScenarioEvent):
    """Set the ground."""

    ground: GroundForm

    def act(self, setup: Setup) -> None:
        """Set what it says; the rest stays."""
        setup.disturbance.set_ground(self.ground.friction, self.ground.slope_deg)

    def in_words(self) -> str:
        """Return what it sets."""
        friction, slope = self.ground.friction, self.ground.slope_deg
        words = [] if friction is None else [f"friction {friction:g}"]
        words += [] if slope is None else [f"slope {slope:g}°"]
        return f"ground {', '.join(words)}"


class ControllerEvent(ScenarioEvent):
    """Use another stiffness controller."""

    controller: ControllerName
    """As `nao-testbed heat --controllers` names it."""

    def act(self, setup: Setup) -> None:
        """Let it decide from now on."""
        setup.use_controller(self.controller)


class DeleteGroupEvent(ScenarioEvent):
    """Delete a synchronous group."""

    delete_group: GroupName
    """Its id."""

    def act(self, setup: Setup) -> None:
        """Delete it: waiting, it never starts; running, it ends whole."""
        setup.delete_group(self.delete_group)


class ModulateForm(Part):
    """Other parameters of a behaviour."""

    behaviour: BehaviourPath
    """Which one."""
    with_: Annotated[dict[str, Any], Field(alias="with", min_length=1)]
    """Name to value; the others stay."""


class ModulateEvent(ScenarioEvent):
    """Change parameters of a behaviour that is awake."""

    modulate: ModulateForm
    """Which behaviour, and how."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look the behaviour up, and try its parameters."""
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
        """Change them; asleep, it stays as it is."""
        setup.modulate(self.modulate.behaviour, self.modulate.with_)

    def in_words(self) -> str:
        """Return behaviour and values."""
        return f"modulate {self.modulate.behaviour}: {one_line(self.modulate.with_)}"


ACTIONS = kinds_of(ScenarioEvent)
"""Key to kind."""

if TYPE_CHECKING:
    AnyEvent = ScenarioEvent
else:
    AnyEvent = tagged_union("an event", ACTIONS)


def read_event(
    form: ScenarioEvent, place: Place, lookup: Lookup, tree: Any
) -> ScenarioEvent | None:
    """Return an event; None, and notes, where something in it is wrong.

    Args:
        form: of the event.
        place: of the event in the file.
        lookup: what it may name.
        tree: the event as it was read.
    """
    event = form.said(tree, lookup.line_of(place))
    triggered = event.triggered(place, lookup)
    resolved = (triggered or event).resolved(place, lookup)
    return None if triggered is None else resolved


def event_names(
    forms: Iterable[ScenarioEvent], lookup: Lookup
) -> dict[str, float | None]:
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
