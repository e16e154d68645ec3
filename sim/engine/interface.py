"""Engine interface: the physics functions that the simulated robot needs.

PyBullet (`bullet_engine`) and MuJoCo (`mujoco_engine`) implement it;
`sim.engine.make_engine` chooses by `WorldCfg.engine`.

Frames: world (x forward, y left, z up). Link poses are those of the *link* frame, not
of an engine's inertial frame. Quaternions are x y z w. Joint arrays follow
`Robot.joints`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import Camera, Rendering, WorldCfg


@dataclass(frozen=True, slots=True)
class Contact:
    """Contact point of a link on the ground."""

    link: str
    position: tuple[float, float, float]
    """Position in the world, in m."""
    force: FloatArray
    """(3,) force of the ground on the robot, in the world, in N."""
    normal_force: float
    """Component of `force` along the ground's normal, in N."""


@dataclass(frozen=True, slots=True)
class ObstacleContact:
    """Contact point of a link on an obstacle."""

    obstacle: str
    link: str
    position: tuple[float, float, float]
    """Position in the world, in m."""
    force: FloatArray
    """(3,) force of the obstacle on the robot, in the world, in N."""


TOUCHING = 1e-4
"""Depth in m up to which an overlap with an obstacle is ignored."""


class FeatureMissing(BadInput):
    """Error: an engine lacks a feature that another engine has."""

    def __init__(self, engine: str, feature: str, remedy: str) -> None:
        """Write the message: engine, missing feature, remedy."""
        super().__init__(f"engine {engine!r} has no {feature}; {remedy}.")


class EngineMissing(BadInput):
    """Error: the library of an engine is not installed."""


@dataclass(frozen=True, slots=True)
class NativeStep:
    """Step of an engine as a C function, with its live arrays.

    Forces and wrenches act in the next step only: the caller of the function resets
    them to 0 afterwards.
    """

    owners: object
    """Objects that keep the memory behind the addresses alive."""
    function: int
    """Address of `void step(model, data)`."""
    model: int
    data: int
    positions: FloatArray
    velocities: FloatArray
    forces: FloatArray
    """Generalised forces, with the joint torques in N·m."""
    wrenches: FloatArray
    """Wrenches on the links."""
    q_index: NDArray[np.intp]
    """(n_joints,) indices of the joint angles in rad in `positions`."""
    v_index: NDArray[np.intp]
    """(n_joints,) indices of the joints in `velocities` and `forces`."""


class Engine(Protocol):
    """Ground, obstacles and one robot, stepped at the physics rate.

    Use: `place` once, then for every tick `apply_torques`, `step`, `read_joints`.
    Torques and pushes act in the next step only.
    """

    cfg: WorldCfg

    @property
    def ground_normal(self) -> FloatArray:
        """(3,) unit vector upwards from the ground, in the world."""
        ...

    def set_ground(self, friction: float, slope_deg: float) -> None:
        """Set Coulomb coefficient and slope (towards +x) of the ground."""
        ...

    def place(
        self, q: FloatArray, base_position: FloatArray, base_quaternion: FloatArray
    ) -> None:
        """Put the robot at rest in a pose: joint angles in rad, base link frame."""
        ...

    def clearance(self) -> float:
        """Return the smallest distance of the robot's shapes to the ground, in m."""
        ...

    def base_pose(self) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and quaternion (4,) of the base link frame."""
        ...

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and rotation (3, 3) of a link frame."""
        ...

    def link_com(self, link: str) -> FloatArray:
        """Return the centre of mass (3,) of a link in the world, in m."""
        ...

    def link_twist(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return linear (3,) velocity of a link's centre of mass, and angular (3,)."""
        ...

    def contacts(self) -> list[Contact]:
        """Return the contacts of robot and ground, with the force on the robot."""
        ...

    def obstacle_contacts(self) -> list[ObstacleContact]:
        """Return the contacts of robot and obstacles, with the force on the robot."""
        ...

    def obstacle_forces(self) -> dict[tuple[str, str], float]:
        """Return the contact force in N by pair of obstacle and link."""
        ...

    def overlaps(self) -> dict[tuple[str, str], float]:
        """Return the depth of overlap in m by pair of obstacle and link."""
        ...

    def normal_load(self, link: str) -> tuple[float, FloatArray]:
        """Return the sum of normal forces F in N on a link, and of F p (3,) in N·m."""
        ...

    def cast(
        self, origin: FloatArray, directions: FloatArray, reach: float
    ) -> tuple[FloatArray, FloatArray]:
        """Cast rays; return their lengths up to the first surface except the robot's.

        Args:
            origin: (3,) in the world, in m.
            directions: (n, 3) unit vectors.
            reach: length of the rays, in m.

        Returns:
            Distances (n,) in m, `reach` for a ray without a hit, and outward normals
            (n, 3) of the surfaces, 0 for a ray without a hit.
        """
        ...

    def read_joints(self, q: FloatArray, v: FloatArray) -> None:
        """Write joint angles in rad and velocities in rad/s into q and v."""
        ...

    def read_motor_torques(self, tau: FloatArray) -> None:
        """Write the torques of the engine's own motors in the last step into tau."""
        ...

    def apply_torques(self, tau: Sequence[float] | FloatArray) -> None:
        """Set the joint torques in N·m of the next step."""
        ...

    def apply_position_targets(
        self,
        target: Sequence[float],
        velocity: Sequence[float],
        limit: Sequence[float],
        position_gain: float,
        velocity_gain: float,
    ) -> None:
        """Set targets (rad, rad/s) and torque limits (N·m) of the engine's motors."""
        ...

    def push(self, link: str, force: FloatArray, position: FloatArray) -> None:
        """Push a link with a force (N) at a world position (m) in the next step."""
        ...

    def step(self) -> None:
        """Advance the physics by one period."""
        ...

    def native_step(self) -> NativeStep | None:
        """Return the step as a C function, or None if the engine has none."""
        ...

    def render(self, camera: Camera) -> Rendering:
        """Return a camera's picture of the robot."""
        ...

    def photograph(self, camera: Camera) -> NDArray[np.uint8]:
        """Return a camera's picture of the whole scene, (height, width, 3)."""
        ...

    def save(self) -> int:
        """Save the engine's state in memory and return its number."""
        ...

    def restore(self, number: int) -> None:
        """Return to a saved state."""
        ...

    def forget(self, number: int) -> None:
        """Delete a saved state."""
        ...

    def close(self) -> None:
        """Release the engine; a second call has no effect."""
        ...


def sum_by_pair(
    contacts: Iterable[ObstacleContact],
) -> dict[tuple[str, str], float]:
    """Return the norm in N of the summed forces by pair of obstacle and link."""
    sums: dict[tuple[str, str], FloatArray] = {}
    for contact in contacts:
        pair = contact.obstacle, contact.link
        sums[pair] = sums.get(pair, 0.0) + contact.force
    return {pair: float(np.linalg.norm(force)) for pair, force in sums.items()}


def rotation_from_quaternion(quaternion: Sequence[float] | FloatArray) -> FloatArray:
    """Return the (3, 3) rotation matrix of a quaternion x y z w of any length.

    Operations follow the order of Bullet's `btMatrix3x3::setRotation`, so the results
    are bit-identical.
    """
    x, y, z, w = map(float, quaternion)
    s = 2.0 / (x * x + y * y + z * z + w * w)
    xs, ys, zs = x * s, y * s, z * s
    wx, wy, wz = w * xs, w * ys, w * zs
    xx, xy, xz = x * xs, x * ys, x * zs
    yy, yz, zz = y * ys, y * zs, z * zs
    return np.array(
        [
            [1.0 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1.0 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1.0 - (xx + yy)],
        ]
    )
