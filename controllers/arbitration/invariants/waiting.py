"""Who is next is granted, what is lent comes back, nobody waits for itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

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
    after,
    before,
)
from controllers.arbitration.tokens import LossCause, Why
from models.resources import ResourceKind


@dataclass(eq=False)
class Queue(InvariantJudge):
    """No overtaking: by priority, then arrival, among those who need the same leaf.

    Two requests meet where both need a leaf and have the same scope there: a child
    inside its parent's reservation does not compete with those outside. While the
    manager lets equals pass, they pass to what is free; nobody gives way to them.
    """

    invariants = ("I-3",)

    _met: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    """Request for which holders give way, to whom it met before they did."""

    @before
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
                taken = f"{name} is taken away for request {request.number}, though"
                yield (
                    "I-3",
                    f"{taken} request {other.number} waits: only what is free is",
                )
                break

    @before
    def nobody_is_overtaken(self, event: t.Granted) -> Findings:
        """No earlier one waits for a leaf of this grant."""
        request = self.replay.waiting(event.request)
        if request is None:
            return
        met = self._met.pop(request.number, None)
        if met is None:
            met = list(self._meeting(request, event.shares))
        for leaf, number in met:
            if leaf in event.shares and self.replay.waiting(number) is not None:
                what = f"request {request.number} gets {leaf}"
                yield "I-3", f"{what} before request {number}"

    @before
    def forget(self, _: t.Settled) -> None:
        """End a call."""
        self._met.clear()

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

    @before
    def nobody_sleeps(self, _: t.Settled) -> Findings:
        """No waiting request could be granted."""
        replay = self.replay
        seen: set[int] = set()
        for leaf, why in replay.touched.items():
            idle = replay.unqueued.values()
            unqueued = [each for each in idle if leaf.name in _optional(each)]
            for request in (*heads(replay, leaf), *unqueued):
                if request.number in seen or not is_grantable(replay, request):
                    continue
                seen.add(request.number)
                inside = any(
                    scope(replay.leaf(name), request.owner)
                    for name in request.asked.shares
                )
                who = f"request {request.number} of {request.asked.owner} waits, though"
                yield (
                    "I-20" if inside and why == "I-8" else why,
                    f"{who} nothing is in its way; {leaf.name} changed",
                )


def _optional(request: RequestState) -> set[str]:
    return {name for unit in request.asked.optional.values() for name in unit}


@dataclass(eq=False)
class Loans(InvariantJudge):
    """A token recalls what it has lent, and has it in the same call.

    Only a freeze stands in the way, or with preemption a higher priority. Nobody else
    comes before all equals.
    """

    invariants = ("I-27",)

    _recalls: list[int] = field(default_factory=list)
    """Requests of this call that recall."""

    @before
    def has_what_it_lends(self, event: t.Lent) -> Findings:
        """A loan is of what its token covers."""
        token = self.replay.live(event.token)
        lacking = set(event.leaves) - set(token.seats if token else ())
        if lacking:
            yield "I-27", f"{event.owner} lends {sorted(lacking)}, which it has not"

    @before
    def recalls_what_it_lent(self, event: t.Requested) -> Findings:
        """Note a recall, of what is lent only."""
        if not event.recalls:
            return
        token = self.replay.live(event.add_to)
        if token is None or not token.lends(event.shares):
            yield "I-27", f"{event.owner} recalls {sorted(event.shares)}, not lent"
        self._recalls.append(event.request)

    @before
    def is_back(self, _: t.Settled) -> Findings:
        """Nothing but a freeze or authority keeps a lender from what it recalls."""
        for number in self._recalls:
            request = self.replay.requests.get(number)
            if request is None or self.replay.waiting(number) is None:
                continue
            if not any(self._is_kept(request, name) for name in request.asked.shares):
                what = f"request {number} of {request.asked.owner} recalls what it lent"
                yield "I-27", f"{what}, and does not have it"
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
_Loss = t.Released | t.Revoked | t.Expired
_Change = t.Requested | t.Granted | t.Failed | _Loss | t.StateChanged
"""Of the graph of waiting."""


@dataclass(eq=False)
class Deadlock(InvariantJudge):
    """The graph of waiting has no circle when a call is done.

    A request waits for the earlier ones that it meets and for the owners in its way, an
    owner for its own requests. The earlier ones of a queue follow each other, so an
    edge to the last of them is enough. States make no edges. Every circle passes
    through an owner that holds and waits. Whether all ends when every holder does is
    for a test of many seeds.
    """

    invariants = ("I-21",)

    _is_changed: bool = False

    @after
    def note_change(self, _: _Change) -> None:
        """Remember that the graph is another one."""
        self._is_changed = True

    @before
    def denied_in_a_circle(self, event: t.Failed) -> Findings:
        """Who is denied for a deadlock was in one."""
        request = self.replay.waiting(event.request)
        if event.why is not Why.DEADLOCK or request is None:
            return
        if request not in self._behind(request):
            yield "I-21", f"request {event.request} is denied; it is in no circle"

    @before
    def no_circle(self, _: t.Settled) -> Findings:
        """No owner that holds and waits can be reached from itself."""
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
