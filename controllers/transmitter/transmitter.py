"""The transmitter: streams of a group start in one slot, or not at all.

    receive -> areas of the buses -> points sum to the preset -> step -> gate -> settle

[CN1396856, fig. 18 to 28]. Once a device slot `step` gives the gate one item of each
stream that runs; `settle`, after the gate's flush, counts what was written. In a slot
come first interrupts, then independent streams, then groups that are complete (S2 to
S10).

    transmitter = Transmitter(gate, ledger)
    receipt = transmitter.receive(stream, SyncTag(group="hello", points=20), tick)
    transmitter.step(tick)
    ledger.advance(tick)
    gate.flush(tick)
    transmitter.settle(tick)
"""

from collections.abc import Iterable

from controllers.arbitration.gate import Gate
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.manager.state import check_tick
from controllers.transmitter.buses.bus import (
    Permits,
    TransmitterCfg,
    WaitingGroups,
)
from controllers.transmitter.buses.group import (
    Group,
    OnSignal,
    ReceivedStream,
    StreamEndings,
    StreamEvents,
    WhyNot,
)
from controllers.transmitter.buses.running import ENDS_GROUP, Running, StreamAdmission
from controllers.transmitter.buses.starting import Interrupts, Starts
from controllers.transmitter.receipt import EndReason, GroupKey, Receipt, SyncTag
from controllers.transmitter.streams import Stream
from models import BadInput


class Transmitter:
    """Buffers streams, starts them together and gives the gate their items.

    Deterministic and single-threaded, as the ledger is. A receipt says how far its
    stream has come; every end is an event too.
    """

    def __init__(
        self,
        gate: Gate,
        ledger: Ledger,
        cfg: TransmitterCfg | None = None,
        permits: Permits | None = None,
    ) -> None:
        """Begin with no stream.

        Args:
            gate: writes the items of each slot, a group's all or none.
            ledger: the gate's; it says which tokens hold, and is told what happens.
            cfg: buses, who watches them, and the time to live of a group.
            permits: asked before a group starts on its buses; None: always.
        """
        self.cfg = cfg or TransmitterCfg()
        self._events = StreamEvents(ledger)
        self._endings = StreamEndings(self._events)
        self._running = Running(gate, ledger, self._endings, self._events)
        ttl_ticks = max(1, ledger.cfg.ticks(self.cfg.ttl_s))
        self._waiting = WaitingGroups(self.cfg, ttl_ticks)
        self._starts = Starts(self._running, self._waiting, self._endings, permits)
        self._interrupts = Interrupts(
            self._running, gate.present, self._endings, self._events
        )
        self._admission = StreamAdmission(ledger, self._running, self._waiting)
        self._endings.on_end.append(self._admission.forget)
        self._count = 0
        self._tick = 0

    # -- streams come -----------------------------------------------------------------

    def receive(
        self,
        stream: Stream,
        tag: SyncTag | None,
        tick: int,
        *,
        after: Receipt | None = None,
        signal_at: int | None = None,
        on_signal: OnSignal | None = None,
        why_not: WhyNot | None = None,
    ) -> Receipt:
        """Take a stream: an independent one starts at once, a tagged one waits.

        Args:
            stream: what to put out; it is played once.
            tag: ID and points of its group; None: it is independent.
            tick: now. Received before the `step` of a slot, it may start in it.
            after: the stream has to come to its end before this one, and its group,
                starts: then in the very next slot. If it fails, so does this.
            signal_at: once at most so many items are left, `on_signal` is told the
                slot: the transmit-enable signal. 0 is the end.
            on_signal: called at the end of that slot's `settle`.
            why_not: asked in the slot of its start why it cannot begin; empty: it can.

        Returns:
            Its receipt, which says why it was refused, if it was. A member too many
            ends its group, and all members are told.

        Raises:
            UnknownName: it has a leaf that the ledger does not know.
            BadInput: one of its leaves is a composite, or time goes back.
        """
        member = self._new(stream, tag, tick, after=after, why_not=why_not)
        member.signal_at, member.on_signal = signal_at, on_signal
        if self._admit(member, tick):
            self._queue(member, tick)
        return member.receipt

    def interrupt(
        self,
        stream: Stream,
        tick: int,
        *,
        delete: Iterable[GroupKey] = (),
        why_not: WhyNot | None = None,
    ) -> Receipt:
        """Join an action on to what runs: it starts at the next slot.

        What runs and has one of its leaves pauses, a group whole, until it is over.

        Args:
            stream: what to put out.
            tick: now.
            delete: groups that are not to start any more; one that has, is revoked.
            why_not: asked in the slot of its start why it cannot begin; empty: it can.

        Raises:
            UnknownName: it has a leaf that the ledger does not know.
            BadInput: one of its leaves is a composite, or time goes back.
        """
        member = self._new(stream, None, tick, is_interrupt=True, why_not=why_not)
        if self._admit(member, tick):
            for key in delete:
                self.delete_group(key, tick)
            self._interrupts.add(Group(None, [member]))
        return member.receipt

    # -- streams go -------------------------------------------------------------------

    def delete_group(self, key: GroupKey, tick: int) -> bool:
        """End a group: no item of it goes out from now on.

        Returns:
            Whether there was one, waiting or running.
        """
        check_tick(tick)
        return self._end_group(key, EndReason.DELETED, tick, "by its sender")

    def withdraw(self, receipt: Receipt, tick: int) -> bool:
        """End a stream and the group that it belongs to.

        Returns:
            Whether it was not over.
        """
        check_tick(tick)
        member = self._admission.members.get(receipt.number)
        if member is None or member.receipt is not receipt:
            return False
        if member.key is not None:
            return self.delete_group(member.key, tick)
        if member.play is not None:
            self._end_play(member.play, EndReason.DELETED, tick, "by its sender")
        return True

    def is_under_way(self, key: GroupKey, tick: int) -> bool:
        """Whether a new group cannot have this key now.

        One waits, runs, or ended unsent so lately that late members may still come.
        """
        return (
            self._waiting.find(key) is not None
            or self._running.group(key) is not None
            or self._waiting.is_dead(key, tick)
        )

    @property
    def waiting(self) -> WaitingGroups:
        """What waits, for pages and tests; nobody else changes it."""
        return self._waiting

    # -- a slot -----------------------------------------------------------------------

    def step(self, tick: int) -> None:
        """Start what may start, and give the gate this slot's item of what runs.

        Raises:
            BadInput: time goes back.
        """
        self._pass_time(tick)
        self._expire(tick, tick)
        self._running.revoke_lost(tick)
        self._interrupts.start(tick)
        self._interrupts.resume(tick)
        self._starts.start_independent(tick)
        self._starts.start_groups(tick)
        self._running.send(tick)

    def settle(self, tick: int) -> None:
        """Count what the gate has written in this slot; to be called after its flush.

        A group of which one item was refused is over: nothing of it was written.
        """
        check_tick(tick)
        self._running.settle(tick)

    # -- inside -----------------------------------------------------------------------

    def _new(
        self,
        stream: Stream,
        tag: SyncTag | None,
        tick: int,
        *,
        after: Receipt | None = None,
        is_interrupt: bool = False,
        why_not: WhyNot | None = None,
    ) -> ReceivedStream:
        self._pass_time(tick)
        self._expire(tick - 1, tick)
        self._count += 1
        receipt = Receipt(number=self._count, received_tick=tick)
        bus = self.cfg.bus_of(stream.unit)
        return ReceivedStream(
            stream,
            tag,
            bus,
            receipt,
            after=after,
            is_interrupt=is_interrupt,
            why_not=why_not,
        )

    def _admit(self, member: ReceivedStream, tick: int) -> bool:
        """Return whether a stream is taken; one that is not may end its group."""
        refused = self._admission.test(member, tick)
        self._events.received(member, tick, refused)
        if refused is None:
            self._admission.keep(member)
        elif refused in ENDS_GROUP and member.key is not None:
            why = f"{refused} by stream {member.number}"
            self._end_group(member.key, EndReason.REJECTED, tick, why)
        return refused is None

    def _queue(self, member: ReceivedStream, tick: int) -> None:
        """Let a stream wait: for its group, what it follows, or the next slot."""
        tag = member.tag
        if tag is not None:
            group = self._waiting.add(member, tag.key, tag.points)
            if group.play is not None:
                streams = (one.number for one in group.members)
                self._events.completed(tag.key, streams, group.found_by, tick)
                self._starts.add(group.play, tick)
        elif member.after is not None and not member.after.is_done:
            self._starts.add(Group(None, [member]), tick)
        else:
            self._starts.add_at_once(Group(None, [member]))

    def _end_group(
        self, key: GroupKey, reason: EndReason, tick: int, detail: str
    ) -> bool:
        running = self._running.group(key)
        if running is not None:
            self._end_play(running, reason, tick, detail)
        elif self._waiting.find(key) is not None:
            members = self._waiting.end(key, tick)
            self._endings.end_all(members, reason, tick, detail)
        else:
            return False
        return True

    def _end_play(self, play: Group, reason: EndReason, tick: int, detail: str) -> None:
        """End a play; one of which something went out is revoked."""
        reason = EndReason.REVOKED if play.has_started else reason
        self._endings.end_play(play, reason, tick, detail)

    def _expire(self, due: int, now: int) -> None:
        """End the groups whose time to live was over at a tick."""
        for members in self._waiting.pop_expired(due):
            why = f"not complete within {self.cfg.ttl_s:g} s"
            self._endings.end_all(members, EndReason.EXPIRED, now, why)

    def _pass_time(self, tick: int) -> None:
        check_tick(tick)
        if tick < self._tick:
            raise BadInput(
                f"tick is {tick}, but the transmitter stands at {self._tick}; time "
                "does not go back."
            )
        self._tick = tick
