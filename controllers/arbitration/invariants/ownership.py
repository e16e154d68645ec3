"""Who may sit on a leaf together, and by what grant.

What is held changes by whole requests and living tokens only.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controllers.arbitration import events as t
from controllers.arbitration.invariants.geometry import blockers, is_open_to, scope
from controllers.arbitration.invariants.replay_state import LeafState, SeatState
from controllers.arbitration.invariants.trace_replay import (
    Findings,
    InvariantJudge,
    after,
    before,
    gone_leaves,
)
from controllers.arbitration.requests import FULL
from controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    OutcomeKind,
    TokenId,
)
from models.resources import ResourceKind


@dataclass(eq=False)
class WholeGrants(InvariantJudge):
    """All or nothing, and nothing by a dead token.

    An owner holds the union of what it was granted, less what was released, revoked
    and expired: the replay counts that way, and here each event is held against it.
    """

    invariants = ("I-4", "I-10")

    _paused: dict[int, tuple[t.Revoked, dict[str, int]]] = field(default_factory=dict)
    """Number of the request that is to resume, to the loss and its set."""
    _revoked: dict[TokenId, tuple[t.Revoked, dict[str, int]]] = field(
        default_factory=dict
    )
    """The last loss of each paused token in this call."""

    @before
    def adds_to_a_living_token(self, event: t.Requested) -> Findings:
        """Only a valid token of the asker's grows."""
        if event.add_to is None:
            return
        token = self.replay.live(event.add_to)
        if token is None:
            yield "I-10", f"request {event.request} adds to dead token {event.add_to}"
        elif token.owner.name != event.owner:
            yield "I-4", f"{event.owner} adds to a token of {token.owner.name}"

    @before
    def the_whole_set(self, event: t.Granted) -> Findings:
        """Every essential leaf, whole optional names, and nothing else."""
        request = self.replay.waiting(event.request)
        if request is None:
            return  # `Outcomes` says so
        asked = request.asked
        name = f"the grant of request {event.request}"
        if event.owner != asked.owner:
            yield "I-4", f"{name} goes to {event.owner}, not to {asked.owner}"
        for leaf, share in asked.shares.items():
            got = event.shares.get(leaf)
            if got != share:
                yield "I-4", f"{name} has {got} hundredths of {leaf}, not {share}"
        missing = set(event.missing)
        obtained = [
            unit for name, unit in asked.optional.items() if name not in missing
        ]
        extra = set().union(*obtained) - set(asked.shares)
        beyond = set(event.shares) - set(asked.shares)
        if beyond != extra or not missing <= set(asked.optional):
            yield "I-4", f"{name} has {_list(beyond)} besides, not {_list(extra)}"
        if not event.shares:
            yield "I-4", f"{name} gives nothing"
        for leaf in beyond:
            if event.shares[leaf] != self._full(leaf):
                yield "I-4", f"{name} has a part of {leaf} only"

    @before
    def one_token(self, event: t.Granted) -> Findings:
        """A grant makes a token, or enlarges the one that it was asked to."""
        request = self.replay.waiting(event.request)
        add_to = request.asked.add_to if request else None
        known = self.replay.tokens.get(event.token)
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

    @before
    def gives_what_it_has(self, event: t.Released | t.Revoked | t.Expired) -> Findings:
        """A token that lives gives some of its leaves, at the end all of them."""
        token, leaves = self.replay.live(event.token), gone_leaves(event)
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

    @before
    def note_pause(self, event: t.Revoked) -> None:
        """Remember the set of a token that is paused."""
        token = self.replay.live(event.token)
        if event.why is LossCause.PAUSED and token is not None:
            names = event.lost if token.loss is Loss.PARTIAL else token.seats
            shares = {
                leaf: token.seats[leaf].share for leaf in names if leaf in token.seats
            }
            self._revoked[event.token] = (event, shares)

    @after
    def note_resumption(self, event: t.Notified) -> None:
        """Remember by which request a paused token comes back."""
        if event.token in self._revoked and event.why is LossCause.PAUSED:
            lost = self._revoked.pop(event.token)
            if event.request is not None:
                self._paused[event.request] = lost

    @before
    def resumes_the_same_set(self, event: t.Requested) -> Findings:
        """Who was paused waits for exactly what it lost, at its old place."""
        lost, shares = self._paused.pop(event.request, (None, {}))
        was = lost.token if lost else None
        if event.resumes != was:
            yield "I-4", f"request {event.request} resumes {event.resumes}, not {was}"
        token = self.replay.tokens.get(was) if was else None
        if token is None:
            return
        if event.shares != shares or event.optional:
            had = f"{event.owner} was paused with {_list(shares)}"
            yield "I-4", f"{had}, asks otherwise"
        old = (token.owner.name, token.priority, token.arrival)
        if (event.owner, event.priority, event.arrival) != old:
            yield "I-4", f"{event.owner} resumes at another place or in another way"

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call the paused wait, and nobody waits to enlarge a dead token."""
        for number, (lost, _shares) in self._paused.items():
            yield "I-4", f"{lost.owner} is paused, but request {number} never comes"
        for token in self.replay.adding:
            if self.replay.live(token) is None:
                yield "I-10", f"a request waits to enlarge dead token {token}"
        self._paused.clear()
        self._revoked.clear()

    def _full(self, leaf: str) -> int:
        return FULL if self.replay.leaf(leaf).kind is ResourceKind.EXCLUSIVE else 0


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


class Ownership(InvariantJudge):
    """One owner a leaf, whole subtrees, exact sums.

    An exclusive leaf is a stack: each seat is inside the reservation below, whose owner
    is an ancestor, and only the top one uses.
    States are held while active. Rates sum to at most 10 000 in the whole and in each
    reservation.
    """

    invariants = ("I-1", "I-2", "I-19")

    @after
    def shared_rightly(self, event: t.Granted) -> Findings:
        """Judge each leaf of a grant, with its new seat."""
        for name in event.shares:
            leaf = self.replay.leaf(name)
            if leaf.kind is ResourceKind.EXCLUSIVE:
                yield from self._stack(leaf)
            elif leaf.kind is ResourceKind.CUMULATIVE:
                yield from self._sums(leaf, event)
            elif self.replay.active.get(leaf.parent or "") != name:
                yield "I-1", f"state {name} is granted while it is not active"

    @after
    def only_the_active_state(self, event: t.StateChanged) -> Findings:
        """Nobody holds a state that the robot is not in."""
        for name in self.replay.children.get(event.group, ()):
            seats = self.replay.leaf(name).seats
            if name != event.active and seats:
                holder = seats[0].owner.name
                yield "I-1", f"{holder} holds state {name}; {event.active} is active"

    @before
    def whole_composites(self, event: t.Requested) -> Findings:
        """An optional name stands for all leaves below it."""
        for name, unit in event.optional.items():
            below = self.replay.exclusive_leaves(name) or {name}
            along = {m for leaf in below for m in self.replay.leaf(leaf).limits}
            wanted = below - set(event.shares)
            if not wanted <= set(unit) <= wanted | along:
                wrong = ", ".join(unit) or "nothing"
                yield "I-2", f"request {event.request} takes {name} to mean {wrong}"

    @before
    def nobody_on_it(self, event: t.ResourceRemoved) -> Findings:
        """A leaf that is held or waited for stays in the list."""
        leaf = self.replay.leaves.get(event.name)
        if leaf is not None and (leaf.seats or leaf.queue):
            yield "I-1", f"{event.name} is removed while it is held or waited for"

    def _stack(self, leaf: LeafState) -> Findings:
        for k in range(1, len(leaf.seats)):
            low, high = leaf.seats[k - 1], leaf.seats[k]
            if not is_open_to(low, high.owner):
                both = f"{low.owner.name} and {high.owner.name}"
                yield "I-1", f"{leaf.name} is held by {both}, no part of the former"

    def _sums(self, leaf: LeafState, event: t.Granted) -> Findings:
        share = event.shares[leaf.name]
        if share <= 0:
            yield "I-19", f"{event.owner} has {share} hundredths of {leaf.name}"
        outer = leaf.seat_of(event.inside.get(leaf.name))
        used, size = (leaf.used, FULL) if outer is None else (outer.used, outer.share)
        if used > size:
            yield "I-19", f"shares of {leaf.name} sum to {used} of {size}"


@dataclass(eq=False)
class Inheritance(InvariantJudge):
    """What an ancestor has is its descendants', and theirs no longer than its."""

    invariants = ("I-20",)

    _orphans: list[SeatState] = field(default_factory=list)
    _to_be_told: list[tuple[t.Requested, SeatState]] = field(default_factory=list)
    _told: set[tuple[object, int | None]] = field(default_factory=set)

    @before
    def seated_in_its_scope(self, event: t.Granted) -> Findings:
        """A grant says which reservation it comes out of."""
        owner = self.replay.owner(event.owner)
        for name in event.shares:
            within = scope(self.replay.leaf(name), owner)
            expected = within.token.id if within else None
            said = event.inside.get(name)
            if said != expected:
                where = f"inside of {said}, not of {expected}"
                yield "I-20", f"{event.owner} has {name} {where}"

    @before
    def note_siblings(self, event: t.Requested) -> None:
        """Remember who inside an ancestor's reservation is in the way."""
        owner = self.replay.owner(event.owner)
        for name, share in event.shares.items() if event.resumes is None else ():
            leaf = self.replay.leaf(name)
            if scope(leaf, owner) is not None:
                for seat in blockers(self.replay, leaf, owner, share):
                    self._to_be_told.append((event, seat))

    @before
    def note_demand(self, event: t.Notified) -> None:
        """Remember who is told."""
        if event.kind is NoticeKind.DEMANDED:
            self._told.add((event.token, event.request))

    @before
    def note_orphans(self, event: t.Released | t.Revoked | t.Expired) -> None:
        """Remember what is inside of a seat that goes."""
        token = self.replay.live(event.token)
        if token is not None:
            for name in gone_leaves(event):
                for seat in self.replay.leaf(name).seats:
                    if seat.inside == token.id:
                        self._orphans.append(seat)

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call no descendant is left over, and every sibling was told."""
        for seat in self._orphans:
            if seat.token.seats.get(seat.leaf.name) is seat:
                who, what = seat.owner.name, seat.leaf.name
                yield "I-20", f"{who} keeps {what}; the reservation around it is gone"
        for asked, seat in self._to_be_told:
            request = self.replay.requests.get(asked.request)
            kind = request.outcome if request else OutcomeKind.GRANTED
            stays = seat.token.seats.get(seat.leaf.name) is seat
            told = (seat.token.id, asked.request) in self._told
            if kind in (None, OutcomeKind.DENIED) and stays and not told:
                what = f"{seat.leaf.name} of their common reservation"
                who = f"{seat.owner.name} is not told that {asked.owner}"
                yield "I-20", f"{who} asks for {what}"
        self._orphans.clear()
        self._to_be_told.clear()
        self._told.clear()
