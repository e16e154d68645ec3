"""3-D replay of recorded robots side by side, in a page that opens from a file.

    clothe -> pose_robot -> build_replay

viser can write a recording only with a server. The server listens on the loopback
interface during the writing, serves nothing, and is then stopped. A base pose that was
not recorded is estimated from accelerometer, gyroscope and ground; a note on the page
states this.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.closed_loop.recording import base_pose_of
from nao_testbed.experiments.common.drawing.number_text import duration, number
from nao_testbed.experiments.common.drawing.page import Replay
from nao_testbed.experiments.report.replay.actor import Figure
from nao_testbed.experiments.report.replay.rig import Rig
from nao_testbed.experiments.report.replay.stage import APART, hottest_text, lay_stage
from nao_testbed.experiments.report.replay.track import (
    RobotTrack,
    dress,
    misalignment,
    pose_robot,
    slope_deg,
)
from nao_testbed.experiments.report.run_source import RecordedTrial
from nao_testbed.models import ExtraMissing, Robot
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    from viser import (
        ViserServer,
    )
    from viser.infra import StateSerializer


def build_scene(
    motions: Sequence[RobotTrack], grid_s: FloatArray, scale: float, slope_deg: float
) -> str:
    """Return the page of the replay.

    Args:
        motions: motions of robots that stand side by side, at the times of the grid.
        grid_s: (n,) times in s, evenly spaced.
        scale: seconds per unit of the page's clock.
        slope_deg: slope of the ground in degrees, which rises towards +x.
    """
    with _server() as server:
        height = max(motion.height for motion in motions)
        lay_stage(server, len(motions), height, slope_deg)
        # Seen from the front of the robots, +y is to the right.
        n = len(motions)
        places = height * APART * (np.arange(n) - 0.5 * (n - 1))
        figures: list[Figure] = []
        for motion, y in zip(motions, places.tolist(), strict=True):
            body, name = motion.body, motion.name
            figure = Figure(server, len(figures), body, name, y, height)
            figure.stand_among(motion.obstacles, slope_deg)
            for lamp in motion.lamps:
                figure.add_lamp(lamp.name, lamp.link, lamp.position)
            figures.append(figure)
        recording: StateSerializer = server.get_scene_serializer()
        step = float(grid_s[1] - grid_s[0]) / scale if len(grid_s) > 1 else 0.0
        for i in range(len(grid_s)):
            if i:
                recording.insert_sleep(step)
            for figure, motion in zip(figures, motions, strict=True):
                _show(figure, motion, i)
        html: str = recording.as_html()
        return html


def _show(figure: Figure, motion: RobotTrack, i: int) -> None:
    """Set a figure to the state of its robot at time i of the grid."""
    text = hottest_text(motion.name, motion.body.robot, motion.degc[i])
    moment = (motion.rotation[i], motion.position[i], motion.q[i], motion.degc[i])
    figure.put(*moment, text)
    for lamp in motion.lamps:
        figure.shine(lamp.name, lamp.rgb[i])
    figure.say(motion.said[i])


def check_viser() -> None:
    """Check that replays can be built.

    Raises:
        BadInput: viser is not installed.
    """
    try:
        import viser  # noqa: F401, PLC0415  # heavy, and an extra
    except ImportError as error:
        raise ExtraMissing(
            "the 3-D replay", "viser", "report", "or give --no-replay"
        ) from error


@contextlib.contextmanager
def _server() -> "Iterator[ViserServer]":
    from viser import ViserServer  # noqa: PLC0415  # heavy, and an extra

    # viser prints its address on stdout, which is for data.
    with contextlib.redirect_stdout(io.StringIO()):
        server = ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


SHORTEST_STEP_S = 0.04
MOST_STEPS = 1500
"""Largest number of drawn times; in a quarter of an hour one per 0.6 s."""
MINUTES_FROM_S = 120.0
"""Duration in s from which the clock of the replay is in minutes."""
COLOURS = 12
"""Colours of the scale beside the replay."""


def build_replay(
    trials: Sequence[RecordedTrial], robots: Mapping[str, Robot], caption: str
) -> Replay:
    """Return the replay of robots side by side.

    Args:
        trials: trials with rows.
        robots: robots by name of the trial.
        caption: caption of the replay.

    Raises:
        BadInput: rows lack data for a replay.
    """
    from nao_testbed.experiments.heat.figures.robot_view import (  # noqa: PLC0415  # the engine
        COLDEST_DEGC,
        HOTTEST_DEGC,
        colour_of,
    )

    end_s = max(float(trial.frame.index[-1]) for trial in trials)
    step_s = max(SHORTEST_STEP_S, end_s / MOST_STEPS)
    grid_s = np.arange(0.0, end_s + 0.5 * step_s, step_s)
    bodies: dict[Path, Rig] = {}
    motions = []
    for trial in trials:
        robot = robots[trial.name]
        if robot.urdf not in bodies:
            bodies[robot.urdf] = dress(trial, robot)
        motions.append(pose_robot(trial, bodies[robot.urdf], grid_s))
    in_minutes = end_s >= MINUTES_FROM_S
    html = build_scene(
        motions, grid_s, 60.0 if in_minutes else 1.0, slope_deg(trials[0])
    )
    return Replay(
        html=html,
        caption=caption,
        notes=tuple(_notes(trials, robots, motions, step_s, in_minutes=in_minutes)),
        scale=tuple(
            _hex(colour_of(float(degc)))
            for degc in np.linspace(COLDEST_DEGC, HOTTEST_DEGC, COLOURS)
        ),
        coldest_degc=COLDEST_DEGC,
        hottest_degc=HOTTEST_DEGC,
    )


def _notes(
    trials: Sequence[RecordedTrial],
    robots: Mapping[str, Robot],
    motions: Sequence[RobotTrack],
    step_s: float,
    *,
    in_minutes: bool,
) -> list[str]:
    clock = (
        "The clock counts minutes: at 1x, a second shows a minute."
        if in_minutes
        else "The clock counts seconds; 1x is real time."
    )
    notes = [
        f"{clock} The rows are shown every {duration(step_s)}.",
        *base_notes(trials),
    ]
    if any(misalignment(trial, robots[trial.name]).any() for trial in trials):
        notes.append(
            "Joint angles are encoder readings, corrected by the calibration errors "
            "in the settings."
        )
    slope = slope_deg(trials[0])
    if slope:
        notes.append(f"The ground rises by {number(slope)}° ahead of the robots.")
    if any(motion.lamps for motion in motions):
        notes.append("Each ball is a group of LEDs in its mean colour, grey when off.")
    if any(any(motion.said) for motion in motions):
        notes.append(
            "Speech and sounds are shown as text above the robot; the scene is silent."
        )
    return notes


def base_notes(trials: Sequence[RecordedTrial]) -> list[str]:
    """Return notes on recorded and estimated base poses."""
    known = [trial.name for trial in trials if base_pose_of(trial.frame)]
    guessed = [trial.name for trial in trials if trial.name not in known]
    notes = []
    if known:
        whose = f" of {', '.join(known)}" if guessed else ""
        notes.append(
            f"The pose of the base{whose} is the true pose from the simulator, which "
            "no sensor measures."
        )
    if guessed:
        whose = f" of {', '.join(guessed)}" if known else ""
        notes.append(
            f"The pose of the base{whose} is not recorded. Its tilt is estimated "
            "from accelerometer and gyroscope, its height from the lowest point of "
            "the body, which touches the ground. Contact points are "
            "assumed fixed: heading, sliding and flight are unknown."
        )
    return notes


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255.0 * part):02x}" for part in rgb)
