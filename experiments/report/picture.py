"""The standing robots side by side, their joints in the colours of temperatures."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.report.figure_file import save_figure
from experiments.report.figure_style import INK, SOFT_INK, new_figure
from experiments.report.robot_light import BACKGROUND
from experiments.report.robot_view import (
    COLDEST_DEGC,
    HOTTEST_DEGC,
    RobotView,
    colour_map,
    view_robot,
)
from models import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Joint temperatures of the standing robot"
PANEL_HEIGHT = 4.6
"""In inches; the width follows from the robot."""


def draw_robot_picture(
    robot: Robot,
    arms: Mapping[str, Mapping[str, float]],
    posture: str,
    path: Path,
    *,
    settings: Mapping[str, object] | None = None,
) -> Path:
    """Draw a robot for each arm, side by side, joints coloured from 25 to 80 °C.

    Args:
        robot: what stands.
        arms: controller to temperatures by joint in °C.
        posture: how it stands.
        path: of the PNG.
        settings: of the run, kept in the file; None keeps posture and arms.

    Raises:
        UnknownName: the robot has no such posture.
        BadInput: the file cannot be written.
    """
    figure = robot_figure(view_robot(robot, posture), arms)
    described = settings or {"posture": posture, "arms": {**arms}}
    return save_figure(figure, path, TITLE, described)


def robot_figure(view: RobotView, arms: Mapping[str, Mapping[str, float]]) -> "Figure":
    """Return the figure: a panel for each arm, and the colour scale."""
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415  # heavy
    from matplotlib.colors import Normalize  # noqa: PLC0415  # heavy

    height, width, _ = view.painted({}).shape
    panel_width = max(2.6, PANEL_HEIGHT * width / height)
    figure = new_figure(panel_width * len(arms) + 0.9, PANEL_HEIGHT + 0.5, gap=0.0)
    figure.set_facecolor(tuple(BACKGROUND))
    panels = figure.subplots(1, len(arms), squeeze=False)[0]
    for axes, (name, temperatures) in zip(panels, arms.items(), strict=True):
        _draw_arm(axes, view, name, temperatures)
    bar = figure.colorbar(
        ScalarMappable(Normalize(COLDEST_DEGC, HOTTEST_DEGC), colour_map()),
        ax=panels.tolist(),
        shrink=0.6,
        aspect=28,
        pad=0.01,
        extend="both",
        ticks=[25, 40, 60, 80],
    )
    bar.set_label("motor temperature in °C", color=SOFT_INK, fontsize=8)
    bar.ax.tick_params(labelsize=8, colors=SOFT_INK, length=0)
    bar.outline.set_visible(False)
    return figure


def _draw_arm(
    axes: "Axes", view: RobotView, name: str, temperatures: Mapping[str, float]
) -> None:
    """Show one robot, with its name above and its hottest joint pointed at."""
    image = view.painted(temperatures)
    height, width, _ = image.shape
    axes.imshow(image, interpolation="lanczos")
    axes.set_axis_off()
    axes.set_title(name, fontsize=12, color=INK, fontweight="bold", pad=4)
    if not temperatures:
        return
    hottest = max(temperatures, key=lambda joint: temperatures[joint])
    text = f"{hottest}\n{temperatures[hottest]:.0f} °C"
    if hottest not in view.centres:  # its drum is hidden: say so without a line
        axes.text(
            0.5,
            0.02,
            f"hottest: {text}",
            transform=axes.transAxes,
            ha="center",
            fontsize=9,
            color=INK,
        )
        return
    column, row = view.centres[hottest]
    is_right = column > width / 2.0
    axes.annotate(
        text,
        xy=(column, row),
        xytext=(width * (0.99 if is_right else 0.01), row - 0.10 * height),
        ha="right" if is_right else "left",
        va="bottom",
        fontsize=9,
        color=INK,
        bbox={"fc": tuple(BACKGROUND), "alpha": 0.75, "lw": 0.0, "pad": 1.5},
        arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.8, "shrinkB": 3},
    )
