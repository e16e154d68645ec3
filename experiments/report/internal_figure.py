"""Which torques of the legs carry the weight, and which ones fight."""

from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import (
    COLOURS,
    FAINT_INK,
    INK,
    new_figure,
    panel_title,
    plain_frame,
)
from experiments.standing.internal_forces import InternalForces

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def internal_figure(forces: InternalForces, title: str) -> "Figure":
    """Return bars of the measured torques, with the least ones and the fight marked."""
    from matplotlib.artist import Artist  # noqa: PLC0415  # heavy
    from matplotlib.lines import Line2D  # noqa: PLC0415  # heavy
    from matplotlib.patches import Patch  # noqa: PLC0415  # heavy

    figure = new_figure(9.0, 3.8)
    axes = figure.subplots()
    place = np.arange(len(forces.motors))
    is_left = np.array([name.startswith("L") for name in forces.motors])
    for side, colour in ((is_left, COLOURS[1]), (~is_left, COLOURS[4])):
        axes.bar(place[side], forces.measured[side], 0.62, color=colour, alpha=0.45)
    axes.hlines(forces.least, place - 0.38, place + 0.38, color=INK, lw=1.2, ls=":")
    explained = forces.least + forces.internal
    axes.hlines(explained, place - 0.38, place + 0.38, color=INK, lw=2.2)
    handles: list[Artist] = [
        Patch(color=COLOURS[1], alpha=0.45),
        Patch(color=COLOURS[4], alpha=0.45),
        Line2D([], [], color=INK, lw=1.2, ls=":"),
        Line2D([], [], color=INK, lw=2.2),
    ]
    labels = [
        "measured, left leg",
        "measured, right leg",
        "the least that carries the robot",
        f"that, and {forces.patterns.shape[1]} internal numbers",
    ]
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8,
                  frameon=False)  # fmt: skip
    axes.set_xticks(place, forces.motors, rotation=30, ha="right")
    axes.axhline(0.0, color=FAINT_INK, lw=0.8)
    axes.set_ylabel("torque on the joint in N·m", fontsize=9)
    plain_frame(axes)
    panel_title(axes, title)
    return figure
