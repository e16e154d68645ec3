"""Figures of a sweep: robots by controller, the published band, and the spread.

Each robot is a line across the controllers, or a dot per outcome. Bars are the 90 %
band, with the median in the middle.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.common.drawing.style import (
    FAINT_INK,
    INK,
    SHADE,
    SOFT_INK,
    controller_colours,
    new_figure,
    panel_title,
    plain_frame,
)
from nao_testbed.experiments.sweep.summary import (
    HIGH,
    LOW,
    MEASURES,
    band_robots,
    compared,
    controllers_of,
    paired,
    power_unit_of,
    reference_of,
    relative,
    summary_of,
)
from nao_testbed.experiments.sweep.summary.falls import falls_of
from nao_testbed.experiments.sweep.sweep_table import Sweep
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


CROWD = 60
"""Number of distinguishable marks; with more, marks are drawn fainter."""
SPREAD = 0.16
"""Half the width of the scatter of one controller's dots."""


def crowd_alpha(alpha: float, n: int) -> float:
    """Return the opacity of each of n marks; lower for many overlapping ones."""
    return alpha * min(1.0, max(0.25, CROWD / max(1, n)))


def scatter_values(axes: "Axes", place: int, values: "np.ndarray", colour: str) -> None:
    """Draw values as dots, spread sideways so that none hides another."""
    values = np.sort(values[np.isfinite(values)])
    golden = (np.arange(len(values)) * 0.618034) % 1.0
    x = place + SPREAD * (2.0 * golden - 1.0)
    alpha = crowd_alpha(0.45, len(values))
    axes.plot(x, values, "o", ms=3.2, color=colour, alpha=alpha, mew=0, zorder=2)
    if len(values):
        draw_band(axes, place, values, colour)


def draw_band(
    axes: "Axes", place: int, values: "np.ndarray | pd.Series[float]", colour: str
) -> None:
    """Draw the 90 % band as a bar and the median across it."""
    if not len(values):
        return
    low, median, high = np.quantile(values, [LOW, 0.5, HIGH])
    axes.plot([place, place], [low, high], color=colour, lw=2.2, zorder=3)
    axes.plot([place - 0.11, place + 0.11], [median] * 2, color=colour, lw=3, zorder=4)


def logarithmic(axes: "Axes") -> None:
    """Give an axis a logarithmic scale with plain numbers."""
    from matplotlib.ticker import LogLocator  # noqa: PLC0415  # heavy

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter("")


def name_axis(axes: "Axes", names: "Sequence[str]") -> None:
    """Write the controllers below a panel."""
    plain_frame(axes)
    axes.set_xticks(range(len(names)), [_broken(name) for name in names])
    axes.set_xlim(-0.5, len(names) - 0.5)


def _broken(name: str) -> str:
    """Return a name with line breaks; `+` starts an option of a policy."""
    head, *options = name.replace("=", "=\n").split("+")
    if len(head) >= 10:
        head = re.sub("[-_]", r"\g<0>\n", head)
    return "\n+".join([head, *options])


def write_sweep_footer(
    figure: "Figure", sweep: Sweep, bars: str = "bars: median and 90 % band"
) -> None:
    """Write a small line with the robots and the drawn quantities."""
    frame = compared(sweep)
    kept = frame["robot"].nunique()
    parts = [f"{sweep.meta['name']}", "1 robot" if kept == 1 else f"{kept} robots"]
    if sweep.meta.get("identity", {}).get("keep") is not None:
        parts[-1] += f" kept of {sweep.meta['robots']}"
    parts += [f"seed {sweep.meta['seed']}", bars]
    if (commit := sweep.meta.get("commit")) is not None:
        parts.append(f"commit {commit[:10]}")
    figure.supxlabel(" · ".join(parts), fontsize=7, color=SOFT_INK, x=0.01, ha="left")


def paired_figure(sweep: Sweep) -> "Figure":
    """Draw the legs' power of every robot from controller to controller.

    Left: a thin line per robot on a logarithmic axis, and the minimum. Right: the
    ratio to the minimum. Bars are the 90 % band, with the median in the middle.
    """
    names = controllers_of(sweep)
    figure = new_figure(9.6, 4.6)
    power, multiple = figure.subplots(1, 2, width_ratios=(1.7, 1.0))
    _draw_power(power, sweep, names)
    _draw_multiple(multiple, sweep, names)
    bars = "bars: median and 90 % band"
    if (reference := reference_of(sweep)) is not None:
        bars += f" · ×: median heat over the run, relative to {reference}"
    write_sweep_footer(figure, sweep, bars)
    return figure


TITLES = {
    "hot_leg_rise_k": "Sum of the rises, hotter leg (K)",
    "other_leg_rise_k": "Sum of the rises, other leg (K)",
    "hot_joint_degc": "Final temperature, hotter leg's hottest joint (°C)",
    "other_joint_degc": "Final temperature, other leg's hottest joint (°C)",
    "rise_ratio": "Rise of both legs relative to fixed",
}
"""Titles of the panels of `band_figure`."""
TITLE_LETTERS = 21
"""Largest number of letters of a title's line, the width of a panel."""


def align_titles(titles: "Iterable[str]") -> list[str]:
    """Wrap titles into equal numbers of lines, so that all start at the same height."""
    broken = [textwrap.wrap(title, TITLE_LETTERS) for title in titles]
    n = max(map(len, broken))
    return ["\n".join([*lines, *[""] * (n - len(lines))]) for lines in broken]


def band_figure(sweep: Sweep) -> "Figure":
    """Draw the published outcomes within the band of the kept robots."""
    names = controllers_of(sweep)
    robots = band_robots(sweep)
    figure = new_figure(11.5, 4.2)
    panels = figure.subplots(1, len(MEASURES), sharex=True)
    titles = align_titles(TITLES.values())
    for axes, measure, words in zip(panels, TITLES, titles, strict=True):
        for i, name in enumerate(names):
            values = robots.loc[robots["controller"] == name, measure].to_numpy(float)
            scatter_values(axes, i, values, controller_colours(names)[name])
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
    write_sweep_footer(figure, sweep)
    return figure


def _draw_power(axes: "Axes", sweep: Sweep, names: "Sequence[str]") -> None:
    unit = power_unit_of(sweep)
    pairs = paired(sweep, "legs_power_w") / unit.size
    least = paired(sweep, "least_with_gears_w") / unit.size
    places = np.arange(len(names))
    alpha = crowd_alpha(1.0, len(pairs))
    for row in pairs.to_numpy(float):
        there = np.isfinite(row)  # NaN for a controller with a fall
        x, y = places[there], row[there]
        axes.plot(x, y, color=FAINT_INK, lw=0.7, alpha=alpha, zorder=1)
    losses = summary_of(sweep)["loss_median"].to_dict()
    for i, name in enumerate(names):
        colour = controller_colours(names)[name]
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
    axes.set_ylabel(unit.label("Final Joule loss of the legs"), fontsize=9)
    name_axis(axes, names)
    axes.plot([], [], color=SHADE, lw=6, label="minimum, with gear friction")
    axes.plot([], [], color=FAINT_INK, lw=0.9, label="one robot")
    axes.legend(frameon=False, fontsize=8, loc="best")
    reference = reference_of(sweep)
    panel_title(
        axes, f"Heat of the same robots under each controller, relative to {reference}"
    )


def _draw_multiple(axes: "Axes", sweep: Sweep, names: "Sequence[str]") -> None:
    frame = compared(sweep)
    frame = frame[frame["stands"]]
    for i, name in enumerate(names):
        values = frame.loc[frame["controller"] == name, "multiple_with_gears"].dropna()
        scatter_values(axes, i, values.to_numpy(float), controller_colours(names)[name])
    axes.axhline(1.0, color=SOFT_INK, lw=1.2, zorder=1)
    logarithmic(axes)
    name_axis(axes, names)
    panel_title(axes, "Ratio to the minimum")


def _shade(axes: "Axes", place: int, values: "pd.Series[float]") -> None:
    """Draw the 90 % band as a shade, and the median as a line."""
    if not len(values):
        return
    low, median, high = np.quantile(values, [LOW, 0.5, HIGH])
    x = [place - 0.5, place + 0.5]
    axes.fill_between(x, low, high, color=SHADE, lw=0, zorder=0)
    axes.plot(x, [median] * 2, color=SOFT_INK, lw=0.8, zorder=0)


MAX_PANELS = 6
"""Largest number of panels of `survival_figure`."""
DODGE = 0.012
"""Offset between controllers at one size, as a share of the axis, to avoid overlap."""


def survival_figure(sweep: Sweep) -> "Figure":
    """Draw the share of trials without a fall over the push size, with 95 % intervals.

    There is a panel for each grid point other than direction and size, such as a
    friction, and a line per controller. Directions and robots are pooled. More than
    `MAX_PANELS` points, as in a sweep with cases, become rows of one panel.
    """
    falls = falls_of(sweep)
    names = controllers_of(sweep)
    points = list(dict.fromkeys(falls["point"]))
    if len(points) > MAX_PANELS:
        return _row_figure(sweep, falls, names)
    figure = new_figure(3.6 + 3.0 * len(points), 3.9)
    panels = figure.subplots(1, len(points), squeeze=False, sharey=True)[0]
    reach = max(float(falls["size_n"].max()), 1.0)
    for axes, point in zip(panels, points, strict=True):
        of_point = falls[falls["point"] == point]
        for i, name in enumerate(names):
            own = of_point[of_point["controller"] == name].sort_values("size_n")
            x = own["size_n"] + DODGE * reach * (i - (len(names) - 1) / 2.0)
            stood, colour = (
                100.0 * (1.0 - own["share"]),
                controller_colours(names)[name],
            )
            low, high = 100.0 * (1.0 - own["high"]), 100.0 * (1.0 - own["low"])
            axes.fill_between(x, low, high, color=colour, alpha=0.12, lw=0, zorder=1)
            axes.vlines(x, low, high, color=colour, lw=1.4, zorder=2)
            axes.plot(x, stood, "o-", ms=4, lw=1.6, color=colour, label=name, zorder=3)
        plain_frame(axes)
        axes.set_ylim(-3.0, 103.0)
        axes.set_xlim(0.0, 1.06 * reach)
        axes.set_xlabel("Push (N)", fontsize=9)
        panel_title(axes, point or "Pushed robots")
    panels[0].set_ylabel("Trials without a fall (%)", fontsize=9)
    panels[0].legend(frameon=False, fontsize=8, loc="lower left")
    write_sweep_footer(figure, sweep, "bars and bands: 95 %")
    return figure


ROW_DODGE = 0.22
"""Offset between controllers in a row of `_row_figure`, as a share of its height."""


def _row_figure(sweep: Sweep, falls: "pd.DataFrame", names: Sequence[str]) -> "Figure":
    """Draw the share of trials without a fall, a row per point and size."""
    rows = list(dict.fromkeys(zip(falls["point"], falls["size_n"], strict=True)))
    figure = new_figure(8.0, 1.1 + 0.32 * len(rows))
    axes = figure.subplots()
    for i, name in enumerate(names):
        own = falls[falls["controller"] == name]
        places = zip(own["point"], own["size_n"], strict=True)
        dodge = ROW_DODGE * (i - (len(names) - 1) / 2.0)
        y = np.array([rows.index(place) + dodge for place in places])
        low, high = 100.0 * (1.0 - own["high"]), 100.0 * (1.0 - own["low"])
        stood, colour = 100.0 * (1.0 - own["share"]), controller_colours(names)[name]
        axes.hlines(y, low, high, color=colour, lw=1.4, alpha=0.5)
        axes.plot(stood, y, "o", ms=4, color=colour, label=name)
    plain_frame(axes)
    axes.set_yticks(range(len(rows)), [_row_label(*row) for row in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-3.0, 103.0)
    axes.set_xlabel("Trials without a fall (%)", fontsize=9)
    figure.legend(
        loc="outside upper right", ncols=len(names), frameon=False, fontsize=8
    )
    write_sweep_footer(figure, sweep, "bars: 95 %")
    return figure


def _row_label(point: str, size_n: float) -> str:
    """Return the values of a grid point without keys, with a missing size."""
    words, size = re.sub(r"(^|, )(?:engine|case) ", r"\1", point), f"{size_n:g} N"
    return words if size in words else f"{words}, {size}".removeprefix(", ")


PANEL_WIDTH = 2.9
"""Width of a panel in inches."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Panel:
    title: str
    values: dict[str, FloatArray]
    """Controller to one number per trial; NaN without a value."""
    is_logarithmic: bool = False
    line_at: float | None = None
    unsettled: str = ""
    """Label of the number of trials without a value; empty: not shown."""

    @property
    def is_empty(self) -> bool:
        return not any(np.isfinite(values).any() for values in self.values.values())


def spread_figure(sweep: Sweep) -> "Figure | None":
    """Draw a panel per outcome, a column per controller, a dot per robot and point.

    Outcomes: ratio of the legs' joule loss to that of the reference on the same robot,
        hottest joint at the end, settling time of the legs' power, largest shift of a
        set-point. Bars are the 90 % band with the median.

    Returns:
        The figure; None if no robot stood to the end.
    """
    names = controllers_of(sweep)
    panels = [panel for panel in _panels(sweep, names) if not panel.is_empty]
    if not panels:
        return None
    width = PANEL_WIDTH * max(2, len(panels))  # the footer needs the width of two
    figure = new_figure(width, 3.9, gap=0.08)
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(row, panels, strict=True):
        _draw(axes, panel, names)
    write_sweep_footer(figure, sweep)
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
        _Panel(title="Final temperature (°C)", values=of("hottest_degc")),
        _Panel(
            title="Settling time (s)", values=of("settled_s"), unsettled="not settled"
        ),
    ]
    if any((values > 0.0).any() for values in of("largest_shift_deg").values()):
        panels.append(
            _Panel(title="Largest set-point shift (°)", values=of("largest_shift_deg"))
        )
    reference = reference_of(sweep)
    if len(names) > 1 and reference is not None:
        ratios = relative(paired(sweep, "legs_joule_loss_j"), reference)
        loss = {name: ratios[name].to_numpy(float) for name in names}
        loss[reference] = np.empty(0)  # 1 on every robot
        title = f"Joule loss relative to {reference}"
        panels.insert(
            0, _Panel(title=title, values=loss, is_logarithmic=True, line_at=1.0)
        )
    return panels


def _draw(axes: "Axes", panel: _Panel, names: Sequence[str]) -> None:
    for i, name in enumerate(names):
        values = panel.values[name]
        finite = np.isfinite(values)
        scatter_values(axes, i, values[finite], controller_colours(names)[name])
        if panel.unsettled and not finite.all():
            axes.annotate(
                f"{np.count_nonzero(~finite)} {panel.unsettled}",
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
