"""A ledger and the sequential model run through the same history of steps.

The model (`rules_model`) gets the same calls. After each step both must agree on every
grant, loss, deadlock and failure, in order; on holders, waiting requests and expired
owners; and on the gate's answers. A rejected call must change nothing, and the trace
must pass the rules of `nao_testbed.testing`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod
from itertools import count
from typing import Any

from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Failed,
    Granted,
    Released,
    Revoked,
    Settled,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.manager.snapshot import take_snapshot
from nao_testbed.controllers.arbitration.requests import (
    Owner,
    Request,
    StaleToken,
    Ticket,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import (
    Preemption,
    Token,
    TokenMint,
)
from nao_testbed.models import BadInput
from nao_testbed.testing import check_trace
from tests.controllers.arbitration.manager.histories import steps
from tests.controllers.arbitration.manager.histories.rules_model import RulesModel
from tests.controllers.arbitration.manager.histories.small_setup import (
    EPOCH,
    GROUP,
    PARENTS,
    TREE,
    make_policy,
    secret_of,
)

LAST_TOKENS = 12
"""Number of tokens whose gate answers are compared after each step."""
RETRY_TICKS = 3


@dataclass(frozen=True, kw_only=True)
class World:
    """Setting of a history."""

    preemption: Preemption = Preemption.OFF
    dead_tokens_kept: int = 10_000
    overtake_s: float = 0.0
    policies: tuple[str, ...]
    """Policies of the owners, in order."""
    time_to_live_s: float | None = None
    """Time to live of owners without a parent."""
    owners: Mapping[str, str | None] = field(default_factory=PARENTS.copy, repr=False)
    """Owner to its parent; parents come first."""


class Run:
    """Runs the steps of a history."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.trace: list[Event] = []
        self.issued: list[Token] = []
        self.tickets: list[Ticket] = []
        self.operations = 0
        self._compared = 0
        """Number of events whose decisions were compared."""
        self._decided = 0
        self.ledger = Ledger(
            ResourceTree(TREE),
            LedgerCfg(
                tick_s=1.0,
                preemption=world.preemption,
                retry_s=float(RETRY_TICKS),
                overtake_s=world.overtake_s,
                dead_tokens_kept=world.dead_tokens_kept,
            ),
            mint=TokenMint(EPOCH, draw=map(secret_of, count(1)).__next__),
            listeners=(self.trace.append, self._note),
        )
        self.model = RulesModel(
            TREE,
            world.preemption,
            RETRY_TICKS,
            int(world.overtake_s),
            world.dead_tokens_kept,
            lambda number: Token(EPOCH, number, secret_of(number)),
        )
        for name, policy in zip(world.owners, world.policies, strict=True):
            live_s = None if world.owners[name] else world.time_to_live_s
            self.take(
                steps.AddOwner(
                    owner=name, policy=policy, priority=0, time_to_live_s=live_s
                )
            )

    @property
    def alive(self) -> list[Token]:
        """Return the tokens valid by the model, in order of issue."""
        return [held.token for held in self.model.live]

    def owner_of(self, token: Token) -> str:
        """Return the owner of a token that the model has issued."""
        every = (*self.model.live, *self.model.dead)
        return next(held.party.name for held in every if held.token == token)

    def run(self, step: steps.Step) -> None:
        """Run a step and compare everything."""
        self.take(step)
        self.compare()

    def take(self, step: steps.Step) -> None:
        """Apply a step to ledger and model; a rejected step must change nothing."""
        self.operations += 1
        now, seen = self.ledger.tick, len(self.trace)
        given = self._given(step)
        try:
            self._take(step, self.ledger, given, now + step.later)
        except BadInput:  # not known to the model; only time may have passed
            with self.model.at(self.ledger.tick):
                pass
            self._check_unchanged(step, seen)
        except StaleToken:
            self._check_unchanged(step, seen)
            try:
                self._take(step, self.model, given, now + step.later)
            except StaleToken:
                return
            raise AssertionError(f"{given} is valid by the model") from None
        else:
            self._take(step, self.model, given, now + step.later)
        finally:
            self._compare_decisions()

    def advance(self, tick: int) -> None:
        """Advance the time."""
        self.ledger.advance(tick)
        self.model.advance(tick)

    def finish(self) -> None:
        """Check the whole trace by the public rules."""
        violations = check_trace(self.trace)
        assert not violations, str(violations[0])

    def token(self, kind: str, which: int) -> Token | None:
        """Return a token of a kind; a forged one if none exists."""
        alive = self.alive
        dead = [one for one in self.issued if one not in alive]
        some = dead if kind == "dead" else alive
        if kind == "none":
            return None
        real = some[which % len(some)] if some else Token(EPOCH, 1, 0)
        if kind == "forged":
            return real._replace(secret=real.secret ^ 1)
        return real._replace(epoch=0) if kind == "older epoch" else real

    # -- the steps --------------------------------------------------------------------

    def _given(self, step: steps.Step) -> Any:
        """Return the token or request number that a step refers to."""
        if isinstance(step, steps.Ask) and step.add_to is not None:
            alive = self.alive
            mine = [one for one in alive if self.owner_of(one) == step.owner] or alive
            return mine[step.add_to % len(mine)] if mine else None
        if isinstance(step, steps.Release | steps.Act):
            return self.token(step.kind, step.which)
        if isinstance(step, steps.Loan):
            return self.token("live", step.which)
        if isinstance(step, steps.Word):
            waiting = sorted(self.ledger.waiting) or [0]
            return waiting[step.which % len(waiting)]
        return None

    @singledispatchmethod
    def _take(self, step: steps.Step, by: Any, given: Any, tick: int) -> None:
        raise NotImplementedError(step)

    @_take.register
    def _(self, step: steps.Ask, by: Any, given: Any, tick: int) -> None:
        ticket = by.request(_request(by, step, given), tick)
        if by is self.ledger:
            self.tickets.append(ticket)

    @_take.register
    def _(self, step: steps.Release, by: Any, given: Any, tick: int) -> None:
        if given is not None:
            by.release(given, tick, step.names)

    @_take.register
    def _(self, step: steps.Loan, by: Any, given: Any, tick: int) -> None:
        if given is not None:
            ticket = getattr(by, step.call)(given, tick, step.names)
            self.tickets += [ticket] if by is self.ledger and ticket else []

    @_take.register
    def _(self, step: steps.Word, by: Any, given: Any, tick: int) -> None:
        getattr(by, step.call)(given, tick)

    @_take.register
    def _(self, step: steps.AddOwner, by: Any, given: Any, tick: int) -> None:
        by.add_owner(
            Owner(
                name=step.owner,
                parent=self.world.owners.get(step.owner),
                policy=make_policy(step.policy, by),
                priority=step.priority,
                time_to_live_s=step.time_to_live_s,
            ),
            tick,
        )

    @_take.register
    def _(self, step: steps.Call, by: Any, given: Any, tick: int) -> None:
        getattr(by, step.call)(**step.said, tick=tick)

    @_take.register
    def _(self, step: steps.Act, by: Any, given: Any, tick: int) -> None:
        if by is self.ledger:
            self._compare_gate(given, step.leaf)

    @_take.register
    def _(self, step: steps.Advance, by: Any, given: Any, tick: int) -> None:
        by.advance(tick + step.ticks)

    # -- comparison -------------------------------------------------------------------

    def compare(self) -> None:
        """Assert that ledger and model agree."""
        snapshot, model = take_snapshot(self.ledger), self.model
        for row in snapshot.resources:
            if row.kind is None:
                continue
            held = [
                (x.token.sequence, round(x.share_percent * 100)) for x in row.holders
            ]
            seats = model.seats[row.name]
            assert sorted(held) == sorted(
                (x.token.sequence, x.shares[row.name]) for x in seats
            )
            queue = [wait.number for wait in model.queue() if row.name in wait.shares]
            assert [wait.request for wait in row.waiters] == queue
            virtual = {hold.by: hold.is_total for hold in row.virtual}
            assert virtual == model.freezes[row.name]
            for token in self.issued[-LAST_TOKENS:]:
                self._compare_gate(token, row.name)
        for group in model.active:
            if group != GROUP or group in self.ledger.tree:
                assert self.ledger.active_state(group) == model.active[group]
        for owner in snapshot.owners:
            assert owner.is_gone == model.parties[owner.name].is_gone
        for ticket in self.tickets:
            is_waiting = any(wait.number == ticket.number for wait in model.waits)
            assert (ticket.outcome is None) == is_waiting

    def _compare_gate(self, token: Token | None, leaf: str) -> None:
        """Assert that ledger and model give the same answer to a command."""
        try:
            mine = self.ledger.authorise(token, leaf)
        except BadInput:
            assert leaf not in self.model.seats
            return
        yours = self.model.authorise(token, leaf)
        assert mine is yours, f"{token} on {leaf}: {mine}, model {yours}"
        if self.ledger.is_genuine(token):
            assert token in self.issued

    def _compare_decisions(self) -> None:
        """Assert that all decisions of this step agree, in order."""
        mine = [x for event in self.trace[self._compared :] for x in _decision(event)]
        yours = self.model.decisions[self._decided :]
        self._compared, self._decided = len(self.trace), len(self.model.decisions)
        assert mine == yours, f"ledger: {mine}\nmodel: {yours}"

    def _note(self, event: Event) -> None:
        if isinstance(event, Granted):
            token = Token(*event.token, secret_of(event.token.sequence))
            if token not in self.issued:
                self.issued.append(token)

    def _check_unchanged(self, step: steps.Step, seen: int) -> None:
        if step.later == 0:  # otherwise earlier timers have fired
            said = [event for event in self.trace[seen:] if type(event) is not Settled]
            assert not said, f"{step} is refused, and leaves {said}"


def _decision(event: Event) -> Iterator[tuple[object, ...]]:
    """Yield the model's form of an event."""
    match event:
        case Granted():
            given = (event.request, event.token, dict(event.shares), event.missing)
            yield ("granted", *given)
        case Failed():
            yield ("failed", event.request, event.kind, event.why)
        case Revoked():
            how = (event.lost, event.freed, event.why, event.by)
            yield ("revoked", event.token, *how)
        case Released():
            yield ("released", event.token, event.leaves)
        case Expired():
            yield ("expired", event.token, event.leaves)


def _request(by: Any, step: steps.Ask, token: Token | None) -> Request:
    return Request(
        owner=step.owner,
        resources=step.resources,
        optional=step.optional,
        rates={"CPU": step.rate} if step.rate else {},
        priority=step.priority,
        timeout_s=step.timeout_s,
        loss=step.loss,
        policy=make_policy(step.policy, by) if step.policy else None,
        asker_tie=step.asker_tie,
        holder_tie=step.holder_tie,
        add_to=token,
    )
