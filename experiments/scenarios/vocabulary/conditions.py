"""Conditions: claims about a run that are true or false after each slot.

Lasting conditions (`holds`, `state`, `degc_above`) are true in every slot in which the
state persists. Momentary conditions (`started`, `said`) are true only in the slots in
which the event occurs. A lasting condition *comes true* in a slot in which it is true
and was false one slot earlier; a momentary one comes true at each occurrence. Events
are triggered by this edge, and expectations count it.

Each word is a class. Its fields are the file's fields, and their types select the name
lookup (`JointName`; or `resolved`). `check` reports conditions that can never come
true, `is_true` tests the facts of a slot, `ConditionWatch` records the slots. To add a
condition, add a class here. Behaviours and owners are named by path, such as
`life/dance`; a top-level behaviour is named by its own name.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field

from nao_testbed.controllers.interface.ranges import Celsius, FiniteFloat, Name
from nao_testbed.controllers.schemas.library.go_to_posture import ADJUST
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.common.form_parts import (
    BehaviourPath,
    Part,
    kinds_of,
    one_line,
    plain,
    tagged_union,
)
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts, RequiredFacts
from nao_testbed.experiments.scenarios.vocabulary.lookup import (
    GroupName,
    JointName,
    Known,
    Lookup,
    ObstacleName,
    Role,
    StateName,
    is_all_known,
)
from nao_testbed.models.files.yaml_forms import Place
from nao_testbed.models.library import Unit


class Entry(Part):
    """Base of events and expectations, as read from the file or with resolved names."""

    _text: str = ""
    _line: int = 0

    @property
    def text(self) -> str:
        """Return the entry as one line of the file's text."""
        return self._text

    @property
    def line(self) -> int:
        """Return the line in the file."""
        return self._line

    def with_text(self, tree: Any, line: int) -> Self:
        """Return a copy with its source text and line."""
        entry = self.model_copy()
        entry._text, entry._line = one_line(tree), line
        return entry

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Return a copy with paths and leaves; report wrong names and return None."""
        return self if is_all_known(self, place, lookup) else None


class Condition(Part):
    """A claim that is true or false after each slot."""

    key: ClassVar[str] = ""
    """Keyword in the file: the name of the first field."""
    lasts: ClassVar[bool] = False
    """True for a lasting condition; False for one that comes true at each
    occurrence."""
    is_denial: ClassVar[bool] = False
    """True if the condition shows a request of its owner that ends without a grant."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Use the first field's name as the keyword in the file."""
        cls.key = next(iter(cls.model_fields), "")

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Return a copy with paths and leaves; report wrong names and return None."""
        return self if is_all_known(self, place, lookup) else None

    def check(self, place: Place, first: int, last: int, lookup: Lookup) -> None:
        """Report a condition that cannot come true in slots `first` to `last`."""
        del first
        if self.path is not None:
            lookup.note_inactive(place, self.path, last)

    @property
    def path(self) -> str | None:
        """Behaviour that must be awake for the condition to come true."""
        return None

    def add_required_facts(self, wanted: RequiredFacts) -> None:
        """Register the quantities to read in each slot."""

    def is_true(self, facts: Facts) -> bool:
        """Return True if the condition holds in this slot."""
        raise NotImplementedError

    def _with_key(self, value: Any) -> Self:
        return self.model_copy(update={self.key: value})


class OfBehaviour(Condition):
    """Momentary condition of one behaviour, its only field.

    `Facts` has a set of behaviours under the same keyword.
    """

    @property
    def path(self) -> str:
        """Return the behaviour's path."""
        return str(getattr(self, self.key))

    def is_true(self, facts: Facts) -> bool:
        """Return True if the event occurs in this slot."""
        return self.path in getattr(facts, self.key)

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve the behaviour's name."""
        role = self._role((*place, self.key), lookup)
        return None if role is None else self._with_key(role.path)

    def _role(self, place: Place, lookup: Lookup) -> Role | None:
        return lookup.behaviour(place, self.path)


class StartedForm(OfBehaviour):
    """A behaviour starts acting: it won arbitration and holds its resources."""

    started: BehaviourPath
    """A behaviour."""


class StoppedForm(OfBehaviour):
    """A started behaviour stops acting.

    The behaviour lost arbitration, finished, was put to sleep, failed, or lost its
    token.
    """

    stopped: BehaviourPath
    """A behaviour."""


class FailedForm(OfBehaviour):
    """A behaviour raised an error."""

    failed: BehaviourPath
    """A behaviour."""

    def check(self, place: Place, first: int, last: int, lookup: Lookup) -> None:
        """Report nothing: a failure can occur in any slot."""


class OfOwner(OfBehaviour):
    """Momentary condition of one behaviour with needs."""

    def _role(self, place: Place, lookup: Lookup) -> Role | None:
        return lookup.owner(place, self.path)


class RequestEnded(OfOwner):
    """A request of an owner ended as named by the key."""

    @cached_property
    def fact(self) -> tuple[str, str]:
        """Owner and kind of end, computed once because every slot looks the pair up."""
        return self.path, self.key

    def is_true(self, facts: Facts) -> bool:
        """Return True if the request ended in this slot."""
        return self.fact in facts.requests


class GrantedForm(RequestEnded):
    """A request of an owner is granted."""

    granted: BehaviourPath
    """An owner: a behaviour with needs."""


class DeniedForm(RequestEnded):
    """A request of an owner is denied."""

    is_denial = True
    denied: BehaviourPath
    """An owner: a behaviour with needs."""


class TimedOutForm(RequestEnded):
    """A request of an owner was not granted within its time."""

    is_denial = True
    timed_out: BehaviourPath
    """An owner: a behaviour with needs."""


class CancelledForm(RequestEnded):
    """A request of an owner was withdrawn."""

    cancelled: BehaviourPath
    """An owner: a behaviour with needs."""


class RevokedForm(OfOwner):
    """An owner's resources are revoked."""

    revoked: BehaviourPath
    """An owner: a behaviour with needs."""


class HoldsForm(Condition):
    """Owners hold resources."""

    lasts = True
    holds: Annotated[dict[Name, BehaviourPath | None], Field(min_length=1)]
    """Resource to the owner of all its leaves; null: all its leaves are free."""

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Expand resources to leaves."""
        return self._with_key(read_holders(self.holds, (*place, "holds"), lookup))

    def add_required_facts(self, wanted: RequiredFacts) -> None:
        """Register the leaves whose holders are read."""
        wanted.leaves.update(self.holds)

    def is_true(self, facts: Facts) -> bool:
        """Return True if every leaf has its expected holder."""
        return all(
            is_held_by(facts.holders.get(leaf, ()), owner)
            for leaf, owner in self.holds.items()
        )


class StateForm(Condition):
    """The robot is in a state."""

    lasts = True
    state: StateName
    """A state resource, such as Sit."""

    def is_true(self, facts: Facts) -> bool:
        """Return True if the state is active in its set."""
        return self.state in facts.states.values()


class AllBeyond(Condition):
    """All these quantities are above, or below, their limits.

    The only field maps names to limits in the quantity's unit.
    """

    lasts = True
    beyond: ClassVar[Callable[[Any, Any], bool]] = operator.gt
    quantity: ClassVar[str]
    """Field of `Facts` that maps names to values."""
    wants: ClassVar[str]
    """Field of `RequiredFacts` that registers the names."""

    @property
    def limits(self) -> dict[str, float]:
        """Return the limits by name."""
        limits: dict[str, float] = getattr(self, self.key)
        return limits

    def add_required_facts(self, wanted: RequiredFacts) -> None:
        """Register the quantities."""
        getattr(wanted, self.wants).update(self.limits)

    def is_true(self, facts: Facts) -> bool:
        """Return True if every quantity is beyond its limit."""
        values, beyond = getattr(facts, self.quantity), type(self).beyond
        return all(beyond(values[name], limit) for name, limit in self.limits.items())


class OfTemperature(AllBeyond):
    """Motor temperatures reported by the sensors, in °C, by joint."""

    quantity, wants = "degc", "joints"


class DegcAboveForm(OfTemperature):
    """Reported motor temperatures are above limits."""

    degc_above: Annotated[dict[JointName, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be above."""


class DegcBelowForm(OfTemperature):
    """Reported motor temperatures are below limits."""

    beyond = operator.lt
    degc_below: Annotated[dict[JointName, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be below."""


class OfForce(AllBeyond):
    """Forces on obstacles, in N, by obstacle."""

    quantity, wants = "force_n", "obstacles"


Force = Annotated[FiniteFloat, Field(ge=0.0)]


class ForceAboveForm(OfForce):
    """The robot presses against obstacles with more than a force."""

    force_above: Annotated[dict[ObstacleName, Force], Field(min_length=1)]
    """Obstacle to force in N; every force must be above its limit."""


class ForceBelowForm(OfForce):
    """The robot presses against obstacles with less than a force."""

    beyond = operator.lt
    force_below: Annotated[dict[ObstacleName, Force], Field(min_length=1)]
    """Obstacle to force in N; every force must be below its limit."""


class FallenForm(Condition):
    """The robot has fallen."""

    lasts = True
    fallen: Literal[True]
    """Always true; the key has no parameter."""

    def is_true(self, facts: Facts) -> bool:
        """Return True if `SimulatedRobot.has_fallen`."""
        return facts.has_fallen


class ShutDownForm(Condition):
    """The protection made the whole robot limp."""

    lasts = True
    shut_down: Literal[True]
    """Always true; the key has no parameter."""

    def is_true(self, facts: Facts) -> bool:
        """Return True if the protection has shut the robot down."""
        return facts.is_shut_down


def _is_reason(lookup: Lookup, place: Place, name: str) -> bool:
    reasons = [reason.value for reason in EndReason]
    return lookup.notes.is_known(place, "Reason", name, reasons, "the transmitter")


Reason = Annotated[Name, Known(_is_reason)]


class GroupStartedForm(Condition):
    """A synchronous group starts."""

    group_started: GroupName
    """Group id."""

    def is_true(self, facts: Facts) -> bool:
        """Return True if the group's first items are sent in this slot."""
        return self.group_started in facts.groups_started


class GroupEndedForm(Condition):
    """A synchronous group ends."""

    group_ended: GroupName
    """Group id."""
    reason: Reason | None = None
    """End reason, such as done or deleted; absent: any."""

    def is_true(self, facts: Facts) -> bool:
        """Return True if the group's last stream ended, for any reason."""
        if self.reason is None:
            return any(self.group_ended == group for group, _ in facts.groups_ended)
        return (self.group_ended, self.reason) in facts.groups_ended


class SaidForm(Condition):
    """The robot starts saying a text."""

    said: Name
    """The whole text."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Report a text that no behaviour says if a similar one is said."""
        near = get_close_matches(self.said, lookup.spoken, n=1, cutoff=0.75)
        if self.said not in lookup.spoken and near and not lookup.doubtful:
            lookup.notes.add(
                (*place, "said"),
                f"no behaviour or event says {self.said!r}. Did you mean {near[0]!r}?",
            )
            return None
        return self

    def is_true(self, facts: Facts) -> bool:
        """Return True if the text, as ordered, starts in this slot."""
        return (Unit.SOUND, self.said) in facts.begun


class StreamBegins(Condition):
    """A motion or a light pattern starts.

    A motion played in parts, such as a dance, starts with its first part. The motions
    of a path between postures start when the path starts.
    """

    unit: ClassVar[Unit]

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve the name in the library, if the whole library is valid."""
        if not lookup.is_library_right:
            return self
        kind = self.unit.value.capitalize()
        where = f"the library of {lookup.robot.name!r} and this scenario"
        name, known = getattr(self, self.key), self._known(lookup)
        is_known = lookup.notes.is_known((*place, self.key), kind, name, known, where)
        return self if is_known else None

    def _known(self, lookup: Lookup) -> Iterable[str]:
        raise NotImplementedError

    @cached_property
    def fact(self) -> tuple[Unit, str]:
        """Unit and name, computed once because every slot looks the pair up."""
        return self.unit, getattr(self, self.key)

    def is_true(self, facts: Facts) -> bool:
        """Return True if the stream starts in this slot."""
        return self.fact in facts.begun


class MotionStartedForm(StreamBegins):
    """A motion starts."""

    unit = Unit.MOTION
    motion_started: Name
    """Motion of the library; `dance 2/5` is a part between two stable stops."""

    def _known(self, lookup: Lookup) -> list[str]:
        """Return motions of the library, of built-in schemas, and parts of a dance."""
        name, library = self.motion_started, lookup.robot.library
        known = [*library.motions, *(ADJUST.format(p) for p in lookup.robot.postures)]
        part = re.fullmatch(r"(.+) (\d+/\d+|back to stop \d+)", name)
        if part is not None and part[1] in library.motions:
            known.append(name)
        return known


class LightStartedForm(StreamBegins):
    """A light pattern starts."""

    unit = Unit.LIGHT
    light_started: Name
    """Light pattern of the library."""

    def _known(self, lookup: Lookup) -> Iterable[str]:
        return lookup.robot.library.lights


class EventForm(Condition):
    """A named event of this file occurs."""

    event: Name
    """Name of the event."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve the event's name."""
        if self.event in lookup.doubtful:
            return None
        where = "the named events of this scenario"
        here = (*place, "event")
        known = lookup.events
        is_known = lookup.notes.is_known(here, "Event", self.event, known, where)
        return self if is_known else None

    def check(self, place: Place, first: int, last: int, lookup: Lookup) -> None:
        """Report an event whose time lies outside these slots."""
        at_s = lookup.events.get(self.event)
        if at_s is None or first <= round(at_s / lookup.tick_s) <= last:
            return
        from_s, to_s = first * lookup.tick_s, last * lookup.tick_s
        when = f"at {from_s:g} s" if first == last else f"from {from_s:g} to {to_s:g} s"
        lookup.notes.add(
            place,
            f"impossible: event {self.event!r} occurs at {at_s:g} s, but is expected "
            f"{when}; change one of the times.",
        )

    def is_true(self, facts: Facts) -> bool:
        """Return True if the event occurs in this slot."""
        return self.event in facts.events


class OfOutput(Condition):
    """A behaviour is awake and its output satisfies a claim.

    The only field maps `behaviour.output` to a value or limit. In facts, the path of
    the behaviour replaces its name.
    """

    lasts = True

    @property
    def name(self) -> str:
        """`behaviour.output` as in the file, or with the path of the behaviour."""
        (name,) = getattr(self, self.key)
        return str(name)

    @property
    def path(self) -> str:
        """Return the behaviour's path."""
        return self.name.rpartition(".")[0]

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve behaviour and output; check the value against the output's type."""
        name = self.name
        here = (*place, self.key, name)
        who, dot, variable = name.rpartition(".")
        if not (dot and who and variable):
            lookup.notes.add(
                here,
                f"output is {name!r}; give behaviour.output, such as 'fall "
                "watch.is_falling'.",
            )
            return None
        role = lookup.behaviour(here, who)
        if role is None:
            return None
        value = plain(getattr(self, self.key)[name])
        if role.schema is not None:
            outputs = {one.name: one for one in role.schema.info.outputs}
            where = f"schema {role.schema.info.name!r}"
            if not lookup.notes.is_known(here, "Output", variable, outputs, where):
                return None
            problem = self._problem(variable, outputs[variable].type, value)
            if problem is not None:
                lookup.notes.add(here, problem)
                return None
        return self._with_key({f"{role.path}.{variable}": value})

    def _problem(self, variable: str, kind: Any, value: Any) -> str | None:
        """Return the reason why an output of this type can never satisfy the claim."""
        raise NotImplementedError

    def add_required_facts(self, wanted: RequiredFacts) -> None:
        """Register the output."""
        wanted.outputs.add(self.name)


class OutputForm(OfOutput):
    """An output of a behaviour has a value."""

    output: Annotated[dict[BehaviourPath, Any], Field(min_length=1, max_length=1)]
    """`behaviour.output`, such as fall watch.is_falling, to the value."""

    def _problem(self, variable: str, kind: Any, value: Any) -> str | None:
        if _can_be(kind, value):
            return None
        return (
            f"output {variable!r} is never {value!r}: it is of type {_type_name(kind)}."
        )

    def is_true(self, facts: Facts) -> bool:
        """Return True if the output equals the value."""
        ((name, value),) = self.output.items()
        return bool(facts.outputs.get(name) == value)


_Limit = Annotated[dict[BehaviourPath, FiniteFloat], Field(min_length=1, max_length=1)]


class OutputBeyond(OfOutput):
    """An output of a behaviour, a number, is beyond a limit in its unit."""

    beyond: ClassVar[Callable[[Any, Any], bool]] = operator.gt

    def _problem(self, variable: str, kind: Any, value: Any) -> str | None:
        del value
        if _can_be(kind, 0.5) or _can_be(kind, 0):
            return None
        return (
            f"output {variable!r} is not a number but of type {_type_name(kind)}; use "
            "the condition output."
        )

    @cached_property
    def limit(self) -> tuple[str, float]:
        """Output and limit, computed once because every slot compares them."""
        ((name, limit),) = getattr(self, self.key).items()
        return name, limit

    def is_true(self, facts: Facts) -> bool:
        """Return True if the output is a number beyond the limit."""
        name, limit = self.limit
        value = facts.outputs.get(name)
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return bool(type(self).beyond(float(value), limit))


class OutputAboveForm(OutputBeyond):
    """An output of a behaviour is a number above a limit."""

    output_above: _Limit
    """`behaviour.output`, such as balance watch.margin_m, to the limit."""


class OutputBelowForm(OutputBeyond):
    """An output of a behaviour is a number below a limit."""

    beyond = operator.lt
    output_below: _Limit
    """`behaviour.output`, such as balance watch.margin_m, to the limit."""


CONDITIONS = kinds_of(Condition)
"""Condition classes by key."""

if TYPE_CHECKING:
    AnyCondition = Condition
else:
    AnyCondition = tagged_union("a condition", CONDITIONS)


def read_holders(
    given: Mapping[str, str | None], place: Place, lookup: Lookup
) -> dict[str, str | None]:
    """Return the holder's path for each leaf, from resources to names.

    Reports unknown names, two holders of one leaf, and an owner that never requests it.
    """
    holders: dict[str, str | None] = {}
    for resource, name in given.items():
        here = (*place, resource)
        if not lookup.resource(here, resource):
            continue
        path, requested = name, None
        if name is not None and name not in lookup.virtual:
            role = lookup.owner(here, name)
            if role is None:
                continue
            path, requested = role.path, role.leaves
        leaves = lookup.tree.leaves(resource)
        others = [x for x in leaves if requested is not None and x not in requested]
        if others:
            lookup.notes.add(
                here,
                f"impossible: {name!r} never holds {', '.join(others)}: it does not "
                "request that. Name another resource, or add it to its needs.",
            )
            continue
        for leaf in leaves:
            if holders.setdefault(leaf, path) != path:
                lookup.notes.add(
                    here,
                    f"impossible: {leaf!r} would be held by {holders[leaf]!r} and by "
                    f"{path!r}; keep one of them.",
                )
    return holders


def is_held_by(users: Sequence[str], owner: str | None) -> bool:
    """Return True if the owner is among the users of a resource; None: no user."""
    return not users if owner is None else owner in users


def _type_name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


def _can_be(kind: Any, value: Any) -> bool:
    """Return True if an output of this type can have this value."""
    kinds = get_args(kind) or (kind,)
    if value is None or isinstance(value, kinds):
        is_truth = isinstance(value, bool)
        return not is_truth or bool in kinds
    if isinstance(value, int) and float in kinds:
        return not isinstance(value, bool)
    words = [k for k in kinds if isinstance(k, type) and issubclass(k, Enum)]
    return any(value in {one.value for one in word} for word in words)


class ConditionWatch:
    """Record of slots in which a condition was true; call `observe` after each slot."""

    __slots__ = ("_lasts", "_test", "_was_true", "condition", "last_ticks", "ticks")

    def __init__(self, condition: Condition) -> None:
        """Create the record before the first slot, in which no condition is true."""
        self.condition = condition
        self._test = condition.is_true
        self._lasts = condition.lasts
        self._was_true = False
        self.ticks: list[int] = []
        """Slots in which the condition came true, ascending."""
        self.last_ticks: list[int] = []
        """Last slot in which it was still true, for each entry of the list above."""

    def observe(self, facts: Facts) -> bool:
        """Record this slot; return True if the condition came true in it."""
        is_true = self._test(facts)
        came_true = is_true and not self._was_true
        self._was_true = is_true and self._lasts
        if came_true:
            self.ticks.append(facts.tick)
            self.last_ticks.append(facts.tick)
        elif is_true:
            self.last_ticks[-1] = facts.tick
        return came_true

    def is_true_within(self, first: int, last: int) -> bool:
        """Return True if it was true in any slot of the inclusive interval."""
        spans = zip(self.ticks, self.last_ticks, strict=True)
        return any(begin <= last and end >= first for begin, end in spans)
