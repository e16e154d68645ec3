"""Cuts a motion at the times at which it may rest, so that it can be stopped there.

Each part begins and ends at rest: at a stop, and only there, the robot may stay as long
as it likes. A joint without a keyframe at a stop gets one where its curve passes.
"""

import numpy as np

from models import BadInput, Robot
from models.library import Motion, Track, sample_curve

SAME_S = 1e-6
"""Times that are closer are the same."""


def parts_between_stops(motion: Motion, robot: Robot) -> tuple[Motion, ...]:
    """Return the parts of a motion, in their order; one if it has no stops.

    Args:
        motion: with `stops_s`.
        robot: knows the posture in which it begins.

    Raises:
        BadInput: a joint's first keyframe is after a stop, and the motion does not say
            in which posture it begins, so that nobody knows where the joint is then.
    """
    ends = [stop for stop in motion.stops_s if stop < motion.length_s - SAME_S]
    ends.append(motion.length_s)
    tracks = [_from_start(track, motion, robot, ends[0]) for track in motion.tracks]
    parts: list[Motion] = []
    begin = 0.0
    for number, end in enumerate(ends, start=1):
        cut = [_cut(track, motion, begin, end) for track in tracks]
        parts.append(
            Motion(
                name=f"{motion.name} {number}/{len(ends)}",
                tracks=tuple(track for track in cut if track is not None),
                interpolation=motion.interpolation,
                start=motion.start if number == 1 else None,
                end=motion.end if number == len(ends) else None,
            )
        )
        begin = end
    return tuple(parts)


def angles_at_end(part: Motion) -> dict[str, float]:
    """Return where the joints of a part are at its end, in rad."""
    return {track.joint: track.angles[-1] for track in part.tracks}


def _from_start(track: Track, motion: Motion, robot: Robot, first: float) -> Track:
    """Return a track with a keyframe at time 0, if its curve is needed before."""
    if track.times_s[0] <= first + SAME_S:
        return track
    if motion.start is None:
        raise BadInput(
            f"motion {motion.name!r} may rest at {first:g} s, but {track.joint} has "
            f"its first keyframe at {track.times_s[0]:g} s; give it one at the stop or "
            "before, or say in which posture the motion begins."
        )
    angle = robot.posture(motion.start).angles[robot.joint_index(track.joint)]
    return Track(
        joint=track.joint,
        times_s=(0.0, *track.times_s),
        angles=(float(angle), *track.angles),
    )


def _cut(track: Track, motion: Motion, begin: float, end: float) -> Track | None:
    """Return a track from one time to another, times counted from the first.

    None where the joint has come to its last keyframe before.
    """
    if track.times_s[-1] <= begin + SAME_S:
        return None
    inside = [
        (time - begin, angle)
        for time, angle in zip(track.times_s, track.angles, strict=True)
        if begin + SAME_S < time < end - SAME_S
    ]
    angle = float(
        sample_curve(
            np.array(track.times_s),
            np.array(track.angles),
            motion.interpolation,
            np.array([end]),
        )[0]
    )
    keyframes = [*inside, (end - begin, angle)]
    if track.times_s[-1] < end - SAME_S:
        keyframes = inside
    return Track(
        joint=track.joint,
        times_s=tuple(time for time, _ in keyframes),
        angles=tuple(angle for _, angle in keyframes),
    )
