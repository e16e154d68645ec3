"""The engine of one machine: processes of joblib's loky, one pool a worker.

loky ends all processes of a pool when one of them dies. Each worker therefore is a pool
of its own: its death costs the trial that it was at, and says which one that was.
"""

import os
import signal
import threading
import time
from collections.abc import Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial

from joblib.externals.loky.process_executor import (
    BrokenProcessPool,
    ProcessPoolExecutor,
)

from experiments.heat.side_by_side import start_workers
from experiments.sweep.engines import (
    MOST_DEATHS,
    SweepEngine,
    Task,
    Work,
    lost_worker,
)
from experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from models import BadInput

ORPHAN_PERIOD_S = 1.0
"""How often a worker looks whether its parent is still there, in s."""
SENDING_S = 1.0
"""What is waited for a trial to reach its worker's queue at most, in s."""


class JoblibEngine(SweepEngine):
    """Runs trials in processes of this machine; `with` it, they live until its end."""

    workers = 0
    """How many processes."""

    def __init__(self, workers: int | None = None) -> None:
        """Choose how many.

        Args:
            workers: processes; None: as many as there are cores for this process.

        Raises:
            BadInput: it is not above 0.
        """
        if workers is not None and workers < 1:
            raise BadInput(f"jobs is {workers}; give 1 or more.")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._free = [_Slot() for _ in range(self.workers)]
        self._busy: dict[Future[TrialOutcome], _Slot] = {}

    def _submit(self, task: Task, work: Work) -> "Future[TrialOutcome]":
        slot = self._free.pop()
        future = slot.start(task.trial, work)
        self._busy[future] = slot
        return future

    def _ended(
        self, at_work: "Collection[Future[TrialOutcome]]"
    ) -> "Iterable[Future[TrialOutcome]]":
        return wait(at_work, return_when=FIRST_COMPLETED).done

    def _outcome(
        self, future: "Future[TrialOutcome]", task: Task
    ) -> TrialOutcome | None:
        slot = self._busy.pop(future)
        self._free.append(slot)
        try:
            return future.result()
        except BrokenProcessPool:
            slot.close(at_once=True)
            task.deaths += 1
            return lost_worker(task.deaths) if task.deaths >= MOST_DEATHS else None

    def _stop(self, at_work: "Collection[Future[TrialOutcome]]") -> None:
        del at_work  # all processes end
        self._close(at_once=True)

    def __exit__(self, *error: object) -> None:
        """End the processes, at once if something was raised."""
        self._close(at_once=error != (None, None, None))

    def _close(self, *, at_once: bool) -> None:
        self._free += self._busy.values()
        self._busy = {}
        for slot in self._free:
            slot.close(at_once=at_once)


class _Slot:
    """One worker: a pool with one process, made anew when that died."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._future: Future[TrialOutcome] | None = None

    def start(self, trial: SweepTrial, work: Work) -> "Future[TrialOutcome]":
        """Give the worker a trial."""
        if self._pool is not None:
            try:
                return self._submit(self._pool, trial, work)
            except BrokenProcessPool:  # it died while it had nothing to do
                self.close(at_once=True)
        self._pool = ProcessPoolExecutor(
            1,
            initializer=_start_worker,
            initargs=(os.getpid(),),
            env={"OMP_NUM_THREADS": "1"},
        )
        return start_workers(partial(self._submit, self._pool, trial, work))

    def _submit(
        self, pool: ProcessPoolExecutor, trial: SweepTrial, work: Work
    ) -> "Future[TrialOutcome]":
        future: Future[TrialOutcome] = pool.submit(work, trial)
        self._future = future
        return future

    def close(self, *, at_once: bool) -> None:
        """End the process."""
        if self._pool is not None:
            if at_once:
                self._wait_until_sent()
            self._pool.shutdown(wait=not at_once, kill_workers=at_once)
        self._pool = self._future = None

    def _wait_until_sent(self) -> None:
        """Wait until the last trial has left for the worker, which takes milliseconds.

        A pool that is ended before loses it, and its thread dies of that: loky 3.6
        takes the trial out of its list and then looks it up there.
        """
        future, end = self._future, time.monotonic() + SENDING_S
        while future is not None and not (future.running() or future.done()):
            if time.monotonic() > end:
                return
            time.sleep(0.001)


def _start_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when that has been killed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(ORPHAN_PERIOD_S)
    os._exit(1)
