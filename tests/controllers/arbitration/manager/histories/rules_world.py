"""Data of the model: resources, owners, tokens, requests, and timers.

Plain data for the sequential model (`rules_model`): lists and dictionaries; nothing is
cached that can be computed.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from nao_testbed.controllers.arbitration.policies import Answer, ConflictPolicy
from nao_testbed.controllers.arbitration.requests import FULL, Owner
from nao_testbed.controllers.arbitration.tokens import Loss, Refusal, Token
from nao_testbed.models import BadInput
from nao_testbed.models.resources import ResourceKind, ResourceNode

Shares = dict[str, int]
EXCLUSIVE, STATE = ResourceKind.EXCLUSIVE, ResourceKind.STATE
RATED = ResourceKind.CUMULATIVE
TIMEOUT, PROMISE, SILENCE, RETRY = range(4)
"""Order of timers in a tick: a timeout precedes the end of a promise."""


@dataclass(eq=False)
class Party:
    """Owner."""

    defaults: Owner
    parent: "Party | None"
    place: int
    """Order in which owners were added."""
    dies: int | None = None
    """Tick at which it expires unless it calls."""
    is_gone: bool = False

    @property
    def name(self) -> str:
        return self.defaults.name

    def ancestors(self) -> "list[Party]":
        """Return the ancestors, nearest first."""
        return [] if self.parent is None else [self.parent, *self.parent.ancestors()]


class Terms(NamedTuple):
    """Terms of a request and of a hold."""

    priority: int
    loss: Loss
    policy: ConflictPolicy
    wins_ties: bool
    keeps_ties: bool
    timeout_s: float | None


@dataclass(eq=False)
class Held:
    """Token and the leaves that it covers."""

    token: Token
    party: Party
    terms: Terms
    arrival: int
    shares: Shares = field(default_factory=dict)
    inside: "dict[str, Held | None]" = field(default_factory=dict)
    """Leaf to the ancestor's token that contains this hold."""
    lent: frozenset[str] = frozenset()
    """Leaves lent until they are recalled."""
    ended: Refusal | None = None
    is_asked: bool = False

    def some_of(self, leaves: Iterable[str]) -> list[str]:
        return [leaf for leaf in leaves if leaf in self.shares]


@dataclass(eq=False)
class Wait:
    """Waiting request."""

    number: int
    party: Party
    shares: Shares
    optional: dict[str, Shares]
    terms: Terms
    arrival: int
    add_to: Held | None
    resumes: bool = False
    """True for a paused holder's request."""
    recalls: bool = False
    """True for the recall of what `add_to` has lent."""
    lent: frozenset[str] = frozenset()
    """Lent leaves of the paused holder."""
    firm_at: int = 0
    """Tick from which requests of equal priority cannot overtake it."""
    deadline: int | None = None
    promise: dict[Held, Answer] | None = None
    due: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Timer kind to tick and order of creation."""

    @property
    def key(self) -> tuple[int, int, int]:
        """Return the place in the queue: by priority, then first come (RM-17)."""
        return (-self.terms.priority, self.arrival, self.number)


class RulesWorld:
    """Resources, owners, holds, waiting requests and time."""

    def __init__(self, root: ResourceNode) -> None:
        self.tick = self.tickets = self.made = 0
        self.parents: dict[str, str | None] = {}
        self.kinds: dict[str, ResourceKind | None] = {}
        """None: a composite."""
        self.seats: dict[str, list[Held]] = {}
        """Leaf to its holders, in order of their grants."""
        self.freezes: dict[str, dict[str, bool]] = {}
        """Leaf to virtual owner to whether the freeze is total."""
        self.active: dict[str, str | None] = {}
        self.parties: dict[str, Party] = {}
        self.live: list[Held] = []
        self.dead: list[Held] = []
        self.waits: list[Wait] = []
        self._grow(root, None)

    # -- resources --------------------------------------------------------------------

    def _grow(self, node: ResourceNode, parent: str | None) -> None:
        self.add_leaf(node.name, parent, None if node.children else node.kind)
        for child in node.children:
            self._grow(child, node.name)

    def add_leaf(
        self, name: str, parent: str | None, kind: ResourceKind | None
    ) -> None:
        self.parents[name], self.kinds[name] = parent, kind
        if kind is STATE:
            self.active.setdefault(str(parent), None)
        if kind is not None:
            self.seats[name], self.freezes[name] = [], {}

    def leaves(self, *names: str) -> list[str]:
        """Return the leaves at or below some names, sorted (RM-5)."""
        found: set[str] = set()
        for name in names:
            if name not in self.kinds:
                raise BadInput(f"there is no {name}")
            below = [child for child, above in self.parents.items() if above == name]
            found |= set(self.leaves(*below)) if below else {name}
        return sorted(found)

    def wanted(self, name: str) -> Shares:
        """Return the shares of a name: of a composite, its exclusive leaves."""
        if self.kinds.get(name) is STATE:
            return {name: 0}
        found = [leaf for leaf in self.leaves(name) if self.kinds[leaf] is EXCLUSIVE]
        if not found:
            raise BadInput(f"{name} is not to be had as a whole")
        return dict.fromkeys(found, FULL)

    def is_frozen(self, leaf: str) -> bool:
        return any(self.freezes[leaf].values())

    def active_of(self, state: str) -> str | None:
        """Return the active state of a state's group."""
        return self.active[str(self.parents[state])]

    def is_open(self, leaf: str) -> bool:
        is_inactive = self.kinds[leaf] is STATE and self.active_of(leaf) != leaf
        return not (self.is_frozen(leaf) or is_inactive)

    # -- owners -----------------------------------------------------------------------

    def party(self, name: str) -> Party:
        if name not in self.parties:
            raise BadInput(f"there is no {name}")
        return self.parties[name]

    def see(self, party: Party) -> None:
        """Record a sign of life."""
        lives_s = party.defaults.time_to_live_s
        party.is_gone = False
        party.dies = None
        if lives_s is not None:
            party.dies = self.tick + max(1, math.ceil(lives_s))

    # -- time -------------------------------------------------------------------------

    def queue(self) -> list[Wait]:
        return sorted(self.waits, key=lambda wait: wait.key)

    def set_due(self, wait: Wait, kind: int, tick: int) -> None:
        self.made += 1
        wait.due[kind] = (tick, self.made)

    def next_due(self, before: int) -> tuple[int, int, int, Wait | Party] | None:
        """Return tick, kind, order and subject of the first timer that is due."""
        due: list[tuple[int, int, int, Wait | Party]] = [
            (tick, kind, made, wait)
            for wait in self.waits
            for kind, (tick, made) in wait.due.items()
        ]
        for party in self.parties.values():
            if party.dies is not None:
                due.append((party.dies, SILENCE, party.place, party))
        first = min(due, key=lambda one: one[:3], default=None)
        return first if first is not None and first[0] < before else None
