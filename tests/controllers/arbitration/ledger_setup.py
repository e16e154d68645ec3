"""A ledger on a small body, with short verbs for tests.

Times are in seconds, at ticks of 10 ms. Token secrets are fixed.
"""

from itertools import count
from typing import Any, ClassVar

from nao_testbed.controllers.arbitration.events import Event, Notified
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.ledger_cfg import LedgerCfg
from nao_testbed.controllers.arbitration.manager.snapshot import (
    ResourceRow,
    take_snapshot,
)
from nao_testbed.controllers.arbitration.policies import Answer, Demand
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import (
    NoticeKind,
    Outcome,
    OutcomeKind,
    Preemption,
    Refusal,
    Token,
    TokenMint,
    Why,
)
from nao_testbed.models.resources import ResourceKind, ResourceNode
from nao_testbed.testing import TraceChecker

TICKS_PER_S = 100
BY_PRIORITY = Preemption.BY_PRIORITY
GRANTED, DENIED = OutcomeKind.GRANTED, OutcomeKind.DENIED
TIMED_OUT, CANCELLED = OutcomeKind.TIMED_OUT, OutcomeKind.CANCELLED
DEMANDED, LOST = NoticeKind.DEMANDED, NoticeKind.LOST
AVAILABLE = NoticeKind.AVAILABLE


def node(
    name: str, *children: ResourceNode, kind: ResourceKind = ResourceKind.EXCLUSIVE
) -> ResourceNode:
    return ResourceNode(name=name, kind=kind, children=children)


def states(name: str, *among: str) -> ResourceNode:
    return node(name, *(node(state, kind=ResourceKind.STATE) for state in among))


BODY = node(
    "root",
    states("State", "Stand", "Sit", "Back"),
    states("Camera", "camera1", "camera2"),
    node("Audio", node("TTS"), node("Microphone")),
    node(
        "Motors",
        node("Head", node("HeadYaw"), node("HeadPitch")),
        node(
            "Arms",
            node("LArm", node("LShoulderPitch"), node("LHand")),
            node("RArm", node("RShoulderPitch"), node("RHand")),
        ),
        node(
            "Legs",
            node("LHipYawPitch"),
            node("LLeg", node("LKneePitch"), node("LAnklePitch")),
            node("RLeg", node("RKneePitch"), node("RAnklePitch")),
        ),
    ),
    node("CPU", kind=ResourceKind.CUMULATIVE),
    node("Network", kind=ResourceKind.CUMULATIVE),
)
"""A part of the example tree: small, with every kind of resource."""
ARMS = ("LHand", "LShoulderPitch", "RHand", "RShoulderPitch")
LEGS = ("LAnklePitch", "LHipYawPitch", "LKneePitch", "RAnklePitch", "RKneePitch")
HEAD = ("HeadPitch", "HeadYaw")


class LedgerSetup:
    """Ledger that records its events, with a clock set by the test.

    A call at a time comes before the timers of that time; `until` runs the timers. The
    invariants are checked on every trace (see conftest.py).
    """

    made: ClassVar[list["LedgerSetup"]] = []
    """Instances of the present test."""

    def __init__(
        self, root: ResourceNode = BODY, *, epoch: int = 1, **rules: Any
    ) -> None:
        self.events: list[Event] = []
        self.checker = TraceChecker()
        self.tick = 0
        self.ledger = Ledger(
            ResourceTree(root),
            LedgerCfg(**rules),
            mint=TokenMint(epoch, draw=count(5000).__next__),
            listeners=[self.events.append, self.checker.see],
        )
        self.made.append(self)

    # -- verbs ------------------------------------------------------------------------

    def at(self, time_s: float) -> None:
        self.tick = round(time_s * TICKS_PER_S)

    def until(self, time_s: float) -> None:
        self.at(time_s)
        self.ledger.advance(self.tick)

    def owner(self, name: str, **habits: Any) -> None:
        self.ledger.add_owner(Owner(name=name, **habits), self.tick)

    def owners(self, *names: str, **habits: Any) -> None:
        for name in names:
            self.owner(name, **habits)

    def ask(self, owner: str, *resources: str, **terms: Any) -> Ticket:
        request = Request(owner=owner, resources=resources, **terms)
        return self.ledger.request(request, self.tick)

    def take(self, owner: str, *resources: str, **terms: Any) -> Token:
        """Request resources that must be granted at once."""
        return self.ask(owner, *resources, **terms).token

    def release(self, token: Token, *names: str) -> None:
        self.ledger.release(token, self.tick, names or None)

    def may(self, token: Token | None, leaf: str) -> Refusal | None:
        return self.ledger.authorise(token, leaf)

    # -- queries ----------------------------------------------------------------------

    def row(self, name: str) -> ResourceRow:
        rows = take_snapshot(self.ledger).resources
        return next(row for row in rows if row.name == name)

    def holders(self, leaf: str) -> tuple[str, ...]:
        """Return the holders of a leaf, children before parents."""
        return tuple(holding.owner for holding in self.row(leaf).holders)

    def waiters(self, leaf: str) -> tuple[str, ...]:
        return tuple(wait.owner for wait in self.row(leaf).waiters)

    def held_by(self, owner: str) -> tuple[str, ...]:
        """Return the leaves that an owner holds, sorted."""
        rows = take_snapshot(self.ledger).resources
        held = {r.name for r in rows for h in r.holders if h.owner == owner}
        return tuple(sorted(held))

    def waited_for_by(self, owner: str) -> tuple[str, ...]:
        """Return the leaves that an owner waits for, sorted."""
        rows = take_snapshot(self.ledger).resources
        waited = {r.name for r in rows for w in r.waiters if w.owner == owner}
        return tuple(sorted(waited))

    def picture(self) -> tuple[ResourceRow, ...]:
        """Return all rows (held, awaited, frozen) for comparison."""
        return take_snapshot(self.ledger).resources

    def told(self, owner: str, kind: NoticeKind) -> list[Notified]:
        return [
            event
            for event in self.events
            if isinstance(event, Notified)
            and event.owner == owner
            and event.kind is kind
        ]

    def demands_on(self, owner: str) -> list[tuple[str, float]]:
        """Return the owners that demanded leaves of `owner`, and when."""
        notices = self.told(owner, DEMANDED)
        return [(notice.by, notice.tick / TICKS_PER_S) for notice in notices]


def outcome_of(ticket: Ticket) -> Outcome:
    assert ticket.outcome is not None, "the request is still waiting"
    return ticket.outcome


def end_of(ticket: Ticket) -> tuple[OutcomeKind, float]:
    """Return the kind and time of a request's outcome."""
    outcome = outcome_of(ticket)
    return outcome.kind, outcome.tick / TICKS_PER_S


def why(ticket: Ticket) -> Why | None:
    return outcome_of(ticket).why


def token_of(ticket: Ticket) -> Token:
    return ticket.token


class Diary:
    """Holder callback that records demands and returns a fixed answer."""

    def __init__(self, answer: Answer | None = None) -> None:
        self.demands: list[Demand] = []
        self.says = answer

    def __call__(self, demand: Demand) -> Answer | None:
        self.demands.append(demand)
        return self.says
