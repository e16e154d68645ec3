"""Notices that are about nothing: no manager says them."""

from controllers.resources import trace as t
from controllers.resources.invariants.replay import Replay
from controllers.resources.invariants.seam import (
    MALFORMED,
    Findings,
    Judge,
    Rule,
    after,
    before,
)
from controllers.resources.words import NoticeKind

_DEMANDS = (NoticeKind.DEMANDED, NoticeKind.YIELD_BY, NoticeKind.KEEP_ON)
_OF_WHAT_IT_HAS = (*_DEMANDS, NoticeKind.LIMITED, NoticeKind.UNLIMITED)


class Notices(Judge):
    """Who is asked holds what is asked for, and answers at once.

    What a loss or an outcome says is with the losses and the outcomes.
    """

    invariants = (MALFORMED,)

    def __init__(self, replay: Replay) -> None:
        """Begin with nobody being asked."""
        super().__init__(replay)
        self._asked: list[tuple[object, ...]] = []

    def rules(self) -> tuple[Rule, ...]:
        """Look at demands, answers, and what is free again."""
        return (
            before(t.Notified, self.about_a_token),
            before(t.Notified, self.by_who_asks),
            after(t.Notified, self.note_demand),
            before(t.Answered, self.was_asked),
            before(t.StateRefused, self.kept_by_holders),
            before(t.Settled, self.settled),
        )

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

    def note_demand(self, event: t.Notified) -> Findings:
        """Remember who is to answer."""
        if event.kind is NoticeKind.DEMANDED:
            self._asked.append((event.owner, event.token, event.request))
        yield from ()

    def was_asked(self, event: t.Answered) -> Findings:
        """An answer follows its demand."""
        demand = (event.owner, event.token, event.request)
        if demand in self._asked:
            self._asked.remove(demand)
        else:
            yield MALFORMED, f"{event.owner} answers what it was not asked"

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

    def settled(self, event: t.Settled) -> Findings:
        """After a call everybody has answered."""
        del event
        for owner, token, request in self._asked:
            yield MALFORMED, f"{owner} gives no answer about {token} to {request}"
        self._asked.clear()
