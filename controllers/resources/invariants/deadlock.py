"""I-21: nobody waits for itself, directly or through others (RM-21)."""

from collections.abc import Iterable, Iterator

from controllers.resources import trace as t
from controllers.resources.invariants.geometry import blockers, earlier_competitors
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import OwnerState, RequestState
from controllers.resources.invariants.seam import Findings, Judge, Rule, after, before
from controllers.resources.words import Why
from models.resource_node import ResourceKind

Node = OwnerState | RequestState


class Deadlock(Judge):
    """The graph of waiting has no circle when a call is done.

    A request waits for the earlier ones that it meets and for the owners in its way, an
    owner for its own requests. The earlier ones of a queue follow each other, so an
    edge to the last of them is enough. States make no edges. Every circle passes
    through an owner that holds and waits. Whether all ends when every holder does is
    for a test of many seeds.
    """

    invariants = ("I-21",)

    def __init__(self, replay: Replay) -> None:
        """Begin with an empty graph."""
        super().__init__(replay)
        self._is_changed = False

    def rules(self) -> tuple[Rule, ...]:
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
