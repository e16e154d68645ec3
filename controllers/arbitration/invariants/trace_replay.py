"""The state of the reservations, rebuilt from their trace; the base of all judges.

Events are taken as they come, right or wrong: what may not be is the judges' matter.
So nothing here raises; what is not known is made up as plainly as possible. A judge is
some functions of the trace, each on its events.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop
from typing import Any, ClassVar, NamedTuple, TypeVar, get_args

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
        super().__init__()
        self._effects: Mapping[type[Event], Callable[[Any], None]] = {
            events_of(method)[0]: getattr(self, name)
            for name, method in vars(TraceReplay).items()
            if name.startswith("_on_")
        }

    def apply(self, event: Event) -> None:
        """Let an event change the state; a notice changes nothing."""
        self.tick = event.tick
        effect = self._effects.get(type(event))
        if effect is not None:
            effect(event)

    def _on_opened(self, event: t.Opened) -> None:
        self.forget()
        self.epoch = event.epoch
        self.overtake_ticks = event.overtake_ticks
        self.by_priority = event.preemption == Preemption.BY_PRIORITY

    def _on_reconfigured(self, event: t.Reconfigured) -> None:
        self.overtake_ticks = event.overtake_ticks
        self.by_priority = event.preemption == Preemption.BY_PRIORITY
        for request in self.requests.values():
            if request.outcome is None:
                self.touch(request.asked.shares)

    def _on_settled(self, _: t.Settled) -> None:
        self.call += 1
        self.touched.clear()
        while self.ended and self.ended[0].outcome_tick < self.tick:
            old = self.ended.popleft()
            if self.requests.get(old.number) is old:
                del self.requests[old.number]

    def _on_entrusted(self, event: t.Entrusted) -> None:
        self.owner(event.owner).is_entrusted = event.is_entrusted

    def _on_allowed(self, event: t.Allowed) -> None:
        token = self.live(event.token)
        if token is not None:
            token.allows[event.owner, event.right] = event.is_allowed
            self.see_alive(token.owner.name)

    def _on_requested(self, event: t.Requested) -> None:
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

    def _on_granted(self, event: t.Granted) -> None:
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

    def _on_failed(self, event: t.Failed) -> None:
        why = "I-7" if event.kind is OutcomeKind.TIMED_OUT else "I-8"
        self.end_request(event.request, event.kind, why)

    def _on_lent(self, event: t.Lent) -> None:
        token = self.live(event.token)
        if token is not None:
            token.lent.update(event.leaves)

    def _on_released(self, event: t.Released) -> None:
        self.see_alive(event.owner)
        token = self.live(event.token)
        lends = token is not None and token.lends(event.leaves)
        self.unseat(event.token, event.leaves, Refusal.RELEASED, lends=lends)

    def _on_executed(self, event: t.Executed) -> None:
        self.written_tick = event.tick

    def _on_revoked(self, event: t.Revoked) -> None:
        self.unseat(event.token, event.lost, Refusal.REVOKED)
        self.unseat(event.token, event.freed, Refusal.REVOKED, "I-18")

    def _on_expired(self, event: t.Expired) -> None:
        self.unseat(event.token, event.leaves, Refusal.EXPIRED)

    def _on_renewed(self, event: t.Renewed) -> None:
        self.see_alive(event.owner)

    def _on_crashed(self, event: t.Crashed) -> None:
        for owner in self.owner(event.owner).family():
            owner.is_gone = True

    def _on_frozen(self, event: t.Frozen) -> None:
        for leaf in map(self.leaf, event.leaves):
            leaf.freezes[event.by] = event.is_total
            self.touched[leaf] = "I-22"

    def _on_thawed(self, event: t.Thawed) -> None:
        for leaf in map(self.leaf, event.leaves):
            leaf.freezes.pop(event.by, None)
            self.touched[leaf] = "I-22"

    def _on_state_changed(self, event: t.StateChanged) -> None:
        self.active[event.group] = event.active
        self.touch(self.children.get(event.group, ()))

    def _on_resource_removed(self, event: t.ResourceRemoved) -> None:
        self.leaves.pop(event.name, None)
        for siblings in self.children.values():
            if event.name in siblings:
                siblings.remove(event.name)

    def _on_owner_added(self, event: t.OwnerAdded) -> None:
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

    def _on_resource_added(self, event: t.ResourceAdded) -> None:
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
K = TypeVar("K")
R = TypeVar("R", bound=Callable[..., Iterator[tuple[str, str]] | None])


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
    """A method of a judge that looks at some events."""

    name: str
    events: tuple[type[Event], ...]
    is_before: bool
    """Whether it looks at the state before the event, or after."""


@dataclass(eq=False)
class InvariantJudge:
    """Keeps a family of invariants; its rules are the methods marked `before`, `after`.

    A rule looks at the events that the annotation of its argument names, and yields
    what is wrong, or only remembers; it never changes the replay. Where two look at one
    event, the one that is written first does so first.
    """

    invariants: ClassVar[tuple[str, ...]]
    """Those that it can find broken."""
    rules: ClassVar[tuple[JudgeRule, ...]] = ()
    replay: TraceReplay

    def __init_subclass__(cls) -> None:
        """Collect the rules."""
        cls.rules = tuple(
            JudgeRule(name, events_of(method), vars(method)["is_before"])
            for name, method in vars(cls).items()
            if "is_before" in getattr(method, "__dict__", ())
        )

    def end(self) -> Findings:
        """Say what is wrong when nothing more will happen."""
        yield from ()

    def late(self, since: Mapping[K, int]) -> list[K]:
        """Return what has been so since before the gate's last write.

        Only once the slot of that write is over: until then it may still be mended.
        """
        written = self.replay.written_tick
        if not since or self.replay.now <= written:
            return []
        return [what for what, tick in since.items() if tick < written]


def before(rule: R) -> R:
    """Mark a rule that judges an event by the state that it meets."""
    vars(rule)["is_before"] = True
    return rule


def after(rule: R) -> R:
    """Mark a rule that judges the state that an event leaves."""
    vars(rule)["is_before"] = False
    return rule


def events_of(method: Callable[..., object]) -> tuple[type[Event], ...]:
    """Return the kinds of events that the annotation of a method's argument names."""
    named = next(iter(method.__annotations__.values()))
    return get_args(named) or (named,)


def gone_leaves(event: t.Released | t.Revoked | t.Expired) -> tuple[str, ...]:
    """Return the leaves that a token does not cover any more."""
    return event.lost + event.freed if isinstance(event, t.Revoked) else event.leaves


def tick_over(event: t.Settled | t.Ticked) -> int:
    """Return the tick that is over by now, with all that was due in it."""
    return event.tick if isinstance(event, t.Ticked) else event.tick - 1


def due_by(tick: int, deadlines: list[tuple[int, K]]) -> Iterator[tuple[int, K]]:
    """Take those that have come off a heap of ticks and what is due in them."""
    while deadlines and deadlines[0][0] <= tick:
        yield heappop(deadlines)
