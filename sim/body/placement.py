"""Placement of a robot at rest on the ground in a posture.

The contact candidates of a body span a convex hull. The body rests on the face of the
hull above which its centre of mass lies. Of several such faces, the one whose corners
belong to the effectors of the posture is preferred, then the most upright one.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy  # its parts, which are slow to import, load at their first use
from numpy.typing import ArrayLike

from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine import make_engine
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.world import WorldCfg

COPLANAR = 2e-3
"""Largest distance in m from a face at which a point counts as one of its corners."""


@dataclass(frozen=True, kw_only=True)
class Rest:
    """Resting face, in the base frame."""

    normal: FloatArray
    """(3,) unit vector away from the ground."""
    effectors: frozenset[str]
    """Body parts that touch the ground."""


def resting_faces(robot: Robot, points: FloatArray, com: FloatArray) -> list[Rest]:
    """Return the faces of the candidates' hull on which the body can rest.

    Args:
        robot: robot with these contact points.
        points: (n_contact_points, 3) in the base frame, in m.
        com: (3,) centre of mass in the base frame, in m.
    """
    effectors = tuple(candidate.effector for candidate in robot.contact_points)
    return list(_resting_faces(effectors, points.tobytes(), com.tobytes()))


@lru_cache(maxsize=64)  # of a few robots in a few postures, a tenth of the start each
def _resting_faces(
    effectors: tuple[str, ...], places: bytes, of_com: bytes
) -> list[Rest]:
    points, com = np.frombuffer(places).reshape(-1, 3), np.frombuffer(of_com)
    try:
        hull = scipy.spatial.ConvexHull(points)
    except scipy.spatial.QhullError:  # all points in one plane, for example two soles
        hull = scipy.spatial.ConvexHull([*points, com])
    rests = []
    for equation in np.unique(hull.equations.round(9), axis=0):
        outward, offset = equation[:3], equation[3]
        distance = -(points @ outward + offset)
        touching = np.flatnonzero(distance < COPLANAR)
        if _is_above(points[touching], com, outward):
            names = frozenset(effectors[i] for i in touching)
            rests.append(Rest(normal=-outward, effectors=names))
    return rests


def resting_normal(
    robot: Robot, posture: Posture, points: FloatArray, com: FloatArray
) -> FloatArray:
    """Return the ground's normal (3,) in the base frame for a posture at rest.

    Points and com as in `resting_faces`. Without a resting face the base is upright.
    """
    rests = resting_faces(robot, points, com)
    if not rests:
        return np.array([0.0, 0.0, 1.0])
    listed = set(posture.effectors)

    def preference(rest: Rest) -> tuple[int, float]:
        return (-len(listed.symmetric_difference(rest.effectors)), rest.normal[2])

    return max(rests, key=preference).normal


def _is_above(corners: FloatArray, com: FloatArray, outward: FloatArray) -> bool:
    """Return True if the centre of mass, projected along the normal, is in the face."""
    if len(corners) < 3:
        return False
    u = np.linalg.svd(outward[None, :])[2][1:]  # (2, 3) basis of the plane
    flat, centre = corners @ u.T, com @ u.T
    if (centre < flat.min(0) - COPLANAR).any() or (
        centre > flat.max(0) + COPLANAR
    ).any():
        return False  # without the cost of a hull
    try:
        hull = scipy.spatial.ConvexHull(flat)
    except scipy.spatial.QhullError:
        return False
    inside = hull.equations[:, :2] @ centre + hull.equations[:, 2]
    return bool((inside <= 0.0).all())


def rotation_to_normal(normal: FloatArray, ground_normal: FloatArray) -> FloatArray:
    """Return the quaternion x y z w that turns `normal` onto the ground's normal.

    The rotation is the shortest one: the robot keeps its heading.
    """
    axis = np.cross(normal, ground_normal)
    quaternion = np.array([*axis, 1.0 + float(normal @ ground_normal)])
    if quaternion[3] < 1e-9:  # upside down: half a turn about x
        return np.array([1.0, 0.0, 0.0, 0.0])
    quaternion /= np.linalg.norm(quaternion)
    return quaternion


def place_at_rest(engine: Engine, robot: Robot, posture: Posture) -> None:
    """Put a robot into a posture, at rest on the ground without a gap."""
    q = posture.angles
    engine.place(q, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    frames = {link.name: engine.link_pose(link.name) for link in robot.links}

    def in_base(link: str, position: ArrayLike) -> FloatArray:
        p, R = frames[link]
        return np.asarray(p + R @ np.array(position))

    points = np.array([in_base(c.link, c.position) for c in robot.contact_points])
    parts: list[tuple[float, str, ArrayLike]]
    parts = [(link.mass, link.name, link.com) for link in robot.links]
    parts += [
        (load.mass_kg, load.link, load.place_on(robot)) for load in engine.cfg.payloads
    ]
    masses = np.array([mass for mass, _, _ in parts])
    centres = np.array([in_base(link, place) for _, link, place in parts])
    com = masses @ centres / masses.sum()
    up = engine.ground_normal
    quaternion = rotation_to_normal(resting_normal(robot, posture, points, com), up)
    engine.place(q, 0.5 * up, quaternion)
    engine.place(q, (0.5 - engine.clearance()) * up, quaternion)


def check_clear(engine: Engine) -> None:
    """Check that a placed robot overlaps no obstacle.

    Raises:
        BadInput: a link overlaps an obstacle. The message names the deepest overlap;
            among equally deep ones (to 1 µm) the last by name, because rounding differs
            between engines.
    """
    overlaps = engine.overlaps()
    if overlaps:
        (obstacle, link), depth = max(
            overlaps.items(), key=lambda item: (round(item[1], 6), item[0])
        )
        raise BadInput(
            f"obstacle {obstacle!r} overlaps the robot at the start: {link} is "
            f"{1000.0 * depth:.1f} mm inside it; move it away from the robot by at "
            "least that, or make it smaller."
        )


def check_start(robot: Robot, world: WorldCfg, posture: str) -> None:
    """Check that a robot in a posture overlaps no obstacle at the start.

    Raises:
        BadInput: a link overlaps an obstacle.
    """
    if not world.obstacles:
        return
    engine = make_engine(robot, replace(world, gui=False))
    try:
        place_at_rest(engine, robot, robot.posture(posture))
        check_clear(engine)
    finally:
        engine.close()
