"""A cumulative leaf: rates that sum to at most 100 % (RM-56), in 1/100 %."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import ClassVar

from controllers.resources.core.leaf import Leaf, Willing
from controllers.resources.core.records import OwnerRecord, Reservation
from controllers.resources.request import FULL
from controllers.resources.words import Mode
from models.resource_node import ResourceKind


@dataclass(slots=True)
class _Seat:
    share: int
    within: Reservation | None
    """The ancestor's reservation that this share comes out of."""
    used: int = 0
    """Sum of the shares that come out of this one."""


class CumulativeLeaf(Leaf):
    """Shares of one whole; a descendant's comes out of its ancestor's."""

    __slots__ = ("_seats", "used")
    kind: ClassVar[ResourceKind] = ResourceKind.CUMULATIVE

    def __init__(self, name: str) -> None:
        """Begin free."""
        super().__init__(name)
        self._seats: dict[Reservation, _Seat] = {}
        self.used = 0
        """Sum of the shares that come out of the whole."""

    def seated(self) -> Sequence[Reservation]:
        """Return all that hold it, those inside others before these."""
        return tuple(self._members(None))

    def share_of(self, reservation: Reservation) -> int:
        """Return what a reservation has of it."""
        return self._seats[reservation].share

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the nearest ancestor's (or own) reservation for descendants."""
        nearest: Reservation | None = None
        for reservation in self._seats:
            if (
                reservation.mode is Mode.RESERVE
                and reservation.owner in owner.line
                and (nearest is None or reservation.owner.depth > nearest.owner.depth)
            ):
                nearest = reservation
        return nearest

    def has_scopes(self) -> bool:
        """Whether anybody reserves a share for descendants."""
        return any(reservation.mode is Mode.RESERVE for reservation in self._seats)

    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return all in the scope, with what is inside them, if the rate does not fit.

        Lowest priority first, then the latest.
        """
        scope = self.scope(owner)
        return () if self._free(scope) >= share else tuple(self._members(scope))

    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return the first willing ones until the rate fits."""
        scope = self.scope(owner)
        lacking = share - self._free(scope)
        chosen: list[Reservation] = []
        for reservation in self._direct(scope) if lacking > 0 else ():
            leaving = [*self._members(reservation), reservation]
            if all(map(is_willing, leaving)):
                chosen += leaving
                lacking -= self._seats[reservation].share
                if lacking <= 0:
                    break
        return chosen if lacking <= 0 else None

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return all whose share comes out of a reservation's, the innermost first."""
        return tuple(self._members(reservation))

    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Give a share out of the scope's, or out of the whole."""
        within = self.scope(reservation.owner)
        self._seats[reservation] = _Seat(share, within)
        self._account(within, share)
        return within

    def unseat(self, reservation: Reservation) -> None:
        """Put a share back where it came from."""
        seat = self._seats.pop(reservation)
        self._account(seat.within, -seat.share)

    def _account(self, within: Reservation | None, share: int) -> None:
        if within is None:
            self.used += share
        else:
            self._seats[within].used += share

    def _free(self, scope: Reservation | None) -> int:
        if scope is None:
            return FULL - self.used
        seat = self._seats[scope]
        return seat.share - seat.used

    def _direct(self, scope: Reservation | None) -> list[Reservation]:
        """Return those directly in a scope: lowest priority, then latest, first."""
        latest_first = reversed(self._seats.items())
        direct = [r for r, seat in latest_first if seat.within is scope]
        return sorted(direct, key=attrgetter("priority"))

    def _members(self, scope: Reservation | None) -> Iterator[Reservation]:
        """Yield all in a scope, each after what is inside of it."""
        for reservation in self._direct(scope):
            yield from self._members(reservation)
            yield reservation
