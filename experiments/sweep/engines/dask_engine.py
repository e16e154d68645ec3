"""The engine of many machines: workers of a dask.distributed scheduler.

Every worker has one trial at a time, and the next one follows a result. The trial of a
worker that is killed therefore is known, and goes to another. Results come back to this
process, which stores them: workers need no common disc.
"""

import contextlib
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from experiments.sweep.engines.dask_cluster import (
    Installation,
    check_workers,
    connect,
    differing,
    own_installation,
    thread_fault,
    unfit,
)
from experiments.sweep.engines.seam import MOST_DEATHS, OnResult, Work, lost_worker
from experiments.sweep.trial import Trial, TrialOutcome
from models import BadInput, TestbedError

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK_S = 1.0
"""How often it looks for new workers while it waits, in s."""


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
class _Task:
    trial: Trial
    deaths: int = 0
    """Of workers, under this trial."""
    run: str = field(default_factory=lambda: uuid4().hex[:8])
    """Tells it from the same trial of another sweep on the same cluster."""

    @property
    def key(self) -> str:
        return f"nao-testbed-{self.trial.key}-{self.run}-{self.deaths}"


class DaskEngine:
    """Runs trials on a cluster; `with` it, a client is connected until its end."""

    def __init__(self, address: str) -> None:
        """Remember where.

        Args:
            address: of the scheduler, such as `tcp://127.0.0.1:8786`.
        """
        self.address = address
        self._connected: Client | None = None
        self._workers = 0
        self._log_level = logging.NOTSET

    def __enter__(self) -> Self:
        """Connect, and look at the workers that are there.

        Raises:
            BadInput: nothing listens, or a worker is not fit.
        """
        logger = logging.getLogger("distributed")
        self._log_level = logger.level
        logger.setLevel(logging.CRITICAL)  # what goes wrong is raised, and told once
        try:
            self._connected = connect(self.address)
            check_workers(self._client, own_installation())
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Disconnect; scheduler and workers stay."""
        if self._connected is not None:
            self._connected.close(timeout=LOOK_S)
        self._connected = None
        logging.getLogger("distributed").setLevel(self._log_level)

    @property
    def _client(self) -> "Client":
        if self._connected is None:
            raise RuntimeError("use a DaskEngine within its own `with`")
        return self._connected

    @property
    def workers(self) -> int:
        """Those that are there now; none is no fault, they may still come.

        Where the scheduler is too busy to tell, or the engine has ended: those that
        were there at last.
        """
        if self._connected is not None:
            try:
                self._workers = len(self._connected.nthreads())
            except OSError:
                if self._connected.status != "running":
                    raise
        return self._workers

    def run(self, trials: Iterable[Trial], work: Work, on_result: OnResult) -> None:
        """See `SweepEngine.run`.

        Raises:
            BadInput: a worker that joined is not fit.
            TestbedError: the scheduler went away.
        """
        at_work: dict[Future[Any], _Task] = {}
        left = (_Task(trial=trial) for trial in trials)
        try:
            while self._give(left, work, at_work):
                for future in self._ended(at_work):
                    task = at_work.pop(future)
                    with self._loss_told():  # a result is fetched only now
                        outcome = _outcome_of(future, task)
                    future.release()  # else dask would run it again with its worker
                    if outcome is None:
                        at_work[self._submit(task, work)] = task
                    else:
                        on_result(task.trial, outcome)
        finally:
            self._forget(at_work)

    @contextlib.contextmanager
    def _loss_told(self) -> Iterator[None]:
        """Say it when the scheduler is lost, and not when a disc is full."""
        try:
            yield
        except (OSError, CancelledError) as error:
            raise TestbedError(
                f"the scheduler at {self.address} went away ({error}); what has ended "
                "is kept, and the same command goes on with the rest."
            ) from error

    def _give(
        self, left: Iterator[_Task], work: Work, at_work: "dict[Future[Any], _Task]"
    ) -> bool:
        """Give every free worker a trial; False where none runs or is left."""
        with self._loss_told():
            free = max(1, self.workers) - len(at_work)
        while free > 0 and (task := next(left, None)) is not None:
            at_work[self._submit(task, work)] = task
            free -= 1
        return bool(at_work)

    def _submit(self, task: _Task, work: Work) -> "Future[Any]":
        wanted = own_installation()
        with self._loss_told():
            return self._client.submit(
                run_there, work, task.trial, wanted, key=task.key, pure=False
            )

    def _ended(self, at_work: "dict[Future[Any], _Task]") -> "list[Future[Any]]":
        """Wait a while, and return those that have ended."""
        from distributed import wait  # noqa: PLC0415  # optional and heavy

        with self._loss_told(), self._client.as_current():
            try:
                done = wait(list(at_work), LOOK_S, return_when="FIRST_COMPLETED")
            except TimeoutError:  # an OSError too
                return []
            for future in done.done:
                if future.status not in ("finished", "error"):
                    raise CancelledError("it forgot a trial")
        return list(done.done)

    def _forget(self, at_work: "dict[Future[Any], _Task]") -> None:
        """Let no worker begin a trial that nobody waits for."""
        if at_work and self._client.status == "running":
            self._client.cancel(list(at_work), force=True)


def _outcome_of(future: "Future[Any]", task: _Task) -> TrialOutcome | None:
    """Return what came of a trial; None where its workers died: try again.

    Raises:
        UnfitWorker: a worker may not take part.
    """
    from distributed import KilledWorker  # noqa: PLC0415  # optional and heavy

    if future.status == "finished":
        outcome: TrialOutcome = future.result()
        return outcome
    error = future.exception()
    if isinstance(error, KilledWorker):
        task.deaths += error.allowed_failures + 1
        return lost_worker(task.deaths) if task.deaths >= MOST_DEATHS else None
    if isinstance(error, UnfitWorker):
        raise error
    return TrialOutcome.lost(f"{type(error).__name__}: {error}")
