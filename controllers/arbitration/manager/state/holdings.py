"""Reservations and their owners: look-up of tokens, grants and losses of leaves."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from operator import attrgetter

from nao_testbed.controllers.arbitration.events import (
    Expired,
    Granted,
    Released,
    Revoked,
)
from nao_testbed.controllers.arbitration.manager.state.consent import newly_limited
from nao_testbed.controllers.arbitration.manager.state.leaves import ExclusiveLeaf
from nao_testbed.controllers.arbitration.manager.state.queue import Queue
from nao_testbed.controllers.arbitration.manager.state.records import (
    AvailabilityWatch,
    Leaf,
    OwnerRecord,
    Reservation,
    Shares,
    Waiting,
    Yielding,
    names_of,
)
from nao_testbed.controllers.arbitration.requests import End, Present, StaleToken
from nao_testbed.controllers.arbitration.resource_tree import find_name
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    NoticeKind,
    Outcome,
    OutcomeKind,
    Refusal,
    Token,
    TokenMint,
    Why,
)
from nao_testbed.models import BadInput

_FORGOTTEN = (Refusal.UNKNOWN, Refusal.WRONG_EPOCH)
"""End of tokens that were never issued, or whose records were pruned."""
_NEVER = End(Refusal.UNKNOWN)
_name = attrgetter("name")


class Holdings:
    """Owners, live reservations and recently ended ones."""

    def __init__(self, queue: Queue, mint: TokenMint) -> None:
        self.mint = mint
        self.owners: dict[str, OwnerRecord] = {}
        self.virtual: set[str] = set()
        """Names of present and past virtual owners."""
        self.reservations: dict[int, Reservation] = {}
        """Sequence number to live reservation."""
        self.ended: OrderedDict[int, Reservation] = OrderedDict()
        """Sequence number to recently ended reservation, in the order of ends."""
        self.queue = queue
        self._timers = queue.timers
        self._trace = queue.trace

    # -- queries -----------------------------------------------------------------------

    def owner(self, name: str) -> OwnerRecord:
        """Return the record of an owner."""
        try:
            return self.owners[name]  # fast path
        except (KeyError, TypeError):
            return find_name(self.owners, name, "Owner", "this ledger")

    def find(self, token: Token) -> Reservation | Refusal:
        """Return the live reservation of a token, or the refusal.

        Raises:
            BadInput: the value is not a token. Type and numbers are compared, not
                `__eq__` of foreign classes.
        """
        if type(token) is not Token:
            raise _no_token(token)
        try:
            reservation = self.reservations.get(token.sequence)
        except TypeError:
            raise _no_token(token) from None
        if reservation is not None and reservation.token is token:
            return reservation
        if any(type(part) is not int for part in token):
            raise _no_token(token)
        if reservation is not None and reservation.token == token:
            return reservation
        if token.epoch != self.mint.epoch:
            return Refusal.WRONG_EPOCH
        dead = self.ended.get(token.sequence)
        if dead is None or dead.ended is None or dead.token.secret != token.secret:
            return Refusal.UNKNOWN
        return dead.ended

    def live(self, token: Token) -> Reservation:
        """Return the live reservation of a token, or raise."""
        found = self.find(token)
        if isinstance(found, Refusal):
            raise StaleToken(token, found)
        return found

    def follow(self, owner: OwnerRecord, token: Token) -> Present:
        """Return the present state of the reservation of a token, across pauses.

        All tokens of a reservation share the first token. Tokens between the first and
        the newest are known as long as `dead_tokens_kept` permits.
        """
        found = self.find(token)
        if isinstance(found, Reservation):
            is_theirs = found.owner is owner
            return Present(token=token) if is_theirs else Present(end=_NEVER)
        dead = None if found in _FORGOTTEN else self.ended[token.sequence]
        first = token if dead is None else dead.first  # may be the first itself
        for reservation in owner.reservations:
            if reservation.first == first:
                return Present(token=reservation.token)
        for waiting in owner.waiting.values():
            if waiting.resumes is not None and first in (
                waiting.first,
                waiting.resumes,
            ):
                return Present(ticket=waiting.ticket)
        if dead is None:
            return Present(end=End(found))
        *_, last = (one for one in self.ended.values() if one.first == first)
        return Present(end=End(last.ended or found, last.why, last.by))

    # -- grants and losses -------------------------------------------------------------

    def seat(
        self, waiting: Waiting, shares: Shares, missing: tuple[str, ...] = ()
    ) -> None:
        """Grant these free leaves to a request."""
        queue, reservation = self.queue, waiting.add_to
        if reservation is None:
            reservation = self._begin(waiting)
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
                if leaf.limited:
                    queue.touch_limits(leaf)
            for watch in list(leaf.watches) if leaf.watches else ():
                if watch.owner is waiting.owner:
                    watch.forget()  # the owner holds these again
            if leaf.waiters or leaf.watches:
                queue.touch(leaf)
                queue.suspects[waiting.owner] = None
                if reservation.owner.children or not isinstance(leaf, ExclusiveLeaf):
                    queue.suspect(leaf)
        waiting.ticket.outcome = Outcome(
            kind=OutcomeKind.GRANTED,
            tick=self._timers.now,
            token=reservation.token,
            obtained=tuple([leaf.name for leaf in shares]),
            missing=missing,
        )
        if self._trace.listeners:
            self._trace.emit(
                Granted(
                    tick=self._timers.now,
                    request=waiting.ticket.number,
                    owner=waiting.owner.name,
                    token=reservation.token.id,
                    shares={leaf.name: share for leaf, share in shares.items()},
                    missing=missing,
                    inside=inside,
                )
            )
            queue.notify_outcome(waiting)
            for (holder, by), leaves in newly_limited(reservation, shares).items():
                self._trace.notify(holder, NoticeKind.LIMITED, leaves, by=by)

    def release(
        self,
        reservation: Reservation,
        leaves: Sequence[Leaf],
        *,
        lends: bool = False,
    ) -> None:
        """Release leaves of an owner, inner reservations first.

        A token that lends all its leaves stays valid.
        """
        self._empty_inside(reservation, leaves)
        self._unseat(reservation, leaves)
        is_whole = not reservation.shares and not lends
        if self._trace.listeners:
            now, names = self._timers.now, names_of(leaves)
            token, owner = reservation.token.id, reservation.owner.name
            self._trace.emit(
                Released(
                    tick=now, token=token, owner=owner, leaves=names, is_whole=is_whole
                )
            )
        if is_whole:
            self._end(reservation, Refusal.RELEASED, leaves)

    def expire(self, reservation: Reservation) -> None:
        """End a reservation of a dropped owner."""
        leaves = list(reservation.shares)
        for leaf in leaves:
            for inner in leaf.inside(reservation):
                if inner.ended is None:
                    self.expire(inner)  # of a descendant, which is dropped as well
        self._unseat(reservation, leaves)
        now, names = self._timers.now, names_of(leaves)
        token, owner = reservation.token.id, reservation.owner.name
        self._trace.emit(Expired(tick=now, token=token, owner=owner, leaves=names))
        self._end(reservation, Refusal.EXPIRED, leaves)

    def take_all(
        self, yielding: Yielding, why: LossCause, by: str, request: int | None = None
    ) -> None:
        """Revoke leaves of several holders, in their order."""
        for holder, leaves in yielding.items():
            left = [leaf for leaf in leaves if leaf in holder.shares]
            if left:  # it may have ended with another one
                self.take_away(holder, left, why, by, request=request)

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
        """Revoke leaves of a holder; all its leaves if its token loses all.

        Args:
            reservation: reservation of the holder.
            wanted: leaves to revoke.
            why: cause of the loss.
            by: owner, virtual owner or state that caused it.
            request: number of the request that caused it.
            resume: number of the ticket with which a paused holder waits.
        """
        lost = sorted(wanted, key=_name)
        whole = reservation.terms.loss is Loss.WHOLE
        if why is LossCause.FROZEN and reservation.implied.issuperset(lost):
            whole = False  # other limited motors stay limited
        leaves = sorted(reservation.shares, key=_name) if whole else lost
        self._empty_inside(reservation, leaves, request)
        shares = {leaf: reservation.shares[leaf] for leaf in lost}
        self._unseat(reservation, leaves)
        if why is not LossCause.PAUSED:
            AvailabilityWatch(reservation.owner, reservation.token.id, shares)
        if self._trace.listeners:
            freed = names_of([leaf for leaf in leaves if leaf not in shares])
            self._trace.emit(
                Revoked(
                    tick=self._timers.now,
                    token=reservation.token.id,
                    owner=reservation.owner.name,
                    lost=names_of(lost),
                    freed=freed,
                    why=why,
                    by=by,
                    request=request,
                    is_whole=not reservation.shares,
                )
            )
            self._trace.notify(
                reservation,
                NoticeKind.LOST,
                lost,
                freed=freed,
                by=by,
                why=why,
                request=resume,
            )
        if not reservation.shares:
            reservation.why, reservation.by = why, by
            self._end(reservation, Refusal.REVOKED, leaves)

    # -- internals ---------------------------------------------------------------------

    def _begin(self, waiting: Waiting) -> Reservation:
        """Create a reservation with a new token and without leaves."""
        token, owner = self.mint.issue(), waiting.owner
        reservation = Reservation(
            token,
            waiting.first or token,
            owner,
            {},
            waiting.terms,
            waiting.arrival,
            self._timers.now,
            waiting.lent,
            waiting.ticket,
        )
        self.reservations[token.sequence] = reservation
        owner.reservations[reservation] = None
        if owner.waiting:
            self.queue.entangled[owner] = None
        return reservation

    def _empty_inside(
        self,
        reservation: Reservation,
        leaves: Sequence[Leaf],
        request: int | None = None,
    ) -> None:
        """Revoke leaves from all reservations inside an ending one.

        Inner reservations belong to descendants.
        """
        if not reservation.owner.children:
            return
        inside: Yielding = {}
        for leaf in sorted(leaves, key=_name):  # an enlarged token has another order
            for inner in leaf.inside(reservation):
                inside.setdefault(inner, []).append(leaf)
        why, by = LossCause.PARENT_RELEASED, reservation.owner.name
        self.take_all(inside, why, by, request)

    def _unseat(self, reservation: Reservation, leaves: Sequence[Leaf]) -> None:
        queue = self.queue
        for leaf in leaves:
            leaf.unseat(reservation)
            del reservation.shares[leaf]
            if leaf.limited and queue.waiting:
                queue.touch_limits(leaf)
            if leaf.waiters or leaf.watches or queue.unqueued:
                queue.touch(leaf)
                if reservation.owner.children:
                    queue.suspect(leaf)

    def _end(
        self, reservation: Reservation, ended: Refusal, leaves: Iterable[Leaf]
    ) -> None:
        """Invalidate the token, and keep its record for some time."""
        queue, owner, number = self.queue, reservation.owner, reservation.token.sequence
        reservation.ended = ended
        reservation.covered = tuple([leaf.name for leaf in leaves])
        del owner.reservations[reservation]
        if not owner.reservations:
            queue.entangled.pop(owner, None)
        del self.reservations[number]
        self.ended[number] = reservation
        if len(self.ended) > queue.cfg.dead_tokens_kept:
            self.ended.popitem(last=False)
        if reservation.enlarged_by:
            queue.cancel(reservation.enlarged_by.values(), Why.TOKEN_DEAD)


def innermost_first(yielding: Yielding) -> Yielding:
    """Return the yielding holders, inner reservations first.

    Each reservation then ends by its own cause: a promised pause stays a pause.
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


def _no_token(given: object) -> BadInput:
    """Return the error for an invalid token without its value, which may be secret."""
    what = type(given).__name__
    if type(given) is Token:
        parts = ", ".join(type(part).__name__ for part in given)
        what = f"Token of {parts}, not of three whole numbers"
    return BadInput(
        f"a token is of type {what}; give the Token of a grant, such as ticket.token; "
        "Token.from_text reads its text."
    )
