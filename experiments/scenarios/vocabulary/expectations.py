"""Expectations: what a scenario file expects; judged after the run, a verdict each.

Times are ticks: slot `t` begins at `t` times the slot's length. "In slot t" means after
all that happens in it. Temperatures and postures of expectations are the true ones of
the simulation; those of conditions are what the robot's sensors report.

In a file an expectation is told by its key (`...Expectation`); `read_expectation` looks
up its names, and notes at once what could never be so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Discriminator, Field, model_validator

from experiments.common.yaml_forms import (
    MANY,
    ONE,
    BehaviourPath,
    Celsius,
    FiniteFloat,
    Name,
    Part,
    how_many,
    kinds_of,
    one_line,
    tagged_union,
)
from experiments.scenarios.vocabulary.conditions import (
    AnyCondition,
    Condition,
    read_holders,
)
from experiments.scenarios.vocabulary.lookup import Lookup, Role
from models.files.yaml_forms import Place
from models.library import Unit
from models.values import Seconds


@dataclass(frozen=True, kw_only=True)
class Window:
    """Slots from one to another, both with it."""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class After:
    """Slots from that in which a condition first comes true, both ends with it.

    If it never does, the expectation is broken, also one that nothing happens: a test
    that passes because nothing was tested is none.
    """

    condition: Condition
    within_ticks: int | None
    """So many slots later at most; None: to the end."""


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What all have."""

    text: str
    """As in the file, on one line."""
    line: int
    """Of the file."""


@dataclass(frozen=True, kw_only=True)
class AtTime(Expectation):
    """All this is so in one slot."""

    tick: int
    holders: Mapping[str, str | None] = field(default_factory=dict)
    """Leaf to the path of the owner that holds it, by use; None: nobody does."""
    waiters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Leaf to those who wait for it: all of them, in the order of being served."""
    states: tuple[str, ...] = ()
    """Leaves that are the active state of their set."""
    running: tuple[str, ...] = ()
    """Behaviours that may act: WINNER, with a live token if they need one."""
    not_running: tuple[str, ...] = ()
    """Behaviours that may not."""
    posture: str | None = None
    """The stored posture that every joint is near."""
    within_deg: float = 5.0
    """How near."""


@dataclass(frozen=True, kw_only=True)
class Happens(Expectation):
    """A condition is true in some slots, or comes true so often in them.

    What lasts counts in every slot of a window in which it is so, also if it came true
    before. After another condition something happens only if it comes true then; and
    nothing does only if it is not so in any slot.
    """

    condition: Condition
    where: Window | After
    times: int | None = None
    """So often it comes true in these slots; None: it is true in one or more; 0: in
    none of them."""


@dataclass(frozen=True, kw_only=True)
class InOrder(Expectation):
    """Conditions come true one after the other; some may do so in the same slot.

    Each must come true in the slot of the one before it, or later.
    """

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, kw_only=True)
class Temperatures(Expectation):
    """Motors stay below, or above, a temperature in all slots of a window."""

    joints: tuple[str, ...]
    below_degc: float | None
    above_degc: float | None
    window: Window


INITIAL_MOTION = "initial motion"
"""What a command controller plays to bring the robot where a group begins."""


@dataclass(frozen=True, kw_only=True)
class StartsTogether(Expectation):
    """A synchronous group starts, as one."""

    group: str
    after: str | None = None
    """INITIAL_MOTION, or another group that it follows."""
    empty_slots: int | None = None
    """Slots between the last item of what it follows and its first items; exact."""
    skew_slots: int = 0
    """Slots between the first items of its streams, the widest pair; exact."""


@dataclass(frozen=True, kw_only=True)
class Count:
    """From the lowest to the highest, both with it."""

    lowest: int
    highest: int


@dataclass(frozen=True, kw_only=True)
class Counts(Expectation):
    """How often something happened to an owner in the run; None is not counted."""

    owner: str
    executed: Count | None = None
    """Its commands that the gate wrote to a device."""
    refused: Count | None = None
    """Its commands that the gate refused."""
    granted: Count | None = None
    """Its requests that were granted."""
    demanded: Count | None = None
    """Times that it was told that somebody wants what it holds."""


Times = Annotated[int, Field(ge=0)]


class ExpectationForm(Part):
    """What a file expects; its key is the first field."""


class HappensExpectation(ExpectationForm):
    """Something comes true, in the whole run or in a part of it."""

    happens: AnyCondition
    """What comes true."""
    at_s: Seconds | None = None
    """At this time, in s."""
    within_s: Seconds | None = None
    """With `at_s`: by how much it may be off, in s; absent: not by a slot."""
    from_s: Seconds | None = None
    """Not before, in s."""
    to_s: Seconds | None = None
    """Not after, in s."""
    after: AnyCondition | None = None
    """In or after the slot in which this first comes true."""
    within_slots: Times | None = None
    """With `after`: at most so many slots later."""
    times: Annotated[int, Field(ge=1)] | None = None
    """Exactly so often; absent: at least once."""

    @model_validator(mode="after")
    def _has_one_window(self) -> "HappensExpectation":
        is_between = self.from_s is not None or self.to_s is not None
        ways = (self.at_s is not None) + is_between + (self.after is not None)
        if ways > 1:
            raise ValueError("give at_s, or from_s and to_s, or after: only one way")
        if self.within_s is not None and self.at_s is None:
            raise ValueError("within_s goes with at_s")
        if self.within_slots is not None and self.after is None:
            raise ValueError("within_slots goes with after")
        return self


class NeverExpectation(ExpectationForm):
    """Something does not come true, in the whole run or in a part of it."""

    never: AnyCondition
    """What does not come true."""
    from_s: Seconds | None = None
    """From this time on, in s."""
    to_s: Seconds | None = None
    """Up to this time, in s."""
    after: AnyCondition | None = None
    """In and after the slot in which this first comes true."""
    within_slots: Times | None = None
    """With `after`: for so many slots."""

    @model_validator(mode="after")
    def _has_one_window(self) -> "NeverExpectation":
        is_between = self.from_s is not None or self.to_s is not None
        if is_between and self.after is not None:
            raise ValueError("give from_s and to_s, or after: only one way")
        if self.within_slots is not None and self.after is None:
            raise ValueError("within_slots goes with after")
        return self


class OrderExpectation(ExpectationForm):
    """Conditions come true one after the other, or in one slot."""

    order: Annotated[list[AnyCondition], Field(min_length=2)]
    """What comes true, in this order."""


Names = Annotated[list[Name], Field(min_length=1)]
NameOrNames = Annotated[
    Annotated[Name, ONE] | Annotated[Names, MANY], Discriminator(how_many)
]


class TemperatureExpectation(ExpectationForm):
    """Motors stay below or above a temperature."""

    joint: NameOrNames
    """Joints or groups of joints, such as HeadYaw, Legs or Body."""
    degc_below: Celsius | None = None
    """In °C, in every slot."""
    degc_above: Celsius | None = None
    """In °C, in every slot."""
    from_s: Seconds | None = None
    """From this time on, in s."""
    to_s: Seconds | None = None
    """Up to this time, in s."""

    @model_validator(mode="after")
    def _says_something(self) -> "TemperatureExpectation":
        if self.degc_below is None and self.degc_above is None:
            raise ValueError("give degc_below, degc_above or both")
        return self


class GroupExpectation(ExpectationForm):
    """A synchronous group starts as one."""

    group: Name
    """Its id."""
    starts_after: Name | None = None
    """`initial motion`, or the id of another group."""
    empty_slots: Times | None = None
    """With `starts_after`: exactly so many slots without an item in between."""
    skew_slots: Times = 0
    """Exactly so many slots between the first items of its streams."""

    @model_validator(mode="after")
    def _counts_from_something(self) -> "GroupExpectation":
        if self.empty_slots is not None and self.starts_after is None:
            raise ValueError("empty_slots goes with starts_after")
        return self


Range = Annotated[list[Times], Field(min_length=2, max_length=2)]
CountForm = Annotated[
    Annotated[Times, ONE] | Annotated[Range, MANY], Discriminator(how_many)
]
"""A number, or the lowest and the highest."""


class CountsExpectation(ExpectationForm):
    """How often something happened to an owner in the run."""

    owner: BehaviourPath
    """A behaviour with needs."""
    executed: CountForm | None = None
    """Its commands that were written to a device: a number, or [lowest, highest]."""
    refused: CountForm | None = None
    """Its commands that the gate refused."""
    granted: CountForm | None = None
    """Its requests that were granted."""
    demanded: CountForm | None = None
    """Times that it was told that somebody wants what it holds."""

    @model_validator(mode="after")
    def _counts_something(self) -> "CountsExpectation":
        if len(self.model_fields_set) < 2:
            raise ValueError("give executed, refused, granted or demanded")
        return self


class AtTimeExpectation(ExpectationForm):
    """All this is so at one time."""

    at_s: Seconds
    """In s."""
    holds: dict[Name, BehaviourPath | None] = Field(default_factory=dict, min_length=1)
    """Resource to who holds it whole; null: nobody holds any of it."""
    waiters: dict[Name, list[BehaviourPath]] = Field(default_factory=dict, min_length=1)
    """Resource to all who wait for it, in the order of being served."""
    state: Name | None = None
    """A state resource that is active."""
    running: list[BehaviourPath] = Field(default_factory=list, min_length=1)
    """Behaviours that may act."""
    not_running: list[BehaviourPath] = Field(default_factory=list, min_length=1)
    """Behaviours that may not act."""
    posture: Name | None = None
    """Stored posture that every joint is near."""
    within_deg: Annotated[FiniteFloat, Field(gt=0.0, le=90.0)] = 5.0
    """With `posture`: how near, in degrees."""

    @model_validator(mode="after")
    def _says_something(self) -> "AtTimeExpectation":
        if not self.model_fields_set - {"at_s", "within_deg"}:
            raise ValueError(
                "give what is so then: holds, waiters, state, running, not_running or "
                "posture"
            )
        return self


EXPECTATIONS = kinds_of(ExpectationForm)
"""Key to kind; `at_s` is the last, since another kind may have it too."""

if TYPE_CHECKING:
    AnyExpectation = ExpectationForm
else:
    AnyExpectation = tagged_union("an expectation", EXPECTATIONS)


@dataclass(frozen=True, kw_only=True)
class Item:
    """One expectation of a file, and where it stands."""

    form: Any
    place: Place
    lookup: Lookup
    text: str
    line: int


def read_at_time(item: Item) -> Expectation | None:
    """Return what is so at one time."""
    form, place, lookup = item.form, item.place, item.lookup
    waiters: dict[str, tuple[str, ...]] = {}
    for resource, names in form.waiters.items():
        here = (*place, "waiters", resource)
        roles = [lookup.owner((*here, i), name) for i, name in enumerate(names)]
        paths = tuple(role.path for role in roles if role is not None)
        if lookup.resource(here, resource):
            for leaf in lookup.tree.leaves(resource):
                waiters[leaf] = paths
                _note_idle_waiters(here, leaf, roles, lookup)
    running = _paths(item, "running")
    not_running = _paths(item, "not_running")
    for name in set(running) & set(not_running):
        lookup.notes.add(
            (*place, "not_running"),
            f"impossible: {name!r} would be running and not running; keep one.",
        )
    if form.state is not None:
        lookup.state((*place, "state"), form.state)
    if form.posture is not None:
        lookup.notes.attempt((*place, "posture"), lookup.robot.posture, form.posture)
    return AtTime(
        text=item.text,
        line=item.line,
        tick=lookup.moment((*place, "at_s"), form.at_s),
        holders=read_holders(form.holds, (*place, "holds"), lookup),
        waiters=waiters,
        states=() if form.state is None else (form.state,),
        running=running,
        not_running=not_running,
        posture=form.posture,
        within_deg=form.within_deg,
    )


def _note_idle_waiters(
    place: Place, leaf: str, roles: list[Role | None], lookup: Lookup
) -> None:
    for role in roles:
        if role is not None and leaf not in role.leaves:
            lookup.notes.add(
                place,
                f"impossible: {role.path!r} never waits for {leaf!r}, since it does "
                "not ask for it. Name another resource, or add it to its needs.",
            )


def _paths(item: Item, key: str) -> tuple[str, ...]:
    found = []
    for i, name in enumerate(getattr(item.form, key)):
        role = item.lookup.behaviour((*item.place, key, i), name)
        if role is not None:
            found.append(role.path)
    return tuple(found)


def read_expectation(
    form: Part, place: Place, lookup: Lookup, tree: Any, line: int
) -> Expectation | None:
    """Return an expectation; None, and notes, where something in it is wrong.

    Args:
        form: of the expectation.
        place: of the expectation in the file.
        lookup: what it may name.
        tree: the expectation as it was read.
        line: of the expectation in the file.
    """
    item = Item(form=form, place=place, lookup=lookup, text=one_line(tree), line=line)
    return _READERS[type(form)](item)


def _happens(item: Item) -> Expectation | None:
    form, place, lookup = item.form, item.place, item.lookup
    condition = form.happens.resolved((*place, "happens"), lookup)
    if form.at_s is None:
        where = _where(item)
    else:
        tick = lookup.moment((*place, "at_s"), form.at_s)
        near = lookup.ticks((*place, "within_s"), form.within_s or 0.0)
        last = lookup.duration_ticks - 1
        where = Window(first=max(0, tick - near), last=min(last, tick + near))
    if condition is None or where is None:
        return None
    return Happens(
        text=item.text,
        line=item.line,
        condition=condition,
        where=where,
        times=form.times,
    )


def _never(item: Item) -> Expectation | None:
    condition = item.form.never.resolved((*item.place, "never"), item.lookup)
    where = _where(item)
    if condition is None or where is None:
        return None
    return Happens(
        text=item.text, line=item.line, condition=condition, where=where, times=0
    )


def _where(item: Item) -> Window | After | None:
    form, place, lookup = item.form, item.place, item.lookup
    if form.after is None:
        return _window(item)
    after = form.after.resolved((*place, "after"), lookup)
    if after is None:
        return None
    return After(condition=after, within_ticks=form.within_slots)


def _window(item: Item) -> Window:
    form, place, lookup = item.form, item.place, item.lookup
    first, last = 0, lookup.duration_ticks - 1
    if form.from_s is not None:
        first = lookup.moment((*place, "from_s"), form.from_s)
    if form.to_s is not None:
        to = lookup.ticks((*place, "to_s"), form.to_s)
        if to > lookup.duration_ticks:
            lookup.moment((*place, "to_s"), form.to_s)
        last = min(to, last)
    if first > last:
        lookup.notes.add(
            (*place, "to_s"),
            f"impossible: from_s {first * lookup.tick_s:g} s is after to_s "
            f"{last * lookup.tick_s:g} s; exchange them.",
        )
    return Window(first=first, last=last)


def _order(item: Item) -> Expectation | None:
    found = [
        form.resolved((*item.place, "order", i), item.lookup)
        for i, form in enumerate(item.form.order)
    ]
    conditions = tuple(one for one in found if one is not None)
    return InOrder(text=item.text, line=item.line, conditions=conditions)


def _temperatures(item: Item) -> Expectation | None:
    form, place, lookup = item.form, item.place, item.lookup
    names = form.joint if isinstance(form.joint, list) else [form.joint]
    joints = tuple(
        dict.fromkeys(
            joint for name in names for joint in lookup.joints((*place, "joint"), name)
        )
    )
    window = _window(item)
    below, above = form.degc_below, form.degc_above
    if below is not None and above is not None and below <= above:
        lookup.notes.add(
            (*place, "degc_below"),
            f"impossible: below {below:g} °C and above {above:g} °C; raise the one or "
            "lower the other.",
        )
    for joint in joints if window.first == 0 else ():
        start = lookup.start_degc[joint]
        for key, limit, is_out in (
            ("degc_below", below, below is not None and start >= below),
            ("degc_above", above, above is not None and start <= above),
        ):
            if is_out:
                lookup.notes.add(
                    (*place, key),
                    f"impossible: {joint} begins at {start:g} °C, and {key} is "
                    f"{limit:g} °C from the start; give from_s, or another limit.",
                )
    return Temperatures(
        text=item.text,
        line=item.line,
        joints=joints,
        below_degc=below,
        above_degc=above,
        window=window,
    )


def _group(item: Item) -> Expectation | None:
    form, place, lookup = item.form, item.place, item.lookup
    lookup.group((*place, "group"), form.group)
    if form.starts_after == INITIAL_MOTION:
        _note_no_start(item)
    elif form.starts_after is not None:
        lookup.group((*place, "starts_after"), form.starts_after)
    return StartsTogether(
        text=item.text,
        line=item.line,
        group=form.group,
        after=form.starts_after,
        empty_slots=form.empty_slots,
        skew_slots=form.skew_slots,
    )


def _note_no_start(item: Item) -> None:
    """Note a command that begins in any posture: no initial motion leads there."""
    library = item.lookup.robot.library
    order = library.orders.get(item.form.group)
    if order is None:
        return  # another id than a command's name
    motion = library.motions.get(order.outputs.get(Unit.MOTION, ""))
    if motion is None or motion.start is None:
        item.lookup.notes.add(
            (*item.place, "starts_after"),
            f"impossible: command {order.name!r} has no motion that begins in a stated "
            "posture, so no initial motion leads there; leave starts_after out.",
        )


def _counts(item: Item) -> Expectation | None:
    form, place, lookup = item.form, item.place, item.lookup
    role = lookup.owner((*place, "owner"), form.owner)
    counts = {
        key: _count(item, key) for key in ("executed", "refused", "granted", "demanded")
    }
    if role is None:
        return None
    return Counts(text=item.text, line=item.line, owner=role.path, **counts)


def _count(item: Item, key: str) -> Count | None:
    given = getattr(item.form, key)
    if given is None:
        return None
    low, high = given if isinstance(given, list) else (given, given)
    if low > high:
        item.lookup.notes.add(
            (*item.place, key),
            f"impossible: at least {low} and at most {high}; exchange them.",
        )
    return Count(lowest=low, highest=high)


_READERS: Mapping[type, Callable[[Item], Expectation | None]] = {
    AtTimeExpectation: read_at_time,
    HappensExpectation: _happens,
    NeverExpectation: _never,
    OrderExpectation: _order,
    TemperatureExpectation: _temperatures,
    GroupExpectation: _group,
    CountsExpectation: _counts,
}
