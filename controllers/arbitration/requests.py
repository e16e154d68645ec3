"""Owners, requests for resources, and their tickets.

Owner       a behaviour, box, program or robot with its defaults; owners form a tree
Request     a set of resources requested together
Ticket      a pending request; its outcome is None while it waits
NotGranted, StaleToken    errors of a request without a grant, and of an ended hold
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from nao_testbed.controllers.arbitration.events import ReadOnly
from nao_testbed.controllers.arbitration.policies import ConflictPolicy, Lock, as_policy
from nao_testbed.controllers.arbitration.resource_tree import (
    check_name,
    check_names,
    is_name,
)
from nao_testbed.controllers.arbitration.tokens import (
    AskerTie,
    HolderTie,
    Loss,
    LossCause,
    Outcome,
    Refusal,
    Token,
    Why,
    word,
)
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.values import as_number, check_seconds, short

if TYPE_CHECKING:
    from nao_testbed.controllers.arbitration.events import Expired, Notified


OnStop = Callable[["Notified"], None]
OnLost = Callable[["Notified | Expired"], None]
LOWEST, HIGHEST = 0, 9
"""Range of priorities."""
SHORTEST_S = 1e-9
"""Shortest tick and retry period, in s."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Owner:
    """Owner of resources (behaviour, box, program or robot) with its defaults.

    Fields that a request leaves open are taken from here.
    """

    name: str
    parent: str | None = None
    """Parent owner, whose reservations this owner may use."""
    policy: ConflictPolicy = field(default_factory=Lock)
    """Policy for competing requests."""
    priority: int = 0
    """Priority from 0 (low) to 9 (high)."""
    max_priority: int = HIGHEST
    """Highest priority of its requests, set at its registration."""
    timeout_s: float = 5.0
    """Longest wait of its requests in s; never infinite."""
    retry_s: float | None = None
    """Period of repeated notices to holders while it waits, in s; None: the
    ledger's."""
    time_to_live_s: float | None = None
    """Silence in s after which the owner is dropped; None: never."""
    asker_tie: AskerTie = AskerTie.LOSES
    holder_tie: HolderTie = HolderTie.KEEPS
    on_stop: OnStop | None = None
    """Called when a promise of the owner is enforced: stop by `until_tick` (fig.
    8c)."""
    on_lost: OnLost | None = None
    """Called when the owner has lost resources for any cause, including a pause. Both
    functions are called after the change and may send requests; an error affects no
    other owner."""

    def __post_init__(self) -> None:
        asker_tie = word(AskerTie, self.asker_tie, "asker_tie")
        object.__setattr__(self, "asker_tie", asker_tie)
        holder_tie = word(HolderTie, self.holder_tie, "holder_tie")
        object.__setattr__(self, "holder_tie", holder_tie)
        object.__setattr__(self, "policy", as_policy(self.policy))
        for hook in (self.on_stop, self.on_lost):
            if hook is not None and not callable(hook):
                raise BadInput(
                    f"on_stop or on_lost of owner {self.name!r} is {hook!r}; give a "
                    "function that takes the notice."
                )
        object.__setattr__(self, "name", check_name(self.name, "an owner"))
        if self.parent is not None:
            parent = check_name(self.parent, f"the parent of owner {self.name!r}")
            object.__setattr__(self, "parent", parent)
        if self.parent == self.name:
            raise BadInput(f"Owner {self.name!r} is its own parent.")
        check_priority(self.priority)
        check_priority(self.max_priority)
        if self.priority > self.max_priority:
            raise BadInput(
                f"priority of owner {self.name!r} is {self.priority}; its highest is "
                f"{self.max_priority}."
            )
        object.__setattr__(self, "timeout_s", check_timeout(self.timeout_s))
        if self.retry_s is not None:
            object.__setattr__(self, "retry_s", _check_retry(self.retry_s, self.name))
        if self.time_to_live_s is not None:
            live = check_seconds(
                self.time_to_live_s,
                f"time to live of owner {self.name!r}",
                "give a positive number of seconds, or none for an owner that never "
                "expires",
                least=math.ulp(0.0),
            )
            object.__setattr__(self, "time_to_live_s", live)


def check_priority(priority: int) -> None:
    """Check a priority.

    Raises:
        BadInput: the priority is not an integer from 0 to 9.
    """
    is_whole = isinstance(priority, int) and not isinstance(priority, bool)
    if not is_whole or not LOWEST <= priority <= HIGHEST:
        raise BadInput(
            f"priority is {short(priority)}; give a whole number from {LOWEST} (low) "
            f"to {HIGHEST} (high)."
        )


def checked_priorities(what: str, priorities: Mapping[str, int]) -> Mapping[str, int]:
    """Return a read-only copy of a mapping from name to priority.

    Raises:
        BadInput: the value is not a dictionary of names and priorities.
    """
    if not isinstance(priorities, Mapping):
        raise BadInput(
            f"{what} is {short(priorities)}; give a dictionary of names and priorities."
        )
    for name, priority in priorities.items():
        check_name(name, f"one of {what}")
        check_priority(priority)
    return ReadOnly(priorities)


def check_timeout(timeout_s: float) -> float:
    """Return a checked time limit in s; no request waits forever."""
    return check_seconds(
        timeout_s,
        "timeout",
        "give 0 to try once, or a positive number of seconds: a request must have a "
        "time limit",
    )


def _check_retry(retry_s: float, owner: str) -> float:
    return check_seconds(
        retry_s,
        f"retry period of {owner!r}",
        f"give a positive number of seconds, {SHORTEST_S:g} or more, or none for that "
        "of the ledger",
        least=SHORTEST_S,
    )


FULL = 10_000
"""100 % in the unit of rates, 1/100 %."""

NO_RATES: Mapping[str, float] = ReadOnly()
_WORDS: Mapping[str, type[StrEnum]] = {
    "loss": Loss,
    "asker_tie": AskerTie,
    "holder_tie": HolderTie,
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """Request of one owner for a set of resources.

    The order of the names does not matter. None selects the owner's default.
    """

    owner: str
    resources: tuple[str, ...] = ()
    """Essential leaves and composites, granted all or none."""
    optional: tuple[str, ...] = ()
    """Resources that are granted only if they are free at the grant."""
    rates: Mapping[str, float] = field(default_factory=lambda: NO_RATES)
    """Cumulative resource to rate in percent, with two decimals; all essential."""
    priority: int | None = None
    """Priority; takes precedence over those of the operation, the resources and the
    owner."""
    operation: str | None = None
    """Kind of operation, one of `LedgerCfg.operation_priority`."""
    timeout_s: float | None = None
    """Time limit in s; 0 tries once; None: the owner's limit."""
    retry_s: float | None = None
    """Period of repeated notices to holders while it waits, in s."""
    loss: Loss = Loss.WHOLE
    policy: ConflictPolicy | None = None
    asker_tie: AskerTie | None = None
    holder_tie: HolderTie | None = None
    add_to: Token | None = None
    """Token of the owner to be enlarged; None: a new token."""

    def __post_init__(self) -> None:
        loss, asker, holder = self.loss, self.asker_tie, self.holder_tie
        if type(loss) is not Loss or asker is not None or holder is not None:
            self._check_words()
        if not is_name(self.owner):
            object.__setattr__(self, "owner", check_name(self.owner, "an owner"))
        resources = self.resources
        if (
            type(resources) is not tuple
            or len(resources) != 1
            or not is_name(resources[0])
            or type(self.optional) is not tuple
            or self.optional
            or self.rates is not NO_RATES
        ):
            self._check_resources()
        if self.policy is not None:
            object.__setattr__(self, "policy", as_policy(self.policy))
        if self.priority is not None:
            check_priority(self.priority)
        if self.operation is not None:
            check_name(self.operation, "an operation")
        if self.timeout_s is not None:
            object.__setattr__(self, "timeout_s", check_timeout(self.timeout_s))
        if self.retry_s is not None:
            object.__setattr__(self, "retry_s", _check_retry(self.retry_s, self.owner))
        if self.add_to is not None and type(self.add_to) is not Token:
            what = type(self.add_to).__name__  # the value may be a secret
            raise BadInput(
                f"{self.owner} would add to a {what}; give the Token of a grant."
            )

    def _check_words(self) -> None:
        """Convert texts to enumeration members."""
        for what, kind in _WORDS.items():
            value = getattr(self, what)
            if value is not None:
                object.__setattr__(self, what, word(kind, value, what))

    def _check_resources(self) -> None:
        """Store the requested resources read-only, and validate them."""
        for what in ("resources", "optional"):
            object.__setattr__(self, what, check_names(getattr(self, what), what))
        if self.rates is not NO_RATES:
            rates = ReadOnly(checked_rates(self.rates))  # read-only, since tickets
            object.__setattr__(self, "rates", rates)  # and outcomes share the request
        names = (*self.resources, *self.optional, *self.rates)
        if not names:
            raise BadInput(
                f"{self.owner} requests nothing; name at least one resource."
            )
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise BadInput(f"{self.owner} names {twice!r} twice in one request.")


def checked_rates(rates: Mapping[str, float]) -> dict[str, float]:
    """Return a read-only copy of rates.

    Raises:
        BadInput: the rates are not a dictionary, or a value is not a rate (see
            `rate_of`).
    """
    if not isinstance(rates, Mapping):
        raise BadInput(
            f"rates are {short(rates)}; give a dictionary of resources and percents."
        )
    checked = {}
    for name, percent in rates.items():
        rate_of(check_name(name, "a resource"), percent)
        checked[name] = percent
    return checked


def rate_of(name: str, percent: float) -> int:
    """Return a rate in 1/100 %.

    Raises:
        BadInput: the value is not a number from 0.01 to 100 %, or is finer than 0.01 %.
    """
    number = as_number(percent)
    if number is not None:
        rate = round(number * 100.0) if 0.0 < number <= 100.0 else 0
        if rate >= 1 and abs(number * 100.0 - rate) <= 1e-6:
            return rate
    raise BadInput(
        f"rate of {name!r} is {short(percent)} %; give 0.01 to 100 % in steps of "
        "0.01 %."
    )


_ADVICE = {
    Why.BUSY: "give a time limit to wait for them",
    Why.OUTRANKED: "ask again when it is free, or with a higher priority",
    Why.TIMEOUT: "wait longer, or go without",
    Why.FROZEN: "go without: a virtual owner has it, absent, hot or broken, until that "
    "is over",
    Why.DEADLOCK: "release what others wait for, then ask for all in one request",
    Why.WITHDRAWN: "ask again if they are still needed",
    Why.CLOSED: "share a new ledger, or ask another manager",
    Why.OWNER_GONE: "make the owner known again and renew it in time",
    Why.TOKEN_DEAD: "ask for a new token",
}


class NotGranted(TestbedError):
    """A request ended without a grant."""

    def __init__(self, request: Request, outcome: Outcome) -> None:
        """Create the error with the request, the reason and the blocking holders.

        Args:
            request: request without a grant.
            outcome: its outcome.
        """
        self.request = request
        self.outcome = outcome
        why = outcome.why or Why.BUSY
        wanted = ", ".join((*request.resources, *request.rates, *request.optional))
        ways = "; ".join(
            f"{blocker.resource}: {', '.join(blocker.owners) or 'not the active state'}"
            for blocker in outcome.blockers
        )
        super().__init__(
            f"{request.owner!r} did not get {wanted}: "
            f"{why}{f' (blocked by: {ways})' if ways else ''}. "
            f"{_ADVICE[why].capitalize()}."
        )


class Ticket:
    """Submitted request; `outcome` is None while it waits."""

    __slots__ = ("number", "outcome", "request")

    def __init__(self, number: int, request: Request) -> None:
        """Create the ticket of a pending request.

        Args:
            number: number of the request, in order of arrival.
            request: the request.
        """
        self.number = number
        self.request = request
        self.outcome: Outcome | None = None

    @property
    def token(self) -> Token:
        """Token of the grant, required by every command.

        Raises:
            NotGranted: the request has failed.
            TestbedError: the request still waits.
        """
        outcome = self.outcome
        if outcome is None:
            raise TestbedError(
                f"request {self.number} of {self.request.owner!r} still waits; check "
                "first whether it has an outcome."
            )
        if outcome.token is None:
            raise NotGranted(self.request, outcome)
        return outcome.token


class StaleToken(TestbedError):
    """A token is not or no longer valid; nothing has changed."""

    def __init__(self, token: Token, reason: Refusal) -> None:
        self.token = token
        self.reason = reason
        super().__init__(
            f"token {token.id} is not valid: {reason}; request the resources again."
        )


class End(NamedTuple):
    """End of a reservation; its text is a sentence for users."""

    refusal: Refusal
    """Refusal with which the gate now rejects its tokens."""
    why: LossCause | None = None
    """Cause of the loss; PAUSED: the pause ended without resumption."""
    by: str = ""
    """Owner, virtual owner or state behind the loss."""

    def __str__(self) -> str:
        """Return the reason."""
        if self.why is LossCause.PAUSED:
            return f"paused for {self.by!r}, and not returned in time"
        if self.why is not None:
            to = {LossCause.YIELDED: "to", LossCause.STATE_LEFT: "for"}
            return f"{self.why} {to.get(self.why, 'by')} {self.by!r}"
        return _ENDS.get(self.refusal, "unknown to the manager")


_ENDS = {
    Refusal.RELEASED: "released",
    Refusal.EXPIRED: "expired: its owner was silent for too long, or left",
    Refusal.REVOKED: "revoked",
    Refusal.WRONG_EPOCH: "void: the manager was restarted",
}


class Present(NamedTuple):
    """Present state of a reservation, identified by one of its tokens."""

    token: Token | None = None
    """Valid token: the given one, or the newest after pauses."""
    ticket: Ticket | None = None
    """Ticket with which a paused reservation waits to resume; its token is void until
    then."""
    end: End | None = None
    """End of the reservation; None while it has a token or a ticket."""

    @property
    def is_over(self) -> bool:
        """True if the reservation has ended."""
        return self.token is None and self.ticket is None
