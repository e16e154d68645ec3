"""Run the arms of an experiment side by side, each in a process of its own.

PyBullet is not thread-safe and one robot fills one core. Workers report their
simulated time through a queue; errors come back as text, so that a message is shown
once and by the parent. Ctrl-C is the parent's alone: it tells the workers to stop, and
each closes its run folder. A worker whose parent was killed does the same.
"""

import contextlib
import multiprocessing as mp
import os
import queue
import signal
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import Synchronized
from typing import TypeVar

from experiments.closed_loop.trial import TrialCfg, run_trial
from experiments.closed_loop.trial_result import TrialResult
from experiments.common.signals import (
    ENDING,
    StoppedBySignal,
    noted_signals,
    order_to_stop,
)
from models import BadInput, TestbedError

StartedT = TypeVar("StartedT")
TrialProgress = Callable[[int, float], None]
"""Told the number of an arm and its simulated time in s."""


@dataclass(frozen=True, kw_only=True)
class WorkerOutcome:
    """What a worker hands back: a result, or why there is none."""

    result: TrialResult | None = None
    error: str | None = None
    is_bad_input: bool = False

    def needed(self) -> TrialResult:
        """Return the result.

        Raises:
            BadInput: the arm refused its configuration.
            TestbedError: it could not go on.
        """
        if self.result is None:
            raise (BadInput if self.is_bad_input else TestbedError)(self.error)
        return self.result


@dataclass(frozen=True, kw_only=True)
class _Line:
    """What connects a worker with its parent."""

    reports: "Queue[tuple[int, float]]"
    stop: "Synchronized[int]"
    """The signal that asks them to end; 0: none."""


_line: _Line | None = None
_at_work = threading.Lock()
"""Held by a worker that runs an arm."""


def _start_worker(
    reports: "Queue[tuple[int, float]]", stop: "Synchronized[int]"
) -> None:
    global _line  # noqa: PLW0603  # one line a worker process
    _line = _Line(reports=reports, stop=stop)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End a worker that waits for work when its parent was killed: none will come."""
    parent = mp.parent_process()
    if parent is not None:
        parent.join()
        with _at_work:  # one at work closes its run folder first
            os._exit(1)


def _work(number: int, cfg: TrialCfg) -> WorkerOutcome:
    def report(time_s: float) -> None:
        if _line is None:
            return
        if _is_orphan():
            raise KeyboardInterrupt("the process that started it was killed")
        if _line.stop.value:
            raise order_to_stop(_line.stop.value)
        _line.reports.put((number, time_s))

    try:
        with _at_work:
            return WorkerOutcome(result=run_trial(cfg, report))
    except TestbedError as error:
        return WorkerOutcome(error=str(error), is_bad_input=isinstance(error, BadInput))
    except KeyboardInterrupt:
        return WorkerOutcome(error="interrupted")


def _is_orphan() -> bool:
    parent = mp.parent_process()
    return parent is not None and not parent.is_alive()


def run_side_by_side(
    arms: Sequence[TrialCfg], on_progress: TrialProgress
) -> list[TrialResult]:
    """Run all arms as `outcomes_side_by_side` does; each of them must have a result.

    Returns:
        The results in the order of the arms.

    Raises:
        BadInput: an arm refused its configuration.
        TestbedError: an arm could not go on.
        KeyboardInterrupt: after every arm has closed its run folder.
    """
    return [outcome.needed() for outcome in outcomes_side_by_side(arms, on_progress)]


def outcomes_side_by_side(
    arms: Sequence[TrialCfg], on_progress: TrialProgress
) -> list[WorkerOutcome]:
    """Run all arms, as many at a time as there are cores.

    Args:
        arms: what to run.
        on_progress: told the number and simulated time of an arm, now and then.

    Returns:
        In the order of the arms; what one of them cannot do stops no other.

    Raises:
        TestbedError: the only arm has no result; or BadInput, likewise.
        KeyboardInterrupt: after every arm has closed its run folder.
    """
    if len(arms) == 1:  # no process to start: faster, and a debugger can follow
        return [
            WorkerOutcome(
                result=run_trial(arms[0], lambda time_s: on_progress(0, time_s))
            )
        ]
    context = mp.get_context("spawn")
    reports: Queue[tuple[int, float]] = context.Queue()
    stop = context.Value("i", 0)
    workers = min(len(arms), os.cpu_count() or 1)
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(reports, stop)
    ) as pool:
        futures: list[Future[WorkerOutcome]] = []

        def submit() -> None:
            futures.extend(pool.submit(_work, i, arm) for i, arm in enumerate(arms))

        try:
            with noted_signals() as check:
                start_workers(submit)
                _follow(futures, reports, on_progress, check)
            return [_outcome(future) for future in futures]
        except KeyboardInterrupt as order:
            stop.value = (
                order.number if isinstance(order, StoppedBySignal) else signal.SIGINT
            )
            for future in futures:
                future.cancel()
            raise


def _outcome(future: "Future[WorkerOutcome]") -> WorkerOutcome:
    try:
        return future.result()
    except BrokenProcessPool:
        return WorkerOutcome(
            error="the process of a robot was killed, perhaps for want of memory; the "
            "run folders hold what was recorded."
        )


def start_workers(
    start: Callable[[], StartedT], unheard: Sequence[int] = (signal.SIGINT, *ENDING)
) -> StartedT:
    """Start processes that use one thread each and get no signals, by calling `start`.

    Both must be so before they import anything: numpy asks for its threads only then,
    and a terminal sends SIGINT (`timeout` SIGTERM) to all, which would print tracebacks
    out of imports. This process, which gets them too, tells the workers to stop: a
    process inherits which signals are blocked from the thread that starts it, and that
    is another one than Python's main thread, where signals raise all the while.

    Args:
        start: runs in a thread of its own, to its end also if this one is interrupted.
        unheard: the signals; those that end a process may end one with nothing to save.

    Returns:
        What it returns.

    Raises:
        KeyboardInterrupt: a signal came meanwhile.
    """
    started: Future[StartedT] = Future()
    thread = threading.Thread(target=_start_in, args=(started, start))
    resource_tracker.ensure_running()  # it would unblock them when it starts
    try:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, unheard)
        try:
            thread.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return started.result()
    finally:
        if thread.ident is not None:
            wait([started])


def _start_in(started: "Future[StartedT]", start: Callable[[], StartedT]) -> None:
    threads = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        started.set_result(start())
    except BaseException as error:  # noqa: BLE001  # for who waits
        started.set_exception(error)
    finally:
        if threads is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = threads


def _follow(
    futures: Sequence["Future[WorkerOutcome]"],
    reports: "Queue[tuple[int, float]]",
    on_progress: TrialProgress,
    check: Callable[[], None],
) -> None:
    pending = set(futures)
    while pending:
        check()
        _, pending = wait(pending, timeout=0.1)
        with contextlib.suppress(queue.Empty):
            while True:
                on_progress(*reports.get_nowait())
