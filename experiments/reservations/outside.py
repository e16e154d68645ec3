"""Code of others, run in threads of its own, under no lock.

What raises is handed to whoever knows whose it is; what never returns keeps one thread
busy and nobody waiting. The calls of one function come one after another, in order.
"""

import threading
from collections import deque
from collections.abc import Callable

Function = Callable[..., object]
Failed = Callable[[Function, tuple[object, ...], BaseException], None]
"""Called with a function, its arguments, and what it raised at them."""

MOST = 32
"""Threads at most: so many functions may hang before others have to wait."""
LAST_CALLS_S = 1.0
"""Time that `close` leaves to what was to be told before, in s."""


class Outside:
    """Calls functions of others, as many at a time as there are."""

    def __init__(self, failed: Failed) -> None:
        """Begin without threads; they come as they are needed.

        Args:
            failed: told what a function raised; raises nothing itself.
        """
        self._failed = failed
        self._changed = threading.Condition()
        self._pending: dict[int, deque[tuple[object, ...]]] = {}
        """Id of a function that is called, or will be, to the arguments of its next."""
        self._ready: deque[Function] = deque()
        self._threads: set[threading.Thread] = set()
        self._n_idle = 0
        self._is_closed = False

    def call(self, function: Function, *args: object) -> None:
        """Call a function soon, after its earlier calls."""
        with self._changed:
            self._add(function, args)

    def signal(self, function: Function) -> None:
        """Call a function soon; signals that it has not got yet are one."""
        with self._changed:
            if not self._pending.get(id(function)):
                self._add(function, ())

    def close(self) -> None:
        """Wait a little for what was to be called before, then end the threads."""
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
        if len(self._ready) > self._n_idle and len(self._threads) < MOST:
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
        """Return a function with calls to make; None at the end."""
        with self._changed:
            self._n_idle += 1
            self._changed.wait_for(lambda: self._ready or self._is_closed)
            self._n_idle -= 1
            return self._ready.popleft() if self._ready else None

    def _arguments(self, function: Function) -> tuple[object, ...] | None:
        """Return those of its next call, None if there is none for now."""
        with self._changed:
            pending = self._pending[id(function)]
            if pending:
                return pending.popleft()
            del self._pending[id(function)]
            self._changed.notify_all()
            return None
