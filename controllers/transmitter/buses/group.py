"""A received stream, the group with which it plays, its events and its end.

`ReceivedStream` goes from the receipt to the end of one stream; a `Group` starts
together and pauses together: the members of a synchronous group, or one independent
stream. `StreamEndings` is the one place in which a stream ends, for whatever reason.
Without listeners of the ledger the events cost nothing; items are told only where the
gate's commands are.
"""

from collections.abc import Callable, Iterable, Sequence

from controllers.arbitration.gate.slot import Batch
from controllers.arbitration.manager.ledger import Ledger
from controllers.transmitter.events import (
    GroupCompleted,
    GroupStarted,
    PartStarted,
    Sent,
    StreamEnded,
    StreamPaused,
    StreamReceived,
    StreamResumed,
    StreamStarted,
)
from controllers.transmitter.receipt import (
    EndReason,
    GroupKey,
    NotReceived,
    Receipt,
    StreamState,
    SyncTag,
)
from controllers.transmitter.streams import Item, Present, Stream
from models.library import Unit

UNIT_ORDER = {unit: place for place, unit in enumerate(Unit)}
"""Place of a unit's items within an instant [CN1396856, fig. 18]."""
OnSignal = Callable[[int], None]
"""Told the slot in which few enough items are left."""
WhyNot = Callable[[Present], str]
"""Says, given the set-points, why a stream cannot begin; empty: it can."""


class ReceivedStream:
    """One stream, from its receipt to its end."""

    __slots__ = (
        "after",
        "bus",
        "is_interrupt",
        "number",
        "on_signal",
        "order",
        "play",
        "receipt",
        "signal_at",
        "stream",
        "tag",
        "values",
        "why_not",
    )

    def __init__(
        self,
        stream: Stream,
        tag: SyncTag | None,
        bus: str,
        receipt: Receipt,
        *,
        after: Receipt | None = None,
        is_interrupt: bool = False,
        why_not: WhyNot | None = None,
    ) -> None:
        """Begin as one that was just received."""
        self.stream = stream
        self.tag = tag
        self.bus = bus
        self.receipt = receipt
        self.after = after
        """Of the stream that has to come to its end before; None: of none."""
        self.is_interrupt = is_interrupt
        self.why_not = why_not
        """Asked at its start; None: it can begin."""
        self.number = receipt.number
        self.order = UNIT_ORDER[stream.unit]
        self.play: Group | None = None
        """With which it starts; None while its group is not complete."""
        self.signal_at: int | None = None
        """Items left at which its sender is told; None: not, or it was."""
        self.on_signal: OnSignal | None = None
        self.values = 0
        """Leaves that its item of this slot commands."""

    @property
    def key(self) -> GroupKey | None:
        """Its group, None if it is independent."""
        return None if self.tag is None else self.tag.key

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.receipt.state is StreamState.ENDED


Part = tuple[ReceivedStream, Item]
"""What one member puts out in a slot."""


class Pause:
    """Why a play does not go on, and how it comes back to where it was."""

    __slots__ = ("blockers", "lead")

    def __init__(self) -> None:
        """Begin without a reason."""
        self.blockers: dict[Group, None] = {}
        """Interrupts that have its leaves; none: it may come back."""
        self.lead: list[list[Part]] | None = None
        """What leads back, a slot each; None: not known yet."""


class Group:
    """What starts together and pauses together: a group, or an independent stream."""

    __slots__ = (
        "after",
        "batch",
        "blocks",
        "has_started",
        "key",
        "live",
        "members",
        "pause",
        "place",
    )

    def __init__(self, key: GroupKey | None, members: Sequence[ReceivedStream]) -> None:
        """Bind members, in the order of their numbers."""
        self.key = key
        self.members = tuple(members)
        self.live = list(members)
        """Those that have not ended."""
        self.after: set[int] = set()
        """Numbers of the streams that have to come to their end before."""
        self.place = 0
        """Among those that had to wait, in the order in which they came."""
        self.has_started = False
        """Whether first items have gone out."""
        self.batch: Batch | None = None
        """What it gave the gate in this slot, between `step` and `settle`."""
        self.pause: Pause | None = None
        """None: it is not paused."""
        self.blocks: list[Group] = []
        """What it has paused, as an interrupt."""
        for member in members:
            member.play = self


class StreamEvents:
    """Makes the events of one transmitter."""

    __slots__ = ("_items", "_ledger", "_listeners")

    def __init__(self, ledger: Ledger) -> None:
        """Tell on behalf of one transmitter."""
        self._ledger = ledger
        self._listeners = ledger.listeners
        self._items = ledger.cfg.tells_commands

    @property
    def tells_items(self) -> bool:
        """Whether anybody is told of items."""
        return self._items and bool(self._listeners)

    def received(
        self, member: ReceivedStream, tick: int, refused: NotReceived | None
    ) -> None:
        """Tell that a stream came."""
        if not self._listeners:
            return
        stream, tag = member.stream, member.tag
        self._ledger.tell(
            StreamReceived(
                tick=tick,
                stream=member.number,
                unit=stream.unit,
                label=stream.label,
                bus=member.bus,
                token=stream.token.id,
                leaves=tuple(sorted(stream.leaves)),
                group=None if tag is None else tag.group,
                preset=None if tag is None else tag.preset,
                points=0 if tag is None else tag.points,
                after=None if member.after is None else member.after.number,
                is_interrupt=member.is_interrupt,
                refused=refused,
                is_genuine=self._ledger.is_genuine(stream.token),
            )
        )

    def completed(
        self,
        key: GroupKey,
        streams: Iterable[int],
        found_by: tuple[str, ...],
        tick: int,
    ) -> None:
        """Tell that a group is complete."""
        if self._listeners:
            self._ledger.tell(
                GroupCompleted(
                    tick=tick,
                    group=key.group,
                    preset=key.preset,
                    streams=tuple(sorted(streams)),
                    found_by=found_by,
                )
            )

    def group_started(self, key: GroupKey, streams: Iterable[int], tick: int) -> None:
        """Tell that a group has started."""
        if self._listeners:
            self._ledger.tell(
                GroupStarted(
                    tick=tick,
                    group=key.group,
                    preset=key.preset,
                    streams=tuple(sorted(streams)),
                )
            )

    def started(self, member: ReceivedStream, tick: int) -> None:
        """Tell that a stream has started."""
        if not self._listeners:
            return
        stream, key = member.stream, member.key
        self._ledger.tell(
            StreamStarted(
                tick=tick,
                stream=member.number,
                unit=stream.unit,
                label=stream.label,
                leaves=tuple(sorted(stream.leaves)),
                group=None if key is None else key.group,
                preset=None if key is None else key.preset,
                items=member.receipt.items or 0,
            )
        )

    def part_started(self, member: ReceivedStream, label: str, tick: int) -> None:
        """Tell that one of the motions of a stream begins."""
        if self._listeners:
            number, unit = member.number, member.stream.unit
            self._ledger.tell(
                PartStarted(tick=tick, stream=number, unit=unit, label=label)
            )

    def sent(self, member: ReceivedStream, k: int, tick: int) -> None:
        """Tell that an item was on its bus; asked for only if `tells_items`."""
        key = member.key
        self._ledger.tell(
            Sent(
                tick=tick,
                bus=member.bus,
                unit=member.stream.unit,
                stream=member.number,
                k=k,
                group=None if key is None else key.group,
                preset=None if key is None else key.preset,
                values=member.values,
            )
        )

    def paused(self, member: ReceivedStream, by: int, tick: int) -> None:
        """Tell that a stream is paused."""
        if self._listeners:
            self._ledger.tell(StreamPaused(tick=tick, stream=member.number, by=by))

    def resumed(self, member: ReceivedStream, tick: int) -> None:
        """Tell that a stream goes on."""
        if self._listeners:
            self._ledger.tell(StreamResumed(tick=tick, stream=member.number))

    def ended(
        self, member: ReceivedStream, reason: EndReason, detail: str, tick: int
    ) -> None:
        """Tell that a stream is over."""
        if not self._listeners:
            return
        stream, key = member.stream, member.key
        self._ledger.tell(
            StreamEnded(
                tick=tick,
                stream=member.number,
                unit=stream.unit,
                label=stream.label,
                group=None if key is None else key.group,
                preset=None if key is None else key.preset,
                reason=reason,
                sent=member.receipt.sent,
                detail=detail,
            )
        )


class StreamEndings:
    """Ends streams; those who listen let go of them."""

    __slots__ = ("_events", "on_end")

    def __init__(self, events: StreamEvents) -> None:
        """Begin with nobody who listens."""
        self._events = events
        self.on_end: list[Callable[[ReceivedStream, int], None]] = []
        """Called with each stream that has ended, and the tick, in this order."""

    def end(
        self, member: ReceivedStream, reason: EndReason, tick: int, detail: str = ""
    ) -> None:
        """End one stream, unless it is over."""
        receipt = member.receipt
        if receipt.state is StreamState.ENDED:
            return
        receipt.state = StreamState.ENDED
        receipt.reason = reason
        receipt.detail = detail
        receipt.ended_tick = tick
        member.signal_at = member.on_signal = None
        if member.play is not None:
            member.play.live.remove(member)
        self._events.ended(member, reason, detail, tick)
        for let_go in self.on_end:
            let_go(member, tick)

    def end_all(
        self,
        members: Iterable[ReceivedStream],
        reason: EndReason,
        tick: int,
        detail: str = "",
    ) -> None:
        """End several streams for one reason, in their order."""
        for member in tuple(members):
            self.end(member, reason, tick, detail)

    def end_play(
        self, play: Group, reason: EndReason, tick: int, detail: str = ""
    ) -> None:
        """End what is left of a play; what it gave the gate in this slot is not put."""
        if play.batch is not None:
            play.batch.is_broken = True
            play.batch = None
        self.end_all(play.live, reason, tick, detail)
