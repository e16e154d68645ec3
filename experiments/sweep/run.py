"""Run a sweep: skip what is there, run what is left, write the table.

with JoblibEngine(2) as engine:
    sweep = run_sweep(load_spec(path), Path("runs/ankles"), engine)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.sweep.engines.seam import SweepEngine, Work
from experiments.sweep.engines.serial import SerialEngine
from experiments.sweep.keep import kept_robots, mark_kept
from experiments.sweep.spec import SweepSpec
from experiments.sweep.store import TrialStore
from experiments.sweep.table import Sweep, frame_of, read_sweep, row_of, write_table
from experiments.sweep.trial import Trial, TrialOutcome
from experiments.sweep.work import run_trial
from models import TestbedError


@dataclass(kw_only=True)
class Tally:
    """How far a sweep has come."""

    total: int
    """Trials of the sweep, as far as is known."""
    done: int = 0
    """Ended with a result, in this run or an earlier one."""
    skipped: int = 0
    """Of these, in an earlier run."""
    fell: int = 0
    """Of the done ones: those that fell, or ended early for another reason."""
    failed: int = 0
    """Ended without a result, in this run."""
    worked_s: float = 0.0
    """Wall time of all trials of this run, in s."""

    def add(self, outcome: TrialOutcome) -> None:
        """Count a trial of this run."""
        self.worked_s += outcome.wall_s or 0.0
        if outcome.result is None:
            self.failed += 1
        else:
            self._add_result(outcome.result.get("failure"))

    def skip(self, failure: object) -> None:
        """Count a trial of an earlier run."""
        self.skipped += 1
        self._add_result(failure)

    def _add_result(self, failure: object) -> None:
        self.done += 1
        self.fell += failure is not None


MOST_FAILED_AT_FIRST = 20
"""So many trials without a result, and none with one, end a sweep: what is wrong is
wrong with all of them."""


class NothingWorks(TestbedError):
    """The first trials of a run all failed."""


OnTally = Callable[[Tally], None]


def _tell_nobody(_tally: Tally) -> None:
    pass


def run_sweep(
    spec: SweepSpec,
    out: Path,
    engine: SweepEngine | None = None,
    on_tally: OnTally = _tell_nobody,
    work: Work = run_trial,
) -> Sweep:
    """Run all trials of a sweep that have not run yet.

    The table is written whatever happens, Ctrl-C too, with what is done by then.

    Args:
        spec: from `load_spec`.
        out: folder; a sweep that it holds is gone on with.
        engine: within its own `with`; None: this process.
        on_tally: told after each trial.
        work: runs a trial.

    Returns:
        The sweep as `read_sweep` reads it.

    Raises:
        BadInput: the folder cannot be used.
        NothingWorks: the first `MOST_FAILED_AT_FIRST` trials of this run all failed.
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
    engine: SweepEngine,
    on_tally: OnTally,
    work: Work,
) -> None:
    if spec.keep is None:
        tally = Tally(total=spec.n_trials)
        _run_stage(spec.trials(), store, engine, tally, on_tally, work)
        return
    first = spec.keep.controller
    of_one = spec.points // len(spec.controllers)  # trials of a robot and controller
    tally = Tally(total=spec.robots * of_one)
    trials = spec.trials(wanted=lambda controller: controller == first)
    _run_stage(trials, store, engine, tally, on_tally, work)
    kept = kept_robots(spec.keep, map(row_of, store.records()))
    tally.total += len(kept) * (spec.points - of_one)
    trials = spec.trials(sorted(kept), lambda controller: controller != first)
    _run_stage(trials, store, engine, tally, on_tally, work)


def _run_stage(
    trials: Iterable[Trial],
    store: TrialStore,
    engine: SweepEngine,
    tally: Tally,
    on_tally: OnTally,
    work: Work,
) -> None:
    """Run those of these trials that have no result yet."""
    seen: set[str] = set()

    def left() -> Iterator[Trial]:
        for trial in trials:
            record = store.read(trial)
            if record is None or record.result is None:
                yield trial
            else:
                tally.skip(record.result.get("failure"))
                on_tally(tally)

    def on_result(trial: Trial, outcome: TrialOutcome) -> None:
        if trial.key in seen:  # a cluster may run a trial twice; the first one counts
            return
        seen.add(trial.key)
        store.write(trial, outcome)
        tally.add(outcome)
        on_tally(tally)
        if tally.failed >= MOST_FAILED_AT_FIRST and tally.done == tally.skipped:
            raise NothingWorks(
                f"the first {tally.failed} trials all failed, the last one by: "
                f"{outcome.error} Mend that; the same command then goes on."
            )

    engine.run(left(), work, on_result)
