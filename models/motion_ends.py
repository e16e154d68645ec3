"""Whether a motion ends in the posture that it names: a nod leads nowhere."""

from collections.abc import Iterable, Mapping

import numpy as np

from models.library import Track
from models.robot import Robot

NEAR_LEGS_RAD = 0.3
"""Root mean square difference of the legs' angles up to which a motion ends in a
posture: where the state of that posture is recognised."""
NEAR_RAD = np.radians(15.0)
"""The same of every other joint: what `go to posture` accepts."""


def false_end(
    robot: Robot,
    tracks: Iterable[Track],
    start: str | None,
    end: str | None,
    here: Mapping[str, float] | None = None,
) -> str:
    """Return what keeps a motion from ending in its posture; empty: nothing.

    The legs tell in which posture a robot is; arms and head count where they move.

    Args:
        robot: its postures and joints.
        tracks: of the motion.
        start: posture in which it begins; None: any.
        end: posture in which it says that it ends; None, or an unknown one: in none.
        here: motor to its angle at the beginning in rad, where no start is named; None:
            not known.
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
        else "wherever it was, as the motion does not say in which posture it begins"
    )
    return (
        f"the motion does not end in {ends.name}: {robot.joint_names[worst]} is {where}"
    )
