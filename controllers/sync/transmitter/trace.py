"""What the transmitter tells: every stream that came, every item that went out.

Streams stand by their numbers. Those of no group have None for group and preset: they
are independent [CN1396856, description of fig. 21]. What starts and goes out in a slot
is told after the gate's flush, when it has truly gone out.
"""

from dataclasses import dataclass

from controllers.arbitration.events import Event, Names, know_events
from controllers.arbitration.tokens import TokenId
from controllers.sync.transmitter.words import EndReason, NotReceived
from models.library import Unit

Streams = tuple[int, ...]
"""Numbers of streams, rising."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamReceived(Event):
    """A stream came to the transmitter (S3, S6)."""

    stream: int
    unit: Unit
    label: str
    bus: str
    token: TokenId
    leaves: Names
    group: str | None
    preset: int | None
    points: int
    """0 of an independent one."""
    after: int | None
    """The stream that it follows; None: none."""
    is_interrupt: bool
    refused: NotReceived | None
    """Why it was not received; None: it was."""
    is_genuine: bool = True
    """Whether the token was issued with this secret, by this manager."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupCompleted(Event):
    """The points of a group sum to its preset (S8); nothing more may join it."""

    group: str
    preset: int
    streams: Streams
    found_by: Names
    """The buses whose units found it by themselves, in their order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupStarted(Event):
    """All first items of a group went out in this slot (S10)."""

    group: str
    preset: int
    streams: Streams


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamStarted(Event):
    """The first item of a stream went out in this slot."""

    stream: int
    unit: Unit
    label: str
    leaves: Names
    group: str | None
    preset: int | None
    items: int
    """How many it has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartStarted(Event):
    """The first item of a motion went out, of a stream of several: a way (SY-20)."""

    stream: int
    unit: Unit
    label: str
    """Name of the motion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent(Event):
    """An item of a stream was on its bus in this slot; they are told in bus order."""

    bus: str
    unit: Unit
    stream: int
    k: int
    """Its place in the stream, from 0; -1: it leads back after an interrupt."""
    group: str | None
    preset: int | None
    values: int
    """How many leaves it commands; 0: nothing changes at this instant."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamPaused(Event):
    """An interrupt took a leaf of the stream or of its group, which pauses whole."""

    stream: int
    by: int
    """The interrupt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamResumed(Event):
    """The stream goes on with its next item, in this slot."""

    stream: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamEnded(Event):
    """A stream that was received is over. DONE: its last item went out in this slot."""

    stream: int
    unit: Unit
    label: str
    group: str | None
    preset: int | None
    reason: EndReason
    sent: int
    """How many of its items have gone out."""
    detail: str
    """More about the reason, for people."""


know_events(
    StreamReceived,
    GroupCompleted,
    GroupStarted,
    StreamStarted,
    PartStarted,
    Sent,
    StreamPaused,
    StreamResumed,
    StreamEnded,
)
