"""Traces that no manager writes: names, numbers, order, notices."""

from dataclasses import dataclass, field

from controllers.arbitration import events as t
from controllers.arbitration.invariants.trace_replay import (
    MALFORMED,
    Findings,
    InvariantJudge,
    after,
    before,
)
from controllers.arbitration.tokens import NoticeKind
from models.resources import ResourceKind

_NAMES = ("leaves", "lost", "freed", "missing", "holders", "shares", "optional")
"""Fields that hold names."""
_LEAVES = ("leaves", "lost", "freed", "shares")
_Loss = t.Released | t.Revoked | t.Expired
_Owned = (
    t.Requested
    | t.Granted
    | t.Failed
    | _Loss
    | t.Renewed
    | t.Crashed
    | t.Notified
    | t.Answered
)
_Listing = (
    t.Requested
    | t.Granted
    | _Loss
    | t.Frozen
    | t.Thawed
    | t.StateRefused
    | t.Notified
    | t.MadeSafe
)


class Naming(InvariantJudge):
    """Names come sorted, known and in time.

    Sorted: so the order in which a request names them leaves no mark (I-5). That two
    runs with permuted names have one `trace_hash` is for a test.
    """

    invariants = ("I-5", MALFORMED)

    @before
    def in_time(self, event: t.Event) -> Findings:
        """Ticks never decrease within an epoch, and the epoch comes first."""
        if not isinstance(event, t.Opened):
            if event.tick < self.replay.tick:
                yield MALFORMED, f"tick {event.tick} comes after {self.replay.tick}"
            if self.replay.epoch == 0:
                yield MALFORMED, f"{type(event).__name__} comes before any epoch"

    @before
    def sorted_names(self, event: _Listing) -> Findings:
        """Names are sorted, each there once."""
        for part in _NAMES:
            names = list(getattr(event, part, ()))
            if names != sorted(set(names)):
                yield "I-5", f"{type(event).__name__}.{part} is not sorted: {names}"

    @before
    def known_leaves(self, event: _Listing) -> Findings:
        """Leaves were added before."""
        for part in _LEAVES:
            for name in getattr(event, part, ()):
                if name not in self.replay.leaves:
                    yield MALFORMED, f"{type(event).__name__} names {name!r}: no leaf"

    @before
    def known_owner(self, event: _Owned) -> Findings:
        """Owners were added before."""
        if event.owner not in self.replay.owners:
            yield MALFORMED, f"{type(event).__name__} names {event.owner!r}: no owner"

    @before
    def known_parent(self, event: t.OwnerAdded) -> Findings:
        """An owner's parent was added before, and stays its parent while it is here."""
        if event.parent is not None and event.parent not in self.replay.owners:
            yield MALFORMED, f"{event.owner} is a part of {event.parent!r}: no owner"
        known = self.replay.owners.get(event.owner)
        if known is not None and not known.is_gone:
            was = known.parent.name if known.parent else None
            if was != event.parent:
                yield MALFORMED, f"{event.owner} moves from {was} to {event.parent}"

    @before
    def below_a_composite(self, event: t.ResourceAdded) -> Findings:
        """A resource is added once, below one that nobody has."""
        if event.name in self.replay.leaves or self.replay.children.get(event.name):
            yield MALFORMED, f"resource {event.name} is added twice"
        above = self.replay.leaves.get(event.parent or "")
        if above is not None and (above.seats or above.queue):
            yield MALFORMED, f"{event.name} is added below {event.parent}: in use"

    @before
    def was_there(self, event: t.ResourceRemoved) -> Findings:
        """Only what is known is removed."""
        if event.name not in self.replay.leaves:
            yield MALFORMED, f"{event.name!r} is removed: it was no leaf"

    @before
    def known_state(self, event: t.StateChanged) -> Findings:
        """The active state is one of its set."""
        states = [
            name
            for name in self.replay.children.get(event.group, ())
            if name in self.replay.leaves
            and self.replay.leaves[name].kind is ResourceKind.STATE
        ]
        if event.active is not None and event.active not in states:
            yield MALFORMED, f"{event.active!r} is no state of {event.group!r}"
        if event.active == self.replay.active.get(event.group):
            yield MALFORMED, f"{event.group!r} changes to {event.active!r}: it was so"


class TokenIssue(InvariantJudge):
    """Tokens and epochs only grow, so none is ever used again."""

    invariants = ("I-12",)

    @before
    def higher_epoch(self, event: t.Opened) -> Findings:
        """A restart raises the epoch."""
        if event.epoch <= self.replay.epoch:
            yield "I-12", f"epoch {event.epoch} begins after epoch {self.replay.epoch}"

    @before
    def newer(self, event: t.Granted) -> Findings:
        """A token that is not known yet is later than all others."""
        if event.token in self.replay.tokens:
            return
        if event.token.epoch != self.replay.epoch:
            yield "I-12", f"token {event.token} is not of epoch {self.replay.epoch}"
        if event.token <= self.replay.last_token:
            yield "I-12", f"token {event.token} comes after {self.replay.last_token}"


_DEMANDS = (NoticeKind.DEMANDED, NoticeKind.YIELD_BY, NoticeKind.KEEP_ON)
_OF_WHAT_IT_HAS = (*_DEMANDS, NoticeKind.LIMITED, NoticeKind.UNLIMITED)


@dataclass(eq=False)
class Notices(InvariantJudge):
    """Who is asked holds what is asked for, and answers at once.

    What a loss or an outcome says is with the losses and the outcomes.
    """

    invariants = (MALFORMED,)

    _asked: list[tuple[object, ...]] = field(default_factory=list)

    @before
    def about_a_token(self, event: t.Notified) -> Findings:
        """The token is the owner's, and covers the leaves if it is to give them."""
        token = self.replay.tokens.get(event.token) if event.token else None
        if event.token is None and event.kind in (
            NoticeKind.OUTCOME,
            NoticeKind.RAISED,
        ):
            return
        what = f"{event.owner} is told {event.kind}"
        if token is None or token.owner.name != event.owner:
            yield MALFORMED, f"{what} about {event.token}, which is not its token"
        elif event.kind in _OF_WHAT_IT_HAS:
            if not event.leaves or not set(event.leaves) <= set(token.seats):
                yield MALFORMED, f"{what} about leaves that token {token.id} lacks"
        elif event.kind is NoticeKind.OUTCOME:
            if not set(event.leaves) <= set(token.seats):
                yield MALFORMED, f"{what} about leaves that it did not get"
        elif event.kind is NoticeKind.AVAILABLE:
            frozen = [leaf for leaf in event.leaves if self.replay.leaf(leaf).is_frozen]
            if frozen or not event.leaves:
                yield MALFORMED, f"{what} about what is not: {frozen}"

    @before
    def by_who_asks(self, event: t.Notified) -> Findings:
        """The asker of a demand is the one who waits, or did until now."""
        if event.kind not in _DEMANDS:
            return
        request = self.replay.waiting(event.request)
        if event.kind is NoticeKind.KEEP_ON and event.request is not None:
            request = self.replay.requests.get(event.request)
        if event.request is not None:
            asker = request.asked.owner if request else None
            if asker != event.by:
                yield MALFORMED, f"{event.owner} is asked by {event.by}, not {asker}"
        elif event.kind is not NoticeKind.DEMANDED:
            yield MALFORMED, f"{event.owner} promised, but to no request"

    @after
    def note_demand(self, event: t.Notified) -> None:
        """Remember who is to answer."""
        if event.kind is NoticeKind.DEMANDED:
            self._asked.append((event.owner, event.token, event.request))

    @before
    def was_asked(self, event: t.Answered) -> Findings:
        """An answer follows its demand."""
        demand = (event.owner, event.token, event.request)
        if demand in self._asked:
            self._asked.remove(demand)
        else:
            yield MALFORMED, f"{event.owner} answers what it was not asked"

    @before
    def kept_by_holders(self, event: t.StateRefused) -> Findings:
        """A wish for a state is refused by those who need the active one."""
        active = self.replay.active.get(event.group)
        seats = self.replay.leaf(active).seats if active else []
        holders = {seat.owner.name for seat in seats}
        if not event.holders or set(event.holders) != holders:
            yield MALFORMED, f"{event.group} is kept by {event.holders}: not holders"
        states = self.replay.children.get(event.group, ())
        if event.wanted is not None and event.wanted not in states:
            yield MALFORMED, f"{event.wanted!r} is no state of {event.group!r}"

    @before
    def settled(self, _: t.Settled) -> Findings:
        """After a call everybody has answered."""
        for owner, token, request in self._asked:
            yield MALFORMED, f"{owner} gives no answer about {token} to {request}"
        self._asked.clear()
