"""The one place that speaks to PyBullet: a world, a ground, a robot.

Frames: everything that leaves this module is in the world frame (x forward, y left,
z up), link poses are those of the *link* frame and not of PyBullet's inertial frame,
quaternions are x y z w. Joint arrays follow `Robot.joints`.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from models import Robot
from sim.bullet_urdf import PrincipalInertia, write_bullet_urdf
from sim.camera import Camera, Rendering
from sim.output_guards import dropped_output, stdout_to_stderr
from sim.world_cfg import WorldCfg, check_display

FloatArray = NDArray[np.float64]


with dropped_output():
    import pybullet as p

ROBOT = 1
"""Collision group of its links: that of every body that moves."""

ENGINE_VERSION = f"pybullet 3.2.7 (API {p.getAPIVersion()})"


@dataclass(frozen=True, slots=True)
class Contact:
    """One point at which a link touches the ground."""

    link: str
    position: tuple[float, float, float]
    """In the world, in m."""
    force: FloatArray
    """(3,) force of the ground on the robot, in the world, in N."""
    normal_force: float
    """Part of it along the ground's normal, in N."""


class Engine:
    """A PyBullet client with a ground and one robot.

    Use: `place` once, then for every tick `read_joints`, `apply_torques`, `step`.
    """

    def __init__(self, robot: Robot, cfg: WorldCfg) -> None:
        """Start a client of its own and load the robot.

        Raises:
            BadInput: the window was asked for where there is no display.
        """
        if cfg.gui:
            check_display()
        self.robot = robot
        self.cfg = cfg
        with stdout_to_stderr():
            self._client = p.connect(p.GUI if cfg.gui else p.DIRECT)
        self._set_engine_parameters()
        self._ground = self._load_ground()
        self._body = self._load_robot()
        self._n = len(robot.joints)
        # Half the time that numpy takes to look at the types of as many floats.
        self._write_numbers = struct.Struct(f"{self._n}d").pack_into
        self.ground_normal = self._ground_rotation()[:, 2].copy()

    # -- set-up ---------------------------------------------------------------

    def _set_engine_parameters(self) -> None:
        """Set all that matters: a reset client would keep older values."""
        c = self._client
        p.setGravity(0.0, 0.0, -self.cfg.gravity, physicsClientId=c)
        p.setPhysicsEngineParameter(
            fixedTimeStep=self.cfg.physics_dt,
            numSolverIterations=self.cfg.solver_iterations,
            solverResidualThreshold=self.cfg.solver_residual,
            numSubSteps=0,
            deterministicOverlappingPairs=1,
            enableFileCaching=0,
            physicsClientId=c,
        )

    def _ground_quaternion(self) -> tuple[float, float, float, float]:
        half = -np.deg2rad(self.cfg.slope_deg) / 2.0  # nose up: minus about y
        return (0.0, float(np.sin(half)), 0.0, float(np.cos(half)))

    def _ground_rotation(self) -> FloatArray:
        return rotation_from_quaternion(self._ground_quaternion())

    def _load_ground(self) -> int:
        c = self._client
        shape = p.createCollisionShape(p.GEOM_PLANE, physicsClientId=c)
        ground: int = p.createMultiBody(
            baseCollisionShapeIndex=shape,
            baseOrientation=self._ground_quaternion(),
            physicsClientId=c,
        )
        p.changeDynamics(
            ground,
            -1,
            lateralFriction=self.cfg.friction,
            restitution=0.0,
            frictionAnchor=1,
            physicsClientId=c,
        )
        return ground

    def set_ground(self, friction: float, slope_deg: float) -> None:
        """Let the ground be another one from the next step on.

        It turns about the world's origin: little by little under a robot that stands.

        Args:
            friction: Coulomb coefficient.
            slope_deg: rises by this angle towards +x.
        """
        if friction != self.cfg.friction:
            p.changeDynamics(
                self._ground, -1, lateralFriction=friction, physicsClientId=self._client
            )
            self._renew_contacts()
        self.cfg = replace(self.cfg, friction=friction, slope_deg=slope_deg)
        p.resetBasePositionAndOrientation(
            self._ground,
            (0.0, 0.0, 0.0),
            self._ground_quaternion(),
            physicsClientId=self._client,
        )
        self.ground_normal = self._ground_rotation()[:, 2].copy()

    def _renew_contacts(self) -> None:
        """Let contacts with the ground be found anew: old ones keep their friction."""
        for group, mask in ((0, 0), (2, ~2)):  # nothing; then as every static body has
            p.setCollisionFilterGroupMask(
                self._ground, -1, group, mask, physicsClientId=self._client
            )
            p.performCollisionDetection(physicsClientId=self._client)

    def _load_robot(self) -> int:
        c = self._client
        with TemporaryDirectory() as folder, stdout_to_stderr():
            path, inertias = write_bullet_urdf(self.robot, folder)
            body: int = p.loadURDF(
                str(path),
                useFixedBase=not self.robot.has_legs,
                flags=p.URDF_USE_INERTIA_FROM_FILE,
                physicsClientId=c,
            )
        info = [
            p.getJointInfo(body, i, physicsClientId=c)
            for i in range(p.getNumJoints(body, physicsClientId=c))
        ]
        joint_index = {row[1].decode(): int(row[0]) for row in info}
        self._link_index = {row[12].decode(): int(row[0]) for row in info}
        self._link_index[self.robot.base_link] = -1
        self._link_name = {i: name for name, i in self._link_index.items()}
        self._indices = [joint_index[name] for name in self.robot.joint_names]
        self._set_link_dynamics(body, inertias)
        self._disable_motors(body)
        self._ignore_own_links(body)
        self._hide_absent(body)
        # One origin for all frames: PyBullet's base is the inertial frame.
        dynamics = p.getDynamicsInfo(body, -1, physicsClientId=c)
        self._base_inertial = (dynamics[3], dynamics[4])
        self._base_from_inertial = p.invertTransform(*self._base_inertial)
        return body

    def _set_link_dynamics(
        self, body: int, inertias: dict[str, PrincipalInertia]
    ) -> None:
        """No hidden damping, ground friction from the ground, exact inertias.

        Without the friction anchor the contact solver stops a little early at every
        step, and feet that press against each other creep by some µm/s: in a quarter
        of an hour that changes the torques of a standing robot beyond recognition.
        """
        for name, index in self._link_index.items():
            p.changeDynamics(
                body,
                index,
                linearDamping=0.0,
                angularDamping=0.0,
                jointDamping=0.0,
                lateralFriction=1.0,
                restitution=0.0,
                frictionAnchor=1,
                physicsClientId=self._client,
            )
            if name in inertias:
                p.changeDynamics(
                    body,
                    index,
                    localInertiaDiagonal=inertias[name].moments,
                    physicsClientId=self._client,
                )

    def _ignore_own_links(self, body: int) -> None:
        """Let links meet everything but each other.

        They do not collide with each other anyway; but the engine would find at every
        step which of their boxes overlap, sort these pairs, and throw them away.
        """
        for index in range(-1 if self.robot.has_legs else 0, len(self._link_name) - 1):
            p.setCollisionFilterGroupMask(
                body, index, ROBOT, ~ROBOT, physicsClientId=self._client
            )

    def _hide_absent(self, body: int) -> None:
        """Let the links that a body lacks touch nothing and not be seen.

        A body without legs is mounted: its base does not move, so that what hangs on it
        unseen changes nothing.
        """
        for joint in self.robot.joints:
            if joint.name in self.robot.absent_joints:
                link = self._link_index[joint.link]
                p.setCollisionFilterGroupMask(
                    body, link, 0, 0, physicsClientId=self._client
                )
                p.changeVisualShape(
                    body, link, rgbaColor=(0, 0, 0, 0), physicsClientId=self._client
                )

    def _disable_motors(self, body: int) -> None:
        p.setJointMotorControlArray(
            body,
            self._indices,
            p.VELOCITY_CONTROL,
            forces=[0.0] * len(self._indices),
            physicsClientId=self._client,
        )

    # -- state ------------------------------------------------------------------

    def place(
        self, q: FloatArray, base_position: FloatArray, base_quaternion: FloatArray
    ) -> None:
        """Put the robot at rest in a pose.

        Args:
            q: (n_joints,) joint angles in rad.
            base_position: (3,) origin of the base link in the world, in m.
            base_quaternion: (4,) orientation of the base link, x y z w.
        """
        c = self._client
        for index, angle in zip(self._indices, q, strict=True):
            p.resetJointState(self._body, index, float(angle), 0.0, physicsClientId=c)
        position, quaternion = p.multiplyTransforms(
            list(base_position), list(base_quaternion), *self._base_inertial
        )
        p.resetBasePositionAndOrientation(
            self._body, position, quaternion, physicsClientId=c
        )
        p.resetBaseVelocity(
            self._body, [0.0, 0.0, 0.0], [0.0, 0.0, 0.0], physicsClientId=c
        )

    def clearance(self) -> float:
        """Return the smallest distance of the robot's shapes to the ground, in m.

        Negative where a shape sinks in; `inf` when nothing is within 5 m.
        """
        c = self._client
        p.performCollisionDetection(physicsClientId=c)
        points = p.getClosestPoints(self._body, self._ground, 5.0, physicsClientId=c)
        return min((point[8] for point in points), default=float("inf"))

    def base_pose(self) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and quaternion (4,) of the base link frame."""
        position, quaternion = self._base_frame()
        return np.array(position), np.array(quaternion)

    def _base_frame(self) -> tuple[Sequence[float], Sequence[float]]:
        inertial = p.getBasePositionAndOrientation(
            self._body, physicsClientId=self._client
        )
        return p.multiplyTransforms(*inertial, *self._base_from_inertial)

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and rotation (3, 3) of a link frame."""
        index = self._link_index[link]
        if index < 0:
            position, quaternion = self._base_frame()
            return np.array(position), rotation_from_quaternion(quaternion)
        state = p.getLinkState(
            self._body, index, computeForwardKinematics=1, physicsClientId=self._client
        )
        return np.array(state[4]), rotation_from_quaternion(state[5])

    def link_com(self, link: str) -> FloatArray:
        """Return the centre of mass (3,) of a link in the world, in m."""
        index = self._link_index[link]
        if index < 0:
            com, _ = p.getBasePositionAndOrientation(
                self._body, physicsClientId=self._client
            )
        else:
            state = p.getLinkState(self._body, index, physicsClientId=self._client)
            com = state[0]
        return np.array(com)

    def link_twist(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return velocity (3,) of a link's centre of mass in m/s and angular (3,)."""
        index = self._link_index[link]
        if index < 0:
            linear, angular = p.getBaseVelocity(
                self._body, physicsClientId=self._client
            )
        else:
            state = p.getLinkState(
                self._body,
                index,
                computeLinkVelocity=1,
                physicsClientId=self._client,
            )
            linear, angular = state[6], state[7]
        return np.array(linear), np.array(angular)

    def contacts(self) -> list[Contact]:
        """Return where the robot touches the ground, with the force on the robot."""
        points = p.getContactPoints(
            self._body, self._ground, physicsClientId=self._client
        )
        return [
            Contact(
                self._link_name[row[3]],
                row[5],
                row[9] * np.array(row[7])
                + row[10] * np.array(row[11])
                + row[12] * np.array(row[13]),
                row[9],
            )
            for row in points
        ]

    def normal_load(self, link: str) -> tuple[float, FloatArray]:
        """Return the ground's normal load on a link.

        Returns:
            Sum F of the normal forces in N, and sum of F_i p_i (3,) in N·m with the
            contact points p_i in the world: its ratio is the centre of pressure.
        """
        force = 0.0
        x = y = z = 0.0
        for row in p.getContactPoints(
            self._body,
            self._ground,
            self._link_index[link],
            physicsClientId=self._client,
        ):
            f = row[9]
            px, py, pz = row[5]
            force += f
            x += f * px
            y += f * py
            z += f * pz
        return force, np.array([x, y, z])

    # -- the loop ---------------------------------------------------------------

    def read_joints(self, q: FloatArray, v: FloatArray) -> None:
        """Write joint angles in rad and velocities in rad/s into q and v."""
        states = p.getJointStates(self._body, self._indices, self._client)
        columns = zip(*states, strict=True)  # only the first two are made
        self._write_numbers(q.data, 0, *next(columns))
        self._write_numbers(v.data, 0, *next(columns))

    def read_motor_torques(self, tau: FloatArray) -> None:
        """Write the torques that PyBullet's own motors gave in the last step."""
        states = p.getJointStates(
            self._body, self._indices, physicsClientId=self._client
        )
        tau[:] = [state[3] for state in states]

    def apply_torques(self, tau: Sequence[float]) -> None:
        """Set the joint torques in N·m of the next step (and only of that one)."""
        p.setJointMotorControlArray(
            self._body,
            self._indices,
            p.TORQUE_CONTROL,
            forces=tau,
            physicsClientId=self._client,
        )

    def apply_position_targets(
        self,
        target: Sequence[float],
        limit: Sequence[float],
        position_gain: float,
        velocity_gain: float,
    ) -> None:
        """Set the targets in rad and torque limits in N·m of PyBullet's own motors."""
        p.setJointMotorControlArray(
            self._body,
            self._indices,
            p.POSITION_CONTROL,
            targetPositions=target,
            targetVelocities=[0.0] * self._n,
            forces=limit,
            positionGains=[position_gain] * self._n,
            velocityGains=[velocity_gain] * self._n,
            physicsClientId=self._client,
        )

    def push(self, link: str, force: FloatArray, position: FloatArray) -> None:
        """Push a link with a force (N) at a world position (m) in the next step."""
        p.applyExternalForce(
            self._body,
            self._link_index[link],
            list(force),
            list(position),
            p.WORLD_FRAME,
            physicsClientId=self._client,
        )

    def step(self) -> None:
        """Advance the physics by one period."""
        p.stepSimulation(self._client)

    # -- snapshots, pictures, end -----------------------------------------------

    def render(self, camera: Camera) -> Rendering:
        """Return what a camera sees of the robot, drawn in software (no display)."""
        height, width = camera.height, camera.width
        image = p.getCameraImage(
            width,
            height,
            viewMatrix=camera.view_matrix().T.ravel().tolist(),
            projectionMatrix=camera.projection_matrix().T.ravel().tolist(),
            lightDirection=camera.light,
            lightColor=(1.0, 1.0, 1.0),
            lightDistance=2.0,
            shadow=0,
            lightAmbientCoeff=camera.ambient,
            lightDiffuseCoeff=camera.diffuse,
            lightSpecularCoeff=camera.specular,
            renderer=p.ER_TINY_RENDERER,
            flags=p.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
            physicsClientId=self._client,
        )
        rgba = np.reshape(image[2], (height, width, 4))
        buffer = np.reshape(image[3], (height, width)).astype(np.float64)
        seen = np.reshape(image[4], (height, width))
        # Body in the lower 24 bits, link + 1 above; -1 where nothing is.
        is_robot = (seen >= 0) & ((seen & 0xFFFFFF) == self._body)
        link = np.where(is_robot, seen >> 24, -1).astype(np.int32)
        near, far = camera.near, camera.far
        depth = far * near / (far - (far - near) * buffer)
        return Rendering(
            camera=camera,
            rgb=rgba[..., :3].astype(np.uint8),
            depth=np.where(is_robot, depth, np.inf),
            link=link,
            links=tuple(self._link_name[i] for i in sorted(self._link_name)),
        )

    def save(self) -> int:
        """Keep the engine's state in memory and return its number."""
        number: int = p.saveState(physicsClientId=self._client)
        return number

    def restore(self, number: int) -> None:
        """Return to a kept state."""
        p.restoreState(stateId=number, physicsClientId=self._client)

    def forget(self, number: int) -> None:
        """Release a kept state."""
        p.removeState(number, physicsClientId=self._client)

    def close(self) -> None:
        """Disconnect; may be called twice."""
        if self._client >= 0:
            p.disconnect(physicsClientId=self._client)
            self._client = -1


def rotation_from_quaternion(quaternion: Sequence[float] | FloatArray) -> FloatArray:
    """Return the (3, 3) rotation matrix of a quaternion x y z w."""
    return np.array(p.getMatrixFromQuaternion(quaternion)).reshape(3, 3)
