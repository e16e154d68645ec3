"""The transmitter: streams of a group start in one slot, or not at all.

    receive -> areas of the buses -> points sum to the preset -> step -> gate -> settle

[CN1396856, fig. 18 to 28]. Once per device slot, `step` passes one item of each running
stream to the gate. `settle` runs after the gate's flush and counts the written items. A
slot starts first interrupts, then independent streams, then complete groups (S2 to
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
"""Refusals that end the whole group, since it can never become valid."""


class Transmitter:
    """Buffer of streams that starts them together and passes their items to the gate.

    Deterministic and single-threaded, like the ledger. A receipt shows the progress of
    its stream; every end is also reported as an event.
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
            gate: gate that writes the items of each slot, and all or none of a group's.
            ledger: ledger of the gate; it validates tokens and receives events.
            cfg: buses, their checking units, and the time to live of a group.
            permits: called before a group starts on its buses; None: always permitted.
        """
        self.cfg = cfg or TransmitterCfg()
        self.groups = Groups(self.cfg, ledger)
        """Table of groups, read by viewers and tests."""
        self.on_settled: list[Callable[[int], None]] = []
        """Called with the tick at the end of every `settle`."""
        self._ledger = ledger
        self._slots = Slots(gate, ledger, self.groups, permits)
        self._count = 0
        self._tick = 0

    # -- adding streams ----------------------------------------------------------------

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
        """Receive a stream: without a tag it starts at once, with a tag it waits.

        Args:
            stream: output, played once.
            tag: ID and points of the stream's group; None: the stream is independent.
            tick: present slot. A stream received before `step` can start in this slot.
            after: predecessor. This stream and its group start in the slot after the
                predecessor's end, and fail if the predecessor fails.
            signal_at: number of remaining items at which `on_signal` is called with the
                slot: the transmit-enable signal. 0: at the end of the stream.
            on_signal: callback at the end of that slot's `settle`.
            start_check: called in the slot of the start; returns why the stream cannot
                begin, empty if it can.

        Returns:
            Receipt of the stream, with the reason if it was refused. A stream whose
            points exceed the preset ends its group.

        Raises:
            UnknownName: a leaf of the stream is not in the ledger.
            BadInput: the token has the wrong type, a leaf is a composite, the stream
                follows its own group, or the tick decreases.
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
        """Start a stream in the next slot and pause running streams that share a leaf.

        A group pauses as a whole until the interrupt has ended.

        Args:
            stream: output of the interrupt.
            tick: present slot.
            delete: groups to delete; a group that has started is revoked.
            start_check: as in `receive`.

        Raises:
            UnknownName: a leaf of the stream is not in the ledger.
            BadInput: a leaf is a composite, or the tick decreases.
        """
        bus = self.cfg.bus_of(stream.unit)
        one = ReceivedStream(stream, bus, start_check=start_check, is_interrupt=True)
        return self._take(one, tick, delete)

    # -- removing streams --------------------------------------------------------------

    def delete_group(self, key: GroupKey, tick: int) -> bool:
        """End a group; none of its items is sent from now on.

        Returns:
            True if there was such a group, waiting or running.
        """
        check_tick(tick)
        group = self.groups.find(key)
        if group is not None:
            self._delete(group, EndReason.DELETED, tick, "by its sender")
        return group is not None

    def withdraw(self, receipt: Receipt, tick: int) -> bool:
        """End a stream and the group that it belongs to.

        Returns:
            True if the stream had not ended yet.
        """
        check_tick(tick)
        one = self.groups.find_stream(receipt)
        if one is not None:
            self._delete(one.group, EndReason.DELETED, tick, "by its sender")
        return one is not None

    def is_under_way(self, key: GroupKey, tick: int) -> bool:
        """Return True if the key is in use and unavailable for a new group.

        The group waits, runs, or ended so recently that late streams may still arrive.
        """
        groups = self.groups
        return groups.find(key) is not None or groups.is_dead(key, tick)

    # -- a slot ------------------------------------------------------------------------

    def step(self, tick: int) -> None:
        """Start the streams that are due, and pass this slot's items to the gate.

        Raises:
            BadInput: the tick decreases.
        """
        self._pass_time(tick)
        self.groups.expire(tick, tick)
        self._slots.step(tick)

    def settle(self, tick: int) -> None:
        """Count the items written by the gate in this slot; call it after the flush.

        If one item of a group was refused, none was written, and the group ends.
        """
        check_tick(tick)
        self._slots.settle(tick)
        for hear in self.on_settled:
            hear(tick)

    # -- internals ---------------------------------------------------------------------

    def _take(
        self, one: ReceivedStream, tick: int, delete: Iterable[GroupKey] = ()
    ) -> Receipt:
        """Number, check and report a stream, then queue it or end its group."""
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
        """Return a refusal if the token does not cover the stream's leaves."""
        stream = one.stream
        lent = () if one.tag is None else self._ledger.lent(stream.token)
        one.receipt.detail = missing_right(self._ledger, stream, lent)
        return NotReceived.NO_TOKEN if one.receipt.detail else None

    def _check_place(self, one: ReceivedStream, tick: int) -> NotReceived | None:
        """Return the reason why a stream can neither wait nor start, or None."""
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
            return None  # it pauses the streams on its leaves, or waits for them
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
        """End a group; it counts as revoked if an item was sent."""
        reason = EndReason.REVOKED if group.has_started else reason
        self.groups.end(group, reason, tick, detail)

    def _pass_time(self, tick: int) -> None:
        check_tick(tick)
        if tick < self._tick:
            raise BadInput(
                f"tick is {tick}, but the transmitter is at {self._tick}; a tick "
                "must not decrease."
            )
        self._tick = tick


def _check_leaves(ledger: Ledger, stream: Stream) -> None:
    """Raise if the token has the wrong type or a leaf is not in the ledger."""
    if type(stream.token) is not Token:
        raise BadInput(
            f"token of {stream.label!r} is {short(stream.token)}; give that of a "
            "reservation of all its leaves."
        )
    for leaf in stream.leaves:
        ledger.authorise(None, leaf)
