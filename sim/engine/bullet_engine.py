"""PyBullet engine: a client with the state of the world, advanced step by step.

Frames at the interface: world (x forward, y left, z up). Link poses are those of the
*link* frame, not of PyBullet's inertial frame. Quaternions are x y z w. Joint arrays
follow `Robot.joints`.
"""

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.bullet import (
    aim_window,
    draw,
    hide_panels,
    p,
    photograph,
    stdout_to_stderr,
)
from nao_testbed.sim.engine.interface import (
    TOUCHING,
    Contact,
    ObstacleContact,
    rotation_from_quaternion,
    sum_by_pair,
)
from nao_testbed.sim.engine.loading import ROBOT, Ground, lay, load
from nao_testbed.sim.engine.rotors import Rotors
from nao_testbed.sim.engine.world import Camera, Rendering, WorldCfg, check_display

_Push = tuple[int, list[float], list[float]]
"""Index of the link, force in N and point of application in m, both in the world."""


def _force(row: Sequence[Any]) -> FloatArray:
    """Return the force on body A (3,) in N of PyBullet's contact point."""
    force: FloatArray = (
        row[9] * np.array(row[7])
        + row[10] * np.array(row[11])
        + row[12] * np.array(row[13])
    )
    return force


class BulletEngine:
    """PyBullet client with a ground and one robot; see `sim.engine.interface`.

    Use: `place` once, then for every tick `read_joints`, `apply_torques`, `step`.
    """

    def __init__(self, robot: Robot, cfg: WorldCfg) -> None:
        """Start a separate client and load the robot.

        Raises:
            BadInput: the window was requested without a display.
        """
        if cfg.gui:
            check_display()
        self.robot = robot
        self.cfg = cfg
        with stdout_to_stderr():
            self._client = p.connect(p.GUI if cfg.gui else p.DIRECT)
        if cfg.gui:
            hide_panels(self._client)
        self._set_engine_parameters()
        self._ground = Ground(self._client, cfg.friction, cfg.slope_deg)
        loaded = load(self._client, robot, cfg.payloads)
        self._body, self._indices = loaded.body, loaded.joints
        self._link_index, self._link_name = loaded.link_index, loaded.link_name
        self._base_inertial = loaded.base_inertial
        self._base_from_inertial = loaded.base_from_inertial
        self._obstacles = {
            lay(self._client, one, cfg.slope_deg): one.name for one in cfg.obstacles
        }
        self._n = len(robot.joints)
        self._is_free = robot.has_legs
        self._rotors = Rotors(robot, cfg.physics_dt, loaded.base_from_inertial[1])
        self._joints_are_read = self._rotors_act = False
        self._torque, self._limp = np.zeros((2, self._n))
        # PyBullet's own state does not include pushes: a pending one would survive a
        # restore.
        self._pushes: list[_Push] = []
        self._kept: dict[int, tuple[list[_Push], FloatArray]] = {}
        # Lists: numpy takes twice as long, since it inspects the type of every float.
        self._write_numbers = struct.Struct(f"{self._n}d").pack_into
        self._write_base = struct.Struct("7d").pack_into

    @property
    def ground_normal(self) -> FloatArray:
        """(3,) unit vector upwards from the ground, in the world."""
        return self._ground.normal

    # -- set-up ---------------------------------------------------------------

    def _set_engine_parameters(self) -> None:
        """Set all relevant parameters: a reset client would keep older values."""
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

    def set_ground(self, friction: float, slope_deg: float) -> None:
        """Change friction and slope of the ground from the next step on.

        The ground turns about the world's origin; change the slope in small steps under
        a standing robot.

        Args:
            friction: Coulomb coefficient.
            slope_deg: slope of the ground in degrees, rising towards +x.
        """
        self._ground.change(friction, slope_deg)
        self.cfg = replace(self.cfg, friction=friction, slope_deg=slope_deg)

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
        self._pushes.clear()
        self._joints_are_read = self._rotors_act = False
        self._rotors.restart()
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
        self._read_base()
        if self.cfg.gui:
            centres = [self.link_com(link.name) for link in self.robot.links]
            aim_window(c, np.array(centres))

    def clearance(self) -> float:
        """Return the smallest distance of the robot's shapes to the ground, in m.

        Negative if a shape penetrates the ground; `inf` if no shape is within 5 m.
        """
        c = self._client
        p.performCollisionDetection(physicsClientId=c)
        points = p.getClosestPoints(
            self._body, self._ground.body, 5.0, physicsClientId=c
        )
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
        """Return linear (3,) velocity of a link's centre of mass, and angular (3,)."""
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
        """Return the contacts of robot and ground, with the force on the robot."""
        points = p.getContactPoints(
            self._body, self._ground.body, physicsClientId=self._client
        )
        return [
            Contact(
                self._link_name[row[3]],
                row[5],
                _force(row),
                row[9],
            )
            for row in points
        ]

    def obstacle_contacts(self) -> list[ObstacleContact]:
        """Return the contacts of robot and obstacles, with the force on the robot."""
        return [
            ObstacleContact(name, self._link_name[row[3]], row[5], _force(row))
            for body, name in self._obstacles.items()
            for row in p.getContactPoints(
                self._body, body, physicsClientId=self._client
            )
        ]

    def obstacle_forces(self) -> dict[tuple[str, str], float]:
        """Return the contact force in N by pair of obstacle and link."""
        return sum_by_pair(self.obstacle_contacts())

    def overlaps(self) -> dict[tuple[str, str], float]:
        """Return the depth of overlap in m by pair of obstacle and link."""
        absent = {
            joint.link
            for joint in self.robot.joints
            if joint.name in self.robot.absent_joints
        }
        found: dict[tuple[str, str], float] = {}
        for body, name in self._obstacles.items():
            for row in p.getClosestPoints(
                self._body, body, 0.0, physicsClientId=self._client
            ):
                pair, depth = (name, self._link_name[row[3]]), -row[8]
                if pair[1] not in absent and depth > found.get(pair, TOUCHING):
                    found[pair] = depth
        return found

    def normal_load(self, link: str) -> tuple[float, FloatArray]:
        """Return the load on a link along the ground's normal.

        It is the ground's normal force plus, for each obstacle, the component f_i n_i ·
        n along the ground's normal n. A block below a sole carries load like the
        ground; a wall at the tip of a foot does not.

        Returns:
            Sum F of the normal forces in N, and sum of F_i p_i (3,) in N·m with the
            contact points p_i in the world: the ratio is the centre of pressure.
        """
        force, moment = self._ground_load(link)
        for body in self._obstacles:
            for row in p.getContactPoints(
                self._body,
                body,
                self._link_index[link],
                physicsClientId=self._client,
            ):
                f = row[9] * max(0.0, float(self.ground_normal @ row[7]))
                force += f
                moment += f * np.array(row[5])
        return force, moment

    def _ground_load(self, link: str) -> tuple[float, FloatArray]:
        force = 0.0
        x = y = z = 0.0
        for row in p.getContactPoints(
            self._body,
            self._ground.body,
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

    def cast(
        self, origin: FloatArray, directions: FloatArray, reach: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return lengths and surface normals of rays; see `Engine.cast`."""
        far = origin + reach * directions
        hits = p.rayTestBatch(
            [origin.tolist()] * len(far),
            far.tolist(),
            numThreads=1,
            collisionFilterMask=~ROBOT,
            physicsClientId=self._client,
        )
        distance = reach * np.array([hit[2] for hit in hits])
        normal = np.array([hit[4] for hit in hits])
        normal[[hit[0] < 0 for hit in hits]] = 0.0
        return distance, normal

    # -- the loop ---------------------------------------------------------------

    def read_joints(self, q: FloatArray, v: FloatArray) -> None:
        """Write joint angles in rad and velocities in rad/s into q and v."""
        self._read_joints()
        q[:], v[:] = self._rotors.q, self._rotors.v

    def _read_joints(self) -> None:
        states = p.getJointStates(self._body, self._indices, self._client)
        columns = zip(*states, strict=True)  # zip is lazy: only the first two are built
        self._write_numbers(self._rotors.q.data, 0, *next(columns))
        self._write_numbers(self._rotors.v.data, 0, *next(columns))
        self._joints_are_read = True

    def _read_base(self) -> None:
        _, quaternion = p.getBasePositionAndOrientation(self._body, self._client)
        _, angular = p.getBaseVelocity(self._body, self._client)
        self._write_base(self._rotors.base.data, 0, *quaternion, *angular)

    def read_motor_torques(self, tau: FloatArray) -> None:
        """Write the torques of PyBullet's own motors in the last step into tau."""
        states = p.getJointStates(
            self._body, self._indices, physicsClientId=self._client
        )
        tau[:] = [state[3] for state in states]

    def apply_torques(self, tau: Sequence[float] | FloatArray) -> None:
        """Set the joint torques in N·m of the next step only."""
        self._torque[:] = tau
        if not self._rotors_act:
            self._apply_rotors()
        p.setJointMotorControlArray(
            self._body,
            self._indices,
            p.TORQUE_CONTROL,
            forces=self._torque.tolist(),
            physicsClientId=self._client,
        )

    def _apply_rotors(self) -> None:
        """Add the next step's rotor torques: rotors resist joint motion only."""
        if not self._joints_are_read:
            self._read_joints()
        if self._is_free:
            self._read_base()
        rotors = self._rotors
        rotors.update()
        self._torque += rotors.torque
        if self._is_free:
            torque = rotors.base_torque.tolist()
            p.applyExternalTorque(self._body, -1, torque, p.WORLD_FRAME, self._client)
        self._rotors_act = True

    def apply_position_targets(
        self,
        target: Sequence[float],
        velocity: Sequence[float],
        limit: Sequence[float],
        position_gain: float,
        velocity_gain: float,
    ) -> None:
        """Set targets (rad, rad/s) and torque limits (N·m) of PyBullet's own motors."""
        p.setJointMotorControlArray(
            self._body,
            self._indices,
            p.POSITION_CONTROL,
            targetPositions=target,
            targetVelocities=velocity,
            forces=limit,
            positionGains=[position_gain] * self._n,
            velocityGains=[velocity_gain] * self._n,
            physicsClientId=self._client,
        )

    def push(self, link: str, force: FloatArray, position: FloatArray) -> None:
        """Push a link with a force (N) at a world position (m) in the next step."""
        self._pushes.append((self._link_index[link], list(force), list(position)))

    def step(self) -> None:
        """Advance the physics by one period."""
        if not self._rotors_act:
            self.apply_torques(self._limp)
        while self._pushes:
            push = self._pushes.pop(0)
            p.applyExternalForce(
                self._body, *push, p.WORLD_FRAME, physicsClientId=self._client
            )
        p.stepSimulation(self._client)
        self._joints_are_read = self._rotors_act = False

    def native_step(self) -> None:
        """Return None: PyBullet can be stepped from Python only."""

    # -- snapshots, pictures, end -----------------------------------------------

    def render(self, camera: Camera) -> Rendering:
        """Return a camera's picture of the robot, drawn in software (no display)."""
        return draw(self._client, self._body, self._link_name, camera)

    def photograph(self, camera: Camera) -> NDArray[np.uint8]:
        """Return a camera's picture of the whole scene, (height, width, 3)."""
        return photograph(self._client, camera)

    def save(self) -> int:
        """Save the engine's state in memory and return its number."""
        number: int = p.saveState(physicsClientId=self._client)
        self._kept[number] = self._pushes.copy(), self._rotors.state.copy()
        return number

    def restore(self, number: int) -> None:
        """Return to a saved state."""
        p.restoreState(stateId=number, physicsClientId=self._client)
        self._pushes[:], self._rotors.state[:] = self._kept[number]
        self._joints_are_read = self._rotors_act = False
        self._read_base()

    def forget(self, number: int) -> None:
        """Delete a saved state."""
        p.removeState(number, physicsClientId=self._client)
        del self._kept[number]

    def close(self) -> None:
        """Disconnect; a second call has no effect."""
        if self._client >= 0:
            p.disconnect(physicsClientId=self._client)
            self._client = -1
