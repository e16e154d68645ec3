"""Signals that end a run as Ctrl-C does: data are kept, with the signal's name."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing.sharedctypes import Synchronized
from types import FrameType

from nao_testbed.experiments.common.signals.watchman import watched
from nao_testbed.models.system import ENDING, ORDER, await_order, interrupt

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""
PATIENCE_S = 5.0
"""What a loop has until its next cycle, once a signal came."""
GRACE_S = 3.0
"""What is left, after a signal raised in code that did not return, before the end."""
KILL_S = 1.0
"""What is left after that to a process whose code lets nothing else run."""
ORPHANED = -1
"""In the place of a signal: the process that started this one was killed."""


_MAIN = threading.main_thread()


class StoppedBySignal(KeyboardInterrupt):
    """A signal asked this process to end."""

    def __init__(self, number: int) -> None:
        """Say which one.

        Args:
            number: of the signal.
        """
        self.number = number
        self.exit_status = 128 + number
        """As a shell has it."""
        super().__init__(f"stopped by {signal.Signals(number).name}")


def end_while_loading() -> None:
    """Let Ctrl-C end a command that still loads its code, at once and silently.

    Python would show where in which import it was. `heed_interrupts` ends this.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def heed_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, and `was_interrupted` know of it."""
    _interrupts.clear()
    if signal.getsignal(signal.SIGINT) in (_end, signal.default_int_handler):
        signal.signal(signal.SIGINT, _interrupt)


def was_interrupted() -> bool:
    """Return whether Ctrl-C came since `heed_interrupts`.

    A library may have made an error of its own of it: pydantic does, while it builds
    the validator of a class.
    """
    return bool(_interrupts)


_interrupts: list[int] = []
_seen: list[int] = []
"""Signals that came since the outermost `noted_signals` began, or outside of one."""
_depth = 0
"""How many `noted_signals` of the main thread are under way."""


def is_order(error: BaseException) -> bool:
    """Return whether an error comes from a signal; foreign code may raise the same.

    Where Python's own handler is in force, nobody knows: it is taken for one.
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
    """End a process that only waits for threads: nobody would catch what is raised."""
    if not _MAIN.is_alive():
        os._exit(128 + number)


def obey(order: "Synchronized[int]") -> None:
    """Let `ORDER` raise in the main thread what the number in `order` stands for.

    Args:
        order: shared with the process that gives orders: a signal, or `ORPHANED`.
    """
    global _order  # noqa: PLW0603  # one a process
    _order = order
    signal.signal(ORDER, _stop)
    await_order(lambda: order.value != 0)


_order: "Synchronized[int] | None" = None


def heed_stop_signals() -> None:
    """Let the signals raise `StoppedBySignal` in the main thread from now on.

    One that this process was started to ignore, as by `nohup`, it goes on to ignore.
    """
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


@contextmanager
def heeded_stop_signals() -> Iterator[None]:
    """Let the signals raise `StoppedBySignal` meanwhile."""
    before = {number: signal.getsignal(number) for number in ENDING}
    heed_stop_signals()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    _end_if_over(number)
    _seen.append(number)
    raise order_to_stop(number)


@contextmanager
def noted_signals(
    patience_s: float | None = None,
) -> Iterator[Callable[[], None]]:
    """Only note the signals that would raise meanwhile; at the end raise for the first.

    A KeyboardInterrupt may come where it is lost (`__del__`, a callback from C) or does
    harm: inside `concurrent.futures.wait` it leaves the lock of a future held for ever.
    Outside the main thread, where no signal raises, there is nothing to do.

    Args:
        patience_s: how long after the first signal one raises where the program is, as
            a second that comes from outside does at once, so that code which does not
            return can be ended; where that does not help, the process ends `GRACE_S`
            later, and 1 s later it is killed. None: never.

    Yields:
        A function that raises for the first signal there was; call it where that is
        safe.

    Raises:
        KeyboardInterrupt: a signal came.
    """
    global _depth  # noqa: PLW0603  # of the one main thread
    noted: list[int] = []
    reminders: list[threading.Timer] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        noted.append(number)
        _seen.append(number)
        if patience_s is None:
            return
        if len(noted) > 1:
            raise order_to_stop(noted[0])
        reminders.append(
            _later(patience_s, lambda: interrupt(number)),
        )
        reminders.append(_later(patience_s + GRACE_S, lambda: _give_up(number)))

    def check() -> None:
        if noted:
            raise order_to_stop(noted[0])

    before = {}
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        if _depth == 0:
            _seen.clear()
        _depth += 1
        for number in (signal.SIGINT, *ENDING, ORDER):
            if callable(handler := signal.getsignal(number)):
                before[number] = handler
                signal.signal(number, note)
    guard: AbstractContextManager[None] = nullcontext()
    if before and patience_s is not None:
        guard = watched(patience_s + GRACE_S + KILL_S)
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
    """End a process whose code swallows what a signal raises, and say so once.

    What is told to end by another process is silent: that one says it.
    """
    stop = order_to_stop(number)
    if _order is None or _order.value in {0, ORPHANED}:
        os.write(
            2,
            f"{why_stopped(stop)}; code that did not return was ended with this "
            "process; run folders hold what was recorded.\n".encode(),
        )
    os._exit(exit_status(stop))


def end_despite_threads(status: int) -> None:
    """Let this process end within `GRACE_S`, whatever threads foreign code left.

    Python waits for threads that are no daemons, for ever if need be, and a signal
    meanwhile ends it in a traceback.

    Args:
        status: with which it ends.
    """

    def end() -> None:
        threading.main_thread().join()
        time.sleep(GRACE_S)
        os._exit(status)

    if any(not t.daemon for t in threading.enumerate() if t is not _MAIN):
        threading.Thread(target=end, daemon=True).start()


def order_to_stop(number: int) -> KeyboardInterrupt:
    """Return what a signal raises: SIGINT, one of `ENDING`, or `ORDER` for these."""
    if number == ORDER and _order is not None:
        number = _order.value
    if number == ORPHANED:
        return KeyboardInterrupt("the process that started it was killed")
    is_ours = number == signal.SIGINT
    return KeyboardInterrupt() if is_ours else StoppedBySignal(number)


def exit_status(stop: BaseException | None) -> int:
    """Return the status with which a command ends that was stopped."""
    return stop.exit_status if isinstance(stop, StoppedBySignal) else INTERRUPTED


def why_stopped(stop: KeyboardInterrupt) -> str:
    """Return what a run folder says of a run that was stopped."""
    why = str(stop) or "stopped by the user (Ctrl-C)"
    return "; ".join([why, *getattr(stop, "__notes__", ())])
