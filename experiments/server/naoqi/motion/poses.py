"""Poses in NAOqi's notation, and paths of effectors through poses.

A rotation is wx, wy, wz with R = Rz(wz) Ry(wy) Rx(wx) [naoqi-api].
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pinocchio as pin

from nao_testbed.models.values import FloatArray

PosePath = list[tuple[float, pin.SE3]]
"""Times in s, from 0, with the pose of an effector at each time."""


def between(a: pin.SE3, b: pin.SE3, part: float) -> pin.SE3:
    """Return the pose at a fraction of the straight path from one pose to another."""
    if part >= 1.0:
        return b
    turn = part * pin.log3(a.rotation.T @ b.rotation)
    place = (1.0 - part) * a.translation + part * b.translation
    return pin.SE3(a.rotation @ pin.exp3(turn), place)


def rpy_of(rotation: FloatArray) -> FloatArray:
    """Return wx, wy, wz of R = Rz Ry Rx, (3,) in rad."""
    found: FloatArray = pin.rpy.matrixToRpy(rotation)
    return found


def yaw_of(rotation: FloatArray) -> float:
    """Return wz in rad."""
    return float(rpy_of(rotation)[2])


def six_of(pose: pin.SE3) -> list[float]:
    """Return x, y, z, wx, wy, wz."""
    return [*map(float, pose.translation), *map(float, rpy_of(pose.rotation))]


def of_six(values: Sequence[float]) -> pin.SE3:
    """Return the pose of x, y, z, wx, wy, wz."""
    return pin.SE3(pin.rpy.rpyToMatrix(np.array(values[3:])), np.array(values[:3]))


def path_through(
    start: pin.SE3, points: list[pin.SE3], then: list[float], size: int, absolute: bool
) -> PosePath:
    """Return times in s and poses of a path, from its start at 0 s.

    Relative points are changes of the start, as in the official samples.
    """
    way = [(0.0, start)]
    for point, time_s in zip(points, then, strict=True):
        goal = point if absolute else _moved(start, point, size)
        way.append((time_s, goal))
    return way


def knots(names: list[str], ways: list[PosePath]) -> list[tuple[float, int]]:
    """Return times and effectors to solve for, torso first since it carries the arms.

    A midpoint keeps a path straight. If the torso moves too, an arm gets points at the
    torso's times, so that the hand keeps its pose in the command's frame.
    """
    own = []
    for way in ways:
        times = [time_s for time_s, _ in way]
        halves = [0.5 * (a + b) for a, b in pairwise(times)]
        own.append({*times[1:], *halves})
    carried = own[names.index("Torso")] if "Torso" in names else set()
    found = [
        (time_s, name != "Torso", i)
        for i, (name, way) in enumerate(zip(names, ways, strict=True))
        for time_s in own[i] | {t for t in carried if t <= way[-1][0]}
    ]
    return [(time_s, i) for time_s, _, i in sorted(found)]


def pose_at(way: PosePath, time_s: float) -> pin.SE3:
    """Return the pose on a path at a time in s."""
    for (then, a), (later, b) in pairwise(way):
        if time_s <= later:
            return between(a, b, (time_s - then) / (later - then))
    return way[-1][1]


def _moved(before: pin.SE3, change: pin.SE3, size: int) -> pin.SE3:
    if size == 6:
        both = zip(six_of(before), six_of(change), strict=True)
        return of_six([a + b for a, b in both])
    return before * change
