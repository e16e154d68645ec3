"""Relative pose of the soles, the body above them, and distances of its links.

Each sole has its own frame: origin at the mean of its contact points, z off the ground,
x as close as possible to that of its link. All results are in the frame of the first
sole, which is the ground frame when all soles lie flat.

Distances of links come from the shapes of the URDF: boxes, balls and cylinders that
overlap where links join. Links of one limb with few joints between them are not
checked: their joint stops limit them. Of the other pairs, those near each other in the
desired posture without touching are watched.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull

from nao_testbed.controllers.heat_minimization.standing_problem import sole_points
from nao_testbed.controllers.stiffness.dynamics import (
    Dynamics,
    build_model,
    build_shapes,
)
from nao_testbed.controllers.stiffness.kernels import IndexArray
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class SolePlace:
    """Pose of another sole in the frame of the first."""

    position: FloatArray
    """(3,) in m; the last element is the height above the ground."""
    tilt: FloatArray
    """(2,) components of its normal along the ground: 0 for a flat sole."""
    turn: float
    """Angle about the normal, in rad."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StandingBody:
    """Posture on its soles."""

    soles: tuple[SolePlace, ...]
    """All soles except the first."""
    up: FloatArray
    """(3,) unit vector against gravity, base frame."""
    normal: FloatArray
    """(3,) unit normal of the ground, base frame; `up` on level ground."""
    corners: FloatArray
    """(n_points, 2) contact points on the ground, in m."""
    com: FloatArray
    """(2,) plumb-line projection of the centre of mass on the ground, in m."""

    def slope_deg(self, up: FloatArray) -> float:
        """Return the slope of the ground, rising towards the front, in degrees.

        `up` (3,) is the measured direction against gravity, base frame.
        """
        ahead = np.array((1.0, 0.0, 0.0)) - self.normal[0] * self.normal
        return float(np.rad2deg(np.arctan2(up @ ahead, up @ self.normal)))


class Stance:
    """Soles of one robot; `at` evaluates the configuration of `dynamics`."""

    def __init__(self, robot: Robot, dynamics: Dynamics, slope_deg: float) -> None:
        """Define a frame for each sole.

        Args:
            robot: robot with feet.
            dynamics: its points are the robot's `sole_points`, in their order.
            slope_deg: slope of the ground, rising towards the front of the robot.

        Raises:
            BadInput: the contact points of a foot do not span a sole.
        """
        self._dynamics = dynamics
        points = sole_points(robot)
        feet = [foot for foot in robot.feet if any(p.effector == foot for p in points)]
        self._members = [
            np.array([k for k, p in enumerate(points) if p.effector == foot])
            for foot in feet
        ]
        self._links = [points[of_foot[0]].link for of_foot in self._members]
        self._local = [
            _sole_frame(foot, np.array([points[k].position for k in of_foot]))
            for foot, of_foot in zip(feet, self._members, strict=True)
        ]
        slope = np.deg2rad(slope_deg)
        self._forward, self._off = np.sin(slope), np.cos(slope)

    def at(self) -> StandingBody:
        """Return the pose of the body at the configuration of the dynamics."""
        dynamics = self._dynamics
        position = dynamics.point_positions
        frames = []
        for of_foot, link, axes in zip(
            self._members, self._links, self._local, strict=True
        ):
            centre = position[of_foot].mean(axis=0)
            turned = dynamics.link_rotation(link) @ axes
            if turned[:, 2] @ (dynamics.com - centre) < 0.0:  # the body is above
                turned = turned * (1.0, -1.0, -1.0)
            frames.append((centre, turned))
        origin, R = frames[0]  # R has the axes of the ground as columns
        soles = []
        for centre, R_other in frames[1:]:
            turn = R.T @ R_other
            soles.append(
                SolePlace(
                    position=R.T @ (centre - origin),
                    tilt=turn[:2, 2],
                    turn=float(np.arctan2(turn[1, 0], turn[0, 0])),
                )
            )
        normal = R[:, 2]
        ahead = np.array((1.0, 0.0, 0.0)) - normal[0] * normal
        length = float(np.linalg.norm(ahead))
        if length > 1e-6:  # a base that lies on its back has no front
            ahead /= length
        up = self._forward * ahead + self._off * normal
        up /= np.linalg.norm(up)
        from_ground = dynamics.com - origin
        fallen = from_ground - (normal @ from_ground) / (normal @ up) * up
        return StandingBody(
            soles=tuple(soles),
            up=up,
            normal=normal,
            corners=(position - origin) @ R[:, :2],
            com=fallen @ R[:, :2],
        )


def hull_order(corners: FloatArray) -> IndexArray:
    """Return the corners of the convex hull of (n, 2) points, counter-clockwise."""
    return np.asarray(ConvexHull(corners).vertices, dtype=np.intp)


def distances_to_edges(
    corners: FloatArray, order: IndexArray, point: FloatArray
) -> FloatArray:
    """Return the distance of a point inside each edge of a polygon, in m.

    Args:
        corners: (n, 2) in m.
        order: (m,) the polygon, counter-clockwise.
        point: (2,) in m.

    Returns:
        (m,) positive inside.
    """
    a = corners[order]
    edge = np.roll(a, -1, axis=0) - a
    edge /= np.linalg.norm(edge, axis=1, keepdims=True)
    to = point - a
    return np.asarray(edge[:, 0] * to[:, 1] - edge[:, 1] * to[:, 0])


def _sole_frame(foot: str, points: FloatArray) -> FloatArray:
    """Return the axes of a sole as columns, (3, 3), in its link's frame.

    The sign of z is undetermined: z may point into the ground.
    """
    spread = points - points.mean(axis=0)
    _, widths, directions = np.linalg.svd(spread)
    if len(points) < 3 or widths[1] < 1e-3:
        raise BadInput(
            f"the contact points of {foot} lie on a line or are fewer than three; give "
            "three that are not on a line."
        )
    z = directions[2]
    ahead = np.eye(3)[0 if abs(z[0]) < 0.9 else 1]  # the link's x, unless that is up
    x = ahead - (z @ ahead) * z
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z))


OWN_LIMB = 3
"""Maximum number of joints between unwatched links of one limb: that of a hip."""
NEAR_M = 0.08
"""Maximum distance in the desired posture of a watched pair, in m."""


class Clearance:
    """Distances between links; `at` evaluates joint angles."""

    def __init__(self, robot: Robot, wanted: FloatArray) -> None:
        """Choose the pairs that are near without touching at the `wanted` angles."""
        self._model = build_model(robot)
        self._data = self._model.createData()
        self._iq = np.array(
            [self._model.idx_qs[self._model.getJointId(n)] for n in robot.joint_names]
        )
        self._q: FloatArray = pin.neutral(self._model)
        self._shapes = build_shapes(robot, self._model)
        parents = [shape.parentJoint for shape in self._shapes.geometryObjects]
        apart = [
            (i, k)
            for i, k in combinations(range(len(parents)), 2)
            if not self._is_own_limb(parents[i], parents[k])
        ]
        self._watch(apart)
        self.wanted = self.at(wanted)
        """(n_pairs,) distances at the wanted angles, in m."""
        is_near = (self.wanted > 0.0) & (self.wanted < NEAR_M)
        self._watch([pair for pair, near in zip(apart, is_near, strict=True) if near])
        self.wanted = self.wanted[is_near]
        link_of = [self._link(shape) for shape in self._shapes.geometryObjects]
        self.names = tuple(f"{link_of[i]} and {link_of[k]}" for i, k in self._pairs)
        """Names of the watched pairs."""

    def at(self, q: FloatArray) -> FloatArray:
        """Return (n_pairs,) distances in m at (n_joints,) angles in rad.

        Overlapping shapes have a negative distance.
        """
        self._q[self._iq] = q
        pin.updateGeometryPlacements(
            self._model, self._data, self._shapes, self._distances, self._q
        )
        pin.computeDistances(self._shapes, self._distances)
        return np.array([r.min_distance for r in self._distances.distanceResults])

    def _is_own_limb(self, one: int, other: int) -> bool:
        """Return True for links of one limb with at most `OWN_LIMB` joints between."""
        supports = self._model.supports
        for upper, lower in ((one, other), (other, one)):
            chain = supports[lower].tolist()
            if upper in chain:
                return len(chain) - 1 - chain.index(upper) <= OWN_LIMB
        return False

    def _watch(self, pairs: list[tuple[int, int]]) -> None:
        self._pairs = pairs
        self._shapes.removeAllCollisionPairs()
        for i, k in pairs:
            self._shapes.addCollisionPair(pin.CollisionPair(i, k))
        self._distances = self._shapes.createData()

    def _link(self, shape: pin.GeometryObject) -> str:
        return str(self._model.frames[shape.parentFrame].name)
