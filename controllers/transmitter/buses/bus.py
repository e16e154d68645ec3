"""Buses of a transmitter, and the groups that wait before them until they are complete.

Before each bus stands a unit that buffers streams and tests the points of their groups
[CN1396856, fig. 26: 131 to 133]. All units share a memory for the IDs of groups and
their points: [CN1396856, fig. 19 and 27] has an area for the ID and one for the points
of each converter; here an entry stands for both, and since all read one sum, a group is
complete for all of them at once. The controller of a bus may keep a group from breaking
in on it (S9, S91).

Members of an incomplete group are buffered, and nothing of them is sent. A group that
waits costs nothing in a slot, however many there are: its points are tested when a
member comes, and its time to live stands in a heap.
"""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from controllers.transmitter.buses.group import Group, ReceivedStream
from controllers.transmitter.receipt import GroupKey, NotReceived
from models import BadInput
from models.library import Unit


class Watch(StrEnum):
    """Who finds that the points of a group sum to the preset."""

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


Permits = Callable[[str, int], bool]
"""Whether a group may start on a bus in a slot: asked of each of its buses, and it
starts in the first slot in which all permit it. Independent streams do not ask
[CN1396856, fig. 20: from S5 straight to S10]."""


class Entry(NamedTuple):
    """What the unit of a bus has buffered, and written for all units to read."""

    bus: str
    unit: Unit
    """The converter that the stream came from."""
    stream: int
    points: int


class WaitingGroup:
    """A group whose members are buffered."""

    __slots__ = ("due_tick", "found_by", "key", "leaves", "members", "play", "points")

    def __init__(self, key: GroupKey, due_tick: int) -> None:
        """Begin without members; incomplete at `due_tick`, it expires."""
        self.key = key
        self.due_tick = due_tick
        self.members: list[ReceivedStream] = []
        self.points = 0
        """Sum of its members' (S8, S81)."""
        self.leaves: set[str] = set()
        """That its members command."""
        self.play: Group | None = None
        """What starts once nothing holds it; None while it is incomplete."""
        self.found_by: tuple[str, ...] = ()
        """The buses whose units found it complete."""


class WaitingGroups:
    """The groups by their keys, what is buffered of them, and their time to live."""

    def __init__(self, cfg: TransmitterCfg, ttl_ticks: int) -> None:
        """Begin with no group."""
        self._buses = tuple(cfg.buses)
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
        points = 0 if group is None else group.points
        if points + member.tag.points > key.preset:
            return NotReceived.GROUP_EXCEEDS
        return None

    def add(self, member: ReceivedStream, key: GroupKey, points: int) -> WaitingGroup:
        """Buffer a member and let the watching units test its group (S6 to S8).

        CN1396856 asks first whether another member has the ID (S7); that only saves
        the sum where it cannot be met, and would keep a group of one for ever.
        """
        group = self._groups.get(key)
        if group is None:
            due = member.receipt.received_tick + self._ttl_ticks
            group = self._groups[key] = WaitingGroup(key, due)
            self._at(due, key)
        group.members.append(member)
        group.leaves.update(member.stream.leaves)
        group.points += points
        if group.points == key.preset:
            group.found_by = self._finders(group)
            group.play = Group(key, group.members)
        return group

    def entries(self, key: GroupKey) -> tuple[Entry, ...]:
        """Return what stands in the memory for a group (S7, S71), as it was written."""
        members = self._groups[key].members if key in self._groups else ()
        return tuple(
            Entry(one.bus, one.stream.unit, one.number, one.tag.points)
            for one in members
            if one.tag is not None
        )

    def take(self, key: GroupKey) -> None:
        """Let a group leave the buffers: it starts."""
        del self._groups[key]

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

    def _finders(self, group: WaitingGroup) -> tuple[str, ...]:
        """Return the buses whose units find a group complete by themselves.

        All that hold a part of it watch, or the first one, which tells the others.
        """
        if self._watch is Watch.ELECTED:
            return self._buses[:1]
        holders = {member.bus for member in group.members}
        return tuple(bus for bus in self._buses if bus in holders)

    def _at(self, tick: int, key: GroupKey) -> None:
        self._count += 1
        heapq.heappush(self._due, (tick, self._count, key))
