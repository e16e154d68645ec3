"""A trial on a cluster of dask.distributed: its key there, and what came of it."""

from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from experiments.sweep.engines.dask_cluster import (
    Installation,
    differing,
    own_installation,
    thread_fault,
    unfit,
)
from experiments.sweep.engines.seam import MOST_DEATHS, Work, lost_worker
from experiments.sweep.trial import Trial, TrialOutcome
from models import BadInput

if TYPE_CHECKING:
    from distributed import Future

_RUN_AGAIN = ("lost", "pending")
"""What dask calls a trial whose worker died with its result: it runs it again."""


class UnfitWorker(BadInput):
    """A worker that joined later has other versions or several threads."""


def run_there(work: Work, trial: Trial, wanted: Installation) -> TrialOutcome:
    """Run a trial on a worker that is fit for it; called there.

    Raises:
        UnfitWorker: it would find other numbers.
    """
    from distributed import get_worker  # noqa: PLC0415  # optional and heavy

    worker = get_worker()
    wrong = differing(own_installation(), wanted) + thread_fault(worker.state.nthreads)
    if wrong:
        raise UnfitWorker(unfit(worker.address, wrong))
    return work(trial)


@dataclass(kw_only=True)
class Task:
    """A trial that is given to the cluster."""

    trial: Trial
    deaths: int = 0
    """Of workers, under this trial."""
    run: str = field(default_factory=lambda: uuid4().hex[:8])
    """Tells it from the same trial of another sweep on the same cluster."""

    @property
    def key(self) -> str:
        """Return what dask calls it; another one after each death."""
        return f"nao-testbed-{self.trial.key}-{self.run}-{self.deaths}"


def is_run_again(future: "Future[Any]") -> bool:
    """Return whether a trial that had ended is run anew.

    So it is where its worker died before the result was fetched.
    """
    return future.status in _RUN_AGAIN


def outcome_of(future: "Future[Any]", task: Task) -> TrialOutcome | None:
    """Return what came of a trial; None where its workers died: try again.

    Raises:
        CancelledError: the scheduler forgot it, as it does when the connection breaks.
        UnfitWorker: a worker may not take part.
    """
    from distributed import KilledWorker  # noqa: PLC0415  # optional and heavy

    if future.status == "finished":
        outcome: TrialOutcome = future.result()
        return outcome
    error = future.exception() if future.status == "error" else None
    if error is None:  # cancelled by now, from another thread
        raise CancelledError("it forgot a trial")
    if isinstance(error, KilledWorker):
        task.deaths += error.allowed_failures + 1
        return lost_worker(task.deaths) if task.deaths >= MOST_DEATHS else None
    if isinstance(error, UnfitWorker):
        raise error
    return TrialOutcome.lost(f"{type(error).__name__}: {error}")
