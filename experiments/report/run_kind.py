"""What the page shows of one kind of run, beside what it shows of all.

Who records runs of a kind of their own tells the page how to read them, by the entry
point group `nao_testbed.report_pages`: the name is the run's `experiment` in
`meta.json`, the value a function

    def page_of(run: Run, problems: list[str]) -> RunPage

A kind that nobody knows has rows, events and settings like every run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from nao_testbed.controllers.interface.entry_points import load_entry_point
from nao_testbed.experiments.common.drawing.page import (
    DataTable,
    PageFigure,
    TextBlock,
)
from nao_testbed.sim.recording.run_folder import Run

ENTRY_POINT_GROUP = "nao_testbed.report_pages"


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """What a kind of run has of its own."""

    title: str
    lead: str = ""
    """A sentence before the run's own one: what it is for."""
    outcome: str = ""
    """What came of it, in some words; empty: nothing is said."""
    results: tuple[DataTable, ...] = ()
    figures: tuple[PageFigure, ...] = ()
    happened: tuple[tuple[float, str], ...] = ()
    """Events that its recording lacks: time in s, words."""
    texts: tuple[TextBlock, ...] = ()


PageReader = Callable[[Run, list[str]], RunPage]


@cache
def page_reader(experiment: str) -> PageReader | None:
    """Return who reads the runs of an experiment; None where nobody is registered.

    Raises:
        BadInput: the package that registers it cannot be loaded.
    """
    for point in entry_points(group=ENTRY_POINT_GROUP, name=experiment):
        reader: PageReader = load_entry_point("report page", point)
        return reader
    return None
