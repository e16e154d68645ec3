"""Spans of time from a trace: holders, waiters, states, behaviours and streams.

Holders and waiters of each resource leaf, active states, acting behaviours; streams of
the transmitter with their waiting time. Pure functions of the events; times in s.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Failed,
    Frozen,
    Granted,
    Names,
    Released,
    Requested,
    Revoked,
    StateChanged,
    Thawed,
)
from nao_testbed.controllers.arbitration.requests import FULL
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.controllers.schemas.declaration import Kind
from nao_testbed.controllers.schemas.events import SchemaStarted, SchemaStopped, Woken
from nao_testbed.controllers.transmitter.events import (
    GroupStarted,
    StreamEnded,
    StreamReceived,
    StreamStarted,
)
from nao_testbed.controllers.transmitter.receipt import EndReason
from nao_testbed.models.library import Unit


class SpanKind(Enum):
    """Drawing style of a name."""

    HOLDS = "holds"
    LENT = "lent"
    """The owner holds the leaf, and lends it to one of its parts."""
    WAITS = "waits"
    FROZEN = "frozen"
    """A virtual owner freezes the leaf: hot, broken, absent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """One name in an interval of time."""

    name: str
    start_s: float
    end_s: float
    kind: SpanKind = SpanKind.HOLDS


@dataclass(slots=True)
class _Open:
    """Spans that have started and not ended."""

    tick_s: float
    done: dict[str, list[Span]]
    begun: dict[tuple[object, str], tuple[str, int, SpanKind]]

    def begin(
        self, key: object, rows: Iterable[str], name: str, tick: int, kind: SpanKind
    ) -> None:
        for row in rows:
            self.begun.setdefault((key, row), (name, tick, kind))

    def end(self, key: object, rows: Iterable[str], tick: int) -> None:
        for row in rows:
            begun = self.begun.pop((key, row), None)
            if begun is not None and tick > begun[1]:
                name, first, kind = begun
                span = Span(
                    name=name,
                    start_s=first * self.tick_s,
                    end_s=tick * self.tick_s,
                    kind=kind,
                )
                self.done.setdefault(row, []).append(span)

    def change(self, key: object, row: str, tick: int, kind: SpanKind) -> None:
        begun = self.begun.get((key, row))
        if begun is not None:
            self.end(key, (row,), tick)
            self.begin(key, (row,), begun[0], tick, kind)

    def end_all(self, tick: int) -> dict[str, list[Span]]:
        for key, row in tuple(self.begun):
            self.end(key, (row,), tick)
        return {
            row: sorted(spans, key=lambda s: (s.start_s, s.name))
            for row, spans in self.done.items()
        }


def holding_spans(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> dict[str, list[Span]]:
    """Return the spans of each leaf that was requested, or frozen by the body.

    Args:
        events: the trace.
        tick_s: length of a tick in s.
        end_tick: end tick of open spans.
    """
    spans = _Open(tick_s, {}, {})
    requested: dict[int, Names] = {}
    around: dict[tuple[TokenId, str], TokenId] = {}

    def end(token: TokenId, leaves: Names, tick: int) -> None:
        spans.end(token, leaves, tick)
        for leaf in leaves:
            outer = around.pop((token, leaf), None)
            spans.change(outer, leaf, tick, SpanKind.HOLDS)

    for event in events:
        match event:
            case Requested(request=number, owner=owner):
                requested[number] = leaves = tuple(event.shares)
                key = ("request", number)
                spans.begin(key, leaves, owner, event.tick, SpanKind.WAITS)
            case Granted(request=number, owner=owner, token=token, shares=shares):
                spans.end(("request", number), requested.pop(number, ()), event.tick)
                spans.begin(token, shares, owner, event.tick, SpanKind.HOLDS)
                for leaf, outer in event.inside.items():
                    if shares[leaf] == FULL:  # a rate leaves the rest with the owner
                        around[token, leaf] = outer
                        spans.change(outer, leaf, event.tick, SpanKind.LENT)
            case Failed(request=number):
                spans.end(("request", number), requested.pop(number, ()), event.tick)
            case Released(token=token, leaves=leaves):
                end(token, leaves, event.tick)
            case Expired(token=token, leaves=leaves):
                end(token, leaves, event.tick)
            case Revoked(token=token, lost=lost, freed=freed):
                end(token, (*lost, *freed), event.tick)
            case Frozen(leaves=leaves, by=by, is_total=True):
                spans.begin(("by", by), leaves, by, event.tick, SpanKind.FROZEN)
            case Thawed(leaves=leaves, by=by):
                spans.end(("by", by), leaves, event.tick)
            case _:
                pass
    return spans.end_all(end_tick)


def state_spans(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> dict[str, list[Span]]:
    """Return the active states of each set, such as `State`."""
    spans = _Open(tick_s, {}, {})
    for event in events:
        if isinstance(event, StateChanged):
            spans.end("state", (event.group,), event.tick)
            if event.active is not None:
                rows = (event.group,)
                spans.begin("state", rows, event.active, event.tick, SpanKind.HOLDS)
    return spans.end_all(end_tick)


def acting_spans(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> dict[str, list[Span]]:
    """Return the intervals in which each actuation schema may act, by path."""
    spans = _Open(tick_s, {}, {})
    perceptive: set[str] = set()
    for event in events:
        match event:
            case Woken(path=path, kind=Kind.PERCEPTIVE):
                perceptive.add(path)
            case SchemaStarted(path=path) if path in perceptive:
                pass
            case SchemaStarted(path=path):
                spans.begin("acts", (path,), path, event.tick, SpanKind.HOLDS)
            case SchemaStopped(path=path):
                spans.end("acts", (path,), event.tick)
            case _:
                pass
    return spans.end_all(end_tick)


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamSpan:
    """Stream, from its receipt to its end."""

    unit: Unit
    label: str
    group: str | None
    received_s: float
    start_s: float | None
    """Time of its first item; None: it never started."""
    end_s: float
    reason: EndReason | None
    """End reason; None: not ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupStart:
    """Start of a group: all its first items were sent."""

    group: str
    time_s: float


def stream_spans(
    events: Iterable[Event], tick_s: float, end_tick: int
) -> list[StreamSpan]:
    """Return all received streams in the order of their receipt.

    Args:
        events: events of the trace.
        tick_s: length of a tick in s.
        end_tick: end of streams that still play or wait.
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
                # The slot of the last item belongs to the stream.
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
    """Return the start of each group."""
    return [
        GroupStart(group=event.group, time_s=event.tick * tick_s)
        for event in events
        if isinstance(event, GroupStarted)
    ]
