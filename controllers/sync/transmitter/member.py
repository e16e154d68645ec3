"""A stream inside the transmitter, and what plays together."""

from collections.abc import Callable, Sequence

from controllers.arbitration.gate.slot import Batch
from controllers.sync.streams.stream import Item, Present, Stream
from controllers.sync.transmitter.receipt import Receipt
from controllers.sync.transmitter.sync_tag import GroupKey, SyncTag
from controllers.sync.transmitter.words import StreamState
from models.library import Unit

UNIT_ORDER = {unit: place for place, unit in enumerate(Unit)}
"""Place of a unit's items within an instant [CN1396856, fig. 18]."""
OnSignal = Callable[[int], None]
"""Told the slot in which few enough items are left."""
WhyNot = Callable[[Present], str]
"""Says, given the set-points, why a stream cannot begin; empty: it can."""


class Member:
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
        self.play: Play | None = None
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


Part = tuple[Member, Item]
"""What one member puts out in a slot."""


class Pause:
    """Why a play does not go on, and how it comes back to where it was."""

    __slots__ = ("blockers", "lead")

    def __init__(self) -> None:
        """Begin without a reason."""
        self.blockers: dict[Play, None] = {}
        """Interrupts that have its leaves; none: it may come back."""
        self.lead: list[list[Part]] | None = None
        """What leads back, a slot each; None: not known yet."""


class Play:
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

    def __init__(self, key: GroupKey | None, members: Sequence[Member]) -> None:
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
        self.blocks: list[Play] = []
        """What it has paused, as an interrupt."""
        for member in members:
            member.play = self
