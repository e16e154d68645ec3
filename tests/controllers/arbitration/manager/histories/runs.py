"""A ledger led through a history of steps, and the replay of its trace beside it.

The replay knows the trace alone (`controllers.arbitration.invariants`). After each step
no invariant is broken, and the ledger holds, awaits, freezes, answers its gate and its
tickets as the replay does. A call that is refused has changed nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod
from itertools import count

from nao_testbed.controllers.arbitration.events import Event, Failed, Granted, Settled
from nao_testbed.controllers.arbitration.invariants import Checker
from nao_testbed.controllers.arbitration.invariants.device_access import why_refused
from nao_testbed.controllers.arbitration.manager.front import take_snapshot
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.state import LedgerCfg
from nao_testbed.controllers.arbitration.requests import (
    Owner,
    Request,
    StaleToken,
    Ticket,
)
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import (
    OutcomeKind,
    Preemption,
    Token,
    TokenMint,
)
from nao_testbed.models import BadInput
from tests.controllers.arbitration.manager.histories import steps
from tests.controllers.arbitration.manager.histories.small_setup import (
    EPOCH,
    GROUP,
    PARENTS,
    TREE,
    make_policy,
    secret_of,
    whole,
)

LAST_TOKENS = 12
"""Tokens whose answers at the gate are compared after each step."""


@dataclass(frozen=True, kw_only=True)
class World:
    """What a history happens in."""

    preemption: Preemption = Preemption.OFF
    dead_tokens_kept: int = 10_000
    overtake_s: float = 0.0
    policies: tuple[str, ...]
    """Of each owner, in their order."""
    time_to_live_s: float | None = None
    """Of the owners without parent."""
    owners: Mapping[str, str | None] = field(default_factory=PARENTS.copy, repr=False)
    """Owner to the owner that it is a part of; parents come first."""


class Run:
    """Takes the steps of a history."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.trace: list[Event] = []
        self.checker = Checker()
        self.issued: list[Token] = []
        self.tickets: list[Ticket] = []
        self._ends: dict[int, Granted | Failed] = {}
        self.ledger = Ledger(
            ResourceTree(TREE),
            LedgerCfg(
                tick_s=1.0,
                preemption=world.preemption,
                retry_s=3.0,
                overtake_s=world.overtake_s,
                dead_tokens_kept=world.dead_tokens_kept,
            ),
            mint=TokenMint(EPOCH, draw=map(secret_of, count(1)).__next__),
            listeners=(self.trace.append, self.checker.see, self._note),
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
        """Tokens that are valid by the trace, in the order of their issue."""
        tokens = self.checker.replay.tokens
        return [one for one in self.issued if tokens[one.id].ended is None]

    def run(self, step: steps.Step) -> None:
        """Take a step, and compare everything."""
        self.take(step)
        self.compare()

    def take(self, step: steps.Step) -> None:
        """Take a step; what is refused leaves no mark."""
        now, seen = self.ledger.tick, len(self.trace)
        try:
            self._take(step, now + step.later)
        except BadInput:
            self._left_no_mark(step, seen)
        except StaleToken as stale:
            refused = stale.token
            assert refused not in self.alive
            self._left_no_mark(step, seen)

    def advance(self, tick: int) -> None:
        """Let time pass."""
        self.ledger.advance(tick)

    def finish(self) -> None:
        """Judge what only the end of a history shows."""
        violations = self.checker.finish()
        assert not violations, str(violations[0])

    def token(self, kind: str, which: int) -> Token | None:
        """Return a token of a kind; a forged one when there is none of it."""
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

    @singledispatchmethod
    def _take(self, step: steps.Step, tick: int) -> None:
        raise NotImplementedError(step)

    @_take.register
    def _(self, step: steps.Ask, tick: int) -> None:
        token = None
        if step.add_to is not None:
            owners = self.checker.replay.tokens
            mine = [x for x in self.alive if owners[x.id].owner.name == step.owner]
            mine = mine or self.alive
            token = mine[step.add_to % len(mine)] if mine else None
        ticket = self.ledger.request(_request(self.ledger, step, token), tick)
        self.tickets.append(ticket)

    @_take.register
    def _(self, step: steps.Release, tick: int) -> None:
        token = self.token(step.kind, step.which)
        if token is not None:
            self.ledger.release(token, tick, step.names)
            if step.names is None:
                assert token not in self.alive

    @_take.register
    def _(self, step: steps.Word, tick: int) -> None:
        waiting = sorted(self.ledger.waiting) or [0]
        getattr(self.ledger, step.call)(waiting[step.which % len(waiting)], tick)

    @_take.register
    def _(self, step: steps.AddOwner, tick: int) -> None:
        self.ledger.add_owner(
            Owner(
                name=step.owner,
                parent=self.world.owners.get(step.owner),
                policy=make_policy(step.policy, self.ledger),
                priority=step.priority,
                time_to_live_s=step.time_to_live_s,
            ),
            tick,
        )

    @_take.register
    def _(self, step: steps.Call, tick: int) -> None:
        getattr(self.ledger, step.call)(**step.said, tick=tick)

    @_take.register
    def _(self, step: steps.Act, tick: int) -> None:
        del tick
        self._compare_gate(self.token(step.kind, step.which), step.leaf)

    @_take.register
    def _(self, step: steps.Advance, tick: int) -> None:
        self.advance(tick + step.ticks)

    # -- comparing --------------------------------------------------------------------

    def compare(self) -> None:
        """The ledger is as its trace says, and no invariant is broken."""
        violations = self.checker.violations
        assert not violations, str(violations[0])
        snapshot, replay = take_snapshot(self.ledger), self.checker.replay
        for row in snapshot.resources:
            if row.kind is None:
                continue
            leaf = replay.leaf(row.name)
            assert sorted(
                (held.token, held.is_lent, round(held.share_percent * 100))
                for held in row.holders
            ) == sorted(
                (seat.token.id, leaf.is_lent(seat.token.id), seat.share)
                for seat in leaf.seats
            )
            assert [w.request for w in row.waiters] == [key[-1] for key in leaf.queue]
            assert {v.by: v.is_total for v in row.virtual} == leaf.freezes
            for token in self.issued[-LAST_TOKENS:]:
                self._compare_gate(token, row.name)
        if GROUP in replay.children:
            assert self.ledger.active_state(GROUP) == replay.active.get(GROUP)
        for owner in snapshot.owners:
            assert owner.is_gone == replay.owners[owner.name].is_gone
        for ticket in self.tickets:
            self._compare_outcome(ticket)

    def _compare_gate(self, token: Token | None, leaf: str) -> None:
        """The ledger answers a command as the replay of the trace does."""
        try:
            mine = self.ledger.authorise(token, leaf)
        except BadInput:
            assert leaf not in self.checker.replay.leaves
            return
        public = token and token.id
        is_genuine = self.ledger.is_genuine(token)
        assert is_genuine <= (token in self.issued)
        yours = why_refused(self.checker.replay, public, is_genuine, leaf)
        assert mine is yours, f"{public} on {leaf}: {mine}, replay {yours}"

    def _compare_outcome(self, ticket: Ticket) -> None:
        outcome, end = ticket.outcome, self._ends.get(ticket.number)
        if outcome is None:
            assert end is None
            assert ticket.number in self.ledger.waiting
            return
        assert end is not None
        assert outcome.tick == end.tick
        if isinstance(end, Failed):
            assert (outcome.kind, outcome.why) == (end.kind, end.why)
            assert (outcome.token, outcome.obtained) == (None, ())
            names = (*ticket.request.resources, *ticket.request.rates)
            assert outcome.missing == (() if names else ticket.request.optional)
        else:
            assert outcome.kind is OutcomeKind.GRANTED
            assert outcome.token == whole(end.token)
            assert outcome.obtained == tuple(end.shares)
            assert outcome.missing == end.missing

    def _note(self, event: Event) -> None:
        if isinstance(event, Granted | Failed):
            self._ends[event.request] = event
        if isinstance(event, Granted) and whole(event.token) not in self.issued:
            self.issued.append(whole(event.token))

    def _left_no_mark(self, step: steps.Step, seen: int) -> None:
        if step.later == 0:  # else what was due before has happened
            said = [event for event in self.trace[seen:] if type(event) is not Settled]
            assert not said, f"{step} is refused, and leaves {said}"


def _request(ledger: Ledger, step: steps.Ask, token: Token | None) -> Request:
    return Request(
        owner=step.owner,
        resources=step.resources,
        optional=step.optional,
        rates={"CPU": step.rate} if step.rate else {},
        priority=step.priority,
        timeout_s=step.timeout_s,
        loss=step.loss,
        policy=make_policy(step.policy, ledger) if step.policy else None,
        asker_tie=step.asker_tie,
        holder_tie=step.holder_tie,
        add_to=token,
    )
