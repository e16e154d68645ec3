"""Requests that wait: their queues, time limits and failures; who waits in a circle.

A request waits for the earlier ones that compete with it and for the owners in its way;
an owner, as long as it waits, for its own requests. In a circle of these nobody would
ever go on, so the latest request of it is denied (Tarjan's strongly connected
components).
"""

from collections.abc import Iterator
from functools import partial

from controllers.arbitration.events import Failed, Notified, Requested
from controllers.arbitration.manager.records import (
    LATE,
    OwnerRecord,
    Shares,
    Waiting,
    names_of,
)
from controllers.arbitration.manager.state import Due, ReservationState
from controllers.arbitration.tokens import (
    Blocker,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Why,
)

_IN_THE_WAY = (Why.BUSY, Why.TIMEOUT)
"""Reasons of those that could not be granted."""


class WaitingList:
    """Puts requests into the book and takes them out."""

    def __init__(self, book: ReservationState) -> None:
        """Work on a book."""
        self._book = book

    def announce(self, waiting: Waiting) -> None:
        """Tell that a request has come."""
        if not self._book.listeners:
            return
        terms = waiting.terms
        timeout_s = terms.timeout_s
        self._book.emit(
            Requested(
                tick=self._book.tick,
                request=waiting.ticket.number,
                owner=waiting.owner.name,
                shares={leaf.name: share for leaf, share in waiting.shares.items()},
                optional={
                    name: names_of(unit) for name, unit in waiting.optional.items()
                },
                priority=waiting.priority,
                arrival=waiting.arrival,
                timeout_ticks=(
                    None if timeout_s is None else self._book.cfg.ticks(timeout_s)
                ),
                loss=terms.loss,
                implied=names_of(waiting.implied) if waiting.implied else (),
                wins_ties=terms.wins_ties,
                keeps_ties=terms.keeps_ties,
                add_to=waiting.add_to.token.id if waiting.add_to else None,
                resumes=waiting.resumes.id if waiting.resumes else None,
                recalls=waiting.recalls,
            )
        )

    def enqueue(self, waiting: Waiting) -> None:
        """Let a request wait, within its time limit."""
        number, owner = waiting.ticket.number, waiting.owner
        if waiting.resumes is None and not waiting.recalls:
            waiting.firm_at += self._book.cfg.overtake_ticks
        timeout_s = waiting.terms.timeout_s
        if timeout_s:
            waiting.deadline = self._book.tick + self._book.cfg.ticks(timeout_s)
            self._book.timers.at(
                waiting.deadline,
                Due.TIMEOUT,
                partial(self._timed_out, waiting),
                waiting=waiting,
            )
        self._book.waiting[number] = owner.waiting[number] = waiting
        if waiting.add_to is not None:
            enlarged_by = waiting.add_to.enlarged_by or {}
            enlarged_by[number] = waiting
            waiting.add_to.enlarged_by = enlarged_by
        if owner.reservations:
            self._book.entangled[owner] = None
        for leaf in waiting.shares:
            leaf.join(waiting)
            if leaf.waiters[-1] is not waiting:  # those behind wait for it
                self._book.suspects[owner] = None
        if any(leaf.waiters for held in owner.reservations for leaf in held.shares):
            self._book.suspects[owner] = None  # somebody may wait for what it holds
        if not waiting.shares:
            self._book.unqueued[number] = waiting

    def dequeue(self, waiting: Waiting) -> None:
        """Let a request wait no more; those behind it may be next."""
        waiting.is_waiting = False
        number, owner = waiting.ticket.number, waiting.owner
        if self._book.waiting.pop(number, None) is None:
            return  # granted in its call, it never waited
        del owner.waiting[number]
        if not owner.waiting:
            self._book.entangled.pop(owner, None)
        if waiting.add_to is not None and waiting.add_to.enlarged_by:
            waiting.add_to.enlarged_by.pop(number, None)
        for leaf in waiting.shares:
            leaf.leave(waiting)
            self._book.touch(leaf)
        self._book.unqueued.pop(number, None)
        if waiting.deadline is not None:
            self._book.timers.ended()

    def fail(self, waiting: Waiting, kind: OutcomeKind, why: Why) -> None:
        """End a request without a grant; nothing else changes (I-16).

        Where a virtual owner is in the way, that is the reason, not the holders.
        """
        wanted = waiting.shares or _hoped_for(waiting)
        if why in _IN_THE_WAY and any(leaf.is_frozen for leaf in wanted):
            why = Why.FROZEN
        blockers = self.blockers(waiting)
        self.dequeue(waiting)
        if waiting.recalls and waiting.add_to is not None:
            waiting.add_to.lent |= waiting.shares.keys()
        waiting.ticket.outcome = Outcome(
            kind=kind,
            tick=self._book.tick,
            missing=() if waiting.shares else tuple(waiting.optional),
            why=why,
            blockers=blockers,
        )
        if self._book.listeners:
            self._book.emit(
                Failed(
                    tick=self._book.tick,
                    request=waiting.ticket.number,
                    owner=waiting.owner.name,
                    kind=kind,
                    why=why,
                )
            )
        self.tell_outcome(waiting)

    def _timed_out(self, waiting: Waiting) -> None:
        if waiting.is_waiting:
            self.fail(waiting, OutcomeKind.TIMED_OUT, Why.TIMEOUT)

    def tell_outcome(self, waiting: Waiting) -> None:
        """Send the outcome to an owner whose call has returned long ago."""
        outcome = waiting.ticket.outcome
        if self._book.listeners and waiting.has_waited and outcome is not None:
            self._book.emit(
                Notified(
                    tick=self._book.tick,
                    owner=waiting.owner.name,
                    kind=NoticeKind.OUTCOME,
                    token=outcome.token.id if outcome.token else None,
                    leaves=outcome.obtained,
                    request=waiting.ticket.number,
                    outcome=outcome,
                )
            )
        self.end_promise(waiting)

    def end_promise(self, waiting: Waiting) -> None:
        """Tell those who promised to give way, and still hold, that they need not."""
        promised, waiting.promised = waiting.promised, None
        for holder, leaves in promised.items() if promised else ():
            kept = names_of(leaf for leaf in leaves if leaf in holder.shares)
            if kept and self._book.listeners:
                self._book.emit(
                    Notified(
                        tick=self._book.tick,
                        owner=holder.owner.name,
                        kind=NoticeKind.KEEP_ON,
                        token=holder.token.id,
                        leaves=kept,
                        by=waiting.owner.name,
                        request=waiting.ticket.number,
                    )
                )

    def blockers(self, waiting: Waiting) -> tuple[Blocker, ...]:
        """Return who is in the way of a request, leaf by leaf.

        Of one that has optional names alone: who has these.
        """
        found = []
        for leaf, share in (waiting.shares or _hoped_for(waiting)).items():
            holders = leaf.blockers(waiting.owner, share)
            first = leaf.first_competitor(waiting, LATE if holders else self._book.tick)
            names = [by for by, freeze in leaf.freezes.items() if freeze.is_total]
            names += [r.owner.name for r in holders]
            names += [first.owner.name] if first else []
            if names or not leaf.is_open():
                owners = tuple(dict.fromkeys(names))
                found.append(Blocker(resource=leaf.name, owners=owners))
        return tuple(found)


def _hoped_for(waiting: Waiting) -> Shares:
    """Return the leaves of all optional names, sorted."""
    units = waiting.optional.values()
    every = {leaf: share for unit in units for leaf, share in unit.items()}
    return dict(sorted(every.items(), key=lambda item: item[0].name))


_Node = OwnerRecord | Waiting


def latest_in_a_circle(book: ReservationState) -> Waiting | None:
    """Return the last of the waiting, in their order, that waits for itself.

    A new circle passes through somebody that began to wait, or that others began to
    wait for: only what can be reached from these is looked at.
    """
    circles = _Circles()
    for owner in book.suspects:
        circles.visit(owner)
    requests = [node for node in circles.found if isinstance(node, Waiting)]
    return max(requests, key=lambda waiting: waiting.key, default=None)


def _waits_for(node: _Node) -> Iterator[_Node]:
    if isinstance(node, OwnerRecord):
        yield from node.waiting.values()
        return
    for leaf, share in node.shares.items():
        if not leaf.competes:
            continue  # a state comes by itself, nobody has to let go of another
        earlier = leaf.last_competitor(node)  # which waits for the ones before it
        if earlier is not None:
            yield earlier
        for holder in leaf.blockers(node.owner, share):
            yield holder.owner


class _Circles:
    """Tarjan's strongly connected components, without recursion."""

    def __init__(self) -> None:
        self.found: set[_Node] = set()
        """All nodes in components of more than one."""
        self._index: dict[_Node, int] = {}
        self._low: dict[_Node, int] = {}
        self._open: list[_Node] = []
        self._is_open: set[_Node] = set()

    def visit(self, root: _Node) -> None:
        """Look at all that can be reached from a node."""
        if root in self._index:
            return
        path = [(root, self._enter(root))]
        while path:
            node, ahead = path[-1]
            for following in ahead:
                if following not in self._index:
                    path.append((following, self._enter(following)))
                    break
                if following in self._is_open:
                    self._low[node] = min(self._low[node], self._index[following])
            else:
                path.pop()
                if path:
                    above = path[-1][0]
                    self._low[above] = min(self._low[above], self._low[node])
                self._close(node)

    def _enter(self, node: _Node) -> Iterator[_Node]:
        self._index[node] = self._low[node] = len(self._index)
        self._open.append(node)
        self._is_open.add(node)
        return _waits_for(node)

    def _close(self, node: _Node) -> None:
        if self._low[node] != self._index[node]:
            return
        component: list[_Node] = []
        while not component or component[-1] is not node:
            component.append(self._open.pop())
        self._is_open.difference_update(component)
        if len(component) > 1:
            self.found.update(component)
