"""What a replay knows at an instant: leaves, owners, tokens, requests.

Built from events alone and by other rules of storage than the ledger's own records, so
that a mistake there is not repeated here.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from heapq import heappush
from typing import TypeVar

from nao_testbed.controllers.arbitration.events import Event, Requested, Revoked
from nao_testbed.controllers.arbitration.policies import AnswerKind
from nao_testbed.controllers.arbitration.tokens import (
    Loss,
    OutcomeKind,
    Refusal,
    Right,
    TokenId,
)
from nao_testbed.models.resources import ResourceKind

E = TypeVar("E", bound=Event)
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

    @property
    def due_tick(self) -> int | None:
        """When its silence is too long; None: it is trusted for ever."""
        limit = self.time_to_live_ticks
        return None if limit is None else self.last_life + max(1, limit)

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
    promises: dict[int, "Promise"] = field(default_factory=dict)
    """Number of a request to what is to be given up for it."""

    def lends(self, leaves: Collection[str]) -> bool:
        """Whether it gives these back only for a time: it does not end with them."""
        return bool(leaves) and self.lent.issuperset(leaves)


@dataclass(slots=True, eq=False)
class Promise:
    """A token was asked to give way for a request, until a tick."""

    owner: str
    until: int
    asked: frozenset[str]
    kept: set[str]
    """Leaves of these that it has not lost since."""


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
    outcome_call: int = 0
    answers: dict[TokenId, AnswerKind] = field(default_factory=dict)
    """What the holders in its way said last."""
    promised_by: dict[TokenId, None] = field(default_factory=dict)
    """Tokens that were asked to give way for it by a tick."""

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


@dataclass(slots=True, eq=False)
class CallNotes:
    """What happened since the last call was done, for what is judged at its end."""

    said: dict[type[Event], list[Event]] = field(default_factory=dict)
    """The events by their kind, in their order."""
    untold: dict[TokenId, Revoked] = field(default_factory=dict)
    """Token to its loss, of which its owner does not know yet."""
    lost: dict[TokenId, tuple[Revoked, dict[str, int]]] = field(default_factory=dict)
    """Paused token to its loss and the shares that it lost."""
    pauses: dict[int, tuple[Revoked, dict[str, int]]] = field(default_factory=dict)
    """The same, by the number of the request that is to resume."""
    answers: dict[TokenId, AnswerKind] = field(default_factory=dict)
    """What holders said to a wish for another state."""
    gave_up_state: list[Revoked] = field(default_factory=list)
    """Losses for a state that is not left yet."""
    outer: list[tuple[Revoked, str, TokenId | None]] = field(default_factory=list)
    """Losses inside of a reservation that goes: leaf, and whose it was."""
    siblings: list[tuple[Requested, SeatState]] = field(default_factory=list)
    """Who asks inside of an ancestor's reservation, and who is in the way there."""
    met: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    """Request for which holders give way, to whom it met before they did."""
    crashed: set[OwnerState] = field(default_factory=set)
    """Owners that are gone."""
    ending: list[TokenState] = field(default_factory=list)
    cancelled: list[RequestState] = field(default_factory=list)
    """What they had and waited for then."""

    def all(self, kind: type[E]) -> list[E]:
        """Return the events of a kind."""
        return self.said.get(kind, [])  # type: ignore[return-value]  # by its kind


class ReplayState:
    """Who holds, who waits, what is frozen and active."""

    def __init__(self) -> None:
        """Begin before the first event."""
        self.tick = 0
        """Of the last event that took effect."""
        self.now = 0
        """Of the event that is judged."""
        self.epoch = 0
        self.last_token = TokenId(0, 0)
        self.forget()

    def forget(self) -> None:
        """Begin an epoch: all that was held and awaited is void."""
        self.by_priority = False
        self.overtake_ticks = 0
        self.call = 0
        """Number of calls that have settled."""
        self.notes = CallNotes()
        """Of the call that has not."""
        self.due_requests: list[tuple[int, int]] = []
        """Heap of limits: tick and number of a request."""
        self.due_promises: list[tuple[int, tuple[int, TokenId]]] = []
        """Heap of promises: tick, request and token."""
        self.due_lives: list[tuple[int, str]] = []
        """Heap of silences that are too long: tick and owner."""
        self.written_tick = -1
        """Of the gate's last write."""
        self.leaves: dict[str, LeafState] = {}
        self.limited: dict[str, list[str]] = {}
        """Motor, known or not yet, to the leaves that limit its torque."""
        self.children: dict[str, list[str]] = {}
        """Composite to what is directly below it."""
        self.active: dict[str, str | None] = {}
        """Set of states to the active one."""
        self.owners: dict[str, OwnerState] = {}
        self.tokens: dict[TokenId, TokenState] = {}
        self.requests: dict[int, RequestState] = {}
        """Those that wait, and those that ended in this tick, by number."""
        self.last_request = 0
        """Highest number of a request."""
        self.ended: deque[RequestState] = deque()
        self.unqueued: dict[int, RequestState] = {}
        """Those waiting that need no leaf: all of theirs are optional."""
        self.adding: dict[TokenId, dict[int, RequestState]] = {}
        """Token to the waiting requests that would add to it."""
        self.entangled: dict[OwnerState, None] = {}
        """Owners that both hold and wait."""
        self.touched: dict[LeafState, str] = {}
        """Leaves on which somebody may be next since the last `Settled`, and the
        invariant that speaks of such a case."""

    def owner(self, name: str) -> OwnerState:
        """Return an owner; one that was never announced has no parent."""
        found = self.owners.get(name)
        if found is None:
            found = self.owners[name] = OwnerState(name, last_life=self.tick)
        return found

    def leaf(self, name: str) -> LeafState:
        """Return a leaf; one that was never announced is exclusive."""
        found = self.leaves.get(name)
        if found is None:
            found = LeafState(name, ResourceKind.EXCLUSIVE, None)
            self.leaves[name] = found
        return found

    def live(self, token: TokenId | None) -> TokenState | None:
        """Return a token if it is valid."""
        found = None if token is None else self.tokens.get(token)
        return found if found is not None and found.ended is None else None

    def waiting(self, number: int | None) -> RequestState | None:
        """Return a request if it has no outcome yet."""
        found = None if number is None else self.requests.get(number)
        return found if found is not None and found.outcome is None else None

    def exclusive_leaves(self, name: str) -> set[str]:
        """Return all exclusive leaves at or below a name."""
        if name in self.leaves:
            is_one = self.leaves[name].kind is ResourceKind.EXCLUSIVE
            return {name} if is_one else set()
        below = (self.exclusive_leaves(child) for child in self.children.get(name, ()))
        return set().union(*below)

    # -- moves ------------------------------------------------------------------------

    def end_request(self, number: int, kind: OutcomeKind, why: str) -> None:
        """Note how a request ended."""
        request = self.requests.get(number)
        if request is None or request.outcome is not None:
            return
        request.outcome, request.outcome_tick = kind, self.tick
        request.outcome_call = self.call
        self.ended.append(request)
        owner, asked = request.owner, request.asked
        owner.waiting.pop(number, None)
        self.tangle(owner)
        self.unqueued.pop(number, None)
        for name in asked.shares:
            self.leaf(name).leave(request.key)
        self.touch(asked.shares, why)
        if asked.add_to is not None:
            adding = self.adding.get(asked.add_to, {})
            adding.pop(number, None)
            if not adding:
                self.adding.pop(asked.add_to, None)

    def unseat(
        self,
        token: TokenId,
        names: Iterable[str],
        ended: Refusal,
        why: str = "I-8",
        *,
        lends: bool = False,
    ) -> None:
        """Take leaves from a token, which ends with the last that it does not lend."""
        held = self.live(token)
        if held is None:
            return
        for name in names:
            seat = held.seats.pop(name, None)
            for promise in held.promises.values():
                promise.kept.discard(name)
            if seat is not None:
                seat.leaf.unseat(seat)
                self.touched[seat.leaf] = why
        if not held.seats and not lends:
            held.ended = ended
            held.owner.tokens.pop(token, None)
            self.tangle(held.owner)

    def see_alive(self, name: str) -> None:
        """Note a sign of life."""
        owner = self.owner(name)
        owner.last_life, owner.is_gone = self.tick, False
        if owner.due_tick is not None:
            heappush(self.due_lives, (owner.due_tick, name))

    def tangle(self, owner: OwnerState) -> None:
        """Note whether an owner both holds and waits."""
        if owner.tokens and owner.waiting:
            self.entangled[owner] = None
        else:
            self.entangled.pop(owner, None)

    def touch(self, names: Iterable[str], why: str = "I-8") -> None:
        """Note that somebody may be next on some leaves."""
        for name in names:
            leaf = self.leaf(name)
            if why != "I-8" or leaf not in self.touched:
                self.touched[leaf] = why
