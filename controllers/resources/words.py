"""The few words of the reservations: outcomes, reasons.

They are what a log, a notice and a web page show, so each is a string.
"""

from enum import StrEnum
from typing import TypeVar

from models import BadInput, UnknownName
from models.real_numbers import short

_Word = TypeVar("_Word", bound=StrEnum)


class Loss(StrEnum):
    """What a token loses when one of its resources is taken away (AR-19, AR-20)."""

    WHOLE = "whole"
    """Everything: a navigator without its head should stop."""
    PARTIAL = "partial"
    """Only what was taken; the token stays valid for the rest."""


class Preemption(StrEnum):
    """Whether priority overrides a holder that keeps (reading of RM-32 and AR-14)."""

    OFF = "off"
    """Never: the holder decides."""
    BY_PRIORITY = "by_priority"
    """A strictly higher priority takes at once; ties follow the two tie rules."""


class AskerTie(StrEnum):
    """What an asker of equal priority wants (AR-21)."""

    LOSES = "tie loses"
    WINS = "tie wins"


class HolderTie(StrEnum):
    """What a holder allows an asker of equal priority (AR-22)."""

    KEEPS = "keeps"
    YIELDS = "yields"


class OutcomeKind(StrEnum):
    """How a request ended; each ends in exactly one of these."""

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
    DEADLOCK = "deadlock"
    """Its owner would wait for itself, directly or through others (RM-21)."""
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
    """By a higher priority, or by the tie rule (AR-14, AR-21)."""
    YIELDED = "yielded"
    """Its conflict policy gave way (RM-35, RM-36)."""
    PAUSED = "paused"
    """Its conflict policy gave way until the taker is done (RM-37)."""
    FROZEN = "frozen"
    """A virtual owner took the part: hot, broken, absent (RM-40)."""
    PARENT_RELEASED = "parent released"
    """The reservation that it was inside of has ended (RM-30)."""
    STATE_LEFT = "state left"
    """The robot is not in that state any more: a fall is a fact (RM-53)."""


class Refusal(StrEnum):
    """Why the gate refused a command (I-15)."""

    NO_TOKEN = "NO_TOKEN"
    UNKNOWN = "UNKNOWN"
    """Never issued, forged, or its record is deleted (AR-26)."""
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
    """What the holder of a motor may let others do with it; it ends with the hold."""

    SHIFT = "shift"
    """Move its set-point by an angle, on top of what the holder commands."""
    LIMIT = "limit"
    """Limit its torque: command its stiffness."""


class NoticeKind(StrEnum):
    """What an owner is told."""

    DEMANDED = "demanded"
    """Somebody asks for what it holds (RM-33)."""
    YIELD_BY = "yield by"
    """It promised to give way, and is asked to until the stated tick."""
    KEEP_ON = "keep on"
    """It need not give way any more: the asker got its turn otherwise, or gave up."""
    LOST = "lost"
    """It lost resources; the notice says which, and which merely went free."""
    OUTCOME = "outcome"
    """Its waiting request ended."""
    LIMITED = "limited"
    """Somebody else limits the torque of what it holds: a virtual owner, or who does so
    by its consent."""
    UNLIMITED = "unlimited"
    """A virtual owner limits it no more."""
    AVAILABLE = "available"
    """All that it lost with one token is free again (AR-26)."""
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
