"""Waiting requests: queues, time limits, ends, and deadlocks.

A request waits for the earlier competing requests and for the blocking owners; a
waiting owner waits for its own requests. A cycle would never end, so its latest request
is denied (Tarjan's strongly connected components).
"""

from collections.abc import Iterable, Iterator
from functools import partial

from nao_testbed.controllers.arbitration.events import Failed, Notified, Requested
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.manager.state.records import (
    LATE,
    AvailabilityWatch,
    Leaf,
    OwnerRecord,
    Reservation,
    Shares,
    Terms,
    Waiting,
    Yielding,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state.timers import Due, Timers
from nao_testbed.controllers.arbitration.manager.state.trace import Trace
from nao_testbed.controllers.arbitration.requests import Request, Ticket
from nao_testbed.controllers.arbitration.tokens import (
    Blocker,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Why,
)
from nao_testbed.models import BadInput
from nao_testbed.models.values import short

_IN_THE_WAY = (Why.BUSY, Why.OUTRANKED, Why.TIMEOUT)
"""Reasons of requests that failed because of blockers."""


class Queue:
    """Waiting requests, and the leaves on which one may now be granted."""

    def __init__(self, cfg: LedgerCfg, timers: Timers, trace: Trace) -> None:
        self.cfg = cfg
        """Rules of the ledger."""
        self.timers = timers
        self.trace = trace
        self.waiting: dict[int, Waiting] = {}
        """Ticket number to waiting request."""
        self.unqueued: dict[int, Waiting] = {}
        """Waiting requests with optional leaves only."""
        self.changed: dict[Leaf, None] = {}
        """Leaves on which a request may now be granted."""
        self.eased: dict[AvailabilityWatch, None] = {}
        """Watches whose leaves changed."""
        self.entangled: dict[OwnerRecord, None] = {}
        """Owners that both hold and wait; a deadlock needs one."""
        self.suspects: dict[OwnerRecord, None] = {}
        """Owners that may be in a cycle since the last search."""
        self._tickets = 0

    def make(
        self,
        request: Request,
        owner: OwnerRecord,
        terms: Terms,
        shares: Shares,
        optional: dict[str, Shares],
        add_to: Reservation | None,
        arrival: int | None = None,
    ) -> Waiting:
        """Return a request with a new ticket, ranked after all equals; not queued yet.

        The arguments are fields of `Waiting`; `arrival` sets another rank.
        """
        self._tickets = number = self._tickets + 1
        place, now = number if arrival is None else arrival, self.timers.now
        return Waiting(
            Ticket(number, request),
            owner,
            terms,
            shares,
            optional,
            place,
            add_to,
            now,
            now,
            terms.priority,
            (-terms.priority, place, number),
        )

    def find(self, number: int) -> Waiting | None:
        """Return the waiting request with a ticket number."""
        if type(number) is not int:
            raise BadInput(
                f"the number of a ticket is {short(number)}; give a whole number, such "
                "as ticket.number."
            )
        return self.waiting.get(number)

    def announce(self, waiting: Waiting) -> None:
        """Emit the arrival of a request."""
        terms = waiting.terms
        timeout_s = terms.timeout_s
        self.trace.emit(
            Requested(
                tick=self.timers.now,
                request=waiting.ticket.number,
                owner=waiting.owner.name,
                shares={leaf.name: share for leaf, share in waiting.shares.items()},
                optional={
                    name: names_of(unit) for name, unit in waiting.optional.items()
                },
                priority=waiting.priority,
                arrival=waiting.arrival,
                timeout_ticks=None if timeout_s is None else self.cfg.ticks(timeout_s),
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
        """Queue a request; its time limit starts."""
        number, owner = waiting.ticket.number, waiting.owner
        if waiting.resumes is None and not waiting.recalls:
            waiting.firm_at += self.cfg.overtake_ticks
        timeout_s = waiting.terms.timeout_s
        if timeout_s or (timeout_s is not None and waiting.resumes is not None):
            waiting.deadline = self.timers.now + self.cfg.ticks(timeout_s)
            end = partial(self._time_out, waiting)
            self.timers.at(waiting.deadline, Due.TIMEOUT, end, waiting=waiting)
        self.waiting[number] = owner.waiting[number] = waiting
        if waiting.add_to is not None:
            enlarged_by = waiting.add_to.enlarged_by or {}
            enlarged_by[number] = waiting
            waiting.add_to.enlarged_by = enlarged_by
        if owner.reservations:
            self.entangled[owner] = None
        for leaf in waiting.shares:
            leaf.join(waiting)
            if leaf.waiters[-1] is not waiting:  # later requests wait for it
                self.suspects[owner] = None
        if any(leaf.waiters for held in owner.reservations for leaf in held.shares):
            self.suspects[owner] = None  # other owners may wait for its leaves
        if not waiting.shares:
            self.unqueued[number] = waiting

    def dequeue(self, waiting: Waiting) -> None:
        """Remove a request from its queues; later ones may be next."""
        waiting.is_waiting = False
        number, owner = waiting.ticket.number, waiting.owner
        if self.waiting.pop(number, None) is None:
            return  # granted at once, never queued
        del owner.waiting[number]
        if not owner.waiting:
            self.entangled.pop(owner, None)
        if waiting.add_to is not None and waiting.add_to.enlarged_by:
            waiting.add_to.enlarged_by.pop(number, None)
        for leaf in waiting.shares:
            leaf.leave(waiting)
            self.touch(leaf)
        self.unqueued.pop(number, None)
        if waiting.deadline is not None:
            self.timers.ended()

    def fail(self, waiting: Waiting, kind: OutcomeKind, why: Why) -> None:
        """End a request without a grant; reservations do not change.

        If a virtual owner blocks it, that is the reason even if holders block it too.
        """
        wanted = waiting.shares or _optional_shares(waiting)
        if why in _IN_THE_WAY and any(leaf.is_frozen for leaf in wanted):
            why = Why.FROZEN
        blockers, now = self._blockers(waiting), self.timers.now
        self.dequeue(waiting)
        if waiting.recalls and waiting.add_to is not None:
            waiting.add_to.lent |= waiting.shares.keys()
        waiting.ticket.outcome = Outcome(
            kind=kind,
            tick=now,
            missing=() if waiting.shares else tuple(waiting.optional),
            why=why,
            blockers=blockers,
        )
        number, owner = waiting.ticket.number, waiting.owner.name
        self.trace.emit(
            Failed(tick=now, request=number, owner=owner, kind=kind, why=why)
        )
        self.notify_outcome(waiting)

    def cancel(self, requests: Iterable[Waiting], why: Why) -> None:
        """Cancel requests that are no longer wanted."""
        for waiting in list(requests):
            self.fail(waiting, OutcomeKind.CANCELLED, why)

    def notify_outcome(self, waiting: Waiting) -> None:
        """Notify an owner of an outcome if its call has already returned."""
        outcome = waiting.ticket.outcome
        if self.trace.listeners and waiting.has_waited and outcome is not None:
            self.trace.emit(
                Notified(
                    tick=self.timers.now,
                    owner=waiting.owner.name,
                    kind=NoticeKind.OUTCOME,
                    token=outcome.token.id if outcome.token else None,
                    leaves=outcome.obtained,
                    request=waiting.ticket.number,
                    outcome=outcome,
                )
            )
        promise, waiting.promise = waiting.promise, None
        if promise is not None:
            self.end_promise(waiting, promise[0])

    def end_promise(self, waiting: Waiting, promised: Yielding) -> None:
        """Notify holders that their promise to yield is void."""
        for holder, leaves in promised.items():
            kept = [leaf for leaf in leaves if leaf in holder.shares]
            if kept:
                self.trace.notify(
                    holder,
                    NoticeKind.KEEP_ON,
                    kept,
                    by=waiting.owner.name,
                    request=waiting.ticket.number,
                )

    # -- changes -----------------------------------------------------------------------

    def touch(self, leaf: Leaf) -> None:
        """Mark a leaf whose requests may now be granted."""
        self.changed[leaf] = None
        for watch in leaf.watches:
            self.eased[watch] = None

    def touch_limits(self, motor: Leaf) -> None:
        """Mark the torque limits of a motor, whose requests may now be granted."""
        for limit in motor.limited:
            if limit.waiters or self.unqueued:
                self.touch(limit)

    def suspect(self, leaf: Leaf) -> None:
        """Mark the owners that wait for a leaf as candidates for a cycle."""
        for waiting in leaf.waiters:
            self.suspects[waiting.owner] = None

    def notify_available(self) -> None:
        """Notify owners once when all leaves lost with a token are available again."""
        eased = sorted(self.eased, key=lambda one: (one.token, names_of(one.lost)))
        self.eased.clear()
        for watch in eased:
            if watch not in watch.owner.watches or not watch.can_have_all():
                continue
            watch.forget()
            self.trace.emit(
                Notified(
                    tick=self.timers.now,
                    owner=watch.owner.name,
                    kind=NoticeKind.AVAILABLE,
                    token=watch.token,
                    leaves=names_of(watch.lost),
                )
            )

    def latest_in_cycle(self) -> Waiting | None:
        """Return the last waiting request in queue order that is part of a cycle.

        A new cycle contains an owner that began to wait, or for which others began to
        wait, so only owners reachable from these are searched.
        """
        if not self.entangled:
            return None
        nodes = _in_cycles(self.suspects)
        requests = [node for node in nodes if isinstance(node, Waiting)]
        return max(requests, key=lambda waiting: waiting.key, default=None)

    # -- internals ---------------------------------------------------------------------

    def _time_out(self, waiting: Waiting) -> None:
        if waiting.is_waiting:
            self.fail(waiting, OutcomeKind.TIMED_OUT, Why.TIMEOUT)

    def _blockers(self, waiting: Waiting) -> tuple[Blocker, ...]:
        """Return the blocking holders of a request per leaf.

        For a request with only optional names, these are the holders of the optional
        leaves.
        """
        found = []
        for leaf, share in (waiting.shares or _optional_shares(waiting)).items():
            holders = leaf.blockers(waiting.owner, share)
            first = leaf.first_competitor(waiting, LATE if holders else self.timers.now)
            names = [by for by, freeze in leaf.freezes.items() if freeze.is_total]
            names += [r.owner.name for r in holders]
            names += [first.owner.name] if first else []
            if names or not leaf.is_open():
                owners = tuple(dict.fromkeys(names))
                found.append(Blocker(resource=leaf.name, owners=owners))
        return tuple(found)


def _optional_shares(waiting: Waiting) -> Shares:
    """Return the leaves of all optional names, sorted."""
    units = waiting.optional.values()
    every = {leaf: share for unit in units for leaf, share in unit.items()}
    return dict(sorted(every.items(), key=lambda item: item[0].name))


_Node = OwnerRecord | Waiting


def _waits_for(node: _Node) -> Iterator[_Node]:
    if isinstance(node, OwnerRecord):
        yield from node.waiting.values()
        return
    for leaf, share in node.shares.items():
        if not leaf.competes:
            continue  # states are not released
        earlier = leaf.last_competitor(node)  # which in turn waits for earlier ones
        if earlier is not None:
            yield earlier
        for holder in leaf.blockers(node.owner, share):
            yield holder.owner


def _in_cycles(roots: Iterable[_Node]) -> set[_Node]:
    """Return the nodes reachable from `roots` that are part of a cycle.

    Tarjan's strongly connected components of more than one node, without recursion.
    """
    found: set[_Node] = set()
    index: dict[_Node, int] = {}
    low: dict[_Node, int] = {}
    stack: list[_Node] = []
    on_stack: set[_Node] = set()
    for root in roots:
        path: list[tuple[_Node, Iterator[_Node]]] = []
        following: _Node | None = None if root in index else root
        while following is not None or path:
            if following is not None:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                path.append((following, _waits_for(following)))
            node, ahead = path[-1]
            following = None
            for other in ahead:
                if other not in index:
                    following = other
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            if following is not None:
                continue
            path.pop()
            if path:
                above = path[-1][0]
                low[above] = min(low[above], low[node])
            if low[node] == index[node]:
                component: list[_Node] = []
                while not component or component[-1] is not node:
                    component.append(stack.pop())
                on_stack.difference_update(component)
                if len(component) > 1:
                    found.update(component)
    return found
