"""3-D view of the robots, made with viser; display only.

The scene has no controls, so that no browser message to viser can move a robot:
requests arrive through the page (`experiments.live.page.page_api`). A click on a joint
is reported to the page. A click on a touch sensor touches it.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.live.robot.moment import Moment
from nao_testbed.experiments.report.replay.actor import Figure
from nao_testbed.experiments.report.replay.rig import clothe, lamp_colours, lamp_places
from nao_testbed.experiments.report.replay.stage import APART, hottest_text, lay_stage
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.effectors import colour_names
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.engine.obstacles import Obstacle

if TYPE_CHECKING:
    from viser import ViserServer

FRAME_S = 0.04
"""Time between two frames in s: 25 per second."""
HEIGHT_M = 0.58
NARROWEST = 0.72
"""Minimum aspect ratio of the 3-D view that shows two robots completely."""


class FrameClock:
    """Timer for frames: due times are independent of the drawing time."""

    def __init__(self) -> None:
        self._due_s = time.monotonic()

    def wait(self) -> None:
        """Sleep until the next frame is due; a missed due time is skipped."""
        now_s = time.monotonic()
        self._due_s = max(self._due_s + FRAME_S, now_s)
        time.sleep(self._due_s - now_s)


class Scene:
    """Robots side by side; call `show` with the newest moments repeatedly."""

    def __init__(
        self,
        server: "ViserServer",
        robot: Robot,
        q: FloatArray,
        names: Sequence[str],
        slope_deg: float = 0.0,
        obstacles: Sequence[Obstacle] = (),
        on_joint: Callable[[int, int], None] | None = None,
        on_touch: Callable[[int, str], object] | None = None,
    ) -> None:
        """Build the scene.

        Args:
            server: server of viser.
            robot: description shared by all robots.
            q: (n_joints,) angles of the posture in which motor drums are measured.
            names: names of the robots.
            slope_deg: slope of the ground in degrees.
            obstacles: obstacles around each robot.
            on_joint: function called with the indices of the clicked robot and joint.
            on_touch: function called with the index of the clicked robot and the name
                of its touch sensor; None: sensors are not shown.
        """
        self._robot, self._names = robot, tuple(names)
        lay_stage(server, len(names), HEIGHT_M, slope_deg, aspect=NARROWEST)
        body = clothe(robot, q)
        places = HEIGHT_M * APART * (np.arange(len(names)) - 0.5 * (len(names) - 1))
        self._figures = [
            Figure(server, i, body, name, float(y), HEIGHT_M)
            for i, (name, y) in enumerate(zip(names, places, strict=True))
        ]
        self._lamps = []
        for group, place in lamp_places(body):
            for figure in self._figures:
                figure.add_lamp(group.name, group.link, place)
            n = len(colour_names(robot.leds[: robot.leds.index(group)]))
            self._lamps.append((group, slice(n, n + group.n_channels)))
        for i, figure in enumerate(self._figures):
            figure.stand_among(obstacles, slope_deg)
            if on_joint is not None:
                figure.on_joint(partial(on_joint, i))
            if on_touch is not None:
                figure.on_touch(robot, partial(on_touch, i))
        sensors = robot.force_sensors
        self._soles = [
            (link, np.array([sensor.link == link for sensor in sensors]))
            for link in dict.fromkeys(sensor.link for sensor in sensors)
        ]
        self._places = np.array([sensor.position for sensor in sensors])
        server.gui.configure_theme(show_logo=False, show_share_button=False)
        server.gui.main_panel.minimize()

    def show(self, moments: Sequence[Moment | None]) -> None:
        """Show the newest moment of each robot; None: keep the last one."""
        for i, moment in enumerate(moments):
            if moment is None:
                continue
            name = self._names[i]
            if moment.controller != name:
                name += f" → {moment.controller}"
            text = hottest_text(name, self._robot, moment.degc)
            rotation = rotation_from_quaternion(moment.quaternion)
            figure = self._figures[i]
            figure.put(rotation, moment.position, moment.q, moment.degc, text)
            unit = moment.power_unit(self._robot.thermal, symbol="×")
            figure.ring(moment.useless_w / unit.size)
            figure.say(moment.says)
            for group, part in self._lamps:
                colour = lamp_colours(group, moment.lights[None, part])[0]
                figure.shine(group.name, colour)
            self._press(figure, moment.seen.fsr)

    def _press(self, figure: Figure, fsr: FloatArray) -> None:
        """Show the resultant of each foot's force sensors at its point of action."""
        for link, is_on_it in self._soles:
            force = np.where(is_on_it, fsr, 0.0)
            newton = float(force.sum())
            if newton > 0.0:
                figure.press(link, force @ self._places / newton, newton)
            else:
                figure.press(link, np.zeros(3), 0.0)
