"""Received streams and their groups, which start, pause and end together."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from nao_testbed.controllers.arbitration.gate.slot import Batch
from nao_testbed.controllers.transmitter.receipt import GroupKey, Receipt, SyncTag
from nao_testbed.controllers.transmitter.streams import Item, Present, Stream
from nao_testbed.models.library import Unit

UNIT_ORDER = {unit: place for place, unit in enumerate(Unit)}
"""Unit to the rank of its items within a slot [CN1396856, fig. 18]."""
OnSignal = Callable[[int], None]
"""Callback; its argument is the first slot in which at most `signal_at` items are
left."""
StartCheck = Callable[[Present], str]
"""Function of the present set-points; returns why a stream cannot begin, empty if it
can."""


@dataclass(slots=True, eq=False)
class ReceivedStream:
    """Stream with its state, from reception to end."""

    stream: Stream
    bus: str
    tag: SyncTag | None = None
    """Tag with the group; None: an independent stream."""
    after: Receipt | None = None
    """Receipt of the predecessor, which must end first; None: no predecessor."""
    signal_at: int | None = None
    """Number of remaining items at which the sender is notified; None: never, or
    already notified."""
    on_signal: OnSignal | None = None
    start_check: StartCheck | None = None
    """Check called at the start; None: no check."""
    is_interrupt: bool = False
    receipt: Receipt = field(init=False)
    group: "Group" = field(init=False)
    """Group with which the stream starts; an independent stream has its own."""
    values: int = 0
    """Number of leaves that the item of this slot commands."""

    @property
    def number(self) -> int:
        """Number of the stream, in the order of reception."""
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
"""Stream with its item of a slot."""


class GroupState(StrEnum):
    """State of a group."""

    INCOMPLETE = "incomplete"
    """The points do not sum to the preset yet."""
    WAITING = "waiting"
    """Complete; waits for its predecessor, its leaves, its buses or its slot."""
    RUNNING = "running"
    PAUSED = "paused"
    """Paused by interrupts, until the group is back at its interrupted position."""
    OVER = "over"


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSnapshot:
    """Snapshot of a group, or of an independent stream."""

    name: str
    """Preset and group, or label of the independent stream."""
    state: GroupState
    points: int
    preset: int | None
    """Sum of points at which it starts; None: an independent stream."""
    due_tick: int | None
    """Slot in which it expires if it stays incomplete."""
    waits_for: tuple[str, ...]
    """Names of the streams that use its leaves or that it follows."""
    leaves: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Group:
    """Streams that start and pause together: a group, or an independent stream."""

    key: GroupKey | None
    """Key of the group; None: an independent stream."""
    due_tick: int = 0
    """Slot in which it expires if it is incomplete."""
    state: GroupState = GroupState.INCOMPLETE
    streams: list[ReceivedStream] = field(default_factory=list)
    """Streams in the order of their numbers."""
    live: list[ReceivedStream] = field(default_factory=list)
    """Streams that have not ended."""
    points: int = 0
    """Sum of the streams' points (S8, S81)."""
    after: set[int] = field(default_factory=set)
    """Numbers of the streams that must end before this group starts."""
    place: int = 0
    """Position in the waiting line, in order of arrival."""
    has_started: bool = False
    """True if first items have been sent."""
    batch: Batch | None = None
    """Batch passed to the gate in this slot, between `step` and `settle`."""
    blockers: dict["Group", None] = field(default_factory=dict)
    """Interrupts that use its leaves while it is paused; empty: it can return."""
    lead: list[list[Part]] | None = None
    """Items per slot that return it to its interrupted position; None: not computed
    yet."""
    blocks: list["Group"] = field(default_factory=list)
    """Groups that it has paused as an interrupt."""

    def join(self, one: ReceivedStream) -> None:
        """Add a received stream."""
        one.group = self
        self.streams.append(one)
        self.live.append(one)
        if one.tag is not None:
            self.points += one.tag.points

    @property
    def leaves(self) -> list[str]:
        """Leaves of its live streams."""
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
