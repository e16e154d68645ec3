"""The ledger and the sequential model, led through the same history side by side.

After each step both must have said the same: the same refusal or result, the same
events in the same order, the same holders, waiters, freezes, states and gate answers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from itertools import count

from controllers.resources.invariants import Checker
from controllers.resources.ledger import Ledger
from controllers.resources.ledger_cfg import LedgerCfg
from controllers.resources.owner import Owner
from controllers.resources.request import Request
from controllers.resources.resource_tree import ResourceTree
from controllers.resources.snapshot import Snapshot, take_snapshot
from controllers.resources.stale_token import StaleToken
from controllers.resources.ticket import Ticket
from controllers.resources.tokens import Token, TokenMint
from controllers.resources.trace import Answered, Event, Notified, Settled
from controllers.resources.words import Preemption
from models import BadInput
from models.resource_node import ResourceKind, ResourceNode
from tests.controllers.resources import steps
from tests.controllers.resources.sequential_grants import EPOCH, secret_of
from tests.controllers.resources.sequential_model import (
    ModelTicket,
    SequentialModel,
    Stale,
)
from tests.controllers.resources.sequential_world import Held
from tests.controllers.resources.small_world import GROUP, PARENTS, TREE, make_policy

Arbiter = Ledger | SequentialModel


@dataclass(frozen=True, kw_only=True)
class World:
    """What a history happens in."""

    preemption: Preemption = Preemption.OFF
    dead_tokens_kept: int = 10_000
    policies: tuple[str, ...]
    """Of each owner, in their order."""
    time_to_live_s: float | None = None
    """Of the owners without parent."""
    root: ResourceNode = field(default=TREE, repr=False)
    owners: Mapping[str, str | None] = field(default_factory=PARENTS.copy, repr=False)
    """Owner to the owner that it is a part of; parents come first."""


class Twins:
    """Both, and what each said."""

    def __init__(self, world: World) -> None:
        cfg = LedgerCfg(
            tick_s=1.0,
            preemption=world.preemption,
            retry_s=3.0,
            dead_tokens_kept=world.dead_tokens_kept,
        )
        mint = TokenMint(EPOCH, draw=map(secret_of, count(1)).__next__)
        self.trace: list[Event] = []
        self.checker = Checker()
        self.ledger = Ledger(
            ResourceTree(world.root),
            cfg,
            mint=mint,
            listeners=(self.trace.append, self.checker.see),
        )
        self._seen = len(self.trace)
        self.model = SequentialModel(
            world.root,
            tick_s=1.0,
            preemption=world.preemption,
            retry_s=3.0,
            dead_tokens_kept=world.dead_tokens_kept,
        )
        self.tickets: list[tuple[Ticket, ModelTicket]] = []
        self._now = 0
        self.world = world
        for (name, parent), policy in zip(
            world.owners.items(), world.policies, strict=True
        ):
            live_s = None if parent else world.time_to_live_s
            self._take(
                steps.AddOwner(
                    owner=name, policy=policy, priority=0, time_to_live_s=live_s
                )
            )

    # Leading

    def run(self, step: steps.Step) -> None:
        """Take a step, and compare everything."""
        self.take(step)
        self.compare()

    def take(self, step: steps.Step) -> None:
        """Take a step, and compare only what was said."""
        self._now = self.model.now
        self._take(step)

    def both(self, call: Callable[[Arbiter], object]) -> tuple[object, object]:
        """Call both; what they return or refuse, and what they say, is the same."""
        predicted = _attempt(call, self.model)
        result = _attempt(call, self.ledger)
        self.compare_events()
        if isinstance(result, Ticket) and isinstance(predicted, ModelTicket):
            assert result.number == predicted.number
            self.tickets.append((result, predicted))
        else:
            assert result == predicted, f"ledger {result}, model {predicted}"
        return result, predicted

    def _at(self, step: steps.Step) -> int:
        return self._now + step.later

    @singledispatchmethod
    def _take(self, step: steps.Step) -> None:
        raise NotImplementedError(step)

    @_take.register
    def _(self, step: steps.Ask) -> None:
        token = None
        if step.add_to is not None:
            mine = [h for h in self._alive() if h.owner == step.owner]
            mine = mine or self._alive()
            token = mine[step.add_to % len(mine)].token if mine else None
        self.both(lambda a: a.request(_request(a, step, token), self._at(step)))

    @_take.register
    def _(self, step: steps.Release) -> None:
        token = self.token(step.kind, step.which)
        if token is not None:
            self.both(lambda a: a.release(token, self._at(step), step.names))

    @_take.register
    def _(self, step: steps.Withdraw) -> None:
        waiting = sorted(wait.number for wait in self.model.waits) or [0]
        number = waiting[step.which % len(waiting)]
        self.both(lambda a: a.withdraw(number, self._at(step)))

    @_take.register
    def _(self, step: steps.Renew) -> None:
        self.both(lambda a: a.renew(step.owner, self._at(step)))

    @_take.register
    def _(self, step: steps.Drop) -> None:
        self.both(lambda a: a.drop(step.owner, self._at(step)))

    @_take.register
    def _(self, step: steps.AddOwner) -> None:
        self.both(
            lambda a: a.add_owner(
                Owner(
                    name=step.owner,
                    parent=self.world.owners[step.owner],
                    policy=make_policy(step.policy, a),
                    priority=step.priority,
                    time_to_live_s=step.time_to_live_s,
                ),
                self._at(step),
            )
        )

    @_take.register
    def _(self, step: steps.Freeze) -> None:
        self.both(
            lambda a: a.freeze(
                step.names,
                step.by,
                self._at(step),
                effort_cap=step.cap,
                is_total=step.is_total,
            )
        )

    @_take.register
    def _(self, step: steps.Thaw) -> None:
        self.both(lambda a: a.thaw(step.by, self._at(step), step.names))

    @_take.register
    def _(self, step: steps.SetState) -> None:
        self.both(lambda a: a.set_state(GROUP, step.active, self._at(step)))

    @_take.register
    def _(self, step: steps.AskState) -> None:
        self.both(lambda a: a.ask_state(GROUP, step.wanted, self._at(step)))

    @_take.register
    def _(self, step: steps.AddBall) -> None:
        self.both(
            lambda a: a.add_resource(
                "ball", step.parent, self._at(step), ResourceKind.EXCLUSIVE
            )
        )

    @_take.register
    def _(self, step: steps.RemoveResource) -> None:
        self.both(lambda a: a.remove_resource(step.name, self._at(step)))

    @_take.register
    def _(self, step: steps.Act) -> None:
        token = self.token(step.kind, step.which)
        self.both(lambda a: a.authorise(token, step.leaf))

    @_take.register
    def _(self, step: steps.Advance) -> None:
        self.both(lambda a: a.advance(self._at(step) + step.ticks))

    def _alive(self) -> list[Held]:
        return [held for held in self.model.tokens if held.ended is None]

    def token(self, kind: str, which: int) -> Token | None:
        """Return a token of a kind; a forged one when there is none of it."""
        alive = self._alive()
        dead = [held for held in self.model.tokens if held.ended is not None]
        held = {"live": alive, "dead": dead, "older epoch": alive}.get(kind, alive)
        if kind == "none":
            return None
        real = held[which % len(held)].token if held else Token(EPOCH, 1, 0)
        if kind == "forged":
            return real._replace(secret=real.secret ^ 1)
        return real._replace(epoch=0) if kind == "older epoch" else real

    def forget_the_past(self) -> None:
        """Keep only what the future depends on, so that copies are small."""
        self.trace.clear()
        self._seen = 0
        self.tickets = [pair for pair in self.tickets if pair[0].outcome is None]

    def finish(self) -> None:
        """Judge what only the end of a history shows."""
        violations = self.checker.finish()
        assert not violations, str(violations[0])

    # Comparing

    def compare_events(self) -> None:
        """Both said the same since the last time."""
        said = _comparable(self.trace[self._seen :])
        predicted = _comparable(self.model.events)
        self._seen = len(self.trace)
        self.model.events.clear()
        if said != predicted:
            raise AssertionError(_difference(said, predicted))

    def compare(self) -> None:
        """Both are in the same state, and no invariant is broken."""
        self.compare_events()
        violations = self.checker.violations
        assert not violations, str(violations[0])
        snapshot = take_snapshot(self.ledger)
        assert _ledger_picture(snapshot) == _model_picture(self.model)
        for ticket, predicted in self.tickets:
            mine, yours = ticket.outcome, predicted.outcome
            assert (mine and mine._replace(blockers=())) == yours
        if GROUP in self.model.kinds:
            assert self.ledger.active_state(GROUP) == self.model.active_state(GROUP)
        for leaf, kind in self.model.kinds.items():
            if kind is not None:
                self.compare_gate(leaf)

    def compare_gate(self, leaf: str) -> None:
        """Both answer every token's command on a leaf alike."""
        assert self.ledger.effort_cap(leaf) == self.model.effort_cap(leaf)
        for held in self.model.tokens[-12:]:
            mine = self.ledger.authorise(held.token, leaf)
            yours = self.model.authorise(held.token, leaf)
            assert mine == yours, f"{held.token.id} on {leaf}: {mine}, model {yours}"


def _attempt(call: Callable[[Arbiter], object], arbiter: Arbiter) -> object:
    try:
        return call(arbiter)
    except (StaleToken, Stale) as stale:
        return f"stale: {stale.reason}"
    except BadInput:
        return "bad input"


def _request(arbiter: Arbiter, step: steps.Ask, token: Token | None) -> Request:
    return Request(
        owner=step.owner,
        resources=step.resources,
        optional=step.optional,
        rates={"CPU": step.rate} if step.rate else {},
        mode=step.mode,
        priority=step.priority,
        timeout_s=step.timeout_s,
        loss=step.loss,
        policy=make_policy(step.policy, arbiter) if step.policy else None,
        asker_tie=step.asker_tie,
        holder_tie=step.holder_tie,
        add_to=token,
    )


def _comparable(events: Sequence[Event]) -> list[Event]:
    """Return events without what only one of the two says.

    The words of an error, the blockers in an outcome; and `Settled`, of which a timer
    of a request that has ended meanwhile may leave one more.
    """
    said: list[Event] = []
    for event in events:
        if isinstance(event, Answered) and event.error:
            said.append(replace(event, error="raised"))
        elif isinstance(event, Notified) and event.outcome is not None:
            said.append(replace(event, outcome=event.outcome._replace(blockers=())))
        elif not isinstance(event, Settled):
            said.append(event)
    return said


def _difference(said: Sequence[Event], predicted: Sequence[Event]) -> str:
    lines = [
        f"{'  ' if mine == yours else '! '}ledger {mine}\n  model  {yours}"
        for mine, yours in zip(
            [*said, *[None] * (len(predicted) - len(said))],
            [*predicted, *[None] * (len(said) - len(predicted))],
            strict=True,
        )
    ]
    return "\n".join(lines)


Picture = dict[str, tuple[object, ...]]


def _ledger_picture(snapshot: Snapshot) -> Picture:
    """Return holders, waiters and virtual owners of each leaf."""
    return {
        row.name: (
            sorted(
                (held.token, held.mode, round(held.share_percent * 100))
                for held in row.holders
            ),
            [wait.request for wait in row.waiters],
            sorted((v.by, v.is_total, v.effort_cap or 1.0) for v in row.virtual),
        )
        for row in snapshot.resources
        if row.kind is not None
    }


def _model_picture(model: SequentialModel) -> Picture:
    return {
        leaf: (
            sorted((s.held.token.id, s.held.mode, s.share) for s in model.on(leaf)),
            [wait.number for wait in model.queue() if leaf in wait.shares],
            sorted(
                (f.by, f.is_total, f.cap or 1.0)
                for f in model.freezes
                if f.leaf == leaf
            ),
        )
        for leaf, kind in model.kinds.items()
        if kind is not None
    }
