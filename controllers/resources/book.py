"""The book of reservations: what is held and waited for, and the moves that change it.

Moves here decide nothing. `granting` decides who is granted, `demands` what holders
say, `ledger` is what callers see.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

from controllers.resources.leaf import Leaf
from controllers.resources.losses import Loser, forget_losses
from controllers.resources.records import OwnerRecord, Reservation, Shares, Waiting
from controllers.resources.request import Blocker, Outcome
from controllers.resources.state_leaf import StateGroup
from controllers.resources.timers import Due, Timers
from controllers.resources.tokens import TokenMint
from controllers.resources.trace import (
    Event,
    Expired,
    Failed,
    Granted,
    Notified,
    Released,
    Requested,
    Revoked,
)
from controllers.resources.words import (
    Loss,
    LossCause,
    Mode,
    NoticeKind,
    OutcomeKind,
    Preemption,
    Refusal,
    Why,
)
from models import BadInput


@dataclass(frozen=True, kw_only=True)
class LedgerCfg:
    """How a ledger counts time and settles conflicts."""

    tick_s: float = 0.01
    """Length of a tick in s: the device slot."""
    preemption: Preemption = Preemption.OFF
    retry_s: float = 0.5
    """Period in s at which holders are told again of those who wait (RM-19)."""
    dead_tokens_kept: int = 10_000
    """Records of ended tokens that are kept to say why a command is refused (AR-26)."""

    def __post_init__(self) -> None:
        """Refuse periods that are none.

        Raises:
            BadInput: a period is not positive, or the number of records negative.
        """
        for name in ("tick_s", "retry_s"):
            value = getattr(self, name)
            if not 0.0 < value < float("inf"):
                raise BadInput(f"{name} is {value} s; give a positive number.")
        if self.dead_tokens_kept < 0:
            raise BadInput(
                f"dead_tokens_kept is {self.dead_tokens_kept}; give 0 or more."
            )

    def ticks(self, seconds: float) -> int:
        """Return a time in ticks, rounded up."""
        return max(0, ceil(seconds / self.tick_s - 1e-9))


class Book:
    """All state of a ledger."""

    def __init__(self, cfg: LedgerCfg, mint: TokenMint) -> None:
        """Begin empty."""
        self.cfg = cfg
        self.mint = mint
        self.tick = 0
        self.timers = Timers()
        self.leaves: dict[str, Leaf] = {}
        self.groups: dict[str, StateGroup] = {}
        self.owners: dict[str, OwnerRecord] = {}
        self.reservations: dict[int, Reservation] = {}
        """By sequence number; ended ones for a while."""
        self.waiting: dict[int, Waiting] = {}
        """By ticket number."""
        self.listeners: list[Callable[[Event], None]] = []
        self.changed: dict[Leaf, None] = {}
        """Leaves on which somebody may now be granted."""
        self.unqueued: dict[int, Waiting] = {}
        """Requests that wait for optional leaves alone."""
        self.entangled: dict[OwnerRecord, None] = {}
        """Owners that both hold and wait: without one there is no deadlock."""
        self.eased: dict[Loser, None] = {}
        """Losers whose leaves changed."""
        self._tickets = 0
        self._dead: deque[int] = deque()

    def emit(self, event: Event) -> None:
        """Tell all listeners; callers look first whether there are any."""
        for listener in self.listeners:
            listener(event)

    def next_ticket(self) -> int:
        """Return the number of a new ticket."""
        self._tickets += 1
        return self._tickets

    # -- waiting ----------------------------------------------------------------------

    def announce(self, waiting: Waiting, timeout_ticks: int | None) -> None:
        """Tell that a request has come."""
        if not self.listeners:
            return
        self.emit(
            Requested(
                tick=self.tick,
                request=waiting.ticket.number,
                owner=waiting.owner.name,
                shares={leaf.name: share for leaf, share in waiting.shares.items()},
                optional={
                    name: _names(unit) for name, unit in waiting.optional.items()
                },
                mode=waiting.mode,
                priority=waiting.priority,
                arrival=waiting.arrival,
                timeout_ticks=timeout_ticks,
                loss=waiting.loss,
                wins_ties=waiting.wins_ties,
                keeps_ties=waiting.keeps_ties,
                add_to=waiting.add_to.token.id if waiting.add_to else None,
                resumes=waiting.resumes.id if waiting.resumes else None,
            )
        )

    def enqueue(self, waiting: Waiting, timeout_ticks: int | None) -> None:
        """Let a request wait, at most so long."""
        number, owner = waiting.ticket.number, waiting.owner
        if timeout_ticks is not None:
            waiting.deadline = self.tick + timeout_ticks
            self.timers.at(
                waiting.deadline, Due.TIMEOUT, partial(self._timed_out, waiting)
            )
        self.waiting[number] = owner.waiting[number] = waiting
        if owner.reservations:
            self.entangled[owner] = None
        if waiting.add_to is not None:
            waiting.add_to.enlarged_by[number] = waiting
        for leaf in waiting.shares:
            leaf.join(waiting)
        if not waiting.shares:
            self.unqueued[number] = waiting

    def dequeue(self, waiting: Waiting) -> None:
        """Let a request wait no more; those behind it may be next."""
        waiting.is_waiting = False
        number, owner = waiting.ticket.number, waiting.owner
        if self.waiting.pop(number, None) is None:
            return  # granted in its call, it never waited
        del owner.waiting[number]
        if not owner.waiting:
            self.entangled.pop(owner, None)
        if waiting.add_to is not None:
            waiting.add_to.enlarged_by.pop(number, None)
        for leaf in waiting.shares:
            leaf.leave(waiting)
            self.touch(leaf)
        self.unqueued.pop(number, None)

    def fail(self, waiting: Waiting, kind: OutcomeKind, why: Why) -> None:
        """End a request without a grant; nothing else changes (I-16)."""
        blockers = self.blockers(waiting)
        self.dequeue(waiting)
        waiting.ticket.outcome = Outcome(
            kind=kind, tick=self.tick, why=why, blockers=blockers
        )
        if self.listeners:
            self.emit(
                Failed(
                    tick=self.tick,
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
        if self.listeners and waiting.has_waited and outcome is not None:
            self.emit(
                Notified(
                    tick=self.tick,
                    owner=waiting.owner.name,
                    kind=NoticeKind.OUTCOME,
                    token=outcome.token.id if outcome.token else None,
                    leaves=outcome.obtained,
                    request=waiting.ticket.number,
                    outcome=outcome,
                )
            )

    def blockers(self, waiting: Waiting) -> tuple[Blocker, ...]:
        """Return who is in the way of a request, leaf by leaf."""
        found = []
        for leaf, share in waiting.shares.items():
            first = leaf.first_competitor(waiting)
            names = [by for by, freeze in leaf.freezes.items() if freeze.is_total]
            names += [r.owner.name for r in leaf.blockers(waiting.owner, share)]
            names += [first.owner.name] if first else []
            if names or not leaf.is_open():
                owners = tuple(dict.fromkeys(names))
                found.append(Blocker(resource=leaf.name, owners=owners))
        return tuple(found)

    # -- holding ----------------------------------------------------------------------

    def seat(self, waiting: Waiting, shares: Shares, missing: tuple[str, ...]) -> None:
        """Grant a request these leaves: nothing stands in its way any more."""
        reservation = waiting.add_to
        if reservation is None:
            token = self.mint.issue()
            reservation = Reservation(token, waiting, self.tick)
            self.reservations[token.sequence] = reservation
            waiting.owner.reservations[reservation] = None
            if waiting.owner.waiting:
                self.entangled[waiting.owner] = None
        inside = {}
        for leaf, share in shares.items():
            below = leaf.seat(reservation, share)
            reservation.shares[leaf] = share
            if below is not None:
                inside[leaf.name] = below.token.id
            if leaf.losers:
                forget_losses(waiting.owner, leaf)
            if leaf.waiters:
                self.touch(leaf)
        waiting.ticket.outcome = Outcome(
            kind=OutcomeKind.GRANTED,
            tick=self.tick,
            token=reservation.token,
            obtained=tuple([leaf.name for leaf in shares]),
            missing=missing,
        )
        if self.listeners:
            self.emit(
                Granted(
                    tick=self.tick,
                    request=waiting.ticket.number,
                    owner=waiting.owner.name,
                    token=reservation.token.id,
                    shares={leaf.name: share for leaf, share in shares.items()},
                    missing=missing,
                    inside=inside,
                )
            )
            self.tell_outcome(waiting)

    def release(self, reservation: Reservation, leaves: Sequence[Leaf]) -> None:
        """Give back leaves for an owner, and first what is inside of them."""
        given = self._empty_inside(reservation, leaves)
        if not given:
            return
        self._unseat(reservation, given)
        is_whole = not reservation.shares
        if self.listeners:
            self.emit(
                Released(
                    tick=self.tick,
                    token=reservation.token.id,
                    owner=reservation.owner.name,
                    leaves=_names(given),
                    is_whole=is_whole,
                )
            )
        if is_whole:
            self._end(reservation, Refusal.RELEASED)

    def expire(self, reservation: Reservation) -> None:
        """End a reservation whose owner is gone."""
        leaves = self._empty_inside(reservation, list(reservation.shares))
        if not leaves:
            return
        self._unseat(reservation, leaves)
        if self.listeners:
            self.emit(
                Expired(
                    tick=self.tick,
                    token=reservation.token.id,
                    owner=reservation.owner.name,
                    leaves=_names(leaves),
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
        going = sorted(reservation.shares, key=_name) if whole else lost
        leaves = self._empty_inside(reservation, going, request)
        if not leaves:
            return
        kept = set(lost)
        shares = {leaf: reservation.shares[leaf] for leaf in lost}
        self._unseat(reservation, leaves)
        if why is not LossCause.PAUSED:
            Loser(reservation.owner, reservation.token.id, shares)
        is_whole = not reservation.shares
        if self.listeners:
            freed = _names([leaf for leaf in leaves if leaf not in kept])
            self.emit(
                Revoked(
                    tick=self.tick,
                    token=reservation.token.id,
                    owner=reservation.owner.name,
                    lost=_names(lost),
                    freed=freed,
                    why=why,
                    by=by,
                    request=request,
                    is_whole=is_whole,
                )
            )
            self.emit(
                Notified(
                    tick=self.tick,
                    owner=reservation.owner.name,
                    kind=NoticeKind.LOST,
                    token=reservation.token.id,
                    leaves=_names(lost),
                    freed=freed,
                    by=by,
                    why=why,
                    request=resume,
                )
            )
        if is_whole:
            self._end(reservation, Refusal.REVOKED)

    def touch(self, leaf: Leaf) -> None:
        """Note that somebody may now be granted a leaf."""
        self.changed[leaf] = None
        for loser in leaf.losers:
            self.eased[loser] = None

    # -- inside -----------------------------------------------------------------------

    def _empty_inside(
        self,
        reservation: Reservation,
        leaves: Sequence[Leaf],
        request: int | None = None,
    ) -> Sequence[Leaf]:
        """Take leaves from all inside of a reservation that goes (RM-30).

        Returns:
            The leaves that it still has: two reservations of one owner may be inside of
            each other, on different leaves, and then it may have gone with them.
        """
        if reservation.mode is Mode.USE:
            return leaves
        for leaf in leaves:
            for inner in leaf.inside(reservation) if leaf in reservation.shares else ():
                if leaf in inner.shares:  # it may have lost all by another leaf
                    self.take_away(
                        inner,
                        [leaf],
                        LossCause.PARENT_RELEASED,
                        reservation.owner.name,
                        request=request,
                    )
        return [leaf for leaf in leaves if leaf in reservation.shares]

    def _unseat(self, reservation: Reservation, leaves: Sequence[Leaf]) -> None:
        for leaf in leaves:
            leaf.unseat(reservation)
            del reservation.shares[leaf]
            if leaf.waiters or leaf.losers or self.unqueued:
                self.touch(leaf)

    def _end(self, reservation: Reservation, ended: Refusal) -> None:
        """Kill the token; its record stays for a while."""
        reservation.ended = ended
        owner = reservation.owner
        del owner.reservations[reservation]
        if not owner.reservations:
            self.entangled.pop(owner, None)
        self._dead.append(reservation.token.sequence)
        if len(self._dead) > self.cfg.dead_tokens_kept:
            del self.reservations[self._dead.popleft()]
        for waiting in list(reservation.enlarged_by.values()):
            self.fail(waiting, OutcomeKind.CANCELLED, Why.TOKEN_DEAD)


def _name(leaf: Leaf) -> str:
    return leaf.name


def _names(leaves: Iterable[Leaf]) -> tuple[str, ...]:
    return tuple(sorted(leaf.name for leaf in leaves))
