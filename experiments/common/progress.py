"""Terminal output of a command: tables and progress bars.

Bars are on stderr and disappear at the end; a pipe gets none. With `--json -` only the
JSON goes to stdout, and the tables to stderr.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from nao_testbed.experiments.common.options import STDOUT

OnCount = Callable[[int, int | None, str], None]
"""Function of the number of finished tasks, their total, and the present task."""


def console_for(json_file: str | None, width: int = 100) -> Console:
    """Return the console for tables; `width` applies to a pipe."""
    is_terminal = sys.stdout.isatty()
    return Console(stderr=json_file == STDOUT, width=None if is_terminal else width)


def _bars(*columns: ProgressColumn, most: str = "") -> Progress:
    return Progress(
        TextColumn(f"{{task.description:>14{most}}}", markup=False),
        BarColumn(),
        *columns,
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def simulated_time_bars() -> Progress:
    """Return progress bars in s, one task per robot, for a terminal."""
    return _bars(TextColumn("{task.completed:.0f} of {task.total:.0f} s"))


@contextmanager
def simulated_time(
    lengths_s: Mapping[str, float],
) -> Iterator[Callable[[int, float], None]]:
    """Show the simulated time of robots, one bar each.

    Args:
        lengths_s: robot to its total time in s.

    Yields:
        Function of the number of a robot and its time in s.
    """
    if not sys.stderr.isatty():
        yield lambda _number, _time_s: None
        return
    with simulated_time_bars() as bars:
        tasks = [bars.add_task(name, total=s) for name, s in lengths_s.items()]
        yield lambda number, time_s: bars.update(tasks[number], completed=time_s)


@contextmanager
def count_bar(what: str, total: int | None = None) -> Iterator[OnCount]:
    """Show a counter of finished tasks.

    Args:
        what: first task.
        total: number of tasks, if known.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _of, _what: None
        return
    with _bars(MofNCompleteColumn(separator=" of "), most=".30") as bars:
        task = bars.add_task(what, total=total)
        yield lambda done, of, now: bars.update(
            task, completed=done, total=of, description=now
        )


@contextmanager
def share_bars(names: Iterable[str]) -> Iterator[Callable[[str, float], None]]:
    """Show the finished share, from 0 to 1, of each name."""
    if not sys.stderr.isatty():
        yield lambda _name, _share: None
        return
    with _bars(TaskProgressColumn()) as bars:
        tasks = {name: bars.add_task(name, total=1.0) for name in names}
        yield lambda name, share: bars.update(tasks[name], completed=share)
