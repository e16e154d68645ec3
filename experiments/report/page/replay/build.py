"""From recorded robots to the replay of a page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.report.page.numbers import duration, number
from experiments.report.page.replay.motion import (
    Motion,
    dress,
    has_base_pose,
    misalignment,
    pose_robot,
    slope_deg,
)
from experiments.report.page.replay.shapes import Body
from experiments.report.page.run_source import ArmSource
from experiments.report.page.views import Replay
from models import Robot

SHORTEST_STEP_S = 0.04
MOST_STEPS = 1500
"""Moments that are drawn; a quarter of an hour at every 0.6 s."""
MINUTES_FROM_S = 120.0
"""From this length on the clock of the replay counts minutes."""
COLOURS = 12
"""Colours of the scale beside the replay."""


def build_replay(
    arms: Sequence[ArmSource], robots: Mapping[str, Robot], caption: str
) -> Replay:
    """Return the replay of robots side by side.

    Args:
        arms: with rows.
        robots: by name of the arm.
        caption: what is seen.

    Raises:
        BadInput: rows lack what a replay needs.
    """
    from experiments.report.page.replay.scene import build_scene  # noqa: PLC0415  # viser
    from experiments.report.robot_view import (  # noqa: PLC0415  # the engine
        COLDEST_DEGC,
        HOTTEST_DEGC,
        colour_of,
    )

    end_s = max(float(arm.frame.index[-1]) for arm in arms)
    step_s = max(SHORTEST_STEP_S, end_s / MOST_STEPS)
    grid_s = np.arange(0.0, end_s + 0.5 * step_s, step_s)
    bodies: dict[Path, Body] = {}
    motions = []
    for arm in arms:
        robot = robots[arm.name]
        if robot.urdf not in bodies:
            bodies[robot.urdf] = dress(arm, robot)
        motions.append(pose_robot(arm, bodies[robot.urdf], grid_s))
    in_minutes = end_s >= MINUTES_FROM_S
    html = build_scene(motions, grid_s, 60.0 if in_minutes else 1.0, slope_deg(arms[0]))
    return Replay(
        html=html,
        caption=caption,
        notes=(
            *_notes(arms, robots, step_s, in_minutes=in_minutes),
            *_effector_notes(motions),
        ),
        scale=tuple(
            _hex(colour_of(float(degc)))
            for degc in np.linspace(COLDEST_DEGC, HOTTEST_DEGC, COLOURS)
        ),
        coldest_degc=COLDEST_DEGC,
        hottest_degc=HOTTEST_DEGC,
    )


def _notes(
    arms: Sequence[ArmSource],
    robots: Mapping[str, Robot],
    step_s: float,
    *,
    in_minutes: bool,
) -> tuple[str, ...]:
    clock = (
        "The clock counts minutes: at 1x, a second shows a minute."
        if in_minutes
        else "The clock counts seconds; 1x is real time."
    )
    notes = [
        f"{clock} The rows are shown every {duration(step_s)}.",
        *base_notes(arms),
    ]
    if any(misalignment(arm, robots[arm.name]).any() for arm in arms):
        notes.append(
            "Joint angles are those of the encoders with the calibration errors of the "
            "settings put back."
        )
    slope = slope_deg(arms[0])
    if slope:
        notes.append(f"The ground rises by {number(slope)}° ahead of the robots.")
    return tuple(notes)


def _effector_notes(motions: Sequence[Motion]) -> list[str]:
    notes = []
    if any(motion.lamps for motion in motions):
        notes.append("Each ball is a group of LEDs in its mean colour, grey when off.")
    if any(any(motion.said) for motion in motions):
        notes.append(
            "What is said or played is written above the robot; the scene itself is "
            "silent."
        )
    return notes


def base_notes(arms: Sequence[ArmSource]) -> list[str]:
    """Say whose base is where it was, and whose is where it probably was."""
    known = [arm.name for arm in arms if has_base_pose(arm)]
    guessed = [arm.name for arm in arms if arm.name not in known]
    notes = []
    if known:
        whose = f" of {', '.join(known)}" if guessed else ""
        notes.append(
            f"The base{whose} is where the simulator had it: the truth, which no "
            "sensor tells."
        )
    if guessed:
        whose = f" of {', '.join(guessed)}" if known else ""
        notes.append(
            f"The pose of the base{whose} is not recorded. Its tilt is estimated from "
            "accelerometer and gyroscope, its height from the lowest point of the "
            "body, which touches the ground; points that touch stay where they are. "
            "Heading, slides and flights are not known."
        )
    return notes


def _hex(rgb: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255.0 * part):02x}" for part in rgb)
