"""Events of the transmitter and of the command controller before it.

Streams and orders have separate numbers. Group and preset are None for independent
streams and orders without points. The command controller emits events of orders,
signals and conversions; the transmitter emits events of streams and groups. Items are
reported only with `LedgerCfg.tells_commands`: some hundreds per second.
"""

from dataclasses import dataclass
from enum import StrEnum

from nao_testbed.controllers.arbitration.events import Event, Names, know_events
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.controllers.transmitter.receipt import EndReason, NotReceived
from nao_testbed.models.library import Unit


class NotOrdered(StrEnum):
    """Reason why the command controller refuses an order."""

    NO_TOKEN = "NO_TOKEN"
    """A unit has no token, or its token does not cover all its leaves now."""
    NO_DEVICE = "NO_DEVICE"
    """The robot has no loudspeaker."""
    POSTURE_UNKNOWN = "POSTURE_UNKNOWN"
    """The order needs transitions to a posture, and the robot's posture is unknown."""
    NO_WAY = "NO_WAY"
    """No transitions lead to the start posture of the motion or to the ordered
    posture."""


Streams = tuple[int, ...]
"""Numbers of streams in ascending order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamReceived(Event):
    """The transmitter received a stream (S3, S6)."""

    stream: int
    unit: Unit
    label: str
    bus: str
    token: TokenId
    leaves: Names
    group: str | None
    preset: int | None
    points: int
    """Points of the stream; 0: independent."""
    after: int | None
    """Number of its predecessor; None: no predecessor."""
    is_interrupt: bool
    refused: NotReceived | None
    """Reason of the refusal; None: received."""
    is_genuine: bool = True
    """True if this ledger issued the token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupCompleted(Event):
    """The points of a group sum to its preset (S8); no further stream may join it."""

    group: str
    preset: int
    streams: Streams
    found_by: Names
    """Buses whose units detected the completion themselves, in their order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupStarted(Event):
    """All first items of a group were sent in this slot (S10)."""

    group: str
    preset: int
    streams: Streams


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamStarted(Event):
    """The first item of a stream was sent in this slot."""

    stream: int
    unit: Unit
    label: str
    leaves: Names
    group: str | None
    preset: int | None
    items: int
    """Number of items."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartStarted(Event):
    """The first item of one motion of a stream of several motions was sent."""

    stream: int
    unit: Unit
    label: str
    """Name of the motion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent(Event):
    """An item of a stream was sent in this slot; emitted in bus order."""

    bus: str
    unit: Unit
    stream: int
    k: int
    """Index of the item in the stream, from 0; -1: an item that returns the robot to
    the interrupted position."""
    group: str | None
    preset: int | None
    values: int
    """Number of commanded leaves; 0: no change in this slot."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamPaused(Event):
    """An interrupt uses a leaf of the stream or its group; the whole group pauses."""

    stream: int
    by: int
    """Number of the interrupting stream."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamResumed(Event):
    """The stream continues with its next item in this slot."""

    stream: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamEnded(Event):
    """A received stream ended; with DONE, its last item was sent in this slot."""

    stream: int
    unit: Unit
    label: str
    group: str | None
    preset: int | None
    reason: EndReason
    sent: int
    """Number of items sent."""
    detail: str
    """Text with details for people."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderReceived(Event):
    """The command controller received an order for a command."""

    order: int
    name: str
    group: str | None
    preset: int | None
    units: tuple[Unit, ...]
    follows: int | None
    """Number of the order whose motion its motion follows; None: no such order."""
    refused: NotOrdered | None
    """Reason of the refusal; None: accepted."""
    begins: str | None = None
    """State of the robot in which its first motion begins. None: any state, or the end
    state of the order that it follows."""
    ends: str | None = None
    """State of the robot in which its motion ends; None: unspecified."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PathChosen(Event):
    """The posture has changed since an order was received; the way is planned again."""

    order: int
    start: str
    """Present posture of the robot."""
    end: str
    """Posture at the end of the way."""
    motions: Names
    """Names of the motions of the way; empty if the robot is in that posture."""
    begins: str | None
    """State of the robot in which the order's first motion begins; None: any state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrepSent(Event):
    """A prep command for the initial motion was sent to the motion converter."""

    order: int
    group: str | None
    preset: int | None
    start: str
    """Present posture of the robot."""
    end: str
    """Start posture of the order's motion."""
    motions: Names
    """Names of the motions of the way, in their order."""
    signal_at: int
    """Timing information: number of remaining items at which transmission is
    enabled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransmitEnabled(Event):
    """The transmitter notified the motion converter of the remaining motion.

    Emitted in the first slot that starts with at most `signal_at` items left.
    """

    order: int
    stream: int
    """Number of the initial motion's stream."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReceiveEnabled(Event):
    """The motion converter requested the commands of the command controller."""

    order: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandIssued(Event):
    """An output command with ID and points was sent to a converter."""

    order: int
    unit: Unit
    name: str
    group: str | None
    preset: int | None
    points: int
    """Points of the output; 0: independent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted(Event):
    """A converter passed a stream to the transmitter."""

    order: int
    unit: Unit
    name: str
    stream: int
    is_initial: bool
    """True for the initial motion of the order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderEnded(Event):
    """An order has ended; emitted in the slot of its last item or of its failure."""

    order: int
    name: str
    group: str | None
    preset: int | None
    reason: EndReason
    detail: str
    """Text with details for people."""


know_events(
    OrderReceived,
    PathChosen,
    PrepSent,
    TransmitEnabled,
    SyncReceiveEnabled,
    CommandIssued,
    Converted,
    OrderEnded,
)
