"""What a replay knows at an instant, and the small moves that change it."""

from collections import deque
from collections.abc import Iterable

from controllers.resources.invariants.replay_records import (
    LeafState,
    OwnerState,
    RequestState,
    TokenState,
)
from controllers.resources.tokens import TokenId
from controllers.resources.words import OutcomeKind, Refusal
from models.resource_node import ResourceKind


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
