"""What the rules speak of: resources, owners, tokens, requests, and what is due when.

Plain data for the sequential model (`rules_model`): lists and dictionaries, nothing
kept that could be found by looking.
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
"""What is due in a tick, in this order: a wait ends before a promise to it is kept."""


@dataclass(eq=False)
class Party:
    """An owner."""

    defaults: Owner
    parent: "Party | None"
    place: int
    """In the order in which owners came to be known."""
    dies: int | None = None
    """Tick at which it counts as gone if it stays silent."""
    is_gone: bool = False

    @property
    def name(self) -> str:
        return self.defaults.name

    def ancestors(self) -> "list[Party]":
        """Return them, the nearest first."""
        return [] if self.parent is None else [self.parent, *self.parent.ancestors()]


class Terms(NamedTuple):
    """On which something is asked for and held."""

    priority: int
    loss: Loss
    policy: ConflictPolicy
    wins_ties: bool
    keeps_ties: bool
    timeout_s: float | None


@dataclass(eq=False)
class Held:
    """A token and what it covers."""

    token: Token
    party: Party
    terms: Terms
    arrival: int
    shares: Shares = field(default_factory=dict)
    inside: "dict[str, Held | None]" = field(default_factory=dict)
    """Leaf to the ancestor's token out of which it has that."""
    lent: frozenset[str] = frozenset()
    """What it gave back only until it recalls that."""
    ended: Refusal | None = None
    is_asked: bool = False

    def some_of(self, leaves: Iterable[str]) -> list[str]:
        return [leaf for leaf in leaves if leaf in self.shares]


@dataclass(eq=False)
class Wait:
    """A request on its way."""

    number: int
    party: Party
    shares: Shares
    optional: dict[str, Shares]
    terms: Terms
    arrival: int
    add_to: Held | None
    resumes: bool = False
    """Whether it is of a holder that paused."""
    recalls: bool = False
    """Whether it takes back what `add_to` has lent."""
    lent: frozenset[str] = frozenset()
    """Of one that resumes: what it had lent."""
    firm_at: int = 0
    """Tick from which no equal passes it."""
    deadline: int | None = None
    promise: dict[Held, Answer] | None = None
    due: dict[int, tuple[int, int]] = field(default_factory=dict)
    """What is due for it, to tick and order of making."""

    @property
    def key(self) -> tuple[int, int, int]:
        """Place among the waiting: by priority, then first come (RM-17)."""
        return (-self.terms.priority, self.arrival, self.number)


class RulesWorld:
    """Resources, owners and time; who holds and who waits."""

    def __init__(self, root: ResourceNode) -> None:
        self.tick = self.tickets = self.made = 0
        self.parents: dict[str, str | None] = {}
        self.kinds: dict[str, ResourceKind | None] = {}
        """None: a composite."""
        self.seats: dict[str, list[Held]] = {}
        """Leaf to who has it, in the order of their grants."""
        self.freezes: dict[str, dict[str, bool]] = {}
        """Leaf to virtual owner to whether it has all of it."""
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
        """Return what a name asks for: of a composite what is exclusive."""
        if self.kinds.get(name) is STATE:
            return {name: 0}
        found = [leaf for leaf in self.leaves(name) if self.kinds[leaf] is EXCLUSIVE]
        if not found:
            raise BadInput(f"{name} is not to be had as a whole")
        return dict.fromkeys(found, FULL)

    def is_frozen(self, leaf: str) -> bool:
        return any(self.freezes[leaf].values())

    def active_of(self, state: str) -> str | None:
        """Return the active state of a state's set."""
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
        """Note a sign of life."""
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
        """Return tick, kind and order of what is due first, and for whom."""
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
