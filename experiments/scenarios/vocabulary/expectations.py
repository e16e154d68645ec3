"""Expectations: what a scenario file expects; judged after the run, a verdict each.

Times are ticks: slot `t` begins at `t` times the slot's length. "In slot t" means after
all that happens in it. Temperatures and postures of expectations are the true ones of
the simulation; those of conditions are what the robot's sensors report.

A class a word, told by its key (`...Expectation`), and below it who judges it: fields
are what the file says, `resolved` looks up the names, `window` the slots, `check` notes
what could never be. A new expectation is one more class and its judge here.
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
    FiniteFloat,
    Name,
    how_many,
    kinds_of,
    tagged_union,
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
from nao_testbed.models.values import Celsius, Seconds

Times = Annotated[int, Field(ge=0)]


class ConditionExpectation(Expectation):
    """A condition is true in some slots, or comes true so often in them.

    What lasts counts in every slot of a window in which it is so, also if it came true
    before. After another condition something happens only if it comes true then; and
    nothing does only if it is not so in any slot. If the other one never comes true,
    the expectation is broken, also one that nothing happens: a test that passes because
    nothing was tested is none.
    """

    key: ClassVar[str]
    ways: ClassVar[str] = "from_s and to_s, or after"
    """To say when."""
    if TYPE_CHECKING:  # each kind has them, in words of its own
        from_s: Seconds | None
        to_s: Seconds | None
        after: AnyCondition | None
        within_slots: Times | None

    @property
    def condition(self) -> Condition:
        """What comes true, or does not."""
        condition: Condition = getattr(self, self.key)
        return condition

    @property
    def count(self) -> int | None:
        """So often; None: it is true in one slot or more; 0: in none of them."""
        return 0

    @model_validator(mode="after")
    def _has_one_window(self) -> Self:
        given = {name for name, value in self if value is not None}
        ways = ({"at_s"}, {"from_s", "to_s"}, {"after"})
        if sum(not given.isdisjoint(way) for way in ways) > 1:
            raise ValueError(f"give {self.ways}: only one way")
        for key, other in (("within_s", "at_s"), ("within_slots", "after")):
            if key in given and other not in given:
                raise ValueError(f"{key} goes with {other}")
        return self

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look up what it names, and what that follows."""
        found: dict[str, Condition | None] = {
            self.key: self.condition.resolved((*place, self.key), lookup)
        }
        if self.after is not None:
            found["after"] = self.after.resolved((*place, "after"), lookup)
        return None if None in found.values() else self.model_copy(update=found)

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the slots; after a condition all, until it comes true."""
        return slots_between(place, lookup, self.from_s, self.to_s)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Note what cannot come true in these slots."""
        if self.count != 0:
            self.condition.check((*place, self.key), *window, lookup)

    def conditions(self) -> tuple[Condition, ...]:
        """Return what comes true, and what that follows."""
        after = self.after
        return (self.condition,) if after is None else (self.condition, after)

    def waiters_in_vain(self) -> Iterator[str]:
        """Yield the owner of a request that ends without a grant."""
        if self.condition.is_in_vain:
            yield str(self.condition.path)


class HappensExpectation(ConditionExpectation):
    """Something comes true, in the whole run or in a part of it."""

    key = "happens"
    ways = "at_s, or from_s and to_s, or after"
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

    @property
    def count(self) -> int | None:
        """As the file says."""
        return self.times

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the slots, or those near to one."""
        if self.at_s is None:
            return super().window(place, lookup)
        tick = lookup.moment((*place, "at_s"), self.at_s)
        near = lookup.ticks((*place, "within_s"), self.within_s or 0.0)
        return Window(max(0, tick - near), min(lookup.duration_ticks - 1, tick + near))


class NeverExpectation(ConditionExpectation):
    """Something does not come true, in the whole run or in a part of it."""

    key = "never"
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


class ConditionJudge(Judge[ConditionExpectation], of=ConditionExpectation):
    """Watches the condition, and the one after which it should come true."""

    def verdict(self) -> tuple[bool, str]:
        """Look whether it was true in the window, or count how often it came true."""
        watch, *firsts = self.watches
        window = self.window
        if firsts:
            if not firsts[0].ticks:
                return False, "what it should follow never came true"
            first, within = firsts[0].ticks[0], self.want.within_slots
            window = Window(first, 2**62 if within is None else first + within)
        inside = [t for t in watch.ticks if window.first <= t <= window.last]
        is_true = watch.is_true_within(*window)
        if self.want.count:
            holds = len(inside) == self.want.count
        elif self.want.count == 0:
            holds = not is_true
        else:  # after something else it has to come true, not to be so since before
            holds = bool(inside) if firsts else is_true
        others = self.times(watch.ticks)
        if inside:
            seen = self.times(inside)
            if firsts:
                later = inside[0] - window.first
                seen += f", {later} slots after {self.time(window.first)}"
        elif is_true:
            seen = f"true all along since before, {others}"
        else:
            seen = f"not then, but {others}" if watch.ticks else others
        return holds, seen


class OrderExpectation(Expectation):
    """Conditions come true one after the other, or in one slot."""

    order: Annotated[list[AnyCondition], Field(min_length=2)]
    """What comes true, in this order."""

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Look up what each names."""
        found = [
            one.resolved((*place, "order", i), lookup)
            for i, one in enumerate(self.order)
        ]
        return self.model_copy(update={"order": [one for one in found if one]})

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Note what cannot come true."""
        for i, condition in enumerate(self.order):
            condition.check((*place, "order", i), *window, lookup)

    def conditions(self) -> list[Condition]:
        """Return all of them."""
        return self.order

    def waiters_in_vain(self) -> Iterator[str]:
        """Yield the owners of requests that end without a grant."""
        yield from (str(one.path) for one in self.order if one.is_in_vain)


class OrderJudge(Judge[OrderExpectation], of=OrderExpectation):
    """Watches them all; the next one counts from the slot of the one before."""

    def verdict(self) -> tuple[bool, str]:
        """Take for each condition the first slot that is not before the last one's."""
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
            seen += f"; then number {len(reached) + 1} of {n} did not come true"
        return len(reached) == n, seen


Names = Annotated[list[Name], Field(min_length=1)]
NameOrNames = Annotated[
    Annotated[Name, ONE] | Annotated[Names, MANY], Discriminator(how_many)
]


class TemperatureExpectation(Expectation):
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
    def _says_something(self) -> Self:
        if self.degc_below is None and self.degc_above is None:
            raise ValueError("give degc_below, degc_above or both")
        return self

    @property
    def joints(self) -> list[str]:
        """All of them."""
        return self.joint if isinstance(self.joint, list) else [self.joint]

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Make groups joints."""
        here = (*place, "joint")
        found = [joint for name in self.joints for joint in lookup.joints(here, name)]
        return self.model_copy(update={"joint": list(dict.fromkeys(found))})

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return the slots."""
        return slots_between(place, lookup, self.from_s, self.to_s)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Note limits that exclude each other, or what is so at the start."""
        below, above = self.degc_below, self.degc_above
        if below is not None and above is not None and below <= above:
            lookup.notes.add(
                (*place, "degc_below"),
                f"impossible: below {below:g} °C and above {above:g} °C; raise the one "
                "or lower the other.",
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
                        f"impossible: {joint} begins at {start:g} °C, and {key} is "
                        f"{limit:g} °C from the start; give from_s, or another limit.",
                    )


class TemperatureJudge(Judge[TemperatureExpectation], of=TemperatureExpectation):
    """Keeps the highest and the lowest of them, and where they were."""

    def __init__(
        self, want: TemperatureExpectation, window: Window, tick_s: float
    ) -> None:
        """Begin before the first slot."""
        super().__init__(want, window, tick_s)
        self._joints = want.joints
        self._highest = (-inf, "", 0)
        self._lowest = (inf, "", 0)

    def look(self, facts: Facts, setup: Setup) -> None:
        """Compare the temperatures of a slot of the window."""
        if not self.window.first <= facts.tick <= self.window.last:
            return
        degc = setup.true_degc()
        for joint in self._joints:
            value = float(degc[setup.motor_of[joint]])
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
            return "nothing: the run ended before"
        return f"{degc:.2f} °C ({joint} at {self.time(tick)})"


INITIAL_MOTION = "initial motion"
"""What a command controller plays to bring the robot where a group begins."""


class GroupExpectation(Expectation):
    """A synchronous group starts as one."""

    group: GroupName
    """Its id."""
    starts_after: Name | None = None
    """`initial motion`, or the id of another group."""
    empty_slots: Times | None = None
    """With `starts_after`: exactly so many slots without an item in between."""
    skew_slots: Times = 0
    """Exactly so many slots between the first items of its streams."""

    @model_validator(mode="after")
    def _counts_from_something(self) -> Self:
        if self.empty_slots is not None and self.starts_after is None:
            raise ValueError("empty_slots goes with starts_after")
        return self

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Note groups that nothing could start, and an initial motion to nowhere."""
        super().resolved(place, lookup)
        if self.starts_after == INITIAL_MOTION:
            self._note_no_start((*place, "starts_after"), lookup)
        elif self.starts_after is not None:
            lookup.group((*place, "starts_after"), self.starts_after)
        return self

    def _note_no_start(self, place: Place, lookup: Lookup) -> None:
        """Note a command that begins in any posture: no initial motion leads there."""
        library = lookup.robot.library
        order = library.orders.get(self.group)
        if order is None:
            return  # another id than a command's name
        motion = library.motions.get(order.outputs.get(Unit.MOTION, ""))
        if motion is None or motion.start is None:
            lookup.notes.add(
                place,
                f"impossible: command {order.name!r} has no motion that begins in a "
                "stated posture, so no initial motion leads there; leave starts_after "
                "out.",
            )


@dataclass(kw_only=True)
class _Start:
    """One start of the group."""

    tick: int
    streams: tuple[int, ...]
    before: int | None
    """Slot of the last item of what it follows; None: that did not end."""


class GroupJudge(Judge[GroupExpectation], of=GroupExpectation):
    """Notes the first slots of the group's streams, and the last of those before."""

    def __init__(self, want: GroupExpectation, window: Window, tick_s: float) -> None:
        """Begin without having seen any."""
        super().__init__(want, window, tick_s)
        self._starts: list[_Start] = []
        self._first: dict[int, int] = {}
        """Stream of the group to the slot of its first item."""
        self._orders: dict[int, int | None] = {}
        """Order that prepared for a group of this ID to the preset of that."""
        self._before: dict[int, int | None] = {}
        """Stream that it follows to that preset; None: any."""
        self._last_before: dict[int | None, int] = {}
        """Preset to the slot in which the last of these ended, since the last start."""

    def hear(self, event: Event) -> None:
        """Note what belongs to the group."""
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
            seen = f"{right} of {len(judged)} starts as expected; {seen}"
        return holds, seen

    def _judge(self, start: _Start) -> tuple[bool, str]:
        """Return whether a start is as expected, and what it was like."""
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
    Annotated[Times, ONE] | Annotated[Range, MANY], Discriminator(how_many)
]
"""A number, or the lowest and the highest."""


class CountsExpectation(Expectation):
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
    def _counts_something(self) -> Self:
        if len(self.model_fields_set) < 2:
            raise ValueError("give executed, refused, granted or demanded")
        return self

    @property
    def counts_commands(self) -> bool:
        """If those that were written are counted."""
        return self.executed is not None

    def ranges(self) -> dict[str, tuple[int, int]]:
        """Return what is counted to its lowest and highest number, both with it."""
        given = {key: getattr(self, key) for key in COUNTED}
        return {
            key: (one, one) if isinstance(one, int) else (one[0], one[1])
            for key, one in given.items()
            if one is not None
        }

    def resolved(self, place: Place, lookup: Lookup) -> Self | None:
        """Look the owner up."""
        role = lookup.owner((*place, "owner"), self.owner)
        return None if role is None else self.model_copy(update={"owner": role.path})

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Note ranges that hold no number."""
        del window
        for key, (low, high) in self.ranges().items():
            if low > high:
                lookup.notes.add(
                    (*place, key),
                    f"impossible: at least {low} and at most {high}; exchange them.",
                )


COUNTED = ("executed", "refused", "granted", "demanded")


class CountsJudge(Judge[CountsExpectation], of=CountsExpectation):
    """Counts events of one owner; commands belong to him whose token they carry."""

    def __init__(self, want: CountsExpectation, window: Window, tick_s: float) -> None:
        """Begin at 0."""
        super().__init__(want, window, tick_s)
        self._owner = want.owner
        self._tokens: set[TokenId] = set()
        self._counted: Counter[str] = Counter()

    def hear(self, event: Event) -> None:
        """Count."""
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
        """Compare each count that is expected."""
        ranges, counted = self.want.ranges(), self._counted
        holds = all(low <= counted[key] <= high for key, (low, high) in ranges.items())
        return holds, ", ".join(f"{counted[key]} {key}" for key in ranges)


class AtTimeExpectation(Expectation):
    """All this is so at one time."""

    at_s: Seconds
    """In s."""
    holds: dict[Name, BehaviourPath | None] = Field(default_factory=dict, min_length=1)
    """Resource to who holds it whole; null: nobody holds any of it."""
    waiters: dict[Name, list[BehaviourPath]] = Field(default_factory=dict, min_length=1)
    """Resource to all who wait for it, in the order of being served."""
    state: StateName | None = None
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
    def _says_something(self) -> Self:
        if not self.model_fields_set - {"at_s", "within_deg"}:
            raise ValueError(
                "give what is so then: holds, waiters, state, running, not_running or "
                "posture"
            )
        return self

    def resolved(self, place: Place, lookup: Lookup) -> Self:
        """Look up resources, owners and behaviours; composites become leaves."""
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
                f"impossible: {name!r} would be running and not running; keep one.",
            )
        if self.posture is not None:
            here = (*place, "posture")
            lookup.notes.attempt(here, lookup.robot.posture, self.posture)
        holders = read_holders(self.holds, (*place, "holds"), lookup)
        update = {"holds": holders, "waiters": waiters, **acting}
        return self.model_copy(update=update)

    def window(self, place: Place, lookup: Lookup) -> Window:
        """Return its one slot."""
        tick = lookup.moment((*place, "at_s"), self.at_s)
        return Window(tick, tick)

    def check(self, place: Place, window: Window, lookup: Lookup) -> None:
        """Note who has to be awake then, and is not."""
        acting = {
            "holds": [owner for owner in self.holds.values() if owner is not None],
            "waiters": list(self.waiters_in_vain()),
            "running": self.running,
        }
        for key, paths in acting.items():
            for path in dict.fromkeys(paths):
                lookup.note_asleep((*place, key), path, window.first)

    def claims(self, tree: ResourceTree) -> Iterator[Claim]:
        """Yield holders of exclusive resources, the state, who runs and who not."""
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

    def waiters_in_vain(self) -> Iterator[str]:
        """Yield all that wait."""
        yield from (owner for paths in self.waiters.values() for owner in paths)


def _note_idle_waiters(
    place: Place, leaf: str, roles: Iterable[Role], lookup: Lookup
) -> None:
    for role in roles:
        if leaf not in role.leaves:
            lookup.notes.add(
                place,
                f"impossible: {role.path!r} never waits for {leaf!r}, since it does "
                "not ask for it. Name another resource, or add it to its needs.",
            )


class AtTimeJudge(Judge[AtTimeExpectation], of=AtTimeExpectation):
    """Looks once."""

    wrong: list[str] | None = None
    """What was otherwise in its slot; None before it."""

    def look(self, facts: Facts, setup: Setup) -> None:
        """Compare everything in the slot."""
        if facts.tick == self.window.first:
            rows = {row.name: row for row in take_snapshot(setup.ledger).resources}
            self.wrong = [
                *self._wrong_reservations(rows),
                *self._wrong_behaviours(setup),
                *self._wrong_posture(setup),
            ]

    def verdict(self) -> tuple[bool, str]:
        """Say what was otherwise."""
        if self.wrong is None:
            return False, "the run ended before"
        return not self.wrong, "; ".join(self.wrong) or "as expected"

    def _wrong_reservations(self, rows: Mapping[str, ResourceRow]) -> Iterator[str]:
        for leaf, expected in self.want.holds.items():
            users = rows[leaf].users
            if not is_held_by(users, expected):
                yield f"{leaf} is held by {', '.join(users) or 'nobody'}"
        for leaf, waiters in self.want.waiters.items():
            waiting = [wait.owner for wait in rows[leaf].waiters]
            if waiting != waiters:
                yield f"for {leaf} wait {', '.join(waiting) or 'none'}"
        state = self.want.state
        if state is not None and not rows[state].is_active:
            parent = rows[state].parent
            others = [
                r.name for r in rows.values() if r.parent == parent and r.is_active
            ]
            yield f"state is {', '.join(others) or 'none'}, not {state}"

    def _wrong_behaviours(self, setup: Setup) -> Iterator[str]:
        may_act = setup.schemas.may_act
        yield from (f"{p} does not run" for p in self.want.running if not may_act(p))
        yield from (f"{p} runs" for p in self.want.not_running if may_act(p))

    def _wrong_posture(self, setup: Setup) -> Iterator[str]:
        name, robot = self.want.posture, setup.robot
        if name is None:
            return
        error = np.rad2deg(setup.body.sim.truth().q - robot.posture(name).angles)
        worst = int(np.abs(error).argmax())
        if abs(error[worst]) > self.want.within_deg:
            joint = robot.joint_names[worst]
            yield f"{joint} is {error[worst]:+.1f}° off posture {name}"


EXPECTATIONS = kinds_of(Expectation)
"""Key to kind; `at_s` is the last, since another kind may have it too."""

if TYPE_CHECKING:
    AnyExpectation = Expectation
else:
    AnyExpectation = tagged_union("an expectation", EXPECTATIONS)
