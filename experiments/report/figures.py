"""The figures of a heat experiment: temperatures and efforts, as PNG and SVG."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.report.effort_figure import effort_figure
from experiments.report.figure_file import save_figure, settings_of
from experiments.report.temperature_figure import temperature_figure
from experiments.standing.results import HeatResult

if TYPE_CHECKING:
    import pandas as pd


def draw_heat_figures(
    result: HeatResult,
    frames: "Mapping[str, pd.DataFrame]",
    folder: Path,
    effort_limits: Mapping[str, float] | None = None,
) -> list[Path]:
    """Write the figures of an experiment as PNG and SVG.

    Args:
        result: what was found.
        frames: controller to the rows of its run (`sim.run_folder.read_run`); an arm
            without one is drawn from its first to its last temperature.
        folder: where the files go.
        effort_limits: joint to torque at stiffness 1 in N·m; None takes those that
            the result's settings name.

    Returns:
        The PNG files.

    Raises:
        NotWritten: a file cannot be written.
    """
    limits = effort_limits
    if limits is None:
        limits = result.settings.get("effort_limits_nm") or {}
    figures = {
        "temperatures": (
            "Joint temperatures over time",
            temperature_figure(result, frames),
        ),
        "effort": ("Joint efforts", effort_figure(result, frames, limits)),
    }
    settings = settings_of(result)
    for name, (title, figure) in figures.items():
        save_figure(figure, folder / f"{name}.png", title, settings)
        figure.set_layout_engine("none")  # settled: not again for the second file
        save_figure(figure, folder / f"{name}.svg", title, settings)
    return [folder / f"{name}.png" for name in figures]
