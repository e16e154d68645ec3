"""Figure of a sweep: where its robots lie in four outcomes, by controller."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from experiments.report.figure_style import SOFT_INK, new_figure, panel_title
from experiments.sweep.summary import (
    compared,
    controllers_of,
    paired,
    reference_of,
    relative,
)
from experiments.sweep.summary_marks import (
    arm_colour,
    logarithmic,
    name_axis,
    strew,
    write_sweep_foot,
)
from experiments.sweep.table import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

PANEL_WIDTH = 2.9
"""In inches."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Panel:
    title: str
    values: dict[str, FloatArray]
    """By controller, a number a trial; NaN where there is none."""
    is_logarithmic: bool = False
    line_at: float | None = None
    never: str = ""
    """What a trial without a number did, where that says something."""

    @property
    def is_empty(self) -> bool:
        return not any(np.isfinite(values).any() for values in self.values.values())


def spread_figure(sweep: Sweep) -> "Figure | None":
    """Draw a dot a robot and grid point, a panel an outcome, a column a controller.

    Outcomes: the legs' joule loss over that of the reference on the same robot, the
    hottest joint at the end, when the legs' power had settled, the largest shift of a
    set-point. Bars are the 90 % band and the median across it.

    Returns:
        The figure; None where no robot stood, which leaves nothing to draw.
    """
    names = controllers_of(sweep)
    panels = [panel for panel in _panels(sweep, names) if not panel.is_empty]
    if not panels:
        return None
    width = PANEL_WIDTH * max(2, len(panels))  # the foot is as long as two
    figure = new_figure(width, 3.9, gap=0.08)
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        _draw(axes, panel, names)
    write_sweep_foot(figure, sweep)
    return figure


def _panels(sweep: Sweep, names: Sequence[str]) -> list[_Panel]:
    frame = compared(sweep)
    frame = frame[frame["stands"]]

    def of(column: str) -> dict[str, FloatArray]:
        if column not in frame:
            return {}
        return {
            name: frame.loc[frame["controller"] == name, column].to_numpy(float)
            for name in names
        }

    panels = [
        _Panel(title="hottest joint at the end, °C", values=of("hottest_degc")),
        _Panel(title="settled after, s", values=of("settled_s"), never="never"),
    ]
    if any((values > 0.0).any() for values in of("largest_shift_deg").values()):
        panels.append(
            _Panel(title="largest shift, degrees", values=of("largest_shift_deg"))
        )
    reference = reference_of(sweep)
    if len(names) > 1 and reference is not None:
        ratios = relative(paired(sweep, "legs_joule_loss_j"), reference)
        loss = {name: ratios[name].to_numpy(float) for name in names}
        loss[reference] = np.empty(0)  # 1 on every robot
        title = f"legs' joule loss, × {reference}"
        panels.insert(
            0, _Panel(title=title, values=loss, is_logarithmic=True, line_at=1.0)
        )
    return panels


def _draw(axes: "Axes", panel: _Panel, names: Sequence[str]) -> None:
    for i, name in enumerate(names):
        values = panel.values[name]
        finite = np.isfinite(values)
        strew(axes, i, values[finite], arm_colour(i))
        if panel.never and not finite.all():
            axes.annotate(
                f"{np.count_nonzero(~finite)} {panel.never}",
                (i, 1.0),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="top",
                fontsize=8,
                color=SOFT_INK,
            )
    if panel.line_at is not None:
        axes.axhline(panel.line_at, color=SOFT_INK, lw=1.2, zorder=1)
    if panel.is_logarithmic:
        logarithmic(axes)
    else:
        axes.margins(y=0.12)
    name_axis(axes, names)
    panel_title(axes, panel.title)
