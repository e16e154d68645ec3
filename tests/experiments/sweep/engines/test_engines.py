"""Common tests of all sweep engines on one machine, and tests of processes."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nao_testbed.experiments.sweep.engines import MAX_DEATHS, Engine, SerialEngine
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from nao_testbed.experiments.sweep.sweep_trial import SweepTrial, TrialOutcome
from nao_testbed.models.system import KILL
from tests.experiments.sweep.engines.fake_work import fake_work, trial
from tests.messages import Messages, each
from tests.processes import send_to_all

ROOT = Path(__file__).resolve().parents[4]
PATIENCE_S = 60.0

Told = list[tuple[SweepTrial, TrialOutcome]]


@pytest.fixture(scope="module")
def two_workers() -> Iterator[JoblibEngine]:
    with JoblibEngine(2) as engine:
        yield engine


@pytest.fixture(
    scope="module",
    params=["serial", pytest.param("joblib", marks=pytest.mark.slow(covers=True))],
)
def engine(request: pytest.FixtureRequest) -> Engine:
    """One engine for all tests of this file: `run` can be called repeatedly."""
    if request.param == "serial":
        return SerialEngine()
    workers: JoblibEngine = request.getfixturevalue("two_workers")
    return workers


def run(engine: Engine, trials: Iterator[SweepTrial]) -> Told:
    told: Told = []
    engine.run(trials, fake_work, lambda *pair: told.append(pair))
    return told


def test_every_trial_is_reported_once(engine: Engine) -> None:
    told = run(engine, (trial(number) for number in range(20)))
    assert sorted(ran.number for ran, _ in told) == list(range(20))
    for ran, outcome in told:
        assert outcome.result is not None
        assert outcome.result.flags["number"] == ran.number


def test_results_are_reported_in_the_calling_thread(engine: Engine) -> None:
    threads: list[threading.Thread] = []
    engine.run(
        (trial(number) for number in range(4)),
        fake_work,
        lambda *_: threads.append(threading.current_thread()),
    )
    assert set(threads) == {threading.current_thread()}


def test_trials_are_taken_on_demand(engine: Engine) -> None:
    taken = told = most = 0

    def many() -> Iterator[SweepTrial]:
        nonlocal taken, most
        for number in range(50):
            taken += 1
            most = max(most, taken - told)
            yield trial(number)

    def on_result(*_: object) -> None:
        nonlocal told
        told += 1

    engine.run(many(), fake_work, on_result)
    assert told == 50
    assert most <= 4 * engine.workers


def test_no_trials_is_no_error(engine: Engine) -> None:
    assert run(engine, iter(())) == []


def test_a_failed_trial_is_an_outcome(engine: Engine) -> None:
    told = run(engine, iter([trial(0, "fail"), trial(1)]))
    assert {outcome.error for _, outcome in told} == {"it was told to fail", None}


def test_a_trial_that_exits_the_process_fails(engine: Engine) -> None:
    names = ("SystemExit", "GeneratorExit", "BaseException")
    trials = [trial(n, f"raise:{name}") for n, name in enumerate(names)]
    told = run(engine, iter([*trials, trial(3)]))
    assert {ran.number: outcome.error for ran, outcome in told} == {
        **{
            n: f"controller 'raise:{name}' raised {name}: theirs."
            for n, name in enumerate(names)
        },
        3: None,
    }


# -- processes ----------------------------------------------------------------------


@pytest.mark.slow(covers=True)
def test_workers_use_one_thread_each(two_workers: JoblibEngine) -> None:
    told = run(two_workers, (trial(number) for number in range(6)))
    results = [outcome.result.flags if outcome.result else {} for _, outcome in told]
    assert {result["threads"] for result in results} == {1.0}
    pids = {result["pid"] for result in results}
    assert len(pids) == 2
    assert os.getpid() not in pids


def begun(folder: Path) -> list[int]:
    lines = (folder / "begun").read_text("utf-8").splitlines()
    return [int(line.split()[0]) for line in lines]


@pytest.mark.slow
def test_a_worker_that_grows_is_kept(recwarn: pytest.WarningsRecorder) -> None:
    with JoblibEngine(1) as engine:
        told = run(engine, iter([trial(0, "grow:350000000"), trial(1)]))
    pids = {outcome.result.flags["pid"] for _, outcome in told if outcome.result}
    assert len(told) == 2
    assert len(pids) == 1
    assert [str(one.message) for one in recwarn] == []


@pytest.mark.slow
def test_a_killed_worker_affects_only_its_trial(
    two_workers: JoblibEngine, tmp_path: Path
) -> None:
    """Trial 3 kills its process once; only this trial is run again."""
    trials = [trial(n, "die:1" if n == 3 else "echo", tmp_path) for n in range(8)]
    told = run(two_workers, iter(trials))
    assert sorted(ran.number for ran, _ in told) == list(range(8))
    assert all(outcome.error is None for _, outcome in told)
    assert sorted(begun(tmp_path)) == [0, 1, 2, 3, 3, 4, 5, 6, 7]


@pytest.mark.slow
def test_a_trial_that_kills_every_worker_is_abandoned(
    two_workers: JoblibEngine, tmp_path: Path
) -> None:
    trials = [trial(0, "die:99", tmp_path), *(trial(n) for n in range(1, 5))]
    told = {ran.number: outcome for ran, outcome in run(two_workers, iter(trials))}
    assert set(told) == set(range(5))
    assert told[0].error is not None
    assert f"was killed {MAX_DEATHS} times" in told[0].error
    assert begun(tmp_path) == [0] * MAX_DEATHS
    assert all(told[n].error is None for n in range(1, 5))


def test_an_error_of_a_listener_ends_the_run(engine: Engine) -> None:
    def on_result(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.run((trial(number) for number in range(9)), fake_work, on_result)
    assert len(run(engine, iter([trial(0)]))) == 1


@pytest.mark.slow(covers=True)
def test_no_process_outlives_the_engine() -> None:
    with JoblibEngine(1) as engine:
        ((_, outcome),) = run(engine, iter([trial(0)]))
        assert outcome.result is not None
        pid = outcome.result.flags["pid"]
        os.kill(pid, 0)
    wait_until(lambda: is_gone(pid))


# -- a parent that ends --------------------------------------------------------------

PARENT = """
from pathlib import Path
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from tests.experiments.sweep.engines.fake_work import fake_work, trial
folder = Path({folder!r})
with JoblibEngine(2) as engine:
    slow = (trial(n, "slow", folder) for n in range(9))
    engine.run(slow, fake_work, print)
"""


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    """The tests of the command cover Ctrl-C."""
    parent = session(PARENT.format(folder=str(tmp_path)))
    try:
        wait_until(lambda: (tmp_path / "begun").exists() and len(begun(tmp_path)) == 2)
        lines = (tmp_path / "begun").read_text("utf-8").splitlines()
        workers = [int(line.split()[1]) for line in lines]
        parent.kill()
        parent.communicate(timeout=PATIENCE_S)
        wait_until(lambda: all(is_gone(pid) for pid in workers))
    finally:
        if parent.poll() is None:
            send_to_all(parent, KILL)


def session(code: str) -> "subprocess.Popen[str]":
    """Start Python in a new session."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )


def is_gone(pid: int) -> bool:
    try:
        state = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()[0]
        )
    except FileNotFoundError:
        return True
    return state == "Z"


def wait_until(what: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, f"no success in {PATIENCE_S} s"
        time.sleep(0.05)


def test_messages(messages: Messages) -> None:
    messages(no_workers=each(JoblibEngine, 0, -1))
