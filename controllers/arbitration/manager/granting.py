"""Decisions on requests, and grants.

A request gets all its leaves in one step, or none.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from nao_testbed.controllers.arbitration.manager.state.consent import TorqueLimit
from nao_testbed.controllers.arbitration.manager.state.holdings import (
    Holdings,
    innermost_first,
)
from nao_testbed.controllers.arbitration.manager.state.records import (
    LATE,
    Key,
    Leaf,
    Reservation,
    Shares,
    Waiting,
    Yielding,
)
from nao_testbed.controllers.arbitration.policies import Answer, AnswerKind
from nao_testbed.controllers.arbitration.requests import Request
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    OutcomeKind,
    Preemption,
    Why,
)
from nao_testbed.models.resources import ResourceKind

Answers = Mapping[Reservation, Answer]
NO_ANSWERS: Answers = MappingProxyType({})


class Granting:
    """Decisions on requests: grants of free or yielded leaves."""

    def __init__(self, held: Holdings) -> None:
        self.held = held
        self.queue = held.queue
        self._timers = held.queue.timers

    def try_now(
        self,
        waiting: Waiting,
        answers: Answers = NO_ANSWERS,
        *,
        arrives: bool = False,
    ) -> bool:
        """Grant a request if all blocking holders yield."""
        yielding = self.way_clear(waiting, answers, arrives=arrives)
        if yielding is None:
            return False
        self.commit(waiting, yielding, answers, arrives=arrives)
        return True

    def way_clear(
        self, waiting: Waiting, answers: Answers, *, arrives: bool
    ) -> Yielding | None:
        """Return the holders that have to yield; None if that does not suffice.

        Only an arriving request can win ties.
        """
        yielding: Yielding = {}

        def is_willing(holder: Reservation) -> bool:
            answer = answers.get(holder)
            is_let = answer is not None and answer.kind is not AnswerKind.KEEP
            return is_let or self.overrides(waiting, holder, arrives=arrives)

        add_to = waiting.add_to
        owner, tick = waiting.owner, self._timers.now
        for leaf, share in waiting.shares.items():
            if (
                not leaf.is_open()
                or (add_to is not None and leaf in add_to.shares)
                or (
                    type(leaf) is TorqueLimit and leaf.is_opposed(waiting.shares, owner)
                )
            ):
                return None
            if leaf.waiters and leaf.first_competitor(waiting, tick) is not None:
                return None
            leaving = leaf.must_yield(owner, share, is_willing)
            if leaving is None:
                return None
            if leaving and leaf.first_competitor(waiting, LATE) is not None:
                return None  # overtaking is allowed only with free leaves
            for holder in leaving:
                yielding.setdefault(holder, []).append(leaf)
        if not waiting.shares and not self._free_units(waiting)[0]:
            return None
        return yielding

    def overrides(
        self, waiting: Waiting, holder: Reservation, *, arrives: bool
    ) -> bool:
        """Return True if the request's priority preempts the holder."""
        is_off = self.queue.cfg.preemption is Preemption.OFF
        if is_off or waiting.resumes is not None:
            return False  # a paused holder does not preempt
        if holder.owner is waiting.owner:
            return False  # an owner never preempts itself
        mine, theirs = waiting.terms, holder.terms
        if mine.priority != theirs.priority:
            return mine.priority > theirs.priority
        return arrives and mine.wins_ties and not theirs.keeps_ties

    def is_outranked(self, waiting: Waiting) -> bool:
        """Return True if an owner of higher priority holds a needed leaf.

        False if a virtual owner holds a needed leaf: the request waits for that one.
        """
        if self.queue.cfg.preemption is Preemption.OFF or waiting.recalls:
            return False
        if any(leaf.is_frozen for leaf in waiting.shares):
            return False
        owner = waiting.owner

        def is_no_higher(holder: Reservation) -> bool:
            return holder.owner is owner or holder.terms.priority <= waiting.priority

        return any(
            leaf.must_yield(owner, share, is_no_higher) is None
            and leaf.must_yield(owner, share, lambda _: True) is not None
            for leaf, share in waiting.shares.items()
            if leaf.competes
        )

    def may_recall(self, waiting: Waiting, holder: Reservation) -> bool:
        """Return True if a holder must return a lent leaf."""
        is_off = self.queue.cfg.preemption is Preemption.OFF
        return is_off or waiting.priority >= holder.terms.priority

    def commit(
        self, waiting: Waiting, yielding: Yielding, answers: Answers, *, arrives: bool
    ) -> None:
        """Revoke the leaves of yielding holders and grant the request in one step."""
        self.queue.dequeue(waiting)
        paused: list[Waiting] = []
        for holder, leaves in innermost_first(yielding).items() if yielding else ():
            here = [leaf for leaf in leaves if leaf in holder.shares]
            if not here:
                continue  # already released with another one
            is_overridden = self.overrides(waiting, holder, arrives=arrives)
            answer = None if is_overridden else answers[holder]
            by, number = waiting.owner.name, waiting.ticket.number
            resume = self.give_way(holder, here, answer, by, number)
            if resume is not None:
                paused.append(resume)
        self._seat(waiting)
        for resume in paused:
            self.wait_to_resume(resume)

    def give_way(
        self,
        holder: Reservation,
        leaves: list[Leaf],
        answer: Answer | None,
        by: str,
        request: int | None,
    ) -> Waiting | None:
        """Revoke leaves of a holder that promised them, or is preempted (no answer).

        Returns:
            The request with which a paused holder waits to resume, otherwise None.
        """
        why, resume = LossCause.OVERRIDDEN, None
        if answer is not None:
            why = LossCause.YIELDED
            if answer.kind is AnswerKind.PAUSE:
                why = LossCause.PAUSED
                resume = self._resumption(holder, leaves, answer)
        number = resume.ticket.number if resume else None
        self.held.take_away(holder, leaves, why, by, request=request, resume=number)
        return resume

    def wait_to_resume(self, waiting: Waiting) -> None:
        """Queue a paused holder; it sends no demands and preempts no holder."""
        if waiting.add_to is not None and waiting.add_to.ended is not None:
            waiting.add_to = None
        self.queue.announce(waiting)
        self.queue.enqueue(waiting)
        waiting.has_waited = True

    def settle(self) -> None:
        """Grant all requests that can now be granted, in the order of the queue."""
        changed = self.queue.changed
        if not changed:
            return
        heap: list[tuple[Key, Waiting, Leaf | None]] = []
        seen: set[Waiting] = set()
        heads: dict[Leaf, Iterator[Waiting]] = {}

        def push(waiters: Iterable[Waiting], leaf: Leaf | None) -> None:
            """Queue the first waiter that is not queued yet."""
            for waiting in waiters:
                if waiting not in seen:
                    seen.add(waiting)
                    heapq.heappush(heap, (waiting.key, waiting, leaf))
                    return

        while True:
            for leaf in changed:
                heads[leaf] = leaf.heads(self._timers.now)
                push(heads[leaf], leaf)
            for waiting in self.queue.unqueued.values() if changed else ():
                push((waiting,), None)
            changed.clear()
            if not heap:
                return
            _, waiting, behind = heapq.heappop(heap)
            seen.discard(waiting)
            if waiting.is_waiting:
                self.try_now(waiting)
            if behind is not None and behind not in changed:
                push(heads[behind], behind)

    def resolve_deadlocks(self) -> None:
        """Deny the latest request of each cycle of waiting owners."""
        while (stuck := self.queue.latest_in_cycle()) is not None:
            self.queue.fail(stuck, OutcomeKind.DENIED, Why.DEADLOCK)
            self.settle()
        self.queue.suspects.clear()

    # -- internals ---------------------------------------------------------------------

    def _seat(self, waiting: Waiting) -> None:
        """Grant a request together with its free optional resources."""
        add_to = waiting.add_to
        if add_to is not None and add_to.ended is not None:
            self.queue.fail(waiting, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)
            return
        if not waiting.optional:
            self.held.seat(waiting, waiting.shares)
            return
        units, missing = self._free_units(waiting)
        shares = waiting.shares | units
        shares = dict(sorted(shares.items(), key=lambda item: item[0].name))
        self.held.seat(waiting, shares, missing)

    def _free_units(self, waiting: Waiting) -> tuple[Shares, tuple[str, ...]]:
        """Return the free leaves of optional names, and the names that are not free."""
        owner, add_to = waiting.owner, waiting.add_to
        units: Shares = {}
        missing: list[str] = []
        for name, unit in waiting.optional.items():
            together = {**waiting.shares, **unit}
            if all(
                leaf.is_open()
                and not leaf.blockers(owner, share)
                and leaf.first_competitor(waiting, self._timers.now) is None
                and (add_to is None or leaf not in add_to.shares)
                and not (type(leaf) is TorqueLimit and leaf.is_opposed(together, owner))
                for leaf, share in unit.items()
            ):
                units.update(unit)
            else:
                missing.append(name)
        return units, tuple(missing)

    def _resumption(
        self, holder: Reservation, taken: list[Leaf], answer: Answer
    ) -> Waiting:
        """Return the request with which a paused holder will wait."""
        terms, rated = holder.terms, ResourceKind.CUMULATIVE
        whole, timeout_s = terms.loss is Loss.WHOLE, answer.resume_timeout_s
        leaves = sorted(holder.shares if whole else taken, key=lambda leaf: leaf.name)
        shares = {leaf: holder.shares[leaf] for leaf in leaves}
        request = Request(
            owner=holder.owner.name,
            resources=tuple(leaf.name for leaf in leaves if leaf.kind is not rated),
            rates={x.name: n / 100.0 for x, n in shares.items() if x.kind is rated},
            priority=terms.priority,
            timeout_s=timeout_s,
            loss=terms.loss,
            policy=terms.policy,
        )
        resume = self.queue.make(
            request,
            holder.owner,
            terms._replace(wins_ties=False, timeout_s=timeout_s, retry_s=None),
            shares,
            {},
            None if whole else holder,
            holder.arrival,
        )
        resume.resumes, resume.first = holder.token, holder.first
        if whole:
            resume.lent = holder.lent
        resume.implied = holder.implied
        return resume
