"""What the figures of a sweep have in common: dots of robots, bands, axes, the foot."""

from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import ARM_COLOURS, SOFT_INK, plain_frame
from experiments.sweep.summary import HIGH, LOW, compared
from experiments.sweep.table import Sweep

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CROWD = 60
"""Marks that can be told apart; of more, each is drawn fainter."""
SPREAD = 0.16
"""Half the width over which dots of one controller are strewn."""


def arm_colour(place: int) -> str:
    """Return the colour of the controller at a place."""
    return ARM_COLOURS[place % len(ARM_COLOURS)]


def fainter(alpha: float, n: int) -> float:
    """Return the opacity of each of n marks: less where many lie upon each other."""
    return alpha * min(1.0, max(0.25, CROWD / max(1, n)))


def strew(axes: "Axes", place: int, values: "np.ndarray", colour: str) -> None:
    """Draw values as dots side by side, in their order so that none hides another."""
    values = np.sort(values[np.isfinite(values)])
    golden = (np.arange(len(values)) * 0.618034) % 1.0
    x = place + SPREAD * (2.0 * golden - 1.0)
    alpha = fainter(0.45, len(values))
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
    broken = [name if len(name) < 10 else name.replace("-", "-\n", 1) for name in names]
    axes.set_xticks(range(len(names)), broken)
    axes.set_xlim(-0.5, len(names) - 0.5)


def write_sweep_foot(figure: "Figure", sweep: Sweep) -> None:
    """Write which robots these are, small."""
    frame = compared(sweep)
    kept = frame["robot"].nunique()
    parts = [f"{sweep.meta['name']}", "1 robot" if kept == 1 else f"{kept} robots"]
    if sweep.meta.get("identity", {}).get("keep") is not None:
        parts[-1] += f" kept of {sweep.meta['robots']}"
    parts += [f"seed {sweep.meta['seed']}", "bars: median and 90 % band"]
    if (commit := sweep.meta.get("commit")) is not None:
        parts.append(f"commit {commit[:10]}")
    figure.supxlabel(" · ".join(parts), fontsize=7, color=SOFT_INK, x=0.01, ha="left")
