"""Worker processes for foreign code, stopped by an order or killed.

A worker runs one task, sends messages and its result, and ends. It reacts only to the
order of its parent, which passes on a signal; it is also notified if the parent is
killed. It has `PATIENCE_S + GRACE_S` to close its files and is then killed.
"""

import contextlib
import multiprocessing as mp
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from multiprocessing.connection import wait as wait_for_any
from multiprocessing.sharedctypes import Synchronized
from typing import Any, Generic, TypeVar

from nao_testbed.experiments import IS_COMMAND
from nao_testbed.experiments.common.signals import (
    GRACE_S,
    ORPHANED,
    PATIENCE_S,
    raise_on_stop,
)
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.system import (
    CAN_FORK,
    END_SIGNALS,
    STOP,
    Connection,
    blocked_signals,
    children_ignore_ctrl_c,
    send_stop,
)

ResultT = TypeVar("ResultT")
StartedT = TypeVar("StartedT")
Send = Callable[[Any], None]
"""Function that sends a message to the process that started a worker."""

_EXIT_S = 1.0
"""Time in s for a worker to end after its result, since threads of foreign code may
block it."""


class Worker(Generic[ResultT]):
    """Process for one task.

    Its standard input is empty. It must end the processes that it starts. Of the
    command it is a fork, which has all modules and robots in memory; in other programs
    it is a new process, since their threads may hold locks.
    """

    def __init__(
        self,
        work: Callable[[Send], ResultT],
        *,
        is_fork: bool = IS_COMMAND and CAN_FORK,
    ) -> None:
        """Start the process.

        Args:
            work: pickled function of the sender of messages. Its result is pickled
                too; an exception ends the process, so it should be returned instead.
            is_fork: True: fork this process; False: import everything in a new one.

        Raises:
            KeyboardInterrupt: a signal arrived during the start.
        """
        context: Any = mp.get_context("fork" if is_fork else "spawn")
        self._line, theirs = context.Pipe(duplex=False)
        self._order = context.Value("i", 0)
        self._process = context.Process(target=_run, args=(theirs, self._order, work))
        self._stop_requested_s = float("inf")
        self.result: ResultT | None = None
        """Result of the work; None: no result yet."""
        self.was_killed = False
        """True if it was killed because its code did not return."""
        try:
            start_workers(self._process.start, (signal.SIGINT, *END_SIGNALS, STOP))
        finally:
            theirs.close()

    @property
    def waitable(self) -> Sequence[Any]:
        """Handles for `multiprocessing.connection.wait`: messages, and its end."""
        return (self._line, self._process.sentinel)

    def messages(self) -> list[Any]:
        """Return the messages since the last call."""
        found: list[Any] = []
        # A process killed while sending leaves an incomplete message.
        with contextlib.suppress(EOFError, OSError):
            while self.result is None and self._line.poll():
                is_result, value = self._line.recv()
                if is_result:
                    self.result = value
                else:
                    found.append(value)
        return found

    @property
    def has_ended(self) -> bool:
        """True if it has a result or has ended; read `messages` before."""
        return self.result is not None or not self._process.is_alive()

    @property
    def end(self) -> str:
        """Description of the end of the process, see `exit_text`."""
        return exit_text(self._process.exitcode)

    def request_stop(self, number: int) -> None:
        """Order it to end because of this signal; `close` waits for the end."""
        if self._process.pid is not None and self._process.is_alive():
            self._order.value = number
            self._stop_requested_s = time.monotonic()
            send_stop(self._process.pid)

    def kill(self) -> None:
        """Kill it at once."""
        self._process.kill()
        self._process.join()
        self._line.close()

    def close(self) -> None:
        """Wait for its end, and kill it after the time limit."""
        end_s = self._stop_requested_s + PATIENCE_S + GRACE_S
        while not self.has_ended and time.monotonic() < end_s:
            wait_for_any(self.waitable, timeout=0.1)
            self.messages()
        self._process.join(_EXIT_S if self.has_ended else 0.0)
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        # It may end by itself at the same time.
        if self._order.value != 0 and self._process.exitcode != 0:
            self.was_killed = self.result is None
        self._line.close()


@contextlib.contextmanager
def run_beside(
    name: str, work: Callable[[], ResultT], *, is_fork: bool = IS_COMMAND and CAN_FORK
) -> Iterator[Callable[[], ResultT]]:
    """Run a function in a fork beside the block.

    Args:
        name: what the function makes, for an error; a plural.
        work: function with a pickled result. It may raise `TestbedError`.
        is_fork: False: it runs in this process, when its result is asked for.

    Yields:
        Function that waits for the result, or raises what the work raised.
    """
    if not is_fork:
        yield work
        return
    worker: Worker[_Caught[ResultT]] = Worker(partial(_caught, work), is_fork=True)
    try:
        yield partial(_result_of, worker, name)
    except BaseException:
        worker.kill()
        raise


_Caught = tuple[ResultT | None, str, bool]
"""A result, or None, the error's text, and True if it is a bad input."""


def _caught(work: Callable[[], ResultT], _send: Send) -> _Caught[ResultT]:
    try:
        return work(), "", False
    except TestbedError as error:
        return None, str(error), isinstance(error, BadInput)


def _result_of(worker: Worker[_Caught[ResultT]], name: str) -> ResultT:
    while not worker.has_ended:
        wait_for_any(worker.waitable)
        worker.messages()
    worker.messages()  # of a process that ended between two of these lines
    worker.close()
    if worker.result is None:
        raise TestbedError(
            f"{name} are missing: their process {worker.end}; memory may have run out."
        )
    result, error, is_bad_input = worker.result
    if result is None:
        raise (BadInput if is_bad_input else TestbedError)(error)
    return result


def exit_text(code: int | None) -> str:
    """Describe the end of a process, such as `was ended by SIGSEGV`.

    Args:
        code: exit code in the form of `multiprocessing`.
    """
    if code is None or code >= 0:
        return f"ended with exit status {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def _run(
    line: "Connection[Any, Any]",
    order: "Synchronized[int]",
    work: Callable[[Send], object],
) -> None:
    """Run the work in the new process."""
    try:
        raise_on_stop(order)
    except KeyboardInterrupt:  # a signal during the loading of code
        return
    threading.Thread(target=_end_with_parent, args=(order,), daemon=True).start()

    def send(is_result: bool, value: object) -> None:
        with contextlib.suppress(BrokenPipeError):  # the parent was just killed
            line.send((is_result, value))

    send(True, work(partial(send, False)))


def _end_with_parent(order: "Synchronized[int]") -> None:
    """End a worker whose parent was killed."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        order.value = ORPHANED
        send_stop(os.getpid())
        time.sleep(PATIENCE_S + GRACE_S)
        os._exit(1)


def start_workers(
    start: Callable[[], StartedT],
    blocked: Sequence[int] = (signal.SIGINT, *END_SIGNALS),
) -> StartedT:
    """Start single-threaded processes without signals, by calling `start`.

    Both properties must hold before their imports: numpy reads its number of threads
    only then, and a terminal sends SIGINT (`timeout` SIGTERM) to all processes, which
    would print tracebacks of imports. This process gets the signals too and stops the
    workers. A process inherits the blocked signals of the thread that starts it; here
    that is not Python's main thread, where signals continue to raise.

    Args:
        start: runs in a separate thread, completely even if this one is interrupted.
        blocked: blocked signals; ending ones may end a process with nothing to save.

    Returns:
        Result of `start`.

    Raises:
        KeyboardInterrupt: a signal arrived during the start.
    """
    started: Future[StartedT] = Future()
    thread = threading.Thread(target=_start_in, args=(started, start))
    try:
        with blocked_signals(blocked):
            thread.start()
        return started.result()
    finally:
        if thread.ident is not None:
            wait([started])


def _start_in(started: "Future[StartedT]", start: Callable[[], StartedT]) -> None:
    threads = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        with children_ignore_ctrl_c():
            started.set_result(start())
    except BaseException as error:  # noqa: BLE001  # for who waits
        started.set_exception(error)
    finally:
        if threads is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = threads
