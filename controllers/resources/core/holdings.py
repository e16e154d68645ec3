"""Reservations begin, shrink and end: the moves, whoever decides on them."""

from collections.abc import Iterable, Sequence

from controllers.resources.core.book import Book
from controllers.resources.core.exclusive_leaf import ExclusiveLeaf
from controllers.resources.core.leaf import Leaf, names_of
from controllers.resources.core.losers import Loser, forget_losses
from controllers.resources.core.records import Reservation, Shares, Waiting
from controllers.resources.core.rights import Rights
from controllers.resources.core.waiting_list import WaitingList
from controllers.resources.request import Outcome
from controllers.resources.trace import Expired, Granted, Notified, Released, Revoked
from controllers.resources.words import (
    Loss,
    LossCause,
    NoticeKind,
    OutcomeKind,
    Refusal,
    Why,
)

Yielding = dict[Reservation, list[Leaf]]
"""Who gives way, in order, and which leaves."""


class Holdings:
    """Gives leaves to reservations and takes them away."""

    def __init__(self, book: Book, waiting_list: WaitingList, rights: Rights) -> None:
        """Work on a book."""
        self._book = book
        self._rights = rights
        self._waiting_list = waiting_list

    def seat(self, waiting: Waiting, shares: Shares, missing: tuple[str, ...]) -> None:
        """Grant a request these leaves: nothing stands in its way any more."""
        reservation = waiting.add_to
        if reservation is None:
            token = self._book.mint.issue()
            reservation = Reservation(token, waiting, self._book.tick)
            self._book.reservations[token.sequence] = reservation
            waiting.owner.reservations[reservation] = None
            if waiting.owner.waiting:
                self._book.entangled[waiting.owner] = None
        if waiting.implied:
            reservation.implied |= waiting.implied
        if reservation.lent:
            reservation.lent = reservation.lent.difference(shares)
        inside = {}
        for leaf, share in shares.items():
            below = leaf.seat(reservation, share)
            reservation.shares[leaf] = share
            if below is not None:
                inside[leaf.name] = below.token.id
            if below is not None and leaf.limited:
                self._book.touch_limits(leaf)
            if leaf.losers:
                forget_losses(waiting.owner, leaf)
            if leaf.waiters or leaf.losers:
                self._book.touch(leaf)
                self._book.suspects[waiting.owner] = None
                if reservation.owner.children or not isinstance(leaf, ExclusiveLeaf):
                    self._suspect_waiters(leaf)
        waiting.ticket.outcome = Outcome(
            kind=OutcomeKind.GRANTED,
            tick=self._book.tick,
            token=reservation.token,
            obtained=tuple([leaf.name for leaf in shares]),
            missing=missing,
        )
        if self._book.listeners:
            self._book.emit(
                Granted(
                    tick=self._book.tick,
                    request=waiting.ticket.number,
                    owner=waiting.owner.name,
                    token=reservation.token.id,
                    shares={leaf.name: share for leaf, share in shares.items()},
                    missing=missing,
                    inside=inside,
                )
            )
            self._waiting_list.tell_outcome(waiting)
            self._rights.tell_seated(reservation, shares)

    def release(
        self, reservation: Reservation, leaves: Sequence[Leaf], *, lends: bool = False
    ) -> None:
        """Give back leaves for an owner, and first what is inside of them.

        A token that lends all that it has stays alive.
        """
        self._empty_inside(reservation, leaves)
        self._unseat(reservation, leaves)
        is_whole = not reservation.shares and not lends
        if self._book.listeners:
            self._book.emit(
                Released(
                    tick=self._book.tick,
                    token=reservation.token.id,
                    owner=reservation.owner.name,
                    leaves=names_of(leaves),
                    is_whole=is_whole,
                )
            )
        if is_whole:
            self._end(reservation, Refusal.RELEASED)

    def expire(self, reservation: Reservation) -> None:
        """End a reservation whose owner is gone."""
        leaves = list(reservation.shares)
        for leaf in leaves:
            for inner in leaf.inside(reservation):
                if inner.ended is None:
                    self.expire(inner)  # a descendant's, gone as well
        self._unseat(reservation, leaves)
        if self._book.listeners:
            self._book.emit(
                Expired(
                    tick=self._book.tick,
                    token=reservation.token.id,
                    owner=reservation.owner.name,
                    leaves=names_of(leaves),
                )
            )
        self._end(reservation, Refusal.EXPIRED)

    def take_away(
        self,
        reservation: Reservation,
        wanted: Iterable[Leaf],
        why: LossCause,
        by: str,
        *,
        request: int | None = None,
        resume: int | None = None,
    ) -> None:
        """Take leaves from a holder, and all others too if its token loses whole.

        Args:
            reservation: the holder's.
            wanted: leaves of it that are taken for somebody else.
            why: the cause.
            by: name of the owner, virtual owner or state behind it.
            request: number of the request behind it.
            resume: number of the ticket with which a paused holder waits.
        """
        lost = sorted(wanted, key=_name)
        whole = reservation.loss is Loss.WHOLE
        if why is LossCause.FROZEN and reservation.implied.issuperset(lost):
            whole = False  # what it limits otherwise it may still limit
        leaves = sorted(reservation.shares, key=_name) if whole else lost
        self._empty_inside(reservation, leaves, request)
        shares = {leaf: reservation.shares[leaf] for leaf in lost}
        self._unseat(reservation, leaves)
        if why is not LossCause.PAUSED:
            Loser(reservation.owner, reservation.token.id, shares)
        is_whole = not reservation.shares
        if self._book.listeners:
            freed = names_of([leaf for leaf in leaves if leaf not in shares])
            self._book.emit(
                Revoked(
                    tick=self._book.tick,
                    token=reservation.token.id,
                    owner=reservation.owner.name,
                    lost=names_of(lost),
                    freed=freed,
                    why=why,
                    by=by,
                    request=request,
                    is_whole=is_whole,
                )
            )
            self._book.emit(
                Notified(
                    tick=self._book.tick,
                    owner=reservation.owner.name,
                    kind=NoticeKind.LOST,
                    token=reservation.token.id,
                    leaves=names_of(lost),
                    freed=freed,
                    by=by,
                    why=why,
                    request=resume,
                )
            )
        if is_whole:
            self._end(reservation, Refusal.REVOKED)

    # -- inside -----------------------------------------------------------------------

    def _empty_inside(
        self,
        reservation: Reservation,
        leaves: Sequence[Leaf],
        request: int | None = None,
    ) -> None:
        """Take leaves from all inside of a reservation that goes (RM-30).

        What is inside never holds what it is inside of: it is a descendant's.
        """
        if not reservation.owner.children:
            return
        inside: dict[Reservation, list[Leaf]] = {}
        for leaf in sorted(leaves, key=_name):  # an enlarged token has them otherwise
            for inner in leaf.inside(reservation):
                inside.setdefault(inner, []).append(leaf)
        for inner, theirs in inside.items():
            left = [leaf for leaf in theirs if leaf in inner.shares]
            if left:  # it may have gone with another one
                self.take_away(
                    inner,
                    left,
                    LossCause.PARENT_RELEASED,
                    reservation.owner.name,
                    request=request,
                )

    def _unseat(self, reservation: Reservation, leaves: Sequence[Leaf]) -> None:
        for leaf in leaves:
            leaf.unseat(reservation)
            del reservation.shares[leaf]
            if leaf.limited and self._book.waiting:
                self._book.touch_limits(leaf)
            if leaf.waiters or leaf.losers or self._book.unqueued:
                self._book.touch(leaf)
                if reservation.owner.children:
                    self._suspect_waiters(leaf)

    def _suspect_waiters(self, leaf: Leaf) -> None:
        """Note that those who wait for a leaf may wait for others than before."""
        for waiting in leaf.waiters:
            self._book.suspects[waiting.owner] = None

    def _end(self, reservation: Reservation, ended: Refusal) -> None:
        """Kill the token; its record stays for a while."""
        book, token = self._book, reservation.token
        reservation.ended = ended
        owner = reservation.owner
        del owner.reservations[reservation]
        if not owner.reservations:
            book.entangled.pop(owner, None)
        del book.reservations[token.sequence]
        book.ended[token.sequence] = (token.secret, ended)
        book.ended_order.append(token.sequence)
        if len(book.ended_order) > book.cfg.dead_tokens_kept:
            del book.ended[book.ended_order.popleft()]
        if reservation.enlarged_by:
            for waiting in list(reservation.enlarged_by.values()):
                self._waiting_list.fail(waiting, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)


def _name(leaf: Leaf) -> str:
    return leaf.name


def innermost_first(yielding: Yielding) -> Yielding:
    """Return who gives way, each after those of them that are inside of it.

    So that each goes by its own cause: a promised pause stays a pause.
    """
    order: Yielding = {}

    def add(holder: Reservation) -> None:
        if holder in order:
            return
        for leaf in holder.shares if holder.owner.children else ():
            for inner in leaf.inside(holder):
                if inner in yielding:
                    add(inner)
        order[holder] = yielding[holder]

    for holder in yielding:
        add(holder)
    return order
