"""Figures of a sweep: each robot as a line over the controllers; the published band."""

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import (
    ARM_COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
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
from experiments.sweep.summary_words import MEASURE_WORDS
from experiments.sweep.table import Sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHADE = "#dde1e6"
"""Colour of what cannot be gone below."""
SPREAD = 0.16
"""Half the width over which dots of one controller are strewn."""


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
    _write_foot(figure, sweep)
    return figure


def band_figure(sweep: Sweep) -> "Figure":
    """Draw where the published outcomes lie among the robots that were kept."""
    names = controllers_of(sweep)
    robots = band_robots(sweep)
    figure = new_figure(11.5, 4.2)
    panels = figure.subplots(1, len(MEASURES), sharex=True)
    for axes, (measure, words) in zip(panels, MEASURE_WORDS.items(), strict=True):
        for i, name in enumerate(names):
            values = robots.loc[robots["controller"] == name, measure].to_numpy(float)
            _strew(axes, i, values, ARM_COLOURS[i % len(ARM_COLOURS)])
            there = MEASURES[measure].get(name)
            if there is not None:
                axes.plot(i, there, "D", ms=7, mfc="white", mec=INK, mew=1.4, zorder=5)
        _name_axis(axes, names)
        low, _ = axes.get_ylim()
        axes.set_ylim(bottom=min(0.0, low))
        axes.axhline(0.0, color=FAINT_INK, lw=0.8, zorder=0)
        panel_title(axes, textwrap.fill(words, 20))
    panels[0].plot([], [], "D", mfc="white", mec=INK, mew=1.4, label="published")
    panels[0].legend(frameon=False, fontsize=8, loc="upper right")
    _write_foot(figure, sweep)
    return figure


def _draw_power(axes: "Axes", sweep: Sweep, names: "Sequence[str]") -> None:
    pairs = paired(sweep, "legs_power_w")
    least = paired(sweep, "least_with_gears_w")
    places = np.arange(len(names))
    axes.plot(places, pairs.to_numpy(float).T, color=FAINT_INK, lw=0.7, zorder=1)
    losses = summary_of(sweep)["loss_median"].to_dict()
    for i, name in enumerate(names):
        colour = ARM_COLOURS[i % len(ARM_COLOURS)]
        _bar(axes, i, pairs[name].dropna(), colour)
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
    _logarithmic(axes)
    axes.set_ylabel("joule loss of the legs at the end, W", fontsize=9)
    _name_axis(axes, names)
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
        _strew(axes, i, values.to_numpy(float), ARM_COLOURS[i % len(ARM_COLOURS)])
    axes.axhline(1.0, color=SOFT_INK, lw=1.2, zorder=1)
    _logarithmic(axes)
    _name_axis(axes, names)
    panel_title(axes, "Times the least, gears helping")


def _strew(axes: "Axes", place: int, values: "np.ndarray", colour: str) -> None:
    """Draw values as dots side by side, in their order so that none hides another."""
    values = np.sort(values[np.isfinite(values)])
    golden = (np.arange(len(values)) * 0.618034) % 1.0
    x = place + SPREAD * (2.0 * golden - 1.0)
    axes.plot(x, values, "o", ms=3.2, color=colour, alpha=0.45, mew=0, zorder=2)
    if len(values):
        _bar(axes, place, values, colour)


def _bar(
    axes: "Axes", place: int, values: "np.ndarray | pd.Series[float]", colour: str
) -> None:
    """Draw the 90 % band as a bar and the median across it."""
    if not len(values):
        return
    low, median, high = np.quantile(values, [LOW, 0.5, HIGH])
    axes.plot([place, place], [low, high], color=colour, lw=2.2, zorder=3)
    axes.plot([place - 0.11, place + 0.11], [median] * 2, color=colour, lw=3, zorder=4)


def _shade(axes: "Axes", place: int, values: "pd.Series[float]") -> None:
    """Draw the 90 % band as a shade, the median as a line in it."""
    if not len(values):
        return
    low, median, high = np.quantile(values, [LOW, 0.5, HIGH])
    x = [place - 0.5, place + 0.5]
    axes.fill_between(x, low, high, color=SHADE, lw=0, zorder=0)
    axes.plot(x, [median] * 2, color=SOFT_INK, lw=0.8, zorder=0)


def _logarithmic(axes: "Axes") -> None:
    from matplotlib.ticker import LogLocator  # noqa: PLC0415  # heavy

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter("")


def _name_axis(axes: "Axes", names: "Sequence[str]") -> None:
    plain_frame(axes)
    broken = [name if len(name) < 10 else name.replace("-", "-\n", 1) for name in names]
    axes.set_xticks(range(len(names)), broken)
    axes.set_xlim(-0.5, len(names) - 0.5)


def _write_foot(figure: "Figure", sweep: Sweep) -> None:
    """Write which robots these are, small."""
    frame = compared(sweep)
    kept = frame["robot"].nunique()
    parts = [f"{sweep.meta['name']}", f"{kept} robots"]
    if sweep.meta.get("identity", {}).get("keep") is not None:
        parts[-1] += f" kept of {sweep.meta['robots']}"
    parts += [f"seed {sweep.meta['seed']}", "bars: median and 90 % band"]
    if (commit := sweep.meta.get("commit")) is not None:
        parts.append(f"commit {commit[:10]}")
    figure.supxlabel(" · ".join(parts), fontsize=7, color=SOFT_INK, x=0.01, ha="left")
