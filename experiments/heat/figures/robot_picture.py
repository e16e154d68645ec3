"""Picture of the robots at the end of a run, joints coloured by temperature."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nao_testbed.experiments.common.drawing.style import (
    INK,
    SOFT_INK,
    new_figure,
    save_figure,
)
from nao_testbed.experiments.heat.figures.posed_robot import Pose, standing_pose
from nao_testbed.experiments.heat.figures.robot_view import (
    BACKGROUND,
    COLDEST_DEGC,
    HOTTEST_DEGC,
    RobotView,
    colour_map,
    view_robots,
)
from nao_testbed.models import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Final joint temperatures"
PANEL_HEIGHT, MIN_WIDTH = 4.6, 2.6
"""Height and minimum width of a robot's image, in inches."""
NAME_HEIGHT, REMARK_HEIGHT = 0.32, 0.21
"""Heights above the image in inches: of the controller's name, and of each line of
remarks."""
LETTER_WIDTH = 0.6
"""Mean width of a letter divided by its height."""
EDGE = 0.06
"""Margin left and right of an image, in inches."""


def draw_robot_picture(
    robot: Robot,
    trials: Mapping[str, Mapping[str, float]],
    posture: str,
    path: Path,
    *,
    poses: Mapping[str, Pose] | None = None,
    remarks: Mapping[str, str] | None = None,
    slope_deg: float = 0.0,
    settings: Mapping[str, object] | None = None,
) -> Path:
    """Draw a robot for each trial, side by side, joints coloured from 25 to 80 °C.

    Args:
        robot: robot to draw.
        trials: controller to temperatures in °C, by the rows of heat tables
            (`Robot.heat_names`). A drum shows the hottest motor of its joint.
        posture: posture of trials without a pose, on level ground.
        path: path of the PNG.
        poses: controller to the pose of its robot; None: all stand in the posture.
        remarks: controller to a remark below its name, such as `fell at 0.36 s`.
        slope_deg: slope of the ground, rising in front of the robots.
        settings: settings of the run for the metadata; None: posture and controllers.

    Raises:
        UnknownName: the robot lacks the posture.
        BadInput: the file cannot be written.
    """
    known = poses or {}
    standing = None if trials.keys() <= known.keys() else standing_pose(robot, posture)
    shown = [pose for name in trials if (pose := known.get(name, standing)) is not None]
    views = view_robots(robot, shown, slope_deg=slope_deg)
    rows = {name: _hottest_rows(robot, given) for name, given in trials.items()}
    figure = robot_figure(
        dict(zip(trials, views, strict=True)),
        {
            name: {joint: trials[name][row] for joint, row in found.items()}
            for name, found in rows.items()
        },
        remarks or {},
        slope_deg,
        rows,
    )
    described = settings or {"posture": posture, "trials": {**trials}}
    return save_figure(figure, path, TITLE, described)


def _hottest_rows(robot: Robot, temperatures: Mapping[str, float]) -> dict[str, str]:
    """Return joint to the row of its hottest motor, of joints with a temperature."""
    found = {}
    for joint, motors in zip(robot.joints, robot.motors_of_joint, strict=True):
        rows = {
            robot.motor_names[m] if robot.is_parallel[m] else joint.name for m in motors
        }
        known = sorted(rows & temperatures.keys())
        if known:
            found[joint.name] = max(known, key=lambda row: temperatures[row])
    return found


def robot_figure(
    views: Mapping[str, RobotView],
    trials: Mapping[str, Mapping[str, float]],
    remarks: Mapping[str, str],
    slope_deg: float = 0.0,
    rows: Mapping[str, Mapping[str, str]] | None = None,
) -> "Figure":
    """Return the figure: a panel for each trial, and the colour scale.

    Args:
        views: controller to the view of its robot; all views have the same size.
        trials: controller to temperatures by joint in °C.
        remarks: controller to a remark below its name.
        slope_deg: slope of the ground, shown unless it is 0.
        rows: controller to the name of the motor shown, by joint; None: the joint's.
    """
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415  # heavy
    from matplotlib.colors import Normalize  # noqa: PLC0415  # heavy

    camera = next(iter(views.values())).rendering.camera
    panel_width = max(MIN_WIDTH, PANEL_HEIGHT * camera.width / camera.height)
    lines = {
        name: _wrapped(text, int(panel_width / (LETTER_WIDTH * 10.0 / 72.0)))
        for name, text in remarks.items()
    }
    above = REMARK_HEIGHT * max(map(len, lines.values()), default=0)
    pitch = panel_width + 2.0 * EDGE
    whole = pitch * len(trials) + 0.9, PANEL_HEIGHT + NAME_HEIGHT + above + 0.2
    figure = new_figure(*whole)
    figure.set_layout_engine("none")  # layout would put images without axes over text
    figure.set_facecolor(tuple(BACKGROUND))
    low, tall = 0.2 / whole[1], PANEL_HEIGHT / whole[1]
    panels = [
        figure.add_axes(
            ((i * pitch + EDGE) / whole[0], low, panel_width / whole[0], tall)
        )
        for i in range(len(trials))
    ]
    for axes, (name, temperatures) in zip(panels, trials.items(), strict=True):
        named = (rows or {}).get(name, {})
        _draw_trial(axes, views[name], temperatures, lines.get(name, []), named)
        axes.set_title(
            name,
            fontsize=min(12.0, 72.0 * panel_width / (1.2 * LETTER_WIDTH * len(name))),
            color=INK,
            fontweight="bold",
            pad=4.0 + 72.0 * above,
        )
    if slope_deg:
        panels[0].text(
            0.02,
            0.01,
            f"ground slope {slope_deg:g}°, uphill ahead of the robot",
            transform=panels[0].transAxes,
            fontsize=8,
            color=SOFT_INK,
        )
    bar = figure.colorbar(
        ScalarMappable(Normalize(COLDEST_DEGC, HOTTEST_DEGC), colour_map()),
        cax=figure.add_axes(
            (1.0 - 0.8 / whole[0], low + 0.2 * tall, 0.1 / whole[0], 0.6 * tall)
        ),
        extend="both",
        ticks=[25, 40, 60, 80],
    )
    bar.set_label("Motor temperature (°C)", color=SOFT_INK, fontsize=8)
    bar.ax.tick_params(labelsize=8, colors=SOFT_INK, length=0)
    bar.outline.set_visible(False)
    return figure


def _wrapped(text: str, letters: int) -> list[str]:
    """Wrap a text into lines; a number stays with its unit."""
    joined = re.sub(r"(?<=\d) (?=[^\W\d])", "\xa0", text)
    return [line.replace("\xa0", " ") for line in textwrap.wrap(joined, letters)]


def _draw_trial(
    axes: "Axes",
    view: RobotView,
    temperatures: Mapping[str, float],
    remark: Sequence[str],
    rows: Mapping[str, str],
) -> None:
    """Draw one robot with its remark above, and a line to its hottest joint."""
    image = view.painted(temperatures)
    height, width, _ = image.shape
    axes.imshow(image, interpolation="antialiased", aspect="equal")
    axes.set_axis_off()
    if remark:
        axes.annotate(
            "\n".join(remark),
            (0.5, 1.0),
            (0, 3),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=10,
            color=INK,
        )
    if not temperatures:
        return
    hottest = max(temperatures, key=lambda joint: temperatures[joint])
    text = f"{rows.get(hottest, hottest)}\n{temperatures[hottest]:.0f} °C"
    if hottest not in view.centres:  # its drum is hidden: text without a line
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
        xytext=(
            width * (0.99 if is_right else 0.01),
            max(row - 0.10 * height, 0.1 * height),
        ),
        ha="right" if is_right else "left",
        va="bottom",
        fontsize=9,
        color=INK,
        bbox={"fc": tuple(BACKGROUND), "alpha": 0.75, "lw": 0.0, "pad": 1.5},
        arrowprops={"arrowstyle": "-", "color": INK, "lw": 0.8, "shrinkB": 3},
    )
