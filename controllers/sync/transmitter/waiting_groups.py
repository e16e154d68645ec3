"""Groups that are not complete: their members are buffered, nothing of them is sent.

A group that waits costs nothing in a slot, however many there are: its points are
tested when a member comes, and its time to live stands in a heap.
"""

import heapq
from collections.abc import Sequence

from controllers.sync.transmitter.bus_unit import BusUnit, look_for
from controllers.sync.transmitter.member import Member, Play
from controllers.sync.transmitter.shared_points import SharedPoints
from controllers.sync.transmitter.sync_tag import GroupKey
from controllers.sync.transmitter.transmitter_cfg import TransmitterCfg
from controllers.sync.transmitter.words import NotReceived


class WaitingGroup:
    """A group whose members are buffered."""

    __slots__ = ("due_tick", "found_by", "key", "leaves", "members", "play")

    def __init__(self, key: GroupKey, due_tick: int) -> None:
        """Begin without members; incomplete at `due_tick`, it expires."""
        self.key = key
        self.due_tick = due_tick
        self.members: list[Member] = []
        self.leaves: set[str] = set()
        """That its members command."""
        self.play: Play | None = None
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

    def why_not(self, member: Member, tick: int) -> NotReceived | None:
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

    def add(self, member: Member, key: GroupKey, points: int) -> WaitingGroup:
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
            group.play = Play(key, group.members)
        return group

    def take(self, key: GroupKey) -> None:
        """Let a group leave the buffers: it starts."""
        group = self._groups.pop(key)
        self.shared.erase(key)
        for member in group.members:
            self._unit_of[member.bus].drop(member)

    def end(self, key: GroupKey, tick: int) -> tuple[Member, ...]:
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

    def pop_expired(self, tick: int) -> list[tuple[Member, ...]]:
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

    def _holders(self, members: Sequence[Member]) -> list[BusUnit]:
        buses = {member.bus for member in members}
        return [unit for unit in self.units if unit.name in buses]

    def _at(self, tick: int, key: GroupKey) -> None:
        self._count += 1
        heapq.heappush(self._due, (tick, self._count, key))
