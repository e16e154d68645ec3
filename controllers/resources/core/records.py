"""The ledger's working records: owners, reservations, waiting requests.

They change; nothing outside this package sees them but through `snapshot`, events and
outcomes.
"""

from typing import TYPE_CHECKING, NamedTuple

from controllers.resources.owner import Owner
from controllers.resources.policies import Answer, ConflictPolicy
from controllers.resources.request import Request
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.ticket import Ticket
from controllers.resources.tokens import Token
from controllers.resources.words import Loss, Refusal, Right

if TYPE_CHECKING:  # leaves hold records, and records leaves
    from controllers.resources.core.leaf import Leaf
    from controllers.resources.core.losers import Loser

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


class Wanted(NamedTuple):
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
        self.wanted: Wanted | None = None
        """What it asked for last."""
        self.losers: dict[Loser, None] = {}
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
