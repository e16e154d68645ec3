"""Command `nao-testbed sweep`: from a file to a table, on all cores or many machines.

`--dry-run` shows the parameters of a sweep and its first trials. While trials run, a
terminal shows a progress line; a pipe gets none.
"""

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column as ProgressColumn
from rich.text import Text

from nao_testbed.experiments.closed_loop.warm_up import warn_before_run, warn_of_fall
from nao_testbed.experiments.common.drawing.page import DataTable
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for
from nao_testbed.experiments.common.signals import exit_status
from nao_testbed.experiments.sweep.engines import SweepEngine, Work
from nao_testbed.experiments.sweep.engines.joblib_engine import JoblibEngine
from nao_testbed.experiments.sweep.run_sweep import (
    AllTrialsFailed,
    OnTally,
    Tally,
    run_from_start,
    run_sweep,
    run_sweep_trial,
)
from nao_testbed.experiments.sweep.spec import SweepSpec, value_text
from nao_testbed.experiments.sweep.spec_file.read_spec import SWEEPS, read_spec
from nao_testbed.experiments.sweep.summary.section import parameter_table
from nao_testbed.experiments.sweep.summary.show import show_summary, summary_json
from nao_testbed.experiments.sweep.sweep_table import TABLE_FILE, Sweep, read_sweep
from nao_testbed.experiments.sweep.sweep_trial import SIZE, SweepTrial, TrialOutcome
from nao_testbed.experiments.sweep.trial_store import TrialStore, identity
from nao_testbed.models import BadInput, load_robot
from nao_testbed.sim.recording.run_folder import plain_name

FIRST_TRIALS = 8
MAX_COLUMNS = 5


def trial_table(spec: SweepSpec) -> DataTable:
    """Return a table of the first trials with the parameters that vary."""
    grids = [parameter.name for parameter in spec.grids]
    drawn = [parameter.name for parameter in spec.drawn]
    shown = [*drawn[: max(0, MAX_COLUMNS - len(grids))], *grids] or ["controller"]
    more = len(drawn) + len(grids) - len(shown)
    caption = f"First trials of {spec.n_trials:,}".replace(",", " ")
    if more > 0:
        caption += f", without {more} more sampled columns"
    return DataTable.of(
        caption,
        ("robot", *(name.replace(".", "\n") for name in shown)),
        (
            (
                str(trial.robot),
                *(value_text(trial.parameters[name]) for name in shown),
            )
            for trial in islice(spec.trials(), FIRST_TRIALS)
        ),
        texts=range(1, 1 + len(shown)),
    )


def duration_text(seconds: float) -> str:
    """Return a duration as text: `40 s`, `12 min`, `3.5 hours`, `31 years`."""
    for unit, length, most in (
        ("s", 1.0, 100.0),
        ("min", 60.0, 100.0),
        ("hours", 3600.0, 48.0),
        ("days", 86400.0, 700.0),
    ):
        if seconds < most * length:
            return f"{seconds / length:.{1 if unit == 'hours' else 0}f} {unit}"
    return f"{seconds / (365.25 * 86400.0):.0f} years"


def progress_text(tally: Tally, elapsed_s: float) -> str:
    """Return the rate, the remaining time, and the number of falls and failures."""
    ran = tally.done + tally.failed - tally.skipped
    words = []
    if ran > 0 and elapsed_s > 0.0:
        rate = ran / elapsed_s
        left = (tally.total - tally.done - tally.failed) / rate
        words += [f"{60.0 * rate:.1f}/min", f"{duration_text(left)} left"]
    if tally.fell:
        words.append(f"{tally.fell} fell or stopped")
    if tally.failed:
        words.append(f"{tally.failed} failed")
    return ", ".join(words)


@contextlib.contextmanager
def shown_progress(name: str, n_trials: int) -> Iterator[OnTally]:
    """Show a progress line on stderr while trials run, if that is a terminal.

    Args:
        name: name of the sweep.
        n_trials: expected number of trials.

    Yields:
        Function to be called after each trial.
    """
    if not sys.stderr.isatty():
        yield lambda _tally: None
        return
    begin = time.monotonic()
    widest = len(f"{n_trials} of {n_trials}")  # a narrow terminal cuts others first
    with Progress(
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=ProgressColumn(no_wrap=True, max_width=16),
        ),
        BarColumn(),
        TextColumn(
            "{task.completed:.0f} of {task.total:.0f}",
            table_column=ProgressColumn(no_wrap=True, min_width=widest),
        ),
        TextColumn("{task.fields[words]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(name, total=n_trials, words="")

        def show(tally: Tally) -> None:
            progress.update(
                task,
                total=tally.total,
                completed=tally.done + tally.failed,
                words=progress_text(tally, time.monotonic() - begin),
            )

        yield show


MAX_UNCONFIRMED = 10_000
"""Largest number of trials without confirmation."""
MAX_COUNTED = 1000
"""Number of trials from which the share of each controller is estimated."""
MAX_ERRORS = 5
"""Largest number of printed errors; the table has all."""


@dataclass(frozen=True, kw_only=True)
class SweepCfg:
    """Options of the command line."""

    file: str
    controllers: tuple[str, ...] = ()
    """Controllers that replace those of the file; empty: those of the file."""
    robots: int | None = None
    """Number of robots that replaces that of the file; None: that of the file."""
    out: Path | None = None
    jobs: int | None = None
    scheduler: str | None = None
    trial_limit_s: float | None = None
    is_sure: bool = False
    is_dry: bool = False
    json_file: str | None = None


def run_sweep_command(cfg: SweepCfg) -> int:
    """Run a sweep, write its table, print the results; return the exit status.

    Raises:
        BadInput: the file, the folder or the address is invalid; nothing has been
            started.
    """
    path = SWEEPS.find(cfg.file)
    spec = read_spec(path, cfg.controllers, cfg.robots)
    check_json_file(cfg.json_file)
    console = console_for(cfg.json_file)
    if cfg.is_dry:
        console.print(Text(f"\nSweep {spec.name}", "bold"))
        console.print(parameter_table(identity(spec)), trial_table(spec))
        console.print(_size(spec, cfg), highlight=False)
        return 0
    out = cfg.out or Path("runs", "sweeps", plain_name(path.stem))
    TrialStore(out, spec).check()
    _confirm(spec, cfg)
    warn_before_run()
    first = next(spec.trials())
    setting, posture = first.setting, str(first.parameters["posture"])
    warn_of_fall(load_robot(setting.robot), posture, setting.simulation())
    last = Tally(total=spec.n_trials)
    begin = time.monotonic()
    try:
        with _engine(cfg) as engine, shown_progress(spec.name, spec.n_trials) as show:

            def on_tally(tally: Tally) -> None:
                nonlocal last
                last = tally
                show(tally)

            sweep = run_sweep(spec, out, engine, on_tally)
    except KeyboardInterrupt as stop:
        print(_stop_message(out), file=sys.stderr)
        return exit_status(stop)
    elapsed_s = time.monotonic() - begin
    show_summary(sweep, out, console)
    _print_tally(console, last, elapsed_s, engine.workers)
    console.print(
        f"Table: {out / TABLE_FILE}   (in Python: read_sweep({str(out)!r}).frame)",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )
    write_json(cfg.json_file, json_text(summary_json(sweep)))
    return _print_errors(sweep)


def _stop_message(out: Path) -> str:
    """Print the state of a stopped sweep."""
    try:
        done = int(read_sweep(out).frame["error"].isna().sum())
    except BadInput:
        return "stopped before any trial was finished."
    return (
        f"stopped; {out / TABLE_FILE} holds the {done} finished trials. The same "
        "command resumes the sweep."
    )


@contextlib.contextmanager
def _engine(cfg: SweepCfg) -> Iterator[SweepEngine]:
    if cfg.scheduler is None:
        with JoblibEngine(cfg.jobs, cfg.trial_limit_s) as here:
            yield here
        return
    if cfg.jobs is not None:
        raise BadInput(
            "--jobs applies to this machine only; leave it out with --scheduler, "
            "which uses its own workers."
        )
    if cfg.trial_limit_s is not None:
        raise BadInput(
            "--trial-limit applies to this machine only: a scheduler cannot end a "
            "single trial; leave it out, and end a worker whose trial hangs."
        )
    from nao_testbed.experiments.sweep.engines.dask_engine import DaskEngine  # noqa: PLC0415  # an extra

    with DaskEngine(cfg.scheduler) as cluster:
        if cluster.workers == 0:
            wait = "no worker has joined yet; waiting for the first one."
            print(f"{cfg.scheduler}: {wait}", file=sys.stderr)
        yield cluster


def _confirm(spec: SweepSpec, cfg: SweepCfg) -> None:
    """Ask the user to confirm a long sweep.

    Raises:
        BadInput: there is no terminal, or the answer is no.
    """
    if cfg.is_sure or spec.n_trials <= MAX_UNCONFIRMED:
        return
    size = _size(spec, cfg)
    if not sys.stdin.isatty():
        raise BadInput(f"{size} Give --yes to start it, or make the sweep smaller.")
    if not typer.confirm(f"{size} Start?", err=True):
        raise BadInput("not confirmed; nothing was started.")


def _size(spec: SweepSpec, cfg: SweepCfg) -> str:
    """Return a text with the number of trials and their time."""
    with JoblibEngine(cfg.jobs) as engine:
        workers = engine.workers
    with JoblibEngine(1, cfg.trial_limit_s) as engine:
        wall_s = spec.n_trials * measured_trial_s(spec, engine, workers) / workers
    count = f"{spec.n_trials:,}".replace(",", " ")
    robots = "1 robot" if spec.robots == 1 else f"{spec.robots} robots"
    points = "1 point" if spec.points == 1 else f"{spec.points} points"
    most = ""
    if spec.keep is not None:
        most = f" at most: {spec.keep.controller} first, then the kept robots"
    trials = "trial" if spec.n_trials == 1 else "trials"
    processes = "1 process" if workers == 1 else f"{workers} processes"
    return (
        f"{count} {trials}: {robots} at {points} of the grid{most}; "
        f"about {duration_text(wall_s)} with {processes}."
    )


def measured_trial_s(spec: SweepSpec, engine: SweepEngine, workers: int = 1) -> float:
    """Return the mean time of a trial in s, measured on one trial per controller.

    The trials run in another process, which can be killed if a controller hangs or
    crashes. The first one runs twice, since its first run also loads code. With a drawn
    push, each worker settles once for n pushes of a robot; then a trial takes T =
    pushed + workers (whole - pushed) / n.

    Raises:
        AllTrialsFailed: a trial has no result.
    """
    first: dict[str, SweepTrial] = {}
    counts: Counter[str] = Counter()
    for trial in islice(spec.trials(), MAX_COUNTED):
        first.setdefault(trial.controller, trial)
        counts[trial.controller] += 1
    messages = Console(stderr=True)
    total_s = whole_s = 0.0
    with messages.status(f"measuring one trial of {', '.join(first)}"):
        for i, (name, trial) in enumerate(first.items()):
            for _ in range(1 if i else 2):
                whole_s = _measured_s(trial, engine, run_from_start)
            pushed_s = whole_s
            if SIZE in trial.parameters:
                pushed_s = _measured_s(trial, engine, run_sweep_trial)
            settling_s = workers * (whole_s - pushed_s) / spec.pushes_of_one
            total_s += counts[name] * (pushed_s + max(0.0, settling_s))
    return total_s / counts.total()


def _measured_s(trial: SweepTrial, engine: SweepEngine, work: Work) -> float:
    found: list[TrialOutcome] = []
    engine.run([trial], work, lambda _, outcome: found.append(outcome))
    (outcome,) = found
    if outcome.result is None:
        raise AllTrialsFailed(f"{trial.key}: {outcome.error}")
    return outcome.wall_s or 0.0


def _print_tally(
    console: Console, tally: Tally, elapsed_s: float, workers: int
) -> None:
    words = [f"{tally.done} of {tally.total} trials finished"]
    if tally.skipped:
        words.append(f"{tally.skipped} of them earlier")
    if tally.fell:
        words.append(f"{tally.fell} fell or stopped early")
    if tally.failed:
        words.append(f"{tally.failed} failed")
    line = ", ".join(words) + "."
    if tally.done + tally.failed > tally.skipped:
        busy = tally.worked_s / max(elapsed_s * max(1, workers), 1e-9)
        line += (
            f" {duration_text(elapsed_s)} with {workers} workers, "
            f"{100.0 * busy:.0f} % of it in trials."
        )
    console.print(line, highlight=False)


def _print_errors(sweep: Sweep) -> int:
    failed = sweep.frame[sweep.frame["error"].notna()]
    for trial, error in (
        failed[["trial", "error"]].head(MAX_ERRORS).itertuples(index=False)
    ):
        print(f"error: {trial}: {error}", file=sys.stderr)
    if len(failed) > MAX_ERRORS:
        more = len(failed) - MAX_ERRORS
        print(f"and {more} more: see column `error` of the table.", file=sys.stderr)
    if len(failed):
        print("The same command repeats these trials.", file=sys.stderr)
    return 1 if len(failed) else 0
