"""Owners, reservations and waiting requests, and the leaves at which they meet.

They are mutable; other packages see them only through snapshots, events and outcomes. A
leaf has its holders and waiting requests; its kinds are in `leaves`.
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
"""Leaf to share in 1/100 %, in the order of the names."""
NO_LEAVES: frozenset["Leaf"] = frozenset()
Yielding = dict["Reservation", list["Leaf"]]
"""Yielding holders, in order, and their leaves."""
Key = tuple[int, int, int]
"""Place among the waiting: priority high first, then arrival, then number."""


class Terms(NamedTuple):
    """On what terms leaves are asked for and held; the owner's defaults filled in."""

    priority: int
    loss: Loss
    policy: ConflictPolicy
    wins_ties: bool
    """As asker, at its arrival."""
    keeps_ties: bool
    """As holder, later."""
    timeout_s: float | None
    """Longest wait in s; None for a pause without limit."""
    retry_s: float | None = None
    """Its own retry period in s; None: the ledger's."""


class ResolvedRequest(NamedTuple):
    """Resolved leaves of a request, cached since owners repeat requests."""

    request: Request
    defaults: Owner
    tree: ResourceTree
    terms: Terms
    shares: Shares
    """Essential leaves."""
    optional: dict[str, Shares]
    """Optional name to the leaves that it adds."""
    has_limits: bool
    """Whether one of these limits the torque of motors."""


@dataclass(slots=True, eq=False)
class OwnerRecord:
    """An owner with all that it holds and waits for."""

    defaults: Owner
    """What it was declared as."""
    parent: "OwnerRecord | None"
    place: int
    """In the order in which owners came to be known."""
    line: frozenset["OwnerRecord"] = field(init=False)
    """Itself and its ancestors."""
    children: dict["OwnerRecord", None] = field(default_factory=dict)
    reservations: dict["Reservation", None] = field(default_factory=dict)
    """In the order of their grants."""
    waiting: dict[int, "Waiting"] = field(default_factory=dict)
    """By ticket number."""
    resolved: ResolvedRequest | None = None
    """What it asked for last."""
    watches: dict["AvailabilityWatch", None] = field(default_factory=dict)
    """What it lost and may want to have again."""
    dies: int | None = None
    """Tick at which it counts as gone if it stays silent."""
    looked_at: int | None = None
    """Tick of the timer that looks whether it does."""
    is_gone: bool = False
    is_entrusted: bool = False
    """Whether it may shift and limit motors whose holders do not forbid it."""
    started: int | None = None
    """Number of the behaviour that acts by its name."""
    is_starting: bool = False
    """Whether that one still asks for what it needs at its start."""

    def __post_init__(self) -> None:
        self.line = frozenset({self}) | (self.parent.line if self.parent else set())

    @property
    def name(self) -> str:
        """Its name."""
        return self.defaults.name

    def has_any(self) -> bool:
        """Return True if it or a descendant holds something, or waits for it."""
        return bool(self.reservations or self.waiting) or any(
            child.has_any() for child in self.children
        )


@dataclass(slots=True, eq=False)
class Reservation:
    """Reservation: owner, token and held leaves."""

    token: Token
    first: Token
    """Its token before any pause; otherwise its own."""
    owner: OwnerRecord
    shares: Shares
    terms: Terms
    """Of its first request."""
    arrival: int
    since: int
    """Tick of the grant."""
    lent: frozenset["Leaf"]
    """Leaves that others may have until it recalls them."""
    ticket: Ticket
    """Ticket by which its token was granted."""
    ended: Refusal | None = None
    """Why its token is dead; None while it is valid."""
    why: LossCause | None = None
    """Cause of the loss, if it was revoked."""
    by: str = ""
    """Owner, virtual owner or state behind the loss."""
    covered: tuple[str, ...] = ()
    """Once it has ended: the leaves that it had last."""
    is_being_asked: bool = False
    allows: dict[tuple[OwnerRecord, Right], bool] | None = None
    """Permissions and prohibitions for other owners on its motors."""
    implied: frozenset["Leaf"] = NO_LEAVES
    """Motors that it has only because it limits their torque."""
    enlarged_by: "dict[int, Waiting] | None" = None
    """Waiting requests that would add to it, by ticket number."""

    def is_open_to(self, owner: OwnerRecord) -> bool:
        """Return True if an owner is a descendant of its owner and may be inside."""
        return self.owner is not owner and self.owner in owner.line


@dataclass(slots=True, eq=False)
class Waiting:
    """A request, from its call to its outcome, which its owner sees on the ticket."""

    ticket: Ticket
    owner: OwnerRecord
    terms: Terms
    shares: Shares
    """Essential leaves."""
    optional: dict[str, Shares]
    """As in `ResolvedRequest`."""
    arrival: int
    """Place among equals."""
    add_to: Reservation | None
    """The reservation that it would enlarge."""
    since: int
    """Tick of its call."""
    firm_at: int
    """Tick from which no equal passes it."""
    priority: int
    key: Key
    resumes: Token | None = None
    """The token that was paused."""
    first: Token | None = None
    """Of one that resumes: the token before any pause."""
    deadline: int | None = None
    """Tick at which it times out."""
    lent: frozenset["Leaf"] = NO_LEAVES
    """Of one that resumes: what it had lent when it paused, and still has."""
    recalls: bool = False
    """Whether it takes back what `add_to` has lent."""
    is_waiting: bool = True
    implied: frozenset["Leaf"] = NO_LEAVES
    """Motors that it wants only because it limits their torque."""
    has_waited: bool = False
    """Whether its call has returned: then its owner learns by a notice."""
    promise: "tuple[Yielding, dict[Reservation, Answer]] | None" = None
    """Holders with a deadline to release, their leaves, and all answers."""


_KEY = attrgetter("key")
Willing = Callable[[Reservation], bool]
LATE = 2**63
"""Tick at which every request has passed its overtaking time."""


class Freeze(NamedTuple):
    """Hold of a virtual owner on a leaf."""

    is_total: bool
    """True if no other owner may use it."""
    effort_cap: float | None
    """Largest stiffness of its joints, in [0, 1]."""


class Leaf(ABC):
    """A resource that is not made of others."""

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
    """True if its waiting requests form a queue."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiters: list[Waiting] = []
        """Waiting requests, in their order."""
        self.is_mixed = False
        """Whether one may be firm before another of its priority that came earlier."""
        self.freezes: dict[str, Freeze] = {}
        """Virtual owner to what it does."""
        self.is_frozen = False
        """Whether one of them holds it whole."""
        self.is_motor = False
        self.limits: tuple[Leaf, ...] = ()
        """Motors whose torque it limits."""
        self.limited: tuple[Leaf, ...] = ()
        """Of a motor: the leaves that limit its torque."""
        self.watches: dict[AvailabilityWatch, None] = {}
        """Watches for its release."""

    # -- seats ------------------------------------------------------------------------

    @abstractmethod
    def seated(self) -> Sequence[Reservation]:
        """Return all that hold it, those inside others before these."""

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
        """Add a reservation; return the one that it is inside."""

    @abstractmethod
    def unseat(self, reservation: Reservation) -> None:
        """Remove a reservation without inner ones."""

    def has_scopes(self) -> bool:
        """Return True if descendants of the holder may wait inside."""
        return False

    def scope(self, owner: OwnerRecord) -> Reservation | None:
        """Return the innermost ancestor's reservation, which `owner` has it from."""
        del owner
        return None

    def inside(self, reservation: Reservation) -> Sequence[Reservation]:
        """Return the holders inside a reservation, the innermost first."""
        del reservation
        return ()

    def is_lent(self, reservation: Reservation) -> bool:
        """Return True if a descendant has it in the place of one that holds it."""
        del reservation
        return False

    def is_open(self) -> bool:
        """Return True if it may be granted at all."""
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
        first = waiters[0]
        if not self.has_scopes():
            if first.firm_at <= tick or first.priority > waiting.priority:
                return first
            if not self.is_mixed:
                return None  # those behind it are firm later
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
        """Return False if neither it nor one behind it can be granted unasked."""
        del waiting
        return True

    def heads(self, tick: int) -> Iterator[Waiting]:
        """Yield the requests that may be next: in each scope up to the first firm one.

        Iterating again after each change of the leaf misses none.
        """
        has_scopes = self.competes and self.has_scopes()
        closed: set[Reservation | None] = set()
        for waiting in self.waiters:  # which may change meanwhile
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
    """Watch of an owner on leaves that were revoked for another owner."""

    owner: OwnerRecord
    token: TokenId
    lost: Shares

    def __post_init__(self) -> None:
        self.owner.watches[self] = None
        for leaf in self.lost:
            leaf.watches[self] = None

    def forget(self) -> None:
        """Take the marks off."""
        self.owner.watches.pop(self, None)
        for leaf in self.lost:
            leaf.watches.pop(self, None)

    def can_have_all(self) -> bool:
        """Return True if the owner could take back everything, before any waiter."""
        return all(
            leaf.is_open() and not leaf.waiters and not leaf.blockers(self.owner, share)
            for leaf, share in self.lost.items()
        )
