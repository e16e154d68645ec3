"""Drawing the figures of a page when some of them fail."""

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from nao_testbed.experiments.common.drawing.page import (
    PlannedFigure,
    draw_figures,
    themed_svg,
)
from nao_testbed.experiments.common.drawing.style import save_figure


def line() -> Figure:
    figure = Figure()
    figure.add_subplot().plot([0.0, 1.0])
    return figure


def broken() -> Figure:
    raise ValueError("no rows")


class Unfit(Figure):
    """Figure that matplotlib can create but not write."""

    def savefig(self, *_: object, **__: object) -> None:
        raise StopIteration


def test_failed_figures_are_reported_and_others_drawn() -> None:
    draws: dict[str, Callable[[], Figure | None]] = {
        "First.": line,
        "Second.": broken,
        "Third.": lambda: None,
        "Fourth.": Unfit,
        "Last.": line,
    }
    plans = [
        PlannedFigure(caption=caption, draw=draw, alt="")
        for caption, draw in draws.items()
    ]
    problems: list[str] = []
    drawn = draw_figures(plans, "run", problems)
    assert [figure.caption for figure in drawn] == ["First.", "Last."]
    assert problems == [
        "A figure could not be drawn (Second): no rows.",
        "A figure could not be drawn (Fourth): StopIteration.",
    ]
    assert not plt.get_fignums()  # all figures are closed in matplotlib


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    files = [tmp_path / f"{i}.svg" for i in range(2)]
    for file in files:
        save_figure(line(), file, "A line", {"seed": 1})
    assert files[0].read_bytes() == files[1].read_bytes()
    assert themed_svg(line(), "p") == themed_svg(line(), "p")
