"""Which joints give the torque and which make the heat."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import (
    ARM_COLOURS,
    FAINT_INK,
    new_figure,
    panel_title,
    plain_frame,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


def time_mean(frame: "pd.DataFrame") -> "pd.Series[float]":
    """Return the mean over time of each column.

    Rows of a run are not evenly spaced: each is weighed with the time since the one
    before.

    Args:
        frame: index the time in s, rising.
    """
    step_s = frame.index.to_series().diff().fillna(0.0)
    mean: pd.Series[float] = frame.mul(step_s, axis=0).sum() / step_s.sum()
    return mean


def heat_share_figure(
    torque: "pd.Series[float]", watts: "Mapping[str, pd.Series[float]]", title: str
) -> "Figure":
    """Return shares of torque and heat under the first controller, and watts of all.

    Args:
        torque: mean |torque| of each joint under the first controller.
        watts: controller to the heat of each joint in W.
        title: the finding.
    """
    first = next(iter(watts))
    order = watts[first].sort_values().index
    place = np.arange(len(order))
    figure = new_figure(9.0, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    share = watts[first][order] / watts[first].sum()
    left.barh(place + 0.2, torque[order] / torque.sum(), 0.38, color=FAINT_INK)
    left.barh(place - 0.2, share, 0.38, color=ARM_COLOURS[0])
    left.set_xlabel(f"share of the torque (grey) and of the heat, {first}", fontsize=9)
    left.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    height = 0.8 / len(watts)
    for i, (name, heat) in enumerate(watts.items()):
        right.barh(
            place + 0.4 - (i + 0.5) * height,
            heat[order],
            0.95 * height,
            color=ARM_COLOURS[i % len(ARM_COLOURS)],
            label=f"{name}, {heat.sum():.1f} W in all",
        )
    right.set_xlabel("heat in W, mean over the run", fontsize=9)
    right.legend(frameon=False, fontsize=8, loc="lower right")
    left.set_yticks(place, list(order))
    for axes in (left, right):
        plain_frame(axes)
        axes.grid(visible=False, axis="y")
    panel_title(left, title)
    return figure
