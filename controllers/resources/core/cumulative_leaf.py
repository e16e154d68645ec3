"""A cumulative leaf: rates that sum to at most 100 % (RM-56), in 1/100 %."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar

from controllers.resources.core.leaf import Leaf, Willing
from controllers.resources.core.records import OwnerRecord, Reservation
from controllers.resources.request import FULL
from models.resource_node import ResourceKind


@dataclass(slots=True)
class _Seat:
    share: int
    within: Reservation | None
    """The ancestor's reservation that this share comes out of."""
    used: int = 0
    """Sum of the shares that come out of this one."""
    parts: dict[Reservation, None] = field(default_factory=dict)
    """Those whose shares come out of this one, in the order of their grants."""


class CumulativeLeaf(Leaf):
    """Shares of one whole; a descendant's comes out of its ancestor's."""

    __slots__ = ("_seats",)
    kind: ClassVar[ResourceKind] = ResourceKind.CUMULATIVE

    def __init__(self, name: str) -> None:
        """Begin free."""
        super().__init__(name)
        self._seats: dict[Reservation | None, _Seat] = {None: _Seat(FULL, None)}
        """None: the whole."""

    @property
    def used(self) -> int:
        """Sum of the shares that come out of the whole."""
        return self._seats[None].used

    def seated(self) -> Sequence[Reservation]:
        """Return all that hold it, those inside others before these."""
        return tuple(self._members(None))

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the nearest ancestor's reservation."""
        theirs = [r for r in self._seats if r is not None and r.is_open_to(owner)]
        return max(theirs, key=lambda r: r.owner.depth, default=None)

    def has_scopes(self) -> bool:
        """Whether who has a share may have descendants that wait inside."""
        return any(r is not None and r.owner.children for r in self._seats)

    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return all in the scope, with what is inside them, if the rate does not fit.

        Lowest priority first, then the latest.
        """
        scope = self.scope(owner)
        return () if self._free(scope) >= share else tuple(self._members(scope))

    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return the first willing ones that make the rate fit, and none in vain."""
        scope = self.scope(owner)
        lacking = share - self._free(scope)
        chosen: list[tuple[int, list[Reservation]]] = []
        for reservation in self._direct(scope) if lacking > 0 else ():
            leaving = [*self._members(reservation), reservation]
            if all(map(is_willing, leaving)):
                chosen.append((self._seats[reservation].share, leaving))
                lacking -= self._seats[reservation].share
                if lacking <= 0:
                    break
        if lacking > 0:
            return None
        needed: list[list[Reservation]] = []
        for freed, leaving in reversed(chosen):
            if lacking + freed <= 0:
                lacking += freed  # it fits without them
            else:
                needed.append(leaving)
        return [reservation for leaving in reversed(needed) for reservation in leaving]

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return all whose share comes out of a reservation's, the innermost first."""
        return tuple(self._members(reservation))

    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Give a share out of the scope's, or out of the whole."""
        within = self.scope(reservation.owner)
        self._seats[reservation] = _Seat(share, within)
        whole = self._seats[within]
        whole.used += share
        whole.parts[reservation] = None
        return within

    def unseat(self, reservation: Reservation) -> None:
        """Put a share back where it came from."""
        seat = self._seats.pop(reservation)
        whole = self._seats[seat.within]
        whole.used -= seat.share
        del whole.parts[reservation]

    def _free(self, scope: Reservation | None) -> int:
        seat = self._seats[scope]
        return seat.share - seat.used

    def _direct(self, scope: Reservation | None) -> list[Reservation]:
        """Return those directly in a scope: lowest priority, then latest, first."""
        latest_first = reversed(self._seats[scope].parts)
        return sorted(latest_first, key=attrgetter("priority"))

    def _members(self, scope: Reservation | None) -> Iterator[Reservation]:
        """Yield all in a scope, each after what is inside of it."""
        ahead = [(reservation, False) for reservation in self._direct(scope)[::-1]]
        while ahead:
            reservation, is_emptied = ahead.pop()
            if is_emptied or not self._seats[reservation].parts:
                yield reservation
                continue
            ahead.append((reservation, True))
            ahead += [(inner, False) for inner in self._direct(reservation)[::-1]]
