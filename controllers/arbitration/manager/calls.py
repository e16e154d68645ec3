"""Frame around each call of a ledger: timers before it, grants and events after it.

Within a tick calls precede timers: a call first runs the timers of earlier ticks,
`advance` those up to its tick. After the outermost call, all possible grants are made,
deadlocks are resolved, and then the events are delivered. Calls of listeners in the
same tick find all changes complete.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager

from nao_testbed.controllers.arbitration.events import Event, Opened, Settled, Ticked
from nao_testbed.controllers.arbitration.manager.granting import Granting
from nao_testbed.controllers.arbitration.manager.ledger_cfg import (
    LedgerCfg,
    check_tick,
)
from nao_testbed.controllers.arbitration.manager.negotiation import Negotiation
from nao_testbed.controllers.arbitration.manager.state.holdings import Holdings
from nao_testbed.controllers.arbitration.manager.state.queue import Queue
from nao_testbed.controllers.arbitration.manager.state.records import Waiting
from nao_testbed.controllers.arbitration.manager.state.resources import Resources
from nao_testbed.controllers.arbitration.manager.state.timers import Due, Timers
from nao_testbed.controllers.arbitration.manager.state.trace import Listener, Trace
from nao_testbed.controllers.arbitration.resource_tree import ResourceTree
from nao_testbed.controllers.arbitration.tokens import TokenMint
from nao_testbed.models import BadInput

DEEPEST_CALL = 20
"""Largest depth of nested calls: calls of policies and listeners can trigger further
ones."""


class Calls(AbstractContextManager[None]):
    """Context of every change: `with calls.at(tick): ...`.

    A policy or a listener that runs during a call may also call, in the same tick. One
    object serves all calls, to keep entering cheap.
    """

    def __init__(self, granting: Granting) -> None:
        self.asks: Waiting | None = None
        """Request of the present call, once it has been processed."""
        self.made = 0
        """Count of completed calls and timers; while it is constant, nothing
        changes."""
        self._granting = granting
        self._queue = granting.queue
        self._timers = self._queue.timers
        self._trace = self._queue.trace
        self.depth = 0
        """Number of nested calls."""

    def at(self, tick: int) -> "Calls":
        """Start a call after running the earlier timers.

        Raises:
            BadInput: the tick is not an integer or is in the past, or policies or
                listeners call each other endlessly.
        """
        if (
            type(tick) is not int
            or self.depth
            or self._trace.turns
            or tick != self._timers.now
        ):
            self.check(tick)
            self.run_timers(tick)
            self._timers.now = tick
        return self

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        queue, trace = self._queue, self._trace
        self.depth -= 1
        self.made += 1
        if queue.changed:
            self._granting.settle()
        if self.depth:
            return
        if queue.suspects:
            self._granting.resolve_deadlocks()
        if queue.eased:
            queue.notify_available()
        asks, self.asks = self.asks, None
        if asks is not None:
            asks.has_waited = True  # from now on its owner gets notices
        if trace.listeners:
            trace.emit(Settled(tick=self._timers.now))
            trace.deliver_events()

    def check(self, tick: int) -> None:
        """Raise if no call can be made at a tick."""
        check_tick(tick)
        now, turns = self._timers.now, self._trace.turns
        if max(self.depth, turns) >= DEEPEST_CALL:
            raise BadInput(
                "policies or listeners called the ledger from within each other's "
                f"calls, {DEEPEST_CALL} levels deep; one of them must return without "
                "a call."
            )
        if tick < now or ((self.depth or turns) and tick != now):
            raise BadInput(
                f"tick is {tick}, but the ledger is at {now}; a tick must not "
                "decrease, nor change while a policy or listener runs."
            )

    def run_timers(self, before: int) -> None:
        """Run the timers that were due before a tick, each at its own tick."""
        timers = self._timers
        while (due := timers.next_due()) is not None and due < before:
            call = timers.pop()
            timers.now = due
            with self:
                call()


class Core:
    """Parts of one ledger, and the advance of its time."""

    def __init__(
        self,
        tree: ResourceTree,
        cfg: LedgerCfg,
        mint: TokenMint,
        listeners: Iterable[Listener],
    ) -> None:
        self._timers = Timers()
        self._trace = Trace(self._timers, listeners)
        self._queue = Queue(cfg, self._timers, self._trace)
        self.holdings = Holdings(self._queue, mint)
        """Owners and reservations; also read by `take_snapshot`."""
        self._trace.emit(
            Opened(
                tick=0,
                epoch=mint.epoch,
                preemption=cfg.preemption,
                retry_ticks=cfg.retry_ticks,
                overtake_ticks=cfg.overtake_ticks,
            )
        )
        self.resources = Resources(tree, self.holdings)
        """Leaves; also read by `take_snapshot`."""
        self._granting = Granting(self.holdings)
        self._negotiation = Negotiation(self._granting)
        self._calls = Calls(self._granting)
        self._trace.deliver_events()

    def emit(self, event: Event) -> None:
        """Deliver an external event, such as a gate's.

        Within a call, the delivery is at the end. Timers before the event's tick run
        first, so that the ticks of the trace never decrease.
        """
        if event.tick > self._timers.now:
            self._calls.at(event.tick)
        self._trace.emit(event)
        if not self._calls.depth:
            self._trace.deliver_events()

    def keep_promises(self, tick: int) -> None:
        """Enforce the promises that are due at this tick, before the slot's actions.

        Waiting owners can then act in the same slot. Otherwise `advance` enforces them
        like all timers.

        Raises:
            BadInput: the tick is earlier than an earlier call's, or a policy calls.
        """
        self._calls.check(tick)
        self._calls.run_timers(tick)
        for call in self._timers.take(tick, Due.PROMISE):
            self._timers.now = tick
            with self._calls:
                call()

    def advance(self, tick: int) -> None:
        """Run all timers up to and including a tick.

        Raises:
            BadInput: the tick is earlier than an earlier call's, or a policy calls.
            Exception: error of a listener since the last call; all timers have run.
        """
        self._calls.check(tick)
        if self._calls.depth or self._trace.turns:
            raise BadInput(
                "a policy or listener cannot advance the tick; return first."
            )
        self._calls.run_timers(tick + 1)
        self._timers.now = tick
        if self._trace.listeners:
            self.emit(Ticked(tick=tick))
        fault = self._trace.take_fault()
        if fault is not None:
            raise fault
