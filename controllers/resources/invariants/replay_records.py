"""What a replay remembers: leaves, owners, tokens, requests.

Built from events alone and by other rules of storage than the ledger's own records, so
that a mistake there is not repeated here.
"""

from bisect import bisect_left, insort
from collections.abc import Collection
from dataclasses import dataclass, field

from controllers.resources.tokens import TokenId
from controllers.resources.trace import Requested
from controllers.resources.words import Loss, OutcomeKind, Refusal, Right
from models.resource_node import ResourceKind

Key = tuple[int, int, int]
"""Place among the waiting: minus the priority, arrival, number of the request."""


@dataclass(slots=True, eq=False)
class OwnerState:
    """An owner, with its ancestors and what it has."""

    name: str
    parent: "OwnerState | None" = None
    time_to_live_ticks: int | None = None
    last_life: int = 0
    """Tick of its last sign of life."""
    is_gone: bool = False
    is_entrusted: bool = False
    """Whether it may shift and limit what no holder forbids."""
    line: dict["OwnerState", int] = field(default_factory=dict)
    """Itself and its ancestors, with their distance: 0, 1, 2..."""
    children: list["OwnerState"] = field(default_factory=list)
    tokens: dict[TokenId, "TokenState"] = field(default_factory=dict)
    """Those that are valid."""
    waiting: dict[int, "RequestState"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the ancestors."""
        above = self.parent.line if self.parent else {}
        self.line = {self: 0} | {owner: far + 1 for owner, far in above.items()}

    def family(self) -> "list[OwnerState]":
        """Return it and all its descendants."""
        found = [self]
        for owner in found:
            found.extend(owner.children)
        return found


@dataclass(slots=True, eq=False)
class TokenState:
    """A token and the seats that it covers."""

    id: TokenId
    owner: OwnerState
    priority: int
    loss: Loss
    keeps_ties: bool
    arrival: int
    seats: dict[str, "SeatState"] = field(default_factory=dict)
    """By leaf."""
    implied: set[str] = field(default_factory=set)
    """Motors that came with their torque limits."""
    lent: set[str] = field(default_factory=set)
    """Leaves that it gave back only until it recalls them."""
    allows: dict[tuple[str, Right], bool] = field(default_factory=dict)
    """Owner and right to whether it may use that on these motors."""
    ended: Refusal | None = None
    """Why commands with it are refused; None while it is valid."""

    def lends(self, leaves: Collection[str]) -> bool:
        """Whether it gives these back only for a time: it does not end with them."""
        return bool(leaves) and self.lent.issuperset(leaves)


@dataclass(slots=True, eq=False)
class SeatState:
    """A token's place on a leaf."""

    token: TokenState
    leaf: "LeafState"
    share: int
    inside: TokenId | None
    """The ancestor's reservation that it is inside of."""
    used: int = 0
    """Shares that come out of this one, in 1/100 %."""

    @property
    def owner(self) -> OwnerState:
        """Whose it is."""
        return self.token.owner


@dataclass(slots=True, eq=False)
class LeafState:
    """A leaf: who sits on it, who waits for it, which virtual owners have it."""

    name: str
    kind: ResourceKind
    parent: str | None
    is_motor: bool = False
    """Whether it commands set-points of joints, which must be left safe."""
    limits: tuple[str, ...] = ()
    """Motors whose torque it limits."""
    limited_by: list[str] = field(default_factory=list)
    """Of a motor: the leaves that limit its torque."""
    seats: list[SeatState] = field(default_factory=list)
    """In the order of their grants: on an exclusive leaf a stack."""
    used: int = 0
    """Shares that come out of the whole, in 1/100 %."""
    freezes: dict[str, bool] = field(default_factory=dict)
    """Virtual owner to whether it has the leaf whole."""
    queue: list[Key] = field(default_factory=list)
    """Those that wait and need it, first the next one."""

    @property
    def is_frozen(self) -> bool:
        """Whether a virtual owner has it whole."""
        return any(self.freezes.values())

    @property
    def has_scopes(self) -> bool:
        """Whether who has it may have descendants that wait inside."""
        return any(seat.owner.children for seat in self.seats)

    def is_lent(self, token: TokenId) -> bool:
        """Whether somebody is inside of a token's seat, if one at a time has it."""
        return self.kind is ResourceKind.EXCLUSIVE and self.seats[-1].token.id != token

    def seat_of(self, token: TokenId | None) -> SeatState | None:
        """Return the seat of a token."""
        if token is None:
            return None
        return next((seat for seat in self.seats if seat.token.id == token), None)

    def seat(self, seat: SeatState) -> None:
        """Let somebody have it, or a share of it."""
        self.seats.append(seat)
        self._account(seat, seat.share)

    def unseat(self, seat: SeatState) -> None:
        """Let somebody leave."""
        self.seats.remove(seat)
        self._account(seat, -seat.share)

    def join(self, key: Key) -> None:
        """Let a request wait at its place."""
        insort(self.queue, key)

    def leave(self, key: Key) -> None:
        """Take a request out of the queue."""
        place = bisect_left(self.queue, key)
        if self.queue[place : place + 1] == [key]:
            del self.queue[place]

    def _account(self, seat: SeatState, share: int) -> None:
        outer = self.seat_of(seat.inside)
        if outer is None:
            self.used += share
        else:
            outer.used += share


@dataclass(slots=True, eq=False)
class RequestState:
    """A request, from its call to its outcome."""

    asked: Requested
    owner: OwnerState
    call: int
    """Which call, counted by `Settled`, it came in."""
    firm_at: int
    """Tick from which no equal may pass it."""
    outcome: OutcomeKind | None = None
    outcome_tick: int = 0

    @property
    def number(self) -> int:
        """Its number."""
        return self.asked.request

    @property
    def key(self) -> Key:
        """Its place among the waiting: by priority, then arrival."""
        return (-self.asked.priority, self.asked.arrival, self.asked.request)

    @property
    def due_tick(self) -> int | None:
        """When it times out at the latest; None: a pause without limit."""
        limit = self.asked.timeout_ticks
        return None if limit is None else self.asked.tick + limit
