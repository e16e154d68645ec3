"""Buses of a transmitter, and the groups that wait before them until they are complete.

Before each bus stands a unit that buffers streams and tests the points of their groups
[CN1396856, fig. 26: 131 to 133]. All units share a memory for the IDs of groups and
their points (SY-11, SY-24): [CN1396856, fig. 19 and 27] has an area for the ID and one
for the points of each converter; here an entry stands for both. The controller of a bus
may keep a group from breaking in on it (S9, S91).

Members of an incomplete group are buffered, and nothing of them is sent. A group that
waits costs nothing in a slot, however many there are: its points are tested when a
member comes, and its time to live stands in a heap.
"""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from controllers.transmitter.buses.group import Group, ReceivedStream
from controllers.transmitter.receipt import GroupKey, NotReceived
from models import BadInput
from models.library import Unit


class Watch(StrEnum):
    """Who finds that the points of a group sum to the preset (SY-24)."""

    WATCHING = "watching"
    """The unit of each bus, in the memory that all share [CN1396856, claim 16]."""
    ELECTED = "elected"
    """That of the first bus, which tells the others [CN1396856, fig. 25 to 28]."""


def one_bus() -> dict[str, tuple[Unit, ...]]:
    """Return one bus for all units [CN1396856, fig. 18]."""
    return {"main": tuple(Unit)}


def bus_each() -> dict[str, tuple[Unit, ...]]:
    """Return a bus for each unit [CN1396856, fig. 25]."""
    return {unit.value: (unit,) for unit in Unit}


@dataclass(frozen=True, kw_only=True)
class TransmitterCfg:
    """Settings of one transmitter."""

    buses: Mapping[str, tuple[Unit, ...]] = field(default_factory=one_bus)
    """Bus to the units on it; each unit is on one bus."""
    watch: Watch = Watch.WATCHING
    ttl_s: float = 10.0
    """Time in s for which a group may be incomplete, from its first member on. After
    that it is deleted, and late members are refused for as long again."""

    def __post_init__(self) -> None:
        """Refuse buses that leave a unit out or take it twice.

        Raises:
            BadInput: a unit is on no bus or on two, or the time is not positive.
        """
        for unit in Unit:
            on = [bus for bus, units in self.buses.items() if unit in units]
            if len(on) != 1:
                raise BadInput(
                    f"unit {unit.value!r} is on the buses {', '.join(on) or 'none'}; "
                    "put each of motion, light and sound on one bus."
                )
        if not 0.0 < self.ttl_s < float("inf"):
            raise BadInput(f"ttl_s is {self.ttl_s} s; give a positive number.")

    def bus_of(self, unit: Unit) -> str:
        """Return the bus of a unit."""
        return next(bus for bus, units in self.buses.items() if unit in units)


class BusPermit(Protocol):
    """The controllers of the buses: each is asked before a group starts on its bus.

    Independent streams do not ask [CN1396856, fig. 20: from S5 straight to S10].
    """

    def permits(self, bus: str, tick: int) -> bool:
        """Return whether a group may start on a bus in this slot.

        A group starts in the first slot in which all its buses permit it.
        """


class AlwaysPermit:
    """Buses that are always open."""

    def permits(self, bus: str, tick: int) -> bool:
        """Return True."""
        del bus, tick
        return True


class Entry(NamedTuple):
    """What the unit of a bus has written for one stream."""

    unit: Unit
    """The converter that the stream came from."""
    stream: int
    points: int


class SharedPoints:
    """Points by group; every unit of a bus may read and write them."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        """Begin with no group."""
        self._entries: dict[GroupKey, list[Entry]] = {}

    def write(self, key: GroupKey, entry: Entry) -> None:
        """Note the points of one stream (S6, S61)."""
        self._entries.setdefault(key, []).append(entry)

    def entries(self, key: GroupKey) -> tuple[Entry, ...]:
        """Return what stands there for a group (S7, S71), in the order of writing."""
        return tuple(self._entries.get(key, ()))

    def sum(self, key: GroupKey) -> int:
        """Return the sum of a group's points (S8, S81)."""
        return sum(entry.points for entry in self._entries.get(key, ()))

    def erase(self, key: GroupKey) -> None:
        """Forget a group."""
        self._entries.pop(key, None)


class BusUnit:
    """What stands before one bus [CN1396856, fig. 26: 131 to 133]."""

    __slots__ = ("_ready", "_shared", "areas", "name")

    def __init__(self, name: str, units: Sequence[Unit], shared: SharedPoints) -> None:
        """Stand before a bus that carries some converters' data."""
        self.name = name
        self.areas: dict[Unit, dict[int, ReceivedStream]] = {unit: {} for unit in units}
        """Converter to its streams that wait, by number (SY-11)."""
        self._shared = shared
        self._ready: set[GroupKey] = set()

    def keep(self, member: ReceivedStream, key: GroupKey, points: int) -> None:
        """Buffer a stream and write its points (S3, S6)."""
        unit = member.stream.unit
        self.areas[unit][member.number] = member
        self._shared.write(key, Entry(unit, member.number, points))

    def finds(self, key: GroupKey) -> bool:
        """Test whether the points of a group sum to its preset (S8, S81)."""
        return self._shared.sum(key) == key.preset

    def make_ready(self, key: GroupKey) -> None:
        """Note that a group is complete: found here, or told by the elected unit."""
        self._ready.add(key)

    def is_ready(self, key: GroupKey) -> bool:
        """Whether it may put its part of a group on its bus."""
        return key in self._ready

    def drop(self, member: ReceivedStream) -> None:
        """Take a stream out of the buffer: it starts, or is over."""
        self.areas[member.stream.unit].pop(member.number, None)
        if member.key is not None:
            self._ready.discard(member.key)


def look_for(
    key: GroupKey, units: Sequence[BusUnit], holders: Sequence[BusUnit], watch: Watch
) -> tuple[str, ...]:
    """Let those who watch test a group after a change, and return who found it whole.

    Args:
        key: the group.
        units: of all buses; the first is the elected one.
        holders: those that buffer a part of the group.
        watch: who tests.
    """
    if watch is Watch.ELECTED:
        finders = [units[0]] if units[0].finds(key) else []
        told = holders if finders else []
    else:
        finders = told = [unit for unit in holders if unit.finds(key)]
    for unit in told:
        unit.make_ready(key)
    return tuple(unit.name for unit in finders)


class WaitingGroup:
    """A group whose members are buffered."""

    __slots__ = ("due_tick", "found_by", "key", "leaves", "members", "play")

    def __init__(self, key: GroupKey, due_tick: int) -> None:
        """Begin without members; incomplete at `due_tick`, it expires."""
        self.key = key
        self.due_tick = due_tick
        self.members: list[ReceivedStream] = []
        self.leaves: set[str] = set()
        """That its members command."""
        self.play: Group | None = None
        """What starts once nothing holds it; None while it is incomplete."""
        self.found_by: tuple[str, ...] = ()
        """The buses whose units found it complete."""


class WaitingGroups:
    """The groups by their keys, their buffers on every bus, and their time to live."""

    def __init__(self, cfg: TransmitterCfg, ttl_ticks: int) -> None:
        """Begin with no group."""
        self.shared = SharedPoints()
        self.units = tuple(
            BusUnit(bus, units, self.shared) for bus, units in cfg.buses.items()
        )
        self._unit_of = {unit.name: unit for unit in self.units}
        self._watch = cfg.watch
        self._ttl_ticks = ttl_ticks
        self._groups: dict[GroupKey, WaitingGroup] = {}
        self._dead: dict[GroupKey, int] = {}
        """Groups that were ended before their start, and until when late members are
        told so."""
        self._due: list[tuple[int, int, GroupKey]] = []
        self._count = 0

    def __len__(self) -> int:
        """Return how many groups wait."""
        return len(self._groups)

    def find(self, key: GroupKey) -> WaitingGroup | None:
        """Return a group that waits, complete or not; None: there is none."""
        return self._groups.get(key)

    def is_dead(self, key: GroupKey, tick: int) -> bool:
        """Whether members of a group come too late, since it was ended."""
        return self._dead.get(key, tick) > tick

    def why_not(self, member: ReceivedStream, tick: int) -> NotReceived | None:
        """Return why a stream cannot join its group; None: it can."""
        if member.tag is None:
            return None
        key = member.tag.key
        if self.is_dead(key, tick):
            return NotReceived.GROUP_DELETED
        group = self._groups.get(key)
        if group is not None and not group.leaves.isdisjoint(member.stream.leaves):
            return NotReceived.DOUBLED_MEMBER
        if self.shared.sum(key) + member.tag.points > key.preset:
            return NotReceived.GROUP_EXCEEDS
        return None

    def add(self, member: ReceivedStream, key: GroupKey, points: int) -> WaitingGroup:
        """Buffer a member and let the watching units test its group (S6 to S8).

        The document asks first whether another member has the ID (S7); that only saves
        the sum where it cannot be met, and would keep a group of one for ever.
        """
        group = self._groups.get(key)
        if group is None:
            due = member.receipt.received_tick + self._ttl_ticks
            group = self._groups[key] = WaitingGroup(key, due)
            self._at(due, key)
        group.members.append(member)
        group.leaves.update(member.stream.leaves)
        self._unit_of[member.bus].keep(member, key, points)
        holders = self._holders(group.members)
        group.found_by = look_for(key, self.units, holders, self._watch)
        if all(unit.is_ready(key) for unit in holders):
            group.play = Group(key, group.members)
        return group

    def take(self, key: GroupKey) -> None:
        """Let a group leave the buffers: it starts."""
        group = self._groups.pop(key)
        self.shared.erase(key)
        for member in group.members:
            self._unit_of[member.bus].drop(member)

    def end(self, key: GroupKey, tick: int) -> tuple[ReceivedStream, ...]:
        """Let a group leave the buffers unsent; late members are refused for a time.

        Returns:
            Its members.
        """
        members = tuple(self._groups[key].members)
        self.take(key)
        until = tick + self._ttl_ticks
        self._dead[key] = until
        self._at(until, key)
        return members

    def pop_expired(self, tick: int) -> list[tuple[ReceivedStream, ...]]:
        """End the groups that are due and incomplete; return their members."""
        expired = []
        while self._due and self._due[0][0] <= tick:
            _, _, key = heapq.heappop(self._due)
            if self._dead.get(key, tick + 1) <= tick:
                del self._dead[key]
            group = self._groups.get(key)
            if group is not None and group.play is None and group.due_tick <= tick:
                expired.append(self.end(key, tick))
        return expired

    def _holders(self, members: Sequence[ReceivedStream]) -> list[BusUnit]:
        buses = {member.bus for member in members}
        return [unit for unit in self.units if unit.name in buses]

    def _at(self, tick: int, key: GroupKey) -> None:
        self._count += 1
        heapq.heappush(self._due, (tick, self._count, key))
