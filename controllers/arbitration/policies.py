"""Conflict policies: answers of holders to competing requests.

The manager notifies a holder of a competing request (demand), and the holder decides. A
policy is called at the demand, and again every retry period while the requester waits.
It must return quickly. The manager enforces a promise to yield only when the requester
can start, and then notifies the holder.

    lock      keep the resources (default)
    stop      stop the behaviour and release its resources
    pause     yield, and resume when the requester is done
    callback  user code decides

A policy is a class with a unique `name` and a method `answer`. All its fields have
defaults, so that the name suffices to create it. Built-in policies are in `_OWN`; other
packages register theirs as entry points.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import ClassVar, Protocol

from nao_testbed.controllers.arbitration.tokens import TokenId, word
from nao_testbed.controllers.interface.entry_points import load_entry_point
from nao_testbed.models import BadInput, UnknownName
from nao_testbed.models.values import check_seconds, short


class AnswerKind(StrEnum):
    """Kind of answer to a demand."""

    KEEP = "keep"
    YIELD = "yield"
    """Release the resources."""
    PAUSE = "pause"
    """Release the resources, and resume with the same set afterwards."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Demand:
    """Competing request for the resources of a holder."""

    holder: str
    token: TokenId
    """Token of the blocking reservation."""
    resources: tuple[str, ...]
    """Requested leaves of the reservation, sorted."""
    asker: str
    asker_priority: int
    request: int | None
    """Number of the waiting request; None for a requested change of state."""
    tick: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Answer of the holder."""

    kind: AnswerKind
    after_s: float = 0.0
    """Time in s until the holder releases; then the release is enforced. A time at or
    after the requester's limit counts as KEEP: within a tick, waits end before
    promises."""
    resume_timeout_s: float | None = None
    """PAUSE: longest wait for resumption in s; None: no limit."""

    def __post_init__(self) -> None:
        kind = word(AnswerKind, self.kind, "kind of an answer")
        object.__setattr__(self, "kind", kind)
        keep_time(self, "after_s", "an answer")
        if self.resume_timeout_s is not None:
            keep_time(self, "resume_timeout_s", "an answer")


def checked(answer: Answer) -> Answer:
    """Return a validated copy of an answer.

    Raises:
        UnknownName, BadInput, AttributeError: the answer is invalid.
    """
    return Answer(
        kind=answer.kind,
        after_s=answer.after_s,
        resume_timeout_s=answer.resume_timeout_s,
    )


def keep_time(holder: object, name: str, what: str) -> None:
    """Validate a time of an answer or a policy, in s, 0 or more."""
    seconds = check_seconds(getattr(holder, name), f"{name} of {what}")
    object.__setattr__(holder, name, seconds)


def check_takes_demand(function: object, what: str) -> None:
    """Raise unless a function can be called with a demand as its only argument.

    Raises:
        BadInput: the function cannot be called so.
    """
    fits = callable(function)
    if callable(function):
        try:
            signature(function).bind(None)
        except TypeError:
            fits = False
        except ValueError:  # no signature available
            pass
    if not fits:
        raise BadInput(
            f"{what} is {short(function)}; give a function that takes one demand."
        )


KEEP = Answer(kind=AnswerKind.KEEP)


class ConflictPolicy(Protocol):
    """Policy that answers the demands on one owner's reservations."""

    name: ClassVar[str]
    """Name of the policy in scenarios, clients and the command line."""

    def answer(self, demand: Demand) -> Answer:
        """Return the holder's answer to a demand.

        The method may call the manager (release, request...). An error counts as KEEP
        and is shown in the trace.
        """


@dataclass(frozen=True)
class Lock:
    """Policy that keeps the resources; the requester waits within its time limit."""

    name: ClassVar[str] = "lock"

    def answer(self, demand: Demand) -> Answer:
        """Answer with KEEP."""
        del demand  # same answer for every demand
        return KEEP


@dataclass(frozen=True)
class StopOnDemand:
    """Policy that releases at once, or within the stopping time."""

    name: ClassVar[str] = "stop"

    within_s: float = 0.0
    """Stopping time in s: a walking robot first puts both feet down."""

    def __post_init__(self) -> None:
        keep_time(self, "within_s", f"policy {self.name!r}")

    def answer(self, demand: Demand) -> Answer:
        """Answer with a release."""
        del demand
        return Answer(kind=AnswerKind.YIELD, after_s=self.within_s)


@dataclass(frozen=True)
class PauseOnDemand:
    """Policy that yields, and resumes with the same resources afterwards.

    The paused holder waits at the front of its priority class for the same set.
    """

    name: ClassVar[str] = "pause"

    within_s: float = 0.0
    """Time in s until the behaviour has paused."""
    resume_timeout_s: float | None = None
    """Longest pause in s; None: no limit."""

    def __post_init__(self) -> None:
        keep_time(self, "within_s", f"policy {self.name!r}")
        if self.resume_timeout_s is not None:
            keep_time(self, "resume_timeout_s", f"policy {self.name!r}")

    def answer(self, demand: Demand) -> Answer:
        """Answer with a pause."""
        del demand
        return Answer(
            kind=AnswerKind.PAUSE,
            after_s=self.within_s,
            resume_timeout_s=self.resume_timeout_s,
        )


def _keep(demand: Demand) -> None:
    """Return None: the default of a policy without a function."""


@dataclass(frozen=True)
class CallbackOnDemand:
    """Policy in which a function, or the behaviour itself, decides.

    Without an answer the resources are kept until a limit.

    Example: a dance, on a demand for the legs, continues to its next stable posture and
    releases them there. Its function returns None, and `limit_s` bounds the time.
    """

    name: ClassVar[str] = "callback"

    function: Callable[[Demand], Answer | None] = _keep
    """Function that returns an answer, or None: the holder may release later by
    itself."""
    limit_s: float | None = None
    """Time in s after which an answer None leads to a stop; None: never, the demand
    stays refused."""

    @property
    def decides(self) -> bool:
        """True if the policy has its own function."""
        return self.function is not _keep

    def __post_init__(self) -> None:
        check_takes_demand(self.function, "the function of a callback")
        if self.limit_s is not None:
            keep_time(self, "limit_s", f"policy {self.name!r}")

    def answer(self, demand: Demand) -> Answer:
        """Return the function's answer."""
        answer = self.function(demand)
        if answer is not None:
            return answer
        if self.limit_s is None:
            return KEEP
        return Answer(kind=AnswerKind.YIELD, after_s=self.limit_s)


POLICIES = "nao_testbed.conflict_policies"
"""Entry-point group of policies from other packages."""
_OWN = (Lock, StopOnDemand, PauseOnDemand, CallbackOnDemand)


@cache
def policy_classes() -> dict[str, type[ConflictPolicy]]:
    """Return every conflict policy by its name, in alphabetical order.

    The result contains built-in policies, which take precedence, and those of the
    entry-point group `nao_testbed.conflict_policies`. Policies that `make_policy`
    rejects are omitted.
    """
    found: dict[str, type[ConflictPolicy]] = {kind.name: kind for kind in _OWN}
    for entry in entry_points(group=POLICIES):
        if entry.name not in found:
            with contextlib.suppress(BadInput):
                found[entry.name] = _load(entry)
    return dict(sorted(found.items()))


def _load(entry: EntryPoint) -> type[ConflictPolicy]:
    kind = load_entry_point("conflict policy", entry)
    if not (isinstance(kind, type) and callable(getattr(kind, "answer", None))):
        raise BadInput(
            f"conflict policy {entry.name!r} ({entry.value}) is {short(kind)}; it "
            "must be a class with `name` and `answer`."
        )
    if getattr(kind, "name", None) != entry.name:
        raise BadInput(
            f"conflict policy {entry.name!r} ({entry.value}) has the `name` "
            f"{short(getattr(kind, 'name', None))}; register it under that name, or "
            "change it."
        )
    return kind


def make_policy(name: str, **settings: object) -> ConflictPolicy:
    """Create the policy with a name.

    Args:
        name: name listed by `policy_classes`.
        settings: fields of the policy's class.

    Raises:
        UnknownName: no policy has this name, or the policy lacks a setting.
        BadInput: the entry point of this name is not a policy of that name.
    """
    classes = policy_classes()
    if not isinstance(name, str) or name not in classes:
        said = name if isinstance(name, str) else short(name)
        for entry in entry_points(group=POLICIES, name=said):
            _load(entry)
        raise UnknownName("Conflict policy", said, classes, "this manager")
    known = signature(classes[name]).parameters
    for setting in settings:
        if setting not in known:
            raise UnknownName("Setting", setting, known, f"policy {name!r}")
    return classes[name](**settings)


def as_policy(given: object) -> ConflictPolicy:
    """Return a policy given as an object or by name.

    Raises:
        UnknownName: no policy has this name.
        BadInput: the value is not a policy; a class must be instantiated first.
    """
    if isinstance(given, str):
        return make_policy(given)
    if type(given) in _OWN:
        return given  # type: ignore[return-value]  # it was checked when it was made
    answer = getattr(given, "answer", None)
    has_all = isinstance(getattr(given, "name", None), str) and callable(answer)
    if isinstance(given, type) or not has_all:
        raise BadInput(
            f"policy is {short(given)}; give an object with `name` and `answer`, such "
            f"as StopOnDemand(), or one of {', '.join(policy_classes())}."
        )
    check_takes_demand(answer, f"`answer` of policy {short(given)}")
    return given  # type: ignore[return-value]  # it has all that one has
