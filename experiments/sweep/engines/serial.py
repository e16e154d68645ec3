"""The engine without processes: for debuggers, notebooks and tests."""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from experiments.sweep.engines.seam import OnResult, Work
from experiments.sweep.trial import Trial


class SerialEngine:
    """Runs one trial after the other in this process."""

    workers = 1

    def run(self, trials: Iterable[Trial], work: Work, on_result: OnResult) -> None:
        """See `SweepEngine.run`."""
        for trial in trials:
            on_result(trial, work(trial))

    def __enter__(self) -> Self:
        """Return itself; nothing to start."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to end."""
