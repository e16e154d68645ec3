"""Extra page contents for one kind of run.

A package with its own kind of runs registers their reader in the entry-point group
`nao_testbed.report_pages`: the name is the run's `experiment` in `meta.json`, the value
a function

    def page_of(run: Run, problems: list[str]) -> RunPage

An unregistered kind has rows, events and settings like every run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from nao_testbed.controllers.interface.entry_points import load_entry_point
from nao_testbed.experiments.common.drawing.page import (
    DataTable,
    PageFigure,
    TextBlock,
)
from nao_testbed.experiments.heat.figures.section import picture_of
from nao_testbed.models import BadInput
from nao_testbed.sim.recording.run_folder import Run

ENTRY_POINT_GROUP = "nao_testbed.report_pages"


@dataclass(frozen=True, kw_only=True)
class RunPage:
    """Extra contents of a kind of run."""

    title: str
    lead: str = ""
    """Sentence on the purpose of the run, shown before the run's own one."""
    summary: str = ""
    """Result in sentences, in place of lead, robot, controller and outcome."""
    outcome: str = ""
    """Short text with the result; empty: no result."""
    results: tuple[DataTable, ...] = ()
    figures: tuple[PageFigure, ...] = ()
    happened: tuple[tuple[float, str], ...] = ()
    """Events that the recording lacks: time in s, and text."""
    texts: tuple[TextBlock, ...] = ()


PageReader = Callable[[Run, list[str]], RunPage]


@cache
def page_reader(experiment: str) -> PageReader | None:
    """Return the registered reader of an experiment's runs; None without one.

    Raises:
        BadInput: the registering package cannot be loaded.
    """
    if experiment == "xray":
        return _xray_page
    for point in entry_points(group=ENTRY_POINT_GROUP, name=experiment):
        reader: PageReader = load_entry_point("report page", point)
        return reader
    return None


def _xray_page(run: Run, problems: list[str]) -> RunPage:
    """Return the page of an X-ray, written by `nao-testbed xray LOG --out DIR`."""
    from nao_testbed.experiments.heat.xray.results.xray_folder import (  # noqa: PLC0415
        CAPTION,  # heavy
        FIGURE,
        read_xray_folder,
    )

    log = Path(str(run.meta.config.get("source", "")))
    title = f"X-ray of {'/'.join(log.parts[-2:])}"
    try:
        page = read_xray_folder(run.folder)
    except BadInput as error:
        problems.append(str(error))
        return RunPage(title=title)
    figures = picture_of(run.folder / FIGURE, CAPTION, page.summary)
    return RunPage(
        title=title, summary=page.summary, results=page.tables, figures=tuple(figures)
    )
