"""What the transmitter played and what waited for it: spans of streams from a trace."""

from collections.abc import Iterable
from dataclasses import dataclass

from controllers.resources.trace import Event
from controllers.sync.transmitter.trace import (
    GroupStarted,
    StreamEnded,
    StreamReceived,
    StreamStarted,
)
from controllers.sync.transmitter.words import EndReason
from models.library import Unit


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamSpan:
    """One stream, from its receipt to its end."""

    unit: Unit
    label: str
    group: str | None
    received_s: float
    start_s: float | None
    """Time of its first item; None: it never started."""
    end_s: float
    reason: EndReason | None
    """None: it was not over at the end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupStart:
    """All first items of a group went out."""

    group: str
    time_s: float


def stream_spans(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> list[StreamSpan]:
    """Return all streams that were received, in the order of their receipt.

    Args:
        events: the trace.
        tick_s: length of a tick in s.
        end_tick: what plays or waits then ends there.
    """
    received: dict[int, StreamReceived] = {}
    started: dict[int, int] = {}
    ended: dict[int, tuple[int, EndReason]] = {}
    for event in events:
        match event:
            case StreamReceived(stream=number, refused=None):
                received[number] = event
            case StreamStarted(stream=number):
                started.setdefault(number, event.tick)
            case StreamEnded(stream=number, reason=reason):
                # The slot of its last item is a part of it.
                last = event.tick + (reason is EndReason.DONE)
                ended[number] = (last, reason)
            case _:
                pass
    return [
        StreamSpan(
            unit=event.unit,
            label=event.label,
            group=event.group,
            received_s=event.tick * tick_s,
            start_s=started[number] * tick_s if number in started else None,
            end_s=ended.get(number, (end_tick, None))[0] * tick_s,
            reason=ended.get(number, (end_tick, None))[1],
        )
        for number, event in received.items()
    ]


def group_starts(events: Iterable[Event], tick_s: float) -> list[GroupStart]:
    """Return when each group started."""
    return [
        GroupStart(group=event.group, time_s=event.tick * tick_s)
        for event in events
        if isinstance(event, GroupStarted)
    ]
