"""Thread-safe ledger with one lock, held for the short time of one call.

The ledger itself has no threads and no clock. This front end adds both: it counts ticks
of a monotonic clock, handles timeouts, blocks threads until their outcome, and queues
the notices of owners. Third-party code (policies, listeners, change callbacks) runs in
separate threads, never under the lock: code that hangs, raises or waits for another
lock blocks no other owner (`foreign_code`).

Notices are numbered and stored for some time, so that none is lost. A reader sends the
number of its last notice and gets the later ones. A queue is bounded: after a long
absence, a reader gets the number of lost notices.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock

from nao_testbed.controllers.arbitration.events import (
    Event,
    Expired,
    Failed,
    Granted,
    Notified,
    Released,
    Renewed,
    Revoked,
    Settled,
    Ticked,
)
from nao_testbed.controllers.arbitration.leases import Leasing, Lessor
from nao_testbed.controllers.arbitration.manager.front import (
    FrontLessor,
    check_waits,
    give_up,
    time_to_live_s,
)
from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.manager.snapshot import (
    LedgerSnapshot,
    take_snapshot,
)
from nao_testbed.controllers.arbitration.requests import Owner, Request, Ticket
from nao_testbed.controllers.arbitration.tokens import (
    Outcome,
    Refusal,
    Token,
    TokenId,
    Why,
)
from nao_testbed.experiments.closed_loop.controller_failure import traceback_of
from nao_testbed.experiments.server.foreign_code import (
    ForeignCalls,
    Function,
    PolicyCalls,
)
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.values import short

KEPT = 1000
"""Number of stored notices per owner."""
SIGNS = 3
"""Number of renewals in one time to live, of which two may be lost."""
Told = Notified | Released | Expired
"""Events for an owner: notices, and other ends of its tokens."""

Reader = Callable[[], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Notice:
    """Notice with its number in the owner's sequence."""

    number: int
    """Number from 1."""
    event: Told
    has_ended: bool
    """True if the affected token, if any, has ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticeBatch:
    """Notices for a reader."""

    notices: tuple[Notice, ...]
    n_missed: int
    """Number of later notices that are no longer stored."""


class _NoticeQueue:
    """Notices of one owner."""

    def __init__(self) -> None:
        self.notices: deque[Notice] = deque(maxlen=KEPT)
        self.last = 0
        self.tokens: set[TokenId] = set()
        self.readers: list[Reader] = []

    def put(self, event: Told) -> None:
        self.last += 1
        has_ended = event.token is not None and event.token not in self.tokens
        notice = Notice(number=self.last, event=event, has_ended=has_ended)
        self.notices.append(notice)

    def after(self, number: int) -> NoticeBatch:
        first = self.notices[0].number if self.notices else self.last + 1
        notices = tuple(notice for notice in self.notices if notice.number > number)
        return NoticeBatch(notices=notices, n_missed=max(0, first - 1 - number))


class NoticeQueues:
    """Queues of all owners, filled by a ledger's events."""

    def __init__(
        self, lock: RLock, wake: Callable[[Reader], None] = lambda reader: reader()
    ) -> None:
        """Create empty queues.

        Args:
            lock: lock held by every caller of the ledger.
            wake: function that schedules the call of a reader.
        """
        self._lock = lock
        self._wake = wake
        self._queues: dict[str, _NoticeQueue] = {}
        self._notified: list[Reader] = []

    def on_event(self, event: Event) -> None:
        """Queue an event of the ledger; called under the lock."""
        if isinstance(event, Notified):
            self._put(event)
        elif isinstance(event, Granted):
            self._queue(event.owner).tokens.add(event.token)
        elif isinstance(event, Expired):
            self._queue(event.owner).tokens.discard(event.token)
            self._put(event)
        elif isinstance(event, Released):
            if event.is_whole:
                self._queue(event.owner).tokens.discard(event.token)
            self._put(event)
        elif isinstance(event, Revoked) and event.is_whole:
            self._queue(event.owner).tokens.discard(event.token)

    def wake(self) -> None:
        """Call the readers of queues with new notices."""
        notified, self._notified = self._notified, []
        for reader in notified:
            self._wake(reader)

    def tokens(self, owner: str) -> tuple[TokenId, ...]:
        """Return the valid tokens of an owner, in order of issue."""
        with self._lock:
            return tuple(sorted(self._queue(owner).tokens))

    def last(self, owner: str) -> int:
        """Return the number of an owner's newest notice; 0: none."""
        with self._lock:
            return self._queue(owner).last

    def after(self, owner: str, number: int) -> NoticeBatch:
        """Return an owner's notices after a number."""
        with self._lock:
            return self._queue(owner).after(number)

    def add_reader(self, owner: str, reader: Reader) -> None:
        """Call a function soon after each new notice."""
        with self._lock:
            self._queue(owner).readers.append(reader)

    def remove_reader(self, owner: str, reader: Reader) -> None:
        """Remove a reader."""
        with self._lock:
            queue = self._queues.get(owner)  # None: the owner was removed
            if queue is not None and reader in queue.readers:
                queue.readers.remove(reader)

    def forget(self, owner: str) -> None:
        """Remove an owner's queue; its readers are called and get no notices."""
        with self._lock:
            queue = self._queues.pop(owner, None)
            for reader in queue.readers if queue else ():
                self._wake(reader)

    def _put(self, event: Told) -> None:
        queue = self._queue(event.owner)
        queue.put(event)
        self._notified += queue.readers

    def _queue(self, owner: str) -> _NoticeQueue:
        return self._queues.setdefault(owner, _NoticeQueue())


_LOG = logging.getLogger(__name__)
_RAISED = "%s of the ledger raised\n%s"
WhenDone = Callable[[Ticket], None]
"""Function called once, soon, with a ticket that has its outcome."""
_UNSEEN = (Renewed, Settled, Ticked)
"""Events that change neither holders nor waiters."""


class LedgerClosed(TestbedError):
    """The shared ledger is closed: waiting is no longer possible."""


class SharedLedger(Leasing):
    """Thread-safe front end of one ledger, which must have no other callers.

    Use it as a context manager, or call `close` at the end. A thread that dies keeps
    its resources until its owner's time to live is over.
    """

    def __init__(
        self, ledger: Ledger, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start counting ticks from the ledger's present tick.

        Args:
            ledger: ledger to share.
            clock: function that returns seconds, never decreasing.
        """
        self._ledger = ledger
        self._tick_s = ledger.cfg.tick_s
        self._clock = clock
        self._begin = clock() - ledger.tick * self._tick_s
        self._lock = threading.RLock()
        self._due_changed = threading.Condition(self._lock)
        self._planned: int | None = None
        self._is_closed = False
        self._n_steps = 0
        self._ended: list[int] = []
        self._has_changed = False
        self._takers: dict[int, list[threading.Event]] = {}
        self._watchers: dict[int, list[tuple[Ticket, WhenDone]]] = {}
        self._executor = ForeignCalls(self._note_fault)
        self.n_changes = 0
        """Number of calls and timer events that changed holders or waiters."""
        self.on_change: list[Callable[[], None]] = []
        """Functions called soon after such changes, at least once after the last
        one."""
        self.notices = NoticeQueues(self._lock, self._executor.signal)
        """Notices and valid tokens of each owner."""
        self._callbacks = PolicyCalls(clock, self._notify_blockers)
        fault = ledger.set_executor(self._callbacks.answer, self._executor.call)
        if fault is not None:
            _LOG.error(_RAISED, "a listener", traceback_of(fault))
        ledger.add_direct_listener(self.notices.on_event)
        ledger.add_direct_listener(self._on_event)
        self._timer = threading.Thread(
            target=self._run_timer, name="reservations-timer", daemon=True
        )
        self._timer.start()

    def __enter__(self) -> "SharedLedger":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the timer; waiting requests are cancelled as the manager closes.

        No more requests are granted. Resources can still be released and queried.

        Raises:
            BadInput: this thread is in a `step`; the timer waits for its end.
        """
        with self._lock:
            if self._n_steps:
                raise BadInput("a step cannot close its ledger; leave the step first.")
        with self.step() as (ledger, tick):
            self._is_closed = True
            for number in reversed(ledger.waiting):
                ledger.withdraw(number, tick, Why.CLOSED)
            self._due_changed.notify_all()
        self._timer.join()
        self._executor.close()

    @contextmanager
    def step(self) -> Iterator[tuple[Ledger, int]]:
        """Lock the ledger for one step: yield it and the present tick."""
        with self._lock:
            self._n_steps += 1
            try:
                yield self._ledger, self._now()
            finally:
                self._n_steps -= 1
                self._wake()

    # -- owners ------------------------------------------------------------------------

    def add_owner(self, owner: Owner) -> None:
        """Register an owner; its parent must be registered first."""
        with self.step() as (ledger, tick):
            ledger.add_owner(owner, tick)

    def renew(self, owner: str) -> None:
        """Renew an owner."""
        with self.step() as (ledger, tick):
            ledger.renew(owner, tick)

    def drop(self, owner: str) -> None:
        """End all reservations and requests of an owner and its descendants."""
        with self.step() as (ledger, tick):
            ledger.drop(owner, tick)

    # -- requests ----------------------------------------------------------------------

    def ask(self, request: Request, when_done: WhenDone | None = None) -> Ticket:
        """Submit a request without waiting.

        Args:
            request: the request.
            when_done: function called when a ticket returned without an outcome gets
                one.

        Returns:
            The ticket; its outcome is None while it waits.

        Raises:
            LedgerClosed: no more requests are granted.
            BadInput: `when_done` cannot be called.
        """
        if when_done is not None and not callable(when_done):
            raise BadInput(
                f"when_done is {short(when_done)}; give a function that takes a ticket."
            )
        with self.step() as (ledger, tick):
            if self._is_closed:
                raise _closed(request)
            ticket = ledger.request(request, tick)
            if when_done is not None and ticket.outcome is None:
                self.watch(ticket, when_done)
        return ticket

    def take(self, request: Request) -> Outcome:
        """Submit a request, and block this thread until it has ended.

        Raises:
            LedgerClosed: closed before the call; after a later close the outcome says
                so.
            BadInput: this thread is in a `step`, in which no request can end.
        """
        with self._lock:
            self._check_outside_step(request)
            ticket = self.ask(request)
        return self.wait(ticket)

    def wait(self, ticket: Ticket) -> Outcome:
        """Block this thread until a request of this front end has ended.

        Raises:
            LedgerClosed: the request still waits, and the ledger was closed before.
            BadInput: this thread is in a `step`, in which no request can end; or the
                ticket is not from this ledger and would wait forever.
        """
        done = threading.Event()
        with self._lock:
            check_waits(ticket, self._ledger)
            self._check_outside_step(ticket.request)
            if ticket.outcome is None:
                if self._is_closed:
                    raise _closed(ticket.request)
                self._takers.setdefault(ticket.number, []).append(done)
        try:
            while ticket.outcome is None and not done.wait(self._life_s(ticket)):
                self.renew(ticket.request.owner)  # waiting renews the owner
        except BaseException:  # such as Ctrl-C: this thread stops waiting
            self._give_up(ticket)
            raise
        assert ticket.outcome is not None
        return ticket.outcome

    def watch(self, ticket: Ticket, when_done: WhenDone) -> None:
        """Call a function soon after a ticket has its outcome."""
        with self._lock:
            if ticket.outcome is None:
                watchers = self._watchers.setdefault(ticket.number, [])
                watchers.append((ticket, when_done))
            else:
                self._executor.call(when_done, ticket)

    def unwatch(self, ticket: Ticket, when_done: WhenDone) -> None:
        """Remove a function registered by `watch`."""
        with self._lock:
            watchers = self._watchers.pop(ticket.number, [])
            others = [pair for pair in watchers if pair != (ticket, when_done)]
            if others:
                self._watchers[ticket.number] = others

    def withdraw(self, ticket_number: int) -> None:
        """Withdraw a waiting request; ignore one that has ended."""
        with self.step() as (ledger, tick):
            ledger.withdraw(ticket_number, tick)

    # -- tokens ------------------------------------------------------------------------

    def release(self, token: Token, names: Iterable[str] | None = None) -> None:
        """Release a token or some of its resources."""
        with self.step() as (ledger, tick):
            ledger.release(token, tick, names)

    def authorise(self, token: Token | None, leaf: str) -> Refusal | None:
        """Return the reason why a command is refused now; None: accepted."""
        with self.step() as (ledger, tick):
            ledger.advance(tick)
            return ledger.authorise(token, leaf)

    def snapshot(self) -> LedgerSnapshot:
        """Return a consistent snapshot of holders and waiters."""
        with self.step() as (ledger, tick):
            ledger.advance(tick)
            return take_snapshot(ledger)

    # -- internals ---------------------------------------------------------------------

    def _lessor(self, owner: str | None) -> tuple[str, Lessor]:
        return FrontLessor.of(owner, self)

    def _life_s(self, ticket: Ticket) -> float | None:
        """Return the maximum wait of an owner without a renewal, in s."""
        live_s = time_to_live_s(ticket.request.owner, self._ledger)
        return None if live_s is None else live_s / SIGNS

    def _check_outside_step(self, request: Request) -> None:
        if self._n_steps:
            raise BadInput(
                f"{request.owner!r} would wait inside a step, where time does not "
                "advance; leave the step first, or use `ask`."
            )

    def _now(self) -> int:
        tick = int((self._clock() - self._begin) / self._tick_s)
        return max(tick, self._ledger.tick)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Granted | Failed):
            self._ended.append(event.request)
        if not isinstance(event, _UNSEEN):
            self._has_changed = True

    def _wake(self) -> None:
        """Wake the threads affected by a step, and the timer if necessary."""
        ended, self._ended = self._ended, []
        for number in ended:
            for taker in self._takers.pop(number, ()):
                taker.set()
            for ticket, when_done in self._watchers.pop(number, ()):
                self._executor.call(when_done, ticket)
        self.notices.wake()
        if self._has_changed:
            self._has_changed = False
            self.n_changes += 1
            for changed in tuple(self.on_change):
                self._executor.signal(changed)
        due = self._ledger.next_due()
        if due is not None and (self._planned is None or due < self._planned):
            self._due_changed.notify_all()

    def _give_up(self, ticket: Ticket) -> None:
        """End an abandoned request in any state."""
        with self.step() as (ledger, tick):
            give_up(ticket, ledger, tick)

    def _note_fault(
        self, function: Function, args: tuple[object, ...], fault: BaseException
    ) -> None:
        """Log an error of third-party code, and notify its owner, if known."""
        _LOG.error(_RAISED, "a callback", traceback_of(fault))
        said = args[0] if args else None
        with self.step() as (ledger, _):
            if isinstance(said, Ticket):
                owner, number = said.request.owner, said.number
                ledger.notify_error(owner, fault, request=number)
            elif isinstance(said, Notified | Expired) and ledger.is_hook(
                function, said.owner
            ):
                ledger.notify_error(said.owner, fault, token=said.token)

    def _notify_blockers(self, ticket_number: int) -> None:
        with self.step() as (ledger, tick):
            if not self._is_closed:
                ledger.notify_blockers(ticket_number, tick)

    def _run_timer(self) -> None:
        """Process due events; sleep until the next one."""
        with self._due_changed:
            while not self._is_closed:
                due = self._planned = self._ledger.next_due()
                if due is None:
                    self._due_changed.wait()
                    continue
                wait_s = self._begin + due * self._tick_s - self._clock()
                if wait_s > 0.0:
                    self._due_changed.wait(min(wait_s, threading.TIMEOUT_MAX))
                else:
                    self._advance()

    def _advance(self) -> None:
        with self.step() as (ledger, tick):
            try:
                ledger.advance(tick)
            except Exception as fault:  # noqa: BLE001  time goes on, whatever it is
                _LOG.error(_RAISED, "a timer", traceback_of(fault))


def _closed(request: Request) -> LedgerClosed:
    return LedgerClosed(
        f"{request.owner!r} requests from a closed ledger; request before `close`, or "
        "share a new ledger."
    )
