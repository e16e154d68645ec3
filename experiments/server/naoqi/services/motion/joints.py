"""ALMotion: joint angles, timed and reactive; hands; running tasks."""

from collections.abc import Mapping
from typing import Any

from nao_testbed.experiments.server.naoqi.arguments import (
    MAX_ITEMS,
    Names,
    Numbers,
    Value,
    items,
    number,
)
from nao_testbed.experiments.server.naoqi.motion.curves import (
    Handle,
    Key,
    Timed,
    arriving_together,
    bezier,
    check_times,
    through,
)
from nao_testbed.experiments.server.naoqi.motion.engine import Plan, check_fraction
from nao_testbed.experiments.server.naoqi.service import ALService, Blocks
from nao_testbed.models import BadInput

Path = tuple[list[float], list[float]]
"""Angles and times."""


def paths_of(joints: list[str], angles: Any, times: Any, what: str) -> dict[str, Path]:
    """Return the path of each joint from the argument shapes of NAOqi.

    One joint: a number and a time, or flat lists of both. Several joints: one angle per
    joint with one time for all or one per joint, or lists of angles and times per
    joint.

    Raises:
        BadInput: angles and times match neither each other nor the joints.
    """
    n = len(joints)
    if not isinstance(angles, list):
        angles = [angles] * n
    if not isinstance(times, list):
        times = [times] * (n if n > 1 else len(angles))
    if not angles or not times:
        raise BadInput(f"{what} or times are empty.")
    both = _lists(angles, times, n)
    if len(both[0]) != n or len(both[1]) != n:
        raise BadInput(
            f"{n} joints have {len(both[0])} lists of {what} and {len(both[1])} of "
            "times; give one of each per joint."
        )
    found: dict[str, Path] = {}
    for joint, its, then in zip(joints, *both, strict=True):
        path = [number(a) for a in its], [number(t) for t in then]
        if len(path[0]) != len(path[1]):
            raise BadInput(
                f"{joint} has {len(path[0])} {what} and {len(path[1])} times; give "
                "equal numbers."
            )
        check_times(joint, path[1])
        found[joint] = path
    return found


def _lists(angles: list[Any], times: list[Any], n: int) -> tuple[list[Any], list[Any]]:
    """Return a list of angles and a list of times per joint, as far as they match."""
    if isinstance(angles[0], list):
        if not isinstance(times[0], list):
            times = [times] * len(angles)
        return angles, times
    if n == 1:
        return [angles], times if isinstance(times[0], list) else [times]
    if len(times) == 1 and not isinstance(times[0], list):
        times = times * n
    each = [one if isinstance(one, list) else [one] for one in times]
    return [[one] for one in angles], each


class Joints(ALService):
    """Methods of ALMotion about joint angles."""

    def getAngles(self, names: Names, useSensors: bool) -> list[float]:
        """Return the angles of joints in rad, measured or commanded."""
        joints = self._parts.body.joints(names)
        served = self._served
        values = served.seen.q if useSensors else served.commanded
        return [float(values[i]) for i in self._parts.body.indices(joints)]

    def setAngles(
        self, names: Names, angles: Numbers, fractionMaxSpeed: Numbers
    ) -> None:
        """Move joints to angles at a fraction of their maximum speed; do not wait."""
        body = self._parts.body
        joints = body.joints(names)
        targets = body.spread("angles", angles, len(joints))
        fractions = body.spread("fractionMaxSpeed", fractionMaxSpeed, len(joints))
        for fraction in fractions:
            check_fraction(fraction)
        self._aim(dict(zip(joints, zip(targets, fractions, strict=True), strict=True)))

    def changeAngles(
        self, names: Names, changes: Numbers, fractionMaxSpeed: Numbers
    ) -> None:
        """Move joints relative to their present commands; do not wait."""
        joints = self._parts.body.joints(names)
        moves = self._parts.body.spread("changes", changes, len(joints))
        now = self._parts.motion.commanded(joints)
        angles = [now[j] + m for j, m in zip(joints, moves, strict=True)]
        self.setAngles(joints, angles, fractionMaxSpeed)

    def angleInterpolation(
        self, names: Names, angleLists: Value, timeLists: Value, isAbsolute: bool
    ) -> Blocks:
        """Move joints through angles at times, and wait."""
        joints = self._parts.body.joints(names)
        paths = paths_of(joints, angleLists, timeLists, "angles")

        def plan(start: Mapping[str, float]) -> dict[str, Timed]:
            curves = {}
            for joint, (angles, times) in paths.items():
                shift = 0.0 if isAbsolute else start[joint]
                points = [self._clip(joint, a + shift) for a in angles]
                curves[joint] = through(start[joint], times, points)
            return curves

        return self._begin("angleInterpolation", list(paths), plan)

    def angleInterpolationWithSpeed(
        self, names: Names, targetAngles: Numbers, maxSpeedFraction: float
    ) -> Blocks:
        """Move joints to angles, at a fraction of the slowest joint's speed; wait."""
        body = self._parts.body
        joints = body.joints(names)
        given = body.spread("targetAngles", targetAngles, len(joints))
        targets = dict(zip(joints, given, strict=True))
        fraction = check_fraction(maxSpeedFraction)
        goals = {joint: self._clip(joint, angle) for joint, angle in targets.items()}
        speeds = {
            joint: fraction * self._parts.body.max_speed(joint) for joint in targets
        }
        return self._begin(
            "angleInterpolationWithSpeed",
            list(targets),
            lambda start: arriving_together(start, goals, speeds, self._served.tick_s),
        )

    def angleInterpolationBezier(
        self, jointNames: Names, times: Value, controlPoints: Value
    ) -> Blocks:
        """Move joints along Bezier curves, and wait."""
        joints = self._parts.body.joints(jointNames)
        n = len(joints)
        then = items(times, {n}, f"{n} lists of times, one per joint")
        points = items(controlPoints, {n}, f"{n} lists of points, one per joint")
        keys = {
            joint: self._keys(joint, *of_joint)
            for joint, *of_joint in zip(joints, then, points, strict=True)
        }
        return self._begin(
            "angleInterpolationBezier",
            list(keys),
            lambda start: {j: bezier(start[j], keys[j]) for j in keys},
        )

    # -- internals ---------------------------------------------------------------------

    def _begin(self, name: str, joints: list[str], plan: Plan) -> Blocks:
        return self._parts.motion.begin(self._client.name, name, joints, plan).future

    def _aim(self, targets: Mapping[str, tuple[float, float]]) -> None:
        self._parts.motion.aim(self._client.name, targets)

    def _clip(self, joint: str, angle: float) -> float:
        clipped = self._parts.body.clip(joint, angle)
        if clipped != angle:
            self._parts.motion.warn("angle clipped to its range")
        return clipped

    def _keys(self, joint: str, times: Any, points: Any) -> list[Key]:
        then = [number(one) for one in items(times, range(1, MAX_ITEMS), "times")]
        items(points, {len(then)}, f"{len(then)} points of {joint}, one per time")
        check_times(joint, then)
        return [self._key(joint, t, p) for t, p in zip(then, points, strict=True)]

    def _key(self, joint: str, time_s: float, point: Any) -> Key:
        if not isinstance(point, list):
            return Key(time_s, self._clip(joint, number(point)))
        usage = f"an angle of {joint}, and up to two handles [type, dTime, dAngle]"
        angle, *handles = items(point, range(1, 4), usage)
        key = time_s, self._clip(joint, number(angle))
        return Key(*key, *(_handle(joint, one) for one in handles))


def _handle(joint: str, given: Any) -> Handle:
    usage = f"a handle of {joint}: [type, dTime, dAngle]"
    _, time_s, angle = map(number, items(given, {3}, usage))
    return time_s, angle


class Tasks(ALService):
    """Methods of ALMotion about tasks."""

    def getTaskList(self) -> list[list[object]]:
        """Return name, number and joints of each task that has not ended."""
        return [
            [task.name, task.number, list(task.joints)]
            for task in self._parts.motion.tasks()
        ]

    def areResourcesAvailable(self, resourceNames: Names) -> bool:
        """Return true if no task uses any of these joints."""
        joints = self._parts.body.joints(resourceNames)
        return self._parts.motion.are_free(joints)

    def killTask(self, motionTaskID: int) -> bool:
        """End a task; return true if it existed."""
        motion = self._parts.motion
        return motion.kill([t for t in motion.tasks() if t.number == motionTaskID]) > 0

    def killTasksUsingResources(self, resourceNames: Names) -> None:
        """End the tasks that use any of these joints."""
        self._parts.motion.kill_using(self._parts.body.joints(resourceNames))

    def killAll(self) -> None:
        """End all tasks."""
        motion = self._parts.motion
        motion.kill_using(self._parts.body.body)
        motion.kill(motion.tasks())
