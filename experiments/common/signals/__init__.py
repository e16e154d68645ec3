"""Signals that end a run like Ctrl-C; data are stored with the signal's name."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing.sharedctypes import Synchronized
from types import FrameType

from nao_testbed.experiments.common.signals.watchdog import kill_if_blocked
from nao_testbed.models.system import END_SIGNALS, STOP, enable_stop, interrupt

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""
PATIENCE_S = 5.0
"""Time in s after a signal for a loop to reach its next cycle."""
GRACE_S = 3.0
"""Time in s from the error of a signal to the end of a process that hangs."""
KILL_S = 1.0
"""Further time for a process whose code blocks all other threads, in s."""
ORPHANED = -1
"""Number used instead of a signal if the parent process was killed."""


class StoppedBySignal(KeyboardInterrupt):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        """Create the error for a signal.

        Args:
            number: number of the signal.
        """
        self.number = number
        self.exit_status = 128 + number
        """Exit status, as in shells."""
        super().__init__(f"stopped by {signal.Signals(number).name}")


def end_while_loading() -> None:
    """Make Ctrl-C end a command silently while it loads its code.

    Python would print a traceback of the import; `install_interrupt_handler` undoes it.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def install_interrupt_handler() -> None:
    """Make Ctrl-C raise KeyboardInterrupt again, and record it."""
    _interrupts.clear()
    if signal.getsignal(signal.SIGINT) in (_end, signal.default_int_handler):
        signal.signal(signal.SIGINT, _interrupt)


def was_interrupted() -> bool:
    """Return True if Ctrl-C arrived since `install_interrupt_handler`.

    A library may have converted it into another error: pydantic does, while it builds
    the validator of a class.
    """
    return bool(_interrupts)


_interrupts: list[int] = []
_seen: list[int] = []
"""Signals received since the start of the outermost `deferred_signals`, or outside of
it."""
_depth = 0
"""Number of open `deferred_signals` of the main thread."""


def is_stop_signal(error: BaseException) -> bool:
    """Return True if an error was caused by a signal, not raised by foreign code.

    With Python's own handler this is unknown, and the error counts as a signal.
    """
    if isinstance(error, StoppedBySignal):
        return True
    is_ours = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return isinstance(error, KeyboardInterrupt) and (bool(_seen) or not is_ours)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _end_if_over(number)
    _interrupts.append(number)
    _seen.append(number)
    signal.default_int_handler(number, frame)


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    os._exit(INTERRUPTED)


def _end_if_over(number: int) -> None:
    """End a process that only waits for threads, where no code would catch errors."""
    if not threading.main_thread().is_alive():
        os._exit(128 + number)


def raise_on_stop(order: "Synchronized[int]") -> None:
    """Make `STOP` raise the error of the number in `order` in the main thread.

    Args:
        order: shared with the ordering process: a signal, or `ORPHANED`.
    """
    global _depth, _order  # one a process
    _depth, _order = 0, order  # in a fork, the depth of its parent
    signal.signal(STOP, _stop)
    enable_stop(lambda: order.value != 0)


_order: "Synchronized[int] | None" = None


def install_stop_handlers() -> None:
    """Make the signals raise `StoppedBySignal` in the main thread from now on.

    Signals that were ignored at the start, as by `nohup`, stay ignored.
    """
    for number in END_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


@contextmanager
def temporary_stop_handlers() -> Iterator[None]:
    """Make the signals raise `StoppedBySignal` within the context."""
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    install_stop_handlers()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    _end_if_over(number)
    _seen.append(number)
    raise stop_error(number)


@contextmanager
def deferred_signals(
    patience_s: float | None = None,
) -> Iterator[Callable[[], None]]:
    """Record signals within the context; raise for the first one at the end.

    A KeyboardInterrupt may be lost (`__del__`, a callback from C) or cause damage:
    inside `concurrent.futures.wait` it leaves the lock of a future held forever.
    Outside the main thread, where no signal raises, this does nothing.

    Args:
        patience_s: time in s after the first signal at which the error is raised at the
            present instruction, so that blocked code can be ended; a second signal
            raises at once. If that fails, the process ends `GRACE_S` later, and is
            killed 1 s after that. None: never.

    Yields:
        A function that raises for the first recorded signal; call it where that is
        safe.

    Raises:
        KeyboardInterrupt: a signal arrived.
    """
    global _depth  # noqa: PLW0603  # of the one main thread
    received: list[int] = []
    reminders: list[threading.Timer] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(number)
        _seen.append(number)
        if patience_s is None:
            return
        if len(received) > 1:
            raise stop_error(received[0])
        reminders.append(
            _later(patience_s, lambda: interrupt(number)),
        )
        reminders.append(_later(patience_s + GRACE_S, lambda: _give_up(number)))

    def check() -> None:
        if received:
            raise stop_error(received[0])

    before = {}
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        if _depth == 0:
            _seen.clear()
        _depth += 1
        for number in (signal.SIGINT, *END_SIGNALS, STOP):
            if callable(handler := signal.getsignal(number)):
                before[number] = handler
                signal.signal(number, note)
    guard: AbstractContextManager[None] = nullcontext()
    if before and patience_s is not None:
        guard = kill_if_blocked(patience_s + GRACE_S + KILL_S)
    try:
        with guard:
            yield check
    finally:
        _depth -= is_main
        for reminder in reminders:
            reminder.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
    check()


def _later(wait_s: float, do: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(wait_s, do)
    timer.daemon = True
    timer.start()
    return timer


def _give_up(number: int) -> None:
    """End a process whose code swallows the errors of signals, with one message.

    A process stopped by its parent prints nothing, since the parent reports it.
    """
    stop = stop_error(number)
    if _order is None or _order.value in {0, ORPHANED}:
        os.write(
            2,
            f"{stop_reason(stop)}; code that did not return was ended with this "
            "process; run folders hold what was recorded.\n".encode(),
        )
    os._exit(exit_status(stop))


def exit_despite_threads(status: int) -> None:
    """End this process within `GRACE_S`, regardless of threads of foreign code.

    Python waits forever for threads that are not daemons, and a signal during that wait
    prints a traceback.

    Args:
        status: exit status.
    """

    def end() -> None:
        main.join()
        time.sleep(GRACE_S)
        os._exit(status)

    main = threading.main_thread()
    if any(not t.daemon for t in threading.enumerate() if t is not main):
        threading.Thread(target=end, daemon=True).start()


def stop_error(number: int) -> KeyboardInterrupt:
    """Return the error that SIGINT, one of `END_SIGNALS` or `STOP` raises."""
    if number == STOP and _order is not None:
        number = _order.value
    if number == ORPHANED:
        return KeyboardInterrupt("the process that started it was killed")
    is_ours = number == signal.SIGINT
    return KeyboardInterrupt() if is_ours else StoppedBySignal(number)


def exit_status(stop: BaseException | None) -> int:
    """Return the exit status of a stopped command."""
    return stop.exit_status if isinstance(stop, StoppedBySignal) else INTERRUPTED


def stop_reason(stop: KeyboardInterrupt) -> str:
    """Return the reason that a run folder records for a stopped run."""
    reason = str(stop) or "stopped by the user (Ctrl-C)"
    return "; ".join([reason, *getattr(stop, "__notes__", ())])
