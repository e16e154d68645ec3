"""Negotiation: holders are told who asks, and answer by their policies (RM-32, RM-33).

A promise is called in only when it lets the asker start: nobody gives way in vain. The
manager waits for nobody: an answer that takes time comes due at a tick.
"""

from collections.abc import Sequence
from functools import partial

from controllers.resources.book import Book
from controllers.resources.granting import Granting
from controllers.resources.leaf import Leaf
from controllers.resources.policies import KEEP, Answer, AnswerKind, Demand
from controllers.resources.records import Reservation, Waiting
from controllers.resources.state_leaf import StateGroup, StateLeaf
from controllers.resources.timers import Due
from controllers.resources.trace import Answered, Notified
from controllers.resources.words import LossCause, NoticeKind


class Demands:
    """Asks holders on behalf of those who wait."""

    def __init__(self, book: Book, granting: Granting) -> None:
        """Work on a book, and grant what was promised."""
        self._book = book
        self._granting = granting
        self._retry_ticks = max(1, book.cfg.ticks(book.cfg.retry_s))

    def repeat(self, waiting: Waiting) -> None:
        """Ask again every retry period while the request waits (RM-19)."""
        self._book.timers.at(
            self._book.tick + self._retry_ticks,
            Due.RETRY,
            partial(self._again, waiting),
        )

    def demand(self, waiting: Waiting, *, arrives: bool) -> None:
        """Ask all who are in the way, once; grant the request if they let it.

        Policies may call the ledger meanwhile: all is looked at afresh after each.
        """
        answers: dict[Reservation, Answer] = {}
        for holder, leaves in self._in_the_way(waiting).items():
            if not waiting.is_waiting:
                return
            if holder.ended is None:
                answers[holder] = self._ask(
                    holder,
                    leaves,
                    waiting.owner.name,
                    waiting.priority,
                    waiting.ticket.number,
                )
        if not waiting.is_waiting:
            return
        yielding = self._granting.way_clear(waiting, answers, arrives=arrives)
        if yielding is None:
            return
        promised = [
            holder
            for holder in yielding
            if not self._granting.overrides(waiting, holder, arrives=arrives)
        ]
        delay_s = max((answers[holder].after_s for holder in promised), default=0.0)
        delay = self._book.cfg.ticks(delay_s)
        if delay == 0:
            self._granting.commit(waiting, yielding, answers, arrives=arrives)
        else:
            self._wait_for(waiting, promised, answers, self._book.tick + delay)

    def ask_holders(self, group: StateGroup, asker: str) -> bool:
        """Ask those who need the active state whether it may be left (RM-53).

        Returns:
            Whether all give way at once; they have lost it then.
        """
        active = group.active
        if active is None:
            return True
        for holder in active.seated():
            if holder.ended is None and active in holder.shares:
                answer = self._ask(holder, [active.name], asker, 0, None)
                if answer.kind is AnswerKind.KEEP or answer.after_s > 0.0:
                    return False
        for holder in active.seated():
            if active in holder.shares:
                self._book.take_away(holder, [active], LossCause.YIELDED, asker)
        return True

    # -- inside -----------------------------------------------------------------------

    def _in_the_way(self, waiting: Waiting) -> dict[Reservation, list[str]]:
        """Return holder to its leaves that are in the way, in the order of asking."""
        found: dict[Reservation, list[str]] = {}
        for leaf, share in waiting.shares.items():
            here = _held_instead(leaf)
            for holder in leaf.blockers(waiting.owner, share):
                found.setdefault(holder, []).append(here)
        return found

    def _ask(
        self,
        holder: Reservation,
        leaves: Sequence[str],
        asker: str,
        priority: int,
        request: int | None,
    ) -> Answer:
        """Tell a holder and return what its policy says."""
        book = self._book
        asked = tuple(sorted(set(leaves)))
        if book.listeners:
            book.emit(
                Notified(
                    tick=book.tick,
                    owner=holder.owner.name,
                    kind=NoticeKind.DEMANDED,
                    token=holder.token.id,
                    leaves=asked,
                    by=asker,
                    request=request,
                )
            )
        answer, error = KEEP, ""
        if not holder.is_being_asked:
            holder.is_being_asked = True
            try:
                answer = holder.policy.answer(
                    Demand(
                        holder=holder.owner.name,
                        token=holder.token.id,
                        resources=asked,
                        asker=asker,
                        asker_priority=priority,
                        request=request,
                        tick=book.tick,
                    )
                )
            except Exception as fault:  # noqa: BLE001  a user's callback may raise anything
                error = repr(fault)
            finally:
                holder.is_being_asked = False
        if book.listeners:
            book.emit(
                Answered(
                    tick=book.tick,
                    owner=holder.owner.name,
                    token=holder.token.id,
                    request=request,
                    answer=answer.kind,
                    error=error,
                )
            )
        return answer

    def _wait_for(
        self,
        waiting: Waiting,
        promised: Sequence[Reservation],
        answers: dict[Reservation, Answer],
        tick: int,
    ) -> None:
        """Tell those who promised until when, and look again then."""
        book = self._book
        waiting.promises = answers
        for holder in promised if book.listeners else ():
            book.emit(
                Notified(
                    tick=book.tick,
                    owner=holder.owner.name,
                    kind=NoticeKind.YIELD_BY,
                    token=holder.token.id,
                    leaves=tuple(
                        _held_instead(leaf)
                        for leaf in waiting.shares
                        if leaf in holder.shares
                    ),
                    by=waiting.owner.name,
                    until_tick=tick,
                    request=waiting.ticket.number,
                )
            )
        book.timers.at(tick, Due.PROMISE, partial(self._called_in, waiting))

    def _called_in(self, waiting: Waiting) -> None:
        answers, waiting.promises = waiting.promises, None
        if waiting.is_waiting and answers is not None:
            self._granting.try_now(waiting, answers)

    def _again(self, waiting: Waiting) -> None:
        if not waiting.is_waiting:
            return
        if waiting.promises is None:
            self.demand(waiting, arrives=False)
        if waiting.is_waiting:
            self.repeat(waiting)


def _held_instead(leaf: Leaf) -> str:
    """Return the name under which holders in the way of a leaf have it."""
    if isinstance(leaf, StateLeaf) and leaf.group.active is not None:
        return leaf.group.active.name
    return leaf.name
