"""Check that the ankle gains can hold a standing robot against gravity.

Let the body above the ankles rotate rigidly by θ about the parallel ankle axes of the
standing legs. Its potential energy is

    V(θ) = 1/2 Σ kp θ² + m g h cos θ,    V''(0) = Σ kp - m g h,

with the mass m above the ankles and the height h of its centre of mass above the axes.
If V'' is negative, the set-point is unstable and the robot falls. If it is positive,
the robot may still fall, because knees and hips yield too. Gear friction is neglected;
it only delays the fall.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nao_testbed.controllers.stiffness.dynamics import Dynamics, ExternalLoad
from nao_testbed.models import Posture, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.body.placement import resting_faces, resting_normal
from nao_testbed.sim.engine.world import Payload, WorldCfg

COUNTS = {1: "one ankle holds", 2: "two ankles hold"}
ALONG = 0.7
"""Minimum cosine between the axis of a pitch joint and the lateral direction."""
PARALLEL = 0.98
"""Minimum cosine between two ankle axes that act as one."""
IN_LINE = 0.03
"""Maximum distance between such axes in m."""


@dataclass(frozen=True, kw_only=True)
class AnkleGains:
    """Gains of the standing ankles about one axis, and the gain needed by gravity."""

    direction: str
    """`pitch` or `roll`."""
    joints: tuple[str, ...]
    held: float
    """Sum of the gains kp in N·m/rad."""
    needed: float
    """Needed gain m g h in N·m/rad."""

    @property
    def falls(self) -> bool:
        """Return True if the gains are too small."""
        return self.held < self.needed

    def sentence(self, posture: str) -> str:
        """Return a sentence that explains why a robot in a posture falls."""
        return (
            f"posture {posture!r}: {COUNTS[len(self.joints)]} {self.held:.3g} N·m/rad "
            f"in {self.direction} ({', '.join(self.joints)}), gravity needs "
            f"{self.needed:.3g}: this robot stands only under a controller or with "
            "higher gains (kp in joints.csv)."
        )


def ankle_gains(
    robot: Robot,
    posture: Posture,
    gravity: float = 9.81,
    payloads: Sequence[Payload] = (),
) -> tuple[AnkleGains, ...]:
    """Return the gains in pitch and, on one foot, in roll; empty on other supports.

    Args:
        robot: robot on level ground.
        posture: joint angles.
        gravity: gravity in m/s².
        payloads: payloads on its links.
    """
    loads = [(link.mass, link.name, link.com) for link in robot.links]
    loads += [(p.mass_kg, p.link, tuple(p.place_on(robot))) for p in payloads]
    bodies = [
        ExternalLoad(name=link, link=link, position=place, upward_newton=0.0)
        for _, link, place in loads
    ]
    soles = robot.contact_points
    dynamics = Dynamics(robot, [*soles, *bodies])
    of_foot = {foot: [c.effector == foot for c in soles] for foot in robot.feet}
    middles = [  # at angles 0, where the feet are side by side
        dynamics.point_positions[: len(soles)][mine].mean(axis=0)
        for mine in of_foot.values()
    ]
    dynamics.update(posture.angles)
    mass = np.array([load[0] for load in loads])
    points, centres = np.split(dynamics.point_positions, [len(soles)])
    com = mass @ centres / mass.sum()
    up = resting_normal(robot, posture, points, com)
    rests = resting_faces(robot, points, com)
    ground = next((r.effectors for r in rests if np.allclose(r.normal, up)), ())
    feet = [foot for foot in robot.feet if foot in ground]
    if not 0 < len(feet) <= 2 or set(ground) - set(feet):
        return ()
    lateral = middles[1] - middles[0] if len(middles) == 2 else np.array([0.0, 1, 0])
    lateral -= (lateral @ up) * up
    lateral /= np.linalg.norm(lateral)
    origins, axes = dynamics.joint_axes()
    on_sole, carried = np.split(dynamics.carries.astype(bool), [len(soles)], axis=1)
    found = []
    for direction, n in (("pitch", lateral), ("roll", np.cross(up, lateral))):
        if direction == "roll" and len(feet) > 1:
            break  # the other leg carries load too
        ankles = []
        for foot in feet:
            leg = on_sole[:, of_foot[foot]].all(axis=1)
            near = sorted(np.flatnonzero(leg), key=lambda i: carried[i].sum())
            ankles += [i for i in near if abs(axes[i] @ n) > ALONG][:1]
        if len(ankles) == len(feet) and _turn_as_one(origins[ankles], axes[ankles]):
            above = mass * ~carried[ankles].any(axis=0)
            r, a = centres - origins[ankles].mean(axis=0), axes[ankles[0]]
            height = (r - np.outer(r @ a, a)) @ up
            found.append(
                AnkleGains(
                    direction=direction,
                    joints=tuple(robot.joint_names[i] for i in ankles),
                    held=sum(robot.joints[i].kp for i in ankles),
                    needed=gravity * float(above @ height),
                )
            )
    return tuple(found)


def _turn_as_one(origins: FloatArray, axes: FloatArray) -> bool:
    """Return True if all axes are nearly on one line."""
    a, r = axes[0], origins - origins[0]
    apart = np.linalg.norm(r - np.outer(r @ a, a), axis=1)
    return bool((np.abs(axes @ a) > PARALLEL).all() and (apart < IN_LINE).all())


def why_it_falls(robot: Robot, posture: str, world: WorldCfg) -> str | None:
    """Return a sentence on why the standing robot must fall; None if it need not."""
    if not robot.has_legs:
        return None
    given = robot.posture(posture)
    rows = ankle_gains(robot, given, world.gravity, world.payloads)
    return next((row.sentence(posture) for row in rows if row.falls), None)
