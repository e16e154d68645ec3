"""Static balance of a robot with flat soles, by Pinocchio without an engine.

The ground is at the soles: its normal is the mean of the soles' normals. It carries
the robot at the corners of the soles and, where these are close to it, at the buttocks.
A pose can be held when forces f in their friction cones exist there with

    g(q) - Σ Jᵀ f = S τ,    |τ| ≤ share · limit;

the least such share is found by linear programming.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

from nao_testbed.models import Robot
from nao_testbed.models.files.csv_tables import read_table
from nao_testbed.models.load.forms import ShapeRow
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body.placement import rotation_to_normal
from tests.sim.engine.oracle import Oracle

EDGES = 8
"""Edges of the pyramid inscribed in a friction cone."""
SEATED = 5e-3  # m; the listed points of the published Sit are 4 mm out of one plane


@dataclass(frozen=True, kw_only=True)
class Support:
    """A possible contact point of the ground and a link, in the world."""

    link: str
    point: FloatArray
    """(3,) in m."""


class Balance:
    """Poses of one robot on its soles; call `pose` first."""

    def __init__(self, robot: Robot, friction: float = 0.5) -> None:
        self.robot = robot
        self._friction = friction
        self._oracle = Oracle(robot)
        table = read_table(robot.folder / "shapes.csv", ShapeRow, "", "shape")
        solid = [row for row in table if row.role != "visual"]
        self._sole = next(row for row in solid if row.link == "l_ankle")
        self._hip = next(row for row in solid if row.link == "LHip")
        self._feet = ("l_ankle", "r_ankle")
        self._hips = ("LHip", "RHip")
        self.supports: list[Support] = []
        self.com: FloatArray = np.zeros(3)

    def pose(self, joints: FloatArray) -> None:
        """Stand the robot on its soles, (n_joints,) in rad."""
        oracle = self._oracle
        upright = np.array([0.0, 0.0, 0.0, 1.0])
        oracle.place(oracle.configuration(joints, np.zeros(3), upright))
        normals = [oracle.link_pose(foot)[1][:, 2] for foot in self._feet]
        up: FloatArray = np.sum(normals, axis=0)
        up /= np.linalg.norm(up)
        turn = rotation_to_normal(up, np.array([0.0, 0.0, 1.0]))
        self._q = oracle.configuration(joints, np.zeros(3), turn)
        oracle.place(self._q)
        supports = [s for foot in self._feet for s in self._corners(foot)]
        ground = float(np.mean([s.point[2] for s in supports]))
        for hip in self._hips:
            lowest = self._lowest_of_hip(hip)
            if lowest.point[2] - ground < SEATED:
                supports.append(lowest)
        self.supports = supports
        self.com = np.array(
            pin.centerOfMass(oracle.model, oracle.data, self._q), dtype=np.float64
        )

    @property
    def is_seated(self) -> bool:
        """Return True if the buttocks are on the ground."""
        return any(support.link in self._hips for support in self.supports)

    def margin(self) -> float:
        """Return the distance of the centre of mass inside its support, in m."""
        points = np.array([support.point[:2] for support in self.supports])
        equations = ConvexHull(points).equations
        return float(-np.max(equations[:, :2] @ self.com[:2] + equations[:, 2]))

    def torque_share(self) -> float:
        """Return the minimum of the largest |τ| / limit; inf if infeasible."""
        robot, oracle = self.robot, self._oracle
        angles = 2.0 * np.pi * np.arange(EDGES) / EDGES
        mu = self._friction
        up = np.ones(EDGES)
        rays = np.stack([mu * np.cos(angles), mu * np.sin(angles), up], axis=1)
        held, gravity = oracle.static_torques(self._q, ())
        base, columns = [], []
        for support in self.supports:
            for ray in rays:
                contact = [(support.link, support.point, ray)]
                wrench, tau = oracle.static_torques(self._q, contact)
                base.append(wrench - held)
                columns.append(tau - gravity)
        motor = np.zeros((len(robot.motors), len(robot.joints)))
        motor[robot.servo_of_joint, np.arange(len(robot.joints))] = 1.0
        limit = np.array(
            [robot.effort_limit[robot.joint_index(m.name)] for m in robot.motors]
        )
        A = motor @ np.array(columns).T
        b = motor @ gravity
        n = A.shape[1]
        found = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=np.block([[A, -limit[:, None]], [-A, -limit[:, None]]]),
            b_ub=np.append(-b, b),
            A_eq=np.append(np.array(base).T, np.zeros((6, 1)), axis=1),
            b_eq=-held,
        )
        return np.inf if found.x is None else float(found.x[-1])

    def _corners(self, foot: str) -> list[Support]:
        row, (p, R) = self._sole, self._oracle.link_pose(foot)
        side = 1.0 if foot == "l_ankle" else -1.0
        half = np.array([row.size_x or 0.0, row.size_y or 0.0, row.size_z or 0.0]) / 2.0
        centre = np.array([row.x, side * row.y, row.z])
        signs = [np.array([x, y, -1.0]) for x in (-1, 1) for y in (-1, 1)]
        return [Support(link=foot, point=p + R @ (centre + half * s)) for s in signs]

    def _lowest_of_hip(self, hip: str) -> Support:
        row, (p, R) = self._hip, self._oracle.link_pose(hip)
        centre = p + R @ np.array([row.x, row.y, row.z])
        return Support(link=hip, point=centre - np.array([0.0, 0.0, row.radius or 0.0]))
