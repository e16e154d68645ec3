"""Bars on stderr of how much simulated time has passed, or of how many are done."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)


def simulated_time_bars() -> Progress:
    """Return bars in s, a task a robot, which vanish at the end; for a terminal."""
    return Progress(
        TextColumn("{task.description:>14}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} s"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def counted_bars() -> Progress:
    """Return bars of what is done of how many, which vanish; for a terminal."""
    return Progress(
        TextColumn("{task.description:>14.30}", markup=False),
        BarColumn(),
        MofNCompleteColumn(separator=" of "),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
