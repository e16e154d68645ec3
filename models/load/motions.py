"""Conversion of the form of a motion to keyframes of each motor, with checks.

A joint that is not the leading joint of its motor may be named; its keyframes are those
of the leading joint. Angles in degrees become rad here. `speed_problems` finds motors
that would exceed their maximum speed. `false_end` checks that a motion ends in its
stated end posture.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from nao_testbed.models.errors import UnknownName
from nao_testbed.models.files.yaml_forms import Place, Problem
from nao_testbed.models.library import Track, first_not_rising, largest_speeds
from nao_testbed.models.load.library_forms import MotionForm
from nao_testbed.models.robot import Robot, angle_range, max_speed

REL_SPEED = 1e-9
"""Relative tolerance of the speed limit, for the rounding of angles in degrees."""


@dataclass(frozen=True, kw_only=True)
class PlacedTrack:
    """Keyframes of one motor, each with its place in the file."""

    track: Track
    places: tuple[Place, ...]


def read_tracks(
    form: MotionForm, robot: Robot, place: Place
) -> tuple[list[PlacedTrack], list[Problem]]:
    """Return the keyframes of a motion by motor, in the order of the robot's motors.

    Args:
        form: form of the motion.
        robot: robot with the joints, groups and postures named in the form.
        place: place of the motion in its file.

    Returns:
        Tracks with ascending times and angles in range, and the problems of the other
        tracks.
    """
    problems: list[Problem] = []
    given = _explicit_angles(form, robot, place, problems)
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
    for motor in robot.servo_names:
        if motor in tracks:
            wrong = list(_keyframe_problems(tracks[motor], robot))
            problems += wrong
            if not wrong:
                right.append(tracks[motor])
    return right, list(dict.fromkeys(problems))


def speed_problems(
    placed: PlacedTrack, form: MotionForm, robot: Robot
) -> Iterator[Problem]:
    """Yield a problem for each part of a track that exceeds the motor's speed.

    The part before the first keyframe is known only if the motion has a start posture.
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
            f"{track.joint} moves from {math.degrees(angles[i]):g}° at {times[i]:g} "
            f"s to {math.degrees(angles[end]):g}° at {times[end]:g} s with up to "
            f"{math.degrees(speeds[i]):.1f} °/s; accepted: {math.degrees(limit):.1f} "
            f"°/s. Allow about {need:.2f} s.",
        )


def _explicit_angles(
    form: MotionForm, robot: Robot, place: Place, problems: list[Problem]
) -> dict[str, str]:
    """Return motor to the joint with its given angles."""
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
    for motor in robot.servo_names:
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
            f"{track.times_s[i - 1]:g} s; times must increase.",
        )
    lower, upper = angle_range(robot, track.joint)
    for place, angle in zip(placed.places, track.angles, strict=True):
        if not lower <= angle <= upper:
            yield Problem(
                place,
                f"angle of {track.joint} is {math.degrees(angle):g}°; accepted: "
                f"{math.degrees(lower):.2f} to {math.degrees(upper):.2f}°.",
            )


NEAR_LEGS_RAD = 0.3
"""Root mean square difference of the leg angles up to which a motion ends in a posture,
the same as for recognition of the posture's state."""
NEAR_RAD = np.radians(15.0)
"""Largest angle difference of all other joints: the tolerance of `go to posture`."""


def false_end(
    robot: Robot,
    tracks: Iterable[Track],
    start: str | None,
    end: str | None,
    here: Mapping[str, float] | None = None,
) -> str:
    """Return why a motion does not end in its end posture; empty if it does.

    The legs decide the posture; arms and head count if they move.

    Args:
        robot: robot with the postures and joints.
        tracks: tracks of the motion.
        start: posture at the start; None: any.
        end: stated posture at the end; None, or an unknown one: not checked.
        here: motor to its angle at the start in rad, for motions without a start
            posture; None: unknown.
    """
    ends, starts = robot.postures.get(end or ""), robot.postures.get(start or "")
    if ends is None or (start is not None and starts is None):
        return ""
    moved = {
        j: track.angles[-1]
        for track in tracks
        for j, joint in enumerate(robot.joints)
        if joint.motor == robot.joints[robot.joint_index(track.joint)].motor
    }
    absent = {robot.joint_index(name) for name in robot.absent_joints}
    legs = {robot.joint_index(name) for name in robot.leg_joints} - absent
    off = np.zeros(len(robot.joints))
    for j in legs | set(moved) - absent:
        before = np.inf
        if starts is not None:
            before = float(starts.angles[j])
        elif here is not None:
            before = here.get(robot.joints[j].motor, before)
        off[j] = abs(moved.get(j, before) - float(ends.angles[j]))
    if legs and np.sqrt(np.mean(off[list(legs)] ** 2)) <= NEAR_LEGS_RAD:
        off[list(legs)] = 0.0
    worst = int(off.argmax())
    if off[worst] <= NEAR_RAD:
        return ""
    where = (
        f"{np.degrees(off[worst]):.1f} degrees off"
        if np.isfinite(off[worst])
        else "unknown, as the motion does not declare its start posture"
    )
    return (
        f"the motion does not end in {ends.name}: {robot.joint_names[worst]} is {where}"
    )
