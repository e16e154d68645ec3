"""How far a sweep is: a line on a terminal, nothing in a pipe."""

import contextlib
import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Column

from experiments.sweep.run import OnTally, Tally


def duration_words(seconds: float) -> str:
    """Return a time as people say it: `40 s`, `12 min`, `3.5 hours`, `31 years`."""
    for unit, length, most in (
        ("s", 1.0, 100.0),
        ("min", 60.0, 100.0),
        ("hours", 3600.0, 48.0),
        ("days", 86400.0, 700.0),
    ):
        if seconds < most * length:
            return f"{seconds / length:.{1 if unit == 'hours' else 0}f} {unit}"
    return f"{seconds / (365.25 * 86400.0):.0f} years"


def progress_words(tally: Tally, elapsed_s: float) -> str:
    """Return rate, time that is left, and what went wrong."""
    ran = tally.done + tally.failed - tally.skipped
    words = []
    if ran > 0 and elapsed_s > 0.0:
        rate = ran / elapsed_s
        left = (tally.total - tally.done - tally.failed) / rate
        words += [f"{60.0 * rate:.1f}/min", f"{duration_words(left)} left"]
    if tally.fell:
        words.append(f"{tally.fell} fell or stopped")
    if tally.failed:
        words.append(f"{tally.failed} failed")
    return ", ".join(words)


@contextlib.contextmanager
def shown_progress(name: str, n_trials: int) -> Iterator[OnTally]:
    """Show a line on stderr while trials run, if that is a terminal.

    Args:
        name: of the sweep.
        n_trials: of the sweep, as far as is known before the first.

    Yields:
        What is to be told after each trial.
    """
    if not sys.stderr.isatty():
        yield lambda _tally: None
        return
    begin = time.monotonic()
    widest = len(f"{n_trials} of {n_trials}")  # a narrow terminal cuts the rest first
    with Progress(
        TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(no_wrap=True, max_width=16),
        ),
        BarColumn(),
        TextColumn(
            "{task.completed:.0f} of {task.total:.0f}",
            table_column=Column(no_wrap=True, min_width=widest),
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
                words=progress_words(tally, time.monotonic() - begin),
            )

        yield show
