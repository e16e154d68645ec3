"""What an owner asks for, and how that ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from controllers.resources.names import check_name, check_names, is_name
from controllers.resources.owner import check_priority, check_timeout
from controllers.resources.policies import ConflictPolicy, as_policy
from controllers.resources.read_only import ReadOnly
from controllers.resources.tokens import Token
from controllers.resources.words import (
    AskerTie,
    HolderTie,
    Loss,
    OutcomeKind,
    Why,
    word,
)
from models import BadInput
from models.real_numbers import as_number, short

FULL = 10_000
"""100 % in the whole numbers that rates are counted in: 1/100 %."""

NO_RATES: Mapping[str, float] = ReadOnly()
_WORDS: Mapping[str, type[StrEnum]] = {
    "loss": Loss,
    "asker_tie": AskerTie,
    "holder_tie": HolderTie,
}


@dataclass(frozen=True, kw_only=True)
class Request:
    """A set of resources, wanted together (RM-22).

    The order of the names is of no importance (RM-24). None takes the owner's habit.
    """

    owner: str
    resources: tuple[str, ...] = ()
    """Leaves and composites without which the owner does not run (RM-47)."""
    optional: tuple[str, ...] = ()
    """Those it takes if they are free when it is granted, else goes without (RM-48)."""
    rates: Mapping[str, float] = field(default_factory=lambda: NO_RATES)
    """Cumulative resource to rate in percent, two decimals (RM-56); all essential."""
    priority: int | None = None
    timeout_s: float | None = None
    """0 tries once; None takes the owner's limit."""
    loss: Loss = Loss.WHOLE
    policy: ConflictPolicy | None = None
    asker_tie: AskerTie | None = None
    holder_tie: HolderTie | None = None
    add_to: Token | None = None
    """Enlarge this token of the owner's instead of making a new one (AR-23)."""

    def __post_init__(self) -> None:
        """Refuse what no manager could grant; what is as it should be stays as it is.

        Raises:
            BadInput: nothing is asked for, a text is given for several names, a name
                comes twice, a rate, a priority or a time limit is out of range, the
                policy is none.
            UnknownName: a word, or the policy's name, is none of its kind.
        """
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
        if self.timeout_s is not None:
            object.__setattr__(self, "timeout_s", check_timeout(self.timeout_s))
        if self.add_to is not None and type(self.add_to) is not Token:
            what = type(self.add_to).__name__  # its value may be a secret
            raise BadInput(
                f"{self.owner} would add to a {what}; give the Token of a grant."
            )

    def _check_words(self) -> None:
        """Keep words as what they mean."""
        for what, kind in _WORDS.items():
            value = getattr(self, what)
            if value is not None:
                object.__setattr__(self, what, word(kind, value, what))

    def _check_resources(self) -> None:
        """Keep what is asked for as nobody changes it; see that it makes sense."""
        for what in ("resources", "optional"):
            object.__setattr__(self, what, check_names(getattr(self, what), what))
        if self.rates is not NO_RATES:
            rates = ReadOnly(checked_rates(self.rates))  # tickets and outcomes
            object.__setattr__(self, "rates", rates)  # show the request to everybody
        names = (*self.resources, *self.optional, *self.rates)
        if not names:
            raise BadInput(
                f"{self.owner} asks for nothing; name at least one resource."
            )
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise BadInput(f"{self.owner} names {twice!r} twice in one request.")


def checked_rates(rates: Mapping[str, float]) -> dict[str, float]:
    """Return rates as a copy that nobody else changes.

    Raises:
        BadInput: they are no dictionary, or one is no rate (see `rate_of`).
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
        BadInput: it is no number from 0.01 to 100 %, or is finer than 0.01 %.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Blocker:
    """Why a resource could not be had."""

    resource: str
    owners: tuple[str, ...]
    """Holders, virtual owners or earlier waiters; none for an inactive state."""


class Outcome(NamedTuple):
    """How a request ended; a tuple, since one is made for each of many requests."""

    kind: OutcomeKind
    tick: int
    token: Token | None = None
    """Of a grant."""
    obtained: tuple[str, ...] = ()
    """Leaves that the token covers by this grant, sorted."""
    missing: tuple[str, ...] = ()
    """Optional names that were not free (AR-16); of a failure only if there were no
    others."""
    why: Why | None = None
    """Of a failure."""
    blockers: tuple[Blocker, ...] = ()
    """Of a failure: who was in the way at the end."""

    @property
    def is_granted(self) -> bool:
        """Whether the owner may go on."""
        return self.kind is OutcomeKind.GRANTED
