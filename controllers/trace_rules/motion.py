"""Two rules of motion: the streams of a group run together, only winners act."""

from dataclasses import dataclass

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.schemas import events as schemas
from nao_testbed.controllers.schemas.declaration import Kind, State
from nao_testbed.controllers.trace_rules.reservations import ReservationRules, Sentences
from nao_testbed.controllers.transmitter import events as sync
from nao_testbed.controllers.transmitter.receipt import EndReason

LATEST_START = 3
"""Number of slot ends after which an independent stream must have started."""


@dataclass(eq=False)
class _Stream:
    asked: sync.StreamReceived
    started: int | None = None
    items: int = -1
    sent: int = 0
    slots: int = 0
    """Number of slots that ended before the stream started."""
    is_paused: bool = False
    reason: EndReason | None = None


@dataclass(eq=False)
class _Schema:
    activation: schemas.Woken
    state: State = State.SLEPT
    is_acting: bool = False


class MotionRules(ReservationRules):
    """Checker with one method per kind of event of the transmitter and the schemas."""

    def _on_opened(self, event: t.Opened) -> None:
        super()._on_opened(event)
        self._last_stream = 0
        self._streams: dict[int, _Stream] = {}
        self._alone: dict[int, _Stream] = {}
        """Independent streams that have not started."""
        self._groups: dict[tuple[int | None, str], list[_Stream]] = {}
        self._schemas: dict[str, _Schema] = {}

    # -- streams ----------------------------------------------------------------------

    def _on_streamreceived(self, event: sync.StreamReceived) -> Sentences:
        if event.stream <= self._last_stream:
            yield f"together: stream number {event.stream} was used before"
        self._last_stream = event.stream
        if event.refused is None:
            one = self._streams[event.stream] = _Stream(event)
            if event.group is not None:
                group = self._groups.setdefault((event.preset, event.group), [])
                if any(other.reason is None for other in group):
                    group.append(one)
                else:
                    group[:] = [one]
            elif event.after is None and not event.is_interrupt:
                self._alone[event.stream] = one

    def _on_groupstarted(self, event: sync.GroupStarted) -> Sentences:
        group = self._groups.get((event.preset, event.group), [])
        points = sum(one.asked.points for one in group)
        if points != event.preset or any(one.started is not None for one in group):
            yield f"together: group {event.group!r} starts with {points} points"
        for one in group:
            first = self._streams.get(one.asked.after or 0)
            if first is not None and first.reason is not EndReason.DONE:
                yield f"together: group {event.group!r} starts before its predecessor"
            one.started = event.tick

    def _on_streamstarted(self, event: sync.StreamStarted) -> Sentences:
        one = self._streams[event.stream]
        is_alone = event.group is None and one.started is None
        if one.items >= 0 or not (is_alone or one.started == event.tick):
            yield f"together: stream {event.stream} starts without its group, or twice"
        one.started, one.items = event.tick, event.items
        self._alone.pop(event.stream, None)

    def _on_sent(self, event: sync.Sent) -> Sentences:
        one = self._streams[event.stream]
        if one.reason is not None or one.started is None:
            yield f"together: stream {event.stream} sends an item but is not running"
        if event.k not in (one.sent, -1):
            yield f"together: stream {event.stream} sends {event.k}, not {one.sent}"
        one.sent += event.k >= 0

    def _on_streampaused(self, event: sync.StreamPaused) -> None:
        self._streams[event.stream].is_paused = True

    def _on_streamresumed(self, event: sync.StreamResumed) -> None:
        self._streams[event.stream].is_paused = False

    def _on_streamended(self, event: sync.StreamEnded) -> Sentences:
        one = self._streams[event.stream]
        is_short = event.reason is EndReason.DONE and event.sent != one.items
        if one.reason is not None or is_short:
            yield f"together: stream {event.stream} ends twice, or early"
        one.reason = event.reason
        self._alone.pop(event.stream, None)

    def _on_slot_end(self, tick: int) -> Sentences:
        yield from super()._on_slot_end(tick)
        for key, group in [*self._groups.items()]:
            runs = [one for one in group if one.reason is None]
            if not runs:
                del self._groups[key]
            elif runs[0].started is not None and (
                any(one.reason not in (None, EndReason.DONE) for one in group)
                or any(one.items in (-1, one.sent) for one in runs)
                or len({(one.sent, one.is_paused) for one in runs}) > 1
            ):
                yield f"together: group {key[1]!r} does not run together"

    def _on_ticked(self, event: t.Ticked) -> Sentences:
        yield from super()._on_ticked(event)
        for number, one in self._alone.items():
            one.slots += 1
            if one.slots == LATEST_START:
                yield f"together: stream {number} without a group still waits"

    # -- schemas ----------------------------------------------------------------------

    def _on_granted(self, event: t.Granted) -> Sentences:
        yield from super()._on_granted(event)
        one = self._schemas.get(event.owner)
        if one is not None and one.state is not State.WINNER:
            yield f"winner: {event.owner} is {one.state} but gets {event.token}"

    def _on_executed(self, event: t.Executed) -> Sentences:
        yield from super()._on_executed(event)
        held = self._tokens.get(event.token)
        one = self._schemas.get(held.owner) if held else None
        if one is not None and not (one.is_acting and one.state is State.WINNER):
            path = one.activation.path
            yield f"winner: {path} is {one.state} but writes {event.resource}"

    def _below(self, path: str | None) -> list[str]:
        found = [x for x, one in self._schemas.items() if one.activation.parent == path]
        return found + [x for child in found for x in self._below(child)]

    def _on_woken(self, event: schemas.Woken) -> Sentences:
        parent = self._schemas.get(event.parent or "")
        if parent is not None and not parent.is_acting:
            yield f"winner: {event.parent} activates {event.path} without acting"
        self._schemas.setdefault(event.path, _Schema(event))

    def _on_statechangedto(self, event: schemas.StateChangedTo) -> Sentences:
        one = self._schemas[event.path]
        one.state = event.state
        below, parent = self._below(event.path), one.activation.parent
        held = {token.owner for token in self._live.values()}
        if event.state is not State.WINNER:
            awake = [x for x in below if self._schemas[x].state is not State.SLEPT]
            if one.is_acting or awake or held.intersection([event.path, *below]):
                yield f"winner: {event.path} is {event.state} but acts or holds"
        elif one.activation.kind is Kind.ACTUATION and parent is not None:
            for other in self._schemas.values():
                is_rival = other is not one and other.activation.parent == parent
                if is_rival and other.activation.kind is Kind.ACTUATION:
                    rival = other.activation.path
                    if other.state is State.WINNER or rival in held:
                        yield f"winner: {event.path} wins beside {rival}"

    def _on_schemastarted(self, event: schemas.SchemaStarted) -> Sentences:
        one = self._schemas[event.path]
        one.is_acting = True
        if one.state is not State.WINNER:
            yield f"winner: {event.path} is {one.state} but starts"

    def _on_schemastopped(self, event: schemas.SchemaStopped) -> None:
        self._schemas[event.path].is_acting = False
