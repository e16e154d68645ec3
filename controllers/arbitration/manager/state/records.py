"""Records of owners, reservations, waiting requests and leaves.

Records are mutable; other packages see them only through snapshots, events and
outcomes. A leaf has its holders and waiting requests; the kinds of leaves are in
`leaves`.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import ClassVar, NamedTuple

from nao_testbed.controllers.arbitration.policies import Answer, ConflictPolicy
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    LossCause,
    Refusal,
    Right,
    Token,
    TokenId,
)
from nao_testbed.models.resources import ResourceKind

Shares = dict["Leaf", int]
"""Leaf to share in 1/100 %, in the order of names."""
NO_LEAVES: frozenset["Leaf"] = frozenset()
Yielding = dict["Reservation", list["Leaf"]]
"""Yielding holders in order, and their leaves."""
Key = tuple[int, int, int]
"""Sort key in the queue: highest priority, then arrival, then number."""


class Terms(NamedTuple):
    """Terms of a request or reservation, with the owner's defaults filled in."""

    priority: int
    loss: Loss
    policy: ConflictPolicy
    wins_ties: bool
    """Tie rule of the requester, applied at its arrival."""
    keeps_ties: bool
    """Tie rule as a holder, applied later."""
    timeout_s: float | None
    """Longest wait in s; None for a pause without limit."""
    retry_s: float | None = None
    """Retry period of the request in s; None: the ledger's."""


class ResolvedRequest(NamedTuple):
    """Resolved leaves of a request, cached since owners repeat requests."""

    request: Request
    defaults: Owner
    tree: ResourceTree
    terms: Terms
    shares: Shares
    """Essential leaves with their shares."""
    optional: dict[str, Shares]
    """Optional name to its leaves."""
    has_limits: bool
    """True if one of the leaves limits the torque of motors."""


@dataclass(slots=True, eq=False)
class OwnerRecord:
    """Record of an owner with its reservations and requests."""

    defaults: Owner
    """Declared owner with its defaults."""
    parent: "OwnerRecord | None"
    place: int
    """Rank of the owner in the order of registration."""
    line: frozenset["OwnerRecord"] = field(init=False)
    """The owner and its ancestors."""
    children: dict["OwnerRecord", None] = field(default_factory=dict)
    reservations: dict["Reservation", None] = field(default_factory=dict)
    """Reservations in the order of their grants."""
    waiting: dict[int, "Waiting"] = field(default_factory=dict)
    """Ticket number to waiting request."""
    resolved: ResolvedRequest | None = None
    """Last request with its resolved leaves."""
    watches: dict["AvailabilityWatch", None] = field(default_factory=dict)
    """Watches of lost leaves that may become available again."""
    dies: int | None = None
    """Tick at which the owner is dropped if it stays silent."""
    looked_at: int | None = None
    """Tick of the timer that checks this."""
    is_gone: bool = False
    is_entrusted: bool = False
    """True if the owner may shift and limit motors whose holders do not forbid it."""
    started: int | None = None
    """Number of the start of the running behaviour."""
    is_starting: bool = False
    """True while that behaviour still sends the requests of its start."""

    def __post_init__(self) -> None:
        self.line = frozenset({self}) | (self.parent.line if self.parent else set())

    @property
    def name(self) -> str:
        """Name of the owner."""
        return self.defaults.name

    def has_any(self) -> bool:
        """Return True if the owner or a descendant holds or waits for a resource."""
        return bool(self.reservations or self.waiting) or any(
            child.has_any() for child in self.children
        )


@dataclass(slots=True, eq=False)
class Reservation:
    """Reservation: owner, token and held leaves."""

    token: Token
    first: Token
    """First token of the reservation, before any pause."""
    owner: OwnerRecord
    shares: Shares
    terms: Terms
    """Terms of its first request."""
    arrival: int
    since: int
    """Tick of the grant."""
    lent: frozenset["Leaf"]
    """Leaves that are lent until their recall."""
    ticket: Ticket
    """Ticket by which its token was granted."""
    ended: Refusal | None = None
    """Refusal for its ended token; None while the token is valid."""
    why: LossCause | None = None
    """Cause of the loss, after a revocation."""
    by: str = ""
    """Owner, virtual owner or state behind the loss."""
    covered: tuple[str, ...] = ()
    """After the end: the last covered leaves."""
    is_being_asked: bool = False
    allows: dict[tuple[OwnerRecord, Right], bool] | None = None
    """Permissions and prohibitions for other owners on its motors."""
    implied: frozenset["Leaf"] = NO_LEAVES
    """Motors covered only because the reservation limits their torque."""
    enlarged_by: "dict[int, Waiting] | None" = None
    """Ticket number to waiting request that would enlarge the reservation."""

    def is_open_to(self, owner: OwnerRecord) -> bool:
        """Return True if an owner is a descendant of its owner and may be inside."""
        return self.owner is not owner and self.owner in owner.line


@dataclass(slots=True, eq=False)
class Waiting:
    """Request from its call to its outcome, which the owner reads on the ticket."""

    ticket: Ticket
    owner: OwnerRecord
    terms: Terms
    shares: Shares
    """Essential leaves with their shares."""
    optional: dict[str, Shares]
    """Optional name to its leaves, as in `ResolvedRequest`."""
    arrival: int
    """Rank among requests of equal priority."""
    add_to: Reservation | None
    """Reservation that the request would enlarge."""
    since: int
    """Tick of the call."""
    firm_at: int
    """Tick from which no request of equal priority may overtake."""
    priority: int
    key: Key
    resumes: Token | None = None
    """Paused token, for a resuming request."""
    first: Token | None = None
    """First token of the reservation, for a resuming request."""
    deadline: int | None = None
    """Tick of the time limit."""
    lent: frozenset["Leaf"] = NO_LEAVES
    """For a resuming request: leaves that were lent at the pause and still are."""
    recalls: bool = False
    """True if the request recalls leaves that `add_to` has lent."""
    is_waiting: bool = True
    implied: frozenset["Leaf"] = NO_LEAVES
    """Motors requested only because their torque is limited."""
    has_waited: bool = False
    """True if the call has returned; then the owner is notified of the outcome."""
    promise: "tuple[Yielding, dict[Reservation, Answer]] | None" = None
    """Holders with a deadline for their release, their leaves, and all answers."""


_KEY = attrgetter("key")
Willing = Callable[[Reservation], bool]
LATE = 2**63
"""Tick at which every request has passed its overtaking time."""


class Freeze(NamedTuple):
    """Freeze of a leaf by a virtual owner."""

    is_total: bool
    """True if no other owner may use it."""
    effort_cap: float | None
    """Largest stiffness of its joints, in [0, 1]."""


class Leaf(ABC):
    """Resource without parts."""

    __slots__ = (
        "freezes",
        "is_frozen",
        "is_mixed",
        "is_motor",
        "limited",
        "limits",
        "name",
        "waiters",
        "watches",
    )
    kind: ClassVar[ResourceKind]
    competes: ClassVar[bool] = True
    """True if waiting requests for it form a queue."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiters: list[Waiting] = []
        """Waiting requests in their order."""
        self.is_mixed = False
        """True if a request may become firm before an earlier one of equal priority."""
        self.freezes: dict[str, Freeze] = {}
        """Virtual owner to its freeze."""
        self.is_frozen = False
        """True if a virtual owner holds the leaf totally."""
        self.is_motor = False
        self.limits: tuple[Leaf, ...] = ()
        """Motors whose torque the leaf limits."""
        self.limited: tuple[Leaf, ...] = ()
        """For a motor: leaves that limit its torque."""
        self.watches: dict[AvailabilityWatch, None] = {}
        """Watches of its release."""

    # -- holders -----------------------------------------------------------------------

    @abstractmethod
    def seated(self) -> Sequence[Reservation]:
        """Return all holders, inner reservations before outer ones."""

    @abstractmethod
    def blockers(self, owner: OwnerRecord, share: int) -> Sequence[Reservation]:
        """Return the holders that have to yield to `owner`, in order of demand."""

    @abstractmethod
    def must_yield(
        self, owner: OwnerRecord, share: int, is_willing: Willing
    ) -> Sequence[Reservation] | None:
        """Return the yielding holders if willing ones suffice; otherwise None."""

    @abstractmethod
    def seat(self, reservation: Reservation, share: int) -> Reservation | None:
        """Add a reservation; return the reservation that encloses it."""

    @abstractmethod
    def unseat(self, reservation: Reservation) -> None:
        """Remove a reservation that has no inner ones."""

    def has_scopes(self) -> bool:
        """Return True if descendants of the holder may wait inside."""
        return False

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the innermost reservation of an ancestor of `owner`."""
        del owner
        return None

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return the holders inside a reservation, innermost first."""
        del reservation
        return ()

    def is_lent(self, reservation: Reservation) -> bool:
        """Return True if a descendant holds the leaf inside this reservation."""
        del reservation
        return False

    def is_open(self) -> bool:
        """Return True if the leaf can be granted at present."""
        return not self.is_frozen

    def effort_cap(self) -> float:
        """Return the largest stiffness allowed by virtual owners."""
        caps = [f.effort_cap for f in self.freezes.values() if f.effort_cap is not None]
        return min(caps, default=1.0)

    # -- the queue --------------------------------------------------------------------

    def join(self, waiting: Waiting) -> None:
        """Insert a request by priority, then arrival."""
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
        """Remove a request from the queue."""
        del self.waiters[bisect_left(self.waiters, waiting.key, key=_KEY)]

    def first_competitor(self, waiting: Waiting, tick: int) -> Waiting | None:
        """Return the first firm request before this one for the same scope.

        A request is firm when equals may no longer overtake it: after the ledger's
        overtaking time, by default at once.
        """
        waiters = self.waiters
        if not self.competes or not waiters or waiters[0].key >= waiting.key:
            return None
        first = waiters[0]
        if not self.has_scopes():
            if first.firm_at <= tick or first.priority > waiting.priority:
                return first
            if not self.is_mixed:
                return None  # later requests become firm later
        scope = self.scope(waiting.owner)
        for other in waiters:
            if other.key >= waiting.key:
                return None
            is_firm = other.firm_at <= tick or other.priority > waiting.priority
            if is_firm and self.scope(other.owner) is scope:
                return other
        return None

    def last_competitor(self, waiting: Waiting) -> Waiting | None:
        """Return the last earlier request for the same scope."""
        if not self.competes:
            return None
        before = bisect_left(self.waiters, waiting.key, key=_KEY)
        scope = self.scope(waiting.owner)
        earlier = map(self.waiters.__getitem__, reversed(range(before)))
        return next((one for one in earlier if self.scope(one.owner) is scope), None)

    def is_available(self, waiting: Waiting) -> bool:
        """Return False if this and all later requests need demands for a grant."""
        del waiting
        return True

    def heads(self, tick: int) -> Iterator[Waiting]:
        """Yield the candidates for the next grant: per scope up to the first firm one.

        Restart the iteration after each change of the leaf.
        """
        has_scopes = self.competes and self.has_scopes()
        closed: set[Reservation | None] = set()
        for waiting in self.waiters:  # the list may change during iteration
            scope = self.scope(waiting.owner) if has_scopes else None
            if scope in closed:
                continue
            if not (has_scopes or self.is_available(waiting)):
                return
            yield waiting
            if self.competes and waiting.firm_at <= tick:
                if not has_scopes:
                    return
                closed.add(scope)


def names_of(leaves: Iterable[Leaf]) -> tuple[str, ...]:
    """Return the names of leaves, sorted."""
    return tuple(sorted(leaf.name for leaf in leaves))


@dataclass(slots=True, eq=False)
class AvailabilityWatch:
    """Watch of leaves that were revoked from an owner for another owner."""

    owner: OwnerRecord
    token: TokenId
    lost: Shares

    def __post_init__(self) -> None:
        self.owner.watches[self] = None
        for leaf in self.lost:
            leaf.watches[self] = None

    def forget(self) -> None:
        """Remove the watch from its leaves."""
        self.owner.watches.pop(self, None)
        for leaf in self.lost:
            leaf.watches.pop(self, None)

    def can_have_all(self) -> bool:
        """Return True if the owner could be granted all leaves before any waiter."""
        return all(
            leaf.is_open() and not leaf.waiters and not leaf.blockers(self.owner, share)
            for leaf, share in self.lost.items()
        )
