"""Events of the transmitter and of the command controller before it.

Streams are identified by the transmitter's numbers, orders by their own. Group and
preset are None for independent streams and orders without points. The command
controller emits events of orders, signals and conversions, the transmitter those of
streams and groups. Items are reported only with `LedgerCfg.tells_commands`: some
hundreds per second.
"""

from dataclasses import dataclass
from enum import StrEnum

from nao_testbed.controllers.arbitration.events import Event, Names, know_events
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.controllers.transmitter.receipt import EndReason, NotReceived
from nao_testbed.models.library import Unit


class NotOrdered(StrEnum):
    """Why the command controller does nothing of an order."""

    NO_TOKEN = "NO_TOKEN"
    """A unit has no token, or one that does not cover all its leaves now."""
    NO_DEVICE = "NO_DEVICE"
    """The robot has no loudspeaker."""
    POSTURE_UNKNOWN = "POSTURE_UNKNOWN"
    """The order needs a way to a posture, and the robot's posture is unknown."""
    NO_WAY = "NO_WAY"
    """No transitions lead to the posture in which the motion begins, or which is
    ordered."""


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
    """The first item of a motion went out, of a stream of several: a way."""

    stream: int
    unit: Unit
    label: str
    """Name of the motion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent(Event):
    """An item of a stream was on its bus in this slot; emitted in bus order."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderReceived(Event):
    """The command controller was asked for a command."""

    order: int
    name: str
    group: str | None
    preset: int | None
    units: tuple[Unit, ...]
    follows: int | None
    """The order whose motion it joins on to; None: none."""
    refused: NotOrdered | None
    """Why nothing of it is done; None: it is."""
    begins: str | None = None
    """State of the robot in which its first motion begins; None: any, or that in which
    the order that it follows ends."""
    ends: str | None = None
    """State in which its motion ends; None: in no certain one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WayChosen(Event):
    """The robot is elsewhere than when an order was received: another way."""

    order: int
    start: str
    """Posture in which the robot is now."""
    end: str
    """Posture to which the way leads."""
    motions: Names
    """Names of the motions that lead there; none where it is there."""
    begins: str | None
    """State of the robot in which the order's first motion begins; None: any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrepSent(Event):
    """A prep command went to the motion converter: the initial motion."""

    order: int
    group: str | None
    preset: int | None
    start: str
    """Posture in which the robot is."""
    end: str
    """Posture in which the motion of the order begins."""
    motions: Names
    """Names of the motions that lead there, in their order."""
    signal_at: int
    """Timing information: the items left at which transmission is enabled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransmitEnabled(Event):
    """The transmitter notified the motion converter of the remaining motion.

    Emitted in the first slot that begins with at most `signal_at` items left.
    """

    order: int
    stream: int
    """Of the initial motion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReceiveEnabled(Event):
    """The motion converter requested the commands of the command controller."""

    order: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandIssued(Event):
    """An output command went to a converter, ID and points at its head."""

    order: int
    unit: Unit
    name: str
    group: str | None
    preset: int | None
    points: int
    """0 of an independent one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted(Event):
    """A converter made a stream and handed it to the transmitter."""

    order: int
    unit: Unit
    name: str
    stream: int
    is_initial: bool
    """Whether it is the initial motion of its order."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderEnded(Event):
    """An order has ended; emitted in the slot of its last item or of its failure."""

    order: int
    name: str
    group: str | None
    preset: int | None
    reason: EndReason
    detail: str
    """More about the reason, for people."""


know_events(
    OrderReceived,
    WayChosen,
    PrepSent,
    TransmitEnabled,
    SyncReceiveEnabled,
    CommandIssued,
    Converted,
    OrderEnded,
)
