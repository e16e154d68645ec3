"""Engine for many machines: workers of a dask.distributed scheduler.

Every worker has one trial at a time, and gets the next one after its result. So the
trial of a killed worker is known, and is assigned to another worker. This process
receives and stores all results: workers need no shared disk.
"""

import contextlib
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from nao_testbed.experiments.sweep.engines import (
    MAX_DEATHS,
    SweepEngine,
    Task,
    Work,
    lost_worker,
    run_guarded,
)
from nao_testbed.experiments.sweep.engines.dask_cluster import (
    Installation,
    check_workers,
    connect,
    differing,
    incompatible,
    own_installation,
    quiet_logs,
    thread_fault,
)
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.models import BadInput, TestbedError

if TYPE_CHECKING:
    from distributed import Client, Future


_RUN_AGAIN = ("lost", "pending")
"""State in dask of a trial whose worker died with the result; dask runs it again."""


class UnfitWorker(BadInput):
    """A worker that joined later has other versions or several threads."""


def run_there(work: Work, trial: SweepTrial, wanted: Installation) -> TrialOutcome:
    """Run a trial on a worker after a check of the worker; called there.

    Raises:
        UnfitWorker: the worker would give other results.
    """
    from distributed import get_worker  # noqa: PLC0415  # optional and heavy

    worker = get_worker()
    wrong = differing(own_installation(), wanted) + thread_fault(worker.state.nthreads)
    if wrong:
        raise UnfitWorker(incompatible(worker.address, wrong))
    return run_guarded(work, trial)


def outcome_of(future: "Future[Any]", task: Task) -> TrialOutcome | None:
    """Return the outcome of a trial; None if its workers died, for another attempt.

    Raises:
        CancelledError: the scheduler lost the trial, as after a broken connection.
        UnfitWorker: a worker is unfit.
    """
    from distributed import KilledWorker  # noqa: PLC0415  # optional and heavy

    if future.status == "finished":
        outcome: TrialOutcome = future.result()
        return outcome
    error = future.exception() if future.status == "error" else None
    if error is None:  # cancelled from another thread
        raise CancelledError("it forgot a trial")
    if isinstance(error, KilledWorker):
        task.deaths += error.allowed_failures + 1
        return lost_worker(task) if task.deaths >= MAX_DEATHS else None
    if isinstance(error, UnfitWorker):
        raise error
    return TrialOutcome.lost(f"{type(error).__name__}: {error}")


LOOK_S = 1.0
"""Period of checks for new workers during a wait, in s."""
CLOSE_S = 5.0
"""Time limit of the disconnection, in s."""


class DaskEngine(SweepEngine):
    """Engine for a cluster, with a client that is connected during the `with` block.

    `run` also raises `BadInput` if a new worker is unfit, and `TestbedError` if the
    scheduler is lost.
    """

    def __init__(self, address: str) -> None:
        """Store the address.

        Args:
            address: address of the scheduler, such as `tcp://127.0.0.1:8786`.
        """
        self.address = address
        self._connected: Client | None = None
        self._workers = 0
        self._at_exit = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Connect, and check the present workers.

        Raises:
            BadInput: no scheduler listens, or a worker is unfit.
            TestbedError: the scheduler was lost.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(quiet_logs())
            stack.callback(self._disconnect)
            self._connected = connect(self.address)
            with self._loss_reported():
                check_workers(self._client, own_installation())
            self._at_exit = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """Disconnect; scheduler and workers stay."""
        self._at_exit.close()

    def _disconnect(self) -> None:
        client, self._connected = self._connected, None
        if client is not None:
            with contextlib.suppress(TimeoutError):  # ended trials are already stored
                client.close(timeout=CLOSE_S)

    @property
    def _client(self) -> "Client":
        if self._connected is None:
            raise RuntimeError("use a DaskEngine within its own `with`")
        return self._connected

    @property
    def workers(self) -> int:
        """Number of present workers; it may be 0, as workers may still join.

        If the scheduler is busy or lost, or the engine has ended: the last number.
        """
        if self._connected is not None and self._connected.status == "running":
            with contextlib.suppress(OSError):
                self._workers = len(self._connected.nthreads())
        return self._workers

    @contextlib.contextmanager
    def _loss_reported(self) -> Iterator[None]:
        """Report the loss of the scheduler, but not other errors such as a full disk.

        A broken connection is not awaited, since trials are lost with it.
        """
        try:
            if self._client.status != "running":
                raise CancelledError("the connection broke")
            yield
        except TestbedError:
            raise
        except Exception as error:
            is_lost = self._client.status != "running"
            if not is_lost and not isinstance(error, OSError | CancelledError):
                raise
            raise TestbedError(
                f"the scheduler at {self.address} was lost ({error}); finished trials "
                "are kept, and the same command resumes the sweep."
            ) from error

    def _submit(self, task: Task, work: Work) -> "Future[Any]":
        # Unique name, since the same trial may run in another sweep on this cluster.
        key = f"nao-testbed-{task.trial.key}-{uuid4().hex[:8]}"
        wanted = own_installation()
        with self._loss_reported():
            return self._client.submit(
                run_there, work, task.trial, wanted, key=key, pure=False
            )

    def _ended(self, at_work: "Collection[Future[Any]]") -> "Iterable[Future[Any]]":
        from distributed import wait  # noqa: PLC0415  # optional and heavy

        with self._loss_reported(), self._client.as_current():
            try:
                done = wait(list(at_work), LOOK_S, return_when="FIRST_COMPLETED")
            except TimeoutError:  # a subclass of OSError
                return []
        return list(done.done)

    def _runs_again(self, future: "Future[Any]") -> bool:
        with self._loss_reported():
            return future.status in _RUN_AGAIN

    def _outcome(self, future: "Future[Any]", task: Task) -> TrialOutcome | None:
        with self._loss_reported():  # a result is fetched only now
            outcome = outcome_of(future, task)
        future.release()  # otherwise dask may run it again
        return outcome

    def _stop(self, at_work: "Collection[Future[Any]]") -> None:
        """Cancel trials that have not begun; do not hide the present error."""
        from distributed.client import ClosedClientError  # noqa: PLC0415  # as above

        if at_work and self._client.status == "running":
            with contextlib.suppress(OSError, ClosedClientError):
                self._client.cancel(list(at_work), force=True)
