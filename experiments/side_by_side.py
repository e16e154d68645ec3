"""Run the arms of an experiment side by side, each in a process of its own.

PyBullet is not thread-safe and one robot fills one core. Workers report their
simulated time through a queue; errors come back as text, so that a message is shown
once and by the parent. Ctrl-C reaches every worker, and each closes its run folder.
"""

import contextlib
import multiprocessing as mp
import os
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.queues import Queue

from experiments.arm import ArmCfg, run_arm
from experiments.results import ArmResult
from models import BadInput, TestbedError

Progress = Callable[[int, float], None]
"""Told the number of an arm and its simulated time in s."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a worker hands back: a result, or why there is none."""

    result: ArmResult | None = None
    error: str | None = None
    is_bad_input: bool = False


_reports: "Queue[tuple[int, float]] | None" = None


def _start_worker(reports: "Queue[tuple[int, float]]") -> None:
    global _reports  # noqa: PLW0603  # one queue a worker process
    os.environ["OMP_NUM_THREADS"] = "1"
    _reports = reports


def _work(number: int, cfg: ArmCfg) -> Outcome:
    reports = _reports

    def report(time_s: float) -> None:
        if reports is not None:
            reports.put((number, time_s))

    try:
        return Outcome(result=run_arm(cfg, report))
    except TestbedError as error:
        return Outcome(error=str(error), is_bad_input=isinstance(error, BadInput))
    except KeyboardInterrupt:
        return Outcome(error="interrupted")


def run_side_by_side(arms: Sequence[ArmCfg], on_progress: Progress) -> list[ArmResult]:
    """Run all arms, as many at a time as there are cores.

    Args:
        arms: what to run.
        on_progress: told the number and simulated time of an arm, now and then.

    Returns:
        The results in the order of the arms.

    Raises:
        BadInput: an arm refused its configuration.
        TestbedError: an arm could not go on.
    """
    if len(arms) == 1:  # no process to start: faster, and a debugger can follow
        return [run_arm(arms[0], lambda time_s: on_progress(0, time_s))]
    context = mp.get_context("spawn")
    reports: Queue[tuple[int, float]] = context.Queue()
    workers = min(len(arms), os.cpu_count() or 1)
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_worker, initargs=(reports,)
    ) as pool:
        futures = [pool.submit(_work, i, arm) for i, arm in enumerate(arms)]
        _follow(futures, reports, on_progress)
        outcomes = [future.result() for future in futures]
    for outcome in outcomes:
        if outcome.error is not None:
            kind = BadInput if outcome.is_bad_input else TestbedError
            raise kind(outcome.error)
    return [outcome.result for outcome in outcomes if outcome.result is not None]


def _follow(
    futures: Sequence["Future[Outcome]"],
    reports: "Queue[tuple[int, float]]",
    on_progress: Progress,
) -> None:
    pending = set(futures)
    while pending:
        _, pending = wait(pending, timeout=0.1)
        with contextlib.suppress(queue.Empty):
            while True:
                on_progress(*reports.get_nowait())
