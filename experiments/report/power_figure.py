"""What the legs turn into heat over time, beside the least that the posture allows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from controllers.cooling.standing_problem import joule_loss
from experiments.report.figure_style import (
    ARM_COLOURS,
    INK,
    SOFT_INK,
    new_figure,
    panel_title,
    plain_frame,
)
from experiments.report.label_heights import spread
from models import Robot, UnknownName
from sim.run_folder import Run

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

SMOOTH_S = 0.5
"""Powers are means over this time."""
TICKS_W = tuple(m * 10.0**e for e in range(-3, 4) for m in (1.0, 2.0, 5.0))
"""Of the axis of power, in W."""
SMALLEST_W = 1e-3
"""The axis does not go below: limp legs lose nothing, which has no logarithm."""
ROOM = 1.4
"""Width of the panel over that of its curves: room for the labels at their ends."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PowerCurve:
    """Joule loss of the leg motors of a run."""

    time_s: FloatArray
    watts: FloatArray


def legs_power_of(run: Run, robot: Robot) -> PowerCurve:
    """Return the legs' joule loss over a run, in means of half a second.

    Raises:
        UnknownName: the run has no motor torques.
    """
    return legs_power_from(run.frame, robot)


def legs_power_from(frame: "pd.DataFrame", robot: Robot) -> PowerCurve:
    """Return the same of rows that were read already.

    Raises:
        UnknownName: the rows have no motor torques.
    """
    columns = [f"motor_torque.{name}" for name in robot.motor_names]
    absent = [column for column in columns if column not in frame.columns]
    if absent:
        raise UnknownName("Channel", absent[0], frame.columns, "these rows")
    watts = frame[columns].to_numpy(np.float64) ** 2 @ joule_loss(robot)
    time_s = frame.index.to_numpy(np.float64)
    slot = np.floor(time_s / SMOOTH_S).astype(int)
    _, place = np.unique(slot, return_inverse=True)
    count = np.bincount(place)
    return PowerCurve(
        time_s=np.bincount(place, time_s) / count,
        watts=np.bincount(place, watts) / count,
    )


def power_figure(
    curves: Mapping[str, PowerCurve], least_w: Mapping[str, float], title: str
) -> "Figure":
    """Return the powers on a logarithmic axis, each named at its end.

    Args:
        curves: by controller.
        least_w: what the power cannot or need not fall below, by name; drawn as lines.
        title: the finding.
    """
    figure = new_figure(9.0, 4.2)
    axes = figure.subplots()
    longest = max(float(curve.time_s[-1]) for curve in curves.values())
    ends = {}
    for (name, curve), colour in zip(curves.items(), ARM_COLOURS, strict=False):
        axes.plot(curve.time_s, curve.watts, color=colour, lw=1.8)
        ends[name] = (float(curve.watts[-1]), colour)
    axes.set_yscale("log")
    for watts in least_w.values():
        axes.axhline(watts, xmax=1.0 / ROOM, color=INK, lw=1.0, ls=(0, (4, 3)))
    lowest = [*least_w.values(), *(float(c.watts.min()) for c in curves.values())]
    low = max(SMALLEST_W, min(lowest))
    axes.set_ylim(0.6 * low, 1.4 * max(float(c.watts.max()) for c in curves.values()))
    ends |= {name: (watts, SOFT_INK) for name, watts in least_w.items()}
    heights = [max(watts, SMALLEST_W) for watts, _ in ends.values()]
    places = spread([np.log(watts) for watts in heights], 0.22)
    for (name, (watts, colour)), place in zip(ends.items(), places, strict=True):
        axes.annotate(
            f"{name} {watts:.2f} W",
            (longest, max(watts, SMALLEST_W)),
            (1.03 * longest, float(np.exp(place))),
            fontsize=8.5,
            color=colour,
            va="center",
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": colour},
        )
    axes.set_xlim(0.0, ROOM * longest)
    plain_frame(axes)
    axes.grid(axis="y", which="both", lw=0.3, alpha=0.5)
    axes.set_yticks([w for w in TICKS_W if low <= w <= axes.get_ylim()[1]], minor=False)
    axes.yaxis.set_major_formatter(lambda watts, _: f"{watts:g}")
    axes.yaxis.set_minor_formatter("")
    axes.set_xticks([tick for tick in axes.get_xticks() if tick <= longest])
    axes.spines["bottom"].set_bounds(0.0, longest)
    axes.set_ylabel("joule loss of the legs in W", fontsize=9)
    axes.set_xlabel("time in s", fontsize=9, x=0.5 / ROOM, ha="center")
    panel_title(axes, title)
    return figure
