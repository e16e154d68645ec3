"""Outcomes of trials on a cluster, and dask's answers after a failure.

Futures and client are fakes: on a real cluster the order of answers is
random.
"""

import logging
from concurrent.futures import CancelledError
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from nao_testbed.experiments.sweep.engines import Task, dask_engine
from nao_testbed.experiments.sweep.engines.dask_cluster import quiet_logs
from nao_testbed.experiments.sweep.engines.dask_engine import DaskEngine, outcome_of
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.models import TestbedError
from tests.experiments.sweep.engines.fake_work import fake_work, trial
from tests.experiments.sweep.outcomes import result

DONE = TrialOutcome(result=result(flags={"number": 0}))


@dataclass(eq=False)
class FakeFuture:
    status: str = "finished"
    raises: BaseException | None = None
    error: BaseException | None = None
    is_released: bool = False

    def result(self) -> TrialOutcome:
        if self.raises is not None:
            raise self.raises
        return DONE

    def exception(self) -> BaseException | None:
        return self.error

    def release(self) -> None:
        self.is_released = True


class FakeClient:
    """Fake client that returns the given futures, one per trial."""

    def __init__(self, *futures: FakeFuture) -> None:
        self.futures = list(futures)
        self.status = "running"
        self.raises: Exception | None = None
        self.cancelled = 0

    def submit(self, *_: object, **__: object) -> FakeFuture:
        if self.raises is not None:
            raise self.raises
        return self.futures.pop(0)

    def nthreads(self) -> dict[str, int]:
        if self.raises is not None:
            raise self.raises
        return {"one": 1, "two": 1}

    def cancel(self, futures: list[FakeFuture], **_: object) -> None:
        self.cancelled += len(futures)
        if self.raises is not None:
            raise self.raises

    def as_current(self) -> "FakeClient":
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def engine_of(client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> DaskEngine:
    import distributed

    def wait(futures: list[FakeFuture], *_: object, **__: object) -> Any:
        return SimpleNamespace(done=list(futures))

    monkeypatch.setattr(distributed, "wait", wait)
    monkeypatch.setattr(dask_engine, "own_installation", lambda: None)
    engine = DaskEngine("tcp://127.0.0.1:1")
    monkeypatch.setattr(engine, "_connected", client)
    return engine


def run(engine: DaskEngine, count: int) -> list[TrialOutcome]:
    told: list[TrialOutcome] = []
    trials = (trial(number) for number in range(count))
    engine.run(trials, fake_work, lambda _, outcome: told.append(outcome))
    return told


@pytest.mark.parametrize(
    "future",
    [
        FakeFuture(status="cancelled"),
        FakeFuture(status="error"),  # cancelled between two looks at it
        FakeFuture(raises=CancelledError("lost")),
    ],
)
def test_a_forgotten_trial_has_no_outcome(future: Any) -> None:
    with pytest.raises(CancelledError):
        outcome_of(future, Task(trial=trial(0)))


def test_an_error_of_a_trial_is_its_outcome() -> None:
    future: Any = FakeFuture(status="error", error=ValueError("odd"))
    outcome = outcome_of(future, Task(trial=trial(0)))
    assert outcome is not None
    assert outcome.error == "ValueError: odd"


@pytest.mark.parametrize("status", ["lost", "pending"])
def test_a_result_lost_with_its_worker_is_recomputed(
    status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask runs the trial again; it is reported once, and no loss is reported."""
    lost = FakeFuture(status=status)
    client = FakeClient(FakeFuture(), lost, FakeFuture())
    engine = engine_of(client, monkeypatch)
    told: list[int] = []

    def on_result(ran: SweepTrial, _: TrialOutcome) -> None:
        told.append(ran.number)
        if len(told) == 2:
            lost.status = "finished"

    engine.run((trial(number) for number in range(3)), fake_work, on_result)
    assert told == [0, 2, 1]
    assert lost.is_released


@pytest.mark.parametrize(
    "error", [OSError("reset"), CancelledError("lost"), TimeoutError("slow")]
)
def test_an_unfetchable_result_is_a_scheduler_loss(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient(FakeFuture(), FakeFuture(raises=error))
    with pytest.raises(TestbedError, match=r"was lost \((reset|lost|slow)\)"):
        run(engine_of(client, monkeypatch), 2)


@pytest.mark.parametrize("status", ["connecting", "closing", "closed"])
def test_a_broken_connection_is_reported_at_once(
    status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient(FakeFuture(), FakeFuture())
    client.raises = AssertionError("the client was asked")
    engine = engine_of(client, monkeypatch)
    client.status = status
    assert engine.workers == 0
    with pytest.raises(TestbedError, match="was lost"):
        run(engine, 2)
    assert client.cancelled == 0


def test_any_error_of_a_closed_client_is_a_scheduler_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient(FakeFuture(), FakeFuture())
    engine = engine_of(client, monkeypatch)

    def submit(*_: object, **__: object) -> FakeFuture:
        client.status = "closed"
        raise RuntimeError("the loop is closed")

    monkeypatch.setattr(client, "submit", submit)
    with pytest.raises(TestbedError, match=r"was lost \(the loop is closed\)"):
        run(engine, 2)


def test_an_internal_error_is_no_scheduler_loss(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient()
    client.raises = None
    engine = engine_of(client, monkeypatch)
    with pytest.raises(IndexError):  # the client has no future to give
        run(engine, 1)


def test_losing_the_scheduler_after_the_last_result_is_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient(FakeFuture())
    engine = engine_of(client, monkeypatch)

    def on_result(*_: object) -> None:
        client.status = "connecting"

    engine.run(iter([trial(0)]), fake_work, on_result)
    assert engine.workers == 2  # as before


def test_errors_during_cancellation_do_not_hide_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = FakeClient(FakeFuture(), FakeFuture())
    engine = engine_of(client, monkeypatch)

    def on_result(*_: object) -> None:
        client.raises = OSError("broken pipe")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.run((trial(number) for number in range(2)), fake_work, on_result)
    assert client.cancelled == 1


def test_dask_logging_is_disabled_and_restored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    import distributed  # noqa: F401  # makes the loggers

    names = ["distributed", "distributed.client", "distributed.core"]
    before = [logging.getLogger(name).level for name in names]
    with quiet_logs():
        for name in names:
            assert not logging.getLogger(name).isEnabledFor(logging.CRITICAL)
    assert [logging.getLogger(name).level for name in names] == before
