"""The ledger's working records: owners, reservations, waiting requests.

They change; nothing outside this package sees them but through `snapshot`, events and
outcomes.
"""

from typing import TYPE_CHECKING

from controllers.resources.owner import Owner
from controllers.resources.policies import Answer, ConflictPolicy
from controllers.resources.request import Ticket
from controllers.resources.tokens import Token
from controllers.resources.words import Loss, Mode, Refusal

if TYPE_CHECKING:  # leaves hold records, and records leaves
    from controllers.resources.core.leaf import Leaf
    from controllers.resources.core.losses import Loser

Shares = dict["Leaf", int]
"""Leaf to share in 1/100 %, in the order of the names."""
Key = tuple[int, int, int]
"""Place among the waiting: priority high first, then arrival, then number."""


class OwnerRecord:
    """An owner with all that it holds and waits for."""

    __slots__ = (
        "children",
        "depth",
        "dies",
        "habits",
        "is_gone",
        "line",
        "losers",
        "parent",
        "place",
        "reservations",
        "waiting",
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
        self.losers: dict[Loser, None] = {}
        """What it lost and may want to have again."""
        self.dies: int | None = None
        """Tick at which it counts as gone if it stays silent."""
        self.watched: int | None = None
        """Tick of the timer that looks."""
        self.is_gone = False

    @property
    def name(self) -> str:
        """Its name."""
        return self.habits.name


class Reservation:
    """Who holds which leaves, by which token."""

    __slots__ = (
        "arrival",
        "ended",
        "enlarged_by",
        "is_being_asked",
        "keeps_ties",
        "loss",
        "mode",
        "owner",
        "policy",
        "priority",
        "shares",
        "since",
        "token",
    )

    def __init__(self, token: Token, waiting: "Waiting", tick: int) -> None:
        """Take over what the request said; the leaves are seated one by one."""
        self.token = token
        self.owner = waiting.owner
        self.shares: Shares = {}
        self.mode = waiting.mode
        self.priority = waiting.priority
        self.loss = waiting.loss
        self.policy = waiting.policy
        self.keeps_ties = waiting.keeps_ties
        self.arrival = waiting.arrival
        self.since = tick
        self.ended: Refusal | None = None
        """Why its token is dead; None while it is valid."""
        self.is_being_asked = False
        self.enlarged_by: dict[int, Waiting] | None = None
        """Waiting requests that would add to it, by ticket number."""


class Waiting:
    """A request, from its call to its outcome."""

    __slots__ = (
        "add_to",
        "arrival",
        "deadline",
        "has_waited",
        "is_waiting",
        "keeps_ties",
        "key",
        "loss",
        "mode",
        "optional",
        "owner",
        "policy",
        "priority",
        "promises",
        "resumes",
        "shares",
        "since",
        "ticket",
        "timeout_s",
        "wins_ties",
    )

    def __init__(
        self,
        *,
        ticket: Ticket,
        owner: OwnerRecord,
        shares: Shares,
        optional: dict[str, Shares],
        mode: Mode,
        priority: int,
        arrival: int,
        loss: Loss,
        policy: ConflictPolicy,
        wins_ties: bool,
        keeps_ties: bool,
        add_to: Reservation | None,
        resumes: Token | None,
        timeout_s: float | None,
        tick: int,
    ) -> None:
        """Hold what the request says, with the owner's habits filled in."""
        self.ticket = ticket
        self.owner = owner
        self.shares = shares
        """Essential leaves."""
        self.optional = optional
        """Optional name to the leaves that it adds."""
        self.mode = mode
        self.priority = priority
        self.arrival = arrival
        self.key: Key = (-priority, arrival, ticket.number)
        self.loss = loss
        self.policy = policy
        self.wins_ties = wins_ties
        self.keeps_ties = keeps_ties
        self.add_to = add_to
        self.resumes = resumes
        self.since = tick
        self.timeout_s = timeout_s
        """Longest wait in s; None for a pause without limit."""
        self.deadline: int | None = None
        """Tick at which it times out."""
        self.is_waiting = True
        self.has_waited = False
        """Whether its call has returned: then its owner learns by a notice."""
        self.promises: dict[Reservation, Answer] | None = None
        """Answers that come due together at a later tick."""
