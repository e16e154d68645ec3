"""Page section of a heat experiment: result, figures, rows of the overview.

The result is read from its JSON. Figures are drawn from the rows of the run, or taken
from the run folder. The overview compares the robots of several experiments.
"""

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from nao_testbed.experiments.closed_loop.trial_result import TrialResult
from nao_testbed.experiments.common.drawing.page import (
    DataTable,
    PageFigure,
    PlannedFigure,
    Quantity,
    Row,
    Section,
    draw_figures,
    text_columns,
)
from nao_testbed.experiments.common.drawing.power_unit import power_unit
from nao_testbed.experiments.heat.figures.charts import shift_history_figure
from nao_testbed.experiments.heat.figures.tables import (
    ENDED_EARLY,
    LEFT_RISE,
    POWER,
    POWER_UNITS,
    RATIO_TO_MINIMUM,
    RIGHT_RISE,
    hottest,
    legs_loss,
    shown_joints,
)
from nao_testbed.experiments.heat.published import HeatResult
from nao_testbed.models import Robot
from nao_testbed.models.files import read_bytes
from nao_testbed.models.files.csv_tables import json_as

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as Drawn


class _Settings(BaseModel):
    """Settings that a page interprets; others are shown unchanged."""

    robot: str = ""
    preset: str | None = None
    start_degc: dict[str, float] = {}
    effort_limits_nm: dict[str, float] = {}


def read_heat_result(path: Path, data: Mapping[str, Any]) -> HeatResult:
    """Return the result that `HeatResult.as_json` wrote.

    Unknown fields of other versions are skipped; missing fields of older versions get
    their defaults.

    Args:
        path: path of the file, for messages.
        data: content of the file.

    Raises:
        BadInput: the data have another form; the message names the wrong key.
    """
    trials = data.get("trials", data.get("arms"))  # key of older files
    if isinstance(trials, dict) and all(
        isinstance(row, dict) for row in trials.values()
    ):
        trials = {name: {**row, "controller": name} for name, row in trials.items()}
    result = json_as(path, json.dumps({**data, "trials": trials}), HeatResult)
    json_as(path, json.dumps(result.settings), _Settings, "settings")
    return result


ROBOT_PICTURE = "robot.png"
MAX_ABREAST = 3
"""Largest number of controllers side by side with readable temperatures."""
KINDS = {".png": "image/png", ".svg": "image/svg+xml"}


def heat_figures(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    robot: Robot | None,
    prefix: str,
    problems: list[str],
) -> list[PageFigure]:
    """Return the figures of temperatures, efforts and, if any, set-point shifts.

    Args:
        result: result of the experiment.
        frames: controller to the rows of its run.
        robot: robot of the run; None: unknown, no figure of shifts.
        prefix: prefix of the SVG ids in the figures, unique for each run of a page.
        problems: list that gets a line for each figure that cannot be drawn.
    """
    from nao_testbed.experiments.heat.figures.temperatures import effort_figure  # noqa: PLC0415  # matplotlib

    limits = result.settings.get("effort_limits_nm") or {}
    if robot is not None:
        limits = {j.name: j.effort_limit for j in robot.joints} | dict(limits)
    controllers = ", ".join(result.trials)

    def shifts() -> "Drawn | None":
        if robot is None or result.posture not in robot.postures:
            return None
        return shift_history_figure(frames, robot, robot.posture(result.posture).angles)

    plans = [
        *(_temperature_plan(part, frames) for part in parts_of(result)),
        PlannedFigure(
            caption="Joule loss of the legs over time. Dashed: minimum for the "
            "final posture of the coolest robot, without gear friction and "
            "with gear friction carrying as much of the load as possible.",
            draw=lambda: (
                None if robot is None else power_over_time(result, frames, robot)
            ),
            alt=f"Line chart: Joule loss of the legs over time under {controllers}. "
            "The values at the end are in the first table.",
        ),
        PlannedFigure(
            caption="Mean joint torques, and the mean torque limit.",
            draw=lambda: effort_figure(result, frames, limits),
            alt=f"Bar chart: mean torque of the leg joints under {controllers}. The "
            "values are in the table of joints.",
        ),
        PlannedFigure(
            caption="Shifts of set-points from the posture.",
            draw=shifts,
            alt="Line chart: shift of the most shifted joints over time.",
        ),
    ]
    return draw_figures(plans, prefix, problems)


def parts_of(result: HeatResult) -> list[HeatResult]:
    """Split the result into parts of similar size, at most `MAX_ABREAST` controllers.

    Four controllers give two parts of two.
    """
    names = list(result.trials)
    n_parts = max(1, math.ceil(len(names) / MAX_ABREAST))
    size = math.ceil(len(names) / n_parts)
    return [
        replace(
            result, trials={name: result.trials[name] for name in names[i : i + size]}
        )
        for i in range(0, len(names), size)
    ]


def _temperature_plan(
    result: HeatResult, frames: "Mapping[str, pd.DataFrame]"
) -> PlannedFigure:
    from nao_testbed.experiments.heat.figures.temperatures import temperature_figure  # noqa: PLC0415  # matplotlib

    controllers = ", ".join(result.trials)
    return PlannedFigure(
        caption=f"Joint temperatures over time under {controllers}.",
        draw=lambda: temperature_figure(result, frames),
        alt=f"Line chart: temperature of the leg joints over time under {controllers}. "
        "The end values are in the table of joints.",
    )


def power_over_time(
    result: HeatResult, frames: "Mapping[str, pd.DataFrame]", robot: Robot
) -> "Drawn | None":
    """Draw the legs' power under all controllers, and the minimum for the coolest one.

    Returns:
        The figure; None if the rows have no torques, or no leg carries a load.
    """
    from nao_testbed.experiments.heat.figures.charts import (  # noqa: PLC0415  # matplotlib
        legs_power_from,
        power_figure,
    )

    torques = [f"motor_torque.{name}" for name in robot.motor_names]
    curves = {
        name: legs_power_from(frame, robot)
        for name, frame in frames.items()
        if name in result.trials and set(torques) <= set(frame.columns)
    }
    if not any((curve.watts > 0.0).any() for curve in curves.values()):
        return None
    known = [
        trial
        for trial in result.trials.values()
        if trial.legs_power_w is not None and trial.least_power_w
    ]
    coolest = min(known, key=lambda trial: trial.legs_power_w or 0.0, default=None)
    least = {}
    if coolest is not None:
        least = {
            "minimum, no gear friction": coolest.least_power_w,
            "minimum, with gear friction": coolest.least_with_gears_w,
        }
    reference = result.reference
    if reference is not None and not reference.legs_power_w:
        return None  # no power to compare with
    return power_figure(
        curves,
        {name: watts for name, watts in least.items() if watts},
        "Joule loss of the legs",
        power_unit(
            result.settings.get("thermal"),
            f"final power of {reference.controller}" if reference else "",
            reference.legs_power_w if reference else None,
        ),
    )


def picture_of(path: Path, caption: str, alt: str) -> list[PageFigure]:
    """Return a picture of the run folder; empty without one."""
    try:
        data = read_bytes(path)
    except OSError:
        return []
    text = base64.b64encode(data).decode("ascii")
    uri = f"data:{KINDS[path.suffix]};base64,{text}"
    return [
        PageFigure(caption=caption, alt=alt, uri=uri, is_photo=path.suffix == ".png")
    ]


def _overview(joints: Sequence[str]) -> tuple[Quantity[TrialResult], ...]:
    """Return the overview's quantities of a robot; `joints` for robots without legs."""
    return (
        Quantity("time", lambda trial: trial.sim_s, "s", 0),
        Quantity(
            "hottest joint",
            lambda trial: hottest(trial)[1].end_degc if trial.joints else None,
            "°C",
        ),
        LEFT_RISE,
        RIGHT_RISE,
        Quantity(
            "Joule loss of the legs", lambda trial: legs_loss(trial, joints), "J", 0
        ),
        POWER,
        RATIO_TO_MINIMUM,
        ENDED_EARLY,
    )


COLUMNS = (
    *text_columns("run", "controller"),
    *(quantity.column() for quantity in _overview(())),
)


def outcome_rows(run: str, result: HeatResult) -> tuple[Row, ...]:
    """Return one row for each robot of a run.

    Args:
        run: name of the run on the page.
        result: result of the run.
    """
    quantities = _overview(shown_joints(result))
    if result.reference is not None:
        quantities = tuple(
            replace(quantity, of=_unknown) if quantity.unit in POWER_UNITS else quantity
            for quantity in quantities
        )
    return tuple(
        Row(cells=(run, name, *(quantity.bare(trial) for quantity in quantities)))
        for name, trial in result.trials.items()
    )


def _unknown(_: TrialResult) -> None:
    """Return the text for the power of a robot with guessed motor constants."""


def overview_table(sections: Sequence[Section]) -> DataTable | None:
    """Return the rows of all runs; None for fewer than two runs with rows."""
    with_rows = [section for section in sections if section.outcome]
    if len(with_rows) < 2:
        return None
    return DataTable(
        caption="All runs side by side",
        columns=COLUMNS,
        rows=tuple(row for section in with_rows for row in section.outcome),
        note="Compare only runs of the same duration, posture and robot; see settings.",
        is_sortable=True,
    )


def push_text(push: Mapping[str, Any]) -> str:
    """Return the description of a push from the settings of a run."""
    x, y, z = (f"{force:g}" for force in push["force_n"])
    link = push.get("link") or "base"
    return f"push of ({x}, {y}, {z}) N for {push['duration_s']:g} s at the {link}"
