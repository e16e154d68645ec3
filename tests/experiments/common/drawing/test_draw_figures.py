"""A page keeps the figures that can be drawn."""

from collections.abc import Callable

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from nao_testbed.experiments.common.drawing.page import PlannedFigure, draw_figures


def line() -> Figure:
    figure = Figure()
    figure.add_subplot().plot([0.0, 1.0])
    return figure


def broken() -> Figure:
    raise ValueError("no rows")


class Unfit(Figure):
    """Of numbers that matplotlib cannot place: it says so only when it writes."""

    def savefig(self, *_: object, **__: object) -> None:
        raise StopIteration


def test_a_figure_that_fails_is_told_and_takes_no_other_along() -> None:
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
    assert not plt.get_fignums()  # nothing is left in matplotlib's register
