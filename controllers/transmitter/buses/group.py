"""A received stream, and the group with which it starts, pauses and ends."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nao_testbed.controllers.arbitration.gate.slot import Batch
from nao_testbed.controllers.transmitter.receipt import GroupKey, Receipt, SyncTag
from nao_testbed.controllers.transmitter.streams import Item, Present, Stream
from nao_testbed.models.library import Unit

UNIT_ORDER = {unit: place for place, unit in enumerate(Unit)}
"""Place of a unit's items within an instant [CN1396856, fig. 18]."""
OnSignal = Callable[[int], None]
"""Callback with the first slot in which at most `signal_at` items are left."""
StartCheck = Callable[[Present], str]
"""Says, given the set-points, why a stream cannot begin; empty: it can."""


@dataclass(slots=True, eq=False)
class ReceivedStream:
    """One stream, from its receipt to its end."""

    stream: Stream
    bus: str
    tag: SyncTag | None = None
    """None: it is independent."""
    after: Receipt | None = None
    """Of the stream that has to come to its end before; None: of none."""
    signal_at: int | None = None
    """Remaining items at which the sender is notified; None: never, or already."""
    on_signal: OnSignal | None = None
    start_check: StartCheck | None = None
    """Asked at its start; None: it can begin."""
    is_interrupt: bool = False
    receipt: Receipt = field(init=False)
    group: "Group" = field(init=False)
    """With which it starts; alone in it if it is independent."""
    values: int = 0
    """Leaves that its item of this slot commands."""

    @property
    def number(self) -> int:
        """Of the stream, in the order of receiving."""
        return self.receipt.number

    @property
    def head(self) -> dict[str, Any]:
        """Common fields of its events."""
        stream, tag = self.stream, self.tag
        return {
            "stream": self.number,
            "unit": stream.unit,
            "label": stream.label,
            "group": None if tag is None else tag.group,
            "preset": None if tag is None else tag.preset,
        }


Part = tuple[ReceivedStream, Item]
"""What one stream puts out in a slot."""


class GroupState(StrEnum):
    """State of a group."""

    INCOMPLETE = "incomplete"
    """Its points do not sum to the preset yet."""
    WAITING = "waiting"
    """Complete; for what it follows, for its leaves, for its buses or its slot."""
    RUNNING = "running"
    PAUSED = "paused"
    """By interrupts, and until it is back where it was."""
    OVER = "over"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSnapshot:
    """Snapshot of a group, or of an independent stream."""

    name: str
    """Preset and group, or what the stream is called."""
    state: GroupState
    points: int
    preset: int | None
    """Points that it needs; None: an independent stream."""
    due_tick: int | None
    """When it expires if it stays incomplete."""
    waits_for: tuple[str, ...]
    """What has a leaf that it needs, or has to end before."""
    leaves: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Group:
    """Streams that start and pause together: a group, or an independent stream."""

    key: GroupKey | None
    """None: an independent stream."""
    due_tick: int = 0
    """When it expires if it is incomplete."""
    state: GroupState = GroupState.INCOMPLETE
    streams: list[ReceivedStream] = field(default_factory=list)
    """In the order of their numbers."""
    live: list[ReceivedStream] = field(default_factory=list)
    """Streams that have not ended."""
    points: int = 0
    """Sum of its streams' (S8, S81)."""
    after: set[int] = field(default_factory=set)
    """Numbers of the streams that have to come to their end before."""
    place: int = 0
    """Position in the waiting line, in order of arrival."""
    has_started: bool = False
    """Whether first items have gone out."""
    batch: Batch | None = None
    """What it gave the gate in this slot, between `step` and `settle`."""
    blockers: dict["Group", None] = field(default_factory=dict)
    """Interrupts that have its leaves while it is paused; none: it may come back."""
    lead: list[list[Part]] | None = None
    """What leads it back to where it was, a slot each; None: not known yet."""
    blocks: list["Group"] = field(default_factory=list)
    """What it has paused, as an interrupt."""

    def join(self, one: ReceivedStream) -> None:
        """Take a stream that was received."""
        one.group = self
        self.streams.append(one)
        self.live.append(one)
        if one.tag is not None:
            self.points += one.tag.points

    @property
    def leaves(self) -> list[str]:
        """Those of its streams that have not ended."""
        return [leaf for one in self.live for leaf in one.stream.leaves]

    def break_batch(self) -> None:
        """Withdraw its items from the gate's batch of this slot."""
        if self.batch is not None:
            self.batch.is_broken = True
            self.batch = None

    @property
    def head(self) -> dict[str, Any]:
        """Common fields of the events of a group with a key."""
        assert self.key is not None
        streams = tuple(sorted(one.number for one in self.streams))
        return {"group": self.key.group, "preset": self.key.preset, "streams": streams}
