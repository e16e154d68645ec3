"""From planned figures to those of a page; one that fails takes no other along."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.report.page.themed_svg import themed_svg
from experiments.report.page.views import Figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn


@dataclass(frozen=True, kw_only=True)
class PlannedFigure:
    """A figure that a page wants."""

    caption: str
    """One or more sentences below it."""
    draw: "Callable[[], Drawn | None]"
    """Draws it; None where there is nothing to see."""
    alt: str
    """What it shows, for who cannot see it."""


def draw_figures(
    plans: Sequence[PlannedFigure], prefix: str, problems: list[str]
) -> list[Figure]:
    """Draw all that can be drawn.

    Args:
        plans: in the order of the page.
        prefix: of the names within the figures, one for each run of a page.
        problems: gets a line for each figure that cannot be drawn.
    """
    figures = []
    for k, plan in enumerate(plans):
        try:
            drawn = plan.draw()
        except Exception as error:  # noqa: BLE001  # the tables do not depend on it
            what = plan.caption[:-1]
            problems.append(f"A figure could not be drawn ({what}): {error}.")
            continue
        if drawn is not None:
            svg = themed_svg(drawn, f"{prefix}-{k}")
            figures.append(Figure(caption=plan.caption, alt=plan.alt, svg=svg))
    return figures
