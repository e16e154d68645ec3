"""The engine for many machines, with real workers on this one."""

import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pandas.testing import assert_frame_equal

from nao_testbed.experiments.sweep.engines import Work, dask_cluster, dask_engine
from nao_testbed.experiments.sweep.engines.dask_cluster import (
    Installation,
    differing,
    own_installation,
)
from nao_testbed.experiments.sweep.engines.dask_engine import DaskEngine, UnfitWorker
from nao_testbed.experiments.sweep.run_sweep import run_sweep
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.system import KILL
from tests.experiments.sweep.engines.cluster import MOST_FAILURES, Cluster
from tests.experiments.sweep.engines.test_engines import (  # common tests
    test_a_failed_trial_is_an_outcome,
    test_a_trial_that_exits_the_process_fails,
    test_an_error_of_a_listener_ends_the_run,
    test_every_trial_is_reported_once,
    test_no_trials_is_no_error,
    test_results_are_reported_in_the_calling_thread,
    test_trials_are_taken_on_demand,
    wait_until,
)
from tests.experiments.sweep.files import SHORT, spec_of
from tests.experiments.sweep.outcomes import result

__all__ = [
    "test_a_failed_trial_is_an_outcome",
    "test_a_trial_that_exits_the_process_fails",
    "test_an_error_of_a_listener_ends_the_run",
    "test_every_trial_is_reported_once",
    "test_no_trials_is_no_error",
    "test_results_are_reported_in_the_calling_thread",
    "test_trials_are_taken_on_demand",
]

pytestmark = pytest.mark.slow(covers=True)  # real workers


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    for _ in range(2):
        cluster.add_worker()
    try:
        cluster.wait(2)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module", autouse=True)
def _no_commit() -> Iterator[None]:
    """Ignore a commit between the start of two workers."""
    here = Installation(versions=own_installation().versions, commit=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask_engine, "own_installation", lambda: here)
        yield


@pytest.fixture(scope="module")
def engine(cluster: Cluster) -> Iterator[DaskEngine]:
    """The engine for the common tests."""
    with DaskEngine(cluster.address) as engine:
        yield engine


def trials(count: int, **parameters: str) -> list[SweepTrial]:
    return [
        SweepTrial(
            number=i, robot=i, seed=0, parameters={"controller": "x", **parameters}
        )
        for i in range(count)
    ]


def say_pid(trial: SweepTrial) -> TrialOutcome:
    time.sleep(0.05)
    return TrialOutcome(result=result(flags={"pid": os.getpid()}))


def die_once(trial: SweepTrial) -> TrialOutcome:
    """Kill the worker at the first try of trial 3."""
    mark = Path(str(trial.parameters["marks"])) / "died"
    if trial.number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), KILL)
    return say_pid(trial)


def die_always(trial: SweepTrial) -> TrialOutcome:
    if trial.number == 1:
        os.kill(os.getpid(), KILL)
    return say_pid(trial)


def raise_something(trial: SweepTrial) -> TrialOutcome:
    raise ValueError(f"trial {trial.number} is odd")


def run_all(
    engine: DaskEngine, todo: list[SweepTrial], work: Work
) -> dict[int, TrialOutcome]:
    found: dict[int, TrialOutcome] = {}
    times: Counter[int] = Counter()

    def keep(trial: SweepTrial, outcome: TrialOutcome) -> None:
        assert threading.current_thread() is threading.main_thread()
        found[trial.number] = outcome
        times[trial.number] += 1

    engine.run(todo, work, keep)
    assert set(times.values()) == {1}
    return found


def test_both_workers_run_trials_and_each_ends_once(cluster: Cluster) -> None:
    with DaskEngine(cluster.address) as engine:
        assert engine.workers == 2
        found = run_all(engine, trials(12), say_pid)
    assert sorted(found) == list(range(12))
    pids = {outcome.result.flags["pid"] for outcome in found.values() if outcome.result}
    assert pids == {worker.pid for worker in cluster.workers}


def test_raising_work_is_an_outcome_with_the_reason(cluster: Cluster) -> None:
    with DaskEngine(cluster.address) as engine:
        found = run_all(engine, trials(2), raise_something)
    assert found[1].error == "controller 'x' raised ValueError: trial 1 is odd."


def test_ctrl_c_propagates_and_cancels_all_trials(cluster: Cluster) -> None:
    kept: list[int] = []

    def stop(trial: SweepTrial, outcome: TrialOutcome) -> None:
        kept.append(trial.number)
        if len(kept) == 3:
            signal.raise_signal(signal.SIGINT)

    with DaskEngine(cluster.address) as engine:
        with pytest.raises(KeyboardInterrupt):
            engine.run(trials(100), say_pid, stop)
        assert len(kept) == 3
        wait_until(lambda: not any(engine._client.processing().values()))


def test_other_versions_are_rejected_before_any_trial(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Installation(versions={"numpy": "1.0"}, commit="abc")
    monkeypatch.setattr(dask_engine, "own_installation", lambda: other)
    with (
        pytest.raises(BadInput, match=r"cannot take part: numpy is .*, here 1\.0;"),
        DaskEngine(cluster.address),
    ):
        pass


def test_a_worker_that_joins_later_is_checked(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DaskEngine(cluster.address) as engine:
        other = Installation(versions={"numpy": "1.0"}, commit=None)
        monkeypatch.setattr(dask_engine, "own_installation", lambda: other)
        with pytest.raises(UnfitWorker, match=r"numpy is .*, here 1\.0"):
            run_all(engine, trials(2), say_pid)


def test_a_sweep_on_a_cluster_gives_the_local_table(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Real robots: the tables are equal except for wall times."""
    spec = spec_of(tmp_path, SHORT)
    with DaskEngine(cluster.address) as engine:
        there = run_sweep(spec, tmp_path / "there", engine).frame
    here = run_sweep(spec, tmp_path / "here").frame
    clocks = ["wall_s", "trial_s"]
    assert_frame_equal(there.drop(columns=clocks), here.drop(columns=clocks))
    assert len(there) == 6
    assert there["legs_joule_loss_j"].gt(0.0).all()


def test_the_trial_of_a_killed_worker_goes_to_another(
    cluster: Cluster, tmp_path: Path
) -> None:
    with DaskEngine(cluster.address) as engine:
        found = run_all(engine, trials(10, marks=str(tmp_path)), die_once)
        assert engine.workers == 1
    assert (tmp_path / "died").exists()
    assert sorted(found) == list(range(10))
    assert all(outcome.result for outcome in found.values())


def test_a_trial_that_kills_every_worker_is_abandoned(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths = MOST_FAILURES + 1
    monkeypatch.setattr(dask_engine, "MAX_DEATHS", deaths)
    for _ in range(deaths):
        cluster.add_worker()
    cluster.wait(1 + deaths)
    with DaskEngine(cluster.address) as engine:
        found = run_all(engine, trials(4), die_always)
    assert found[1].result is None
    assert f"killed {deaths} times" in str(found[1].error)
    assert all(found[i].result for i in (0, 2, 3))


def test_a_worker_with_threads_is_refused(cluster: Cluster) -> None:
    worker = cluster.add_worker("--nthreads", "2")
    cluster.wait(2)
    with (
        pytest.raises(BadInput, match=r"2 trials in one process.*--nthreads 1"),
        DaskEngine(cluster.address),
    ):
        pass
    cluster.end_worker(worker)


def test_a_full_disk_is_no_scheduler_error(cluster: Cluster) -> None:
    def fill(trial: SweepTrial, outcome: TrialOutcome) -> None:
        raise OSError("no space left")

    cluster.wait(1)
    with (
        DaskEngine(cluster.address) as engine,
        pytest.raises(OSError, match="no space left"),
    ):
        engine.run(trials(3), say_pid, fill)


def test_a_lost_scheduler_is_reported(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two results exist, and the scheduler ends after the first was fetched."""
    import distributed

    wait: Any = distributed.wait
    monkeypatch.setattr(distributed, "wait", lambda all_, *_, **__: wait(all_))
    cluster.add_worker()
    cluster.wait(2)
    told: list[TrialOutcome] = []

    with DaskEngine(cluster.address) as engine:
        assert engine.workers == 2

        def end_it(trial: SweepTrial, outcome: TrialOutcome) -> None:
            told.append(outcome)
            cluster.scheduler.kill()
            wait_until(lambda: engine._client.status != "running")

        with pytest.raises(TestbedError, match=r"was lost.*the same command resumes"):
            engine.run(trials(5), say_pid, end_it)
        assert [outcome.error for outcome in told] == [None]  # other unreported
        assert engine.workers == 2
        engine.run([], say_pid, end_it)  # no trials is still no error


def test_an_address_without_listener_is_reported_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dask, which would retry for long, is not called."""
    monkeypatch.setattr(dask_cluster, "_identify_listener", None)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        pytest.raises(BadInput, match=f"nothing listens at tcp://127.0.0.1:{port}"),
        DaskEngine(f"tcp://127.0.0.1:{port}"),
    ):
        pass


def test_a_listener_that_is_no_scheduler_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dask_cluster, "ANSWER_S", 0.5)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        address = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        with (
            pytest.raises(BadInput, match=r"not a dask scheduler.* within 0\.5 s"),
            DaskEngine(address),
        ):
            pass


@pytest.mark.parametrize(
    "address",
    ["", "localhost", "tcp://localhost", "http://a:1", "tcp://a:b", "tcp://a:99999"],
)
def test_an_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(BadInput, match="is not an address"), DaskEngine(address):
        pass


def test_an_unknown_commit_differs_from_none() -> None:
    mine = own_installation()
    wheel = Installation(versions=mine.versions, commit=None)
    assert differing(wheel, mine) == []
    other = Installation(versions=mine.versions, commit="another")
    here = Installation(versions=mine.versions, commit="one")
    assert differing(other, here) == ["its commit is another, here one"]
