"""Figures of the identification: fitted curves, and intervals with the truth."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nao_testbed.experiments.common.drawing.style import (
    COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    is_right,
    joint_colours,
    joint_kind,
    new_figure,
    panel_title,
    plain_frame,
    spread_labels,
    time_axis,
)
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.one_node_fit import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


DASHED = (0, (4, 1.5))
"""Line of a right joint beside its left twin."""
ROOM = 1.2
"""Width of a panel divided by that of its curves: room for labels at their ends."""
LABEL_GAP = 0.055
"""Distance between two labels, as a share of the axis's height."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedCurve:
    """Measured and fitted temperatures of a motor."""

    name: str
    time_s: FloatArray
    measured_degc: FloatArray
    """Measured temperature in °C; NaN if not measured."""
    fitted_degc: FloatArray
    unseen_from_s: float | None = None
    """Time in s from which rows are predicted, not fitted; None: all rows are
    fitted."""


def fit_figure(
    curves: Sequence[FittedCurve], title: str, resolution_k: float = 0.0
) -> "Figure":
    """Return a figure of measured and fitted temperatures, with the residuals below.

    Args:
        curves: curves by joint; curves with the same name share a colour and a label.
            A right joint is dashed if its left twin is drawn too.
        title: title with the finding.
        resolution_k: step of the sensor, drawn as a band of half a step up and down.
    """
    figure = new_figure(9.0, 5.0)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.2))
    colours = joint_colours(curve.name for curve in curves)
    of_kind = Counter(map(joint_kind, colours))
    ends: dict[str, tuple[float, float]] = {}
    for curve in curves:
        colour = colours[curve.name]
        has_twin = of_kind[joint_kind(curve.name)] > 1
        line = DASHED if has_twin and is_right(curve.name) else "-"
        minutes = curve.time_s / 60.0
        upper.plot(minutes, curve.measured_degc, ".", ms=2.0, color=colour, alpha=0.35)
        upper.plot(minutes, curve.fitted_degc, color=colour, lw=1.8, ls=line)
        ends[curve.name] = (float(minutes[-1]), float(curve.fitted_degc[-1]))
        residual = curve.measured_degc - curve.fitted_degc
        lower.plot(minutes, residual, ".", ms=1.6, color=colour, alpha=0.5)
    if resolution_k > 0.0:
        half = 0.5 * resolution_k
        lower.axhspan(-half, half, xmax=1.0 / ROOM, color=FAINT_INK, alpha=0.35, lw=0.0)
        lower.set_title(
            f"grey: ± half a sensor step ({resolution_k:g} K)",
            loc="left",
            fontsize=7.5,
            color=SOFT_INK,
        )
    unseen = [c.unseen_from_s for c in curves if c.unseen_from_s is not None]
    if unseen:
        _mark_unseen((upper, lower), min(unseen) / 60.0)
    for axes in (upper, lower):
        plain_frame(axes)
    longest = max(end for end, _ in ends.values())
    upper.set_xlim(0.0, ROOM * longest)
    upper.set_xticks([tick for tick in upper.get_xticks() if tick <= longest])
    lower.spines["bottom"].set_bounds(0.0, longest)
    upper.spines["bottom"].set_bounds(0.0, longest)
    _label_ends(upper, ends, colours)
    upper.set_ylabel("Temperature (°C)", fontsize=9)
    lower.set_ylabel("Residual (K)", fontsize=9)
    time_axis(lower, 1.0 / ROOM)
    panel_title(upper, title)
    return figure


def interval_figure(
    rows: Mapping[str, Mapping[str, Estimate]],
    truth: Mapping[str, float],
    title: str,
    widest: float = 1.0,
) -> "Figure":
    """Return a figure of estimates with intervals, a panel per quantity, and the truth.

    Args:
        rows: method to quantity to estimate.
        truth: quantity to its true value, not 0.
        title: title with the finding.
        widest: largest relative distance from the truth that is drawn; longer intervals
            are cut and marked with an arrow.
    """
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  # heavy

    figure = new_figure(9.0, 1.0 + 0.42 * len(rows))
    panels = figure.subplots(1, len(truth), sharey=True, squeeze=False)[0]
    for axes, (quantity, value) in zip(panels, truth.items(), strict=True):
        unit = ""
        axes.axvline(value, color=INK, lw=0.8)
        room = widest * abs(value)
        for place, (way, estimates) in enumerate(rows.items()):
            colour = COLOURS[place % len(COLOURS)]
            estimate = estimates.get(quantity)
            if estimate is None:
                continue
            low, high = estimate.low, estimate.high
            left, right = max(low, value - room), min(high, value + room)
            axes.plot([left, right], [place, place], color=colour, lw=3.0, alpha=0.45)
            for end, marker in ((left, "<"), (right, ">")):
                if end not in (low, high):
                    axes.plot(end, place, marker, color=colour, ms=6)
            unit = estimate.unit
            if left <= estimate.value <= right:
                axes.plot(estimate.value, place, "o", color=colour, ms=5, label=way)
        axes.set_yticks(range(len(rows)), list(rows))
        axes.set_xlabel(
            f"{_capital(quantity)} ({unit}); line: true value",
            fontsize=9,
        )
        plain_frame(axes)
        axes.grid(visible=False, axis="y")
        axes.margins(y=0.25)
        axes.xaxis.set_major_locator(MaxNLocator(4))
    panels[0].invert_yaxis()
    panel_title(panels[0], title)
    return figure


def _capital(quantity: str) -> str:
    """Return a label with a capital, unless it begins with a Greek letter."""
    first = quantity[:1]
    return (first.upper() if first.isascii() else first) + quantity[1:]


def _mark_unseen(panels: "Sequence[Axes]", minutes: float) -> None:
    for axes in panels:
        axes.axvline(minutes, color=SOFT_INK, lw=0.8, ls=(0, (4, 3)))
    for text, side, shift in (("fitted", "right", -5), ("predicted", "left", 5)):
        panels[0].annotate(
            text,
            (minutes, 0.03),
            (shift, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=side,
            fontsize=8,
            color=SOFT_INK,
        )


def _label_ends(
    axes: "Axes", ends: Mapping[str, tuple[float, float]], colours: Mapping[str, str]
) -> None:
    low, high = axes.get_ylim()
    heights = spread_labels(
        [degc for _, degc in ends.values()], LABEL_GAP * (high - low)
    )
    for (name, (minutes, degc)), height in zip(ends.items(), heights, strict=True):
        axes.annotate(
            name,
            (minutes, degc),
            (1.03 * minutes, float(height)),
            fontsize=8,
            va="center",
            color=colours[name],
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": FAINT_INK},
        )
