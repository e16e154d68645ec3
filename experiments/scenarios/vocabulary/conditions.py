"""Conditions: claims about a run that are true or false after each slot.

Some last (`Holds`, `InState`, `Hot`): true in every slot in which it is so. Others
happen (`Started`, `Said`): true in just the slots in which it happened. A condition
*comes true* in a slot in which it is true and was not in the slot before; one
that happens comes true each time. Events wait for that, expectations count it.

In a file a condition is one key and what it claims (`...Form`); `read_condition` looks
up its names; `ConditionWatch` tests it on the facts of each slot. Behaviours and owners
are named by their path, such as `life/dance`; who is at the top has its name alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from numbers import Real
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, Tag

from controllers.arbitration.tokens import OutcomeKind
from controllers.schemas.library.go_to_posture import ADJUST
from controllers.transmitter.receipt import EndReason
from experiments.common.yaml_forms import (
    BehaviourPath,
    Celsius,
    FiniteFloat,
    Name,
    Part,
    by_key,
    plain,
)
from experiments.scenarios.vocabulary.facts import Facts
from experiments.scenarios.vocabulary.lookup import Lookup, Role
from models.files.yaml_forms import Place
from models.library import Unit


@dataclass(frozen=True, kw_only=True)
class Started:
    """Happens: a behaviour acts for the first time since it slept.

    It has become WINNER, and has its token if it needs one.
    """

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class Stopped:
    """Happens: a behaviour that had started may not act any more.

    It lost, finished, was put to sleep, failed, or lost its token.
    """

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class BehaviourFailed:
    """Happens: a behaviour raised an error, and sleeps since."""

    behaviour: str


@dataclass(frozen=True, kw_only=True)
class RequestEnded:
    """Happens: a request of an owner ended this way."""

    owner: str
    kind: OutcomeKind


@dataclass(frozen=True, kw_only=True)
class LostLeaves:
    """Happens: an owner had resources taken away, by whom or what ever."""

    owner: str


@dataclass(frozen=True, kw_only=True)
class Holds:
    """Lasts: these owners hold these leaves; a leaf with None nobody holds."""

    holders: Mapping[str, str | None]
    """Leaf to owner."""


@dataclass(frozen=True, kw_only=True)
class InState:
    """Lasts: a state resource is the active one of its set."""

    state: str
    """Leaf of the tree, such as `Sit`."""


@dataclass(frozen=True, kw_only=True)
class Hot:
    """Lasts: all these motors are reported to be hotter, or colder, than a limit."""

    limits_degc: Mapping[str, float]
    """Joint to limit in °C."""
    is_above: bool
    """Whether the temperatures must be above the limits, or below them."""


@dataclass(frozen=True, kw_only=True)
class Fallen:
    """Lasts: the robot has fallen, as `SimulatedRobot.has_fallen` tells."""


@dataclass(frozen=True, kw_only=True)
class ShutDown:
    """Lasts: the protection has made the whole robot limp."""


@dataclass(frozen=True, kw_only=True)
class GroupHasStarted:
    """Happens: the first items of a synchronous group go out."""

    group: str


@dataclass(frozen=True, kw_only=True)
class GroupHasEnded:
    """Happens: a group is over, whether done, deleted, expired, rejected or revoked."""

    group: str
    reason: str | None = None
    """A word of the transmitter, such as `done` or `deleted`; None: any."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """Happens: the loudspeaker begins to say a text."""

    text: str
    """All of it, as it was ordered."""


@dataclass(frozen=True, kw_only=True)
class StreamBegins:
    """Happens: a motion or a light pattern begins.

    What is played in parts, as a dance is, begins with its first part; the motions of a
    way between postures begin with the way.
    """

    unit: Unit
    name: str


@dataclass(frozen=True, kw_only=True)
class EventHappened:
    """Happens: a named event of this scenario takes place."""

    name: str


@dataclass(frozen=True, kw_only=True)
class OutputIs:
    """Lasts: a behaviour is awake, and an output of it has a value."""

    path: str
    """Of the behaviour."""
    variable: str
    """Name of the output."""
    value: object


@dataclass(frozen=True, kw_only=True)
class OutputBeyond:
    """Lasts: a behaviour is awake, and an output of it is a number beyond a limit."""

    path: str
    """Of the behaviour."""
    variable: str
    """Name of the output."""
    limit: float
    """In the unit of the output."""
    is_above: bool
    """Whether the output must be above the limit, or below it."""


Condition = (
    Started
    | Stopped
    | BehaviourFailed
    | RequestEnded
    | LostLeaves
    | Holds
    | InState
    | Hot
    | Fallen
    | ShutDown
    | GroupHasStarted
    | GroupHasEnded
    | Said
    | StreamBegins
    | EventHappened
    | OutputIs
    | OutputBeyond
)


class StartedForm(Part):
    """A behaviour begins to act: it won, and has what it needs."""

    started: BehaviourPath
    """A behaviour."""


class StoppedForm(Part):
    """A behaviour that had started may not act any more."""

    stopped: BehaviourPath
    """A behaviour."""


class FailedForm(Part):
    """A behaviour raised an error."""

    failed: BehaviourPath
    """A behaviour."""


class GrantedForm(Part):
    """A request of an owner is granted."""

    granted: BehaviourPath
    """An owner: a behaviour with needs."""


class DeniedForm(Part):
    """A request of an owner is denied."""

    denied: BehaviourPath
    """An owner: a behaviour with needs."""


class TimedOutForm(Part):
    """A request of an owner was not granted within its time."""

    timed_out: BehaviourPath
    """An owner: a behaviour with needs."""


class CancelledForm(Part):
    """A request of an owner was withdrawn."""

    cancelled: BehaviourPath
    """An owner: a behaviour with needs."""


class RevokedForm(Part):
    """Resources are taken away from an owner."""

    revoked: BehaviourPath
    """An owner: a behaviour with needs."""


class HoldsForm(Part):
    """Owners hold resources."""

    holds: Annotated[dict[Name, BehaviourPath | None], Field(min_length=1)]
    """Resource to who holds it whole; null: nobody holds any of it."""


class StateForm(Part):
    """The robot is in a state."""

    state: Name
    """A state resource, such as Sit."""


class DegcAboveForm(Part):
    """Motors are reported to be hot."""

    degc_above: Annotated[dict[Name, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be above."""


class DegcBelowForm(Part):
    """Motors are reported to be cool."""

    degc_below: Annotated[dict[Name, Celsius], Field(min_length=1)]
    """Joint to temperature in °C; all of them must be below."""


class FallenForm(Part):
    """The robot has fallen."""

    fallen: Literal[True]
    """Always true: the key says it all."""


class ShutDownForm(Part):
    """The protection made the whole robot limp."""

    shut_down: Literal[True]
    """Always true: the key says it all."""


class GroupStartedForm(Part):
    """A synchronous group starts."""

    group_started: Name
    """Its id."""


class GroupEndedForm(Part):
    """A synchronous group is over."""

    group_ended: Name
    """Its id."""
    reason: Name | None = None
    """Why, such as done or deleted; absent: whatever it was."""


class SaidForm(Part):
    """The robot begins to say a text."""

    said: Name
    """The whole text."""


class MotionStartedForm(Part):
    """A motion begins."""

    motion_started: Name
    """Of the library; `dance 2/5` is a part of one between its stable stops."""


class LightStartedForm(Part):
    """A light pattern begins."""

    light_started: Name
    """Of the library."""


class EventForm(Part):
    """A named event of this file takes place."""

    event: Name
    """Its name."""


class OutputForm(Part):
    """An output of a behaviour has a value."""

    output: Annotated[dict[BehaviourPath, Any], Field(min_length=1, max_length=1)]
    """`behaviour.output`, such as fall watch.is_falling, to the value."""


_Limit = Annotated[dict[BehaviourPath, FiniteFloat], Field(min_length=1, max_length=1)]


class OutputAboveForm(Part):
    """An output of a behaviour is a number above a limit."""

    output_above: _Limit
    """`behaviour.output`, such as balance watch.margin_m, to the limit."""


class OutputBelowForm(Part):
    """An output of a behaviour is a number below a limit."""

    output_below: _Limit
    """`behaviour.output`, such as balance watch.margin_m, to the limit."""


CONDITIONS: Mapping[str, type[Part]] = {
    "started": StartedForm,
    "stopped": StoppedForm,
    "failed": FailedForm,
    "granted": GrantedForm,
    "denied": DeniedForm,
    "timed_out": TimedOutForm,
    "cancelled": CancelledForm,
    "revoked": RevokedForm,
    "holds": HoldsForm,
    "state": StateForm,
    "degc_above": DegcAboveForm,
    "degc_below": DegcBelowForm,
    "fallen": FallenForm,
    "shut_down": ShutDownForm,
    "group_started": GroupStartedForm,
    "group_ended": GroupEndedForm,
    "said": SaidForm,
    "motion_started": MotionStartedForm,
    "light_started": LightStartedForm,
    "event": EventForm,
    "output": OutputForm,
    "output_above": OutputAboveForm,
    "output_below": OutputBelowForm,
}
"""Key to kind."""
LASTING = frozenset(
    {
        *("holds", "state", "degc_above", "degc_below", "fallen", "shut_down"),
        *("output", "output_above", "output_below"),
    }
)
"""Keys of claims that last; the others happen."""

ConditionForm = Annotated[
    Annotated[StartedForm, Tag("StartedForm")]
    | Annotated[StoppedForm, Tag("StoppedForm")]
    | Annotated[FailedForm, Tag("FailedForm")]
    | Annotated[GrantedForm, Tag("GrantedForm")]
    | Annotated[DeniedForm, Tag("DeniedForm")]
    | Annotated[TimedOutForm, Tag("TimedOutForm")]
    | Annotated[CancelledForm, Tag("CancelledForm")]
    | Annotated[RevokedForm, Tag("RevokedForm")]
    | Annotated[HoldsForm, Tag("HoldsForm")]
    | Annotated[StateForm, Tag("StateForm")]
    | Annotated[DegcAboveForm, Tag("DegcAboveForm")]
    | Annotated[DegcBelowForm, Tag("DegcBelowForm")]
    | Annotated[FallenForm, Tag("FallenForm")]
    | Annotated[ShutDownForm, Tag("ShutDownForm")]
    | Annotated[GroupStartedForm, Tag("GroupStartedForm")]
    | Annotated[GroupEndedForm, Tag("GroupEndedForm")]
    | Annotated[SaidForm, Tag("SaidForm")]
    | Annotated[MotionStartedForm, Tag("MotionStartedForm")]
    | Annotated[LightStartedForm, Tag("LightStartedForm")]
    | Annotated[EventForm, Tag("EventForm")]
    | Annotated[OutputForm, Tag("OutputForm")]
    | Annotated[OutputAboveForm, Tag("OutputAboveForm")]
    | Annotated[OutputBelowForm, Tag("OutputBelowForm")],
    by_key("a condition", CONDITIONS),
]


def read_condition(form: Part, place: Place, scene: Lookup) -> Condition | None:
    """Return a condition; None, and a note, where it names what is not there."""
    return _READERS[type(form)](form, place, scene)


def read_holders(
    given: Mapping[str, str | None], place: Place, scene: Lookup
) -> dict[str, str | None]:
    """Return leaf to the path of who holds it, of resources to names.

    Notes what is unknown, two holders of one leaf, and an owner that never asks for it.
    """
    holders: dict[str, str | None] = {}
    for resource, name in given.items():
        here = (*place, resource)
        if not scene.resource(here, resource):
            continue
        path, asks_for = name, None
        if name is not None and name not in scene.virtual:
            role = scene.owner(here, name)
            if role is None:
                continue
            path, asks_for = role.path, role.leaves
        leaves = scene.tree.leaves(resource)
        others = [x for x in leaves if asks_for is not None and x not in asks_for]
        if others:
            scene.notes.add(
                here,
                f"impossible: {name!r} never holds {', '.join(others)}: it does not "
                "ask for that. Name another resource, or add it to its needs.",
            )
            continue
        for leaf in leaves:
            if holders.setdefault(leaf, path) != path:
                scene.notes.add(
                    here,
                    f"impossible: {leaf!r} would be held by {holders[leaf]!r} and by "
                    f"{path!r}; keep one of them.",
                )
    return holders


def _started(form: Any, place: Place, scene: Lookup) -> Condition | None:
    role = scene.behaviour((*place, "started"), form.started)
    return None if role is None else Started(behaviour=role.path)


def _stopped(form: Any, place: Place, scene: Lookup) -> Condition | None:
    role = scene.behaviour((*place, "stopped"), form.stopped)
    return None if role is None else Stopped(behaviour=role.path)


def _failed(form: Any, place: Place, scene: Lookup) -> Condition | None:
    role = scene.behaviour((*place, "failed"), form.failed)
    return None if role is None else BehaviourFailed(behaviour=role.path)


def _ended(kind: OutcomeKind) -> Callable[[Any, Place, Lookup], Condition | None]:
    def read(form: Any, place: Place, scene: Lookup) -> Condition | None:
        role = scene.owner((*place, kind.value), getattr(form, kind.value))
        return None if role is None else RequestEnded(owner=role.path, kind=kind)

    return read


def _revoked(form: Any, place: Place, scene: Lookup) -> Condition | None:
    role = scene.owner((*place, "revoked"), form.revoked)
    return None if role is None else LostLeaves(owner=role.path)


def _holds(form: Any, place: Place, scene: Lookup) -> Condition | None:
    return Holds(holders=read_holders(form.holds, (*place, "holds"), scene))


def _state(form: Any, place: Place, scene: Lookup) -> Condition | None:
    is_known = scene.state((*place, "state"), form.state)
    return InState(state=form.state) if is_known else None


def _hot(form: Any, place: Place, scene: Lookup) -> Condition | None:
    is_above = isinstance(form, DegcAboveForm)
    key = "degc_above" if is_above else "degc_below"
    limits = getattr(form, key)
    known = [scene.joint((*place, key, joint), joint) for joint in limits]
    if not all(known):
        return None
    return Hot(limits_degc=limits, is_above=is_above)


def _group_started(form: Any, place: Place, scene: Lookup) -> Condition | None:
    scene.group((*place, "group_started"), form.group_started)
    return GroupHasStarted(group=form.group_started)


def _group_ended(form: Any, place: Place, scene: Lookup) -> Condition | None:
    scene.group((*place, "group_ended"), form.group_ended)
    if form.reason is not None:
        reasons = [reason.value for reason in EndReason]
        here = (*place, "reason")
        scene.notes.is_known(here, "Reason", form.reason, reasons, "the transmitter")
    return GroupHasEnded(group=form.group_ended, reason=form.reason)


def _said(form: Any, place: Place, scene: Lookup) -> Condition | None:
    """Note a text that nobody says but somebody says one that is nearly the same."""
    near = get_close_matches(form.said, scene.spoken, n=1, cutoff=0.75)
    if form.said not in scene.spoken and near and not scene.doubtful:
        scene.notes.add(
            (*place, "said"),
            f"nobody says {form.said!r}. Did you mean {near[0]!r}?",
        )
        return None
    return Said(text=form.said)


def _motion(form: Any, place: Place, scene: Lookup) -> Condition | None:
    """Note a motion that neither is in the library nor made by a schema of ours."""
    name, library = form.motion_started, scene.robot.library
    known = [*library.motions, *(ADJUST.format(p) for p in scene.robot.postures)]
    part = re.fullmatch(r"(.+) (\d+/\d+|back to stop \d+)", name)  # of a dance
    if part is not None and part[1] in library.motions:
        known.append(name)
    return _begins(Unit.MOTION, name, known, (*place, "motion_started"), scene)


def _light(form: Any, place: Place, scene: Lookup) -> Condition | None:
    known = list(scene.robot.library.lights)
    name = form.light_started
    return _begins(Unit.LIGHT, name, known, (*place, "light_started"), scene)


def _begins(
    unit: Unit, name: str, known: list[str], place: Place, scene: Lookup
) -> Condition | None:
    if scene.is_library_right:
        kind = unit.value.capitalize()
        where = f"the library of {scene.robot.name!r} and this scenario"
        if not scene.notes.is_known(place, kind, name, known, where):
            return None
    return StreamBegins(unit=unit, name=name)


def _event(form: Any, place: Place, scene: Lookup) -> Condition | None:
    if form.event in scene.doubtful:
        return None
    where = "the named events of this scenario"
    here = (*place, "event")
    is_known = scene.notes.is_known(here, "Event", form.event, scene.events, where)
    return EventHappened(name=form.event) if is_known else None


def _output(form: Any, place: Place, scene: Lookup) -> Condition | None:
    found = _variable(form.output, (*place, "output"), scene)
    if found is None:
        return None
    here, role, variable, kind = found
    value = plain(form.output[here[-1]])
    if kind is not None and not _may_be(kind, value):
        scene.notes.add(
            here,
            f"output {variable!r} is never {value!r}: it is of type "
            f"{_type_name(kind)}.",
        )
        return None
    return OutputIs(path=role.path, variable=variable, value=value)


def _beyond(form: Any, place: Place, scene: Lookup) -> Condition | None:
    is_above = isinstance(form, OutputAboveForm)
    key = "output_above" if is_above else "output_below"
    found = _variable(getattr(form, key), (*place, key), scene)
    if found is None:
        return None
    here, role, variable, kind = found
    if kind is not None and not _may_be(kind, 0.5) and not _may_be(kind, 0):
        scene.notes.add(
            here,
            f"output {variable!r} is no number: it is of type {_type_name(kind)}; ask "
            "for its value by output.",
        )
        return None
    limit = float(getattr(form, key)[here[-1]])
    return OutputBeyond(
        path=role.path, variable=variable, limit=limit, is_above=is_above
    )


def _variable(
    given: Mapping[str, Any], place: Place, scene: Lookup
) -> tuple[Place, Role, str, Any] | None:
    """Return place, behaviour, output and type of the one that a condition names.

    The type is None where the schema is not known. Notes what is not there.
    """
    (name,) = given
    here = (*place, name)
    who, dot, variable = name.rpartition(".")
    if not (dot and who and variable):
        scene.notes.add(
            here,
            f"output is {name!r}; write behaviour.output, such as "
            "'fall watch.is_falling'.",
        )
        return None
    role = scene.behaviour(here, who)
    if role is None:
        return None
    if role.schema is None:
        return here, role, variable, None
    outputs = {one.name: one for one in role.schema.info.outputs}
    where = f"what schema {role.schema.info.name!r} offers"
    if not scene.notes.is_known(here, "Output", variable, outputs, where):
        return None
    return here, role, variable, outputs[variable].type


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


_READERS: Mapping[type, Callable[[Any, Place, Lookup], Condition | None]] = {
    StartedForm: _started,
    StoppedForm: _stopped,
    FailedForm: _failed,
    GrantedForm: _ended(OutcomeKind.GRANTED),
    DeniedForm: _ended(OutcomeKind.DENIED),
    TimedOutForm: _ended(OutcomeKind.TIMED_OUT),
    CancelledForm: _ended(OutcomeKind.CANCELLED),
    RevokedForm: _revoked,
    HoldsForm: _holds,
    StateForm: _state,
    DegcAboveForm: _hot,
    DegcBelowForm: _hot,
    FallenForm: lambda _form, _place, _scene: Fallen(),
    ShutDownForm: lambda _form, _place, _scene: ShutDown(),
    GroupStartedForm: _group_started,
    GroupEndedForm: _group_ended,
    SaidForm: _said,
    MotionStartedForm: _motion,
    LightStartedForm: _light,
    EventForm: _event,
    OutputForm: _output,
    OutputAboveForm: _beyond,
    OutputBelowForm: _beyond,
}


Test = Callable[[Facts], bool]


class ConditionWatch:
    """Notes when a condition came true, and for how long; `look` after each slot."""

    __slots__ = ("_test", "_was_true", "condition", "last_ticks", "ticks")

    def __init__(self, condition: Condition) -> None:
        """Begin before the first slot, in which nothing is true."""
        self.condition = condition
        self._test = test_of(condition)
        self._was_true = False
        self.ticks: list[int] = []
        """Slots in which it came true, rising."""
        self.last_ticks: list[int] = []
        """For each of them the last slot in which it still was."""

    def look(self, facts: Facts) -> bool:
        """Return whether it came true in this slot."""
        is_true = self._test(facts)
        came_true = is_true and not self._was_true
        self._was_true = is_true and isinstance(self.condition, LASTING_CONDITIONS)
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


LASTING_CONDITIONS = (
    *(Holds, InState, Hot, Fallen, ShutDown),
    *(OutputIs, OutputBeyond),
)
"""Conditions that last; the others happen, and come true each time."""


def test_of(condition: Condition) -> Test:  # noqa: PLR0911, PLR0912 # a branch a kind
    """Return the test of a condition, on the facts of a slot."""
    match condition:
        case Started(behaviour=path):
            return lambda facts: path in facts.started
        case Stopped(behaviour=path):
            return lambda facts: path in facts.stopped
        case BehaviourFailed(behaviour=path):
            return lambda facts: path in facts.failed
        case RequestEnded(owner=owner, kind=kind):
            return lambda facts: (owner, kind) in facts.requests
        case LostLeaves(owner=owner):
            return lambda facts: owner in facts.losers
        case Holds(holders=holders):
            return lambda facts: all(
                is_held_by(facts.holders.get(leaf, ()), owner)
                for leaf, owner in holders.items()
            )
        case InState(state=state):
            return lambda facts: state in facts.states.values()
        case Hot(limits_degc=limits, is_above=is_above):
            return _test_of_temperatures(limits, is_above)
        case Fallen():
            return lambda facts: facts.has_fallen
        case ShutDown():
            return lambda facts: facts.is_shut_down
        case GroupHasStarted(group=group):
            return lambda facts: group in facts.groups_started
        case GroupHasEnded(group=group, reason=None):
            return lambda facts: any(group == one for one, _ in facts.groups_ended)
        case GroupHasEnded(group=group, reason=reason):
            return lambda facts: (group, reason) in facts.groups_ended
        case Said(text=text):
            return lambda facts: (Unit.SOUND, text) in facts.begun
        case StreamBegins(unit=unit, name=name):
            return lambda facts: (unit, name) in facts.begun
        case EventHappened(name=name):
            return lambda facts: name in facts.events
        case OutputIs(path=path, variable=variable, value=value):
            return lambda facts: facts.outputs.get((path, variable)) == value
        case OutputBeyond():
            return _test_of_output(condition)


def _test_of_output(condition: OutputBeyond) -> Test:
    key = (condition.path, condition.variable)
    limit, is_above = condition.limit, condition.is_above

    def test(facts: Facts) -> bool:
        value = facts.outputs.get(key)
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        return float(value) > limit if is_above else float(value) < limit

    return test


def is_held_by(users: Sequence[str], owner: str | None) -> bool:
    """Whether an owner is among those who have a resource; None: nobody has it."""
    return not users if owner is None else owner in users


def _test_of_temperatures(limits: Mapping[str, float], is_above: bool) -> Test:
    if is_above:
        return lambda facts: all(facts.degc[j] > limit for j, limit in limits.items())
    return lambda facts: all(facts.degc[j] < limit for j, limit in limits.items())
