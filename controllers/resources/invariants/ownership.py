"""I-1, I-2, I-19, I-20: who may sit on a leaf together."""

from controllers.resources import trace as t
from controllers.resources.invariants.geometry import blockers, is_open_to, scope
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.replay_records import LeafState, SeatState
from controllers.resources.invariants.seam import Findings, Judge, Rule, after, before
from controllers.resources.request import FULL
from controllers.resources.words import NoticeKind, OutcomeKind
from models.resource_node import ResourceKind


class Ownership(Judge):
    """One owner a leaf, whole subtrees, exact sums.

    An exclusive leaf is a stack: each seat is inside the reservation below, whose owner
    is an ancestor, and only the top one uses (RM-26).
    States are held while active. Rates sum to at most 10 000 in the whole and in each
    reservation.
    """

    invariants = ("I-1", "I-2", "I-19")

    def rules(self) -> tuple[Rule, ...]:
        """Look at every grant, change of state, and composite asked for."""
        return (
            after(t.Granted, self.shared_rightly),
            after(t.StateChanged, self.only_the_active_state),
            before(t.Requested, self.whole_composites),
            before(t.ResourceRemoved, self.nobody_on_it),
        )

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

    def only_the_active_state(self, event: t.StateChanged) -> Findings:
        """Nobody holds a state that the robot is not in."""
        for name in self.replay.children.get(event.group, ()):
            seats = self.replay.leaf(name).seats
            if name != event.active and seats:
                holder = seats[0].owner.name
                yield "I-1", f"{holder} holds state {name}; {event.active} is active"

    def whole_composites(self, event: t.Requested) -> Findings:
        """An optional name stands for all leaves below it."""
        for name, unit in event.optional.items():
            below = self.replay.exclusive_leaves(name) or {name}
            along = {m for leaf in below for m in self.replay.leaf(leaf).limits}
            wanted = below - set(event.shares)
            if not wanted <= set(unit) <= wanted | along:
                wrong = ", ".join(unit) or "nothing"
                yield "I-2", f"request {event.request} takes {name} to mean {wrong}"

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


class Inheritance(Judge):
    """What an ancestor has is its descendants', and theirs no longer than its."""

    invariants = ("I-20",)

    def __init__(self, replay: Replay) -> None:
        """Begin a call with nothing to remember."""
        super().__init__(replay)
        self._orphans: list[SeatState] = []
        self._to_be_told: list[tuple[t.Requested, SeatState]] = []
        self._told: set[tuple[object, int | None]] = set()

    def rules(self) -> tuple[Rule, ...]:
        """Look at seats inside others, and at demands inside a reservation."""
        return (
            before(t.Granted, self.seated_in_its_scope),
            before(t.Requested, self.note_siblings),
            before(t.Notified, self.note_demand),
            before(t.Released, self.note_orphans),
            before(t.Revoked, self.note_orphans),
            before(t.Expired, self.note_orphans),
            before(t.Settled, self.settled),
        )

    def seated_in_its_scope(self, event: t.Granted) -> Findings:
        """A grant says which reservation it comes out of."""
        owner = self.replay.owner(event.owner)
        for name in event.shares:
            within = scope(self.replay.leaf(name), owner)
            expected = within.token.id if within else None
            said = event.inside.get(name)
            if said != expected:
                yield (
                    "I-20",
                    f"{event.owner} has {name} inside of {said}, not of {expected}",
                )

    def note_siblings(self, event: t.Requested) -> Findings:
        """Remember who inside an ancestor's reservation is in the way."""
        owner = self.replay.owner(event.owner)
        for name, share in event.shares.items() if event.resumes is None else ():
            leaf = self.replay.leaf(name)
            if scope(leaf, owner) is not None:
                for seat in blockers(self.replay, leaf, owner, share):
                    self._to_be_told.append((event, seat))
        yield from ()

    def note_demand(self, event: t.Notified) -> Findings:
        """Remember who is told."""
        if event.kind is NoticeKind.DEMANDED:
            self._told.add((event.token, event.request))
        yield from ()

    def note_orphans(self, event: t.Released | t.Revoked | t.Expired) -> Findings:
        """Remember what is inside of a seat that goes."""
        token = self.replay.live(event.token)
        if token is not None:
            for name in _leaves_of(event):
                for seat in self.replay.leaf(name).seats:
                    if seat.inside == token.id:
                        self._orphans.append(seat)
        yield from ()

    def settled(self, event: t.Settled) -> Findings:
        """After a call no descendant is left over, and every sibling was told."""
        del event
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
                yield (
                    "I-20",
                    f"{seat.owner.name} is not told that {asked.owner} asks for "
                    f"{seat.leaf.name} of their common reservation",
                )
        self._orphans.clear()
        self._to_be_told.clear()
        self._told.clear()


def _leaves_of(event: t.Released | t.Revoked | t.Expired) -> tuple[str, ...]:
    if isinstance(event, t.Revoked):
        return event.lost + event.freed
    return event.leaves
