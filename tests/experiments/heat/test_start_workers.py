"""Signals while processes start: the parent loses none, the workers get none."""

import contextlib
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nao_testbed.experiments.common.signals import (
    StoppedBySignal,
    deferred_signals,
    install_stop_handlers,
)
from nao_testbed.experiments.common.workers import (
    Send,
    Worker,
    run_beside,
    start_workers,
)
from nao_testbed.experiments.heat import side_by_side
from nao_testbed.experiments.heat.side_by_side import WorkerOutcome
from nao_testbed.models import BadInput, TestbedError
from nao_testbed.models.system import CAN_FORK, END_SIGNALS, interrupt
from tests.processes import can_signal

ROOT = Path(__file__).resolve().parents[3]
ASK = (
    "import os, signal; print(os.environ['OMP_NUM_THREADS'], "
    "*sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))))"
)
LOADING = """
import nao_testbed.experiments, os, signal, time
signal.raise_signal(signal.SIGINT)
time.sleep(20)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_workers_start_is_handled(number: signal.Signals) -> None:
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    started = []

    def start() -> None:
        interrupt(number)
        time.sleep(0.05)
        started.append(number)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    install_stop_handlers()
    try:
        with pytest.raises(KeyboardInterrupt) as stop:
            start_workers(start)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert started == [number]
    assert isinstance(stop.value, StoppedBySignal) == (number == signal.SIGTERM)


@can_signal
def test_workers_get_no_signals_and_one_thread_each() -> None:
    said = start_workers(lambda: subprocess.check_output([sys.executable, "-c", ASK]))
    numbers = sorted(map(int, (signal.SIGINT, *END_SIGNALS)))
    assert said.decode().split() == ["1", *map(str, numbers)]


def test_a_command_that_loads_its_code_ends_silently(tmp_path: Path) -> None:
    script = tmp_path / "nao-testbed"
    script.write_text(LOADING, "utf-8")
    # A background job ignores it.
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.returncode, done.stderr) == (130, "")


def _swallow(send: Send) -> None:
    """Ignore stop requests, in a loop that ends long before its parent."""
    with deferred_signals(patience_s=0.01):
        send("under way")
        while True:
            with contextlib.suppress(BaseException):
                time.sleep(600)


def _crash(send: Send) -> None:
    del send
    os._exit(3)


def _read_memory(send: Send) -> tuple[int, str]:
    """Return the parent's value in memory, and the effect of a stop within a cycle."""
    try:
        with deferred_signals(patience_s=60.0) as check:
            send("under way")
            while True:
                time.sleep(0.01)
                check()
    except StoppedBySignal as stop:
        return len(_IN_MEMORY), str(stop)


_IN_MEMORY: list[int] = []


@pytest.mark.skipif(not CAN_FORK, reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_worker_shares_memory_and_stops_on_request() -> None:
    _IN_MEMORY.append(1)
    with deferred_signals():
        worker: Worker[tuple[int, str]] = Worker(_read_memory, is_fork=True)
        while not worker.messages():
            wait(worker.waitable)
        worker.request_stop(signal.SIGTERM)
        worker.close()
    assert worker.result == (1, "stopped by SIGTERM")


@pytest.mark.slow(covers=False)
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("is_fork", [False, CAN_FORK])
def test_a_worker_ending_hung_code_is_reported_once(
    capfd: pytest.CaptureFixture[str], is_fork: bool
) -> None:
    worker: Worker[None] = Worker(_swallow, is_fork=is_fork)
    while not worker.messages():
        wait(worker.waitable)
    worker.request_stop(signal.SIGTERM)
    worker.close()
    assert worker.was_killed
    assert capfd.readouterr().err == ""


@pytest.mark.slow(covers=False)
def test_a_worker_crash_before_a_stop_is_no_kill() -> None:
    worker: Worker[None] = Worker(_crash)
    while not worker.has_ended:
        wait(worker.waitable)
    worker.request_stop(signal.SIGTERM)
    worker.close()
    assert not worker.was_killed
    assert worker.end == "ended with exit status 3"


@pytest.mark.parametrize("n", [2, 4])
def test_a_free_core_is_offered_while_the_last_trial_runs(
    monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    """Two cores; worker k ends when it is asked for the k-th time."""
    made = itertools.count(1)

    class Ending:
        waitable = ()
        result = WorkerOutcome(error="ended")

        def __init__(self, _work: object) -> None:
            self.left = next(made)

        def messages(self) -> list[float]:
            return []

        def close(self) -> None:
            pass

        @property
        def has_ended(self) -> bool:
            self.left -= 1
            return self.left < 0

    monkeypatch.setattr(side_by_side, "Worker", Ending)
    monkeypatch.setattr(side_by_side, "processors", lambda: 2)
    free: list[int] = []
    trials: Any = [SimpleNamespace(controller="fixed")] * n
    done = side_by_side.outcomes_side_by_side(
        trials, lambda *_: None, lambda: free.append(1)
    )
    assert [one.error for one in done] == ["ended"] * n
    assert free == [1]


def _refuse() -> int:
    raise BadInput("no such folder.")


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("is_fork", [False, CAN_FORK])
def test_work_beside_a_block_returns_its_result_or_error(is_fork: bool) -> None:
    with run_beside("the charts", os.getpid, is_fork=is_fork) as pid:
        assert (pid() != os.getpid()) == is_fork
    with (
        pytest.raises(BadInput, match=r"^no such folder\.$"),
        run_beside("the charts", _refuse, is_fork=is_fork) as refused,
    ):
        refused()


@pytest.mark.skipif(not CAN_FORK, reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_crash_of_work_beside_a_block_is_one_sentence() -> None:
    with (
        pytest.raises(
            TestbedError, match=r"^the charts are missing: .* exit status 3;"
        ),
        run_beside("the charts", partial(os._exit, 3), is_fork=True) as crashed,
    ):
        crashed()


@pytest.mark.skipif(not CAN_FORK, reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_work_beside_a_failed_block_is_killed() -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        run_beside("the charts", partial(time.sleep, 600.0), is_fork=True),
    ):
        raise KeyboardInterrupt
    assert not multiprocessing.active_children()
