"""Who runs the trials of a sweep: this process, others of this machine, a cluster.

Every engine keeps the same laws, under one shared suite of tests:

- `on_result` is called once for each trial, in the calling thread, in any order;
- trials are drawn from the iterable as they are needed, never all at once;
- a worker that dies costs only its trial, which is run again; after `MOST_DEATHS`
  deaths under the same trial its outcome says so;
- Ctrl-C ends the workers and is passed on; what `on_result` was told is kept.

`SerialEngine`, without processes, is for debuggers, notebooks and tests.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, Self

from experiments.sweep.sweep_trial import SweepTrial, TrialOutcome

MOST_DEATHS = 3
"""Workers that may die under a trial before it counts as failed."""

Work = Callable[[SweepTrial], TrialOutcome]
"""Runs a trial: importable by name, writes nothing, never raises."""
OnResult = Callable[[SweepTrial, TrialOutcome], None]
"""Told of each trial that has ended, in the process that runs the sweep."""


class SweepEngine(Protocol):
    """Runs trials; `with engine:` once, `run` as often as there are stages."""

    @property
    def workers(self) -> int:
        """Trials that run at the same time, for an estimate of what is left."""
        ...

    def run(
        self, trials: Iterable[SweepTrial], work: Work, on_result: OnResult
    ) -> None:
        """Run all trials and return when the last has ended.

        Raises:
            KeyboardInterrupt: after the workers were told to end.
        """
        ...

    def __enter__(self) -> Self:
        """Get ready; workers may start now or with the first trial."""
        ...

    def __exit__(self, *error: object) -> None:
        """End the workers."""
        ...


def lost_worker(deaths: int) -> TrialOutcome:
    """Return the outcome of a trial under which workers died."""
    return TrialOutcome.lost(
        f"its process was killed {deaths} times, perhaps for want of memory; run the "
        "sweep again to try once more"
    )


class SerialEngine:
    """Runs one trial after the other in this process."""

    workers = 1

    def run(
        self, trials: Iterable[SweepTrial], work: Work, on_result: OnResult
    ) -> None:
        """See `SweepEngine.run`."""
        for trial in trials:
            on_result(trial, work(trial))

    def __enter__(self) -> Self:
        """Return itself; nothing to start."""
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to end."""
