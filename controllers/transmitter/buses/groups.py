"""Table of all groups of a transmitter: by key, leaf, and awaited stream.

    INCOMPLETE -- points sum to the preset --> WAITING --> RUNNING <--> PAUSED --> OVER

All units of the buses share this memory for group IDs and points. [CN1396856, fig. 19
and 27] has one area for the ID and one for the points of each converter; here the
streams of a group represent both. All units read one sum, so a group becomes complete
for all of them at once. An independent stream is a group of one.

Streams of an incomplete group are buffered and not sent. A waiting group costs no time
per slot. Its points are checked when a stream arrives, its time to live is in a heap,
and the end of the stream that blocks it releases it.
"""

import heapq
from collections.abc import Callable, Iterable
from itertools import chain

from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.transmitter.buses.bus import TransmitterCfg, Watch
from nao_testbed.controllers.transmitter.buses.group import (
    Group,
    GroupSnapshot,
    GroupState,
    ReceivedStream,
)
from nao_testbed.controllers.transmitter.events import (
    GroupCompleted,
    StreamEnded,
    StreamPaused,
    StreamResumed,
)
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    Receipt,
    StreamState,
)
from nao_testbed.controllers.transmitter.streams import Stream


class Groups:
    """Table of all groups; all state changes happen here."""

    def __init__(self, cfg: TransmitterCfg, ledger: Ledger) -> None:
        """Create an empty table that emits its events through the ledger."""
        self._cfg = cfg
        self._ttl_ticks = max(1, ledger.cfg.ticks(cfg.ttl_s))
        self._listeners = ledger.listeners
        self.emit: Callable[[Event], None] = ledger.emit
        self._by_key: dict[GroupKey, Group] = {}
        self._streams: dict[int, ReceivedStream] = {}
        """Id of an output to its active stream."""
        self._received: dict[Receipt, ReceivedStream] = {}
        """Id of a receipt to its active stream."""
        self._users: dict[str, list[ReceivedStream]] = {}
        """Leaf to the running and paused streams that use it."""
        self.running: dict[Group, None] = {}
        """Running and paused groups in the order of their starts."""
        self.paused: dict[Group, None] = {}
        self.interrupts: list[Group] = []
        """Interrupts that start in the next slot."""
        self.at_once: list[Group] = []
        """Independent streams that start in the next slot."""
        self.free: list[Group] = []
        """Waiting groups without a known blocker."""
        self._held: dict[int, list[Group]] = {}
        """Stream to the groups that wait for the stream's end."""
        self._dead: dict[GroupKey, int] = {}
        """Group that ended before its start to the slot until which late streams of the
        group are refused."""
        self._due: list[tuple[int, int, GroupKey]] = []
        self._count = 0

    # -- queries -----------------------------------------------------------------------

    @property
    def has_listeners(self) -> bool:
        """True if the ledger has listeners."""
        return bool(self._listeners)

    def find(self, key: GroupKey) -> Group | None:
        """Return the active group with this key, or None."""
        return self._by_key.get(key)

    def stream(self, stream: Stream) -> ReceivedStream | None:
        """Return the active record of this stream object, or None."""
        return self._streams.get(id(stream))

    def find_stream(self, receipt: Receipt) -> ReceivedStream | None:
        """Return the active stream with this receipt, or None."""
        return self._received.get(receipt)

    def now(self) -> tuple[GroupSnapshot, ...]:
        """Return the active groups, oldest first."""
        streams = sorted(self._received.values(), key=lambda one: one.number)
        groups = dict.fromkeys(one.group for one in streams)
        return tuple(self._look(group, streams) for group in groups)

    def _look(self, group: Group, streams: Iterable[ReceivedStream]) -> GroupSnapshot:
        key, state = group.key, group.state
        blocking: list[Group] = list(group.blockers)
        if state is GroupState.WAITING:
            blocking += [one.group for one in self.users(group.leaves)]
            followed = (one for one in streams if one.number in group.after)
            blocking += [one.group for one in followed]
        return GroupSnapshot(
            name=_name(group),
            state=state,
            points=group.points,
            preset=None if key is None else key.preset,
            due_tick=group.due_tick if state is GroupState.INCOMPLETE else None,
            waits_for=tuple(dict.fromkeys(map(_name, blocking))),
            leaves=tuple(group.leaves),
        )

    def is_dead(self, key: GroupKey, tick: int) -> bool:
        """Return True if a group has ended and late streams of it are refused."""
        return self._dead.get(key, tick) > tick

    def refusal(self, one: ReceivedStream, tick: int) -> NotReceived | None:
        """Return the reason why a stream cannot join its group, or None."""
        if one.tag is None:
            return None
        key = one.tag.key
        group = self._by_key.get(key) or Group(key)
        if group.state in (GroupState.RUNNING, GroupState.PAUSED):
            return NotReceived.GROUP_STARTED
        if self.is_dead(key, tick):
            return NotReceived.GROUP_DELETED
        if not set(one.stream.leaves).isdisjoint(group.leaves):
            return NotReceived.DOUBLED_MEMBER
        if group.points + one.tag.points > key.preset:
            return NotReceived.GROUP_EXCEEDS
        return None

    def users(self, leaves: Iterable[str]) -> list[ReceivedStream]:
        """Return the running and paused groups that use any of the leaves."""
        users = self._users
        found = chain.from_iterable(users.get(leaf, ()) for leaf in leaves)
        return list(dict.fromkeys(found))

    # -- waiting -----------------------------------------------------------------------

    def add(self, one: ReceivedStream, tick: int) -> None:
        """Add a stream; it waits for its group, its predecessor, or the next slot.

        The units sum the points of its group (S6 to S8). CN1396856 first looks for
        another stream with the ID (S7). That check only saves the sum, and would keep a
        group of one stream waiting forever.
        """
        key, after = None if one.tag is None else one.tag.key, one.after
        group = self._by_key.get(key) if key is not None else None
        if group is None:
            group = Group(key, due_tick=tick + self._ttl_ticks)
            if key is not None:
                self._by_key[key] = group
                self._at(group.due_tick, key)
        group.join(one)
        self._streams[id(one.stream)] = self._received[one.receipt] = one
        if key is not None and group.points != key.preset:
            return
        group.state = GroupState.WAITING
        if one.is_interrupt:
            self.interrupts.append(group)
        elif key is None and (after is None or after.is_done):
            self.at_once.append(group)
        else:
            if key is not None and self._listeners:
                found_by = self._finders(group)
                self.emit(GroupCompleted(tick=tick, **group.head, found_by=found_by))
            self._queue(group, tick)

    def hold(self, group: Group) -> bool:
        """Queue a group behind the first stream that uses one of its leaves, if any.

        An independent stream waits only for groups with a key.
        """
        for user in self.users(group.leaves):
            if group.key is not None or user.tag is not None:
                self._held.setdefault(user.number, []).append(group)
                return True
        return False

    def expire(self, due: int, now: int) -> None:
        """End the incomplete groups whose time to live had passed at a tick."""
        while self._due and self._due[0][0] <= due:
            _, _, key = heapq.heappop(self._due)
            if self._dead.get(key, due + 1) <= due:
                del self._dead[key]
            group = self._by_key.get(key)
            if (
                group is not None
                and group.state is GroupState.INCOMPLETE
                and group.due_tick <= due
            ):
                self._remember_dead(group, due)
                why = f"not complete within {self._cfg.ttl_s:g} s"
                self.end(group, EndReason.EXPIRED, now, why)

    # -- running -----------------------------------------------------------------------

    def run(self, group: Group) -> None:
        """Start a group and register it as the user of its leaves."""
        self.running[group] = None
        for one in group.live:
            one.receipt.state = StreamState.RUNNING
            for leaf in one.stream.leaves:
                self._users.setdefault(leaf, []).append(one)

    def pause(self, group: Group, by: Group, tick: int) -> None:
        """Pause a group until an interrupt has ended."""
        group.blockers[by] = None
        group.lead = None
        by.blocks.append(group)
        if group.state is not GroupState.PAUSED:
            group.state = GroupState.PAUSED
            self.paused[group] = None
            for one in group.live:
                one.receipt.state = StreamState.PAUSED
                if self._listeners:
                    by_number = by.streams[0].number
                    self.emit(StreamPaused(tick=tick, stream=one.number, by=by_number))

    def resume(self, group: Group, tick: int) -> None:
        """Resume a group that has returned to its interrupted position."""
        group.state = GroupState.RUNNING
        del self.paused[group]
        for one in group.live:
            one.receipt.state = StreamState.RUNNING
            if self._listeners:
                self.emit(StreamResumed(tick=tick, stream=one.number))

    # -- ending ------------------------------------------------------------------------

    def end(self, group: Group, reason: EndReason, tick: int, detail: str = "") -> None:
        """End the remaining streams of a group; withdraw its items of this slot.

        If the group has not started, late streams of it are refused for a time.
        """
        group.break_batch()
        if group.state in (GroupState.INCOMPLETE, GroupState.WAITING):
            self._remember_dead(group, tick)
        for one in tuple(group.live):
            self.end_stream(one, reason, tick, detail)

    def end_stream(
        self, one: ReceivedStream, reason: EndReason, tick: int, detail: str = ""
    ) -> None:
        """End one stream, release its leaves, and resume the groups that it blocked."""
        receipt, group = one.receipt, one.group
        if receipt.is_over:
            return
        receipt.state, receipt.reason = StreamState.ENDED, reason
        receipt.detail, receipt.ended_tick = detail, tick
        one.signal_at = one.on_signal = None
        group.live.remove(one)
        if self._listeners:
            sent = receipt.sent
            self.emit(
                StreamEnded(
                    tick=tick, **one.head, reason=reason, sent=sent, detail=detail
                )
            )
        if group in self.running:
            for leaf in one.stream.leaves:
                self._users[leaf].remove(one)
        if not group.live:
            self._forget(group)
        self._notify_followers(one, tick)
        if not group.live:
            for other in group.blocks:
                other.blockers.pop(group, None)
            group.blocks.clear()
        self._streams.pop(id(one.stream), None)
        del self._received[one.receipt]

    # -- internals ---------------------------------------------------------------------

    def _finders(self, group: Group) -> tuple[str, ...]:
        """Return the buses whose units detect the completion of a group.

        Either every bus that carries a part of the group checks, or the first bus
        notifies the others.
        """
        buses = tuple(self._cfg.buses)
        if self._cfg.watch is Watch.ELECTED:
            return buses[:1]
        holders = {one.bus for one in group.streams}
        return tuple(bus for bus in buses if bus in holders)

    def _queue(self, group: Group, tick: int) -> None:
        """Queue a group until all streams that it follows have ended."""
        self._count += 1
        group.place = self._count
        for one in group.live:
            before = one.after
            if before is None or before.is_done:
                continue
            if before.is_over:
                self._fail(group, before.number, before.reason, tick)
                return
            if before.number not in group.after:
                group.after.add(before.number)
                self._held.setdefault(before.number, []).append(group)
        if not group.after:
            self.free.append(group)

    def _notify_followers(self, one: ReceivedStream, tick: int) -> None:
        """Resume the groups that waited for a stream; end them if the stream failed."""
        for group in self._held.pop(one.number, ()):
            if not group.live:
                continue
            if one.number in group.after:
                if not one.receipt.is_done:
                    self._fail(group, one.number, one.receipt.reason, tick)
                    continue
                group.after.remove(one.number)
            if not group.after:
                self.free.append(group)

    def _fail(
        self, group: Group, number: int, reason: EndReason | None, tick: int
    ) -> None:
        why = f"stream {number}, which it follows, is {reason}"
        self.end(group, EndReason.DELETED, tick, why)

    def _remember_dead(self, group: Group, tick: int) -> None:
        """Record for a limited time that a group ended before its start."""
        group.state = GroupState.OVER
        if group.key is not None:
            del self._by_key[group.key]
            until = tick + self._ttl_ticks
            self._dead[group.key] = until
            self._at(until, group.key)

    def _forget(self, group: Group) -> None:
        """Remove a group without remaining streams."""
        if group.state is not GroupState.OVER and group.key is not None:
            del self._by_key[group.key]
        group.state = GroupState.OVER
        self.running.pop(group, None)
        self.paused.pop(group, None)

    def _at(self, tick: int, key: GroupKey) -> None:
        self._count += 1
        heapq.heappush(self._due, (tick, self._count, key))


def _name(group: Group) -> str:
    if group.key is not None:
        return str(group.key)
    return group.streams[0].stream.label
