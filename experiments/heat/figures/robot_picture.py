"""The robots side by side as a run left them, joints in the colours of temperatures."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.common.drawing.style import INK, SOFT_INK, new_figure, save_figure
from experiments.heat.figures.posed_robot import Pose, standing_pose
from experiments.heat.figures.robot_view import (
    BACKGROUND,
    COLDEST_DEGC,
    HOTTEST_DEGC,
    RobotView,
    colour_map,
    view_robots,
)
from models import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Joint temperatures of the robots at the end"
PANEL_HEIGHT = 4.6
"""In inches; the width follows from the robot."""


def draw_robot_picture(
    robot: Robot,
    arms: Mapping[str, Mapping[str, float]],
    posture: str,
    path: Path,
    *,
    poses: Mapping[str, Pose] | None = None,
    remarks: Mapping[str, str] | None = None,
    slope_deg: float = 0.0,
    settings: Mapping[str, object] | None = None,
) -> Path:
    """Draw a robot for each arm, side by side, joints coloured from 25 to 80 °C.

    Args:
        robot: what is drawn.
        arms: controller to temperatures by joint in °C.
        posture: in which an arm without a pose stands, on level ground.
        path: of the PNG.
        poses: controller to where the robot was; None: all stand in the posture.
        remarks: controller to a line below its name, such as `fell at 0.36 s`.
        slope_deg: the ground rises by this angle ahead of the robots.
        settings: of the run, kept in the file; None keeps posture and arms.

    Raises:
        UnknownName: the robot has no such posture.
        BadInput: the file cannot be written.
    """
    known = poses or {}
    standing = None if arms.keys() <= known.keys() else standing_pose(robot, posture)
    shown = [pose for name in arms if (pose := known.get(name, standing)) is not None]
    views = view_robots(robot, shown, slope_deg=slope_deg)
    figure = robot_figure(
        dict(zip(arms, views, strict=True)), arms, remarks or {}, slope_deg
    )
    described = settings or {"posture": posture, "arms": {**arms}}
    return save_figure(figure, path, TITLE, described)


def robot_figure(
    views: Mapping[str, RobotView],
    arms: Mapping[str, Mapping[str, float]],
    remarks: Mapping[str, str],
    slope_deg: float = 0.0,
) -> "Figure":
    """Return the figure: a panel for each arm, and the colour scale.

    Args:
        views: controller to its robot, all of one size.
        arms: controller to temperatures by joint in °C.
        remarks: controller to a line below its name.
        slope_deg: of the ground, told where there is one.
    """
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415  # heavy
    from matplotlib.colors import Normalize  # noqa: PLC0415  # heavy

    height, width, _ = next(iter(views.values())).painted({}).shape
    panel_width = max(2.6, PANEL_HEIGHT * width / height)
    figure = new_figure(panel_width * len(arms) + 0.9, PANEL_HEIGHT + 0.5, gap=0.0)
    figure.set_facecolor(tuple(BACKGROUND))
    panels = figure.subplots(1, len(arms), squeeze=False)[0]
    for axes, (name, temperatures) in zip(panels, arms.items(), strict=True):
        _draw_trial(axes, views[name], name, temperatures, remarks.get(name))
    if slope_deg:
        panels[0].text(
            0.02,
            0.01,
            f"the ground rises by {slope_deg:g}° ahead of the robot",
            transform=panels[0].transAxes,
            fontsize=8,
            color=SOFT_INK,
        )
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


def _draw_trial(
    axes: "Axes",
    view: RobotView,
    name: str,
    temperatures: Mapping[str, float],
    remark: str | None,
) -> None:
    """Show one robot, with its name above and its hottest joint pointed at."""
    image = view.painted(temperatures)
    height, width, _ = image.shape
    axes.imshow(image, interpolation="lanczos")
    axes.set_axis_off()
    axes.set_title(name, fontsize=12, color=INK, fontweight="bold", pad=4)
    if remark is not None:
        axes.text(
            0.5,
            0.99,
            textwrap.fill(remark, 40),
            transform=axes.transAxes,
            ha="center",
            va="top",
            fontsize=10,
            color=INK,
        )
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
