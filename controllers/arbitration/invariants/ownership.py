"""Who may sit on a leaf together, and by what grant.

What is held changes by whole requests and living tokens only.
"""

from collections.abc import Iterable

from nao_testbed.controllers.arbitration import events as t
from nao_testbed.controllers.arbitration.invariants.geometry import (
    blockers,
    is_open_to,
    scope,
)
from nao_testbed.controllers.arbitration.invariants.replay_state import LeafState
from nao_testbed.controllers.arbitration.invariants.trace_replay import (
    Findings,
    RuleTable,
    TraceReplay,
    gone_leaves,
)
from nao_testbed.controllers.arbitration.requests import FULL
from nao_testbed.controllers.arbitration.tokens import NoticeKind, OutcomeKind, Why
from nao_testbed.models.resources import ResourceKind

RULES = RuleTable()

# -- whole grants ----------------------------------------------------------------------
# All or nothing, and nothing by a dead token.
#
# An owner holds the union of what it was granted, less what was released, revoked
# and expired: the replay counts that way, and here each event is held against it.


@RULES.before("I-4", "I-10")
def adds_to_a_living_token(replay: TraceReplay, event: t.Requested) -> Findings:
    """Only a valid token of the asker's grows."""
    if event.add_to is None:
        return
    token = replay.live(event.add_to)
    if token is None:
        yield "I-10", f"request {event.request} adds to dead token {event.add_to}"
    elif token.owner.name != event.owner:
        yield "I-4", f"{event.owner} adds to a token of {token.owner.name}"


@RULES.before("I-4", "I-10")
def the_whole_set(replay: TraceReplay, event: t.Granted) -> Findings:
    """Every essential leaf, whole optional names, and nothing else."""
    request = replay.waiting(event.request)
    if request is None:
        return  # `granted_once` says so
    asked = request.asked
    name = f"the grant of request {event.request}"
    if event.owner != asked.owner:
        yield "I-4", f"{name} goes to {event.owner}, not to {asked.owner}"
    for leaf, share in asked.shares.items():
        got = event.shares.get(leaf)
        if got != share:
            yield "I-4", f"{name} has {got} hundredths of {leaf}, not {share}"
    missing = set(event.missing)
    obtained = [unit for name, unit in asked.optional.items() if name not in missing]
    extra = set().union(*obtained) - set(asked.shares)
    beyond = set(event.shares) - set(asked.shares)
    if beyond != extra or not missing <= set(asked.optional):
        yield "I-4", f"{name} has {_list(beyond)} besides, not {_list(extra)}"
    if not event.shares:
        yield "I-4", f"{name} gives nothing"
    for leaf in beyond:
        if event.shares[leaf] != _full(replay, leaf):
            yield "I-4", f"{name} has a part of {leaf} only"


@RULES.before("I-4", "I-10")
def one_token(replay: TraceReplay, event: t.Granted) -> Findings:
    """A grant makes a token, or enlarges the one that it was asked to."""
    request = replay.waiting(event.request)
    add_to = request.asked.add_to if request else None
    known = replay.tokens.get(event.token)
    if add_to is not None and event.token != add_to:
        yield "I-4", f"request {event.request} got {event.token}, not {add_to}"
    if known is None:
        return
    if known.ended is not None:
        yield "I-10", f"dead token {event.token} grows by request {event.request}"
    elif add_to is None or known.owner.name != event.owner:
        yield "I-4", f"{event.owner} got {known.owner.name}'s token {event.token}"
    elif again := set(known.seats) & set(event.shares):
        yield "I-4", f"{event.owner} got {_list(again)} twice by one token"


@RULES.before("I-4", "I-10")
def gives_what_it_has(
    replay: TraceReplay, event: t.Released | t.Revoked | t.Expired
) -> Findings:
    """A token that lives gives some of its leaves, at the end all of them."""
    token, leaves = replay.live(event.token), gone_leaves(event)
    if token is None:
        yield "I-10", f"{type(event).__name__} changes dead token {event.token}"
        return
    what = f"token {token.id}"
    if event.owner != token.owner.name:
        yield "I-4", f"{what} is {token.owner.name}'s, not {event.owner}'s"
    nothing = not leaves and bool(token.seats)
    if nothing or len(set(leaves)) != len(leaves):
        yield "I-4", f"{what} gives {_list(leaves)}: nothing, or twice"
    if not set(leaves) <= set(token.seats):
        yield "I-4", f"{what} gives {_list(leaves)}, not all its own"
    is_whole = set(leaves) >= set(token.seats)
    if isinstance(event, t.Expired):
        if set(leaves) != set(token.seats):
            yield "I-4", f"{what} expires but keeps leaves"
        return
    if isinstance(event, t.Released) and token.lends(leaves):
        is_whole = False
    if event.is_whole != is_whole:
        yield "I-4", f"{what} ends: {not is_whole}, but covers otherwise"


@RULES.before("I-4", "I-10")
def resumes_the_same_set(replay: TraceReplay, event: t.Requested) -> Findings:
    """Who was paused waits for exactly what it lost, at its old place."""
    lost, shares = replay.notes.pauses.get(event.request, (None, {}))
    was = lost.token if lost else None
    if event.resumes != was:
        yield "I-4", f"request {event.request} resumes {event.resumes}, not {was}"
    token = replay.tokens.get(was) if was else None
    if token is None:
        return
    if event.shares != shares or event.optional:
        had = f"{event.owner} was paused with {_list(shares)}"
        yield "I-4", f"{had}, asks otherwise"
    old = (token.owner.name, token.priority, token.arrival)
    if (event.owner, event.priority, event.arrival) != old:
        yield "I-4", f"{event.owner} resumes at another place or in another way"


@RULES.before("I-4", "I-10")
def all_paused_wait(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call the paused wait, and nobody waits to enlarge a dead token."""
    for number, (lost, _shares) in replay.notes.pauses.items():
        yield "I-4", f"{lost.owner} is paused, but request {number} never comes"
    for token in replay.adding:
        if replay.live(token) is None:
            yield "I-10", f"a request waits to enlarge dead token {token}"


def _full(replay: TraceReplay, leaf: str) -> int:
    return FULL if replay.leaf(leaf).kind is ResourceKind.EXCLUSIVE else 0


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


# -- who sits on a leaf ----------------------------------------------------------------
# One owner a leaf, whole subtrees, exact sums.
#
# An exclusive leaf is a stack: each seat is inside the reservation below, whose owner
# is an ancestor, and only the top one uses.
# States are held while active. Rates sum to at most 10 000 in the whole and in each
# reservation.


@RULES.after("I-1", "I-2", "I-19")
def shared_rightly(replay: TraceReplay, event: t.Granted) -> Findings:
    """Judge each leaf of a grant, with its new seat."""
    for name in event.shares:
        leaf = replay.leaf(name)
        if leaf.kind is ResourceKind.EXCLUSIVE:
            yield from _stack(leaf)
        elif leaf.kind is ResourceKind.CUMULATIVE:
            yield from _sums(leaf, event)
        elif replay.active.get(leaf.parent or "") != name:
            yield "I-1", f"state {name} is granted while it is not active"


@RULES.after("I-1", "I-2", "I-19")
def only_the_active_state(replay: TraceReplay, event: t.StateChanged) -> Findings:
    """Nobody holds a state that the robot is not in."""
    for name in replay.children.get(event.group, ()):
        seats = replay.leaf(name).seats
        if name != event.active and seats:
            holder = seats[0].owner.name
            yield "I-1", f"{holder} holds state {name}; {event.active} is active"


@RULES.before("I-1", "I-2", "I-19")
def whole_composites(replay: TraceReplay, event: t.Requested) -> Findings:
    """An optional name stands for all leaves below it."""
    for name, unit in event.optional.items():
        below = replay.exclusive_leaves(name) or {name}
        along = {m for leaf in below for m in replay.leaf(leaf).limits}
        wanted = below - set(event.shares)
        if not wanted <= set(unit) <= wanted | along:
            wrong = ", ".join(unit) or "nothing"
            yield "I-2", f"request {event.request} takes {name} to mean {wrong}"


@RULES.before("I-1", "I-2", "I-19")
def nobody_on_it(replay: TraceReplay, event: t.ResourceRemoved) -> Findings:
    """A leaf that is held or waited for stays in the list."""
    leaf = replay.leaves.get(event.name)
    if leaf is not None and (leaf.seats or leaf.queue):
        yield "I-1", f"{event.name} is removed while it is held or waited for"


def _stack(leaf: LeafState) -> Findings:
    for k in range(1, len(leaf.seats)):
        low, high = leaf.seats[k - 1], leaf.seats[k]
        if not is_open_to(low, high.owner):
            both = f"{low.owner.name} and {high.owner.name}"
            yield "I-1", f"{leaf.name} is held by {both}, no part of the former"


def _sums(leaf: LeafState, event: t.Granted) -> Findings:
    share = event.shares[leaf.name]
    if share <= 0:
        yield "I-19", f"{event.owner} has {share} hundredths of {leaf.name}"
    outer = leaf.seat_of(event.inside.get(leaf.name))
    used, size = (leaf.used, FULL) if outer is None else (outer.used, outer.share)
    if used > size:
        yield "I-19", f"shares of {leaf.name} sum to {used} of {size}"


# -- descendants -----------------------------------------------------------------------
# What an ancestor has is its descendants', and theirs no longer than its.


@RULES.before("I-20")
def seated_in_its_scope(replay: TraceReplay, event: t.Granted) -> Findings:
    """A grant says which reservation it comes out of."""
    owner = replay.owner(event.owner)
    for name in event.shares:
        within = scope(replay.leaf(name), owner)
        expected = within.token.id if within else None
        said = event.inside.get(name)
        if said != expected:
            where = f"inside of {said}, not of {expected}"
            yield "I-20", f"{event.owner} has {name} {where}"


@RULES.before("I-20")
def note_siblings(replay: TraceReplay, event: t.Requested) -> None:
    """Remember who inside an ancestor's reservation is in the way."""
    owner = replay.owner(event.owner)
    for name, share in event.shares.items() if event.resumes is None else ():
        leaf = replay.leaf(name)
        if scope(leaf, owner) is not None:
            for seat in blockers(replay, leaf, owner, share):
                replay.notes.siblings.append((event, seat))


@RULES.before("I-20")
def none_is_left_over(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call no descendant has what its ancestor has not."""
    for leaf in replay.touched:
        for seat in leaf.seats:
            around = None if seat.inside is None else replay.tokens.get(seat.inside)
            if around is not None and leaf.name not in around.seats:
                what = f"{leaf.name}; the reservation around it is gone"
                yield "I-20", f"{seat.owner.name} keeps {what}"


@RULES.before("I-20")
def siblings_were_told(replay: TraceReplay, _: t.Settled) -> Findings:
    """After a call every sibling knows who else asks for what it has.

    Not of who was outranked: with `LedgerCfg.denies_lower` nobody is asked for it.
    """
    notes = replay.notes
    if not notes.siblings:
        return
    told = {
        (x.token, x.request)
        for x in notes.all(t.Notified)
        if x.kind is NoticeKind.DEMANDED
    }
    outranked = {x.request for x in notes.all(t.Failed) if x.why is Why.OUTRANKED}
    for asked, seat in notes.siblings:
        request = replay.requests.get(asked.request)
        kind = request.outcome if request else OutcomeKind.GRANTED
        stays = seat.token.seats.get(seat.leaf.name) is seat
        is_told = (seat.token.id, asked.request) in told
        is_itself = seat.owner.name == asked.owner
        is_untold = stays and not (is_told or is_itself or asked.request in outranked)
        if kind in (None, OutcomeKind.DENIED) and is_untold:
            what = f"{seat.leaf.name} of their common reservation"
            who = f"{seat.owner.name} is not told that {asked.owner}"
            yield "I-20", f"{who} asks for {what}"
