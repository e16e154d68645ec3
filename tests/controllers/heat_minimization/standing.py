"""Standing problems of the NAO, and a robot of springs on rigid ground."""

import dataclasses

import numpy as np
from scipy.linalg import null_space

from nao_testbed.controllers import Observation
from nao_testbed.controllers.heat_minimization.standing_problem import (
    StandingProblem,
    build_standing_problem,
    joule_loss,
    sole_normals,
    sole_points,
)
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from tests.controllers.conftest import make_observation

UP = np.array((0.0, 0.0, 1.0))


def standing_problem(
    robot: Robot,
    q: FloatArray | None = None,
    up: FloatArray = UP,
    friction: float = 0.5,
    feet: tuple[str, ...] | None = None,
) -> StandingProblem:
    """Return the problem of a robot standing on its soles, or on some of them."""
    points = sole_points(robot)
    dynamics = Dynamics(robot, points)
    dynamics.update(robot.posture("PoseInit").angles if q is None else q)
    on = [k for k, p in enumerate(points) if feet is None or p.effector in feet]
    return build_standing_problem(
        dynamics,
        robot,
        up / np.linalg.norm(up),
        np.array(on, dtype=np.intp),
        loss=joule_loss(robot),
        friction=friction,
    )


def drawn_problem(robot: Robot, seed: int, friction: float) -> StandingProblem:
    """Return a random posture with bent legs, tilted soles and random weights."""
    rng = np.random.default_rng(seed)
    posture = ("Stand", "PoseInit", "Crouch", "StandZero")[rng.integers(4)]
    q = robot.posture(posture).angles.copy()
    legs = [robot.joint_index(name) for name in robot.leg_joints]
    q[legs] += rng.uniform(-0.06, 0.06, len(legs))
    up = np.append(rng.uniform(-0.12, 0.12, 2), 1.0)
    up /= np.linalg.norm(up)
    points = sole_points(robot)
    dynamics = Dynamics(robot, points)
    dynamics.update(q)
    foot = np.array([robot.feet.index(p.effector) for p in points])
    loss = joule_loss(robot)
    is_hot = rng.random(len(loss)) < 0.2
    return build_standing_problem(
        dynamics,
        robot,
        up,
        np.arange(len(points)),
        loss=np.where(is_hot, rng.uniform(1.0, 10.0, len(loss)), 1.0) * loss,
        friction=friction,
        normals=sole_normals(dynamics.point_positions, foot, up),
    )


def upright(robot: Robot, posture: str) -> FloatArray:
    """Return the vertical of a robot in a posture on level ground, base frame."""
    points = sole_points(robot)
    dynamics = Dynamics(robot, points)
    dynamics.update(robot.posture(posture).angles)
    foot = np.array([robot.feet.index(p.effector) for p in points])
    normals = sole_normals(dynamics.point_positions, foot, UP)
    return np.asarray(normals.mean(axis=0) / np.linalg.norm(normals.mean(axis=0)))


class SpringRobot:
    """Robot whose joints are springs and whose soles stick; all else is rigid.

    The fixed soles leave the leg joints only the small motions N z. In equilibrium the
    torques kp (s + δ - N z) do the same work along each of them as any torques that
    support the robot.
    """

    def __init__(
        self,
        robot: Robot,
        misalignment: FloatArray,
        posture: str = "PoseInit",
        up: FloatArray = UP,
    ) -> None:
        self.robot = robot
        self.misalignment = misalignment
        self.problem = problem = standing_problem(
            robot, robot.posture(posture).angles, up
        )
        legs = [robot.joint_index(name) for name in robot.leg_joints]
        self._motors = np.unique(robot.servo_of_joint[legs])
        inner = problem.sharing @ problem.contact_map @ null_space(problem.base_map)
        inner = inner[self._motors]
        self._free = null_space(inner.T)  # (leg motors, k): motions with fixed soles
        balanced, *_ = np.linalg.lstsq(problem.base_map, problem.weight)
        effort = problem.effort(np.asarray(balanced, dtype=np.float64).reshape(-1, 3))
        self._carrying = problem.motor_effort(effort)[self._motors]
        self._kp = 150.0
        self.still = make_observation(robot, posture, up=tuple(up))
        self._constant = np.array([m.one_node.torque_constant for m in robot.motors])

    def motor_effort(self, shift: FloatArray) -> FloatArray:
        """Return the torques of all motors, (n_motors,), with shifted set-points."""
        lead = [self.robot.joint_index(m.joints[0]) for m in self.robot.motors]
        wound = self._kp * (shift + self.misalignment)[lead][self._motors]
        N = self._free
        T = np.zeros(len(self.robot.motors))
        T[self._motors] = wound - N @ (N.T @ (wound - self._carrying))
        return T

    def observe(
        self, time_s: float, shift: FloatArray, **changes: object
    ) -> Observation:
        seen = {
            "time_s": time_s,
            "target": self.still.target + shift,
            "current": self.motor_effort(shift) / self._constant,
            **changes,
        }
        return dataclasses.replace(self.still, **seen)
