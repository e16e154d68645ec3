"""Animated charts of the temperatures of recorded robots."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from nao_testbed.experiments.common.drawing.style import (
    FAINT_INK,
    INK,
    is_right,
    joint_colours,
    new_figure,
    panel_title,
    plain_frame,
    spread_labels,
    time_axis,
    time_ticks,
)
from nao_testbed.experiments.report.replay.track import RobotTrack
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NAMED = 5
"""Number of coloured and named curves of a robot: its hottest joints."""
LIMIT_DEGC = 80.0
"""Temperature in °C at which a NAO's motor is stopped; labelled if curves come near."""
NEAR_K = 15.0
LEAST_K = 10.0
"""Minimum height of the axis in K, so that the noise of a cold robot is not
enlarged."""
ROOM = 1.32
"""Width of the panel divided by that of its curves: room for names at their ends."""
DPI = 100
TO_COME = 0.75
"""Fading of future curves into the background."""


class Chart:
    """Panels one above the other; `picture` returns them at a time."""

    def __init__(
        self, motions: Sequence[RobotTrack], grid_s: FloatArray, width: int, height: int
    ) -> None:
        """Draw the whole run.

        Args:
            motions: motions of the robots, one panel each.
            grid_s: (n,) times in s.
            width: width in pixels.
            height: height in pixels.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415

        self._time = grid_s / 60.0
        low = min(float(motion.degc.min()) for motion in motions)
        high = max(float(motion.degc.max()) for motion in motions)
        is_near = high > LIMIT_DEGC - NEAR_K
        top = max(high, low + LEAST_K, LIMIT_DEGC if is_near else 0.0)
        figure = new_figure(width / DPI, height / DPI)
        figure.set_dpi(DPI)
        panels = figure.subplots(len(motions), 1, sharex=True, squeeze=False)[:, 0]
        for motion, axes in zip(motions, panels, strict=True):
            axes.set_ylim(low - 1.0, top + 0.06 * (top - low))
            axes.set_xlim(0.0, ROOM * max(float(self._time[-1]), 1e-3))
            if is_near:
                axes.axhline(
                    LIMIT_DEGC, xmax=1.0 / ROOM, color=INK, lw=0.9, ls=(0, (4, 3))
                )
            self._draw(axes, motion, (top - low) / (height / len(motions)))
            plain_frame(axes)
            axes.spines["bottom"].set_bounds(0.0, float(self._time[-1]))
            axes.set_xticks(time_ticks(max(float(self._time[-1]), 1e-3)))
            panel_title(axes, f"{motion.name}, temperature (°C)")
        time_axis(panels[-1], 1.0 / ROOM)
        canvas: Any = FigureCanvasAgg(figure)  # untyped
        canvas.draw()
        whole = np.asarray(canvas.buffer_rgba())[..., :3].astype(float)
        self._whole = Image.fromarray(whole.astype(np.uint8), "RGB")
        self._rows, self._columns = [], np.empty(0)
        faded = whole.copy()
        for axes in panels:
            box = axes.get_window_extent()
            first, last = (round(self._whole.height - y) for y in (box.y1, box.y0))
            self._rows.append((first, last))
            # Pixel column of each time, the same in all panels.
            self._columns = box.x0 + self._time * (box.width / axes.get_xlim()[1])
            left, right = round(box.x0) + 1, round(self._columns[-1]) + 1
            part = faded[first:last, left:right]
            faded[first:last, left:right] = part + TO_COME * (255.0 - part)
        self._faded = Image.fromarray(faded.astype(np.uint8), "RGB")

    def _draw(self, axes: "Axes", motion: RobotTrack, degc_a_pixel: float) -> None:
        names = motion.body.robot.joint_names
        hottest = np.argsort(-motion.degc.max(axis=0), kind="stable")
        for j in hottest[NAMED:]:
            axes.plot(self._time, motion.degc[:, j], color=FAINT_INK, lw=0.8)
        ends = [float(motion.degc[-1, j]) for j in hottest[:NAMED]]
        places = spread_labels(ends, 17.0 * degc_a_pixel)
        colours = joint_colours(names[j] for j in hottest[:NAMED])
        for j, place in zip(hottest[:NAMED], places, strict=True):
            colour = colours[names[j]]
            line = (0, (4, 1.5)) if is_right(names[j]) else "-"
            axes.plot(self._time, motion.degc[:, j], color=colour, lw=1.6, ls=line)
            axes.text(
                1.02 * float(self._time[-1]),
                float(place),
                f"{names[j]}",
                fontsize=8,
                color=colour,
                va="center",
            )

    def picture(self, i: int) -> Image.Image:
        """Return the panels at a time, with the future faded."""
        picture = self._faded.copy()
        column = round(float(self._columns[i]))
        past = (0, 0, column, picture.height)
        picture.paste(self._whole.crop(past), past[:2])
        for first, last in self._rows:
            picture.paste(INK, (column, first, column + 1, last))
        return picture
