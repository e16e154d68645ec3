"""What the pipeline before the transmitter tells: orders, signals, conversions.

Orders stand by their numbers, streams by those that the transmitter gave them. Group
and preset are None where an order has no points.
"""

from dataclasses import dataclass

from controllers.arbitration.events import Event, Names, know_events
from controllers.sync.orders.pipeline_words import NotOrdered
from controllers.sync.transmitter.words import EndReason
from models.library import Unit


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
    """The robot is elsewhere than when an order was received: another way (SY-28)."""

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
    """A prep command went to the motion converter: the initial motion (SY-20)."""

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
    """Timing information: the items left at which transmission is enabled (SY-22)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransmitEnabled(Event):
    """The transmitter told the motion converter: so much of the motion is left."""

    order: int
    stream: int
    """Of the initial motion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncReceiveEnabled(Event):
    """The motion converter told the command controller to issue its commands."""

    order: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandIssued(Event):
    """An output command went to a converter, ID and points at its head (SY-10)."""

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
    """An order is over; told in the slot after its last item, or in which it failed."""

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
