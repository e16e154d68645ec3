"""What every conflict policy is: an object that answers a demand (RM-32).

The manager only tells; the holder decides. A policy is asked once at the demand and
again every retry period while the asker waits. It decides quickly and starts nothing
that takes time: the manager calls a promise in only when it lets the asker start, and
the holder then learns by a notice.
"""

from dataclasses import dataclass
from enum import StrEnum
from inspect import signature
from typing import ClassVar, Protocol

from controllers.resources.tokens import TokenId
from controllers.resources.words import word
from models import BadInput
from models.real_numbers import as_number, short


class AnswerKind(StrEnum):
    """What a holder says to a demand."""

    KEEP = "keep"
    YIELD = "yield"
    """Give way for good."""
    PAUSE = "pause"
    """Give way, and get the same set back when the taker is done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """Somebody asks for what this holder has."""

    holder: str
    token: TokenId
    """The reservation in the way."""
    resources: tuple[str, ...]
    """Leaves of it that are asked for, sorted."""
    asker: str
    asker_priority: int
    request: int | None
    """Number of the request that waits; None for a wish to change the state."""
    tick: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the holder says."""

    kind: AnswerKind
    after_s: float = 0.0
    """Time that it needs before it gives way, in s; then it is made to."""
    resume_timeout_s: float | None = None
    """PAUSE: longest wait for getting the set back, in s; None waits without limit."""

    def __post_init__(self) -> None:
        """Refuse words that are no answers, and times that are no times.

        Raises:
            UnknownName: there is no such answer; `keep` is one, plain or as AnswerKind.
            BadInput: a time is no number from 0.
        """
        kind = word(AnswerKind, self.kind, "kind of an answer")
        object.__setattr__(self, "kind", kind)
        keep_time(self, "after_s", "an answer")
        if self.resume_timeout_s is not None:
            keep_time(self, "resume_timeout_s", "an answer")


def checked(answer: Answer) -> Answer:
    """Return an answer as the manager may act on it, however it was made.

    Raises:
        UnknownName, BadInput, AttributeError: it says what no answer can.
    """
    return Answer(
        kind=answer.kind,
        after_s=answer.after_s,
        resume_timeout_s=answer.resume_timeout_s,
    )


def keep_time(holder: object, name: str, what: str) -> None:
    """Keep a time of an answer or a policy as a number of seconds.

    Raises:
        BadInput: it is no number from 0.
    """
    given = getattr(holder, name)
    time_s = as_number(given)
    if time_s is None or not 0.0 <= time_s < float("inf"):
        raise BadInput(f"{name} of {what} is {short(given)} s; give a number from 0.")
    object.__setattr__(holder, name, time_s)


def check_takes_demand(function: object, what: str) -> None:
    """Refuse what cannot be called with a demand alone.

    Raises:
        BadInput: it cannot.
    """
    fits = callable(function)
    if callable(function):
        try:
            signature(function).bind(None)
        except TypeError:
            fits = False
        except ValueError:  # it does not say what it takes
            pass
    if not fits:
        raise BadInput(
            f"{what} is {short(function)}; give a function that takes one demand."
        )


KEEP = Answer(kind=AnswerKind.KEEP)


class ConflictPolicy(Protocol):
    """Answers the demands on one owner's reservations."""

    name: ClassVar[str]
    """The word by which a scenario, a client or the command line names it."""

    def answer(self, demand: Demand) -> Answer:
        """Say what the holder does about a demand.

        It may call the manager (release, request...), as user code in it may. What it
        raises counts as KEEP and is shown in the trace.
        """
