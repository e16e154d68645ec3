"""A small sequential model of the ledger: slow, plain, and never reading back from it.

It has the ledger's calls and predicts the whole trace: every outcome with its tick, who
holds what, the queue, the reasons of the gate and every notice. Where the ledger keeps
indices and heaps, this one looks at everything, every time.
"""

from collections.abc import Iterable

from controllers.arbitration import events
from controllers.arbitration.requests import FULL, Owner, Request, rate_of
from controllers.arbitration.tokens import (
    AskerTie,
    Outcome,
    OutcomeKind,
    Refusal,
    Token,
    Why,
)
from models import BadInput
from models.resources import ResourceKind
from tests.controllers.arbitration.manager.model.sequential.body import BodyCalls
from tests.controllers.arbitration.manager.model.sequential.records import Held, Wait


class Stale(Exception):
    """A call came with a token that proves nothing."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason)
        self.reason = reason


class ModelTicket:
    """What a request returns."""

    def __init__(self, model: "SequentialModel", number: int) -> None:
        self.number = number
        self._model = model

    @property
    def outcome(self) -> Outcome | None:
        return self._model.outcomes.get(self.number)


class SequentialModel(BodyCalls):
    """The calls of behaviours, and of the gate."""

    # Owners

    def add_owner(self, owner: Owner, tick: int) -> None:
        with self.call(tick):
            if owner.name in self.virtual:
                raise BadInput("a virtual owner's name")
            if owner.parent is not None and owner.parent not in self.owners:
                raise BadInput("unknown parent")
            known = self.owners.get(owner.name)
            if known and known.parent != owner.parent:
                raise BadInput("another parent")
            self.owners[owner.name] = owner
            live_s = owner.time_to_live_s
            self.events.append(
                events.OwnerAdded(
                    tick=tick,
                    owner=owner.name,
                    parent=owner.parent,
                    time_to_live_ticks=None if live_s is None else self.ticks(live_s),
                )
            )
            self._sign(owner.name)

    def _sign(self, owner: str) -> None:
        self.signs[owner] = self.now

    def _known(self, owner: str) -> None:
        if owner not in self.owners:
            raise BadInput("unknown owner")

    def renew(self, owner: str, tick: int) -> None:
        with self.call(tick):
            self._known(owner)
            self._sign(owner)
            self.events.append(events.Renewed(tick=tick, owner=owner))

    def drop(self, owner: str, tick: int) -> None:
        with self.call(tick):
            self._known(owner)
            self.drop_all(owner)

    def forget_owner(self, owner: str, tick: int) -> None:
        with self.call(tick):
            self._known(owner)
            if any(other.parent == owner for other in self.owners.values()):
                raise BadInput("has parts")
            self.drop_all(owner)
            del self.owners[owner]

    # Requests

    def request(self, request: Request, tick: int) -> ModelTicket:
        with self.call(tick):
            wait = self._wait_of(request)
            self._sign(wait.owner)
            self.tell_requested(wait)
            plan = self.plan(wait, {}, at_call=True)
            if plan is not None:
                self.grant(wait, plan)
            else:
                wait.firm_at = tick + self.overtake_ticks
                self.waits.append(wait)
                if wait.timeout_ticks:
                    wait.timeout_due = (tick + wait.timeout_ticks, self.serial())
                    wait.retry_due = (tick + self.retry_ticks, self.serial())
                self.demand(wait, at_call=True)
                if wait in self.waits and wait.timeout_ticks == 0:
                    self.fail(wait, OutcomeKind.DENIED, Why.BUSY)
        wait.is_called = False
        return ModelTicket(self, wait.number)

    def _wait_of(self, request: Request) -> Wait:
        self._known(request.owner)
        owner = self.owners[request.owner]
        held = None if request.add_to is None else self._live(request.add_to)
        shares: dict[str, int] = {}
        for name in request.resources:
            shares |= self._shares_of(name)
        for name, percent in request.rates.items():
            if self.kinds.get(name) is not ResourceKind.CUMULATIVE:
                raise BadInput("a rate of something else")
            shares[name] = rate_of(name, percent)
        optional = {name: self._shares_of(name) for name in sorted(request.optional)}
        if held is not None:
            if held.owner != request.owner:
                raise BadInput("somebody else's token")
            named = set(shares).union(*optional.values())
            if any(seat.leaf in named for seat in self.of(held)):
                raise BadInput("covered already")
        self.numbers += 1
        units = {
            name: tuple(sorted(set(leaves) - set(shares)))
            for name, leaves in optional.items()
        }
        priority = owner.priority if request.priority is None else request.priority
        timeout = owner.timeout_s if request.timeout_s is None else request.timeout_s
        return Wait(
            number=self.numbers,
            owner=request.owner,
            shares=shares,
            optional=units,
            priority=priority,
            arrival=self.numbers,
            loss=held.loss if held else request.loss,
            policy=held.policy if held else request.policy or owner.policy,
            holder_tie=(
                held.holder_tie if held else request.holder_tie or owner.holder_tie
            ),
            wins_ties=(request.asker_tie or owner.asker_tie) is AskerTie.WINS,
            add_to=held,
            timeout_ticks=self.ticks(timeout),
        )

    def _shares_of(self, name: str) -> dict[str, int]:
        """Return the leaves that a name of a request means."""
        kind = self.kind(name)
        if kind is ResourceKind.STATE:
            return {name: 0}
        leaves = self.exclusive_below(name)
        if not leaves:
            raise BadInput("nothing exclusive")
        return dict.fromkeys(leaves, FULL)

    def demand_again(self, number: int, tick: int) -> None:
        with self.call(tick):
            for wait in [wait for wait in self.waits if wait.number == number]:
                if wait.resumes is None and wait.promise_due is None:
                    self.demand(wait, at_call=False)

    def withdraw(self, number: int, tick: int) -> bool:
        with self.call(tick):
            found = [wait for wait in self.waits if wait.number == number]
            for wait in found:
                self.fail(wait, OutcomeKind.CANCELLED, Why.WITHDRAWN)
        return bool(found)

    # Giving back

    def release(
        self, token: Token, tick: int, names: Iterable[str] | None = None
    ) -> None:
        with self.call(tick):
            held = self._live(token)
            seats = self.of(held)
            if names is not None:
                wanted = {leaf for name in names for leaf in self.leaves_of(name)}
                seats = [seat for seat in seats if seat.leaf in wanted]
                for name in names:
                    if not any(seat.leaf in self.leaves_of(name) for seat in seats):
                        raise BadInput("not covered")
            self._sign(held.owner)
            self.give_back(held, seats, Refusal.RELEASED)

    def _live(self, token: Token) -> Held:
        held = self.token_of(token)
        if isinstance(held, Refusal):
            raise Stale(held)
        return held

    # The gate

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        self.kind(leaf)
        if token is None:
            return Refusal.NO_TOKEN
        held = self.token_of(token)
        if isinstance(held, Refusal):
            return held
        if self.is_frozen(leaf):
            return Refusal.FROZEN
        here = [seat for seat in self.of(held) if seat.leaf == leaf]
        if not here or self.is_lent(here[0]):
            return Refusal.NOT_COVERED
        return None

    def effort_cap(self, leaf: str) -> float:
        return self.cap(leaf)
