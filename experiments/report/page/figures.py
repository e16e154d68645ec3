"""The figures of a page, made anew from the rows or taken from the run folder."""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.report.page.themed_svg import themed_svg
from experiments.report.page.views import Figure
from experiments.report.shift_history_figure import shift_history_figure
from experiments.standing.results import HeatResult
from models import Robot

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn

ROBOT_PICTURE, TIMELINE = "robot.png", "timeline.svg"
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
    from experiments.report.temperature_figure import temperature_figure  # noqa: PLC0415  # likewise

    limits = result.settings.get("effort_limits_nm") or {}
    if robot is not None:
        limits = {j.name: j.effort_limit for j in robot.joints} | dict(limits)
    controllers = ", ".join(result.arms)

    def shifts() -> "Drawn | None":
        if robot is None or result.posture not in robot.postures:
            return None
        return shift_history_figure(frames, robot, robot.posture(result.posture).angles)

    plans: list[tuple[str, Callable[[], Drawn | None], str]] = [
        (
            "Joint temperatures over time.",
            lambda: temperature_figure(result, frames),
            f"Line chart: temperature of the leg joints over time under {controllers}. "
            "The end values are in the table of joints.",
        ),
        (
            "How hard the joints worked, and the mean limit in force.",
            lambda: effort_figure(result, frames, limits),
            f"Bar chart: mean torque of the leg joints under {controllers}. The values "
            "are in the table of joints.",
        ),
        (
            "How far set-points were shifted from the posture.",
            shifts,
            "Line chart: shift of the most shifted joints over time.",
        ),
    ]
    figures = []
    for k, (caption, draw, alt) in enumerate(plans):
        try:
            drawn = draw()
        except Exception as error:  # noqa: BLE001  # the tables do not depend on it
            problems.append(f"A figure could not be drawn ({caption[:-1]}): {error}.")
            continue
        if drawn is not None:
            svg = themed_svg(drawn, f"{prefix}-{k}")
            figures.append(Figure(caption=caption, alt=alt, svg=svg))
    return figures


def picture_of(path: Path, caption: str, alt: str) -> list[Figure]:
    """Return a picture of the run folder; empty where there is none."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    text = base64.b64encode(data).decode("ascii")
    uri = f"data:{KINDS[path.suffix]};base64,{text}"
    return [Figure(caption=caption, alt=alt, uri=uri, is_photo=path.suffix == ".png")]
