"""Figure of an X-ray."""

from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.common.drawing.number_text import NOTHING
from nao_testbed.experiments.common.drawing.style import (
    COLOURS,
    FAINT_INK,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
)
from nao_testbed.experiments.heat.xray.verdict import cause_label
from nao_testbed.experiments.heat.xray.xray import Xray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def xray_figure(found: Xray) -> "Figure":
    """Return the figure of needed and useless watts, and of the errors behind them."""
    figure = new_figure(10.0, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    motors = found.losses.motors
    places = np.arange(len(motors))[::-1]
    needed = np.array([found.unit.of(one.needed_w) for one in motors])
    useless = np.array([found.unit.of(one.useless_w) for one in motors])
    kept = np.minimum(needed, needed + useless)
    left.barh(places, kept, color=COLOURS[2], height=0.7, label="needed")
    more = np.maximum(useless, 0.0)
    left.barh(places, more, left=kept, color=COLOURS[1], height=0.7, label="useless")
    left.plot(needed, places, "|", color=INK, ms=8, label="minimum of all legs")
    left.set_yticks(places, [one.motor for one in motors], fontsize=8)
    unit = "% of the heat of the legs" if found.unit.is_relative else "W"
    left.set_xlabel(f"Joule loss ({unit})", fontsize=9)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    panel_title(left, "Needed and useless heat")
    suspects = found.suspects
    shown = [(one, name) for one in found.verdict.hypotheses for name in one.causes]
    rows = np.arange(len(shown))[::-1]
    for place, (one, name) in zip(rows, shown, strict=True):
        error = suspects.error_of(name)
        is_best = one == found.verdict.named and found.is_explained
        colour = COLOURS[1] if is_best else FAINT_INK
        percent = f"{one.percent}%" if found.is_explained else NOTHING
        right.plot([error.low_deg, error.high_deg], [place] * 2, color=colour, lw=3)
        right.plot(error.degrees, place, "o", color=colour, ms=5)
        right.annotate(
            percent if name == one.causes[0] else "",
            (1.0, place),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="center",
            fontsize=8,
            color=INK if is_best else SOFT_INK,
        )
    right.axvline(0.0, color=SOFT_INK, lw=0.8)
    labels = [
        f"{'' if name == one.causes[0] else 'and '}{cause_label(suspects, name)}"
        for one, name in shown
    ]
    right.set_yticks(rows, labels, fontsize=8)
    right.margins(x=0.15)
    right.set_xlabel("True minus measured angle (°)", fontsize=9)
    titles = (
        "No combination of errors explains it",
        "Joint errors and their probability",
    )
    panel_title(right, titles[found.is_explained])
    for axes in (left, right):
        plain_frame(axes)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x", color=FAINT_INK, lw=0.4, alpha=0.6)
    return figure
