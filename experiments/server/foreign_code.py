"""Execution of third-party code in separate threads, without a lock.

Errors are passed to a handler; a call that never returns blocks one thread and no
waiter. The calls of one function run one after another, in order (`ForeignCalls`).

The ledger needs a policy's answer at once, but a user's code may take long, wait for a
lock, or never return. The ledger therefore gets KEEP while the code runs, and demands
again when the code has returned, or when a callback's limit has passed; then the holder
releases regardless of its function (`PolicyCalls`). Built-in policies only return their
parameters and are called directly.
"""

import threading
from collections import deque
from collections.abc import Callable

from nao_testbed.controllers.arbitration.policies import (
    KEEP,
    Answer,
    AnswerKind,
    CallbackOnDemand,
    ConflictPolicy,
    Demand,
    Lock,
    PauseOnDemand,
    StopOnDemand,
)
from nao_testbed.controllers.arbitration.tokens import TokenId
from nao_testbed.models.errors import error_text

Function = Callable[..., object]
Failed = Callable[[Function, tuple[object, ...], BaseException], None]
"""Handler called with a function, its arguments, and its exception."""

MAX_THREADS = 32
"""Maximum number of threads; with more hanging functions, further calls are blocked."""
LAST_CALLS_S = 1.0
"""Time in s for pending calls in `close`."""


class ForeignCalls:
    """Thread pool that calls third-party functions concurrently."""

    def __init__(self, failed: Failed) -> None:
        """Create a pool without threads, which start on demand.

        Args:
            failed: function called with the error of a call; must not raise.
        """
        self._failed = failed
        self._changed = threading.Condition()
        self._pending: dict[int, deque[tuple[object, ...]]] = {}
        """Arguments of the next call, by id of a function."""
        self._ready: deque[Function] = deque()
        self._threads: set[threading.Thread] = set()
        self._n_idle = 0
        self._is_closed = False

    def call(self, function: Function, *args: object) -> None:
        """Queue a call of a function after its earlier calls."""
        with self._changed:
            self._add(function, args)

    def signal(self, function: Function) -> None:
        """Queue a call of a function; pending signals are merged."""
        with self._changed:
            if not self._pending.get(id(function)):
                self._add(function, ())

    def close(self) -> None:
        """Wait briefly for pending calls, then end the threads."""
        with self._changed:
            if threading.current_thread() not in self._threads:
                self._changed.wait_for(lambda: not self._pending, LAST_CALLS_S)
            self._is_closed = True
            self._changed.notify_all()

    def _add(self, function: Function, args: tuple[object, ...]) -> None:
        if self._is_closed:
            return
        pending = self._pending.get(id(function))
        if pending is not None:
            pending.append(args)
            return
        self._pending[id(function)] = deque([args])
        self._ready.append(function)
        if len(self._ready) > self._n_idle and len(self._threads) < MAX_THREADS:
            thread = threading.Thread(target=self._work, name="outside", daemon=True)
            self._threads.add(thread)
            thread.start()
        self._changed.notify_all()

    def _work(self) -> None:
        while (function := self._next()) is not None:
            while (args := self._arguments(function)) is not None:
                try:
                    function(*args)
                except BaseException as fault:  # noqa: BLE001  others' code
                    self._failed(function, args, fault)

    def _next(self) -> Function | None:
        """Return a function with pending calls; None at the end."""
        with self._changed:
            self._n_idle += 1
            self._changed.wait_for(lambda: self._ready or self._is_closed)
            self._n_idle -= 1
            return self._ready.popleft() if self._ready else None

    def _arguments(self, function: Function) -> tuple[object, ...] | None:
        """Return the arguments of its next call; None without one."""
        with self._changed:
            pending = self._pending[id(function)]
            if pending:
                return pending.popleft()
            del self._pending[id(function)]
            self._changed.notify_all()
            return None


_OWN = frozenset({Lock, StopOnDemand, PauseOnDemand})
"""Classes (not subclasses) whose answers call no foreign function."""
_NOW = Answer(kind=AnswerKind.YIELD)


class _Call:
    """Running policy function of one demand."""

    def __init__(self, demand: Demand, began_s: float) -> None:
        self.demand = demand
        self.began_s = began_s
        self.is_done = False
        self.answer: object = None
        self.error: Exception | None = None

    def is_for(self, demand: Demand) -> bool:
        """Return True if a later demand has the same waiter and request."""
        mine = self.demand
        return (mine.request, mine.asker) == (demand.request, demand.asker)


class PolicyCalls:
    """Caller of policies, one call at a time per token; keeps their answers."""

    def __init__(
        self, clock: Callable[[], float], notify_blockers: Callable[[int], None]
    ) -> None:
        """Create the caller without running calls.

        Args:
            clock: function that returns seconds.
            notify_blockers: function that repeats the demand of a request.
        """
        self._clock = clock
        self._notify_blockers = notify_blockers
        self._lock = threading.Lock()
        self._calls: dict[TokenId, _Call] = {}

    def answer(self, policy: ConflictPolicy, demand: Demand) -> object:
        """Answer a demand at once.

        An error of the policy is raised here, so that the ledger's trace contains it.
        """
        if type(policy) in _OWN:
            return policy.answer(demand)
        limit_s = policy.limit_s if isinstance(policy, CallbackOnDemand) else None
        with self._lock:
            call = self._calls.get(demand.token)
            if call is None or (call.is_done and not call.is_for(demand)):
                self._start(policy, demand, limit_s)
                return KEEP
            spent_s = self._clock() - call.began_s
            if not call.is_done:
                is_over = limit_s is not None and spent_s >= limit_s
                return _NOW if is_over else KEEP
            del self._calls[demand.token]
        if call.error is not None:
            raise call.error
        if call.answer is not None or not isinstance(policy, CallbackOnDemand):
            return call.answer
        if limit_s is None:
            return KEEP
        return Answer(kind=AnswerKind.YIELD, after_s=max(0.0, limit_s - spent_s))

    def _start(
        self, policy: ConflictPolicy, demand: Demand, limit_s: float | None
    ) -> None:
        call = _Call(demand, self._clock())
        self._calls[demand.token] = call
        watch = None
        if limit_s is not None:
            wait_s = min(limit_s, threading.TIMEOUT_MAX)
            watch = threading.Timer(wait_s, self._notify, [demand])
            watch.daemon = True
            watch.start()
        threading.Thread(
            target=self._run,
            args=(policy, call, watch),
            name=f"callback-{demand.holder}",
            daemon=True,
        ).start()

    def _run(
        self, policy: ConflictPolicy, call: _Call, watch: threading.Timer | None
    ) -> None:
        try:
            if isinstance(policy, CallbackOnDemand):
                call.answer = policy.function(call.demand)
            else:
                call.answer = policy.answer(call.demand)
        except Exception as error:  # noqa: BLE001  # a user's function raises anything
            call.error = error
        except BaseException as error:  # noqa: BLE001  it ends nothing but itself
            call.error = RuntimeError(
                f"the callback ended its thread: {error_text(error)}"
            )
        if watch is not None:
            watch.cancel()
        with self._lock:
            call.is_done = True
        self._notify(call.demand)
        with self._lock:  # the requester has stopped waiting
            if call.demand.request is not None:
                self._drop(call)

    def _drop(self, call: _Call) -> None:
        if self._calls.get(call.demand.token) is call:
            del self._calls[call.demand.token]

    def _notify(self, demand: Demand) -> None:
        if demand.request is not None:
            self._notify_blockers(demand.request)
