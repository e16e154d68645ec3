"""Who is granted, and what follows from each call of the ledger.

A request gets nothing while one leaf is missing, then all in one step.

Within a tick calls come before timers: a call first lets happen what was due earlier,
`advance` what is due up to its tick. When the outermost call is done, all that can be
granted is granted, nobody waits in a circle, and only then listeners are told: what
they call in answer, in the same tick, finds every change made whole.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType

from nao_testbed.controllers.arbitration.events import Event, Notified, Settled, Ticked
from nao_testbed.controllers.arbitration.manager import holdings, queue
from nao_testbed.controllers.arbitration.manager.holdings import (
    Yielding,
    innermost_first,
    is_opposed,
)
from nao_testbed.controllers.arbitration.manager.records import (
    LATE,
    Key,
    Leaf,
    Reservation,
    Shares,
    Terms,
    Waiting,
    names_of,
)
from nao_testbed.controllers.arbitration.manager.state import (
    Due,
    ReservationState,
    check_tick,
)
from nao_testbed.controllers.arbitration.policies import Answer, AnswerKind
from nao_testbed.controllers.arbitration.requests import Request, Ticket
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Why,
)
from nao_testbed.models import BadInput
from nao_testbed.models.resources import ResourceKind

Answers = Mapping[Reservation, Answer]
NO_ANSWERS: Answers = MappingProxyType({})


def try_now(
    state: ReservationState,
    waiting: Waiting,
    answers: Answers = NO_ANSWERS,
    *,
    arrives: bool = False,
) -> bool:
    """Grant a request if nothing is in its way that does not give way."""
    yielding = way_clear(state, waiting, answers, arrives=arrives)
    if yielding is None:
        return False
    commit(state, waiting, yielding, answers, arrives=arrives)
    return True


def way_clear(
    state: ReservationState, waiting: Waiting, answers: Answers, *, arrives: bool
) -> Yielding | None:
    """Return who has to give way by their answers; None when that is not enough.

    Only of a request that arrives, as a new one, can ties be won.
    """
    yielding: Yielding = {}

    def is_willing(holder: Reservation) -> bool:
        answer = answers.get(holder)
        return (answer is not None and answer.kind is not AnswerKind.KEEP) or overrides(
            state, waiting, holder, arrives=arrives
        )

    add_to = waiting.add_to
    owner, tick = waiting.owner, state.tick
    for leaf, share in waiting.shares.items():
        if (
            not leaf.is_open()
            or (add_to is not None and leaf in add_to.shares)
            or (leaf.limits and is_opposed(leaf, waiting.shares, owner))
        ):
            return None
        if leaf.waiters and leaf.first_competitor(waiting, tick) is not None:
            return None
        leaving = leaf.must_yield(owner, share, is_willing)
        if leaving is None:
            return None
        if leaving and leaf.first_competitor(waiting, LATE) is not None:
            return None  # only what is free is taken past somebody who waits
        for holder in leaving:
            yielding.setdefault(holder, []).append(leaf)
    if not waiting.shares and not _free_units(state, waiting)[0]:
        return None
    return yielding


def overrides(
    state: ReservationState, waiting: Waiting, holder: Reservation, *, arrives: bool
) -> bool:
    """Return whether authority takes from a holder without asking."""
    if state.cfg.preemption is Preemption.OFF or waiting.resumes is not None:
        return False  # who paused for a taker waits until it is done
    if holder.owner is waiting.owner:
        return False  # nobody takes from itself
    if waiting.priority != holder.priority:
        return waiting.priority > holder.priority
    return arrives and waiting.terms.wins_ties and not holder.keeps_ties


def is_outranked(state: ReservationState, waiting: Waiting) -> bool:
    """Return whether another owner has what a request needs by a higher priority.

    Not if a virtual owner has a part of it: then that is what it waits for.
    """
    if state.cfg.preemption is Preemption.OFF or waiting.recalls:
        return False
    if any(leaf.is_frozen for leaf in waiting.shares):
        return False
    owner = waiting.owner

    def is_no_higher(holder: Reservation) -> bool:
        return holder.owner is owner or holder.priority <= waiting.priority

    return any(
        leaf.must_yield(owner, share, is_no_higher) is None
        and leaf.must_yield(owner, share, lambda _: True) is not None
        for leaf, share in waiting.shares.items()
        if leaf.competes
    )


def may_recall(state: ReservationState, waiting: Waiting, holder: Reservation) -> bool:
    """Whether a holder gives back what it was lent; authority may keep it."""
    is_off = state.cfg.preemption is Preemption.OFF
    return is_off or waiting.priority >= holder.priority


def commit(
    state: ReservationState,
    waiting: Waiting,
    yielding: Yielding,
    answers: Answers,
    *,
    arrives: bool,
) -> None:
    """Let the holders give way and grant the request, in one step."""
    queue.dequeue(state, waiting)
    paused: list[Waiting] = []
    for holder, leaves in innermost_first(yielding).items() if yielding else ():
        here = [leaf for leaf in leaves if leaf in holder.shares]
        if not here:
            continue  # it went with another one
        is_overridden = overrides(state, waiting, holder, arrives=arrives)
        answer = None if is_overridden else answers[holder]
        resume = give_way(
            state, holder, here, answer, waiting.owner.name, waiting.ticket.number
        )
        if resume is not None:
            paused.append(resume)
    _seat(state, waiting)
    for resume in paused:
        wait_to_resume(state, resume)


def give_way(
    state: ReservationState,
    holder: Reservation,
    leaves: list[Leaf],
    answer: Answer | None,
    by: str,
    request: int | None,
) -> Waiting | None:
    """Take leaves from a holder that promised them, or is overridden.

    Returns:
        The request with which it waits to resume, if it paused.
    """
    why, resume = LossCause.OVERRIDDEN, None
    if answer is not None:
        why = LossCause.YIELDED
        if answer.kind is AnswerKind.PAUSE:
            why = LossCause.PAUSED
            resume = _resumption(state, holder, leaves, answer)
    holdings.take_away(
        state,
        holder,
        leaves,
        why,
        by,
        request=request,
        resume=resume.ticket.number if resume else None,
    )
    return resume


def wait_to_resume(state: ReservationState, waiting: Waiting) -> None:
    """Let a paused holder wait: it asks nobody and overrides nobody."""
    if waiting.add_to is not None and waiting.add_to.ended is not None:
        waiting.add_to = None
    queue.announce(state, waiting)
    queue.enqueue(state, waiting)
    waiting.has_waited = True


def settle(state: ReservationState) -> None:
    """Grant all that can now be granted, in the order of the waiting."""
    if not state.changed:
        return
    heap: list[tuple[Key, Waiting, Leaf | None]] = []
    seen: set[Waiting] = set()
    heads: dict[Leaf, Iterator[Waiting]] = {}

    def push(waiters: Iterable[Waiting], leaf: Leaf | None) -> None:
        """Let the first one that is not there be tried."""
        for waiting in waiters:
            if waiting not in seen:
                seen.add(waiting)
                heapq.heappush(heap, (waiting.key, waiting, leaf))
                return

    while True:
        for leaf in state.changed:
            heads[leaf] = leaf.heads(state.tick)
            push(heads[leaf], leaf)
        for waiting in state.unqueued.values() if state.changed else ():
            push((waiting,), None)
        state.changed.clear()
        if not heap:
            return
        _, waiting, behind = heapq.heappop(heap)
        seen.discard(waiting)
        if waiting.is_waiting:
            try_now(state, waiting)
        if behind is not None and behind not in state.changed:
            push(heads[behind], behind)


def _seat(state: ReservationState, waiting: Waiting) -> None:
    """Grant, with what is free of the optional names."""
    add_to = waiting.add_to
    if add_to is not None and add_to.ended is not None:
        queue.fail(state, waiting, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)
        return
    if not waiting.optional:
        holdings.seat(state, waiting, waiting.shares, ())
        return
    units, missing = _free_units(state, waiting)
    shares = waiting.shares | units
    shares = dict(sorted(shares.items(), key=lambda item: item[0].name))
    holdings.seat(state, waiting, shares, missing)


def _free_units(
    state: ReservationState, waiting: Waiting
) -> tuple[Shares, tuple[str, ...]]:
    """Return the free leaves of optional names, and the names that are not free."""
    units: Shares = {}
    missing: list[str] = []
    for name, unit in waiting.optional.items():
        if all(
            _is_free(state, leaf, share, waiting)
            and not (
                leaf.limits
                and is_opposed(leaf, {**waiting.shares, **unit}, waiting.owner)
            )
            for leaf, share in unit.items()
        ):
            units.update(unit)
        else:
            missing.append(name)
    return units, tuple(missing)


def _is_free(state: ReservationState, leaf: Leaf, share: int, waiting: Waiting) -> bool:
    add_to, tick = waiting.add_to, state.tick
    return (
        leaf.is_open()
        and not leaf.blockers(waiting.owner, share)
        and leaf.first_competitor(waiting, tick) is None
        and (add_to is None or leaf not in add_to.shares)
    )


def _resumption(
    state: ReservationState, holder: Reservation, taken: list[Leaf], answer: Answer
) -> Waiting:
    """Return the request with which a paused holder will wait."""
    whole = holder.loss is Loss.WHOLE
    leaves = sorted(holder.shares if whole else taken, key=lambda leaf: leaf.name)
    shares = {leaf: holder.shares[leaf] for leaf in leaves}
    rated = ResourceKind.CUMULATIVE
    request = Request(
        owner=holder.owner.name,
        resources=tuple(leaf.name for leaf in leaves if leaf.kind is not rated),
        rates={
            leaf.name: share / 100.0
            for leaf, share in shares.items()
            if leaf.kind is rated
        },
        priority=holder.priority,
        timeout_s=answer.resume_timeout_s,
        loss=holder.loss,
        policy=holder.policy,
    )
    terms = Terms(
        priority=holder.priority,
        loss=holder.loss,
        policy=holder.policy,
        wins_ties=False,
        keeps_ties=holder.keeps_ties,
        timeout_s=answer.resume_timeout_s,
    )
    number = state.next_ticket()
    resume = Waiting(
        Ticket(number, request),
        holder.owner,
        terms,
        shares,
        {},
        holder.arrival,
        None if whole else holder,
        holder.token,
        state.tick,
        state.tick,
        holder.priority,
        (-holder.priority, holder.arrival, number),
    )
    resume.first = holder.first
    if whole:
        resume.lent = holder.lent
    resume.implied = holder.implied
    return resume


DEEPEST_CALL = 20
"""Calls in answer to calls, at most: policies and listeners may ask what makes others
ask in turn."""


class Calls(AbstractContextManager[None]):
    """Surrounds every change: `with calls.at(tick): ...`.

    A policy that is asked in the midst of a call may call as well, in the same tick,
    and so may a listener.
    One object serves all calls, since entering one must cost little.
    """

    def __init__(self, state: ReservationState) -> None:
        self._state = state
        self._depth = 0
        self.asks: Waiting | None = None
        """Request of the present call, once that is done but for what follows."""
        self.made = 0
        """Calls and timers that are done: while it stands, nothing has changed."""

    def at(self, tick: int) -> "Calls":
        """Begin a call: what was due before it happens first.

        Raises:
            BadInput: the tick is no whole number, time would go back, or policies or
                listeners call each other without end.
        """
        if (
            type(tick) is not int
            or self._depth
            or self._state.told_in_turn
            or tick != self._state.tick
        ):
            self._check(tick)
            self._run_timers(tick)
            self._state.tick = tick
        return self

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        state = self._state
        self._depth -= 1
        self.made += 1
        if state.changed:
            settle(state)
        if self._depth:
            return
        if state.suspects:
            self._free_the_stuck()
        if state.eased:
            _tell_available(state)
        asks, self.asks = self.asks, None
        if asks is not None:
            asks.has_waited = True  # from now on its owner learns by notices
        if state.listeners:
            state.emit(Settled(tick=state.tick))
            state.tell()

    def advance(self, tick: int) -> None:
        """Let happen all that is due up to and including a tick.

        Raises:
            BadInput: time would go back, or a policy or listener calls.
            Exception: what a listener raised since the last time; all is done by then.
        """
        self._check(tick)
        if self._depth or self._state.told_in_turn:
            raise BadInput("a policy or listener cannot let time pass; return first.")
        self._run_timers(tick + 1)
        self._state.tick = tick
        if self._state.listeners:
            self.tell(Ticked(tick=tick))
        fault, self._state.fault = self._state.fault, None
        if fault is not None:
            raise fault

    def call_in(self, tick: int) -> None:
        """Let the promises that are due at a tick be kept before its calls.

        All else that is due at it comes after them, by `advance`.

        Raises:
            BadInput: time would go back, or a policy or listener calls.
        """
        self._check(tick)
        self._run_timers(tick)
        for call in self._state.timers.take(tick, Due.PROMISE):
            self._state.tick = tick
            with self:
                call()

    def tell(self, event: Event) -> None:
        """Tell listeners what happened elsewhere; in a call, when it is done."""
        self._state.emit(event)
        if not self._depth:
            self._state.tell()

    def _check(self, tick: int) -> None:
        check_tick(tick)
        now, turns = self._state.tick, self._state.told_in_turn
        if max(self._depth, turns) >= DEEPEST_CALL:
            raise BadInput(
                "policies or listeners call the ledger in answer to each other's calls "
                f"{DEEPEST_CALL} times over; one of them has to return without calling."
            )
        if tick < now or ((self._depth or turns) and tick != now):
            raise BadInput(
                f"tick is {tick}, but it is {now} already; time does not go back, and "
                "stands still while policies are asked and listeners told."
            )

    def _run_timers(self, before: int) -> None:
        """Make the calls that were due before a tick, each at its own."""
        timers = self._state.timers
        while (due := timers.next_due()) is not None and due < before:
            call = timers.pop()
            self._state.tick = due
            with self:
                call()

    def _free_the_stuck(self) -> None:
        """Deny the latest of those who wait in a circle, until none is left."""
        state = self._state
        while (
            state.entangled and (stuck := queue.latest_in_a_circle(state)) is not None
        ):
            queue.fail(state, stuck, OutcomeKind.DENIED, Why.DEADLOCK)
            settle(state)
        state.suspects.clear()


def _tell_available(state: ReservationState) -> None:
    """Tell, once, those who can now have again all that they lost with a token."""
    eased = sorted(state.eased, key=lambda watch: (watch.token, names_of(watch.lost)))
    state.eased.clear()
    for watch in eased:
        if watch not in watch.owner.watches or not watch.can_have_all():
            continue
        watch.forget()
        state.emit(
            Notified(
                tick=state.tick,
                owner=watch.owner.name,
                kind=NoticeKind.AVAILABLE,
                token=watch.token,
                leaves=names_of(watch.lost),
            )
        )
