"""Three kinds of leaves: exclusive, cumulative, state.

exclusive     one user, possibly inside reservations of its ancestors: a stack
cumulative    rates that sum to at most 100 %, counted in 1/100 %
state         shared; only one state of a set is active
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar

from nao_testbed.controllers.arbitration.manager.state.records import (
    Leaf,
    OwnerRecord,
    Reservation,
    Waiting,
    Willing,
)
from nao_testbed.controllers.arbitration.requests import FULL
from nao_testbed.models.resources import ResourceKind


class ExclusiveLeaf(Leaf):
    """Stack of reservations, each inside the one below; the top one may use the leaf.

    Each owner is a descendant of the one below: a parent's resource is open to its
    children, and unavailable to the parent while a child holds it.
    """

    __slots__ = ("stack",)
    kind: ClassVar[ResourceKind] = ResourceKind.EXCLUSIVE

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.stack: list[Reservation] = []

    def seated(self) -> Sequence[Reservation]:
        """Return all holders, innermost first."""
        return self.stack[::-1]

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the innermost reservation of an ancestor of `owner`."""
        depth = self._scope_end(owner)
        return self.stack[depth - 1] if depth else None

    def has_scopes(self) -> bool:
        """Return True if descendants of the holder may wait inside."""
        return bool(self.stack) and bool(self.stack[0].owner.children)

    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return all reservations above the scope, innermost child first."""
        del share  # always the whole leaf
        stack = self.stack
        if not stack:
            return ()
        return stack[self._scope_end(owner) :][::-1]

    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return all blockers if all are willing."""
        if not self.stack:
            return ()
        blockers = self.blockers(owner, share)
        return blockers if all(map(is_willing, blockers)) else None

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return all reservations above a reservation, innermost first."""
        return self.stack[: self.stack.index(reservation) : -1]

    def is_lent(self, reservation: Reservation) -> bool:
        """Return True if another reservation is above this one."""
        return self.stack[-1] is not reservation

    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Push a reservation."""
        del share
        below = self.stack[-1] if self.stack else None
        self.stack.append(reservation)
        return below

    def unseat(self, reservation: Reservation) -> None:
        """Pop the top reservation."""
        if self.stack.pop() is not reservation:
            raise AssertionError(f"{self.name}: the top of the stack is another one")

    def is_available(self, waiting: Waiting) -> bool:
        """Return True if the resource is free or can be preempted."""
        return not self.stack or waiting.priority > self.stack[-1].terms.priority

    def _scope_end(self, owner: OwnerRecord) -> int:
        """Return the height of the stack up to the scope of `owner`."""
        stack = self.stack
        for height in range(len(stack), 0, -1):
            if stack[height - 1].is_open_to(owner):
                return height
        return 0


@dataclass(slots=True)
class _Seat:
    share: int
    within: Reservation | None
    """Reservation of the ancestor that contains this share."""
    used: int = 0
    """Sum of the shares inside this one."""
    parts: dict[Reservation, None] = field(default_factory=dict)
    """Reservations inside this one, in the order of their grants."""


class CumulativeLeaf(Leaf):
    """Leaf divided into shares; a descendant's share is part of its ancestor's."""

    __slots__ = ("_seats",)
    kind: ClassVar[ResourceKind] = ResourceKind.CUMULATIVE

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._seats: dict[Reservation | None, _Seat] = {None: _Seat(FULL, None)}
        """Reservation to its seat; key None: the whole leaf."""

    @property
    def used(self) -> int:
        """Sum of the top-level shares."""
        return self._seats[None].used

    def seated(self) -> Sequence[Reservation]:
        """Return all holders, inner reservations before outer ones."""
        return tuple(self._members(None))

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the nearest ancestor's reservation."""
        theirs = [r for r in self._seats if r is not None and r.is_open_to(owner)]
        return max(theirs, key=lambda r: len(r.owner.line), default=None)

    def has_scopes(self) -> bool:
        """Return True if descendants of a share's holder may wait inside."""
        return any(r is not None and r.owner.children for r in self._seats)

    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return all reservations in the scope if the rate does not fit.

        Lowest priority first, then the latest.
        """
        scope = self.scope(owner)
        return () if self._free(scope) >= share else tuple(self._members(scope))

    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return, in order, only the willing holders needed to fit the rate."""
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
                lacking += freed  # it fits without this one
            else:
                needed.append(leaving)
        return [reservation for leaving in reversed(needed) for reservation in leaving]

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return all reservations inside a reservation, innermost first."""
        return tuple(self._members(reservation))

    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Allocate a share from the scope, or from the whole leaf."""
        within = self.scope(reservation.owner)
        self._seats[reservation] = _Seat(share, within)
        whole = self._seats[within]
        whole.used += share
        whole.parts[reservation] = None
        return within

    def unseat(self, reservation: Reservation) -> None:
        """Return a share to its scope."""
        seat = self._seats.pop(reservation)
        whole = self._seats[seat.within]
        whole.used -= seat.share
        del whole.parts[reservation]

    def _free(self, scope: Reservation | None) -> int:
        seat = self._seats[scope]
        return seat.share - seat.used

    def _direct(self, scope: Reservation | None) -> list[Reservation]:
        """Return a scope's own reservations: lowest priority first, then latest."""
        latest_first = reversed(self._seats[scope].parts)
        return sorted(latest_first, key=attrgetter("terms.priority"))

    def _members(self, scope: Reservation | None) -> Iterator[Reservation]:
        """Yield all reservations of a scope, inner ones first."""
        ahead = [(reservation, False) for reservation in self._direct(scope)[::-1]]
        while ahead:
            reservation, is_emptied = ahead.pop()
            if is_emptied or not self._seats[reservation].parts:
                yield reservation
                continue
            ahead.append((reservation, True))
            ahead += [(inner, False) for inner in self._direct(reservation)[::-1]]


class StateGroup:
    """Set of states of which at most one is active."""

    __slots__ = ("active", "leaves", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.leaves: dict[str, StateLeaf] = {}
        self.active: StateLeaf | None = None


class StateLeaf(Leaf):
    """State of a set; any number of owners may hold it, none inside another."""

    __slots__ = ("group", "holders")
    kind: ClassVar[ResourceKind] = ResourceKind.STATE
    competes: ClassVar[bool] = False

    def __init__(self, name: str, group: StateGroup) -> None:
        super().__init__(name)
        self.group = group
        group.leaves[name] = self
        self.holders: dict[Reservation, None] = {}

    def is_open(self) -> bool:
        """Return True if the robot is in this state."""
        return self.group.active is self and not self.is_frozen

    def seated(self) -> Sequence[Reservation]:
        """Return all holders in the order of their grants."""
        return tuple(self.holders)

    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return the holders of the active state if this one is inactive."""
        del owner, share
        active = self.group.active
        return () if active is None or active is self else tuple(active.holders)

    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return () if it is active, otherwise None: no release activates it."""
        del owner, share, is_willing
        return () if self.group.active is self else None

    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Add a holder."""
        del share
        self.holders[reservation] = None
        return None

    def unseat(self, reservation: Reservation) -> None:
        """Remove a holder."""
        del self.holders[reservation]
