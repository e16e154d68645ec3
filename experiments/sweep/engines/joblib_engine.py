"""Engine for one machine: processes of joblib's loky, one pool per worker.

loky ends all processes of a pool when one of them dies. Each worker is therefore a
separate pool: its death affects and identifies only its present trial. A trial beyond
its time limit is ended with its process and all child processes.
"""

import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Collection, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial

from joblib.externals.loky import process_executor
from joblib.externals.loky.process_executor import (
    BrokenProcessPool,
    ProcessPoolExecutor,
)

from nao_testbed.experiments.common.workers import start_workers
from nao_testbed.experiments.sweep.engines import (
    MAX_DEATHS,
    SweepEngine,
    Task,
    Work,
    lost_worker,
    run_guarded,
)
from nao_testbed.experiments.sweep.engines.trial_limit import TrialLimit, took_too_long
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.models import BadInput
from nao_testbed.models.system import processors, wait_for_parent

SENDING_S = 1.0
"""Longest wait for trials to reach their workers' queues, in s."""
LOOK_S = 0.2
"""Period in s of checks for signals and for trials beyond their limit."""
FAULTS = "PYTHONFAULTHANDLER"
"""Environment variable; if unset, loky prints a long text for each crashed process."""
GROWTH_BYTES = 1_500_000_000
"""Growth of a worker's memory after which loky replaces its process. Its own limit of
300 MB, from the size before the first trial, is reached by trials without a leak."""
REPLACED = "A worker stopped while some jobs were given"
"""Start of loky's warning of it, which no user can act on."""
_ENDING = re.compile(r"\b(SIG\w+|EXIT)\((-?\d+)\)")
"""Pattern of loky's text on the cause of a process's end."""


class JoblibEngine(SweepEngine):
    """Engine with processes of this machine, which live during the `with` block."""

    workers = 0
    """Number of processes."""

    def __init__(
        self, workers: int | None = None, limit_s: float | None = None
    ) -> None:
        """Set the number of processes.

        Args:
            workers: number of processes; None: the number of cores of this process.
            limit_s: time limit of a trial in s; None: see `TrialLimit`.

        Raises:
            BadInput: a value is not above 0.
        """
        if workers is not None and workers < 1:
            raise BadInput(f"jobs is {workers}; give 1 or more.")
        self.workers = workers or processors()
        self._free = [_Slot() for _ in range(self.workers)]
        self._busy: dict[Future[TrialOutcome], _Slot] = {}
        self._limit = TrialLimit(limit_s)
        warnings.filterwarnings("ignore", REPLACED, UserWarning)

    def _submit(self, task: Task, work: Work) -> "Future[TrialOutcome]":
        slot = self._free.pop()
        future = slot.start(task.trial, work)
        self._busy[future] = slot
        return future

    def _ended(
        self, at_work: "Collection[Future[TrialOutcome]]"
    ) -> "Iterable[Future[TrialOutcome]]":
        done = wait(at_work, LOOK_S, return_when=FIRST_COMPLETED).done
        return done or [f for f in at_work if self._busy[f].ran_s() > self._limit_s(f)]

    def _limit_s(self, future: "Future[TrialOutcome]") -> float:
        return self._limit.of(self._busy[future].trial)

    def _outcome(
        self, future: "Future[TrialOutcome]", task: Task
    ) -> TrialOutcome | None:
        limit_s = self._limit_s(future)
        slot = self._busy.pop(future)
        self._free.append(slot)
        if not future.done():
            _close([slot], at_once=True)
            return took_too_long(limit_s)
        try:
            outcome = future.result()
        except BrokenProcessPool as error:
            _close([slot], at_once=True)
            task.deaths += 1
            is_last = task.deaths >= MAX_DEATHS
            return lost_worker(task, _ending_in(str(error))) if is_last else None
        self._limit.note(outcome)
        return outcome

    def _stop(self, at_work: "Collection[Future[TrialOutcome]]") -> None:
        del at_work  # all processes end
        self._end_all(at_once=True)

    def __exit__(self, *error: object) -> None:
        """End the processes; immediately after an error."""
        self._end_all(at_once=error != (None, None, None))

    def _end_all(self, *, at_once: bool) -> None:
        self._free += self._busy.values()
        self._busy = {}
        _close(self._free, at_once=at_once)


def _ending_in(text: str) -> str | None:
    """Return the cause of a process's end from loky's text, or None."""
    found = _ENDING.search(text)
    if found is None:
        return None
    return f"exit status {found[2]}" if found[1] == "EXIT" else found[1]


class _Slot:
    """Worker: a pool with one process, which is replaced after its death."""

    trial: SweepTrial
    """Last assigned trial."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._future: Future[TrialOutcome] | None = None
        self._begin_s: float | None = None

    def start(self, trial: SweepTrial, work: Work) -> "Future[TrialOutcome]":
        """Assign a trial to the worker."""
        self.trial = trial
        if self._pool is not None:
            try:
                self._begin_s = time.monotonic()
                return self._submit(self._pool, trial, work)
            except BrokenProcessPool:  # the process died while idle
                _close([self], at_once=True)
        self._begin_s = None
        self._pool = ProcessPoolExecutor(
            1,
            initializer=_start_worker,
            initargs=(os.getpid(),),
            env={"OMP_NUM_THREADS": "1", FAULTS: os.environ.get(FAULTS, "")},
        )
        return start_workers(partial(self._begin, self._pool, trial, work))

    def ran_s(self) -> float:
        """Return the running time of its trial in s, without the process's start."""
        return 0.0 if self._begin_s is None else time.monotonic() - self._begin_s

    def _begin(
        self, pool: ProcessPoolExecutor, trial: SweepTrial, work: Work
    ) -> "Future[TrialOutcome]":
        """Assign the first trial to a starting process."""
        pool.submit(_load, work).add_done_callback(self._has_started)
        return self._submit(pool, trial, work)

    def _has_started(self, _: "Future[None]") -> None:
        self._begin_s = time.monotonic()

    def _submit(
        self, pool: ProcessPoolExecutor, trial: SweepTrial, work: Work
    ) -> "Future[TrialOutcome]":
        future: Future[TrialOutcome] = pool.submit(run_guarded, work, trial)
        self._future = future
        return future

    def is_sent(self) -> bool:
        """Return True if its last trial was sent to the worker."""
        future = self._future
        return future is None or future.running() or future.done()

    def close(self, *, at_once: bool) -> None:
        """End the process; with `at_once`, kill it and its child processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=not at_once, kill_workers=at_once)
        self._pool = self._future = None


def _close(slots: Collection[_Slot], *, at_once: bool) -> None:
    """End workers; with `at_once` as soon as their trials were sent (milliseconds).

    In a pool that is ended earlier, the thread of loky 3.6 crashes: it removes the
    trial from its list and then looks it up there.
    """
    end = time.monotonic() + SENDING_S
    while at_once and time.monotonic() < end:
        if all(slot.is_sent() for slot in slots):
            break
        time.sleep(0.001)
    for slot in slots:
        slot.close(at_once=at_once)


def _load(work: Work) -> None:
    """Import the modules of a trial, which takes seconds in a new process."""
    del work


def _start_worker(parent: int) -> None:
    """Ignore Ctrl-C, which the parent handles; end with the parent; allow growth."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    process_executor._MAX_MEMORY_LEAK_SIZE = GROWTH_BYTES
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    wait_for_parent(parent)
    os._exit(1)
