"""Parallel execution of the trials of an experiment, each in a separate process.

PyBullet is not thread-safe, and one robot uses one core. Workers report their simulated
time; errors are returned as text, so that the parent shows each message once. Only the
parent handles Ctrl-C: it stops the workers, and each closes its run folder
(`experiments.common.workers`).
"""

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.common.signals import (
    StoppedBySignal,
    deferred_signals,
    is_stop_signal,
)
from nao_testbed.experiments.common.workers import Send, Worker
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.system import processors

TrialProgress = Callable[[int, float], None]
"""Function of the number of a trial and its simulated time in s."""


@dataclass(frozen=True, kw_only=True)
class WorkerOutcome:
    """Outcome of a worker: a result, or the reason for none."""

    result: TrialResult | None = None
    error: str | None = None
    is_bad_input: bool = False

    def needed(self) -> TrialResult:
        """Return the result.

        Raises:
            BadInput: the trial rejected its configuration.
            TestbedError: the trial failed.
        """
        if self.result is None:
            raise (BadInput if self.is_bad_input else TestbedError)(self.error)
        return self.result


def _work(cfg: TrialCfg, report: Send) -> WorkerOutcome:
    try:
        return WorkerOutcome(result=run_trial(cfg, report))
    except TestbedError as error:
        return WorkerOutcome(error=str(error), is_bad_input=isinstance(error, BadInput))
    except BaseException as error:  # noqa: BLE001  a constructor can raise anything
        if is_stop_signal(error):
            return WorkerOutcome(error="interrupted")
        return WorkerOutcome(
            error=f"controller {cfg.controller!r} raised {type(error).__name__}: "
            f"{error}".rstrip(": ")
            + "."
        )


def run_side_by_side(
    trials: Sequence[TrialCfg], on_progress: TrialProgress
) -> list[TrialResult]:
    """Run all trials in parallel; each must have a result.

    Returns:
        The results in the order of the trials.

    Raises:
        BadInput: a trial rejected its configuration.
        TestbedError: a trial failed.
        KeyboardInterrupt: after every trial has closed its run folder.
    """
    return [outcome.needed() for outcome in outcomes_side_by_side(trials, on_progress)]


def outcomes_side_by_side(
    trials: Sequence[TrialCfg],
    on_progress: TrialProgress,
    on_free_core: Callable[[], None] = lambda: None,
) -> list[WorkerOutcome]:
    """Run all trials, in parallel on all cores.

    Args:
        trials: trials to run.
        on_progress: function called with the number and simulated time of a trial.
        on_free_core: function called when a trial has ended, none is waiting, and
            others still run.

    Returns:
        Outcomes in the order of the trials; a failed one does not stop the others.

    Raises:
        TestbedError, BadInput: the only trial failed, or rejected its configuration.
        KeyboardInterrupt: after every trial has closed its run folder or was killed; a
            note names controllers that did not return.
    """
    if len(trials) == 1:  # in this process: faster, and usable with a debugger
        return [
            WorkerOutcome(
                result=run_trial(trials[0], lambda time_s: on_progress(0, time_s))
            )
        ]
    import pyarrow.parquet  # noqa: F401, PLC0415  # slow, once for all forks
    import scipy.optimize  # noqa: F401, PLC0415  # the same

    waiting = list(enumerate(trials))[::-1]
    at_work: dict[int, Worker[WorkerOutcome]] = {}
    outcomes: dict[int, WorkerOutcome] = {}
    try:
        with deferred_signals() as check:
            while waiting or at_work:
                check()
                while waiting and len(at_work) < processors():
                    number, trial = waiting.pop()
                    at_work[number] = Worker(partial(_work, trial))
                wait([one for w in at_work.values() for one in w.waitable], timeout=0.1)
                for number, worker in list(at_work.items()):
                    has_ended = worker.has_ended  # first, so no message is lost
                    for time_s in worker.messages():
                        on_progress(number, time_s)
                    if has_ended or worker.has_ended:
                        del at_work[number]
                        worker.close()
                        outcomes[number] = _outcome(worker, trials[number].controller)
                        if at_work and not waiting:
                            on_free_core()
    except BaseException as stop:
        _end(at_work, trials, stop)
        raise
    return [outcomes[number] for number in range(len(trials))]


def _outcome(worker: Worker[WorkerOutcome], controller: str) -> WorkerOutcome:
    return worker.result or WorkerOutcome(
        error=f"the process of controller {controller!r} {worker.end}: its code "
        "ended or crashed it, or memory ran out; its run folder holds what was "
        "recorded."
    )


def _end(
    at_work: dict[int, Worker[WorkerOutcome]],
    trials: Sequence[TrialCfg],
    stop: BaseException,
) -> None:
    """End the running workers; note in `stop` the controllers that did not return."""
    order = stop.number if isinstance(stop, StoppedBySignal) else signal.SIGINT
    for worker in at_work.values():
        worker.request_stop(order)
    for number, worker in at_work.items():
        worker.close()
        if worker.was_killed:
            stop.add_note(
                f"controller {trials[number].controller!r} did not return, its process "
                "was killed"
            )
