"""Short histories of threads on the shared ledger are linearizable (RM-15, RM-16).

Threads yield at random lines inside the ledger, so that short histories
interleave. The same test must fail for intentionally broken fronts.
"""

import contextlib
import itertools
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import pytest

from nao_testbed.controllers.arbitration.manager.ledger import Ledger
from nao_testbed.controllers.arbitration.requests import Owner, Request, StaleToken
from nao_testbed.controllers.arbitration.tokens import Token
from nao_testbed.experiments.server.shared_ledger import SharedLedger
from tests.experiments.server.helpers import small_tree
from tests.experiments.server.shared_ledger.linearizability import (
    LEAVES,
    Operation,
    is_linearizable,
)

N_HISTORIES = 60
N_THREADS = 3
N_CALLS = 4
P_YIELD = 0.05
"""Probability that a thread yields at a line of the ledger."""
MakeFront = Callable[..., SharedLedger]


def yielding_trace(
    seed: int, stop: threading.Event
) -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function that lets other threads run at random lines."""
    rng = random.Random(seed)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "controllers/arbitration" not in frame.f_code.co_filename:
            return None
        if stop.is_set():
            raise TimeoutError("a broken ledger may go round for ever")
        if event == "line" and rng.random() < P_YIELD:
            time.sleep(0)
        return trace

    return trace


class Recorder:
    """Threads that make random calls to a front, and the recorded results."""

    def __init__(self, front: SharedLedger, seed: int) -> None:
        self.front = front
        self.seed = seed
        self.history: list[Operation] = []
        self.errors: list[Exception] = []
        self._clock = itertools.count()
        self._tokens: list[Token] = []
        self._stop = threading.Event()

    def run(self) -> None:
        barrier = threading.Barrier(N_THREADS)
        threads = [
            threading.Thread(target=self._work, args=(i, barrier), daemon=True)
            for i in range(N_THREADS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(2.0)
            if thread.is_alive():
                self._stop.set()
                thread.join()

    def _work(self, number: int, barrier: threading.Barrier) -> None:
        rng = random.Random(f"{self.seed} {number}")
        before = sys.gettrace()
        barrier.wait()
        sys.settrace(yielding_trace(rng.randrange(1 << 30), self._stop))
        try:
            for _ in range(N_CALLS):
                self._call(f"owner {number}", rng)
        except Exception as error:  # noqa: BLE001  # a broken front may raise anything
            self.errors.append(error)
        finally:
            sys.settrace(before)

    def _call(self, owner: str, rng: random.Random) -> None:
        token = rng.choice(self._tokens) if self._tokens else None
        kind = rng.choice(["request", "release", "command"]) if token else "request"
        leaves = tuple(rng.sample(LEAVES, 1 if kind == "command" else 2))
        begin = next(self._clock)
        result: object = None
        if kind == "request":
            asked = Request(owner=owner, resources=leaves, timeout_s=0.0)
            new = self.front.take(asked).token
            result = new.sequence if new else 0
            if new:
                self._tokens.append(new)
        elif kind == "command":
            result = self.front.authorise(token, leaves[0])
        else:
            assert token is not None
            try:
                self.front.release(token)
            except StaleToken as error:
                result = error.reason
        self.history.append(
            Operation(
                kind=kind,  # type: ignore[arg-type]
                leaves=leaves,
                token=token.sequence if token else 0,
                begin=begin,
                end=next(self._clock),
                result=result,
            )
        )


def record(front: SharedLedger, seed: int) -> Recorder:
    for number in range(N_THREADS):
        front.add_owner(Owner(name=f"owner {number}"))
    recorder = Recorder(front, seed)
    recorder.run()
    return recorder


@pytest.mark.requirement("RM-15", "RM-16", "AR-5")
def test_histories_of_threads_are_linearizable(make_front: MakeFront) -> None:
    overlaps = 0
    for seed in range(N_HISTORIES):
        recorder = record(make_front(), seed)
        assert not recorder.errors
        assert len(recorder.history) == N_THREADS * N_CALLS
        assert is_linearizable(recorder.history), recorder.history
        pairs = itertools.combinations(recorder.history, 2)
        overlaps += sum(a.begin < b.end and b.begin < a.end for a, b in pairs)
    assert overlaps > N_HISTORIES, "the threads did not overlap"


def test_front_without_its_lock_is_detected(make_front: MakeFront) -> None:
    caught = 0
    for seed in range(10):
        front = make_front()
        lock = front._lock
        front._lock = contextlib.nullcontext()  # type: ignore[assignment]
        recorder = record(front, seed)
        front._lock = lock
        caught += bool(recorder.errors) or not is_linearizable(recorder.history)
    assert caught > 0


class AnswersTooEarly(SharedLedger):
    """Returns from a release before the token is released."""

    def release(self, token: Token, names: Iterable[str] | None = None) -> None:
        def later() -> None:
            with contextlib.suppress(StaleToken):
                SharedLedger.release(self, token, names)

        threading.Timer(0.002, later).start()


def test_front_that_returns_too_early_is_detected() -> None:
    """It raises no error, so only the search detects it."""
    caught = 0
    for seed in range(10):
        with AnswersTooEarly(Ledger(small_tree())) as front:
            recorder = record(front, seed)
        assert not recorder.errors
        caught += not is_linearizable(recorder.history)
    assert caught > 0


def operation(begin: int, end: int, result: object, **values: Any) -> Operation:
    return Operation(begin=begin, end=end, result=result, **values)


def test_two_holders_of_a_leaf_are_not_linearizable() -> None:
    two = [
        operation(0, 2, 1, kind="request", leaves=("ball",)),
        operation(1, 3, 2, kind="request", leaves=("ball",)),
    ]
    assert not is_linearizable(two)


def test_order_against_real_time_is_not_linearizable() -> None:
    late = [
        operation(0, 1, 1, kind="request", leaves=("ball",)),
        operation(2, 3, None, kind="release", token=1),
        operation(4, 5, None, kind="command", token=1, leaves=("ball",)),
    ]
    assert not is_linearizable(late)
    overlapping = [*late[:2], operation(2, 5, None, **COMMAND)]
    assert is_linearizable(overlapping)


COMMAND: dict[str, Any] = {"kind": "command", "token": 1, "leaves": ("ball",)}
