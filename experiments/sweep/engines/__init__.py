"""Engines for the trials of a sweep: this process, this machine, or a cluster.

Every engine has the same properties, under one shared test suite:

- `on_result` is called once for each trial, in the calling thread, in any order;
- trials are taken from the iterable on demand, never all at once;
- the death of a worker affects only its trial, which is run again; after `MAX_DEATHS`
  deaths the trial's outcome reports them;
- any error of a trial is its outcome, even a KeyboardInterrupt, since signals arrive at
  this process;
- a signal ends the workers and is passed on; results given to `on_result` are kept.

`SerialEngine`, without processes, is for debuggers, notebooks and tests: a trial that
hangs or crashes there affects this process.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from nao_testbed.experiments.common.signals import PATIENCE_S, deferred_signals
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome

MAX_DEATHS = 3
"""Number of worker deaths after which a trial counts as failed."""

Work = Callable[[SweepTrial], TrialOutcome]
"""Function that runs a trial: importable by name, writes nothing, never raises."""
OnResult = Callable[[SweepTrial, TrialOutcome], None]
"""Function called with each ended trial, in the process that runs the sweep."""


@dataclass(kw_only=True)
class Task:
    """Trial assigned to a worker."""

    trial: SweepTrial
    deaths: int = 0
    """Number of workers that died during this trial."""


class SweepEngine(ABC):
    """Engine of trials; enter it once (`with engine:`), call `run` for each stage.

    A subclass submits trials to its executors (`_submit`) and converts their futures
    to outcomes.
    """

    @property
    @abstractmethod
    def workers(self) -> int:
        """Number of parallel trials, for an estimate of the remaining time."""

    def run(
        self, trials: Iterable[SweepTrial], work: Work, on_result: OnResult
    ) -> None:
        """Run all trials and return when the last has ended.

        Raises:
            KeyboardInterrupt: after the workers were stopped.
        """
        at_work: dict[Any, Task] = {}
        try:
            with deferred_signals(PATIENCE_S) as check:
                left = (Task(trial=trial) for trial in trials)
                self._dispatch(left, work, at_work)
                while at_work:
                    check()
                    for future in self._ended(at_work):
                        if self._runs_again(future):
                            continue
                        outcome = self._outcome(future, at_work[future])
                        task = at_work.pop(future)
                        if outcome is None:
                            at_work[self._submit(task, work)] = task
                            continue
                        # The worker gets its next trial before the result is written to
                        # disk.
                        self._dispatch(left, work, at_work)
                        on_result(task.trial, outcome)
                        check()
                    self._dispatch(left, work, at_work)  # to workers that joined
        except BaseException:
            self._stop(at_work)
            raise

    def _dispatch(
        self, left: Iterator[Task], work: Work, at_work: dict[Any, Task]
    ) -> None:
        """Assign a trial to every free worker."""
        free = max(1, self.workers) - len(at_work)
        while free > 0 and (task := next(left, None)) is not None:
            at_work[self._submit(task, work)] = task
            free -= 1

    @abstractmethod
    def _submit(self, task: Task, work: Work) -> Any:
        """Assign a trial to a free worker; return the future of its outcome."""

    @abstractmethod
    def _ended(self, at_work: Collection[Any]) -> Iterable[Any]:
        """Wait for a short time, and return the futures that are done."""

    @abstractmethod
    def _outcome(self, future: Any, task: Task) -> TrialOutcome | None:
        """Return the outcome of a trial; None for another attempt after a death."""

    def _runs_again(self, future: Any) -> bool:
        """Return True if a completed future runs again."""
        del future
        return False

    @abstractmethod
    def _stop(self, at_work: Collection[Any]) -> None:
        """Start no further trials after an error."""

    def __enter__(self) -> Self:
        """Prepare the engine; workers start now or with the first trial."""
        return self

    @abstractmethod
    def __exit__(self, *error: object) -> None:
        """End the workers."""


def lost_worker(task: Task, how: str | None = None) -> TrialOutcome:
    """Return the outcome of a trial under which workers died.

    Args:
        task: trial that was running.
        how: cause of the last death, such as `SIGSEGV`; None: unknown.
    """
    if how in (None, "SIGKILL"):
        died = f"was killed {task.deaths} times, perhaps out of memory"
    else:
        died = f"ended {task.deaths} times ({how})"
    return TrialOutcome.lost(
        f"the process of its controller {task.trial.controller!r} {died}; run the "
        "sweep again to retry."
    )


def run_guarded(
    work: Work, trial: SweepTrial, passed: type[BaseException] | tuple[()] = ()
) -> TrialOutcome:
    """Run a trial; any error is its outcome.

    Args:
        work: function that runs trial to run.
        trial: the trial.
        passed: errors that are passed on. None in workers, which get no signals: there
            even a KeyboardInterrupt comes from a controller.
    """
    try:
        return work(trial)
    except passed:
        raise
    except BaseException as error:  # noqa: BLE001  # one trial must not end the others
        raised = type(error).__name__
        text = f"{raised}: {error}".rstrip(": .")
        return TrialOutcome.lost(f"controller {trial.controller!r} raised {text}.")


class SerialEngine:
    """Engine that runs one trial after the other in this process; see `SweepEngine`."""

    workers = 1

    def run(
        self, trials: Iterable[SweepTrial], work: Work, on_result: OnResult
    ) -> None:
        """Run all trials, and report each before the next one begins."""
        for trial in trials:
            on_result(trial, run_guarded(work, trial, passed=KeyboardInterrupt))


Engine = SweepEngine | SerialEngine
