"""Who is granted: nothing while one leaf is missing, then all in one step (RM-23)."""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from controllers.resources.core.book import Book
from controllers.resources.core.holdings import Holdings, Yielding, innermost_first
from controllers.resources.core.leaf import LATE, Leaf
from controllers.resources.core.records import (
    Key,
    Reservation,
    Shares,
    Terms,
    Waiting,
)
from controllers.resources.core.rights import is_opposed
from controllers.resources.core.waiting_list import WaitingList
from controllers.resources.policies import Answer, AnswerKind
from controllers.resources.request import Request
from controllers.resources.ticket import Ticket
from controllers.resources.words import (
    Loss,
    LossCause,
    OutcomeKind,
    Preemption,
    Why,
)
from models.resource_node import ResourceKind

Answers = Mapping[Reservation, Answer]
NO_ANSWERS: Answers = MappingProxyType({})


class Granting:
    """Decides by what stands in the book; changes it by the book's moves."""

    def __init__(
        self, book: Book, waiting_list: WaitingList, holdings: Holdings
    ) -> None:
        """Work on a book, by its moves."""
        self._book = book
        self._waiting_list = waiting_list
        self._holdings = holdings

    def try_now(
        self, waiting: Waiting, answers: Answers = NO_ANSWERS, *, arrives: bool = False
    ) -> bool:
        """Grant a request if nothing is in its way that does not give way."""
        yielding = self.way_clear(waiting, answers, arrives=arrives)
        if yielding is None:
            return False
        self.commit(waiting, yielding, answers, arrives=arrives)
        return True

    def way_clear(
        self, waiting: Waiting, answers: Answers, *, arrives: bool
    ) -> Yielding | None:
        """Return who has to give way; None when that is not enough.

        Args:
            waiting: the request.
            answers: what holders promised.
            arrives: whether it is new: only then ties can be won (AR-21).
        """
        yielding: Yielding = {}

        def is_willing(holder: Reservation) -> bool:
            answer = answers.get(holder)
            return (
                answer is not None and answer.kind is not AnswerKind.KEEP
            ) or self.overrides(waiting, holder, arrives=arrives)

        add_to = waiting.add_to
        owner, tick = waiting.owner, self._book.tick
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
        if not waiting.shares and not self._free_units(waiting)[0]:
            return None
        return yielding

    def overrides(
        self, waiting: Waiting, holder: Reservation, *, arrives: bool
    ) -> bool:
        """Whether authority takes from a holder without asking (AR-14, AR-21)."""
        if self._book.cfg.preemption is Preemption.OFF or waiting.resumes is not None:
            return False  # who paused for a taker waits until it is done
        if waiting.priority != holder.priority:
            return waiting.priority > holder.priority
        return arrives and waiting.terms.wins_ties and not holder.keeps_ties

    def may_recall(self, waiting: Waiting, holder: Reservation) -> bool:
        """Whether a holder gives back what it was lent; authority may keep it."""
        is_off = self._book.cfg.preemption is Preemption.OFF
        return is_off or waiting.priority >= holder.priority

    def commit(
        self, waiting: Waiting, yielding: Yielding, answers: Answers, *, arrives: bool
    ) -> None:
        """Let the holders give way and grant the request, in one step."""
        self._waiting_list.dequeue(waiting)
        paused: list[Waiting] = []
        for holder, leaves in innermost_first(yielding).items() if yielding else ():
            here = [leaf for leaf in leaves if leaf in holder.shares]
            if not here:
                continue  # it went with another one
            is_overridden = self.overrides(waiting, holder, arrives=arrives)
            answer = None if is_overridden else answers[holder]
            resume = self.give_way(
                holder, here, answer, waiting.owner.name, waiting.ticket.number
            )
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
        """Take leaves from a holder that promised them, or is overridden.

        Returns:
            The request with which it waits to resume, if it paused.
        """
        why, resume = LossCause.OVERRIDDEN, None
        if answer is not None:
            why = LossCause.YIELDED
            if answer.kind is AnswerKind.PAUSE:
                why = LossCause.PAUSED
                resume = self._resumption(holder, leaves, answer)
        self._holdings.take_away(
            holder,
            leaves,
            why,
            by,
            request=request,
            resume=resume.ticket.number if resume else None,
        )
        return resume

    def wait_to_resume(self, waiting: Waiting) -> None:
        """Let a paused holder wait: it asks nobody and overrides nobody (RM-37)."""
        if waiting.add_to is not None and waiting.add_to.ended is not None:
            waiting.add_to = None
        self._waiting_list.announce(waiting)
        self._waiting_list.enqueue(waiting)
        waiting.has_waited = True

    def settle(self) -> None:
        """Grant all that can now be granted, in the order of the waiting (I-8)."""
        book = self._book
        if not book.changed:
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
            for leaf in book.changed:
                heads[leaf] = leaf.heads(book.tick)
                push(heads[leaf], leaf)
            for waiting in book.unqueued.values() if book.changed else ():
                push((waiting,), None)
            book.changed.clear()
            if not heap:
                return
            _, waiting, behind = heapq.heappop(heap)
            seen.discard(waiting)
            if waiting.is_waiting:
                self.try_now(waiting)
            if behind is not None and behind not in book.changed:
                push(heads[behind], behind)

    # -- inside -----------------------------------------------------------------------

    def _seat(self, waiting: Waiting) -> None:
        """Grant, with what is free of the optional names (RM-47, AR-16)."""
        add_to = waiting.add_to
        if add_to is not None and add_to.ended is not None:
            self._waiting_list.fail(waiting, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)
            return
        if not waiting.optional:
            self._holdings.seat(waiting, waiting.shares, ())
            return
        units, missing = self._free_units(waiting)
        shares = waiting.shares | units
        shares = dict(sorted(shares.items(), key=lambda item: item[0].name))
        self._holdings.seat(waiting, shares, missing)

    def _free_units(self, waiting: Waiting) -> tuple[Shares, tuple[str, ...]]:
        """Return the free leaves of optional names, and the names that are not free."""
        units: Shares = {}
        missing: list[str] = []
        for name, unit in waiting.optional.items():
            if all(
                self._is_free(leaf, share, waiting)
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

    def _is_free(self, leaf: Leaf, share: int, waiting: Waiting) -> bool:
        add_to, tick = waiting.add_to, self._book.tick
        return (
            leaf.is_open()
            and not leaf.blockers(waiting.owner, share)
            and leaf.first_competitor(waiting, tick) is None
            and (add_to is None or leaf not in add_to.shares)
        )

    def _resumption(
        self, holder: Reservation, taken: list[Leaf], answer: Answer
    ) -> Waiting:
        """Return the request with which a paused holder will wait (RM-37)."""
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
        resume = Waiting(
            Ticket(self._book.next_ticket(), request),
            holder.owner,
            terms,
            shares,
            {},
            holder.arrival,
            None if whole else holder,
            holder.token,
            self._book.tick,
        )
        resume.first = holder.first
        if whole:
            resume.lent = holder.lent
        resume.implied = holder.implied
        return resume
