"""The engine of many machines: workers of a dask.distributed scheduler.

Every worker has one trial at a time, and the next one follows a result. The trial of a
worker that is killed therefore is known, and goes to another. Results come back to this
process, which stores them: workers need no common disc.
"""

import contextlib
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from experiments.sweep.engines.dask_cluster import (
    check_workers,
    connect,
    own_installation,
    quiet_logs,
)
from experiments.sweep.engines.dask_task import (
    Task,
    is_run_again,
    outcome_of,
    run_there,
)
from experiments.sweep.engines.seam import OnResult, Work
from experiments.sweep.trial import Trial
from models import TestbedError

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK_S = 1.0
"""How often it looks for new workers while it waits, in s."""
CLOSE_S = 5.0
"""How long it may take to disconnect, in s."""


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
        self._at_exit = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Connect, and look at the workers that are there.

        Raises:
            BadInput: nothing listens, or a worker is not fit.
            TestbedError: the scheduler went away.
        """
        with contextlib.ExitStack() as stack:
            stack.enter_context(quiet_logs())
            stack.callback(self._disconnect)
            self._connected = connect(self.address)
            with self._loss_told():
                check_workers(self._client, own_installation())
            self._at_exit = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Disconnect; scheduler and workers stay."""
        self._at_exit.close()

    def _disconnect(self) -> None:
        client, self._connected = self._connected, None
        if client is not None:
            with contextlib.suppress(TimeoutError):  # what has ended is kept already
                client.close(timeout=CLOSE_S)

    @property
    def _client(self) -> "Client":
        if self._connected is None:
            raise RuntimeError("use a DaskEngine within its own `with`")
        return self._connected

    @property
    def workers(self) -> int:
        """Those that are there now; none is no fault, they may still come.

        Where the scheduler is too busy to tell, or gone, or the engine has ended:
        those that were there at last.
        """
        if self._connected is not None and self._connected.status == "running":
            with contextlib.suppress(OSError):
                self._workers = len(self._connected.nthreads())
        return self._workers

    def run(self, trials: Iterable[Trial], work: Work, on_result: OnResult) -> None:
        """See `SweepEngine.run`.

        Raises:
            BadInput: a worker that joined is not fit.
            TestbedError: the scheduler went away.
        """
        at_work: dict[Future[Any], Task] = {}
        left = (Task(trial=trial) for trial in trials)
        try:
            while self._give(left, work, at_work):
                for future in self._ended(at_work):
                    with self._loss_told():  # a result is fetched only now
                        if is_run_again(future):
                            continue
                        outcome = outcome_of(future, at_work[future])
                    task = at_work.pop(future)
                    future.release()  # else dask would run it again with its worker
                    if outcome is None:
                        at_work[self._submit(task, work)] = task
                    else:
                        on_result(task.trial, outcome)
        finally:
            self._forget(at_work)

    @contextlib.contextmanager
    def _loss_told(self) -> Iterator[None]:
        """Say it when the scheduler is lost, and not when a disc is full.

        A connection that broke is not waited for: trials are lost with it.
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
                f"the scheduler at {self.address} went away ({error}); what has ended "
                "is kept, and the same command goes on with the rest."
            ) from error

    def _give(
        self, left: Iterator[Task], work: Work, at_work: "dict[Future[Any], Task]"
    ) -> bool:
        """Give every free worker a trial; False where none runs or is left."""
        free = max(1, self.workers) - len(at_work)
        while free > 0 and (task := next(left, None)) is not None:
            at_work[self._submit(task, work)] = task
            free -= 1
        return bool(at_work)

    def _submit(self, task: Task, work: Work) -> "Future[Any]":
        wanted = own_installation()
        with self._loss_told():
            return self._client.submit(
                run_there, work, task.trial, wanted, key=task.key, pure=False
            )

    def _ended(self, at_work: "dict[Future[Any], Task]") -> "list[Future[Any]]":
        """Wait a while, and return those that have ended."""
        from distributed import wait  # noqa: PLC0415  # optional and heavy

        with self._loss_told(), self._client.as_current():
            try:
                done = wait(list(at_work), LOOK_S, return_when="FIRST_COMPLETED")
            except TimeoutError:  # an OSError too
                return []
        return list(done.done)

    def _forget(self, at_work: "dict[Future[Any], Task]") -> None:
        """Let no worker begin a trial that nobody waits for.

        It is called on every way out, and hides no error on its way.
        """
        from distributed.client import ClosedClientError  # noqa: PLC0415  # as above

        if at_work and self._client.status == "running":
            with contextlib.suppress(OSError, ClosedClientError):
                self._client.cancel(list(at_work), force=True)
