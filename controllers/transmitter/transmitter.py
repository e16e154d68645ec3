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

from collections.abc import Callable, Iterable

from nao_testbed.controllers.arbitration.gate import Gate
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import check_tick
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.controllers.transmitter.buses.bus import Permits, TransmitterCfg
from nao_testbed.controllers.transmitter.buses.group import (
    Group,
    OnSignal,
    ReceivedStream,
    StartCheck,
)
from nao_testbed.controllers.transmitter.buses.groups import Groups
from nao_testbed.controllers.transmitter.buses.slots import Slots, missing_right
from nao_testbed.controllers.transmitter.events import StreamReceived
from nao_testbed.controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    Receipt,
    StreamState,
    SyncTag,
)
from nao_testbed.controllers.transmitter.streams import Stream
from nao_testbed.models import BadInput
from nao_testbed.models.values import short

ENDS_GROUP = (NotReceived.GROUP_EXCEEDS, NotReceived.DOUBLED_MEMBER)
"""Refusals that end the whole group, since it can never be right."""


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
        """Create a transmitter without streams.

        Args:
            gate: writes the items of each slot, those of a group all or none.
            ledger: the gate's ledger; it validates tokens and receives events.
            cfg: buses, their checking units, and the time to live of a group.
            permits: called before a group starts on its buses; None: always permitted.
        """
        self.cfg = cfg or TransmitterCfg()
        self.groups = Groups(self.cfg, ledger)
        """Table of groups, for viewers and tests to read."""
        self.on_settled: list[Callable[[int], None]] = []
        """Called with the tick at the end of every `settle`."""
        self._ledger = ledger
        self._slots = Slots(gate, ledger, self.groups, permits)
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
        start_check: StartCheck | None = None,
    ) -> Receipt:
        """Receive a stream: an independent one starts at once, a tagged one waits.

        Args:
            stream: output to be played once.
            tag: ID and points of its group; None: it is independent.
            tick: present slot. A stream received before `step` may start in this slot.
            after: predecessor; this stream and its group start in the slot after its
                end, and fail if it fails.
            signal_at: number of remaining items at which `on_signal` is called with the
                slot: the transmit-enable signal. 0 is the end.
            on_signal: called at the end of that slot's `settle`.
            start_check: called in the slot of its start; returns why it cannot begin,
                empty if it can.

        Returns:
            Its receipt, with the reason of a refusal. A surplus stream ends its group.

        Raises:
            UnknownName: the ledger does not know one of its leaves.
            BadInput: its token is not a token, one of its leaves is a composite, it
                follows its own group, or time goes back.
        """
        bus = self.cfg.bus_of(stream.unit)
        one = ReceivedStream(stream, bus, tag, after, signal_at, on_signal, start_check)
        return self._take(one, tick)

    def interrupt(
        self,
        stream: Stream,
        tick: int,
        *,
        delete: Iterable[GroupKey] = (),
        start_check: StartCheck | None = None,
    ) -> Receipt:
        """Join an action on to what runs: it starts at the next slot.

        What runs and has one of its leaves pauses, a group whole, until it is over.

        Args:
            stream: what to put out.
            tick: now.
            delete: groups that are not to start any more; one that has, is revoked.
            start_check: as in `receive`.

        Raises:
            UnknownName: it has a leaf that the ledger does not know.
            BadInput: one of its leaves is a composite, or time goes back.
        """
        bus = self.cfg.bus_of(stream.unit)
        one = ReceivedStream(stream, bus, start_check=start_check, is_interrupt=True)
        return self._take(one, tick, delete)

    # -- streams go -------------------------------------------------------------------

    def delete_group(self, key: GroupKey, tick: int) -> bool:
        """End a group: no item of it goes out from now on.

        Returns:
            Whether there was one, waiting or running.
        """
        check_tick(tick)
        group = self.groups.find(key)
        if group is not None:
            self._delete(group, EndReason.DELETED, tick, "by its sender")
        return group is not None

    def withdraw(self, receipt: Receipt, tick: int) -> bool:
        """End a stream and the group that it belongs to.

        Returns:
            Whether it was not over.
        """
        check_tick(tick)
        one = self.groups.find_stream(receipt)
        if one is not None:
            self._delete(one.group, EndReason.DELETED, tick, "by its sender")
        return one is not None

    def is_under_way(self, key: GroupKey, tick: int) -> bool:
        """Return True if the key is in use and unavailable for a new group.

        Its group waits, runs, or ended so recently that late streams may still arrive.
        """
        groups = self.groups
        return groups.find(key) is not None or groups.is_dead(key, tick)

    # -- a slot -----------------------------------------------------------------------

    def step(self, tick: int) -> None:
        """Start what may start, and give the gate this slot's item of what runs.

        Raises:
            BadInput: time goes back.
        """
        self._pass_time(tick)
        self.groups.expire(tick, tick)
        self._slots.step(tick)

    def settle(self, tick: int) -> None:
        """Count what the gate has written in this slot; to be called after its flush.

        A group of which one item was refused is over: nothing of it was written.
        """
        check_tick(tick)
        self._slots.settle(tick)
        for hear in self.on_settled:
            hear(tick)

    # -- inside -----------------------------------------------------------------------

    def _take(
        self, one: ReceivedStream, tick: int, delete: Iterable[GroupKey] = ()
    ) -> Receipt:
        """Number, check and report a stream; queue it, or end its group."""
        self._pass_time(tick)
        self.groups.expire(tick - 1, tick)
        self._count += 1
        receipt = one.receipt = Receipt(number=self._count, received_tick=tick)
        _check_leaves(self._ledger, one.stream)
        refused = self._check_right(one) or self._check_place(one, tick)
        if self.groups.has_listeners:
            self._emit_received(one, tick, refused)
        if refused is None:
            for key in delete:
                self.delete_group(key, tick)
            self.groups.add(one, tick)
            return receipt
        receipt.refused, receipt.reason = refused, EndReason.REJECTED
        receipt.state, receipt.ended_tick = StreamState.ENDED, tick
        if refused in ENDS_GROUP and one.tag is not None:
            group = self.groups.find(one.tag.key)
            if group is not None:
                why = f"{refused} by stream {one.number}"
                self._delete(group, EndReason.REJECTED, tick, why)
        return receipt

    def _check_right(self, one: ReceivedStream) -> NotReceived | None:
        """Refuse a stream without a right before it can do harm to a group."""
        stream = one.stream
        lent = () if one.tag is None else self._ledger.lent(stream.token)
        one.receipt.detail = missing_right(self._ledger, stream, lent)
        return NotReceived.NO_TOKEN if one.receipt.detail else None

    def _check_place(self, one: ReceivedStream, tick: int) -> NotReceived | None:
        """Return what keeps a stream from waiting or starting, None if nothing does."""
        after, tag = one.after, one.tag
        if after is not None and after.is_over and not after.is_done:
            return NotReceived.AFTER_FAILED
        known = self.groups.stream(one.stream)
        if known is not None and (tag is None or known.group.key != tag.key):
            return NotReceived.UNDER_WAY
        if tag is not None:
            first = None if after is None else self.groups.find_stream(after)
            if first is not None and first.group.key == tag.key:
                raise BadInput(
                    f"{one.stream.label!r} follows stream {first.number} of its own "
                    f"group, {tag.key}; a group starts in one slot. Give them two "
                    "groups."
                )
            return self.groups.refusal(one, tick)
        if one.is_interrupt or (after is not None and not after.is_done):
            return None  # it pauses those that use its leaves, or waits for them
        users = self.groups.users(one.stream.leaves)
        in_use = any(user.tag is not None for user in users)
        return NotReceived.IN_USE if in_use else None

    def _emit_received(
        self, one: ReceivedStream, tick: int, refused: NotReceived | None
    ) -> None:
        token = one.stream.token
        self.groups.emit(
            StreamReceived(
                tick=tick,
                **one.head,
                bus=one.bus,
                token=token.id,
                leaves=tuple(sorted(one.stream.leaves)),
                points=0 if one.tag is None else one.tag.points,
                after=None if one.after is None else one.after.number,
                is_interrupt=one.is_interrupt,
                refused=refused,
                is_genuine=self._ledger.is_genuine(token),
            )
        )

    def _delete(self, group: Group, reason: EndReason, tick: int, detail: str) -> None:
        """End a group; one of which something went out is revoked."""
        reason = EndReason.REVOKED if group.has_started else reason
        self.groups.end(group, reason, tick, detail)

    def _pass_time(self, tick: int) -> None:
        check_tick(tick)
        if tick < self._tick:
            raise BadInput(
                f"tick is {tick}, but the transmitter stands at {self._tick}; time "
                "does not go back."
            )
        self._tick = tick


def _check_leaves(ledger: Ledger, stream: Stream) -> None:
    """Raise unless the token is one and the ledger knows all leaves."""
    if type(stream.token) is not Token:
        raise BadInput(
            f"token of {stream.label!r} is {short(stream.token)}; give that of a "
            "reservation of all its leaves."
        )
    for leaf in stream.leaves:
        ledger.authorise(None, leaf)
