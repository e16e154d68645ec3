"""Who holds what and who waits, kept as plain lists and asked by scanning them.

The state of the sequential model: no index, no heap, no cache, so that each question
reads as the sentence that it answers. Slow on purpose; nothing of the ledger is used
but the words that both speak.
"""

from collections.abc import Iterator

from controllers.arbitration.requests import FULL, Owner
from controllers.arbitration.tokens import Refusal, Token
from models.resources import ResourceKind, ResourceNode
from tests.controllers.arbitration.manager.model.sequential.records import (
    EPOCH,
    Freeze,
    Held,
    Regret,
    Seat,
    Wait,
)


class World:
    """Everything there is, and the questions that semantics asks of it."""

    def __init__(self, root: ResourceNode) -> None:
        self.kinds: dict[str, ResourceKind | None] = {}
        self.devices: set[str] = set()
        """Leaves that command a part of the robot."""
        self.parents: dict[str, str | None] = {}
        self._grow(root, None)
        self.now = 0
        self.owners: dict[str, Owner] = {}
        self.signs: dict[str, int] = {}
        """Owner that is not gone to the tick of its last sign of life."""
        self.tokens: list[Held] = []
        self.dead: list[Held] = []
        """Ended ones with a record, the first to end first."""
        self.seats: list[Seat] = []
        """In the order of granting, which on a leaf is from bottom to top."""
        self.waits: list[Wait] = []
        self.freezes: list[Freeze] = []
        self.virtual: set[str] = set()
        """Names of virtual owners, past ones too."""
        self.active: dict[str, str | None] = {}
        self.regrets: list[Regret] = []

    def _grow(self, node: ResourceNode, parent: str | None) -> None:
        self.kinds[node.name] = None if node.children else node.kind
        self.parents[node.name] = parent
        if node.device is not None:
            self.devices.add(node.name)
        for child in node.children:
            self._grow(child, node.name)

    # Resources

    def below(self, name: str) -> Iterator[str]:
        """Yield the leaves at or below a name, of every kind."""
        if self.kinds[name] is not None:
            yield name
        for child, parent in self.parents.items():
            if parent == name:
                yield from self.below(child)

    def exclusive_below(self, name: str) -> list[str]:
        kind = ResourceKind.EXCLUSIVE
        return sorted(leaf for leaf in self.below(name) if self.kinds[leaf] is kind)

    def states_of(self, group: str) -> list[str]:
        return [
            name
            for name, parent in self.parents.items()
            if parent == group and self.kinds[name] is ResourceKind.STATE
        ]

    def is_active(self, state: str) -> bool:
        return self.active.get(self.parents[state] or "") == state

    def is_frozen(self, leaf: str) -> bool:
        return any(freeze.leaf == leaf and freeze.is_total for freeze in self.freezes)

    def cap(self, leaf: str) -> float:
        caps = [f.cap for f in self.freezes if f.leaf == leaf and f.cap is not None]
        return min(caps, default=1.0)

    # Owners

    def line(self, owner: str) -> list[str]:
        """Return an owner and its ancestors, nearest first."""
        parent = self.owners[owner].parent
        return [owner] + (self.line(parent) if parent else [])

    def descent(self, owner: str) -> list[str]:
        """Return its descendants, each after its own, and itself last."""
        children = [name for name in self.owners if self.owners[name].parent == owner]
        return [name for child in children for name in self.descent(child)] + [owner]

    # Seats

    def on(self, leaf: str) -> list[Seat]:
        return [seat for seat in self.seats if seat.leaf == leaf]

    def of(self, held: Held) -> list[Seat]:
        return [seat for seat in self.seats if seat.held is held]

    def scope(self, leaf: str, owner: str) -> Seat | None:
        """Return the seat in which an owner's request on a leaf is decided: one of an
        ancestor."""
        line = self.line(owner)
        mine = [seat for seat in self.on(leaf) if seat.held.owner in line[1:]]
        if self.kinds[leaf] is ResourceKind.EXCLUSIVE:
            return mine[-1] if mine else None
        if self.kinds[leaf] is ResourceKind.CUMULATIVE:
            return min(mine, key=lambda s: line.index(s.held.owner), default=None)
        return None

    def direct(self, leaf: str, scope: Seat | None) -> list[Seat]:
        """Return the shares that are taken right out of a scope, first to give way
        first."""
        latest_first = self.on(leaf)[::-1]
        seats = [seat for seat in latest_first if seat.inside is scope]
        return sorted(seats, key=lambda seat: seat.held.priority)

    def whole(self, seat: Seat) -> list[Seat]:
        """Return a share with all that is inside of it, deepest first."""
        inner = [s for part in self.direct(seat.leaf, seat) for s in self.whole(part)]
        return [*inner, seat]

    def free(self, leaf: str, scope: Seat | None) -> int:
        size = scope.share if scope else FULL
        return size - sum(seat.share for seat in self.direct(leaf, scope))

    def above(self, seat: Seat) -> list[Seat]:
        """Return what ends when a seat goes, top or deepest first."""
        if self.kinds[seat.leaf] is ResourceKind.CUMULATIVE:
            return self.whole(seat)[:-1]
        if self.kinds[seat.leaf] is ResourceKind.STATE:
            return []
        stack = self.on(seat.leaf)
        return stack[::-1][: len(stack) - 1 - stack.index(seat)]

    def is_lent(self, seat: Seat) -> bool:
        """Whether a descendant has the leaf meanwhile, of which there is one."""
        return self.kinds[seat.leaf] is ResourceKind.EXCLUSIVE and bool(
            self.above(seat)
        )

    def blockers(self, leaf: str, owner: str, share: int) -> list[Seat]:
        """Return the seats in the way of an owner, first to be asked first."""
        scope = self.scope(leaf, owner)
        if self.kinds[leaf] is ResourceKind.EXCLUSIVE:
            stack = self.on(leaf)
            return stack[stack.index(scope) + 1 :][::-1] if scope else stack[::-1]
        if self.kinds[leaf] is ResourceKind.CUMULATIVE:
            if self.free(leaf, scope) >= share:
                return []
            return [s for top in self.direct(leaf, scope) for s in self.whole(top)]
        if self.is_active(leaf):
            return []
        active = self.active.get(self.parents[leaf] or "")
        return self.on(active) if active else []

    # The queue

    def queue(self) -> list[Wait]:
        return sorted(self.waits, key=lambda wait: wait.place)

    def ahead(self, wait: Wait, leaf: str) -> list[Wait]:
        """Return the waiting requests that a request may not overtake on a leaf."""
        return [
            other
            for other in self.earlier(wait, leaf)
            if other.firm_at <= self.now or other.priority > wait.priority
        ]

    def earlier(self, wait: Wait, leaf: str) -> list[Wait]:
        """Return those that come before a request and compete with it on a leaf."""
        if self.kinds[leaf] is ResourceKind.STATE:
            return []
        scope = self.scope(leaf, wait.owner)
        return [
            other
            for other in self.queue()
            if other.place < wait.place
            and leaf in other.shares
            and self.scope(leaf, other.owner) is scope
        ]

    def is_open(self, leaf: str) -> bool:
        if self.is_frozen(leaf):
            return False
        return self.kinds[leaf] is not ResourceKind.STATE or self.is_active(leaf)

    def token_of(self, token: Token) -> Held | Refusal:
        """Return the living reservation of a token, or why there is none."""
        if token.epoch != EPOCH:
            return Refusal.WRONG_EPOCH
        for held in self.tokens:
            if held.token == token:
                if held.ended is None:
                    return held
                return held.ended if held in self.dead else Refusal.UNKNOWN
        return Refusal.UNKNOWN
