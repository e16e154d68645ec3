"""What the sequential model keeps: reservations, seats, waiting requests, freezes."""

from dataclasses import dataclass, field

from controllers.arbitration.policies import Answer, ConflictPolicy
from controllers.arbitration.tokens import HolderTie, Loss, LossCause, Refusal, Token

EPOCH = 1


def secret_of(sequence: int) -> int:
    """Return the secret of a test's token: ledger and model draw the same ones."""
    return (sequence * 0x9E37_79B9_7F4A_7C15) % 2**64


@dataclass(eq=False)
class Held:
    """A reservation, alive or dead, and how it was made."""

    token: Token
    owner: str
    priority: int
    loss: Loss
    policy: ConflictPolicy
    holder_tie: HolderTie
    arrival: int
    ended: Refusal | None = None
    is_being_asked: bool = False
    losing: set[str] = field(default_factory=set)
    """Leaves that it is about to lose, after those inside of it."""


@dataclass(eq=False)
class Seat:
    """One leaf of one reservation."""

    held: Held
    leaf: str
    share: int
    inside: "Seat | None"
    """The seat of an ancestor that it lives in."""


@dataclass(eq=False)
class Wait:
    """A request without outcome yet."""

    number: int
    owner: str
    shares: dict[str, int]
    optional: dict[str, tuple[str, ...]]
    priority: int
    arrival: int
    loss: Loss
    policy: ConflictPolicy
    holder_tie: HolderTie
    wins_ties: bool
    add_to: Held | None = None
    resumes: Held | None = None
    is_called: bool = True
    """Its call has not returned yet, so that its owner needs no notice."""
    timeout_ticks: int | None = None
    firm_at: int = 0
    """Tick from which equals may not pass it."""
    timeout_due: tuple[int, int] | None = None
    """Tick and order of making of each of its timers."""
    retry_due: tuple[int, int] | None = None
    promise_due: tuple[int, int] | None = None
    answers: dict[int, Answer] = field(default_factory=dict)
    """Sequence number of the token to what its policy promised."""
    promised: dict[Held, set[str]] = field(default_factory=dict)
    """Who was told to give way when the promise is due, and from which leaves."""

    @property
    def place(self) -> tuple[int, int, int]:
        """Place in the queue: priority, then arrival."""
        return (-self.priority, self.arrival, self.number)


@dataclass
class Freeze:
    """A virtual owner on a leaf."""

    by: str
    leaf: str
    cap: float | None
    is_total: bool


@dataclass
class Regret:
    """What an owner lost and is told of when it is free again."""

    owner: str
    held: Held
    shares: dict[str, int]


@dataclass
class Loser:
    """Why a reservation gives way, and on which leaves."""

    cause: LossCause
    leaves: set[str] = field(default_factory=set)
    answer: Answer | None = None
    """What it promised, if that is why."""


Plan = dict[Held, Loser]
"""Those who give way for one grant, in the order in which they do."""
