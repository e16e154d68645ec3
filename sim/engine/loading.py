"""Loading of ground and robot into PyBullet, with inertias and contact filters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import numpy as np

from nao_testbed.models import BadInput, Robot
from nao_testbed.sim.engine.bullet import p, stdout_to_stderr
from nao_testbed.sim.engine.engine_urdf import PrincipalInertia, write_bullet_urdf
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.engine.obstacles import Obstacle
from nao_testbed.sim.engine.world import Payload, slope_quaternion


class Ground:
    """Ground plane through the world's origin."""

    def __init__(self, client: int, friction: float, slope_deg: float) -> None:
        """Create the plane.

        Args:
            client: client of PyBullet.
            friction: Coulomb coefficient.
            slope_deg: slope of the ground in degrees, rising towards +x.
        """
        self._client = client
        self._friction = friction
        quaternion = slope_quaternion(slope_deg)
        self.normal = rotation_from_quaternion(quaternion)[:, 2].copy()
        """(3,) unit vector upwards, in the world."""
        shape = p.createCollisionShape(p.GEOM_PLANE, physicsClientId=client)
        self.body: int = p.createMultiBody(
            baseCollisionShapeIndex=shape,
            baseOrientation=quaternion,
            physicsClientId=client,
        )
        """Number of the plane in the engine."""
        p.changeDynamics(
            self.body,
            -1,
            lateralFriction=friction,
            restitution=0.0,
            frictionAnchor=1,
            physicsClientId=client,
        )

    def change(self, friction: float, slope_deg: float) -> None:
        """Change friction and slope from the next step on; units as in `__init__`."""
        if friction != self._friction:
            p.changeDynamics(
                self.body, -1, lateralFriction=friction, physicsClientId=self._client
            )
            self._friction = friction
            self._renew_contacts()
        quaternion = slope_quaternion(slope_deg)
        p.resetBasePositionAndOrientation(
            self.body, (0.0, 0.0, 0.0), quaternion, physicsClientId=self._client
        )
        self.normal = rotation_from_quaternion(quaternion)[:, 2].copy()

    def _renew_contacts(self) -> None:
        """Rebuild the contacts with the ground: existing ones keep their friction."""
        for group, mask in ((0, 0), (2, ~2)):  # none; then the default of static bodies
            p.setCollisionFilterGroupMask(
                self.body, -1, group, mask, physicsClientId=self._client
            )
            p.performCollisionDetection(physicsClientId=self._client)


OBSTACLE_COLOUR = (0.76, 0.65, 0.5, 1.0)
"""Red, green, blue, opacity: wood."""


def lay(client: int, obstacle: Obstacle, slope_deg: float) -> int:
    """Add a box to the world and return its number in the engine.

    Args:
        client: client of PyBullet.
        obstacle: box in the frame of the robot's start.
        slope_deg: slope of the ground in degrees at the start.
    """
    half = [0.5 * edge for edge in obstacle.size]
    yaw = np.deg2rad(obstacle.yaw_deg) / 2.0
    position, quaternion = p.multiplyTransforms(
        (0.0, 0.0, 0.0),
        slope_quaternion(slope_deg),
        obstacle.position,
        (0.0, 0.0, float(np.sin(yaw)), float(np.cos(yaw))),
    )
    body: int = p.createMultiBody(
        baseCollisionShapeIndex=p.createCollisionShape(
            p.GEOM_BOX, halfExtents=half, physicsClientId=client
        ),
        baseVisualShapeIndex=p.createVisualShape(
            p.GEOM_BOX,
            halfExtents=half,
            rgbaColor=OBSTACLE_COLOUR,
            physicsClientId=client,
        ),
        basePosition=position,
        baseOrientation=quaternion,
        physicsClientId=client,
    )
    p.changeDynamics(
        body,
        -1,
        lateralFriction=obstacle.friction,
        restitution=0.0,
        frictionAnchor=1,
        physicsClientId=client,
    )
    return body


ROBOT = 64
"""Collision group of the robot's links only: rays pass through them."""
MAX_LINKS = 128
"""Largest number of links of a body in PyBullet; beyond it loading succeeds, but every
later call fails."""
Transform = tuple[Sequence[float], Sequence[float]]
"""Position in m and quaternion x y z w."""


@dataclass(frozen=True, kw_only=True)
class LoadedRobot:
    """Ids of a robot and its parts in the engine."""

    body: int
    joints: list[int]
    """(n_joints) in the order of `Robot.joints`."""
    link_index: Mapping[str, int]
    """Link name to number; -1 is the base."""
    link_name: Mapping[int, str]
    """Inverse of `link_index`."""
    base_inertial: Transform
    """Inertial frame of the base, used by PyBullet, in the link frame."""
    base_from_inertial: Transform
    """Inverse of `base_inertial`."""


def load(client: int, robot: Robot, payloads: Sequence[Payload] = ()) -> LoadedRobot:
    """Load a robot into a PyBullet client, and switch off PyBullet's motors.

    Raises:
        UnknownName: a payload names no link of the robot.
        BadInput: PyBullet cannot use the URDF.
    """
    if len(robot.links) > MAX_LINKS:
        raise BadInput(
            f"PyBullet supports {MAX_LINKS} links; {robot.urdf} has "
            f"{len(robot.links)}. Remove unused frames, or use --engine mujoco."
        )
    with TemporaryDirectory() as folder, stdout_to_stderr():
        path, inertias = write_bullet_urdf(robot, folder, payloads)
        try:
            body: int = p.loadURDF(
                str(path),
                useFixedBase=not robot.has_legs,
                flags=p.URDF_USE_INERTIA_FROM_FILE,
                physicsClientId=client,
            )
        except p.error as error:
            raise BadInput(
                f"PyBullet rejects {robot.urdf} ({str(error).rstrip('.')}; details "
                "above); correct it, or use --engine mujoco."
            ) from error
    info = [
        p.getJointInfo(body, i, physicsClientId=client)
        for i in range(p.getNumJoints(body, physicsClientId=client))
    ]
    joint_index = {row[1].decode(): int(row[0]) for row in info}
    link_index = {row[12].decode(): int(row[0]) for row in info}
    link_index[robot.base_link] = -1
    # PyBullet's base frame is the inertial frame; convert it to the link frame.
    dynamics = p.getDynamicsInfo(body, -1, physicsClientId=client)
    base_inertial = (dynamics[3], dynamics[4])
    loaded = LoadedRobot(
        body=body,
        joints=[joint_index[name] for name in robot.joint_names],
        link_index=link_index,
        link_name={i: name for name, i in link_index.items()},
        base_inertial=base_inertial,
        base_from_inertial=p.invertTransform(*base_inertial),
    )
    _set_link_dynamics(client, loaded, inertias)
    _disable_motors(client, loaded)
    _ignore_own_links(client, loaded, robot)
    _hide_absent(client, loaded, robot)
    return loaded


def _set_link_dynamics(
    client: int, loaded: LoadedRobot, inertias: Mapping[str, PrincipalInertia]
) -> None:
    """Remove hidden damping, take friction from the ground, set exact inertias.

    Without the friction anchor, the contact solver stops slightly early at every step,
    and feet that press against each other creep by some µm/s. Within a quarter of an
    hour this creep changes the torques of a standing robot completely.
    """
    for name, index in loaded.link_index.items():
        p.changeDynamics(
            loaded.body,
            index,
            linearDamping=0.0,
            angularDamping=0.0,
            jointDamping=0.0,
            lateralFriction=1.0,
            restitution=0.0,
            frictionAnchor=1,
            physicsClientId=client,
        )
        if name in inertias:
            p.changeDynamics(
                loaded.body,
                index,
                localInertiaDiagonal=inertias[name].moments,
                physicsClientId=client,
            )


def _disable_motors(client: int, loaded: LoadedRobot) -> None:
    p.setJointMotorControlArray(
        loaded.body,
        loaded.joints,
        p.VELOCITY_CONTROL,
        forces=[0.0] * len(loaded.joints),
        physicsClientId=client,
    )


def _ignore_own_links(client: int, loaded: LoadedRobot, robot: Robot) -> None:
    """Disable collisions between links of the robot.

    The loaded URDF has no self-collision, but at every step the engine would still find
    and sort pairs of overlapping boxes.
    """
    for index in range(-1 if robot.has_legs else 0, len(loaded.link_name) - 1):
        p.setCollisionFilterGroupMask(
            loaded.body, index, ROBOT, ~ROBOT, physicsClientId=client
        )


def _hide_absent(client: int, loaded: LoadedRobot, robot: Robot) -> None:
    """Hide the links that a body lacks, and disable their contacts.

    A body without legs is mounted: its base does not move, and the load of the hidden
    links changes nothing.
    """
    for joint in robot.joints:
        if joint.name in robot.absent_joints:
            link = loaded.link_index[joint.link]
            p.setCollisionFilterGroupMask(
                loaded.body, link, 0, 0, physicsClientId=client
            )
            p.changeVisualShape(
                loaded.body, link, rgbaColor=(0, 0, 0, 0), physicsClientId=client
            )
