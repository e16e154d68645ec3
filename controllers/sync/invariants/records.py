"""The streams and their groups, rebuilt from the trace and nothing else.

Events are taken as they come, right or wrong: what may not be is the judges' matter.
"""

from dataclasses import dataclass, field

from controllers.sync.transmitter.trace import StreamReceived, StreamStarted
from controllers.sync.transmitter.words import EndReason

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
    """A group, from its first member on."""

    key: Key
    members: list[StreamRecord] = field(default_factory=list)
    is_complete: bool = False
    started_tick: int | None = None

    @property
    def name(self) -> str:
        """For sentences about it."""
        return f"group {self.key[1]!r} of {self.key[0]}"

    @property
    def points(self) -> int:
        """Sum of the points of its members."""
        return sum(member.asked.points for member in self.members)

    @property
    def is_live(self) -> bool:
        """Whether a member has not ended."""
        return any(member.is_live for member in self.members)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its streams, rising."""
        return tuple(sorted(member.asked.stream for member in self.members))


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
            group.members.append(record)
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
            for record in group.members
            if record.is_live and not set(leaves).isdisjoint(record.asked.leaves)
        ]

    def began(self, leaves: tuple[str, ...], tick: int) -> bool:
        """Whether a group with one of some leaves started or ended in a slot."""
        return any(
            tick in (record.started_tick, record.ended_tick)
            and not set(leaves).isdisjoint(record.asked.leaves)
            for group in self.groups.values()
            for record in group.members
        )
