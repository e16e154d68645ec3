"""I-23: the streams of a group start together or not at all, and end so.

Started streams in {0, all}; all first items in one slot; started only if the points
sum to the preset; on one bus items in the order (k, unit); after a delete or another
end no item. One that started finishes, or is revoked whole.

Streams and their groups are rebuilt from the trace and nothing else. Events are taken
as they come, right or wrong: what may not be is the judges' matter.
"""

from dataclasses import dataclass, field

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    before,
)
from nao_testbed.controllers.transmitter import events as s
from nao_testbed.controllers.transmitter.buses.group import UNIT_ORDER
from nao_testbed.controllers.transmitter.events import StreamReceived, StreamStarted
from nao_testbed.controllers.transmitter.receipt import EndReason

Key = tuple[int, str]
"""Preset and ID of a group."""


@dataclass(slots=True, eq=False)
class StreamRecord:
    """A stream that was received."""

    asked: StreamReceived
    group: "GroupRecord | None" = None
    items: int | None = None
    """None before it starts."""
    started_tick: int | None = None
    next: int = 0
    """Place of the item that goes out next."""
    sent_tick: int = -1
    """Slot of its last item, also of one that leads back."""
    sent_k: int = -1
    """Place of that."""
    is_paused: bool = False
    reason: EndReason | None = None
    """None: it has not ended."""
    ended_tick: int = -1

    @property
    def is_live(self) -> bool:
        """Whether it has not ended."""
        return self.reason is None

    @property
    def name(self) -> str:
        """For sentences about it."""
        return f"stream {self.asked.stream} ({self.asked.label!r})"


@dataclass(slots=True, eq=False)
class GroupRecord:
    """A group, from its first stream on."""

    key: Key
    streams: list[StreamRecord] = field(default_factory=list)
    is_complete: bool = False
    started_tick: int | None = None

    @property
    def name(self) -> str:
        """For sentences about it."""
        return f"group {self.key[1]!r} of {self.key[0]}"

    @property
    def points(self) -> int:
        """Sum of the points of its streams."""
        return sum(one.asked.points for one in self.streams)

    @property
    def is_live(self) -> bool:
        """Whether a stream has not ended."""
        return any(one.is_live for one in self.streams)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its streams, rising."""
        return tuple(sorted(one.asked.stream for one in self.streams))


class StreamRecords:
    """Every stream that was taken, and the newest group of every key."""

    def __init__(self) -> None:
        """Begin with none."""
        self.streams: dict[int, StreamRecord] = {}
        self.groups: dict[Key, GroupRecord] = {}
        self.last = 0
        """Highest number so far."""

    def receive(self, event: StreamReceived) -> StreamRecord | None:
        """Note a stream that came; return its record if it was taken."""
        self.last = max(self.last, event.stream)
        if event.refused is not None:
            return None
        record = self.streams[event.stream] = StreamRecord(event)
        if event.group is not None and event.preset is not None:
            key = (event.preset, event.group)
            group = self.groups.get(key)
            if group is None or not group.is_live:
                group = self.groups[key] = GroupRecord(key)
            record.group = group
            group.streams.append(record)
        return record

    def start(self, event: StreamStarted) -> None:
        """Note that a stream has started."""
        record = self.streams.get(event.stream)
        if record is not None:
            record.started_tick = event.tick
            record.items = event.items

    def users(self, leaves: tuple[str, ...]) -> list[StreamRecord]:
        """Return streams of started groups that use one of some leaves."""
        return [
            record
            for group in self.groups.values()
            if group.started_tick is not None
            for record in group.streams
            if record.is_live and not set(leaves).isdisjoint(record.asked.leaves)
        ]

    def began(self, leaves: tuple[str, ...], tick: int) -> bool:
        """Whether a group with one of some leaves started or ended in a slot."""
        return any(
            tick in (record.started_tick, record.ended_tick)
            and not set(leaves).isdisjoint(record.asked.leaves)
            for group in self.groups.values()
            for record in group.streams
        )


_UNSTARTED = (EndReason.DELETED, EndReason.EXPIRED, EndReason.REJECTED)
"""Reasons that only a stream can have that never started."""


@dataclass(eq=False)
class Together(InvariantJudge):
    """Judges each event, and each group once the slot in which it changed is over."""

    invariants = ("I-23",)

    _records: StreamRecords = field(default_factory=StreamRecords)
    _touched: dict[GroupRecord, None] = field(default_factory=dict)
    """Groups to look at when this slot is over."""
    _out: list[StreamRecord] = field(default_factory=list)
    """Streams of which an item went out in this slot."""
    _tick: int = -1
    _on_bus: dict[tuple[str, GroupRecord], tuple[int, int]] = field(
        default_factory=dict
    )
    """Bus and group to unit and stream of its last item in this slot."""
    _has_items: bool = False
    """Whether items are told."""

    # -- the beginning ----------------------------------------------------------------

    @before
    def slot_is_over(self, event: t.Event) -> Findings:
        """When time has passed, look at the groups that had changed."""
        if event.tick > self._tick:
            if self._touched or self._out:
                yield from self._look_back()
            self._tick = event.tick

    @before
    def received_in_order(self, event: s.StreamReceived) -> Findings:
        """Streams are numbered upwards; nobody joins a group that is complete."""
        if event.stream <= self._records.last:
            yield "I-23", f"stream number {event.stream} was used before"
        record = self._records.receive(event)
        if record is not None and record.group is not None:
            group = record.group
            self._touched[group] = None
            if group.is_complete or group.started_tick is not None:
                yield "I-23", f"{record.name} joins {group.name}, which was complete"
            if group.points > group.key[0]:
                yield "I-23", f"{group.name} waits with {group.points} points"

    @before
    def complete_by_its_points(self, event: s.GroupCompleted) -> Findings:
        """The points of its streams sum to the preset."""
        group = self._records.groups.get((event.preset, event.group))
        if group is None or group.is_complete or not group.is_live:
            yield "I-23", f"group {event.group!r} is complete, but does not wait"
            return
        group.is_complete = True
        yield from _whole(group, event.streams, "complete")

    @before
    def started_whole(self, event: s.GroupStarted) -> Findings:
        """It is complete, all its streams start, and what they follow is done."""
        group = self._records.groups.get((event.preset, event.group))
        if group is None or group.started_tick is not None or not group.is_live:
            yield "I-23", f"group {event.group!r} starts, but does not wait"
            return
        if not group.is_complete:
            yield "I-23", f"{group.name} starts, but was not complete"
        group.started_tick = event.tick
        self._touched[group] = None
        yield from _whole(group, event.streams, "started")
        for one in group.streams:
            first = self._records.streams.get(one.asked.after or 0)
            if first is not None and not _is_done_before(first, event.tick):
                yield "I-23", f"{one.name} starts before {first.name} is done"

    @before
    def started_once(self, event: s.StreamStarted) -> Findings:
        """A stream of a group starts in the slot of the group."""
        record = self._records.streams.get(event.stream)
        if record is None or record.started_tick is not None or not record.is_live:
            yield "I-23", f"stream {event.stream} starts, but does not wait"
            return
        if record.group is not None and record.group.started_tick != event.tick:
            yield "I-23", f"{record.name} starts without its {record.group.name}"
        self._records.start(event)

    # -- items ------------------------------------------------------------------------

    @before
    def sent_in_order(self, event: s.Sent) -> Findings:
        """One item of a stream a slot, in order; a group's in the order of units."""
        self._has_items = True
        record = self._records.streams.get(event.stream)
        if record is None or not record.is_live or record.started_tick is None:
            yield "I-23", f"an item of stream {event.stream}, which does not run"
            return
        if record.sent_tick == event.tick:
            yield "I-23", f"{record.name} has two items in one slot"
        if event.k == -1:
            if not record.is_paused:
                yield "I-23", f"{record.name} is led back, but was not paused"
        elif event.k != record.next or record.is_paused:
            yield "I-23", f"item {event.k} of {record.name}; {record.next} is the next"
        elif event.k == 0 and event.tick != record.started_tick:
            yield "I-23", f"{record.name} started in slot {record.started_tick}"
        record.next += event.k >= 0
        record.sent_tick, record.sent_k = event.tick, event.k
        self._out.append(record)
        if record.group is not None:
            self._touched[record.group] = None
            place = (UNIT_ORDER[event.unit], event.stream)
            last = self._on_bus.get((event.bus, record.group), (-1, 0))
            if place <= last:
                yield "I-23", f"{record.name} is on bus {event.bus!r} after its place"
            self._on_bus[event.bus, record.group] = place

    @before
    def paused(self, event: s.StreamPaused) -> Findings:
        """Note a pause; the group is judged when the slot is over."""
        yield from self._pause(event.stream, True)

    @before
    def resumed(self, event: s.StreamResumed) -> Findings:
        """Note that it goes on."""
        yield from self._pause(event.stream, False)

    # -- the end ----------------------------------------------------------------------

    @before
    def ended_once(self, event: s.StreamEnded) -> Findings:
        """A stream ends once; DONE when all its items went out."""
        record = self._records.streams.get(event.stream)
        if record is None or not record.is_live:
            yield "I-23", f"stream {event.stream} ends, but is over"
            return
        record.reason, record.ended_tick = event.reason, event.tick
        if event.reason is EndReason.DONE and event.sent != record.items:
            yield "I-23", f"{record.name} is done with {event.sent} of {record.items}"
        if self._has_items and event.sent != record.next:
            yield "I-23", f"{record.name} sent {record.next} items, not {event.sent}"
        if event.reason in _UNSTARTED and record.started_tick is not None:
            yield "I-23", f"{record.name} is {event.reason}, but had started"
        if record.group is not None:
            self._touched[record.group] = None

    def end(self) -> Findings:
        """Look at the last slot."""
        yield from self._look_back()

    # -- inside -----------------------------------------------------------------------

    def _look_back(self) -> Findings:
        for record in self._out:
            if record.is_live and record.next == record.items:
                yield "I-23", f"{record.name} has sent its last item, but goes on"
        for group in self._touched:
            yield from self._judge_start(group)
            yield from self._judge_instant(group)
            yield from self._judge_end(group)
        self._out.clear()
        self._touched.clear()
        self._on_bus.clear()

    def _judge_start(self, group: GroupRecord) -> Findings:
        if group.started_tick != self._tick:
            return
        for one in group.streams:
            if one.started_tick != self._tick:
                yield "I-23", f"{group.name} has started without {one.name}"

    def _judge_instant(self, group: GroupRecord) -> Findings:
        """All that run have an item of one place in this slot, or none has any."""
        now = self._tick
        runs = [one for one in group.streams if one.is_live or one.ended_tick == now]
        if len({one.is_paused for one in runs if one.is_live}) > 1:
            yield "I-23", f"only a part of {group.name} is paused"
        sent = [one for one in runs if one.sent_tick == now]
        if not sent or sent[0].sent_k == -1:  # some have less far to go back
            return
        if len(sent) != len(runs) or len({one.sent_k for one in sent}) > 1:
            places = ", ".join(f"{x.asked.stream}: {x.sent_k}" for x in sent)
            yield "I-23", f"{group.name} has items of {len(runs)} streams at {places}"

    def _judge_end(self, group: GroupRecord) -> Findings:
        now = self._tick
        ends = [one for one in group.streams if one.ended_tick == now]
        broken = [one for one in ends if one.reason is not EndReason.DONE]
        left = [one for one in group.streams if one.is_live]
        if broken and left:
            yield (
                "I-23",
                f"{broken[0].name} is {broken[0].reason}; {left[0].name} goes on",
            )
        if len({one.reason for one in broken}) > 1:
            yield "I-23", f"streams of {group.name} end for different reasons"

    def _pause(self, stream: int, is_paused: bool) -> Findings:
        record = self._records.streams.get(stream)
        if record is None or not record.is_live or record.is_paused is is_paused:
            what = "pauses" if is_paused else "goes on"
            yield "I-23", f"stream {stream} {what}, but does so already or is over"
            return
        record.is_paused = is_paused
        if record.group is not None:
            self._touched[record.group] = None


def _whole(group: GroupRecord, streams: tuple[int, ...], what: str) -> Findings:
    if group.points != group.key[0]:
        yield "I-23", f"{group.name} is {what} with {group.points} points"
    if streams != group.numbers:
        yield "I-23", f"{group.name} is {what} as {streams}; it is {group.numbers}"


def _is_done_before(first: StreamRecord, tick: int) -> bool:
    return first.reason is EndReason.DONE and first.ended_tick < tick
