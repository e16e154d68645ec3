"""Who runs the trials of a sweep: this process, others of this machine, a cluster.

Every engine keeps the same laws, under one shared suite of tests:

- `on_result` is called once for each trial, in the calling thread, in any order;
- trials are drawn from the iterable as they are needed, never all at once;
- a worker that dies costs only its trial, which is run again; after `MOST_DEATHS`
  deaths under the same trial its outcome says so;
- whatever a trial raises is its outcome, be it a KeyboardInterrupt: signals come to
  this process;
- a signal ends the workers and is passed on; what `on_result` was told is kept.

`SerialEngine`, without processes, is for debuggers, notebooks and tests: a trial that
hangs or crashes there takes this process with it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from nao_testbed.experiments.common.signals import PATIENCE_S, noted_signals
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome

MOST_DEATHS = 3
"""Workers that may die under a trial before it counts as failed."""

Work = Callable[[SweepTrial], TrialOutcome]
"""Runs a trial: importable by name, writes nothing, never raises."""
OnResult = Callable[[SweepTrial, TrialOutcome], None]
"""Told of each trial that has ended, in the process that runs the sweep."""


@dataclass(kw_only=True)
class Task:
    """A trial that was given to a worker."""

    trial: SweepTrial
    deaths: int = 0
    """Of workers, under this trial."""


class SweepEngine(ABC):
    """Runs trials; `with engine:` once, `run` as often as there are stages.

    A subclass hands them to executors of its own (`_submit`) and says what came of
    their futures.
    """

    @property
    @abstractmethod
    def workers(self) -> int:
        """Trials that run at the same time, for an estimate of what is left."""

    def run(
        self, trials: Iterable[SweepTrial], work: Work, on_result: OnResult
    ) -> None:
        """Run all trials and return when the last has ended.

        Raises:
            KeyboardInterrupt: after the workers were told to end.
        """
        at_work: dict[Any, Task] = {}
        try:
            with noted_signals(PATIENCE_S) as check:
                left = (Task(trial=trial) for trial in trials)
                self._give(left, work, at_work)
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
                        # The worker goes on before the disc is waited for.
                        self._give(left, work, at_work)
                        on_result(task.trial, outcome)
                        check()
                    self._give(left, work, at_work)  # to workers that came
        except BaseException:
            self._stop(at_work)
            raise

    def _give(self, left: Iterator[Task], work: Work, at_work: dict[Any, Task]) -> None:
        """Give every free worker a trial."""
        free = max(1, self.workers) - len(at_work)
        while free > 0 and (task := next(left, None)) is not None:
            at_work[self._submit(task, work)] = task
            free -= 1

    @abstractmethod
    def _submit(self, task: Task, work: Work) -> Any:
        """Give a free worker a trial; return the future of its outcome."""

    @abstractmethod
    def _ended(self, at_work: Collection[Any]) -> Iterable[Any]:
        """Wait a while, and return the futures that are done."""

    @abstractmethod
    def _outcome(self, future: Any, task: Task) -> TrialOutcome | None:
        """Return what came of a trial; None where its worker died: try again."""

    def _runs_again(self, future: Any) -> bool:
        """Tell whether a future that was done is not any more."""
        del future
        return False

    @abstractmethod
    def _stop(self, at_work: Collection[Any]) -> None:
        """Begin no more trials, as something was raised."""

    def __enter__(self) -> Self:
        """Get ready; workers may start now or with the first trial."""
        return self

    @abstractmethod
    def __exit__(self, *error: object) -> None:
        """End the workers."""


def lost_worker(task: Task, how: str | None = None) -> TrialOutcome:
    """Return the outcome of a trial under which workers died.

    Args:
        task: the trial.
        how: the last one ended, such as `SIGSEGV`; None: not known.
    """
    if how in (None, "SIGKILL"):
        died = f"was killed {task.deaths} times, perhaps for want of memory"
    else:
        died = f"ended {task.deaths} times ({how})"
    return TrialOutcome.lost(
        f"the process of its controller {task.trial.controller!r} {died}; run the "
        "sweep again to try once more."
    )


def guarded(
    work: Work, trial: SweepTrial, passed: type[BaseException] | tuple[()] = ()
) -> TrialOutcome:
    """Run a trial; whatever it raises is its outcome.

    Args:
        work: runs it.
        trial: what it runs.
        passed: what is raised all the same. Nothing in workers, which get no signals:
            even a KeyboardInterrupt was raised by a controller there.
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
    """Runs one trial after the other in this process; see `SweepEngine`."""

    workers = 1

    def run(
        self, trials: Iterable[SweepTrial], work: Work, on_result: OnResult
    ) -> None:
        """Run all trials, each told before the next one begins."""
        for trial in trials:
            on_result(trial, guarded(work, trial, passed=KeyboardInterrupt))


Engine = SweepEngine | SerialEngine
