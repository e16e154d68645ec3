"""From the form of a motion to the keyframes of each motor, and what is wrong in it.

A joint that follows another one's motor may be named; its keyframes are those of the
motor's leading joint. Angles in degrees end here.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from models.errors import UnknownName
from models.library.curve import first_not_rising, largest_speeds
from models.library.motion import Track
from models.library_yaml import MotionForm
from models.robot import Robot
from models.yaml_lines import Place, Problem

REL_SPEED = 1e-9
"""By how much a speed may pass the limit: rounding of the angles' degrees."""


@dataclass(frozen=True, kw_only=True)
class PlacedTrack:
    """The keyframes of one motor, and where in the file each stands."""

    track: Track
    places: tuple[Place, ...]


def read_tracks(
    form: MotionForm, robot: Robot, place: Place
) -> tuple[list[PlacedTrack], list[Problem]]:
    """Return the keyframes of a motion by motor, in the order of the robot's motors.

    Args:
        form: of the motion.
        robot: whose joints, groups and postures it names.
        place: of the motion in its file.

    Returns:
        Tracks whose times rise and whose angles are in range, and the problems of the
        others.
    """
    problems: list[Problem] = []
    given = _given_angles(form, robot, place, problems)
    tracks = {
        motor: PlacedTrack(
            track=Track(
                joint=motor,
                times_s=tuple(time for time, _ in form.angles_deg[joint]),
                angles=tuple(math.radians(a) for _, a in form.angles_deg[joint]),
            ),
            places=tuple(
                (*place, "angles_deg", joint, i)
                for i in range(len(form.angles_deg[joint]))
            ),
        )
        for motor, joint in given.items()
    }
    if form.postures:
        for track in _from_postures(form, robot, place, problems):
            tracks.setdefault(track.track.joint, track)
    elif form.joints:
        words = "`joints` says which joints `postures` move; give postures, or leave "
        problems.append(Problem((*place, "joints"), f"{words}it out."))
    right = []
    for motor in robot.motor_names:
        if motor in tracks:
            wrong = list(_keyframe_problems(tracks[motor], robot))
            problems += wrong
            if not wrong:
                right.append(tracks[motor])
    return right, list(dict.fromkeys(problems))


def speed_problems(
    placed: PlacedTrack, form: MotionForm, robot: Robot
) -> Iterator[Problem]:
    """Yield where a motor would have to be faster than it can.

    The way to the first keyframe is known only where the motion has a first posture.
    """
    track = placed.track
    times, angles = list(track.times_s), list(track.angles)
    first = 0
    joint = robot.joint_index(track.joint)
    if form.start is not None and form.start in robot.postures:
        times.insert(0, 0.0)
        angles.insert(0, float(robot.postures[form.start].angles[joint]))
        first = 1
    if len(times) < 2:
        return
    speeds = largest_speeds(np.array(times), np.array(angles), form.interpolation)
    limit = max_speed(robot, track.joint)
    for i in np.flatnonzero(speeds > limit * (1.0 + REL_SPEED)).tolist():
        end = i + 1
        need = (times[end] - times[i]) * speeds[i] / limit
        yield Problem(
            placed.places[end - first],
            f"{track.joint} moves from {math.degrees(angles[i]):g}° at {times[i]:g} s "
            f"to {math.degrees(angles[end]):g}° at {times[end]:g} s with up to "
            f"{math.degrees(speeds[i]):.1f} °/s; accepted: {math.degrees(limit):.1f} "
            f"°/s. Give it about {need:.2f} s.",
        )


def max_speed(robot: Robot, motor: str) -> float:
    """Return the largest speed of a motor in rad/s: that of its slowest joint."""
    return min(joint.max_velocity for joint in robot.joints if joint.motor == motor)


def angle_range(robot: Robot, motor: str) -> tuple[float, float]:
    """Return the range in rad that all joints of a motor share."""
    joints = [joint for joint in robot.joints if joint.motor == motor]
    return max(joint.lower for joint in joints), min(joint.upper for joint in joints)


def _given_angles(
    form: MotionForm, robot: Robot, place: Place, problems: list[Problem]
) -> dict[str, str]:
    """Return motor to the joint whose angles are given for it."""
    motors: dict[str, str] = {}
    for joint, keyframes in form.angles_deg.items():
        here = (*place, "angles_deg", joint)
        if joint not in robot.joint_names:
            where = f"robot {robot.name!r}"
            unknown = UnknownName("Joint", joint, robot.joint_names, where)
            problems.append(Problem(here, str(unknown)))
            continue
        motor = robot.joints[robot.joint_index(joint)].motor
        first = motors.setdefault(motor, joint)
        if form.angles_deg[first] != keyframes:
            problems.append(
                Problem(
                    here,
                    f"{first} and {joint} have different keyframes, but one motor "
                    f"({motor}) moves both; leave one of them out.",
                )
            )
    return motors


def _from_postures(
    form: MotionForm, robot: Robot, place: Place, problems: list[Problem]
) -> Iterator[PlacedTrack]:
    where = f"robot {robot.name!r}"
    joints: list[str] = []
    for i, name in enumerate(form.joints):
        if name in robot.groups:
            joints += robot.groups[name]
        elif name in robot.joint_names:
            joints.append(name)
        else:
            known = (*robot.groups, *robot.joint_names)
            unknown = UnknownName("Joint or joint group", name, known, where)
            problems.append(Problem((*place, "joints", i), str(unknown)))
    keyframes = []
    for i, (time, name) in enumerate(form.postures):
        here: Place = (*place, "postures", i)
        if name in robot.postures:
            keyframes.append((time, robot.postures[name].angles, here))
        else:
            unknown = UnknownName("Posture", name, robot.postures, where)
            problems.append(Problem(here, str(unknown)))
    chosen = {robot.joints[robot.joint_index(joint)].motor for joint in joints}
    for motor in robot.motor_names:
        if keyframes and (motor in chosen or not form.joints):
            joint = robot.joint_index(motor)
            yield PlacedTrack(
                track=Track(
                    joint=motor,
                    times_s=tuple(time for time, _, _ in keyframes),
                    angles=tuple(float(angles[joint]) for _, angles, _ in keyframes),
                ),
                places=tuple(here for _, _, here in keyframes),
            )


def _keyframe_problems(placed: PlacedTrack, robot: Robot) -> Iterator[Problem]:
    track = placed.track
    i = first_not_rising(track.times_s)
    if i is not None:
        yield Problem(
            placed.places[i],
            f"overlapping keyframes: {track.times_s[i]:g} s comes after "
            f"{track.times_s[i - 1]:g} s; times must rise from one to the next.",
        )
    lower, upper = angle_range(robot, track.joint)
    for place, angle in zip(placed.places, track.angles, strict=True):
        if not lower <= angle <= upper:
            yield Problem(
                place,
                f"angle of {track.joint} is {math.degrees(angle):g}°; accepted: "
                f"{math.degrees(lower):.2f} to {math.degrees(upper):.2f}°.",
            )
