"""The state of the reservations, rebuilt from their trace; the base of all judges.

Events are taken as they come, right or wrong: what may not be is the judges' matter.
So nothing here raises; what is not known is made up as plainly as possible. A judge is
some functions of the trace, each on its events.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

from controllers.arbitration import events as t
from controllers.arbitration.events import Event
from controllers.arbitration.invariants.replay_state import (
    LeafState,
    OwnerState,
    ReplayState,
    RequestState,
    SeatState,
    TokenState,
)
from controllers.arbitration.tokens import Loss, OutcomeKind, Preemption, Refusal
from models.resources import DeviceKind


class TraceReplay(ReplayState):
    """Follows a trace, an event at a time."""

    def __init__(self) -> None:
        """Begin before the first event."""
        super().__init__()
        self._takes: Mapping[type[t.Event], Callable[[Any], None]] = {
            t.Opened: self._opened,
            t.Reconfigured: self._reconfigured,
            t.ResourceAdded: self._resource_added,
            t.ResourceRemoved: self._resource_removed,
            t.OwnerAdded: self._owner_added,
            t.Entrusted: self._entrusted,
            t.Allowed: self._allowed,
            t.Requested: self._requested,
            t.Granted: self._granted,
            t.Failed: self._failed,
            t.Lent: self._lent,
            t.Released: self._released,
            t.Revoked: self._revoked,
            t.Expired: self._expired,
            t.Renewed: self._renewed,
            t.Crashed: self._crashed,
            t.Frozen: self._frozen,
            t.Thawed: self._thawed,
            t.StateChanged: self._state_changed,
            t.Settled: self._settled,
        }

    def apply(self, event: t.Event) -> None:
        """Let an event change the state; notices and commands change nothing."""
        self.tick = event.tick
        take = self._takes.get(type(event))
        if take is not None:
            take(event)

    def _opened(self, event: t.Opened) -> None:
        self.forget()
        self.epoch = event.epoch
        self.overtake_ticks = event.overtake_ticks
        self.by_priority = event.preemption == Preemption.BY_PRIORITY

    def _reconfigured(self, event: t.Reconfigured) -> None:
        self.overtake_ticks = event.overtake_ticks
        self.by_priority = event.preemption == Preemption.BY_PRIORITY
        for request in self.requests.values():
            if request.outcome is None:
                self.touch(request.asked.shares)

    def _settled(self, event: t.Settled) -> None:
        del event
        self.call += 1
        self.touched.clear()
        while self.ended and self.ended[0].outcome_tick < self.tick:
            old = self.ended.popleft()
            if self.requests.get(old.number) is old:
                del self.requests[old.number]

    def _entrusted(self, event: t.Entrusted) -> None:
        self.owner(event.owner).is_entrusted = event.is_entrusted

    def _allowed(self, event: t.Allowed) -> None:
        token = self.live(event.token)
        if token is not None:
            token.allows[event.owner, event.right] = event.is_allowed
            self.see_alive(token.owner.name)

    def _requested(self, event: t.Requested) -> None:
        if self.waiting(event.request) is not None:
            return
        owner = self.owner(event.owner)
        is_new = event.resumes is None
        may_be_passed = is_new and not event.recalls
        firm_at = event.tick + (self.overtake_ticks if may_be_passed else 0)
        request = RequestState(event, owner, self.call, firm_at)
        self.requests[event.request] = request
        self.last_request = max(self.last_request, event.request)
        if is_new:
            self.see_alive(event.owner)
        owner.waiting[event.request] = request
        self.tangle(owner)
        for name in event.shares:
            self.leaf(name).join(request.key)
        self.touch(event.shares)
        if not event.shares:
            self.unqueued[event.request] = request
            self.touch(name for unit in event.optional.values() for name in unit)
        if event.add_to is not None:
            self.adding.setdefault(event.add_to, {})[event.request] = request

    def _granted(self, event: t.Granted) -> None:
        request = self.requests.get(event.request)
        self.end_request(event.request, OutcomeKind.GRANTED, "I-8")
        owner = self.owner(event.owner)
        token = self.tokens.get(event.token)
        if token is None:
            asked = request.asked if request else None
            token = self.tokens[event.token] = TokenState(
                id=event.token,
                owner=owner,
                priority=asked.priority if asked else 0,
                loss=asked.loss if asked else Loss.WHOLE,
                keeps_ties=asked.keeps_ties if asked else True,
                arrival=asked.arrival if asked else event.request,
            )
            self.last_token = max(self.last_token, event.token)
        token.implied.update(request.asked.implied if request else ())
        owner.tokens[token.id] = token
        self.tangle(owner)
        for name, share in event.shares.items():
            leaf = self.leaf(name)
            if name in token.seats:
                leaf.unseat(token.seats[name])
            seat = SeatState(token, leaf, share, event.inside.get(name))
            token.seats[name] = seat
            leaf.seat(seat)
        if request and request.asked.resumes in self.tokens:
            token.lent |= self.tokens[request.asked.resumes].lent
        token.lent.difference_update(event.shares)
        self.touch(event.shares)

    def _failed(self, event: t.Failed) -> None:
        why = "I-7" if event.kind is OutcomeKind.TIMED_OUT else "I-8"
        self.end_request(event.request, event.kind, why)

    def _lent(self, event: t.Lent) -> None:
        token = self.live(event.token)
        if token is not None:
            token.lent.update(event.leaves)

    def _released(self, event: t.Released) -> None:
        self.see_alive(event.owner)
        token = self.live(event.token)
        lends = token is not None and token.lends(event.leaves)
        self.unseat(event.token, event.leaves, Refusal.RELEASED, lends=lends)

    def _revoked(self, event: t.Revoked) -> None:
        self.unseat(event.token, event.lost, Refusal.REVOKED)
        self.unseat(event.token, event.freed, Refusal.REVOKED, "I-18")

    def _expired(self, event: t.Expired) -> None:
        self.unseat(event.token, event.leaves, Refusal.EXPIRED)

    def _renewed(self, event: t.Renewed) -> None:
        self.see_alive(event.owner)

    def _crashed(self, event: t.Crashed) -> None:
        for owner in self.owner(event.owner).family():
            owner.is_gone = True

    def _frozen(self, event: t.Frozen) -> None:
        for leaf in map(self.leaf, event.leaves):
            leaf.freezes[event.by] = event.is_total
            self.touched[leaf] = "I-22"

    def _thawed(self, event: t.Thawed) -> None:
        for leaf in map(self.leaf, event.leaves):
            leaf.freezes.pop(event.by, None)
            self.touched[leaf] = "I-22"

    def _state_changed(self, event: t.StateChanged) -> None:
        self.active[event.group] = event.active
        self.touch(self.children.get(event.group, ()))

    def _resource_removed(self, event: t.ResourceRemoved) -> None:
        self.leaves.pop(event.name, None)
        for siblings in self.children.values():
            if event.name in siblings:
                siblings.remove(event.name)

    def _owner_added(self, event: t.OwnerAdded) -> None:
        parent = None if event.parent is None else self.owner(event.parent)
        known = self.owners.get(event.owner)
        if known is None or known.parent is not parent:
            if known is not None and known.parent is not None:
                known.parent.children.remove(known)  # forgotten, and back elsewhere
            added = self.owners[event.owner] = OwnerState(event.owner, parent)
            if parent is not None:
                parent.children.append(added)
        self.owners[event.owner].time_to_live_ticks = event.time_to_live_ticks
        self.see_alive(event.owner)

    def _resource_added(self, event: t.ResourceAdded) -> None:
        if event.parent is not None:
            self.leaves.pop(event.parent, None)  # it is a composite from now on
            siblings = self.children.setdefault(event.parent, [])
            if event.name not in siblings:  # it may be a composite without parts
                siblings.append(event.name)
        if event.kind is not None:
            is_motor = event.device is DeviceKind.MOTOR
            leaf = LeafState(
                event.name,
                event.kind,
                event.parent,
                is_motor,
                event.limits,
                self.limited.setdefault(event.name, []),
            )
            for motor in event.limits:
                self.limited.setdefault(motor, []).append(event.name)
            self.leaves[event.name] = leaf


MALFORMED = "trace"
"""Stands in place of an invariant when no manager could have written the event."""

Findings = Iterator[tuple[str, str]]
"""Invariant that is broken, and a sentence about it."""
E = TypeVar("E", bound=Event)


@dataclass(frozen=True, kw_only=True, slots=True)
class Violation:
    """An invariant is broken."""

    invariant: str
    """`I-1` to `I-22`; `trace` if the trace itself makes no sense."""
    tick: int
    sentence: str
    """What is wrong, with names and values."""
    index: int
    """Of the event in the trace, from 0, with which it became known; the number of
    events for what only its end shows."""

    def __str__(self) -> str:
        """Return one line."""
        where = f"tick {self.tick}, event {self.index}"
        return f"{self.invariant} ({where}): {self.sentence}"


class JudgeRule(NamedTuple):
    """A function of a judge, and the events that it wants to see."""

    event: type[Event]
    is_before: bool
    """Whether it looks at the state before the event, or after."""
    judge: Callable[[Event], Findings]


class InvariantJudge:
    """Keeps a family of invariants; a subclass says which events its rules want.

    A rule looks and remembers; it never changes the replay.
    """

    invariants: ClassVar[tuple[str, ...]]
    """Those that it can find broken."""

    def __init__(self, replay: TraceReplay) -> None:
        """Judge what happens in a replay."""
        self.replay = replay

    def rules(self) -> tuple[JudgeRule, ...]:
        """Return what it looks at."""
        raise NotImplementedError

    def end(self) -> Findings:
        """Say what is wrong when nothing more will happen."""
        yield from ()


def before(event: type[E], judge: Callable[[E], Findings]) -> JudgeRule:
    """Judge an event by the state that it meets."""
    return JudgeRule(event, True, judge)  # type: ignore[arg-type]  # only called with such


def after(event: type[E], judge: Callable[[E], Findings]) -> JudgeRule:
    """Judge the state that an event leaves."""
    return JudgeRule(event, False, judge)  # type: ignore[arg-type]  # only called with such
