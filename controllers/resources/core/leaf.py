"""What every leaf of the resource tree can do, however it is shared.

A leaf knows who is seated on it and who waits for it. Three kinds differ in who stands
in whose way: `ExclusiveLeaf`, `CumulativeLeaf`, `StateLeaf`.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from controllers.resources.core.records import OwnerRecord, Reservation, Waiting
from models.resource_node import ResourceKind

if TYPE_CHECKING:
    from controllers.resources.core.losers import Loser

_KEY = attrgetter("key")
Willing = Callable[[Reservation], bool]
LATE = 2**63
"""A tick at which everybody has waited for long: past them only what is free goes."""


class Freeze(NamedTuple):
    """What a virtual owner does to a leaf."""

    is_total: bool
    """Whether nobody else may use it."""
    effort_cap: float | None
    """Largest stiffness of its joints, in [0, 1]."""


class Leaf(ABC):
    """A resource that is not made of others."""

    __slots__ = (
        "freezes",
        "is_frozen",
        "is_mixed",
        "is_motor",
        "let",
        "limited",
        "limits",
        "losers",
        "name",
        "waiters",
    )
    kind: ClassVar[ResourceKind]
    competes: ClassVar[bool] = True
    """Whether those who wait for it stand in a queue."""

    def __init__(self, name: str) -> None:
        """Begin free."""
        self.name = name
        self.waiters: list[Waiting] = []
        """Those that need it, in their order."""
        self.is_mixed = False
        """Whether one may be firm before another of its priority that came earlier."""
        self.freezes: dict[str, Freeze] = {}
        """Virtual owner to what it does."""
        self.is_frozen = False
        """Whether one of them holds it whole."""
        self.is_motor = False
        self.limits: tuple[Leaf, ...] = ()
        """Motors whose torque it limits."""
        self.let: tuple[int, Reservation | None] = (-1, None)
        """Who was last found to be let limit them, and the ledger's changes then."""
        self.limited: tuple[Leaf, ...] = ()
        """Of a motor: the leaves that limit its torque."""
        self.losers: dict[Loser, None] = {}
        """Those that want to know when it is free again."""

    # -- seats ------------------------------------------------------------------------

    @abstractmethod
    def seated(self) -> Sequence[Reservation]:
        """Return all that hold it, those inside others before these."""

    @abstractmethod
    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the ancestor's reservation that `owner` would be inside of."""

    @abstractmethod
    def has_scopes(self) -> bool:
        """Whether who holds it may have descendants that wait inside."""

    @abstractmethod
    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return who would have to give way for `owner`, in the order of asking."""

    @abstractmethod
    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return who gives way if the willing do; None if that is not enough."""

    @abstractmethod
    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return who holds it inside of a reservation, the innermost first."""

    @abstractmethod
    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Give it to a reservation; return the one that it is inside of."""

    @abstractmethod
    def unseat(self, reservation: Reservation) -> None:
        """Take it from a reservation that nobody is inside of."""

    def is_lent(self, reservation: Reservation) -> bool:
        """Whether a descendant has it in the place of one that holds it."""
        del reservation
        return False

    def is_open(self) -> bool:
        """Whether it may be granted to anybody."""
        return not self.is_frozen

    def effort_cap(self) -> float:
        """Return the largest stiffness that its virtual owners allow."""
        caps = [f.effort_cap for f in self.freezes.values() if f.effort_cap is not None]
        return min(caps, default=1.0)

    # -- the queue --------------------------------------------------------------------

    def join(self, waiting: Waiting) -> None:
        """Put a request at its place: by priority, then arrival."""
        waiters = self.waiters
        place = bisect_left(waiters, waiting.key, key=_KEY)
        if not waiters:
            self.is_mixed = False
        before = waiters[place - 1] if place else waiting
        behind = waiters[place] if place < len(waiters) else waiting
        waiters.insert(place, waiting)
        for one, next_one in ((before, waiting), (waiting, behind)):
            if one.firm_at > next_one.firm_at and one.priority == next_one.priority:
                self.is_mixed = True

    def leave(self, waiting: Waiting) -> None:
        """Take a request out of the queue."""
        del self.waiters[bisect_left(self.waiters, waiting.key, key=_KEY)]

    def first_competitor(self, waiting: Waiting, tick: int) -> Waiting | None:
        """Return the first that waits before this one, for the same scope, and firmly.

        Among equals one may be passed until it has waited for a while, if the ledger
        says so; by default it is firm from its first tick.
        """
        waiters = self.waiters
        if not self.competes or not waiters or waiters[0].key >= waiting.key:
            return None
        has_scopes = self.has_scopes()
        first = waiters[0]
        if not has_scopes:
            if first.firm_at <= tick or first.priority > waiting.priority:
                return first
            if not self.is_mixed:
                return None  # those behind it are firm later
        scope = self.scope(waiting.owner) if has_scopes else None
        for other in waiters:
            if other.key >= waiting.key:
                return None
            is_firm = other.firm_at <= tick or other.priority > waiting.priority
            if is_firm and (not has_scopes or self.scope(other.owner) is scope):
                return other
        return None

    def last_competitor(self, waiting: Waiting) -> Waiting | None:
        """Return the last of those that wait before this one for the same scope."""
        if not self.competes:
            return None
        before = bisect_left(self.waiters, waiting.key, key=_KEY)
        scope = self.scope(waiting.owner)
        for k in range(before - 1, -1, -1):
            if self.scope(self.waiters[k].owner) is scope:
                return self.waiters[k]
        return None

    def may_be_next(self, waiting: Waiting) -> bool:
        """Whether it, or one behind it, may be granted unasked: False is certain."""
        del waiting
        return True

    def heads(self, tick: int) -> Iterator[Waiting]:
        """Yield those that may be next: in each scope up to the first firm one.

        Who asks anew after each change of the leaf misses nobody.
        """
        has_scopes = self.competes and self.has_scopes()
        closed: set[Reservation | None] = set()
        waiters = self.waiters
        place = 0
        while place < len(waiters):
            waiting = waiters[place]
            place += 1
            scope = self.scope(waiting.owner) if has_scopes else None
            if scope in closed:
                continue
            if not (has_scopes or self.may_be_next(waiting)):
                return
            yield waiting
            if self.competes and waiting.firm_at <= tick:
                if not has_scopes:
                    return
                closed.add(scope)


def names_of(leaves: Iterable[Leaf]) -> tuple[str, ...]:
    """Return the names of leaves, sorted."""
    return tuple(sorted(leaf.name for leaf in leaves))
