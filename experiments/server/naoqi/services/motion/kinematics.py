"""Kinematics of the body with Pinocchio, and joint angles for requested poses.

Frames [naoqi-api]: 0 the torso; 1 the world; 2 the robot, the mean of the feet on the
ground, z up. The pose of the torso in the world is the simulator's true pose, since
there is no odometry of a walk. At other joint angles it is computed with the feet at
their place. A rotation is wx, wy, wz with R = Rz(wz) Ry(wy) Rx(wx).

Inverse kinematics is damped least squares, with joints kept in their ranges:

    dq = Jᵀ (J Jᵀ + λ² I)⁻¹ e

e is the error of the axes in the mask, in the requested frame.
"""

from collections.abc import Sequence

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull

from nao_testbed.controllers.stiffness.dynamics import build_model
from nao_testbed.experiments.server.naoqi.motion.poses import between, rpy_of, yaw_of
from nao_testbed.experiments.server.naoqi.naoqi_client import Parts
from nao_testbed.models import BadInput, Link, Sonar, UnknownName, VideoCamera
from nao_testbed.models.values import FloatArray

TORSO, WORLD, ROBOT = 0, 1, 2
EFFECTORS = {
    "Head": "HeadPitch",
    "LArm": "l_gripper",
    "RArm": "r_gripper",
    "LLeg": "l_ankle",
    "RLeg": "r_ankle",
}
"""Effector to the joint or link of its frame; that of a leg is on the sole below."""
DAMPING = 0.02
MAX_STEPS = 60
LARGEST_STEP = 0.2
"""Maximum step of a joint, in rad."""
CLOSE = 1e-4
"""Tolerance of a solution, in m or rad."""
NEAR_ENOUGH = 0.03
"""Maximum error in m or rad with which the torso moves to the nearest pose, with a
warning."""
HALVINGS = 6
"""Number of bisections of the torso's path to an unreachable pose."""
ALL_AXES = 63


class Kinematics:
    """Poses of one robot's parts."""

    def __init__(self, parts: Parts) -> None:
        """Build Pinocchio's model, with a frame for each part that programs name."""
        self._parts, self._served = parts, parts.served
        robot = self.robot = parts.served.robot
        model = self._model = build_model(robot)
        joints = {name: model.getFrameId(name, pin.JOINT) for name in robot.joint_names}
        links = {x.name: model.getFrameId(x.name, pin.BODY) for x in robot.links}
        self._frames = {"Torso": links[robot.base_link], **links, **joints}
        """Number of the frame of each part."""
        soles = [
            p.position[2] for p in robot.contact_points if p.effector in robot.feet
        ]
        sole = pin.SE3(np.eye(3), np.array([0.0, 0.0, min(soles, default=0.0)]))
        for name, real in EFFECTORS.items():
            if real in self._frames:
                is_leg = name.endswith("Leg")
                self._add_frame(name, real, sole if is_leg else pin.SE3.Identity())
        mounted: list[Sonar | VideoCamera] = [*robot.cameras, *robot.sonars]
        for one in mounted:
            turn, place = pin.rpy.rpyToMatrix(np.array(one.rpy)), np.array(one.position)
            self._add_frame(one.name, one.link, pin.SE3(turn, place))
        self._data = model.createData()
        ids = [model.getJointId(name) for name in robot.joint_names]
        self._iq = np.array([model.idx_qs[i] for i in ids])
        self._q: FloatArray = pin.neutral(model)
        self._driver = [robot.joint_index(joint.motor) for joint in robot.joints]
        """Joint that each joint follows: itself, or the leading one of its motor."""
        self._moves = np.zeros((model.nv, len(ids)))
        """(nv, n_joints) velocity of the model per velocity of a joint's motor."""
        for i, motor in enumerate(self._driver):
            followers = [j for j, one in enumerate(self._driver) if one == motor]
            self._moves[[model.idx_vs[ids[j]] for j in followers], i] = 1.0

    def _add_frame(self, name: str, on: str, place: pin.SE3) -> None:
        """Add a frame of a part at a place on a link or joint."""
        base = self._model.frames[self._frames[on]]
        self._frames[name] = self._model.addFrame(
            pin.Frame(name, base.parentJoint, base.placement * place, pin.OP_FRAME)
        )

    # -- poses --

    def angles(self, *, measured: bool) -> FloatArray:
        """Return all joint angles, measured or commanded, in rad."""
        served = self._served
        return np.array(served.seen.q if measured else served.commanded)

    def pose(self, name: str, frame: int, q: FloatArray) -> pin.SE3:
        """Return the pose of a joint, chain, link or Torso in a frame that exists."""
        return self._in_frame(frame, q) * self._in_torso(name, q)

    def base_in_world(self) -> pin.SE3:
        """Return the true pose of the torso in the world."""
        with self._served.access():
            truth = self._served.body.sim.truth()
        return pin.XYZQUATToSE3(np.r_[truth.base_position, truth.base_quaternion])

    def foot_in_world(self, leg: str) -> list[float]:
        """Return x, y in m and the yaw in rad of a foot."""
        pose = self.pose(leg, WORLD, self.angles(measured=True))
        x, y, _ = pose.translation
        return [float(x), float(y), yaw_of(pose.rotation)]

    def links(self, names: Sequence[str] | None) -> list[Link]:
        """Return the links behind joints; None: all."""
        joints = {joint.name: joint.link for joint in self.robot.joints}
        wanted = None if names is None else {joints[name] for name in names}
        return [x for x in self.robot.links if wanted is None or x.name in wanted]

    def centre(self, links: Sequence[Link], frame: int, q: FloatArray) -> FloatArray:
        """Return the centre of mass of links, (3,) in m."""
        places = [self._in_torso(x.name, q).act(np.array(x.com)) for x in links]
        middle = np.average(places, axis=0, weights=[x.mass for x in links])
        return self._in_frame(frame, q).act(middle)

    def support(self, frame: int, q: FloatArray) -> list[list[float]]:
        """Return the convex hull of both soles, x and y in m."""
        points = [
            self._in_frame(frame, q).act(
                self._in_torso(p.link, q).act(np.array(p.position))
            )
            for p in self.robot.contact_points
            if p.effector in self.robot.feet
        ]
        soles = np.array(points)[:, :2]
        return [soles[i].tolist() for i in ConvexHull(soles).vertices]

    # -- inverse kinematics --

    def solve(
        self, name: str, frame: int, target: pin.SE3, mask: int, q: FloatArray
    ) -> dict[str, float]:
        """Return joint angles in rad that bring an effector to a pose, or near it.

        An unreachable pose is clipped, like an angle: an arm or the head moves to the
        nearest pose found, and the torso as far along its path as both legs allow. Each
        case is counted as a warning.

        Args:
            name: Head, LArm, RArm or Torso; the torso moves over both feet.
            frame: frame of the target.
            target: target pose in that frame.
            mask: controlled axes.
            q: (n_joints,) start angles in rad.

        Raises:
            BadInput: the effector cannot be moved by a standing robot.
        """
        if name == "Torso":
            return self._solve_torso(frame, target, mask, q)
        if name not in {"Head", "LArm", "RArm"}:
            raise BadInput(
                f"{name} cannot be moved to a position while the robot stands; give "
                "Head, LArm, RArm or Torso."
            )
        joints = [j for j in self._parts.body.chains[name] if not j.endswith("Hand")]
        in_frame = self._in_frame(frame, q)
        wanted = in_frame.inverse() * target
        found, left = self._descend(
            joints, [(name, wanted, in_frame.rotation, mask)], q
        )
        if left > 10 * CLOSE:
            self._parts.motion.warn("a position was reached only approximately")
        return found

    def _solve_torso(
        self, frame: int, target: pin.SE3, mask: int, q: FloatArray
    ) -> dict[str, float]:
        if frame == TORSO:
            raise BadInput("the torso does not move in its own frame; give 1 or 2.")
        now = self.pose("Torso", frame, q)
        place, turn = now.translation.copy(), rpy_of(now.rotation)
        goal, goal_turn = target.translation, rpy_of(target.rotation)
        for i in range(3):
            if mask >> i & 1:
                place[i] = goal[i]
            if mask >> (i + 3) & 1:
                turn[i] = goal_turn[i]
        wanted = pin.SE3(pin.rpy.rpyToMatrix(turn), place)
        found, left = self._torso_at(wanted, now, q)
        if left > NEAR_ENOUGH:
            self._parts.motion.warn("the torso went only part of the way")
            inside, outside = 0.0, 1.0
            for _ in range(HALVINGS):
                part = 0.5 * (inside + outside)
                tried, left = self._torso_at(between(now, wanted, part), now, q)
                if left > NEAR_ENOUGH:
                    outside = part
                else:
                    inside, found = part, tried
            if inside == 0.0:
                return {j: float(q[self.robot.joint_index(j)]) for j in found}
        elif left > 10 * CLOSE:
            self._parts.motion.warn("a position was reached only approximately")
        return found

    def _torso_at(
        self, wanted: pin.SE3, now: pin.SE3, q: FloatArray
    ) -> tuple[dict[str, float], float]:
        """Return leg angles in rad for a pose of the torso, and the remaining error."""
        feet = [
            (leg, wanted.inverse() * now * self._in_torso(leg, q), np.eye(3), ALL_AXES)
            for leg in ("LLeg", "RLeg")
        ]
        joints = [*self._parts.body.chains["LLeg"], *self._parts.body.chains["RLeg"]]
        return self._descend(joints, feet, q)

    def _descend(
        self,
        joints: Sequence[str],
        goals: Sequence[tuple[str, pin.SE3, FloatArray, int]],
        q: FloatArray,
    ) -> tuple[dict[str, float], float]:
        """Return joint angles in rad, and the largest remaining error in m or rad."""
        robot, q = self.robot, q.copy()
        free = [robot.joint_index(joint) for joint in joints]
        if "RHipYawPitch" in joints:  # shares the motor of the left one
            free.remove(robot.joint_index("RHipYawPitch"))
        size = np.inf
        for _ in range(MAX_STEPS):
            errors, jacobians = [], []
            for name, wanted, turn, mask in goals:
                axes = [i for i in range(6) if mask >> i & 1]
                error, jacobian = self._error(name, wanted, turn, q, free)
                errors.append(error[axes])
                jacobians.append(jacobian[axes])
            e, J = np.concatenate(errors), np.vstack(jacobians)  # noqa: N806
            size = float(np.abs(e).max(initial=0.0))
            if size < CLOSE:
                break
            step = J.T @ np.linalg.solve(J @ J.T + DAMPING**2 * np.eye(len(e)), e)
            step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
            q[free] = np.clip(q[free] + step, robot.lower[free], robot.upper[free])
            q[:] = q[self._driver]
        return {joint: float(q[robot.joint_index(joint)]) for joint in joints}, size

    def _error(
        self,
        name: str,
        wanted: pin.SE3,
        turn: FloatArray,
        q: FloatArray,
        free: Sequence[int],
    ) -> tuple[FloatArray, FloatArray]:
        """Return e (6,) and J (6, n) of an effector, in the axes of a frame."""
        here = self._in_torso(name, q)
        rotation = wanted.rotation @ here.rotation.T
        e = np.concatenate([wanted.translation - here.translation, pin.log3(rotation)])
        J = pin.computeFrameJacobian(  # noqa: N806
            *(self._model, self._data, self._q, self._frames[name]),
            pin.LOCAL_WORLD_ALIGNED,
        )
        J = J @ self._moves[:, free]  # noqa: N806
        both = np.kron(np.eye(2), turn)
        return both @ e, both @ J

    # -- internals ---------------------------------------------------------------------

    def _in_torso(self, name: str, q: FloatArray) -> pin.SE3:
        if name not in self._frames:
            known = ["Torso", *EFFECTORS, *self.robot.joint_names]
            raise UnknownName("Part", name, known, "the robot's body")
        self._q[self._iq] = q
        pin.framesForwardKinematics(self._model, self._data, self._q)
        place: pin.SE3 = self._data.oMf[self._frames[name]]
        return place.copy()  # the next call overwrites the original

    def _in_frame(self, frame: int, q: FloatArray) -> pin.SE3:
        """Return the pose of the torso in a frame."""
        if frame == TORSO:
            return pin.SE3.Identity()
        if frame == WORLD:
            stands = self._in_frame(ROBOT, self.angles(measured=True))
            return self.base_in_world() * stands.inverse() * self._in_frame(ROBOT, q)
        if frame != ROBOT:
            raise BadInput(f"frame is {frame}; give 0 (torso), 1 (world) or 2 (robot).")
        feet = [self._in_torso(leg, q) for leg in ("LLeg", "RLeg")]
        up = feet[0].rotation[:, 2] + feet[1].rotation[:, 2]
        up /= np.linalg.norm(up)
        ahead = feet[0].rotation[:, 0] + feet[1].rotation[:, 0]
        ahead -= up * (up @ ahead)
        ahead /= np.linalg.norm(ahead)
        rotation = np.stack([ahead, np.cross(up, ahead), up], axis=1)
        middle = 0.5 * (feet[0].translation + feet[1].translation)
        return pin.SE3(rotation, middle).inverse()
