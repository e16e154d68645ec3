"""Streams that start, send, pause and resume in a slot.

Independent streams start at once. A complete group waits for the stream that it
follows, for a leaf in use, or for the permission of a bus. The first two need no check
per slot: the end of the blocking stream resumes the group.

A token must cover all leaves of its stream when it is received and while it runs. In
each slot either all items of a group are sent or none.

An interrupt starts its stream in the next slot. Running streams that share a leaf with
it pause, groups as a whole. After the interrupt they return to their interrupted
position and continue with the next item. Streams that have not started can be deleted
instead.
"""

from collections.abc import Collection, Sequence
from itertools import zip_longest
from operator import attrgetter

from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.gate.outputs import PresentTargets
from nao_testbed.controllers.arbitration.gate.slot import RequiredRights
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.transmitter.buses.bus import Permits
from nao_testbed.controllers.transmitter.buses.group import (
    UNIT_ORDER,
    Group,
    GroupState,
    OnSignal,
    Part,
    ReceivedStream,
)
from nao_testbed.controllers.transmitter.buses.groups import Groups
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    PartStarted,
    Sent,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.controllers.transmitter.streams import CannotBegin, Stream
from nao_testbed.models import BadInput, UnknownName


def missing_right(ledger: Ledger, stream: Stream, lent: Collection[str] = ()) -> str:
    """Return the first leaf that a stream may not command now, with the reason, or "".

    Args:
        ledger: ledger that checks the token.
        stream: stream with its token.
        lent: leaves that are lent; the token recalls them before the start.
    """
    for leaf in stream.leaves:
        try:
            reason = ledger.authorise(stream.token, leaf)
        except UnknownName:  # it was removed from the list of resources
            return f"{leaf}: no longer known"
        if reason is not None and leaf not in lent:
            return f"{leaf}: {reason}"
    return ""


_Out = tuple[ReceivedStream, int]
"""Stream and the index of the item that was sent."""

_place = attrgetter("place")


class Slots:
    """Scheduler of a slot: it starts groups, sends items, and counts sent items."""

    def __init__(
        self, gate: Gate, ledger: Ledger, groups: Groups, permits: Permits | None
    ) -> None:
        """Create the scheduler for a gate, a ledger and the received groups."""
        self._gate = gate
        self._ledger = ledger
        self._groups = groups
        self._permits = permits
        self._seen = -1
        """Number of the ledger's last change for which all rights were checked."""

    def step(self, tick: int) -> None:
        """End groups whose token was lost, start free groups, and send their items."""
        groups = self._groups
        self._revoke_lost(tick)
        if groups.interrupts:
            self._start_interrupts(tick)
        if groups.paused:
            self._resume(tick)
        if groups.free or groups.at_once:
            self._start_independent(tick)
            self._start_groups(tick)
        self._send(tick)

    def settle(self, tick: int) -> None:
        """Mark the items that the gate has written as sent."""
        groups = self._groups
        out: list[_Out] = []
        signals: list[OnSignal] = []
        for group in tuple(groups.running):
            batch, group.batch = group.batch, None
            if batch is None:
                continue
            if batch.is_broken:
                groups.end(group, EndReason.REVOKED, tick, batch.why)
            elif group.lead and group.state is GroupState.PAUSED:
                out += [(one, -1) for one, _ in group.lead.pop(0)]
            else:
                out += self._count(group, tick, signals)
        if self._ledger.cfg.tells_commands and groups.has_listeners:
            for one, k in sorted(out, key=_bus_order):
                self._emit_sent(one, k, tick)
        for one, k in out:
            if k + 1 == one.receipt.items:
                groups.end_stream(one, EndReason.DONE, tick)
        for signal in signals:
            signal(tick)

    # -- starting ----------------------------------------------------------------------

    def _start_interrupts(self, tick: int) -> None:
        """Start the interrupts and pause the streams that use their leaves (S2).

        An interrupt starts between two items. If two interrupts need one leaf, the
        second starts a slot later and pauses the first.
        """
        groups = self._groups
        waiting, groups.interrupts = groups.interrupts, []
        for group in waiting:
            users = groups.users(group.leaves)
            others = list(dict.fromkeys(user.group for user in users))
            if not all(other.has_started for other in others):
                groups.interrupts.append(group)
            elif group.live and self._begin(group, tick):
                for other in others:
                    groups.pause(other, group, tick)

    def _resume(self, tick: int) -> None:
        """Return unblocked groups to their interrupted position, then resume them."""
        for group in tuple(self._groups.paused):
            if group.blockers:
                continue
            if group.lead is None:
                try:
                    group.lead = _lead(group, self._gate.present)
                except (CannotBegin, BadInput) as error:
                    why = str(error)
                    self._groups.end(group, EndReason.CANNOT_BEGIN, tick, why)
                    continue
            if not group.lead:
                self._groups.resume(group, tick)

    def _start_independent(self, tick: int) -> None:
        """Start the independent streams; each replaces the streams that it overlaps.

        Streams that waited for another one come first; later arrivals follow.
        """
        groups = self._groups
        followers = sorted((x for x in groups.free if x.key is None), key=_place)
        groups.free = [group for group in groups.free if group.key is not None]
        at_once, groups.at_once = groups.at_once, []
        ready = [x for x in followers if x.live and not groups.hold(x)]
        for group in ready + at_once:
            for user in groups.users(group.leaves):
                if user.tag is None:
                    why = f"by stream {group.streams[0].number}"
                    groups.end(user.group, EndReason.REPLACED, tick, why)
            if group.live:
                self._begin(group, tick)

    def _start_groups(self, tick: int) -> None:
        """Start the groups that are not blocked in this slot (S9, S10)."""
        groups = self._groups
        waiting, groups.free = groups.free, []
        for group in sorted(waiting, key=_place):
            if group.key is None:  # it is independent and was blocked until now
                groups.free.append(group)
            elif group.live and not groups.hold(group):
                if self._is_permitted(group, tick):
                    self._begin(group, tick)
                else:
                    groups.free.append(group)

    def _is_permitted(self, group: Group, tick: int) -> bool:
        """Return True if all buses of a group permit its start now."""
        if self._permits is None:
            return True
        buses = dict.fromkeys(one.bus for one in group.live)
        return all(self._permits(bus, tick) for bus in buses)

    def _begin(self, group: Group, tick: int) -> bool:
        """Prepare the items of all streams of a group, or end it if one fails.

        Returns:
            True if the group runs; the next `_send` sends its first items.
        """
        group.state = GroupState.RUNNING
        present, lengths = self._gate.present, []
        for one in group.live:
            if lost := missing_right(self._ledger, one.stream):
                self._groups.end(group, EndReason.REVOKED, tick, lost)
                return False
        for one in group.live:
            try:
                if one.start_check and (why := one.start_check(present)):
                    raise CannotBegin(one.stream.label, why)
                if (length := one.stream.begin(present)) < 1:
                    raise CannotBegin(one.stream.label, f"it has {length} items")
            except (CannotBegin, BadInput) as error:
                self._groups.end(group, EndReason.CANNOT_BEGIN, tick, str(error))
                return False
            lengths.append(length)
        for one, length in zip(group.live, lengths, strict=True):
            one.receipt.items = length
        self._groups.run(group)
        return True

    # -- running -----------------------------------------------------------------------

    def _revoke_lost(self, tick: int) -> None:
        """End each group that has lost a right, after a change of the ledger."""
        changes = self._ledger.changes
        if changes == self._seen:
            return
        for group in tuple(self._groups.running):
            for one in tuple(group.live):
                if lost := missing_right(self._ledger, one.stream):
                    self._groups.end(group, EndReason.REVOKED, tick, lost)
                    break
        self._seen = changes

    def _send(self, tick: int) -> None:
        """Pass every stream's item of this slot to the gate, one batch per group."""
        for group in tuple(self._groups.running):
            group.break_batch()  # from a slot without `settle`
            if group.state is GroupState.RUNNING:
                parts = [(one, one.stream.item(one.receipt.sent)) for one in group.live]
            elif group.lead:
                parts = group.lead[0]
            else:
                continue
            try:
                group.batch = self._gate.submit_together(
                    [(one.stream.token, item) for one, item in parts if item],
                    _resting(group.live, parts),
                )
            except BadInput as error:
                self._groups.end(group, EndReason.CANNOT_BEGIN, tick, str(error))
                continue
            for one, item in parts:
                one.values = len(item)

    def _count(self, group: Group, tick: int, signals: list[OnSignal]) -> list[_Out]:
        """Count the sent items of a group, and collect the signals now due."""
        if not group.has_started:
            self._emit_started(group, tick)
        out = []
        for one in group.live:
            receipt, parts = one.receipt, one.stream.parts
            out.append((one, receipt.sent))
            if parts and receipt.sent in parts and self._groups.has_listeners:
                label, unit = parts[receipt.sent], one.stream.unit
                self._groups.emit(
                    PartStarted(tick=tick, stream=one.number, unit=unit, label=label)
                )
            receipt.sent += 1
            left = (receipt.items or 0) - receipt.sent
            if one.signal_at is not None and left <= one.signal_at:
                if one.on_signal is not None:
                    signals.append(one.on_signal)
                one.signal_at = None
        return out

    def _emit_started(self, group: Group, tick: int) -> None:
        group.has_started = True
        groups = self._groups
        if group.key is not None and groups.has_listeners:
            groups.emit(GroupStarted(tick=tick, **group.head))
        for one in group.live:
            one.receipt.started_tick = tick
            if groups.has_listeners:
                leaves, items = tuple(sorted(one.stream.leaves)), one.receipt.items or 0
                groups.emit(
                    StreamStarted(tick=tick, **one.head, leaves=leaves, items=items)
                )

    def _emit_sent(self, one: ReceivedStream, k: int, tick: int) -> None:
        key = one.group.key
        self._groups.emit(
            Sent(
                tick=tick,
                bus=one.bus,
                unit=one.stream.unit,
                stream=one.number,
                k=k,
                group=None if key is None else key.group,
                preset=None if key is None else key.preset,
                values=one.values,
            )
        )


def _resting(live: Sequence[ReceivedStream], parts: Sequence[Part]) -> RequiredRights:
    """Return the rights of streams whose items omit a leaf in this slot.

    Their tokens are checked as well, since a group is sent as a whole.
    """
    full = [one for one, item in parts if len(item) == len(one.stream.leaves)]
    if len(full) == len(live):
        return ()
    return [(one.stream.token, one.stream.leaves) for one in live if one not in full]


def _bus_order(out: _Out) -> tuple[str, int, int]:
    """Return the sort key of an item within its slot: the order on the bus."""
    one, _ = out
    return one.bus, UNIT_ORDER[one.stream.unit], one.number


def _lead(group: Group, present: PresentTargets) -> list[list[Part]]:
    """Return the items, slot by slot, that return a group to its position."""
    leads: list[Sequence[Part]] = [
        [(one, item) for item in one.stream.rejoin(one.receipt.sent, present)]
        for one in group.live
    ]
    return [[part for part in slot if part] for slot in zip_longest(*leads)]
