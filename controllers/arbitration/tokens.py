"""Tokens, and the words for what becomes of a request, a reservation, a command.

A token proves a reservation; every command carries it [ES2535273T3]. It orders and
hides: (epoch, sequence) says when it was issued, 64 random bits from the system's
generator keep it from being guessed. A restart raises the epoch.

Outcomes, reasons, losses, refusals, rights and notices are what a log, a client and a
web page show, so each is a string.
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
    """Everything: a navigator without its head should stop."""
    PARTIAL = "partial"
    """Only what was taken; the token stays valid for the rest."""


class Preemption(StrEnum):
    """Preemption of holders by priority."""

    OFF = "off"
    """Never: the holder decides."""
    BY_PRIORITY = "by_priority"
    """A strictly higher priority takes at once; ties follow the two tie rules."""


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
    """At once or as soon as it could only deadlock; the reason says which."""
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    """Withdrawn by its owner, or the owner is gone."""


class Why(StrEnum):
    """Why a request failed."""

    BUSY = "busy"
    """Not free, and the asker did not want to wait."""
    OUTRANKED = "outranked"
    """An owner of higher priority holds it, and the requester does not wait, or may not
    (`LedgerCfg.denies_lower`)."""
    DEADLOCK = "deadlock"
    """Its owner would wait for itself, directly or through others."""
    TIMEOUT = "timeout"
    FROZEN = "frozen"
    """A virtual owner has a part of it (absent, hot, broken): not busy, and holders
    could not help. The blockers say which one."""
    WITHDRAWN = "withdrawn"
    OWNER_GONE = "owner gone"
    CLOSED = "closed"
    """The manager has ended."""
    TOKEN_DEAD = "token dead"
    """The token that it should enlarge is not valid any more."""


class LossCause(StrEnum):
    """Why a holder lost resources."""

    OVERRIDDEN = "overridden"
    """By a higher priority, or by the tie rule."""
    YIELDED = "yielded"
    """Its conflict policy gave way."""
    PAUSED = "paused"
    """Its conflict policy gave way until the taker is done."""
    FROZEN = "frozen"
    """A virtual owner took the part: hot, broken, absent."""
    PARENT_RELEASED = "parent released"
    """The reservation that it was inside of has ended."""
    STATE_LEFT = "state left"
    """The robot is not in that state any more: a fall is a fact."""


class Refusal(StrEnum):
    """Why the gate refused a command."""

    NO_TOKEN = "NO_TOKEN"
    UNKNOWN = "UNKNOWN"
    """Never issued, forged, or its record is deleted."""
    REVOKED = "REVOKED"
    RELEASED = "RELEASED"
    EXPIRED = "EXPIRED"
    """Its owner fell silent for longer than its time to live."""
    WRONG_EPOCH = "WRONG_EPOCH"
    """Issued before the manager was restarted."""
    NOT_COVERED = "NOT_COVERED"
    FROZEN = "FROZEN"
    """A virtual owner holds the resource."""


class Right(StrEnum):
    """Right on a motor that its holder may grant to others; it ends with the hold."""

    SHIFT = "shift"
    """Move its set-point by an angle, on top of what the holder commands."""
    LIMIT = "limit"
    """Limit its torque: command its stiffness."""


class NoticeKind(StrEnum):
    """Kind of a notice to an owner."""

    DEMANDED = "demanded"
    """Competing request for its resources."""
    YIELD_BY = "yield by"
    """Its promise is enforced: it has to release by the stated tick."""
    KEEP_ON = "keep on"
    """Its promise is void: the requester was granted otherwise, or gave up."""
    LOST = "lost"
    """It lost resources; the notice says which, and which merely went free."""
    OUTCOME = "outcome"
    """Its waiting request ended."""
    LIMITED = "limited"
    """The torque of its motors is limited, by a virtual owner or with its consent."""
    UNLIMITED = "unlimited"
    """The limit of a virtual owner has ended."""
    AVAILABLE = "available"
    """All that it lost with one token is free again."""
    RAISED = "raised"
    """Its own policy raised an error at a demand, which counts as a refusal."""


def word(kind: type[_Word], value: str, what: str) -> _Word:
    """Return the word that a string means, as files and clients write it.

    Raises:
        UnknownName: it is none of this kind.
        BadInput: it is no text.
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
"""Secrets drawn from the system at a time."""
_TOO_MANY = 10**18
_PUBLIC = re.compile(r"(\d{1,18})\.(\d{1,18})")
_TEXT = re.compile(r"(\d{1,18})-(\d{1,18})-([0-9a-f]{16})")


class TokenId(NamedTuple):
    """The public part of a token: fit for logs and pages, it authorises nothing."""

    epoch: int
    sequence: int

    def __str__(self) -> str:
        """Return `epoch.sequence`."""
        return f"{self.epoch}.{self.sequence}"

    @classmethod
    def from_text(cls, text: str) -> "TokenId":
        """Read `epoch.sequence`.

        Raises:
            ValueError: it is not of that form.
        """
        match = _PUBLIC.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no token; it is epoch.sequence")
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        """Stand as that text in lines of JSON."""
        return core_schema.no_info_after_validator_function(
            cls.from_text,
            core_schema.str_schema(strict=True),
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )


class Token(NamedTuple):
    """A whole token; its secret half is for the holder and the gate alone."""

    epoch: int
    sequence: int
    secret: int
    """64 random bits."""

    def __repr__(self) -> str:
        """Return the public part; logs and tracebacks never hold a secret."""
        return f"Token({self.epoch}.{self.sequence}, secret)"

    @property
    def id(self) -> TokenId:
        """The public part."""
        return TokenId(self.epoch, self.sequence)

    def as_text(self) -> str:
        """Return the form that goes over a wire."""
        return f"{self.epoch}-{self.sequence}-{self.secret:016x}"

    @classmethod
    def from_text(cls, text: str) -> "Token":
        """Read the form that goes over a wire.

        Raises:
            BadInput: it is not of that form.
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
    """Return a token as the arbiter's document draws it, for demonstrations only.

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
    """Issues the tokens of one epoch, each with a higher sequence number."""

    def __init__(
        self, epoch: int, first: int = 1, draw: Callable[[], int] | None = None
    ) -> None:
        """Create a mint for an epoch.

        Args:
            epoch: count of restarts, higher than ever before.
            first: first sequence number.
            draw: yields 64 random bits; None takes the system's generator.

        Raises:
            BadInput: a count is not a whole number from 0 in a token's range.
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
        """Return a token that was never issued before."""
        sequence = self._next
        self._next = sequence + 1
        return Token(self.epoch, sequence, self._draw())


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocker:
    """Why a resource could not be had."""

    resource: str
    owners: tuple[str, ...]
    """Holders, virtual owners or earlier waiters; none for an inactive state."""


class Outcome(NamedTuple):
    """Outcome of a request; a tuple, since many are created."""

    kind: OutcomeKind
    tick: int
    token: Token | None = None
    """Of a grant."""
    obtained: tuple[str, ...] = ()
    """Leaves that the token covers by this grant, sorted."""
    missing: tuple[str, ...] = ()
    """Optional names that were not free; of a failure only if there were no
    others."""
    why: Why | None = None
    """Of a failure."""
    blockers: tuple[Blocker, ...] = ()
    """Blocking holders at a failure."""

    @property
    def is_granted(self) -> bool:
        """True if the request was granted."""
        return self.kind is OutcomeKind.GRANTED
