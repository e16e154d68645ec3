"""What stands around the panels of a timeline: axes, title, verdicts, foot."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.report.figure_style import FAINT_INK, INK, SOFT_INK, plain_frame
from experiments.report.timeline.colours import BROKEN
from experiments.scenarios.plan.scenario import Scenario

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MINUTES_FROM_S = 240.0
"""Runs of this length or more have minutes on the axis."""


def frame_panels(panels: "Sequence[Axes]", end_s: float) -> None:
    """Give all panels one axis of time, and the rows no other."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415  # heavy

    is_long = end_s >= MINUTES_FROM_S
    for axes in panels:
        plain_frame(axes)
        axes.set_xlim(0.0, end_s)
        axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.5)
        if is_long:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda s, _: f"{s / 60.0:g}"))
            step = max(1, round(end_s / 60.0 / 10.0)) * 60.0
            axes.set_xticks([i * step for i in range(int(end_s / step) + 1)])
        else:
            axes.xaxis.set_major_locator(MaxNLocator(nbins=12, steps=[1, 2, 5, 10]))
    rows = panels[0]
    rows.set_yticks([])
    rows.grid(visible=False, axis="y")
    rows.spines["left"].set_visible(False)
    if len(panels) > 1:
        rows.tick_params(labelbottom=False)
    panels[-1].set_xlabel(f"time in {'minutes' if is_long else 's'}", fontsize=9)


def write_head(
    figure: "Figure",
    title: str,
    said: str,
    ends: tuple[float, float],
    *,
    all_hold: bool,
) -> None:
    """Write the title at the left end of the panels, the verdicts at the right one.

    Args:
        figure: of its final size.
        title: what is shown.
        said: about the verdicts.
        ends: of the panels, as fractions of the figure's width.
        all_hold: whether that is good news.
    """
    y = 1.0 - 0.2 / figure.get_size_inches()[1]
    left, right = ends
    figure.text(left, y, title, fontsize=12, fontweight="bold", color=INK, va="center")
    colour = SOFT_INK if all_hold else BROKEN
    figure.text(right, y, said, fontsize=9, color=colour, ha="right", va="center")


def write_scenario(figure: "Figure", scenario: Scenario, left: float) -> None:
    """Write what a reader needs to repeat the run below everything, small."""
    foot = (
        f"{scenario.path.name} · {scenario.robot.name} from {scenario.posture} · "
        f"{scenario.duration_s:g} s · controller {scenario.controller} · "
        f"seed {scenario.seed} · hatched: waits"
    )
    y = 0.12 / figure.get_size_inches()[1]
    figure.text(left, y, foot, fontsize=7, color=SOFT_INK, va="center")
