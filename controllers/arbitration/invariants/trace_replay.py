"""The state of the reservations, rebuilt from their trace; the base of all judges.

Events are taken as they come, right or wrong: what may not be is the judges' matter.
So nothing here raises; what is not known is made up as plainly as possible. A rule is a
function of this state and an event, a judge some rules with a memory of their own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, ClassVar, NamedTuple, TypeVar, get_args

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.events import Event
from nao_testbed.controllers.arbitration.invariants.replay_state import (
    CallNotes,
    LeafState,
    OwnerState,
    Promise,
    ReplayState,
    RequestState,
    SeatState,
    TokenState,
)
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
)
from nao_testbed.models.resources import DeviceKind

_OF_A_STATE = (LossCause.YIELDED, LossCause.STATE_LEFT)


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
        """Let an event change the state."""
        self.tick = event.tick
        self.notes.said.setdefault(type(event), []).append(event)
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
        if len(self.notes.said) > 1:
            self.notes = CallNotes()
        else:  # this event alone: nothing was noted
            self.notes.said.clear()
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

    def _on_answered(self, event: t.Answered) -> None:
        request = self.waiting(event.request)
        answers = self.notes.answers if request is None else request.answers
        answers[event.token] = event.answer

    def _on_notified(self, event: t.Notified) -> None:
        token, number = event.token, event.request
        if token is None:
            return
        if event.kind is NoticeKind.LOST:
            self.notes.untold.pop(token, None)
        if event.why is LossCause.PAUSED and token in self.notes.lost:
            lost = self.notes.lost.pop(token)
            if number is not None:
                self.notes.pauses[number] = lost
        held, request = self.tokens.get(token), self.waiting(number)
        if held is None or number is None:
            return
        if event.kind is NoticeKind.KEEP_ON:
            held.promises.pop(number, None)
        elif event.kind is NoticeKind.YIELD_BY and event.until_tick is not None:
            asked, until = frozenset(event.leaves), event.until_tick
            held.promises[number] = Promise(event.owner, until, asked, set(asked))
            heappush(self.due_promises, (until, (number, token)))
            if request is not None:
                request.promised_by[token] = None

    def _on_requested(self, event: t.Requested) -> None:
        self.notes.pauses.pop(event.request, None)
        limit = event.timeout_ticks
        if limit is not None and (limit > 0 or event.resumes is not None):
            heappush(self.due_requests, (event.tick + limit, event.request))
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
        notes, token = self.notes, self.live(event.token)
        notes.untold[event.token] = event
        seats = {} if token is None else token.seats
        if event.why is LossCause.PAUSED and token is not None:
            names = event.lost if token.loss is Loss.PARTIAL else seats
            shares = {leaf: seats[leaf].share for leaf in names if leaf in seats}
            notes.lost[event.token] = event, shares
        elif event.why is LossCause.PARENT_RELEASED and token is not None:
            for leaf in event.lost:
                inside = seats[leaf].inside if leaf in seats else None
                notes.outer.append((event, leaf, inside))
        if event.request is None and event.why in _OF_A_STATE:
            notes.gave_up_state.append(event)
        self.unseat(event.token, event.lost, Refusal.REVOKED)
        self.unseat(event.token, event.freed, Refusal.REVOKED, "I-18")

    def _on_expired(self, event: t.Expired) -> None:
        self.unseat(event.token, event.leaves, Refusal.EXPIRED)

    def _on_renewed(self, event: t.Renewed) -> None:
        self.see_alive(event.owner)

    def _on_crashed(self, event: t.Crashed) -> None:
        for owner in self.owner(event.owner).family():
            self.notes.crashed.add(owner)
            self.notes.ending += owner.tokens.values()
            self.notes.cancelled += owner.waiting.values()
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
        self.notes.gave_up_state.clear()
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


class Rule(NamedTuple):
    """A function that says what is wrong at some events."""

    judge: Callable[..., Any]
    """Of the replay and the event."""
    invariants: tuple[str, ...]
    """Those that it can find broken."""
    events: tuple[type[Event], ...]
    is_before: bool
    """Whether it judges the state that the event meets, or the one that it leaves."""


class RuleTable(list[Rule]):
    """The rules of one family, in the order in which they judge an event.

        RULES = RuleTable()

        @RULES.before("I-12")
        def higher_epoch(replay: TraceReplay, event: t.Opened) -> Findings: ...

    A rule looks at the events that the annotation of its last argument names, and
    yields what is wrong, or notes something for the end of the call.
    """

    def before(self, *invariants: str) -> Callable[[R], R]:
        """Add a rule for the state that an event meets."""
        return self._add(invariants, is_before=True)

    def after(self, *invariants: str) -> Callable[[R], R]:
        """Add a rule for the state that an event leaves."""
        return self._add(invariants, is_before=False)

    def _add(self, invariants: tuple[str, ...], *, is_before: bool) -> Callable[[R], R]:
        def add(judge: R) -> R:
            self.append(Rule(judge, invariants, events_of(judge), is_before))
            return judge

        return add


@dataclass(eq=False)
class InvariantJudge:
    """Rules with a memory of their own: the methods marked `before` and `after`."""

    invariants: ClassVar[tuple[str, ...]]
    """Those that it can find broken."""
    rules: ClassVar[tuple[Rule, ...]] = ()
    replay: TraceReplay

    def __init_subclass__(cls) -> None:
        """Collect the rules."""
        cls.rules = tuple(
            Rule(method, cls.invariants, events_of(method), vars(method)["is_before"])
            for method in vars(cls).values()
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
    """Return the kinds of events that the annotation of the last argument names."""
    *_, named, _ = method.__annotations__.values()
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
