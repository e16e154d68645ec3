"""ALMotion: poses of parts of the body, and paths of arms, head and torso."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pinocchio as pin

from nao_testbed.experiments.server.naoqi.arguments import (
    Names,
    Value,
    items,
    known,
    number,
    numbers,
    whole,
)
from nao_testbed.experiments.server.naoqi.motion.curves import (
    Timed,
    check_times,
    through,
)
from nao_testbed.experiments.server.naoqi.motion.engine import check_fraction
from nao_testbed.experiments.server.naoqi.motion.poses import (
    knots,
    of_six,
    path_through,
    pose_at,
    six_of,
)
from nao_testbed.experiments.server.naoqi.served_robot import answered, failed
from nao_testbed.experiments.server.naoqi.service import (
    ALService,
    Blocks,
    NotSimulated,
    SharedPart,
    ended,
)
from nao_testbed.experiments.server.naoqi.services.motion.kinematics import Kinematics
from nao_testbed.models import BadInput, Link
from nao_testbed.models.values import FloatArray

WHOLE = ("Body", "Joints", "Com", "JointActuators", "Actuators")
LEGS = ("Legs", "LLeg", "RLeg")
MIN_FRACTION = 1e-3
"""Minimum fraction of a joint's maximum speed in a motion with a common end time."""
SHIFT_S = 2.0
"""Default duration in s of a shift of the torso between the feet."""


def _timed(size: int) -> tuple[Callable[..., Blocks], Callable[..., Blocks]]:
    """Return the methods for several effectors and for one, by the size of a point."""

    def several(
        self: "Cartesian",
        effectorNames: Names,
        frames: Value,
        paths: Value,
        axisMasks: Value,
        relativeTimes: Value,
        isAbsolute: bool = True,
    ) -> Blocks:
        """Move effectors through points at times, and wait."""
        return self._follow(
            effectorNames, frames, paths, axisMasks, relativeTimes, size, isAbsolute
        )

    def one(
        self: "Cartesian",
        chainName: str,
        space: int,
        path: Value,
        axisMask: int,
        durations: Value,
        isAbsolute: bool,
    ) -> Blocks:
        """Move an effector through points at times, and wait."""
        return several(self, [chainName], space, path, axisMask, durations, isAbsolute)

    return several, one


def _reactive(size: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return the methods for several effectors and for one, by the size of a point."""

    def several(
        self: "Cartesian",
        names: Names,
        spaces: Value,
        points: Value,
        fractionMaxSpeed: float,
        axisMask: Value,
    ) -> None:
        """Move effectors to points; do not wait."""
        self._lead(names, spaces, points, fractionMaxSpeed, axisMask, size)

    def one(
        self: "Cartesian",
        chainName: str,
        space: int,
        point: Value,
        fractionMaxSpeed: float,
        axisMask: int,
    ) -> None:
        """Move an effector to a point; do not wait."""
        several(self, [chainName], space, point, fractionMaxSpeed, axisMask)

    return several, one


class Cartesian(ALService):
    """Methods of ALMotion about poses and balance."""

    _kinematics = SharedPart(Kinematics)

    def getPosition(self, name: str, space: int, useSensorValues: bool) -> list[float]:
        """Return x, y, z, wx, wy, wz of a part, in m and rad."""
        return six_of(self._pose(name, space, measured=useSensorValues))

    def getTransform(self, name: str, space: int, useSensorValues: bool) -> list[float]:
        """Return the pose of a part as a 4 x 4 matrix, row by row."""
        pose = self._pose(name, space, measured=useSensorValues)
        return [float(x) for x in pose.homogeneous.ravel()]

    def getMass(self, pName: str) -> float:
        """Return the mass of a joint's link, of a chain, or of the robot, in kg."""
        return sum(link.mass for link in self._links(pName))

    def getCOM(self, pName: str, pSpace: int, pUseSensorValues: bool) -> list[float]:
        """Return the centre of mass of a part, in m."""
        q = self._kinematics.angles(measured=pUseSensorValues)
        return list(map(float, self._kinematics.centre(self._links(pName), pSpace, q)))

    def getSupportPolygon(self, frame: int, useSensorValues: bool) -> list[list[float]]:
        """Return the convex hull of the soles, x and y in m."""
        return self._kinematics.support(
            frame, self._kinematics.angles(measured=useSensorValues)
        )

    positionInterpolations, positionInterpolation = _timed(6)
    transformInterpolations, transformInterpolation = _timed(16)
    setPositions, setPosition = _reactive(6)
    setTransforms, setTransform = _reactive(16)

    def changePosition(
        self,
        effectorName: str,
        space: int,
        positionChange: Value,
        fractionMaxSpeed: float,
        axisMask: int,
    ) -> None:
        """Move an effector by a change of its position; do not wait."""
        change = [number(one) for one in _checked(positionChange, 6)]
        now = six_of(self._pose(effectorName, space, measured=False))
        goal = [a + b for a, b in zip(now, change, strict=True)]
        self._lead([effectorName], space, goal, fractionMaxSpeed, axisMask, 6)

    def changeTransform(
        self,
        chainName: str,
        space: int,
        transform: Value,
        fractionMaxSpeed: float,
        axisMask: int,
    ) -> None:
        """Move an effector by a change of its pose; do not wait."""
        now = self._pose(chainName, space, measured=False)
        goal = now * _pose_of(_checked(transform, 16))
        flat = [float(x) for x in goal.homogeneous.ravel()]
        self._lead([chainName], space, flat, fractionMaxSpeed, axisMask, 16)

    # -- whole body: both feet stay fixed ----------------------------------------------

    def wbFootState(self, stateName: str, supportLeg: str) -> None:
        """Accept fixed feet; refuse a sliding or free foot."""
        known("Name", stateName, ("Fixed", "Plane", "Free"), "this call")
        known("Name", supportLeg, LEGS, "this call")
        if stateName == "Free":
            raise NotSimulated("a foot that leaves the ground")
        if stateName == "Plane":
            raise NotSimulated("a foot that slides on the ground")

    def wbEnableBalanceConstraint(self, isEnable: bool, supportLeg: str) -> None:
        """Store the switch; balance is not controlled here."""
        del isEnable
        known("Name", supportLeg, LEGS, "this call")
        self._client.pretended["ALMotion.wbEnableBalanceConstraint"] += 1

    def wbGoToBalance(self, supportLeg: str, duration: float) -> Blocks:
        """Move the torso between the feet, and wait; refuse one leg."""
        known("Name", supportLeg, LEGS, "this call")
        if supportLeg != "Legs":
            raise NotSimulated("standing on one leg")
        now = six_of(self._pose("Torso", 2, measured=False))
        return self._follow(
            ["Torso"], 2, [now[0], 0.0, *now[2:]], 2, duration, 6, absolute=True
        )

    def wbGoToBalanceWithSpeed(
        self, supportLeg: str, fractionMaxSpeed: float
    ) -> Blocks:
        """Do as `wbGoToBalance`, with a fraction of the maximum speed."""
        fraction = check_fraction(fractionMaxSpeed)
        going = self.wbGoToBalance(supportLeg, SHIFT_S / fraction)
        return answered(going, lambda done: not failed(done))

    def wbEnableEffectorControl(self, effectorName: str, isEnabled: bool) -> None:
        """Refuse: whole-body control of effectors is not available."""
        if isEnabled:
            raise NotSimulated(
                f"control of {effectorName} by the whole body",
                "Use setPositions for an arm or the head.",
            )

    # -- internals ---------------------------------------------------------------------

    def _pose(self, name: str, frame: int, *, measured: bool) -> pin.SE3:
        with self._served.access():
            return self._kinematics.pose(
                name, frame, self._kinematics.angles(measured=measured)
            )

    def _each(self, what: str, given: Any, n: int) -> list[int]:
        return [whole(x) for x in self._parts.body.spread(what, numbers(given), n)]

    def _links(self, name: str) -> list[Link]:
        """Return the links of a joint, a chain, the torso, or the robot."""
        robot = self._served.robot
        if name == "Torso":
            return [x for x in robot.links if x.name == robot.base_link]
        is_whole = name in WHOLE
        return self._kinematics.links(
            None if is_whole else self._parts.body.joints([name])
        )

    def _follow(
        self,
        names: list[str],
        frames: Any,
        paths: Any,
        masks: Any,
        times: Any,
        size: int,
        absolute: bool,
    ) -> Blocks:
        n = len(names)
        frame_of, mask_of = (
            self._each("frames", frames, n),
            self._each("masks", masks, n),
        )
        goals = [
            _path(name, points, then, size)
            for name, points, then in zip(
                names, _spread(paths, n), _spread_times(times, n), strict=True
            )
        ]
        if not goals:
            return ended()
        joints: dict[str, tuple[list[float], list[float]]] = {}
        with self._served.access():
            q = self._kinematics.angles(measured=False)
            ways = [
                path_through(
                    self._kinematics.pose(name, frame, q), points, then, size, absolute
                )
                for name, frame, (points, then) in zip(
                    names, frame_of, goals, strict=True
                )
            ]
            for time_s, i in knots(names, ways):
                found = self._kinematics.solve(
                    names[i], frame_of[i], pose_at(ways[i], time_s), mask_of[i], q
                )
                for joint, angle in found.items():
                    q[self._kinematics.robot.joint_index(joint)] = angle
                    way = joints.setdefault(joint, ([], []))
                    way[0].append(time_s)
                    way[1].append(angle)

        def plan(start: Mapping[str, float]) -> dict[str, Timed]:
            return {j: through(start[j], then, at) for j, (then, at) in joints.items()}

        task = self._parts.motion.begin(
            self._client.name, "positionInterpolations", [*joints], plan
        )
        return task.future

    def _lead(
        self,
        names: list[str],
        frames: Any,
        goals: Any,
        fraction: float,
        masks: Any,
        size: int,
    ) -> None:
        check_fraction(fraction)
        n = len(names)
        frame_of, mask_of = (
            self._each("spaces", frames, n),
            self._each("mask", masks, n),
        )
        points = [goals] if n == 1 and not isinstance(goals[0], list) else goals
        if len(points) != n:
            raise BadInput(
                f"{n} effectors have {len(points)} positions; give one each."
            )
        with self._served.access():
            q = self._kinematics.angles(measured=False)
            targets: dict[str, tuple[float, float]] = {}
            for name, frame, mask, values in zip(
                names, frame_of, mask_of, points, strict=True
            ):
                flat = [number(x) for x in _checked(values, size)]
                goal = of_six(flat) if size == 6 else _pose_of(flat)
                found = self._kinematics.solve(name, frame, goal, mask, q)
                targets |= self._at_once(found, q, fraction)
            self._parts.motion.aim(self._client.name, targets)

    def _at_once(
        self, goals: Mapping[str, float], q: FloatArray, fraction: float
    ) -> dict[str, tuple[float, float]]:
        """Return goals with fractions of the maximum speeds, to arrive together.

        The slowest joint has the requested fraction. Joints that arrived at different
        times could make the robot fall while its torso moves.
        """
        robot = self._served.robot
        fastest_s: dict[str, float] = {}
        for joint, goal in goals.items():
            i = robot.joint_index(joint)
            fastest_s[joint] = abs(goal - float(q[i])) / robot.joints[i].max_velocity
        longest_s = max(fastest_s.values()) or 1.0
        return {
            joint: (goal, max(fraction * fastest_s[joint] / longest_s, MIN_FRACTION))
            for joint, goal in goals.items()
        }


def _spread(paths: Any, n: int) -> list[Any]:
    """Return one list of points per effector, from any nesting for one effector."""
    if not isinstance(paths, list) or not paths:
        raise BadInput("paths are not lists of points.")
    if n == 1:
        if not isinstance(paths[0], list):
            return [[paths]]
        return paths if paths[0] and isinstance(paths[0][0], list) else [paths]
    if len(paths) != n:
        raise BadInput(f"{n} effectors have {len(paths)} paths; give one each.")
    return [p if p and isinstance(p[0], list) else [p] for p in paths]


def _spread_times(times: Any, n: int) -> list[Any]:
    if not isinstance(times, list) or not times or not isinstance(times[0], list):
        return [times if isinstance(times, list) else [times]] * n
    return items(times, {n}, f"{n} lists of times, one per effector")


def _path(
    name: str, points: Any, times: Any, size: int
) -> tuple[list[pin.SE3], list[float]]:
    then = [number(t) for t in times]
    if not isinstance(points, list) or len(points) != len(then):
        raise BadInput(f"{name} has {len(points)} points and {len(then)} times.")
    check_times(name, then)
    flat = [[number(x) for x in _checked(point, size)] for point in points]
    return [of_six(p) if size == 6 else _pose_of(p) for p in flat], then


def _checked(values: Any, size: int) -> list[Any]:
    if size == 6:
        return items(values, {6}, "a point of 6 numbers")
    return items(values, {12, 16}, "a transform of 12 or 16 numbers")


def _pose_of(values: list[Any]) -> pin.SE3:
    rows = np.array([number(x) for x in values[:12]]).reshape(3, 4)
    rotation = rows[:, :3]
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-2):
        raise BadInput("the first three columns of a transform are not a rotation.")
    u, _, v = np.linalg.svd(rotation)
    return pin.SE3(u @ v, rows[:, 3].copy())
