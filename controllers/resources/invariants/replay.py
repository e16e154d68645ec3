"""The state of the reservations, rebuilt from their trace and nothing else.

Events are taken as they come, right or wrong: what may not be is the judges' matter.
So nothing here raises; what is not known is made up as plainly as possible.
"""

from collections import deque
from collections.abc import Iterable

from controllers.resources import trace as t
from controllers.resources.invariants.replay_records import (
    LeafState,
    OwnerState,
    RequestState,
    SeatState,
    TokenState,
)
from controllers.resources.tokens import TokenId
from controllers.resources.words import Loss, Mode, OutcomeKind, Preemption, Refusal
from models.resource_node import DeviceKind, ResourceKind


class Replay:
    """Who holds, who waits, what is frozen and active, after each event."""

    def __init__(self) -> None:
        """Begin before the first event."""
        self.tick = 0
        self.epoch = 0
        self.last_token = TokenId(0, 0)
        self._forget()

    def _forget(self) -> None:
        self.by_priority = False
        self.call = 0
        """Number of calls that have settled."""
        self.leaves: dict[str, LeafState] = {}
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
        self._ended: deque[RequestState] = deque()
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

    # -- events -----------------------------------------------------------------------

    def apply(self, event: t.Event) -> None:  # noqa: PLR0912  one case an event
        """Let an event change the state."""
        self.tick = event.tick
        match event:
            case t.Settled():
                self.call += 1
                self.touched.clear()
                while self._ended and self._ended[0].outcome_tick < self.tick:
                    self.requests.pop(self._ended.popleft().number, None)
            case t.Requested():
                self._requested(event)
            case t.Granted():
                self._granted(event)
            case t.Failed():
                why = "I-7" if event.kind is OutcomeKind.TIMED_OUT else "I-8"
                self._end_request(event.request, event.kind, why)
            case t.Released():
                self._alive(event.owner)
                self._unseat(event.token, event.leaves, Refusal.RELEASED)
            case t.Revoked():
                self._unseat(event.token, event.lost, Refusal.REVOKED)
                self._unseat(event.token, event.freed, Refusal.REVOKED, "I-18")
            case t.Expired():
                self._unseat(event.token, event.leaves, Refusal.EXPIRED)
            case t.Renewed():
                self._alive(event.owner)
            case t.Crashed():
                for owner in self.owner(event.owner).family():
                    owner.is_gone = True
            case t.Frozen():
                for leaf in map(self.leaf, event.leaves):
                    leaf.freezes[event.by] = event.is_total
                    self.touched[leaf] = "I-22"
            case t.Thawed():
                for leaf in map(self.leaf, event.leaves):
                    leaf.freezes.pop(event.by, None)
                    self.touched[leaf] = "I-22"
            case t.StateChanged():
                self.active[event.group] = event.active
                self._touch(self.children.get(event.group, ()))
            case t.OwnerAdded():
                self._owner_added(event)
            case t.ResourceAdded():
                self._resource_added(event)
            case t.ResourceRemoved():
                self.leaves.pop(event.name, None)
                for siblings in self.children.values():
                    if event.name in siblings:
                        siblings.remove(event.name)
            case t.Opened():
                self._forget()
                self.epoch = event.epoch
                self.by_priority = event.preemption == Preemption.BY_PRIORITY
            case _:
                pass  # notices and commands change no reservation

    def _requested(self, event: t.Requested) -> None:
        owner = self.owner(event.owner)
        request = RequestState(event, owner, self.call)
        self.requests[event.request] = request
        self.last_request = max(self.last_request, event.request)
        if event.resumes is None:
            self._alive(event.owner)
        owner.waiting[event.request] = request
        self._tangle(owner)
        for name in event.shares:
            self.leaf(name).join(request.key)
        self._touch(event.shares)
        if not event.shares:
            self.unqueued[event.request] = request
            self._touch(name for unit in event.optional.values() for name in unit)
        if event.add_to is not None:
            self.adding.setdefault(event.add_to, {})[event.request] = request

    def _end_request(self, number: int, kind: OutcomeKind, why: str) -> None:
        request = self.requests.get(number)
        if request is None or request.outcome is not None:
            return
        request.outcome, request.outcome_tick = kind, self.tick
        self._ended.append(request)
        owner, asked = request.owner, request.asked
        owner.waiting.pop(number, None)
        self._tangle(owner)
        self.unqueued.pop(number, None)
        for name in asked.shares:
            self.leaf(name).leave(request.key)
        self._touch(asked.shares, why)
        if asked.add_to is not None:
            adding = self.adding.get(asked.add_to, {})
            adding.pop(number, None)
            if not adding:
                self.adding.pop(asked.add_to, None)

    def _granted(self, event: t.Granted) -> None:
        request = self.requests.get(event.request)
        self._end_request(event.request, OutcomeKind.GRANTED, "I-8")
        owner = self.owner(event.owner)
        token = self.tokens.get(event.token)
        if token is None:
            asked = request.asked if request else None
            token = self.tokens[event.token] = TokenState(
                id=event.token,
                owner=owner,
                mode=asked.mode if asked else Mode.USE,
                priority=asked.priority if asked else 0,
                loss=asked.loss if asked else Loss.WHOLE,
                keeps_ties=asked.keeps_ties if asked else True,
                arrival=asked.arrival if asked else event.request,
            )
            self.last_token = max(self.last_token, event.token)
        owner.tokens[token.id] = token
        self._tangle(owner)
        for name, share in event.shares.items():
            leaf = self.leaf(name)
            if name in token.seats:
                leaf.unseat(token.seats[name])
            seat = SeatState(token, leaf, share, event.inside.get(name))
            token.seats[name] = seat
            leaf.seat(seat)
        self._touch(event.shares)

    def _unseat(
        self, token: TokenId, names: Iterable[str], ended: Refusal, why: str = "I-8"
    ) -> None:
        held = self.live(token)
        if held is None:
            return
        for name in names:
            seat = held.seats.pop(name, None)
            if seat is not None:
                seat.leaf.unseat(seat)
                self.touched[seat.leaf] = why
        if not held.seats:
            held.ended = ended
            held.owner.tokens.pop(token, None)
            self._tangle(held.owner)

    def _owner_added(self, event: t.OwnerAdded) -> None:
        parent = None if event.parent is None else self.owner(event.parent)
        known = self.owners.get(event.owner)
        if known is None or known.parent is not parent:
            if known is not None and known.parent is not None:
                known.parent.children.remove(known)  # forgotten, and back elsewhere
            added = self.owners[event.owner] = OwnerState(event.owner, parent)
            if parent is not None:
                parent.children.append(added)
        self.owners[event.owner].time_to_live_ticks = event.time_to_live_ticks
        self._alive(event.owner)

    def _resource_added(self, event: t.ResourceAdded) -> None:
        if event.parent is not None:
            self.leaves.pop(event.parent, None)  # it is a composite from now on
            siblings = self.children.setdefault(event.parent, [])
            if event.name not in siblings:  # it may be a composite without parts
                siblings.append(event.name)
        if event.kind is not None:
            is_motor = event.device is DeviceKind.MOTOR
            leaf = LeafState(event.name, event.kind, event.parent, is_motor)
            self.leaves[event.name] = leaf

    def _alive(self, name: str) -> None:
        owner = self.owner(name)
        owner.last_life, owner.is_gone = self.tick, False

    def _tangle(self, owner: OwnerState) -> None:
        if owner.tokens and owner.waiting:
            self.entangled[owner] = None
        else:
            self.entangled.pop(owner, None)

    def _touch(self, names: Iterable[str], why: str = "I-8") -> None:
        for name in names:
            leaf = self.leaf(name)
            if why != "I-8" or leaf not in self.touched:
                self.touched[leaf] = why
