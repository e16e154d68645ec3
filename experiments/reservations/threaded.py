"""A ledger for real threads: one lock, held for the short time of one call.

The ledger itself knows no threads and no clock. This front gives it both: it counts
ticks of a monotonic clock, wakes up when something is due, lets threads wait for their
outcome, keeps what owners are told in inboxes, and runs callbacks outside the lock, so
that one that hangs blocks nobody (RM-15, RM-33).
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType

from controllers.resources.ledger import Ledger
from controllers.resources.owner import Owner
from controllers.resources.request import Outcome, Request
from controllers.resources.snapshot import Snapshot, take_snapshot
from controllers.resources.ticket import Ticket
from controllers.resources.tokens import Token
from controllers.resources.trace import (
    Event,
    Failed,
    Granted,
    Renewed,
    Settled,
    Ticked,
)
from controllers.resources.words import Refusal
from experiments.reservations.inbox import Inboxes
from experiments.reservations.outside_callbacks import OutsideCallbacks

_LOG = logging.getLogger(__name__)
WhenDone = Callable[[Ticket], None]
"""Called once with a ticket that has its outcome, under the lock: be quick."""
_UNSEEN = (Renewed, Settled, Ticked)
"""Events after which nobody holds or waits for anything else than before."""


class SharedLedger:
    """A thread-safe front of one ledger; nobody else may call that ledger.

    Use it as a context manager, or call `close` at the end. A thread that dies keeps
    what it holds until its owner's time to live is over.
    """

    def __init__(
        self, ledger: Ledger, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Begin to count ticks from the ledger's present one.

        Args:
            ledger: the ledger to share.
            clock: seconds, never going back.
        """
        self._ledger = ledger
        self._tick_s = ledger.cfg.tick_s
        self._clock = clock
        self._begin = clock() - ledger.tick * self._tick_s
        self._lock = threading.RLock()
        self._due_changed = threading.Condition(self._lock)
        self._planned: int | None = None
        self._is_closed = False
        self._ended: list[int] = []
        self._has_changed = False
        self._watchers: dict[int, list[tuple[Ticket, WhenDone]]] = {}
        self.on_change: list[Callable[[], None]] = []
        """Called under the lock after a call that changed who holds or waits."""
        self.inboxes = Inboxes(self._lock)
        """What each owner was told, and its valid tokens."""
        self._callbacks = OutsideCallbacks(clock, self._demand_again)
        ledger.listeners.append(self.inboxes.hear)
        ledger.listeners.append(self._hear)
        self._timer = threading.Thread(
            target=self._keep_time, name="reservations-timer", daemon=True
        )
        self._timer.start()

    def __enter__(self) -> "SharedLedger":
        """Return the front itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End the timer; threads that still wait get their request withdrawn."""
        with self._lock:
            for number in list(self._watchers):
                self.withdraw(number)
            self._is_closed = True
            self._due_changed.notify_all()
        self._timer.join()

    @contextmanager
    def step(self) -> Iterator[tuple[Ledger, int]]:
        """Do anything to the ledger in one step: yield it and the present tick."""
        with self._lock:
            try:
                yield self._ledger, self._now()
            finally:
                self._wake()

    # -- owners ------------------------------------------------------------------------

    def add_owner(self, owner: Owner) -> None:
        """Make an owner known; its parent first."""
        outside = self._callbacks.of_owner(owner)
        with self.step() as (ledger, tick):
            ledger.add_owner(outside, tick)

    def renew(self, owner: str) -> None:
        """Show that an owner is alive."""
        with self.step() as (ledger, tick):
            ledger.renew(owner, tick)

    def drop(self, owner: str) -> None:
        """End all that an owner and its descendants hold and wait for."""
        with self.step() as (ledger, tick):
            ledger.drop(owner, tick)

    # -- requests ----------------------------------------------------------------------

    def ask(self, request: Request, when_done: WhenDone | None = None) -> Ticket:
        """Ask without waiting.

        Args:
            request: what is wanted.
            when_done: called when a ticket that is returned without an outcome gets
                one.

        Returns:
            The ticket; its outcome is None while it waits.
        """
        outside = self._callbacks.of_request(request)
        with self.step() as (ledger, tick):
            ticket = ledger.request(outside, tick)
            if when_done is not None and ticket.outcome is None:
                self.watch(ticket, when_done)
        return ticket

    def take(self, request: Request) -> Outcome:
        """Ask, and let this thread wait until the request has ended."""
        done = threading.Event()
        ticket = self.ask(request, lambda _: done.set())
        try:
            if ticket.outcome is None:
                done.wait()
        except BaseException:  # such as Ctrl-C: this thread waits no more
            self._give_up(ticket)
            raise
        assert ticket.outcome is not None
        return ticket.outcome

    def watch(self, ticket: Ticket, when_done: WhenDone) -> None:
        """Call a function when a ticket has its outcome; now, if it has."""
        with self._lock:
            if ticket.outcome is None:
                watchers = self._watchers.setdefault(ticket.number, [])
                watchers.append((ticket, when_done))
            else:
                when_done(ticket)

    def unwatch(self, ticket: Ticket, when_done: WhenDone) -> None:
        """Forget such a function."""
        with self._lock:
            watchers = self._watchers.pop(ticket.number, [])
            others = [pair for pair in watchers if pair != (ticket, when_done)]
            if others:
                self._watchers[ticket.number] = others

    def withdraw(self, ticket_number: int) -> None:
        """End a waiting request; one that has ended stays as it is."""
        with self.step() as (ledger, tick):
            ledger.withdraw(ticket_number, tick)

    # -- tokens ------------------------------------------------------------------------

    def release(self, token: Token, names: Iterable[str] | None = None) -> None:
        """Give back all of a token, or these names (AR-24, AR-25)."""
        with self.step() as (ledger, tick):
            ledger.release(token, tick, names)

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        """Return why a command may not pass now; None: it may (AR-10)."""
        with self.step() as (ledger, tick):
            ledger.advance(tick)
            return ledger.authorise(token, leaf)

    def snapshot(self) -> Snapshot:
        """Return all that is held and waited for now, in one piece (RM-62)."""
        with self.step() as (ledger, tick):
            ledger.advance(tick)
            return take_snapshot(ledger)

    # -- inside ------------------------------------------------------------------------

    def _now(self) -> int:
        tick = int((self._clock() - self._begin) / self._tick_s)
        return max(tick, self._ledger.tick)

    def _hear(self, event: Event) -> None:
        if isinstance(event, Granted | Failed):
            self._ended.append(event.request)
        if not isinstance(event, _UNSEEN):
            self._has_changed = True

    def _wake(self) -> None:
        """Wake up those whom a step concerns, and the timer if it must plan anew."""
        ended, self._ended = self._ended, []
        for number in ended:
            for ticket, when_done in self._watchers.pop(number, ()):
                when_done(ticket)
        self.inboxes.wake()
        if self._has_changed:
            self._has_changed = False
            for changed in tuple(self.on_change):  # pages come and go meanwhile
                changed()
        due = self._ledger.next_due()
        if due is not None and (self._planned is None or due < self._planned):
            self._due_changed.notify_all()

    def _give_up(self, ticket: Ticket) -> None:
        """End a request that nobody waits for any more, whatever its state."""
        with self._lock:
            self.withdraw(ticket.number)
            token = ticket.outcome.token if ticket.outcome else None
            if token and token.id in self.inboxes.tokens(ticket.request.owner):
                self.release(token)

    def _demand_again(self, ticket_number: int) -> None:
        with self.step() as (ledger, tick):
            if not self._is_closed:
                ledger.demand_again(ticket_number, tick)

    def _keep_time(self) -> None:
        """Let happen what is due; sleep until the next thing is."""
        with self._due_changed:
            while not self._is_closed:
                due = self._planned = self._ledger.next_due()
                if due is None:
                    self._due_changed.wait()
                    continue
                wait_s = self._begin + due * self._tick_s - self._clock()
                if wait_s > 0.0:
                    self._due_changed.wait(wait_s)
                else:
                    self._let_time_pass()

    def _let_time_pass(self) -> None:
        """Advance; what a listener raised is logged, and time goes on."""
        with self.step() as (ledger, tick):
            try:
                ledger.advance(tick)
            except Exception:  # noqa: BLE001  its own fault must not stop the clock
                _LOG.exception("a listener of the ledger raised")
