"""The figures of a page, made anew from the rows or taken from the run folder."""

import base64
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.report.page.draw_figures import PlannedFigure, draw_figures
from experiments.report.page.views import Figure
from experiments.report.shift_history_figure import shift_history_figure
from experiments.standing.results import HeatResult
from models import Robot
from models.files import read_bytes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

ROBOT_PICTURE, TIMELINE = "robot.png", "timeline.svg"
MOST_ABREAST = 3
"""Controllers beside each other: with more, nobody could read the temperatures."""
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}


def heat_figures(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    robot: Robot | None,
    prefix: str,
    problems: list[str],
) -> list[Figure]:
    """Return temperatures, efforts and, where set-points were shifted, the shifts.

    Args:
        result: of the experiment.
        frames: controller to its rows.
        robot: that stood; None where it is not known, which leaves out the shifts.
        prefix: of the names within the figures, one for each run of a page.
        problems: gets a line for each figure that cannot be drawn.
    """
    from experiments.report.effort_figure import effort_figure  # noqa: PLC0415  # matplotlib

    limits = result.settings.get("effort_limits_nm") or {}
    if robot is not None:
        limits = {j.name: j.effort_limit for j in robot.joints} | dict(limits)
    controllers = ", ".join(result.arms)

    def shifts() -> "Drawn | None":
        if robot is None or result.posture not in robot.postures:
            return None
        return shift_history_figure(frames, robot, robot.posture(result.posture).angles)

    plans = [
        *(_temperature_plan(part, frames) for part in parts_of(result)),
        PlannedFigure(
            caption="What the legs turn into heat over time. Dashed: the least that "
            "the posture of the coolest robot allows at the end, gears running free "
            "and stuck gears bearing what they can.",
            draw=lambda: (
                None if robot is None else power_over_time(result, frames, robot)
            ),
            alt=f"Line chart: Joule loss of the legs over time under {controllers}. "
            "The values at the end are in the first table.",
        ),
        PlannedFigure(
            caption="How hard the joints worked, and the mean limit in force.",
            draw=lambda: effort_figure(result, frames, limits),
            alt=f"Bar chart: mean torque of the leg joints under {controllers}. The "
            "values are in the table of joints.",
        ),
        PlannedFigure(
            caption="How far set-points were shifted from the posture.",
            draw=shifts,
            alt="Line chart: shift of the most shifted joints over time.",
        ),
    ]
    return draw_figures(plans, prefix, problems)


def parts_of(result: HeatResult) -> list[HeatResult]:
    """Return the result in parts of at most `MOST_ABREAST` controllers, alike in size.

    Four are two and two.
    """
    names = list(result.arms)
    n_parts = max(1, math.ceil(len(names) / MOST_ABREAST))
    size = math.ceil(len(names) / n_parts)
    return [
        replace(result, arms={name: result.arms[name] for name in names[i : i + size]})
        for i in range(0, len(names), size)
    ]


def _temperature_plan(
    result: HeatResult, frames: "Mapping[str, pd.DataFrame]"
) -> PlannedFigure:
    from experiments.report.temperature_figure import temperature_figure  # noqa: PLC0415  # matplotlib

    controllers = ", ".join(result.arms)
    return PlannedFigure(
        caption=f"Joint temperatures over time under {controllers}.",
        draw=lambda: temperature_figure(result, frames),
        alt=f"Line chart: temperature of the leg joints over time under {controllers}. "
        "The end values are in the table of joints.",
    )


def power_over_time(
    result: HeatResult, frames: "Mapping[str, pd.DataFrame]", robot: Robot
) -> "Drawn | None":
    """Draw the legs' power under all controllers, and the least for the coolest one.

    Returns:
        The figure; None where the rows hold no torques, or no leg bears anything.
    """
    from experiments.report.power_figure import legs_power_from, power_figure  # noqa: PLC0415  # matplotlib

    torques = [f"motor_torque.{name}" for name in robot.motor_names]
    curves = {
        name: legs_power_from(frame, robot)
        for name, frame in frames.items()
        if name in result.arms and set(torques) <= set(frame.columns)
    }
    if not any((curve.watts > 0.0).any() for curve in curves.values()):
        return None
    known = [
        arm
        for arm in result.arms.values()
        if arm.legs_power_w is not None and arm.least_power_w
    ]
    coolest = min(known, key=lambda arm: arm.legs_power_w or 0.0, default=None)
    least = {}
    if coolest is not None:
        least = {
            "least, gears free": coolest.least_power_w,
            "least, gears stuck": coolest.least_with_gears_w,
        }
    return power_figure(
        curves,
        {name: watts for name, watts in least.items() if watts},
        "Joule loss of the legs",
    )


def picture_of(path: Path, caption: str, alt: str) -> list[Figure]:
    """Return a picture of the run folder; empty where there is none."""
    try:
        data = read_bytes(path)
    except OSError:
        return []
    text = base64.b64encode(data).decode("ascii")
    uri = f"data:{KINDS[path.suffix]};base64,{text}"
    return [Figure(caption=caption, alt=alt, uri=uri, is_photo=path.suffix == ".png")]
