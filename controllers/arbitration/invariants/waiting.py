"""Who is next is granted, what is lent comes back, nobody waits for itself."""

from collections.abc import Iterable, Iterator

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.geometry import (
    blockers,
    earlier_competitors,
    heads,
    is_grantable,
    is_opposed,
    scope,
    who_bars,
)
from nao_testbed.controllers.arbitration.invariants.replay_state import (
    OwnerState,
    RequestState,
)
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    Findings,
    RuleTable,
    TraceReplay,
)
from nao_testbed.controllers.arbitration.tokens import LossCause, Why
from nao_testbed.models.resources import ResourceKind

RULES = RuleTable()

# -- the queue -------------------------------------------------------------------------
# No overtaking: by priority, then arrival, among those who need the same leaf.
#
# Two requests meet where both need a leaf and have the same scope there: a child
# inside its parent's reservation does not compete with those outside. While the
# manager lets equals pass, they pass to what is free; nobody gives way to them.


@RULES.before("I-3")
def note_before_loss(replay: TraceReplay, event: t.Revoked) -> Findings:
    """Remember whom a taker met: scopes change when reservations go."""
    request = replay.waiting(event.request)
    met = replay.notes.met
    if request is not None and request.number not in met:
        names = {*request.asked.shares, *_optional(request)}
        met[request.number] = list(_meeting(replay, request, names))
    if request is None or event.why is LossCause.PARENT_RELEASED:
        return
    for name in event.lost:
        leaf = replay.leaf(name)
        for other in earlier_competitors(replay, leaf, request):
            taken = f"{name} is taken away for request {request.number}, though"
            yield (
                "I-3",
                f"{taken} request {other.number} waits: only what is free is",
            )
            break


@RULES.before("I-3")
def nobody_is_overtaken(replay: TraceReplay, event: t.Granted) -> Findings:
    """No earlier one waits for a leaf of this grant."""
    request = replay.waiting(event.request)
    if request is None:
        return
    met = replay.notes.met.get(request.number)
    if met is None:
        met = list(_meeting(replay, request, event.shares))
    for leaf, number in met:
        if leaf in event.shares and replay.waiting(number) is not None:
            what = f"request {request.number} gets {leaf}"
            yield "I-3", f"{what} before request {number}"


def _meeting(
    replay: TraceReplay, request: RequestState, names: Iterable[str]
) -> Iterable[tuple[str, int]]:
    for name in names:
        leaf = replay.leaf(name)
        first = who_bars(replay, leaf, request)
        if first is not None:
            yield name, first.number


# -- waking up -------------------------------------------------------------------------
# After each call nobody waits for what nothing keeps from them.
#
# A finding is filed under what made the leaf free: a wait that timed out (I-7), a
# whole token lost (I-18), the end of a freeze (I-22), an ancestor's reservation
# (I-20), else I-8. Only the first in the queue of a leaf that changed can be next.


@RULES.before("I-7", "I-8", "I-18", "I-20", "I-22")
def nobody_sleeps(replay: TraceReplay, _: t.Settled) -> Findings:
    """No waiting request could be granted."""
    seen: set[int] = set()
    for leaf, why in replay.touched.items():
        idle = replay.unqueued.values()
        unqueued = [each for each in idle if leaf.name in _optional(each)]
        for request in (*heads(replay, leaf), *unqueued):
            if request.number in seen or not is_grantable(replay, request):
                continue
            seen.add(request.number)
            inside = any(
                scope(replay.leaf(name), request.owner) for name in request.asked.shares
            )
            who = f"request {request.number} of {request.asked.owner} waits, though"
            yield (
                "I-20" if inside and why == "I-8" else why,
                f"{who} nothing is in its way; {leaf.name} changed",
            )


def _optional(request: RequestState) -> set[str]:
    return {name for unit in request.asked.optional.values() for name in unit}


# -- loans -----------------------------------------------------------------------------
# A token recalls what it has lent, and has it in the same call.
#
# Only a freeze stands in the way, or with preemption a higher priority. Nobody else
# comes before all equals.


@RULES.before("I-27")
def has_what_it_lends(replay: TraceReplay, event: t.Lent) -> Findings:
    """A loan is of what its token covers."""
    token = replay.live(event.token)
    lacking = set(event.leaves) - set(token.seats if token else ())
    if lacking:
        yield "I-27", f"{event.owner} lends {sorted(lacking)}, which it has not"


@RULES.before("I-27")
def recalls_what_it_lent(replay: TraceReplay, event: t.Requested) -> Findings:
    """A recall is of what is lent only."""
    if not event.recalls:
        return
    token = replay.live(event.add_to)
    if token is None or not token.lends(event.shares):
        yield "I-27", f"{event.owner} recalls {sorted(event.shares)}, not lent"


@RULES.before("I-27")
def is_back(replay: TraceReplay, _: t.Settled) -> Findings:
    """Nothing but a freeze or authority keeps a lender from what it recalls."""
    for asked in replay.notes.all(t.Requested):
        number = asked.request
        request = replay.waiting(number) if asked.recalls else None
        if request is None:
            continue
        if not any(_is_kept(replay, request, name) for name in request.asked.shares):
            what = f"request {number} of {request.asked.owner} recalls what it lent"
            yield "I-27", f"{what}, and does not have it"


def _is_kept(replay: TraceReplay, request: RequestState, name: str) -> bool:
    leaf = replay.leaf(name)
    within = scope(leaf, request.owner)
    return (
        leaf.is_frozen
        or is_opposed(replay, leaf, request, request.asked.shares)
        or who_bars(replay, leaf, request) is not None
        or any(
            replay.by_priority
            and seat is not within
            and seat.token.priority > request.asked.priority
            for seat in leaf.seats
        )
    )


Node = OwnerState | RequestState
_CHANGES = {
    *(t.Requested, t.Granted, t.Failed, t.StateChanged),
    *(t.Released, t.Revoked, t.Expired),
}
"""Of the graph of waiting."""


# -- deadlock --------------------------------------------------------------------------
# The graph of waiting has no circle when a call is done.
#
# A request waits for the earlier ones that it meets and for the owners in its way, an
# owner for its own requests. The earlier ones of a queue follow each other, so an
# edge to the last of them is enough. States make no edges. Every circle passes
# through an owner that holds and waits. Whether all ends when every holder does is
# for a test of many seeds.


@RULES.before("I-21")
def denied_in_a_circle(replay: TraceReplay, event: t.Failed) -> Findings:
    """Who is denied for a deadlock was in one."""
    request = replay.waiting(event.request)
    if event.why is not Why.DEADLOCK or request is None:
        return
    if request not in _behind(replay, request):
        yield "I-21", f"request {event.request} is denied; it is in no circle"


@RULES.before("I-21")
def no_circle(replay: TraceReplay, _: t.Settled) -> Findings:
    """No owner that holds and waits can be reached from itself."""
    if replay.notes.said.keys().isdisjoint(_CHANGES):
        return
    node = _in_a_circle(replay, replay.entangled)
    if node is not None:
        who = node.name if isinstance(node, OwnerState) else node.owner.name
        yield "I-21", f"{who} waits for itself, directly or through others"


def _in_a_circle(replay: TraceReplay, starts: Iterable[Node]) -> Node | None:
    """Return a node that can be reached from itself, looking at each edge once."""
    is_open: dict[Node, bool] = {}  # False: all that is behind it was looked at
    for start in starts:
        path = [] if start in is_open else [(start, _waits_for(replay, start))]
        is_open.setdefault(start, True)
        while path:
            node, ahead = path[-1]
            following = next(ahead, None)
            if following is None:
                is_open[node] = False
                path.pop()
            elif following not in is_open:
                is_open[following] = True
                path.append((following, _waits_for(replay, following)))
            elif is_open[following]:
                return following
    return None


def _behind(replay: TraceReplay, start: Node) -> set[Node]:
    """Return all that a node waits for, through others or not."""
    found: set[Node] = set()
    ahead = [start]
    while ahead:
        new = set(_waits_for(replay, ahead.pop())) - found
        found |= new
        ahead.extend(new)
    return found


def _waits_for(replay: TraceReplay, node: Node) -> Iterator[Node]:
    if isinstance(node, OwnerState):
        yield from node.waiting.values()
        return
    for name, share in node.asked.shares.items():
        leaf = replay.leaf(name)
        if leaf.kind is ResourceKind.STATE:
            continue  # it comes by itself: nobody has to let go of another one
        earlier = next(earlier_competitors(replay, leaf, node), None)
        if earlier is not None:
            yield earlier
        for seat in blockers(replay, leaf, node.owner, share):
            yield seat.owner
