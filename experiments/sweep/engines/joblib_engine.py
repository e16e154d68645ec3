"""The engine of one machine: processes of joblib's loky, one pool a worker.

loky ends all processes of a pool when one of them dies. Each worker therefore is a pool
of its own: its death costs the trial that it was at, and says which one that was.
"""

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from typing import Self

from joblib.externals.loky.process_executor import (
    BrokenProcessPool,
    ProcessPoolExecutor,
)

from experiments.heat.side_by_side import start_workers
from experiments.sweep.engines import MOST_DEATHS, OnResult, Work, lost_worker
from experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from models import BadInput

ORPHAN_PERIOD_S = 1.0
"""How often a worker looks whether its parent is still there, in s."""
SENDING_S = 1.0
"""What is waited for a trial to reach its worker's queue at most, in s."""


class JoblibEngine:
    """Runs trials in processes of this machine; `with` it, they live until its end."""

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
        self._slots: list[_Slot] = []

    def __enter__(self) -> Self:
        """Return itself; processes start with their first trial."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the processes, at once if something was raised."""
        for slot in self._slots:
            slot.close(at_once=error != (None, None, None))
        self._slots = []

    def run(
        self, trials: Iterable[SweepTrial], work: Work, on_result: OnResult
    ) -> None:
        """See `SweepEngine.run`."""
        left = iter(trials)
        while len(self._slots) < self.workers:
            self._slots.append(_Slot())
        at_work: dict[Future[TrialOutcome], _Slot] = {}
        try:
            for slot in self._slots:
                _give_next(slot, left, work, at_work)
            while at_work:
                for future in wait(at_work, return_when=FIRST_COMPLETED).done:
                    slot = at_work.pop(future)
                    trial = slot.trial
                    outcome = slot.outcome_of(future)
                    if outcome is None:
                        at_work[slot.start(trial, work)] = slot
                        continue
                    # The worker goes on before the disc is waited for.
                    _give_next(slot, left, work, at_work)
                    on_result(trial, outcome)
        except BaseException:
            for slot in self._slots:
                slot.close(at_once=True)
            self._slots = []
            raise


def _give_next(
    slot: "_Slot",
    left: Iterator[SweepTrial],
    work: Work,
    at_work: "dict[Future[TrialOutcome], _Slot]",
) -> None:
    trial = next(left, None)
    if trial is not None:
        slot.deaths = 0
        at_work[slot.start(trial, work)] = slot


class _Slot:
    """One worker: a pool with one process, made anew when that died."""

    trial: SweepTrial
    """That it is at, or was at last."""

    def __init__(self) -> None:
        self.deaths = 0
        """Of workers, under the present trial."""
        self._pool: ProcessPoolExecutor | None = None
        self._future: Future[TrialOutcome] | None = None

    def start(self, trial: SweepTrial, work: Work) -> "Future[TrialOutcome]":
        """Give the worker a trial."""
        self.trial = trial
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

    def outcome_of(self, future: "Future[TrialOutcome]") -> TrialOutcome | None:
        """Return what came of the trial; None where the worker died: try again."""
        try:
            return future.result()
        except BrokenProcessPool:
            self.close(at_once=True)
            self.deaths += 1
            return lost_worker(self.deaths) if self.deaths >= MOST_DEATHS else None

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
