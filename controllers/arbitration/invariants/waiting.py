"""I-3, I-8, I-21, I-27: who is next is granted, what is lent comes back, no circles.

With the wake-ups of I-7, I-18, I-20, I-22. Nobody waits for itself, directly or through
others.
"""

from collections.abc import Iterable, Iterator

from controllers.arbitration import events as t
from controllers.arbitration.invariants.geometry import (
    blockers,
    earlier_competitors,
    heads,
    is_grantable,
    is_opposed,
    scope,
    who_bars,
)
from controllers.arbitration.invariants.replay_state import OwnerState, RequestState
from controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    JudgeRule,
    TraceReplay,
    after,
    before,
)
from controllers.arbitration.tokens import LossCause, Why
from models.resources import ResourceKind


class Queue(InvariantJudge):
    """No overtaking: by priority, then arrival, among those who need the same leaf.

    Two requests meet where both need a leaf and have the same scope there: a child
    inside its parent's reservation does not compete with those outside. While the
    manager lets equals pass, they pass to what is free; nobody gives way to them.
    """

    invariants = ("I-3",)

    def __init__(self, replay: TraceReplay) -> None:
        """Begin a call."""
        super().__init__(replay)
        self._met: dict[int, list[tuple[str, int]]] = {}
        """Request for which holders give way, to whom it met before they did."""

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at grants, and at the losses that make them possible."""
        return (
            before(t.Revoked, self.note_before_loss),
            before(t.Granted, self.nobody_is_overtaken),
            before(t.Settled, self.settled),
        )

    def note_before_loss(self, event: t.Revoked) -> Findings:
        """Remember whom a taker met: scopes change when reservations go."""
        request = self.replay.waiting(event.request)
        if request is not None and request.number not in self._met:
            names = {*request.asked.shares, *_optional(request)}
            self._met[request.number] = list(self._meeting(request, names))
        if request is None or event.why is LossCause.PARENT_RELEASED:
            return
        for name in event.lost:
            leaf = self.replay.leaf(name)
            for other in earlier_competitors(self.replay, leaf, request):
                yield (
                    "I-3",
                    f"{name} is taken away for request {request.number}, though "
                    f"request {other.number} waits: only what is free is",
                )
                break

    def nobody_is_overtaken(self, event: t.Granted) -> Findings:
        """No earlier one waits for a leaf of this grant."""
        request = self.replay.waiting(event.request)
        if request is None:
            return
        met = self._met.pop(request.number, None)
        if met is None:
            met = list(self._meeting(request, event.shares))
        for leaf, number in met:
            still_waits = self.replay.waiting(number) is not None
            if leaf in event.shares and still_waits:
                yield (
                    "I-3",
                    f"request {request.number} gets {leaf} before request {number}",
                )

    def settled(self, event: t.Settled) -> Findings:
        """End a call."""
        del event
        self._met.clear()
        yield from ()

    def _meeting(
        self, request: RequestState, names: Iterable[str]
    ) -> Iterable[tuple[str, int]]:
        for name in names:
            leaf = self.replay.leaf(name)
            first = who_bars(self.replay, leaf, request)
            if first is not None:
                yield name, first.number


class WakeUp(InvariantJudge):
    """After each call nobody waits for what nothing keeps from them.

    A finding is filed under what made the leaf free: a wait that timed out (I-7), a
    whole token lost (I-18), the end of a freeze (I-22), an ancestor's reservation
    (I-20), else I-8. Only the first in the queue of a leaf that changed can be next.
    """

    invariants = ("I-7", "I-8", "I-18", "I-20", "I-22")

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at what is left when a call is done."""
        return (before(t.Settled, self.nobody_sleeps),)

    def nobody_sleeps(self, event: t.Settled) -> Findings:
        """No waiting request could be granted."""
        del event
        replay = self.replay
        seen: set[int] = set()
        for leaf, why in replay.touched.items():
            candidates = list(heads(replay, leaf))
            candidates += [
                request
                for request in replay.unqueued.values()
                if leaf.name in _optional(request)
            ]
            for request in candidates:
                if request.number in seen or not is_grantable(replay, request):
                    continue
                seen.add(request.number)
                inside = any(
                    scope(replay.leaf(name), request.owner)
                    for name in request.asked.shares
                )
                yield (
                    "I-20" if inside and why == "I-8" else why,
                    f"request {request.number} of {request.asked.owner} waits, though "
                    f"nothing is in its way; {leaf.name} changed",
                )


def _optional(request: RequestState) -> set[str]:
    return {name for unit in request.asked.optional.values() for name in unit}


class Loans(InvariantJudge):
    """A token recalls what it has lent, and has it in the same call.

    Only a freeze stands in the way, or with preemption a higher priority. Nobody else
    comes before all equals.
    """

    invariants = ("I-27",)

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with no recall."""
        super().__init__(replay)
        self._recalls: list[int] = []
        """Requests of this call that recall."""

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at loans, at recalls, and at what is left when a call is done."""
        return (
            before(t.Lent, self.has_what_it_lends),
            before(t.Requested, self.recalls_what_it_lent),
            before(t.Settled, self.is_back),
        )

    def has_what_it_lends(self, event: t.Lent) -> Findings:
        """A loan is of what its token covers."""
        token = self.replay.live(event.token)
        lacking = set(event.leaves) - set(token.seats if token else ())
        if lacking:
            yield "I-27", f"{event.owner} lends {sorted(lacking)}, which it has not"

    def recalls_what_it_lent(self, event: t.Requested) -> Findings:
        """Note a recall, of what is lent only."""
        if not event.recalls:
            return
        token = self.replay.live(event.add_to)
        if token is None or not token.lends(event.shares):
            yield "I-27", f"{event.owner} recalls {sorted(event.shares)}, not lent"
        self._recalls.append(event.request)

    def is_back(self, event: t.Settled) -> Findings:
        """Nothing but a freeze or authority keeps a lender from what it recalls."""
        del event
        for number in self._recalls:
            request = self.replay.requests.get(number)
            if request is None or self.replay.waiting(number) is None:
                continue
            if not any(self._is_kept(request, name) for name in request.asked.shares):
                yield (
                    "I-27",
                    f"request {number} of {request.asked.owner} recalls what it lent, "
                    "and does not have it",
                )
        self._recalls.clear()

    def _is_kept(self, request: RequestState, name: str) -> bool:
        leaf = self.replay.leaf(name)
        within = scope(leaf, request.owner)
        return (
            leaf.is_frozen
            or is_opposed(self.replay, leaf, request, request.asked.shares)
            or who_bars(self.replay, leaf, request) is not None
            or any(
                self.replay.by_priority
                and seat is not within
                and seat.token.priority > request.asked.priority
                for seat in leaf.seats
            )
        )


Node = OwnerState | RequestState


class Deadlock(InvariantJudge):
    """The graph of waiting has no circle when a call is done.

    A request waits for the earlier ones that it meets and for the owners in its way, an
    owner for its own requests. The earlier ones of a queue follow each other, so an
    edge to the last of them is enough. States make no edges. Every circle passes
    through an owner that holds and waits. Whether all ends when every holder does is
    for a test of many seeds.
    """

    invariants = ("I-21",)

    def __init__(self, replay: TraceReplay) -> None:
        """Begin with an empty graph."""
        super().__init__(replay)
        self._is_changed = False

    def rules(self) -> tuple[JudgeRule, ...]:
        """Look at what changes the graph, and at it when a call is done."""
        changes = (
            t.Requested,
            t.Granted,
            t.Failed,
            t.Released,
            t.Revoked,
            t.Expired,
            t.StateChanged,
        )
        return (
            *(after(event, self.note_change) for event in changes),
            before(t.Failed, self.denied_in_a_circle),
            before(t.Settled, self.no_circle),
        )

    def note_change(self, event: t.Event) -> Findings:
        """Remember that the graph is another one."""
        del event
        self._is_changed = True
        yield from ()

    def denied_in_a_circle(self, event: t.Failed) -> Findings:
        """Who is denied for a deadlock was in one."""
        request = self.replay.waiting(event.request)
        if event.why is not Why.DEADLOCK or request is None:
            return
        if request not in self._behind(request):
            yield "I-21", f"request {event.request} is denied; it is in no circle"

    def no_circle(self, event: t.Settled) -> Findings:
        """No owner that holds and waits can be reached from itself."""
        del event
        if not self._is_changed:
            return
        self._is_changed = False
        node = self._in_a_circle(self.replay.entangled)
        if node is not None:
            who = node.name if isinstance(node, OwnerState) else node.owner.name
            yield "I-21", f"{who} waits for itself, directly or through others"

    def _in_a_circle(self, starts: Iterable[Node]) -> Node | None:
        """Return a node that can be reached from itself, looking at each edge once."""
        is_open: dict[Node, bool] = {}  # False: all that is behind it was looked at
        for start in starts:
            path = [] if start in is_open else [(start, self._waits_for(start))]
            is_open.setdefault(start, True)
            while path:
                node, ahead = path[-1]
                following = next(ahead, None)
                if following is None:
                    is_open[node] = False
                    path.pop()
                elif following not in is_open:
                    is_open[following] = True
                    path.append((following, self._waits_for(following)))
                elif is_open[following]:
                    return following
        return None

    def _behind(self, start: Node) -> set[Node]:
        """Return all that a node waits for, through others or not."""
        found: set[Node] = set()
        ahead = [start]
        while ahead:
            new = set(self._waits_for(ahead.pop())) - found
            found |= new
            ahead.extend(new)
        return found

    def _waits_for(self, node: Node) -> Iterator[Node]:
        if isinstance(node, OwnerState):
            yield from node.waiting.values()
            return
        for name, share in node.asked.shares.items():
            leaf = self.replay.leaf(name)
            if leaf.kind is ResourceKind.STATE:
                continue  # it comes by itself: nobody has to let go of another one
            earlier = next(earlier_competitors(self.replay, leaf, node), None)
            if earlier is not None:
                yield earlier
            for seat in blockers(self.replay, leaf, node.owner, share):
                yield seat.owner
