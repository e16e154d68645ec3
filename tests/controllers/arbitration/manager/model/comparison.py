"""The ledger and the sequential model side by side, and how they are compared.

Both must say the same: the same refusal or result, the same events in the same order,
the same holders, waiters, freezes, states and gate answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from controllers.arbitration.events import Event
from controllers.arbitration.invariants import Checker
from controllers.arbitration.manager.front import take_snapshot
from controllers.arbitration.manager.ledger import Ledger
from controllers.arbitration.manager.state import LedgerCfg
from controllers.arbitration.requests import StaleToken, Ticket
from controllers.arbitration.resource_tree import ResourceTree
from controllers.arbitration.tokens import Preemption, Token, TokenMint
from models import BadInput
from models.resources import ResourceNode
from tests.controllers.arbitration.manager.model.comparable_state import (
    comparable,
    difference,
    ledger_picture,
    model_picture,
)
from tests.controllers.arbitration.manager.model.sequential.model import (
    ModelTicket,
    SequentialModel,
    Stale,
)
from tests.controllers.arbitration.manager.model.sequential.records import (
    EPOCH,
    Held,
    secret_of,
)
from tests.controllers.arbitration.manager.model.small_setup import GROUP, PARENTS, TREE

Arbiter = Ledger | SequentialModel


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
    root: ResourceNode = field(default=TREE, repr=False)
    owners: Mapping[str, str | None] = field(default_factory=PARENTS.copy, repr=False)
    """Owner to the owner that it is a part of; parents come first."""


class Pair:
    """Both, and what each said."""

    def __init__(self, world: World) -> None:
        cfg = LedgerCfg(
            tick_s=1.0,
            preemption=world.preemption,
            retry_s=3.0,
            overtake_s=world.overtake_s,
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
            overtake_s=world.overtake_s,
            dead_tokens_kept=world.dead_tokens_kept,
        )
        self.tickets: list[tuple[Ticket, ModelTicket]] = []
        self.world = world

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

    def alive(self) -> list[Held]:
        return [held for held in self.model.tokens if held.ended is None]

    def token(self, kind: str, which: int) -> Token | None:
        """Return a token of a kind; a forged one when there is none of it."""
        alive = self.alive()
        dead = [held for held in self.model.tokens if held.ended is not None]
        held = {"live": alive, "dead": dead, "older epoch": alive}.get(kind, alive)
        if kind == "none":
            return None
        real = held[which % len(held)].token if held else Token(EPOCH, 1, 0)
        if kind == "forged":
            return real._replace(secret=real.secret ^ 1)
        return real._replace(epoch=0) if kind == "older epoch" else real

    def compare_events(self) -> None:
        """Both said the same since the last time."""
        said = comparable(self.trace[self._seen :])
        predicted = comparable(self.model.events)
        self._seen = len(self.trace)
        self.model.events.clear()
        if said != predicted:
            raise AssertionError(difference(said, predicted))

    def compare(self) -> None:
        """Both are in the same state, and no invariant is broken."""
        self.compare_events()
        violations = self.checker.violations
        assert not violations, str(violations[0])
        snapshot = take_snapshot(self.ledger)
        assert ledger_picture(snapshot) == model_picture(self.model)
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

    def forget_the_past(self) -> None:
        """Keep only what the future depends on, so that copies are small."""
        self.trace.clear()
        self._seen = 0
        self.tickets = [pair for pair in self.tickets if pair[0].outcome is None]

    def finish(self) -> None:
        """Judge what only the end of a history shows."""
        violations = self.checker.finish()
        assert not violations, str(violations[0])


def _attempt(call: Callable[[Arbiter], object], arbiter: Arbiter) -> object:
    try:
        return call(arbiter)
    except (StaleToken, Stale) as stale:
        return f"stale: {stale.reason}"
    except BadInput:
        return "bad input"
