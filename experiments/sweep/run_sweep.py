"""Execution of a sweep: skip finished trials, run the others, write the table.

with JoblibEngine(2) as engine:
    sweep = run_sweep(read_spec(path), Path("runs/ankles"), engine)

A worker runs a trial and returns its outcome (`run_sweep_trial`).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.sweep.engines import Engine, SerialEngine, Work
from nao_testbed.experiments.sweep.settled import drop_settled, run_from_settled
from nao_testbed.experiments.sweep.spec import SweepSpec, kept_robots, mark_kept
from nao_testbed.experiments.sweep.sweep_table import (
    Sweep,
    frame_of,
    read_sweep,
    row_of,
    write_table,
)
from nao_testbed.experiments.sweep.sweep_trial import SIZE, SweepTrial, TrialOutcome
from nao_testbed.experiments.sweep.trial_store import TrialStore, robot_digest
from nao_testbed.models import BadInput, Robot, TestbedError, load_robot


def run_sweep_trial(trial: SweepTrial) -> TrialOutcome:
    """Run a trial; a fall is a result, an exception an error with its reason."""
    begin = time.perf_counter()
    try:
        _check_robot(trial)
        cfg = _KeptRobotTrial(**vars(trial.trial_cfg()))
        result = run_from_settled(cfg) if SIZE in trial.parameters else run_trial(cfg)
        wall_s = time.perf_counter() - begin
        return TrialOutcome(result=result, wall_s=wall_s)
    except TestbedError as error:
        return TrialOutcome.lost(str(error))
    except Exception as error:  # noqa: BLE001  # a sweep goes on whatever one trial does
        return TrialOutcome.lost(f"{type(error).__name__}: {error}")


def run_from_start(trial: SweepTrial) -> TrialOutcome:
    """Run a trial from the start, without a cached settled robot."""
    drop_settled()
    return run_sweep_trial(trial)


@dataclass(frozen=True, kw_only=True)
class _KeptRobotTrial(TrialCfg):
    """Trial whose robot is read once per process; that takes as long as 1 s of physics.

    A robot's files do not change during a sweep; `robot_digest` is cached too.
    """

    def load_robot(self) -> Robot:
        """Return the robot; see `TrialCfg.load_robot`."""
        return _robot(self.robot_folder).with_effort_limits(self.effort_limits)


@lru_cache(maxsize=8)
def _robot(folder: Path) -> Robot:
    return load_robot(folder)


def _check_robot(trial: SweepTrial) -> None:
    """Check that the robot is that of the sweep."""
    digest = robot_digest(trial.robot_folder)
    if trial.robot_digest and digest != trial.robot_digest:
        raise BadInput(
            f"the robot {trial.robot_folder or 'NAO'} of this worker differs "
            f"({digest}) from that of the sweep ({trial.robot_digest}); give all "
            "machines the same files."
        )


@dataclass(kw_only=True)
class Tally:
    """Progress of a sweep."""

    total: int
    """Number of trials of the sweep, as far as known."""
    done: int = 0
    """Trials with a result, from this run or an earlier one."""
    skipped: int = 0
    """Trials with a result from an earlier run."""
    fell: int = 0
    """Finished trials that fell, or ended early for another reason."""
    failed: int = 0
    """Trials of this run without a result."""
    worked_s: float = 0.0
    """Wall time of all trials of this run, in s."""

    def add(self, outcome: TrialOutcome) -> None:
        """Count a trial of this run."""
        self.worked_s += outcome.wall_s or 0.0
        if outcome.result is None:
            self.failed += 1
        else:
            self._add_result(outcome.result)

    def skip(self, result: TrialResult) -> None:
        """Count a trial of an earlier run."""
        self.skipped += 1
        self._add_result(result)

    def _add_result(self, result: TrialResult) -> None:
        self.done += 1
        self.fell += result.failure is not None


MAX_FIRST_FAILURES = 20
"""Number of failed trials after which a sweep without any result ends: probably all
trials have the same problem."""


class AllTrialsFailed(TestbedError):
    """The first trials of a run all failed."""


OnTally = Callable[[Tally], None]


def _ignore_progress(_tally: Tally) -> None:
    pass


def run_sweep(
    spec: SweepSpec,
    out: Path,
    engine: Engine | None = None,
    on_tally: OnTally = _ignore_progress,
    work: Work = run_sweep_trial,
) -> Sweep:
    """Run all trials of a sweep that have no result yet.

    The table is written in any case, also after Ctrl-C, with the finished trials.

    Args:
        spec: sweep from `read_spec`.
        out: folder; an existing sweep is resumed.
        engine: entered engine; None: run in this process.
        on_tally: function called after each trial.
        work: function that runs a trial.

    Returns:
        The sweep, as from `read_sweep`.

    Raises:
        BadInput: the folder cannot be used.
        AllTrialsFailed: the first `MAX_FIRST_FAILURES` trials of this run all failed.
        KeyboardInterrupt: after the table was written.
    """
    with TrialStore(out, spec) as store:
        try:
            _run_stages(spec, store, engine or SerialEngine(), on_tally, work)
        finally:
            rows = mark_kept(spec.keep, map(row_of, store.records()))
            write_table(out, frame_of(rows, spec.columns), store.meta)
    return read_sweep(out)


def _run_stages(
    spec: SweepSpec,
    store: TrialStore,
    engine: Engine,
    on_tally: OnTally,
    work: Work,
) -> None:
    """Run the trials without a result, those of the selecting controller first.

    They determine the kept robots; the other controllers run only with these.
    """
    keep = spec.keep
    of_one = spec.points // len(spec.controllers) if keep else spec.points
    tally = Tally(total=spec.robots * of_one)
    seen: set[str] = set()

    def left(trials: Iterable[SweepTrial]) -> Iterator[SweepTrial]:
        for trial in trials:
            record = store.read(trial)
            if record is None or record.result is None:
                yield trial
            else:
                tally.skip(record.result)
                on_tally(tally)

    def on_result(trial: SweepTrial, outcome: TrialOutcome) -> None:
        if trial.key in seen:  # a cluster may run a trial twice; the first counts
            return
        seen.add(trial.key)
        store.write(trial, outcome)
        tally.add(outcome)
        on_tally(tally)
        if tally.failed >= MAX_FIRST_FAILURES and tally.done == tally.skipped:
            raise AllTrialsFailed(
                f"the first {tally.failed} trials all failed; the last error: "
                f"{outcome.error} Fix it; the same command then resumes the sweep."
            )

    if keep is None:
        engine.run(left(spec.trials()), work, on_result)
        return
    first = keep.controller
    engine.run(left(spec.trials(wanted=lambda c: c == first)), work, on_result)
    kept = kept_robots(keep, map(row_of, store.records()))
    tally.total += len(kept) * (spec.points - of_one)
    rest = spec.trials(sorted(kept), lambda controller: controller != first)
    engine.run(left(rest), work, on_result)
