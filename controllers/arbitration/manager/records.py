"""Owners, reservations and waiting requests, and the leaves at which they meet.

They change; nothing outside this package sees them but through snapshots, events and
outcomes. A leaf knows who is seated on it and who waits for it. Its three kinds
(`leaves`) differ in who stands in whose way. Who lost leaves is told when all are free
again (`AvailabilityWatch`).
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from controllers.arbitration.policies import Answer, ConflictPolicy
from controllers.arbitration.requests import Owner, Request, Ticket
from controllers.arbitration.resource_tree import ResourceTree
from controllers.arbitration.tokens import Loss, Refusal, Right, Token, TokenId
from models.resources import ResourceKind

if TYPE_CHECKING:
    pass


Shares = dict["Leaf", int]
"""Leaf to share in 1/100 %, in the order of the names."""
NO_LEAVES: frozenset["Leaf"] = frozenset()
Key = tuple[int, int, int]
"""Place among the waiting: priority high first, then arrival, then number."""


class Terms(NamedTuple):
    """On what terms leaves are asked for and held; the owner's habits filled in."""

    priority: int
    loss: Loss
    policy: ConflictPolicy
    wins_ties: bool
    """As asker, at its arrival."""
    keeps_ties: bool
    """As holder, later."""
    timeout_s: float | None
    """Longest wait in s; None for a pause without limit."""


class ResolvedRequest(NamedTuple):
    """What a request comes to; kept, as owners ask again and again for the same."""

    request: Request
    habits: Owner
    tree: ResourceTree
    terms: Terms
    shares: Shares
    """Essential leaves."""
    optional: dict[str, Shares]
    """Optional name to the leaves that it adds."""
    has_limits: bool
    """Whether one of these limits the torque of motors."""


class OwnerRecord:
    """An owner with all that it holds and waits for."""

    __slots__ = (
        "children",
        "depth",
        "dies",
        "habits",
        "is_entrusted",
        "is_gone",
        "is_starting",
        "line",
        "losers",
        "parent",
        "place",
        "reservations",
        "started",
        "waiting",
        "wanted",
        "watched",
    )

    def __init__(self, habits: Owner, parent: "OwnerRecord | None", place: int) -> None:
        """Begin with nothing.

        Args:
            habits: what it was declared as.
            parent: the owner that it is a part of.
            place: in the order in which owners came to be known.
        """
        self.habits = habits
        self.parent = parent
        self.place = place
        self.children: dict[OwnerRecord, None] = {}
        self.depth: int = parent.depth + 1 if parent else 0
        self.line: frozenset[OwnerRecord] = frozenset({self}) | (
            parent.line if parent else frozenset()
        )
        """Itself and its ancestors."""
        self.reservations: dict[Reservation, None] = {}
        """In the order of their grants."""
        self.waiting: dict[int, Waiting] = {}
        """By ticket number."""
        self.wanted: ResolvedRequest | None = None
        """What it asked for last."""
        self.losers: dict[AvailabilityWatch, None] = {}
        """What it lost and may want to have again."""
        self.dies: int | None = None
        """Tick at which it counts as gone if it stays silent."""
        self.watched: int | None = None
        """Tick of the timer that looks."""
        self.is_gone = False
        self.is_entrusted = False
        """Whether it may shift and limit motors whose holders do not forbid it."""
        self.started: int | None = None
        """Number of the behaviour that acts by its name."""
        self.is_starting = False
        """Whether that one still asks for what it needs at its start."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.habits.name

    def has_any(self) -> bool:
        """Whether it or a descendant of it holds something, or waits for it."""
        return bool(self.reservations or self.waiting) or any(
            child.has_any() for child in self.children
        )


class Reservation:
    """Who holds which leaves, by which token."""

    __slots__ = (
        "allows",
        "arrival",
        "ended",
        "enlarged_by",
        "first",
        "implied",
        "is_being_asked",
        "keeps_ties",
        "lent",
        "loss",
        "owner",
        "policy",
        "priority",
        "shares",
        "since",
        "token",
    )

    def __init__(self, token: Token, waiting: "Waiting", tick: int) -> None:
        """Take over what the request said; the leaves are seated one by one."""
        terms = waiting.terms
        self.token = token
        self.first = waiting.first or token
        """Its token before any pause; else its own."""
        self.owner = waiting.owner
        self.shares: Shares = {}
        self.priority = terms.priority
        self.loss = terms.loss
        self.policy = terms.policy
        self.keeps_ties = terms.keeps_ties
        self.arrival = waiting.arrival
        self.since = tick
        self.ended: Refusal | None = None
        """Why its token is dead; None while it is valid."""
        self.is_being_asked = False
        self.allows: dict[tuple[OwnerRecord, Right], bool] | None = None
        """What it lets others do with its motors, or forbids them."""
        self.implied = NO_LEAVES
        """Motors that it has only because it limits their torque."""
        self.enlarged_by: dict[int, Waiting] | None = None
        """Waiting requests that would add to it, by ticket number."""
        self.lent = waiting.lent
        """Leaves that others may have until it recalls them."""

    def is_open_to(self, owner: OwnerRecord) -> bool:
        """Whether an owner has what it needs inside of it: a descendant's (RM-26)."""
        return self.owner is not owner and self.owner in owner.line


class Waiting:
    """A request, from its call to its outcome."""

    __slots__ = (
        "add_to",
        "arrival",
        "deadline",
        "firm_at",
        "first",
        "has_waited",
        "implied",
        "is_waiting",
        "key",
        "lent",
        "optional",
        "owner",
        "priority",
        "promised",
        "promises",
        "recalls",
        "resumes",
        "shares",
        "since",
        "terms",
        "ticket",
    )

    def __init__(
        self,
        ticket: Ticket,
        owner: OwnerRecord,
        terms: Terms,
        shares: Shares,
        optional: dict[str, Shares],
        arrival: int,
        add_to: Reservation | None,
        resumes: Token | None,
        tick: int,
    ) -> None:
        """Begin to wait.

        Args:
            ticket: what its owner sees of it.
            owner: who asks.
            terms: on what terms.
            shares: essential leaves.
            optional: optional name to the leaves that it adds.
            arrival: place among equals.
            add_to: the reservation that it would enlarge.
            resumes: the token that was paused.
            tick: now.
        """
        self.ticket = ticket
        self.owner = owner
        self.terms = terms
        self.shares = shares
        self.optional = optional
        self.priority = terms.priority
        self.arrival = arrival
        self.key: Key = (-terms.priority, arrival, ticket.number)
        self.add_to = add_to
        self.resumes = resumes
        self.first: Token | None = None
        """Of one that resumes: the token before any pause."""
        self.since = tick
        self.firm_at = tick
        """Tick from which no equal passes it."""
        self.deadline: int | None = None
        """Tick at which it times out."""
        self.lent: frozenset[Leaf] = NO_LEAVES
        """Of one that resumes: what it had lent when it paused, and still has."""
        self.recalls = False
        """Whether it takes back what `add_to` has lent."""
        self.is_waiting = True
        self.implied = NO_LEAVES
        """Motors that it wants only because it limits their torque."""
        self.has_waited = False
        """Whether its call has returned: then its owner learns by a notice."""
        self.promises: dict[Reservation, Answer] | None = None
        """Answers that come due together at a later tick."""
        self.promised: dict[Reservation, list[Leaf]] | None = None
        """Who was told to give way by then, and which leaves."""


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
        self.losers: dict[AvailabilityWatch, None] = {}
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


class AvailabilityWatch:
    """An owner, the token that it lost by, and the leaves taken for somebody else."""

    __slots__ = ("lost", "owner", "token")

    def __init__(self, owner: OwnerRecord, token: TokenId, lost: Shares) -> None:
        """Put a mark on the owner and on each leaf."""
        self.owner = owner
        self.token = token
        self.lost = lost
        owner.losers[self] = None
        for leaf in lost:
            leaf.losers[self] = None

    def forget(self) -> None:
        """Take the marks off."""
        self.owner.losers.pop(self, None)
        for leaf in self.lost:
            leaf.losers.pop(self, None)

    def can_have_all(self) -> bool:
        """Whether the owner could take back everything, before any who waits."""
        return all(
            leaf.is_open() and not leaf.waiters and not leaf.blockers(self.owner, share)
            for leaf, share in self.lost.items()
        )


def end_watches(owner: OwnerRecord, leaf: Leaf) -> None:
    """Forget what an owner lost together with a leaf: it has that again."""
    for loser in [loser for loser in leaf.losers if loser.owner is owner]:
        loser.forget()
