"""The hottest motors of a run over time, with the limits that are expected."""

from typing import TYPE_CHECKING

import numpy as np

from experiments.report.figure_style import COLOURS, INK, SOFT_INK
from experiments.report.label_heights import spread
from experiments.report.temperature_figure import MOST_POINTS
from experiments.scenarios.plan.expectations import Temperatures
from experiments.scenarios.plan.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_CURVES = 5
LABEL_HEIGHT = 0.095
"""Of a label at the end of a curve, over the panel's height."""


def draw_temperatures(
    axes: "Axes", frame: "pd.DataFrame", scenario: Scenario, end_s: float
) -> None:
    """Draw the joints that were hottest, each named at its end.

    Args:
        axes: where.
        frame: index time in s, a column a joint, in °C.
        scenario: with expected limits.
        end_s: of the run.
    """
    motors = dict.fromkeys(frame.columns)
    peaks = frame[list(motors)].max().sort_values(ascending=False, kind="stable")
    joints = _one_a_motor(list(peaks.index), scenario)[:MOST_CURVES]
    step = max(1, len(frame) // MOST_POINTS)
    keep = np.unique([*range(0, len(frame), step), len(frame) - 1])
    time_s = frame.index.to_numpy(float)[keep]
    curves = {joint: frame[joint].to_numpy(float)[keep] for joint in joints}
    limits = _limits(scenario, joints)
    values = np.concatenate([*curves.values(), np.array(limits or [np.nan])])
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = max(1.0, 0.08 * (high - low))
    axes.set_ylim(low - pad, high + pad)
    for limit in limits:
        axes.axhline(limit, color=INK, lw=0.8, ls=(0, (4, 3)))
    ends = [float(curve[-1]) for curve in curves.values()]
    heights = spread(ends, LABEL_HEIGHT * (high - low + 2.0 * pad))
    for i, (joint, curve) in enumerate(curves.items()):
        colour = COLOURS[i % len(COLOURS)]
        axes.plot(time_s, curve, color=colour, lw=1.6)
        axes.annotate(
            f"{joint} {ends[i]:.1f} °C",
            (end_s, ends[i]),
            (end_s * 1.012, float(heights[i])),
            fontsize=7.5,
            color=colour,
            va="center",
            annotation_clip=False,
        )
    axes.set_ylabel("temperature in °C", fontsize=9, color=SOFT_INK)


def _one_a_motor(joints: list[str], scenario: Scenario) -> list[str]:
    """Leave out joints whose motor is shown by another one."""
    robot = scenario.robot
    motor = {joint.name: joint.motor for joint in robot.joints}
    shown: dict[str, str] = {}
    for joint in joints:
        shown.setdefault(motor.get(joint, joint), joint)
    return list(shown.values())


def _limits(scenario: Scenario, joints: list[str]) -> list[float]:
    found = set()
    for item in scenario.expectations:
        if isinstance(item, Temperatures) and set(item.joints) & set(joints):
            found |= {item.below_degc, item.above_degc} - {None}
    return sorted(limit for limit in found if limit is not None)
