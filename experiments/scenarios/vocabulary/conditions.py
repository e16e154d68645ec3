"""Conditions: claims about a run that are true or false after each slot.

Some last (`holds`, `state`, `degc_above`): true in every slot in which it is so. Others
happen (`started`, `said`): true in just the slots in which it happened. A condition
*comes true* in a slot in which it is true and was not in the slot before; one
that happens comes true each time. Events wait for that, expectations count it.

A class a word: its fields are what the file says, their types how names are looked up
(`JointName`; or `resolved`), `check` notes what can never come true, `is_true` tests
the facts of a slot, and `ConditionWatch` remembers when. A new condition is one more
class here. Behaviours and owners are named by their path, such as `life/dance`; who is
at the top has its name alone.
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

from nao_testbed.controllers.schemas.library.go_to_posture import ADJUST
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.common.form_parts import (
    BehaviourPath,
    FiniteFloat,
    Name,
    Part,
    kinds_of,
    one_line,
    plain,
    tagged_union,
)
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts, Wanted
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
from nao_testbed.models.values import Celsius


class Entry(Part):
    """An event or an expectation: as a file says it, then with its names looked up."""

    _text: str = ""
    _line: int = 0

    @property
    def text(self) -> str:
        """As in the file, on one line."""
        return self._text

    @property
    def line(self) -> int:
        """Of the file."""
        return self._line

    def said(self, tree: Any, line: int) -> Self:
        """Return it with its text, as it was read, and its line."""
        entry = self.model_copy()
        entry._text, entry._line = one_line(tree), line
        return entry

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Return it with paths and leaves; None, and a note, where a name is wrong."""
        return self if is_all_known(self, place, lookup) else None


class Condition(Part):
    """A claim that is true or false after each slot."""

    key: ClassVar[str] = ""
    """The word of the file: its first field."""
    lasts: ClassVar[bool] = False
    """Whether it is true as long as it is so; else it happens, and comes true each
    time."""
    is_in_vain: ClassVar[bool] = False
    """Whether its owner waits in vain where it comes true."""

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Take the first field's name as the word of the file."""
        cls.key = next(iter(cls.model_fields), "")

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Return it with paths and leaves; None, and a note, where a name is wrong."""
        return self if is_all_known(self, place, lookup) else None

    def check(self, place: Place, first: int, last: int, lookup: Lookup) -> None:
        """Note that it cannot come true from one slot to another, whatever happens."""
        del first
        if self.path is not None:
            lookup.note_asleep(place, self.path, last)

    @property
    def path(self) -> str | None:
        """Behaviour that has to be awake for it to come true."""
        return None

    def asks_for(self, wanted: Wanted) -> None:
        """Say what has to be read in each slot for it."""

    def is_true(self, facts: Facts) -> bool:
        """Whether it is so in a slot."""
        raise NotImplementedError

    def _with_key(self, value: Any) -> Self:
        return self.model_copy(update={self.key: value})


class OfBehaviour(Condition):
    """Something happens to a behaviour, which is all that it says.

    Facts have a set of behaviours under the same word.
    """

    @property
    def path(self) -> str:
        """The behaviour."""
        return str(getattr(self, self.key))

    def is_true(self, facts: Facts) -> bool:
        """It happens in this slot."""
        return self.path in getattr(facts, self.key)

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look the behaviour up."""
        role = self._role((*place, self.key), lookup)
        return None if role is None else self._with_key(role.path)

    def _role(self, place: Place, lookup: Lookup) -> Role | None:
        return lookup.behaviour(place, self.path)


class StartedForm(OfBehaviour):
    """A behaviour begins to act: it won, and has what it needs."""

    started: BehaviourPath
    """A behaviour."""


class StoppedForm(OfBehaviour):
    """A behaviour that had started may not act any more.

    It lost, finished, was put to sleep, failed, or lost its token.
    """

    stopped: BehaviourPath
    """A behaviour."""


class FailedForm(OfBehaviour):
    """A behaviour raised an error."""

    failed: BehaviourPath
    """A behaviour."""

    def check(self, place: Place, first: int, last: int, lookup: Lookup) -> None:
        """Nothing: whoever expects a failure knows why."""


class OfOwner(OfBehaviour):
    """Something happens to a behaviour with needs."""

    def _role(self, place: Place, lookup: Lookup) -> Role | None:
        return lookup.owner(place, self.path)


class RequestEnded(OfOwner):
    """A request of an owner ended in the way that the key says."""

    @cached_property
    def fact(self) -> tuple[str, str]:
        """Owner and way, made once: it is looked for in each slot."""
        return self.path, self.key

    def is_true(self, facts: Facts) -> bool:
        """It ended in this slot."""
        return self.fact in facts.requests


class GrantedForm(RequestEnded):
    """A request of an owner is granted."""

    granted: BehaviourPath
    """An owner: a behaviour with needs."""


class DeniedForm(RequestEnded):
    """A request of an owner is denied."""

    is_in_vain = True
    denied: BehaviourPath
    """An owner: a behaviour with needs."""


class TimedOutForm(RequestEnded):
    """A request of an owner was not granted within its time."""

    is_in_vain = True
    timed_out: BehaviourPath
    """An owner: a behaviour with needs."""


class CancelledForm(RequestEnded):
    """A request of an owner was withdrawn."""

    cancelled: BehaviourPath
    """An owner: a behaviour with needs."""


class RevokedForm(OfOwner):
    """Resources are taken away from an owner."""

    revoked: BehaviourPath
    """An owner: a behaviour with needs."""


class HoldsForm(Condition):
    """Owners hold resources."""

    lasts = True
    holds: Annotated[dict[Name, BehaviourPath | None], Field(min_length=1)]
    """Resource to who holds it whole; null: nobody holds any of it."""

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Make resources leaves."""
        return self._with_key(read_holders(self.holds, (*place, "holds"), lookup))

    def asks_for(self, wanted: Wanted) -> None:
        """Ask for the holders of its leaves."""
        wanted.leaves.update(self.holds)

    def is_true(self, facts: Facts) -> bool:
        """All of them at once."""
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
        """It is the active one of its set."""
        return self.state in facts.states.values()


class AllBeyond(Condition):
    """All these quantities are above, or below, a limit of their own.

    The one field is a name to a limit in the quantity's unit.
    """

    lasts = True
    beyond: ClassVar[Callable[[Any, Any], bool]] = operator.gt
    quantity: ClassVar[str]
    """Field of `Facts` that has it, by name."""
    wants: ClassVar[str]
    """Field of `Wanted` that asks for it."""

    @property
    def limits(self) -> dict[str, float]:
        """Name to limit."""
        limits: dict[str, float] = getattr(self, self.key)
        return limits

    def asks_for(self, wanted: Wanted) -> None:
        """Ask for the quantities."""
        getattr(wanted, self.wants).update(self.limits)

    def is_true(self, facts: Facts) -> bool:
        """All of them at once."""
        values, beyond = getattr(facts, self.quantity), type(self).beyond
        return all(beyond(values[name], limit) for name, limit in self.limits.items())


class OfTemperature(AllBeyond):
    """The temperatures that motors report, in °C, by joint."""

    quantity, wants = "degc", "joints"


class DegcAboveForm(OfTemperature):
    """Motors are reported to be hot."""

    degc_above: Annotated[dict[JointName, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be above."""


class DegcBelowForm(OfTemperature):
    """Motors are reported to be cool."""

    beyond = operator.lt
    degc_below: Annotated[dict[JointName, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be below."""


class OfForce(AllBeyond):
    """The forces on obstacles, in N, by obstacle."""

    quantity, wants = "force_n", "obstacles"


Force = Annotated[FiniteFloat, Field(ge=0.0)]


class ForceAboveForm(OfForce):
    """The robot presses against obstacles."""

    force_above: Annotated[dict[ObstacleName, Force], Field(min_length=1)]
    """Obstacle to force in N; all of them must be pressed with more."""


class ForceBelowForm(OfForce):
    """The robot presses against obstacles no more."""

    beyond = operator.lt
    force_below: Annotated[dict[ObstacleName, Force], Field(min_length=1)]
    """Obstacle to force in N; all of them must be pressed with less."""


class FallenForm(Condition):
    """The robot has fallen."""

    lasts = True
    fallen: Literal[True]
    """Always true: the key says it all."""

    def is_true(self, facts: Facts) -> bool:
        """As `SimulatedRobot.has_fallen` tells."""
        return facts.has_fallen


class ShutDownForm(Condition):
    """The protection made the whole robot limp."""

    lasts = True
    shut_down: Literal[True]
    """Always true: the key says it all."""

    def is_true(self, facts: Facts) -> bool:
        """As the protection tells."""
        return facts.is_shut_down


def _is_reason(lookup: Lookup, place: Place, name: str) -> bool:
    reasons = [reason.value for reason in EndReason]
    return lookup.notes.is_known(place, "Reason", name, reasons, "the transmitter")


Reason = Annotated[Name, Known(_is_reason)]


class GroupStartedForm(Condition):
    """A synchronous group starts."""

    group_started: GroupName
    """Its id."""

    def is_true(self, facts: Facts) -> bool:
        """Its first items go out."""
        return self.group_started in facts.groups_started


class GroupEndedForm(Condition):
    """A synchronous group is over."""

    group_ended: GroupName
    """Its id."""
    reason: Reason | None = None
    """Why, such as done or deleted; absent: whatever it was."""

    def is_true(self, facts: Facts) -> bool:
        """Its last stream is over: done, deleted, expired, rejected or revoked."""
        if self.reason is None:
            return any(self.group_ended == group for group, _ in facts.groups_ended)
        return (self.group_ended, self.reason) in facts.groups_ended


class SaidForm(Condition):
    """The robot begins to say a text."""

    said: Name
    """The whole text."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Note a text that nobody says but somebody says one that is nearly it."""
        near = get_close_matches(self.said, lookup.spoken, n=1, cutoff=0.75)
        if self.said not in lookup.spoken and near and not lookup.doubtful:
            lookup.notes.add(
                (*place, "said"),
                f"nobody says {self.said!r}. Did you mean {near[0]!r}?",
            )
            return None
        return self

    def is_true(self, facts: Facts) -> bool:
        """As it was ordered."""
        return (Unit.SOUND, self.said) in facts.begun


class StreamBegins(Condition):
    """A motion or a light pattern begins.

    What is played in parts, as a dance is, begins with its first part; the motions of a
    way between postures begin with the way.
    """

    unit: ClassVar[Unit]

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look the name up in the library, if all of that is right."""
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
        """Unit and name, made once: it is looked for in each slot."""
        return self.unit, getattr(self, self.key)

    def is_true(self, facts: Facts) -> bool:
        """It begins in this slot."""
        return self.fact in facts.begun


class MotionStartedForm(StreamBegins):
    """A motion begins."""

    unit = Unit.MOTION
    motion_started: Name
    """Of the library; `dance 2/5` is a part of one between its stable stops."""

    def _known(self, lookup: Lookup) -> list[str]:
        """Return those of the library, what a schema of ours makes, a dance's part."""
        name, library = self.motion_started, lookup.robot.library
        known = [*library.motions, *(ADJUST.format(p) for p in lookup.robot.postures)]
        part = re.fullmatch(r"(.+) (\d+/\d+|back to stop \d+)", name)
        if part is not None and part[1] in library.motions:
            known.append(name)
        return known


class LightStartedForm(StreamBegins):
    """A light pattern begins."""

    unit = Unit.LIGHT
    light_started: Name
    """Of the library."""

    def _known(self, lookup: Lookup) -> Iterable[str]:
        return lookup.robot.library.lights


class EventForm(Condition):
    """A named event of this file takes place."""

    event: Name
    """Its name."""

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look the event up."""
        if self.event in lookup.doubtful:
            return None
        where = "the named events of this scenario"
        here = (*place, "event")
        known = lookup.events
        is_known = lookup.notes.is_known(here, "Event", self.event, known, where)
        return self if is_known else None

    def check(self, place: Place, first: int, last: int, lookup: Lookup) -> None:
        """Note an event at a time that is not one of these slots."""
        at_s = lookup.events.get(self.event)
        if at_s is None or first <= round(at_s / lookup.tick_s) <= last:
            return
        from_s, to_s = first * lookup.tick_s, last * lookup.tick_s
        when = f"at {from_s:g} s" if first == last else f"from {from_s:g} to {to_s:g} s"
        lookup.notes.add(
            place,
            f"impossible: event {self.event!r} takes place at {at_s:g} s, and is "
            f"expected {when}; change one of them.",
        )

    def is_true(self, facts: Facts) -> bool:
        """It takes place in this slot."""
        return self.event in facts.events


class OfOutput(Condition):
    """A behaviour is awake, and so is an output of it.

    The one field is one of `behaviour.output` to a value or limit; in facts, its path
    stands for the behaviour.
    """

    lasts = True

    @property
    def name(self) -> str:
        """The `behaviour.output` of the file, or with the path in its place."""
        (name,) = getattr(self, self.key)
        return str(name)

    @property
    def path(self) -> str:
        """The behaviour."""
        return self.name.rpartition(".")[0]

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look behaviour and output up, and see that the value fits its type."""
        name = self.name
        here = (*place, self.key, name)
        who, dot, variable = name.rpartition(".")
        if not (dot and who and variable):
            lookup.notes.add(
                here,
                f"output is {name!r}; write behaviour.output, such as "
                "'fall watch.is_falling'.",
            )
            return None
        role = lookup.behaviour(here, who)
        if role is None:
            return None
        value = plain(getattr(self, self.key)[name])
        if role.schema is not None:
            outputs = {one.name: one for one in role.schema.info.outputs}
            where = f"what schema {role.schema.info.name!r} offers"
            if not lookup.notes.is_known(here, "Output", variable, outputs, where):
                return None
            problem = self._problem(variable, outputs[variable].type, value)
            if problem is not None:
                lookup.notes.add(here, problem)
                return None
        return self._with_key({f"{role.path}.{variable}": value})

    def _problem(self, variable: str, kind: Any, value: Any) -> str | None:
        """Return why an output of this type never is so."""
        raise NotImplementedError

    def asks_for(self, wanted: Wanted) -> None:
        """Ask for the output."""
        wanted.outputs.add(self.name)


class OutputForm(OfOutput):
    """An output of a behaviour has a value."""

    output: Annotated[dict[BehaviourPath, Any], Field(min_length=1, max_length=1)]
    """`behaviour.output`, such as fall watch.is_falling, to the value."""

    def _problem(self, variable: str, kind: Any, value: Any) -> str | None:
        if _may_be(kind, value):
            return None
        return (
            f"output {variable!r} is never {value!r}: it is of type {_type_name(kind)}."
        )

    def is_true(self, facts: Facts) -> bool:
        """The values are equal."""
        ((name, value),) = self.output.items()
        return bool(facts.outputs.get(name) == value)


_Limit = Annotated[dict[BehaviourPath, FiniteFloat], Field(min_length=1, max_length=1)]


class OutputBeyond(OfOutput):
    """An output of a behaviour is a number beyond a limit, in its unit."""

    beyond: ClassVar[Callable[[Any, Any], bool]] = operator.gt

    def _problem(self, variable: str, kind: Any, value: Any) -> str | None:
        del value
        if _may_be(kind, 0.5) or _may_be(kind, 0):
            return None
        return (
            f"output {variable!r} is no number: it is of type {_type_name(kind)}; ask "
            "for its value by output."
        )

    @cached_property
    def limit(self) -> tuple[str, float]:
        """Output and limit, made once: they are compared in each slot."""
        ((name, limit),) = getattr(self, self.key).items()
        return name, limit

    def is_true(self, facts: Facts) -> bool:
        """It is a number, and beyond."""
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
"""Key to kind."""

if TYPE_CHECKING:
    AnyCondition = Condition
else:
    AnyCondition = tagged_union("a condition", CONDITIONS)


def read_holders(
    given: Mapping[str, str | None], place: Place, lookup: Lookup
) -> dict[str, str | None]:
    """Return leaf to the path of who holds it, of resources to names.

    Notes what is unknown, two holders of one leaf, and an owner that never asks for it.
    """
    holders: dict[str, str | None] = {}
    for resource, name in given.items():
        here = (*place, resource)
        if not lookup.resource(here, resource):
            continue
        path, asks_for = name, None
        if name is not None and name not in lookup.virtual:
            role = lookup.owner(here, name)
            if role is None:
                continue
            path, asks_for = role.path, role.leaves
        leaves = lookup.tree.leaves(resource)
        others = [x for x in leaves if asks_for is not None and x not in asks_for]
        if others:
            lookup.notes.add(
                here,
                f"impossible: {name!r} never holds {', '.join(others)}: it does not "
                "ask for that. Name another resource, or add it to its needs.",
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
    """Whether an owner is among those who have a resource; None: nobody has it."""
    return not users if owner is None else owner in users


def _type_name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


def _may_be(kind: Any, value: Any) -> bool:
    """Tell whether an output of a type may have a value."""
    kinds = get_args(kind) or (kind,)
    if value is None or isinstance(value, kinds):
        is_truth = isinstance(value, bool)
        return not is_truth or bool in kinds
    if isinstance(value, int) and float in kinds:
        return not isinstance(value, bool)
    words = [k for k in kinds if isinstance(k, type) and issubclass(k, Enum)]
    return any(value in {one.value for one in word} for word in words)


class ConditionWatch:
    """Notes when a condition came true, and for how long; `look` after each slot."""

    __slots__ = ("_lasts", "_test", "_was_true", "condition", "last_ticks", "ticks")

    def __init__(self, condition: Condition) -> None:
        """Begin before the first slot, in which nothing is true."""
        self.condition = condition
        self._test = condition.is_true
        self._lasts = condition.lasts
        self._was_true = False
        self.ticks: list[int] = []
        """Slots in which it came true, rising."""
        self.last_ticks: list[int] = []
        """For each of them the last slot in which it still was."""

    def look(self, facts: Facts) -> bool:
        """Return whether it came true in this slot."""
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
        """Whether it was true in any slot from one to another, both with it."""
        spans = zip(self.ticks, self.last_ticks, strict=True)
        return any(begin <= last and end >= first for begin, end in spans)
