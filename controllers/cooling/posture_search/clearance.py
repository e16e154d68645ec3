"""How far the links of a robot are from each other, by the shapes of its URDF.

The shapes are boxes, balls and cylinders that overlap where links join, so links of one
limb that are few joints apart are left to the stops of their joints. Of the others
those pairs are watched that are apart in the wanted posture, and near.
"""

from itertools import combinations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from models import Robot

FloatArray = NDArray[np.float64]

OWN_LIMB = 3
"""Links with at most so many joints between them in one limb are not watched: so many
make a hip."""
NEAR_M = 0.08
"""Pairs farther apart than this in the wanted posture are not watched, in m."""


class Clearance:
    """Distances between links; `at` answers for joint angles."""

    def __init__(self, robot: Robot, wanted: FloatArray) -> None:
        """Choose the pairs that are apart, and near, at the `wanted` angles."""
        self._model = pin.buildModelFromUrdf(
            str(robot.urdf), pin.JointModelFreeFlyer(), mimic=False
        )
        self._data = self._model.createData()
        self._iq = np.array(
            [self._model.idx_qs[self._model.getJointId(n)] for n in robot.joint_names]
        )
        self._q: FloatArray = pin.neutral(self._model)
        self._shapes = pin.buildGeomFromUrdf(
            self._model, str(robot.urdf), pin.GeometryType.COLLISION
        )
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
        """The watched pairs in words."""

    def at(self, q: FloatArray) -> FloatArray:
        """Return (n_pairs,) distances in m at (n_joints,) angles in rad.

        Shapes that overlap have a negative one.
        """
        self._q[self._iq] = q
        pin.updateGeometryPlacements(
            self._model, self._data, self._shapes, self._distances, self._q
        )
        pin.computeDistances(self._shapes, self._distances)
        return np.array([r.min_distance for r in self._distances.distanceResults])

    def _is_own_limb(self, one: int, other: int) -> bool:
        """Whether one joint carries the other, with at most `OWN_LIMB` on the way."""
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
