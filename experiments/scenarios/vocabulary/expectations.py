"""Expectations: pass criteria of a scenario file, one verdict each after the run.

Times are ticks: slot `t` begins at `t` times the slot's length. "In slot t" means after
all events of the slot. Temperatures and postures of expectations are true values of the
simulation; conditions use the values reported by the robot's sensors.

Each word is a class, selected by its key (`...Expectation`), followed by its judge. Its
fields are the file's fields; `resolved` looks up names, `window` returns the slots, and
`check` reports impossible claims. To add an expectation, add a class and its judge
here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
from pydantic import Discriminator, Field, model_validator

from nao_testbed.controllers.arbitration.events import (
    Event,
    Executed,
    Granted,
    Notified,
    Rejected,
)
from nao_testbed.controllers.arbitration.manager.snapshot import (
    ResourceRow,
    take_snapshot,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import NoticeKind, TokenId
from nao_testbed.controllers.interface.ranges import Celsius, FiniteFloat, Name
from nao_testbed.controllers.transmitter.events import (
    Converted,
    GroupStarted,
    PrepSent,
    StreamEnded,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.experiments.common.form_parts import (
    MANY,
    ONE,
    BehaviourPath,
    kinds_of,
    tagged_union,
    value_or_many,
)
from nao_testbed.experiments.scenarios.vocabulary.conditions import (
    AnyCondition,
    Condition,
    is_held_by,
    read_holders,
)
from nao_testbed.experiments.scenarios.vocabulary.facts import Facts
from nao_testbed.experiments.scenarios.vocabulary.judge import (
    Claim,
    Expectation,
    Judge,
    Window,
    slots_between,
)
from nao_testbed.experiments.scenarios.vocabulary.lookup import (
    GroupName,
    Lookup,
    Role,
    StateName,
)
from nao_testbed.experiments.scenarios.vocabulary.setup import Setup
from nao_testbed.models.files.yaml_forms import Place
from nao_testbed.models.library import Unit
from nao_testbed.models.resources import ResourceKind
from nao_testbed.models.values import Seconds

Times = Annotated[int, Field(ge=0)]


class ConditionExpectation(Expectation):
    """A condition is true in some slots, or comes true a given number of times.

    A lasting condition counts in every slot of the window, even if it came true
    earlier. With `after`, a condition counts only if it comes true in the window;
    `never` requires that the condition is false in every slot. If `after` never comes
    true, the expectation fails, also for `never`: a criterion that was never tested
    does not pass.
    """

    key: ClassVar[str]
    ways: ClassVar[str] = "from_s and to_s, or after"
    """Time fields of this kind, for messages."""
    if TYPE_CHECKING:  # declared by each kind with its docstrings
        from_s: Seconds | None
        to_s: Seconds | None
        after: AnyCondition | None
        within_slots: Times | None

    @property
    def condition(self) -> Condition:
        """Condition that must, or must not, come true."""
        condition: Condition = getattr(self, self.key)
        return condition

    @property
    def count(self) -> int | None:
        """Required count; None: true in at least one slot; 0: true in no slot."""
        return 0

    @model_validator(mode="after")
    def _has_one_window(self) -> Self:
        given = {name for name, value in self if value is not None}
        ways = ({"at_s"}, {"from_s", "to_s"}, {"after"})
        if sum(not given.isdisjoint(way) for way in ways) > 1:
            raise ValueError(f"give only one of {self.ways}")
        for key, other in (("within_s", "at_s"), ("within_slots", "after")):
            if key in given and other not in given:
                raise ValueError(f"{key} needs {other}")
        return self

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve the condition and its `after` condition."""
        found: dict[str, Condition | None] = {
            self.key: self.condition.resolved((*place, self.key), lookup)
        }
        if self.after is not None:
            found["after"] = self.after.resolved((*place, "after"), lookup)
        return None if None in found.values() else self.model_copy(update=found)

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the slots; with `after`, all slots until it comes true."""
        return slots_between(place, lookup, self.from_s, self.to_s)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Report conditions that cannot come true in these slots."""
        if self.count != 0:
            self.condition.check((*place, self.key), *window, lookup)

    def conditions(self) -> tuple[Condition, ...]:
        """Return the condition and its `after` condition."""
        after = self.after
        return (self.condition,) if after is None else (self.condition, after)

    def denied_waiters(self) -> Iterator[str]:
        """Yield owners of requests that end without a grant."""
        if self.condition.is_denial:
            yield str(self.condition.path)


class HappensExpectation(ConditionExpectation):
    """A condition becomes true, in the whole run or in a part of it."""

    key = "happens"
    ways = "at_s, or from_s and to_s, or after"
    happens: AnyCondition
    """Condition that comes true."""
    at_s: Seconds | None = None
    """Time in s."""
    within_s: Seconds | None = None
    """With `at_s`: tolerance in s; absent: exactly that slot."""
    from_s: Seconds | None = None
    """Earliest time in s."""
    to_s: Seconds | None = None
    """Latest time in s."""
    after: AnyCondition | None = None
    """In or after the slot in which this first comes true."""
    within_slots: Times | None = None
    """With `after`: maximum delay in slots."""
    times: Annotated[int, Field(ge=1)] | None = None
    """Exact count; absent: at least once."""

    @property
    def count(self) -> int | None:
        """Return the count given in the file."""
        return self.times

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the slots, or those within the tolerance of one."""
        if self.at_s is None:
            return super().window(place, lookup)
        tick = lookup.moment((*place, "at_s"), self.at_s)
        near = lookup.ticks((*place, "within_s"), self.within_s or 0.0)
        return Window(max(0, tick - near), min(lookup.duration_ticks - 1, tick + near))


class NeverExpectation(ConditionExpectation):
    """A condition does not become true, in the whole run or in a part of it."""

    key = "never"
    never: AnyCondition
    """Condition that must not become true."""
    from_s: Seconds | None = None
    """Start of the interval in s."""
    to_s: Seconds | None = None
    """End of the interval in s."""
    after: AnyCondition | None = None
    """In and after the slot in which this first comes true."""
    within_slots: Times | None = None
    """With `after`: number of slots."""


class ConditionJudge(Judge[ConditionExpectation], of=ConditionExpectation):
    """Judge of one condition and its `after` condition."""

    def verdict(self) -> tuple[bool, str]:
        """Return True if the condition was true in the window, or its count matches."""
        watch, *firsts = self.watches
        window = self.window
        if firsts:
            if not firsts[0].ticks:
                return False, "the condition of after was never true"
            first, within = firsts[0].ticks[0], self.want.within_slots
            window = Window(first, 2**62 if within is None else first + within)
        inside = [t for t in watch.ticks if window.first <= t <= window.last]
        is_true = watch.is_true_within(*window)
        if self.want.count:
            holds = len(inside) == self.want.count
        elif self.want.count == 0:
            holds = not is_true
        else:  # with `after`, the condition must come true within the window
            holds = bool(inside) if firsts else is_true
        others = self.times(watch.ticks)
        if inside:
            seen = self.times(inside)
            if firsts:
                later = inside[0] - window.first
                seen += f", {later} slots after {self.time(window.first)}"
        elif is_true:
            seen = f"already true before, {others}"
        else:
            seen = f"not then, only {others}" if watch.ticks else others
        return holds, seen


class OrderExpectation(Expectation):
    """Conditions become true in this order, or in one slot."""

    order: Annotated[list[AnyCondition], Field(min_length=2)]
    """Conditions in order."""

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Resolve the names of each condition."""
        found = [
            one.resolved((*place, "order", i), lookup)
            for i, one in enumerate(self.order)
        ]
        return self.model_copy(update={"order": [one for one in found if one]})

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Report conditions that cannot come true."""
        for i, condition in enumerate(self.order):
            condition.check((*place, "order", i), *window, lookup)

    def conditions(self) -> list[Condition]:
        """Return all conditions."""
        return self.order

    def denied_waiters(self) -> Iterator[str]:
        """Yield owners of requests that end without a grant."""
        yield from (str(one.path) for one in self.order if one.is_denial)


class OrderJudge(Judge[OrderExpectation], of=OrderExpectation):
    """Judge of an order: each condition counts from the slot of its predecessor."""

    def verdict(self) -> tuple[bool, str]:
        """Take each condition's first slot not before its predecessor's slot."""
        reached: list[int] = []
        for watch in self.watches:
            since = reached[-1] if reached else 0
            later = [tick for tick in watch.ticks if tick >= since]
            if not later:
                break
            reached.append(later[0])
        n = len(self.watches)
        seen = ", ".join(map(self.time, reached)) or "none"
        if len(reached) < n:
            seen += f"; condition {len(reached) + 1} of {n} was not true after that"
        return len(reached) == n, seen


Names = Annotated[list[Name], Field(min_length=1)]
NameOrNames = Annotated[
    Annotated[Name, ONE] | Annotated[Names, MANY], Discriminator(value_or_many)
]


class TemperatureExpectation(Expectation):
    """Motors stay below or above a temperature."""

    joint: NameOrNames
    """Joints or groups of joints, such as HeadYaw, Legs or Body."""
    degc_below: Celsius | None = None
    """Upper limit in °C, in every slot."""
    degc_above: Celsius | None = None
    """Lower limit in °C, in every slot."""
    from_s: Seconds | None = None
    """Start of the interval in s."""
    to_s: Seconds | None = None
    """End of the interval in s."""

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if self.degc_below is None and self.degc_above is None:
            raise ValueError("give degc_below, degc_above or both")
        return self

    @property
    def joints(self) -> list[str]:
        """Return all joint names."""
        return self.joint if isinstance(self.joint, list) else [self.joint]

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Expand groups to joints."""
        here = (*place, "joint")
        found = [joint for name in self.joints for joint in lookup.joints(here, name)]
        return self.model_copy(update={"joint": list(dict.fromkeys(found))})

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the slots."""
        return slots_between(place, lookup, self.from_s, self.to_s)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Report limits that exclude each other or are violated at the start."""
        below, above = self.degc_below, self.degc_above
        if below is not None and above is not None and below <= above:
            lookup.notes.add(
                (*place, "degc_below"),
                f"impossible: below {below:g} °C and above {above:g} °C; swap the "
                "limits or leave one out.",
            )
        for joint in self.joints if window.first == 0 else ():
            start = lookup.start_degc[joint]
            for key, limit, is_out in (
                ("degc_below", below, below is not None and start >= below),
                ("degc_above", above, above is not None and start <= above),
            ):
                if is_out:
                    lookup.notes.add(
                        (*place, key),
                        f"impossible: {joint} starts at {start:g} °C, and {key} is "
                        f"{limit:g} °C from the start; give from_s, or another limit.",
                    )


class TemperatureJudge(Judge[TemperatureExpectation], of=TemperatureExpectation):
    """Judge that keeps the highest and lowest temperature with joint and slot."""

    def __init__(
        self, want: TemperatureExpectation, window: Window, tick_s: float
    ) -> None:
        """Create the judge before the first slot."""
        super().__init__(want, window, tick_s)
        self._joints = want.joints
        self._highest = (-inf, "", 0)
        self._lowest = (inf, "", 0)

    def observe(self, facts: Facts, setup: Setup) -> None:
        """Compare the temperatures in a slot of the window."""
        if not self.window.first <= facts.tick <= self.window.last:
            return
        degc = setup.true_degc()
        for joint in self._joints:
            value = float(degc[setup.motors_of[joint]].max())
            if value > self._highest[0]:
                self._highest = (value, joint, facts.tick)
            if value < self._lowest[0]:
                self._lowest = (value, joint, facts.tick)

    def verdict(self) -> tuple[bool, str]:
        """Compare the extremes with the limits."""
        below, above = self.want.degc_below, self.want.degc_above
        seen, holds = [], bool(self._highest[1])
        if below is not None:
            holds &= self._highest[0] < below
            seen.append("at most " + self._say(*self._highest))
        if above is not None:
            holds &= self._lowest[0] > above
            seen.append("at least " + self._say(*self._lowest))
        return holds, ", ".join(seen)

    def _say(self, degc: float, joint: str, tick: int) -> str:
        if not joint:
            return "none: the run ended before"
        return f"{degc:.2f} °C ({joint} at {self.time(tick)})"


INITIAL_MOTION = "initial motion"
"""Motion of a command controller that brings the robot to a group's first posture."""


class GroupExpectation(Expectation):
    """The streams of a synchronous group start together."""

    group: GroupName
    """Group id."""
    starts_after: Name | None = None
    """`initial motion`, or the id of another group."""
    empty_slots: Times | None = None
    """With `starts_after`: exact number of slots without an item in between."""
    skew_slots: Times = 0
    """Exact number of slots between the first items of its streams."""

    @model_validator(mode="after")
    def _has_start(self) -> Self:
        if self.empty_slots is not None and self.starts_after is None:
            raise ValueError("empty_slots needs starts_after")
        return self

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Report groups that cannot start, and initial motions without a target."""
        super().resolved(place, lookup)
        if self.starts_after == INITIAL_MOTION:
            self._note_no_start((*place, "starts_after"), lookup)
        elif self.starts_after is not None:
            lookup.group((*place, "starts_after"), self.starts_after)
        return self

    def _note_no_start(self, place: Place, lookup: Lookup) -> None:
        """Report a command that starts in any posture: it has no initial motion."""
        library = lookup.robot.library
        order = library.orders.get(self.group)
        if order is None:
            return  # the id is not a command's name
        motion = library.motions.get(order.outputs.get(Unit.MOTION, ""))
        if motion is None or motion.start is None:
            lookup.notes.add(
                place,
                f"impossible: command {order.name!r} has no motion with a start "
                "posture, so it has no initial motion; leave starts_after out.",
            )


@dataclass(kw_only=True)
class _Start:
    """One start of the group."""

    tick: int
    streams: tuple[int, ...]
    before: int | None
    """Slot of the last item of the predecessor; None: it did not end."""


class GroupJudge(Judge[GroupExpectation], of=GroupExpectation):
    """Judge that records the group's first slots and its predecessor's last slot."""

    def __init__(self, want: GroupExpectation, window: Window, tick_s: float) -> None:
        """Create the judge without any start."""
        super().__init__(want, window, tick_s)
        self._starts: list[_Start] = []
        self._first: dict[int, int] = {}
        """First slot by stream of the group."""
        self._orders: dict[int, int | None] = {}
        """Order that prepared a group of this id to that group's preset."""
        self._before: dict[int, int | None] = {}
        """Predecessor stream to its preset; None: any."""
        self._last_before: dict[int | None, int] = {}
        """Slot in which the last stream of a preset ended, since the last start."""

    def on_event(self, event: Event) -> None:
        """Record events of the group."""
        group, after = self.want.group, self.want.starts_after
        match event:
            case PrepSent() if event.group == group and after == INITIAL_MOTION:
                self._orders[event.order] = event.preset
            case Converted() if event.is_initial and event.order in self._orders:
                self._before[event.stream] = self._orders[event.order]
            case GroupStarted() if event.group == group:
                ends = [self._last_before.pop(p, None) for p in (event.preset, None)]
                before = max((end for end in ends if end is not None), default=None)
                start = _Start(tick=event.tick, streams=event.streams, before=before)
                self._starts.append(start)
            case GroupStarted() if event.group == after:
                self._before |= dict.fromkeys(event.streams)
            case StreamStarted() if event.group == group:
                self._first.setdefault(event.stream, event.tick)
            case StreamEnded() if event.stream in self._before:
                if event.reason is EndReason.DONE:
                    self._last_before[self._before[event.stream]] = event.tick

    def verdict(self) -> tuple[bool, str]:
        """Compare the slots of every start."""
        if not self._starts:
            return False, f"group {self.want.group} never started"
        judged = [self._judge(start) for start in self._starts]
        holds = all(is_right for is_right, _ in judged)
        seen = next((said for is_right, said in judged if not is_right), judged[0][1])
        if len(judged) > 1:
            right = sum(is_right for is_right, _ in judged)
            seen = f"{right} of {len(judged)} starts were as expected; {seen}"
        return holds, seen

    def _judge(self, start: _Start) -> tuple[bool, str]:
        """Return the verdict on one start, and its description."""
        want = self.want
        slots = [self._first[n] for n in start.streams if n in self._first]
        begin = min(slots, default=start.tick)
        skew = max(slots, default=begin) - begin
        holds = len(slots) == len(start.streams) and skew == want.skew_slots
        seen = (
            f"{len(slots)} of {len(start.streams)} streams started at "
            f"{self.time(begin)}, skew {skew} slots"
        )
        if want.starts_after is None:
            return holds, seen
        if start.before is None:
            return False, f"{seen}; {want.starts_after} did not end before"
        empty = begin - start.before - 1
        holds &= want.empty_slots is None or empty == want.empty_slots
        return holds, f"{seen}, {empty} empty slots after {want.starts_after}"


Range = Annotated[list[Times], Field(min_length=2, max_length=2)]
CountForm = Annotated[
    Annotated[Times, ONE] | Annotated[Range, MANY], Discriminator(value_or_many)
]
"""A number, or the lowest and the highest."""


class CountsExpectation(Expectation):
    """Counts of an owner's events in the run."""

    owner: BehaviourPath
    """A behaviour with needs."""
    executed: CountForm | None = None
    """Commands written to a device: a number, or [lowest, highest]."""
    refused: CountForm | None = None
    """Commands refused by the gate."""
    granted: CountForm | None = None
    """Granted requests."""
    demanded: CountForm | None = None
    """Notifications that another owner wants a held resource."""

    @model_validator(mode="after")
    def _has_count(self) -> Self:
        if len(self.model_fields_set) < 2:
            raise ValueError("give executed, refused, granted or demanded")
        return self

    @property
    def counts_commands(self) -> bool:
        """Return True if written commands are counted."""
        return self.executed is not None

    def ranges(self) -> dict[str, tuple[int, int]]:
        """Return the inclusive range of each count."""
        given = {key: getattr(self, key) for key in COUNTED}
        return {
            key: (one, one) if isinstance(one, int) else (one[0], one[1])
            for key, one in given.items()
            if one is not None
        }

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Resolve the owner."""
        role = lookup.owner((*place, "owner"), self.owner)
        return None if role is None else self.model_copy(update={"owner": role.path})

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Report empty ranges."""
        del window
        for key, (low, high) in self.ranges().items():
            if low > high:
                lookup.notes.add(
                    (*place, key),
                    f"impossible: at least {low} and at most {high}; swap them.",
                )


COUNTED = ("executed", "refused", "granted", "demanded")


class CountsJudge(Judge[CountsExpectation], of=CountsExpectation):
    """Judge that counts an owner's events; a command belongs to its token's owner."""

    def __init__(self, want: CountsExpectation, window: Window, tick_s: float) -> None:
        """Create the judge with all counts 0."""
        super().__init__(want, window, tick_s)
        self._owner = want.owner
        self._tokens: set[TokenId] = set()
        self._counted: Counter[str] = Counter()

    def on_event(self, event: Event) -> None:
        """Count an event."""
        owner = self._owner
        match event:
            case Granted() if event.owner == owner:
                self._tokens.add(event.token)
                self._counted["granted"] += 1
            case Notified() if event.owner == owner:
                self._counted["demanded"] += event.kind is NoticeKind.DEMANDED
            case Executed():
                self._counted["executed"] += event.token in self._tokens
            case Rejected():
                self._counted["refused"] += event.token in self._tokens

    def verdict(self) -> tuple[bool, str]:
        """Compare each expected count."""
        ranges, counted = self.want.ranges(), self._counted
        holds = all(low <= counted[key] <= high for key, (low, high) in ranges.items())
        return holds, ", ".join(f"{counted[key]} {key}" for key in ranges)


class AtTimeExpectation(Expectation):
    """All claims hold at one time."""

    at_s: Seconds
    """Time in s."""
    holds: dict[Name, BehaviourPath | None] = Field(default_factory=dict, min_length=1)
    """Resource to the owner of all its leaves; null: all its leaves are free."""
    waiters: dict[Name, list[BehaviourPath]] = Field(default_factory=dict, min_length=1)
    """Resource to all its waiters, in the order of service."""
    state: StateName | None = None
    """State resource that is active."""
    running: list[BehaviourPath] = Field(default_factory=list, min_length=1)
    """Behaviours that may act."""
    not_running: list[BehaviourPath] = Field(default_factory=list, min_length=1)
    """Behaviours that may not act."""
    posture: Name | None = None
    """Stored posture that every joint is near."""
    within_deg: Annotated[FiniteFloat, Field(gt=0.0, le=90.0)] = 5.0
    """With `posture`: tolerance in degrees."""

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not self.model_fields_set - {"at_s", "within_deg"}:
            raise ValueError(
                "give holds, waiters, state, running, not_running or posture"
            )
        return self

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Resolve resources, owners and behaviours; expand composites to leaves."""
        super().resolved(place, lookup)
        waiters: dict[str, list[str]] = {}
        for resource, names in self.waiters.items():
            here = (*place, "waiters", resource)
            found = [lookup.owner((*here, i), name) for i, name in enumerate(names)]
            roles = [role for role in found if role is not None]
            if lookup.resource(here, resource):
                for leaf in lookup.tree.leaves(resource):
                    waiters[leaf] = [role.path for role in roles]
                    _note_idle_waiters(here, leaf, roles, lookup)
        acting = {
            key: [
                role.path
                for i, name in enumerate(getattr(self, key))
                if (role := lookup.behaviour((*place, key, i), name)) is not None
            ]
            for key in ("running", "not_running")
        }
        for name in set(acting["running"]) & set(acting["not_running"]):
            lookup.notes.add(
                (*place, "not_running"),
                f"impossible: {name!r} cannot be both running and not running; keep "
                "one.",
            )
        if self.posture is not None:
            here = (*place, "posture")
            lookup.notes.attempt(here, lookup.robot.posture, self.posture)
        holders = read_holders(self.holds, (*place, "holds"), lookup)
        update = {"holds": holders, "waiters": waiters, **acting}
        return self.model_copy(update=update)

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return its single slot."""
        tick = lookup.moment((*place, "at_s"), self.at_s)
        return Window(tick, tick)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Report behaviours that must be awake in the slot but cannot be."""
        acting = {
            "holds": [owner for owner in self.holds.values() if owner is not None],
            "waiters": list(self.denied_waiters()),
            "running": self.running,
        }
        for key, paths in acting.items():
            for path in dict.fromkeys(paths):
                lookup.note_inactive((*place, key), path, window.first)

    def claims(self, tree: ResourceTree) -> Iterator[Claim]:
        """Yield holders of exclusive resources, the state, and running behaviours."""
        for leaf, owner in self.holds.items():
            if tree.node(leaf).kind is ResourceKind.EXCLUSIVE:
                words = "nobody's" if owner is None else f"held by {owner!r}"
                yield Claim("holds", ("holds", leaf), owner, words)
        if self.state is not None and self.state in tree:
            about = ("state", tree.state_group(self.state))
            yield Claim("state", about, self.state, repr(self.state))
        for path in self.running:
            yield Claim("running", ("running", path), True, "running")
        for path in self.not_running:
            yield Claim("not_running", ("running", path), False, "not running")

    def denied_waiters(self) -> Iterator[str]:
        """Yield all waiters."""
        yield from (owner for paths in self.waiters.values() for owner in paths)


def _note_idle_waiters(
    place: Place, leaf: str, roles: Iterable[Role], lookup: Lookup
) -> None:
    for role in roles:
        if leaf not in role.leaves:
            lookup.notes.add(
                place,
                f"impossible: {role.path!r} never waits for {leaf!r}, since it does "
                "not request it. Name another resource, or add it to its needs.",
            )


class AtTimeJudge(Judge[AtTimeExpectation], of=AtTimeExpectation):
    """Judge of one slot."""

    wrong: list[str] | None = None
    """Differences found in the slot; None before it."""

    def observe(self, facts: Facts, setup: Setup) -> None:
        """Compare every claim in the slot."""
        if facts.tick == self.window.first:
            rows = {row.name: row for row in take_snapshot(setup.ledger).resources}
            self.wrong = [
                *self._wrong_reservations(rows),
                *self._wrong_behaviours(setup),
                *self._wrong_posture(setup),
            ]

    def verdict(self) -> tuple[bool, str]:
        """Return the differences."""
        if self.wrong is None:
            return False, "the run ended before"
        return not self.wrong, "; ".join(self.wrong) or "as expected"

    def _wrong_reservations(self, rows: Mapping[str, ResourceRow]) -> Iterator[str]:
        for leaf, expected in self.want.holds.items():
            users = rows[leaf].users
            if not is_held_by(users, expected):
                yield f"{leaf} is held by {', '.join(users) or 'no owner'}"
        for leaf, waiters in self.want.waiters.items():
            waiting = [wait.owner for wait in rows[leaf].waiters]
            if waiting != waiters:
                yield f"waiting for {leaf}: {', '.join(waiting) or 'none'}"
        state = self.want.state
        if state is not None and not rows[state].is_active:
            parent = rows[state].parent
            others = [
                r.name for r in rows.values() if r.parent == parent and r.is_active
            ]
            yield f"state is {', '.join(others) or 'none'}, not {state}"

    def _wrong_behaviours(self, setup: Setup) -> Iterator[str]:
        may_act = setup.schemas.may_act
        yield from (f"{p} is not running" for p in self.want.running if not may_act(p))
        yield from (f"{p} is running" for p in self.want.not_running if may_act(p))

    def _wrong_posture(self, setup: Setup) -> Iterator[str]:
        name, robot = self.want.posture, setup.robot
        if name is None:
            return
        error = np.rad2deg(setup.body.sim.truth().q - robot.posture(name).angles)
        worst = int(np.abs(error).argmax())
        if abs(error[worst]) > self.want.within_deg:
            joint = robot.joint_names[worst]
            yield f"{joint} is {error[worst]:+.1f}° from posture {name}"


EXPECTATIONS = kinds_of(Expectation)
"""Expectation classes by key; `at_s` comes last because other kinds have it too."""

if TYPE_CHECKING:
    AnyExpectation = Expectation
else:
    AnyExpectation = tagged_union("an expectation", EXPECTATIONS)
