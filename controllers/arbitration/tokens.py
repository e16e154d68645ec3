"""Tokens, and the enumerations of outcomes, losses, refusals and notices.

A token proves a reservation; every command carries it [ES2535273T3]. Its (epoch,
sequence) gives the order of issue; 64 random bits from the system's generator prevent
guessing. A restart increments the epoch.

Outcomes, reasons, losses, refusals, rights and notices are strings, since logs, clients
and web pages show them.
"""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

from pydantic_core import CoreSchema, core_schema

from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import short

_Word = TypeVar("_Word", bound=StrEnum)


class Loss(StrEnum):
    """Extent of the loss when one of a token's resources is revoked."""

    WHOLE = "whole"
    """The token loses everything: a navigator without its head should stop."""
    PARTIAL = "partial"
    """The token loses only the revoked resources and stays valid for the rest."""


class Preemption(StrEnum):
    """Preemption of holders by priority."""

    OFF = "off"
    """No preemption: the holder decides."""
    BY_PRIORITY = "by_priority"
    """A strictly higher priority preempts at once; ties follow the two tie rules."""


class AskerTie(StrEnum):
    """Wish of a requester of equal priority."""

    LOSES = "tie loses"
    WINS = "tie wins"


class HolderTie(StrEnum):
    """Permission of a holder for a requester of equal priority."""

    KEEPS = "keeps"
    YIELDS = "yields"


class OutcomeKind(StrEnum):
    """End of a request; each request ends in exactly one of these."""

    GRANTED = "granted"
    DENIED = "denied"
    """Denied at once, or when only a deadlock could follow; see the reason."""
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    """Withdrawn by its owner, or the owner was dropped."""


class Why(StrEnum):
    """Reason why a request failed."""

    BUSY = "busy"
    """A resource is not free, and the requester does not wait."""
    OUTRANKED = "outranked"
    """An owner of higher priority holds it, and the requester does not wait, or may not
    (`LedgerCfg.denies_lower`)."""
    DEADLOCK = "deadlock"
    """The owner would wait for itself, directly or through others."""
    TIMEOUT = "timeout"
    FROZEN = "frozen"
    """A virtual owner has a part of it (absent, hot, broken), so no holder could
    release it. The blockers name the virtual owner."""
    WITHDRAWN = "withdrawn"
    OWNER_GONE = "owner gone"
    CLOSED = "closed"
    """The manager was closed."""
    TOKEN_DEAD = "token dead"
    """The token that the request should enlarge is no longer valid."""


class LossCause(StrEnum):
    """Cause of a holder's loss."""

    OVERRIDDEN = "overridden"
    """Preempted by a higher priority, or by the tie rule."""
    YIELDED = "yielded"
    """The holder's conflict policy yielded."""
    PAUSED = "paused"
    """The holder's conflict policy yielded until the requester is done."""
    FROZEN = "frozen"
    """A virtual owner froze the part: hot, broken, absent."""
    PARENT_RELEASED = "parent released"
    """The enclosing reservation of an ancestor has ended."""
    STATE_LEFT = "state left"
    """The robot left the state, for example by a fall."""


class Refusal(StrEnum):
    """Reason why the gate refused a command."""

    NO_TOKEN = "NO_TOKEN"
    UNKNOWN = "UNKNOWN"
    """The token was never issued, is forged, or its record is deleted."""
    REVOKED = "REVOKED"
    RELEASED = "RELEASED"
    EXPIRED = "EXPIRED"
    """The owner was silent for longer than its time to live."""
    WRONG_EPOCH = "WRONG_EPOCH"
    """The token was issued before a restart of the manager."""
    NOT_COVERED = "NOT_COVERED"
    FROZEN = "FROZEN"
    """A virtual owner holds the resource."""


class Right(StrEnum):
    """Right on a motor that the holder may grant to others; it ends with the hold."""

    SHIFT = "shift"
    """Shift the set-point by an angle, in addition to the holder's command."""
    LIMIT = "limit"
    """Limit the torque: command the stiffness."""


class NoticeKind(StrEnum):
    """Kind of a notice to an owner."""

    DEMANDED = "demanded"
    """Another owner requests its resources."""
    YIELD_BY = "yield by"
    """The promise is enforced: the owner must release by the stated tick."""
    KEEP_ON = "keep on"
    """The promise is void: the request was granted otherwise, or withdrawn."""
    LOST = "lost"
    """The owner lost resources; the notice lists those revoked and those merely
    freed."""
    OUTCOME = "outcome"
    """The owner's waiting request ended."""
    LIMITED = "limited"
    """The torque of the owner's motors is limited, by a virtual owner or with
    consent."""
    UNLIMITED = "unlimited"
    """The limit of a virtual owner has ended."""
    AVAILABLE = "available"
    """All resources that the owner lost with one token are free again."""
    RAISED = "raised"
    """The owner's policy raised an error at a demand, which counts as a refusal."""


def word(kind: type[_Word], value: str, what: str) -> _Word:
    """Return the member of an enumeration that a text from a file or client names.

    Raises:
        UnknownName: the text names no member.
        BadInput: the value is not a text.
    """
    if type(value) is kind:
        return value
    known = [choice.value for choice in kind]
    if not isinstance(value, str):
        raise BadInput(
            f"{what} is {short(value)}; give a word, one of {', '.join(known)}."
        )
    try:
        return kind(value)
    except ValueError:
        raise UnknownName(what, str(value), known, "the choices") from None


_POOL = 256
"""Number of secrets drawn from the system at once."""
_TOO_MANY = 10**18
_PUBLIC = re.compile(r"(\d{1,18})\.(\d{1,18})")
_TEXT = re.compile(r"(\d{1,18})-(\d{1,18})-([0-9a-f]{16})")


class TokenId(NamedTuple):
    """Public part of a token, for logs and pages; it authorises nothing."""

    epoch: int
    sequence: int

    def __str__(self) -> str:
        """Return `epoch.sequence`."""
        return f"{self.epoch}.{self.sequence}"

    @classmethod
    def from_text(cls, text: str) -> "TokenId":
        """Parse `epoch.sequence`.

        Raises:
            ValueError: the text does not have that form.
        """
        match = _PUBLIC.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a token; give epoch.sequence")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        """Define the text form as the representation in JSON lines."""
        return core_schema.no_info_after_validator_function(
            cls.from_text,
            core_schema.str_schema(strict=True),
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )


class Token(NamedTuple):
    """Complete token; its secret half is for the holder and the gate only."""

    epoch: int
    sequence: int
    secret: int
    """64 random bits."""

    def __repr__(self) -> str:
        """Return the public part, so that logs and tracebacks contain no secret."""
        return f"Token({self.epoch}.{self.sequence}, secret)"

    @property
    def id(self) -> TokenId:
        """Public part of the token."""
        return TokenId(self.epoch, self.sequence)

    def as_text(self) -> str:
        """Return the form for network messages."""
        return f"{self.epoch}-{self.sequence}-{self.secret:016x}"

    @classmethod
    def from_text(cls, text: str) -> "Token":
        """Parse the form of network messages.

        Raises:
            BadInput: the text does not have that form.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise BadInput(
                f"token {text[:60]!r} is malformed; it is epoch-sequence-secret, the "
                "secret in 16 hexadecimal digits, as the grant gave it."
            )
        epoch, sequence, secret = match.groups()
        return cls(int(epoch), int(sequence), int(secret, 16))


def six_digits(token: Token) -> str:
    """Return a token in the form of the arbiter's document, for demonstrations only.

    Three random digits, then three sequential ones: easy to read, easy to guess.
    """
    return f"{token.secret % 1000:03d}{token.sequence % 1000:03d}"


def system_secrets() -> Callable[[], int]:
    """Return a function that draws 64 random bits from the system's generator."""
    pool: list[int] = []

    def draw() -> int:
        if not pool:
            raw = secrets.token_bytes(8 * _POOL)
            pool.extend(memoryview(raw).cast("Q"))
        return pool.pop()

    return draw


class TokenMint:
    """Source of the tokens of one epoch, with increasing sequence numbers."""

    def __init__(
        self, epoch: int, first: int = 1, draw: Callable[[], int] | None = None
    ) -> None:
        """Create a mint for an epoch.

        Args:
            epoch: count of restarts, higher than all earlier ones.
            first: first sequence number.
            draw: function that returns 64 random bits; None: the system's generator.

        Raises:
            BadInput: a count is not an integer in a token's range, from 0.
        """
        for what, count in (("epoch", epoch), ("first sequence number", first)):
            if type(count) is not int or not 0 <= count < _TOO_MANY:
                raise BadInput(
                    f"{what} of tokens is {count!r}; give a whole number from 0, of "
                    "at most 18 digits."
                )
        self.epoch = epoch
        self._next = first
        self._draw = draw or system_secrets()

    def issue(self) -> Token:
        """Return a new token."""
        sequence = self._next
        self._next = sequence + 1
        return Token(self.epoch, sequence, self._draw())


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocker:
    """Reason why a resource was not available."""

    resource: str
    owners: tuple[str, ...]
    """Holders, virtual owners or earlier waiters; empty for an inactive state."""


class Outcome(NamedTuple):
    """Outcome of a request; a named tuple for speed."""

    kind: OutcomeKind
    tick: int
    token: Token | None = None
    """Token of a grant."""
    obtained: tuple[str, ...] = ()
    """Leaves that this grant added to the token, sorted."""
    missing: tuple[str, ...] = ()
    """Optional names that were not free; after a failure only if the request had no
    other names."""
    why: Why | None = None
    """Reason of a failure."""
    blockers: tuple[Blocker, ...] = ()
    """Blocking holders at the failure."""

    @property
    def is_granted(self) -> bool:
        """True if the request was granted."""
        return self.kind is OutcomeKind.GRANTED
