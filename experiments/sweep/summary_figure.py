"""Figures of a sweep: each robot as a line over the controllers; the published band."""

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import (
    FAINT_INK,
    INK,
    SHADE,
    SOFT_INK,
    new_figure,
    panel_title,
)
from experiments.sweep.published_band import MEASURES, band_robots
from experiments.sweep.summary import (
    HIGH,
    LOW,
    compared,
    controllers_of,
    paired,
    reference_of,
    summary_of,
)
from experiments.sweep.summary_marks import (
    arm_colour,
    draw_band,
    fainter,
    logarithmic,
    name_axis,
    strew,
    write_sweep_foot,
)
from experiments.sweep.table import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paired_figure(sweep: Sweep) -> "Figure":
    """Draw the legs' power of every robot from controller to controller.

    Left, in W on a logarithmic axis, a thin line a robot, and the least possible;
    right, the multiple of the least. Bars are the 90 % band, their middle the median.
    """
    names = controllers_of(sweep)
    figure = new_figure(9.6, 4.6)
    power, multiple = figure.subplots(1, 2, width_ratios=(1.7, 1.0))
    _draw_power(power, sweep, names)
    _draw_multiple(multiple, sweep, names)
    write_sweep_foot(figure, sweep)
    return figure


TITLES = {
    "hot_leg_rise_k": "rise of the hotter leg's five joints, K",
    "other_leg_rise_k": "rise of the other leg's five joints, K",
    "hot_joint_degc": "hotter leg's hottest joint at the end, °C",
    "other_joint_degc": "other leg's hottest joint at the end, °C",
    "rise_ratio": "rise of both legs as a part of that with fixed",
}
"""Of the panels of `band_figure`."""
TITLE_LETTERS = 21
"""Of a line of a title: a panel is no wider."""


def at_one_height(titles: "Iterable[str]") -> list[str]:
    """Return titles broken into equally many lines, so that all begin at one height."""
    broken = [textwrap.wrap(title, TITLE_LETTERS) for title in titles]
    n = max(map(len, broken))
    return ["\n".join([*lines, *[""] * (n - len(lines))]) for lines in broken]


def band_figure(sweep: Sweep) -> "Figure":
    """Draw where the published outcomes lie among the robots that were kept."""
    names = controllers_of(sweep)
    robots = band_robots(sweep)
    figure = new_figure(11.5, 4.2)
    panels = figure.subplots(1, len(MEASURES), sharex=True)
    titles = at_one_height(words[0].upper() + words[1:] for words in TITLES.values())
    for axes, measure, words in zip(panels, TITLES, titles, strict=True):
        for i, name in enumerate(names):
            values = robots.loc[robots["controller"] == name, measure].to_numpy(float)
            strew(axes, i, values, arm_colour(i))
            there = MEASURES[measure].get(name)
            if there is not None:
                style = {"ms": 7, "mfc": "white", "mec": INK, "mew": 1.4}
                axes.plot(i, there, "D", zorder=5, clip_on=False, **style)
        name_axis(axes, names)
        low, _ = axes.get_ylim()
        axes.set_ylim(bottom=min(0.0, low))
        axes.axhline(0.0, color=FAINT_INK, lw=0.8, zorder=0)
        panel_title(axes, words)
    panels[0].plot([], [], "D", mfc="white", mec=INK, mew=1.4, label="published")
    panels[0].legend(frameon=False, fontsize=8, loc="upper right")
    write_sweep_foot(figure, sweep)
    return figure


def _draw_power(axes: "Axes", sweep: Sweep, names: "Sequence[str]") -> None:
    pairs = paired(sweep, "legs_power_w")
    least = paired(sweep, "least_with_gears_w")
    places = np.arange(len(names))
    alpha = fainter(1.0, len(pairs))
    for row in pairs.to_numpy(float):
        there = np.isfinite(row)  # past a controller that it fell with
        x, y = places[there], row[there]
        axes.plot(x, y, color=FAINT_INK, lw=0.7, alpha=alpha, zorder=1)
    losses = summary_of(sweep)["loss_median"].to_dict()
    for i, name in enumerate(names):
        colour = arm_colour(i)
        draw_band(axes, i, pairs[name].dropna(), colour)
        _shade(axes, i, least[name].dropna())
        loss = losses[name]
        if name != reference_of(sweep) and np.isfinite(loss):
            axes.annotate(
                f"×{loss:.2f}",
                (i, float(pairs[name].median())),
                xytext=(9, 4),
                textcoords="offset points",
                fontsize=9,
                color=colour,
                fontweight="bold",
            )
    logarithmic(axes)
    axes.set_ylabel("joule loss of the legs at the end, W", fontsize=9)
    name_axis(axes, names)
    axes.plot([], [], color=SHADE, lw=6, label="least, stuck gears helping")
    axes.plot([], [], color=FAINT_INK, lw=0.9, label="one robot under each controller")
    axes.legend(frameon=False, fontsize=8, loc="best")
    reference = reference_of(sweep)
    panel_title(axes, f"The same robots (×: median heat over the run, of {reference})")


def _draw_multiple(axes: "Axes", sweep: Sweep, names: "Sequence[str]") -> None:
    frame = compared(sweep)
    frame = frame[frame["stands"]]
    for i, name in enumerate(names):
        values = frame.loc[frame["controller"] == name, "multiple_with_gears"].dropna()
        strew(axes, i, values.to_numpy(float), arm_colour(i))
    axes.axhline(1.0, color=SOFT_INK, lw=1.2, zorder=1)
    logarithmic(axes)
    name_axis(axes, names)
    panel_title(axes, "Times the least, gears helping")


def _shade(axes: "Axes", place: int, values: "pd.Series[float]") -> None:
    """Draw the 90 % band as a shade, the median as a line in it."""
    if not len(values):
        return
    low, median, high = np.quantile(values, [LOW, 0.5, HIGH])
    x = [place - 0.5, place + 0.5]
    axes.fill_between(x, low, high, color=SHADE, lw=0, zorder=0)
    axes.plot(x, [median] * 2, color=SOFT_INK, lw=0.8, zorder=0)
