"""Requests that wait: their queues, time limits and failures; who waits in a circle.

A request waits for the earlier ones that compete with it and for the owners in its way;
an owner, as long as it waits, for its own requests. In a circle of these nobody would
ever go on, so the latest request of it is denied (Tarjan's strongly connected
components).
"""

from collections.abc import Iterable, Iterator
from functools import partial

from nao_testbed.controllers.arbitration.events import Failed, Notified, Requested
from nao_testbed.controllers.arbitration.manager.records import (
    LATE,
    OwnerRecord,
    Shares,
    Waiting,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state import Due, ReservationState
from nao_testbed.controllers.arbitration.tokens import (
    Blocker,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Why,
)

_IN_THE_WAY = (Why.BUSY, Why.OUTRANKED, Why.TIMEOUT)
"""Reasons of those that could not be granted."""


def announce(state: ReservationState, waiting: Waiting) -> None:
    """Tell that a request has come."""
    if not state.listeners:
        return
    terms = waiting.terms
    timeout_s = terms.timeout_s
    state.emit(
        Requested(
            tick=state.tick,
            request=waiting.ticket.number,
            owner=waiting.owner.name,
            shares={leaf.name: share for leaf, share in waiting.shares.items()},
            optional={name: names_of(unit) for name, unit in waiting.optional.items()},
            priority=waiting.priority,
            arrival=waiting.arrival,
            timeout_ticks=None if timeout_s is None else state.cfg.ticks(timeout_s),
            loss=terms.loss,
            implied=names_of(waiting.implied) if waiting.implied else (),
            wins_ties=terms.wins_ties,
            keeps_ties=terms.keeps_ties,
            add_to=waiting.add_to.token.id if waiting.add_to else None,
            resumes=waiting.resumes.id if waiting.resumes else None,
            recalls=waiting.recalls,
        )
    )


def enqueue(state: ReservationState, waiting: Waiting) -> None:
    """Let a request wait, within its time limit."""
    number, owner = waiting.ticket.number, waiting.owner
    if waiting.resumes is None and not waiting.recalls:
        waiting.firm_at += state.cfg.overtake_ticks
    timeout_s = waiting.terms.timeout_s
    if timeout_s or (timeout_s is not None and waiting.resumes is not None):
        waiting.deadline = state.tick + state.cfg.ticks(timeout_s)
        state.timers.at(
            waiting.deadline,
            Due.TIMEOUT,
            partial(_timed_out, state, waiting),
            waiting=waiting,
        )
    state.waiting[number] = owner.waiting[number] = waiting
    if waiting.add_to is not None:
        enlarged_by = waiting.add_to.enlarged_by or {}
        enlarged_by[number] = waiting
        waiting.add_to.enlarged_by = enlarged_by
    if owner.reservations:
        state.entangled[owner] = None
    for leaf in waiting.shares:
        leaf.join(waiting)
        if leaf.waiters[-1] is not waiting:  # those behind wait for it
            state.suspects[owner] = None
    if any(leaf.waiters for held in owner.reservations for leaf in held.shares):
        state.suspects[owner] = None  # somebody may wait for what it holds
    if not waiting.shares:
        state.unqueued[number] = waiting


def dequeue(state: ReservationState, waiting: Waiting) -> None:
    """Let a request wait no more; those behind it may be next."""
    waiting.is_waiting = False
    number, owner = waiting.ticket.number, waiting.owner
    if state.waiting.pop(number, None) is None:
        return  # granted in its call, it never waited
    del owner.waiting[number]
    if not owner.waiting:
        state.entangled.pop(owner, None)
    if waiting.add_to is not None and waiting.add_to.enlarged_by:
        waiting.add_to.enlarged_by.pop(number, None)
    for leaf in waiting.shares:
        leaf.leave(waiting)
        state.touch(leaf)
    state.unqueued.pop(number, None)
    if waiting.deadline is not None:
        state.timers.ended()


def fail(
    state: ReservationState, waiting: Waiting, kind: OutcomeKind, why: Why
) -> None:
    """End a request without a grant; nothing else changes.

    Where a virtual owner is in the way, that is the reason, not the holders.
    """
    wanted = waiting.shares or _hoped_for(waiting)
    if why in _IN_THE_WAY and any(leaf.is_frozen for leaf in wanted):
        why = Why.FROZEN
    blockers = _blockers(state, waiting)
    dequeue(state, waiting)
    if waiting.recalls and waiting.add_to is not None:
        waiting.add_to.lent |= waiting.shares.keys()
    waiting.ticket.outcome = Outcome(
        kind=kind,
        tick=state.tick,
        missing=() if waiting.shares else tuple(waiting.optional),
        why=why,
        blockers=blockers,
    )
    if state.listeners:
        state.emit(
            Failed(
                tick=state.tick,
                request=waiting.ticket.number,
                owner=waiting.owner.name,
                kind=kind,
                why=why,
            )
        )
    tell_outcome(state, waiting)


def _timed_out(state: ReservationState, waiting: Waiting) -> None:
    if waiting.is_waiting:
        fail(state, waiting, OutcomeKind.TIMED_OUT, Why.TIMEOUT)


def tell_outcome(state: ReservationState, waiting: Waiting) -> None:
    """Send the outcome to an owner whose call has returned long ago."""
    outcome = waiting.ticket.outcome
    if state.listeners and waiting.has_waited and outcome is not None:
        state.emit(
            Notified(
                tick=state.tick,
                owner=waiting.owner.name,
                kind=NoticeKind.OUTCOME,
                token=outcome.token.id if outcome.token else None,
                leaves=outcome.obtained,
                request=waiting.ticket.number,
                outcome=outcome,
            )
        )
    end_promise(state, waiting)


def end_promise(state: ReservationState, waiting: Waiting) -> None:
    """Tell those who promised to give way, and still hold, that they need not."""
    promised, waiting.promised = waiting.promised, None
    for holder, leaves in promised.items() if promised else ():
        kept = [leaf for leaf in leaves if leaf in holder.shares]
        if kept:
            state.notify(
                holder,
                NoticeKind.KEEP_ON,
                kept,
                by=waiting.owner.name,
                request=waiting.ticket.number,
            )


def _blockers(state: ReservationState, waiting: Waiting) -> tuple[Blocker, ...]:
    """Return who is in the way of a request, leaf by leaf.

    Of one that has optional names alone: who has these.
    """
    found = []
    for leaf, share in (waiting.shares or _hoped_for(waiting)).items():
        holders = leaf.blockers(waiting.owner, share)
        first = leaf.first_competitor(waiting, LATE if holders else state.tick)
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


def latest_in_a_circle(state: ReservationState) -> Waiting | None:
    """Return the last of the waiting, in their order, that waits for itself.

    A new circle passes through somebody that began to wait, or that others began to
    wait for: only what can be reached from these is looked at.
    """
    nodes = _in_circles(state.suspects)
    requests = [node for node in nodes if isinstance(node, Waiting)]
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


def _in_circles(roots: Iterable[_Node]) -> set[_Node]:
    """Return all that wait for themselves, of what can be reached from some nodes.

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
