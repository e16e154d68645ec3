"""MuJoCo engine: a model and its state, advanced step by step.

MuJoCo computes poses at the start of a step. Readings between steps first update the
poses (`_refresh`); ticks without readings cost nothing. Contacts and their forces are
those of the last step, as in PyBullet.

This engine offers no window, pictures or motors; requests for them raise
`FeatureMissing`.
"""

import _thread
import copy
import ctypes
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import (
    TOUCHING,
    Contact,
    EngineMissing,
    FeatureMissing,
    NativeStep,
    ObstacleContact,
    rotation_from_quaternion,
    sum_by_pair,
)
from nao_testbed.sim.engine.mjcf import GROUND, write_mjcf
from nao_testbed.sim.engine.world import Camera, Rendering, WorldCfg, slope_quaternion

try:
    import mujoco
except ImportError as error:
    raise EngineMissing(
        "engine 'mujoco' needs the library MuJoCo, which is not installed; "
        "run `pip install '.[mujoco]'` in the checkout."
    ) from error


def _pass_on(warning: str) -> None:
    """Log a warning of the engine, instead of writing the file MUJOCO_LOG.TXT.

    An exception in the handler would end the process: MuJoCo cannot propagate it.
    """
    try:
        logging.getLogger("mujoco").warning(warning)
    except KeyboardInterrupt:
        _thread.interrupt_main()
    except BaseException:  # noqa: BLE001  no caller could catch it
        return


mujoco.set_mju_user_warning(_pass_on)

ENGINE_VERSION = f"mujoco {mujoco.__version__}"
NOT_THE_ROBOT = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
"""Geom groups that rays can hit."""
_LIBRARY = ctypes.CDLL(mujoco._functions.__file__)  # this module loads MuJoCo's library
MJ_STEP = ctypes.cast(_LIBRARY.mj_step, ctypes.c_void_p).value or 0
"""Address of the C function."""
NEVER = float("nan")
_NO_LOAD = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class _Touch:
    """Contact of a link with a fixed shape."""

    other: int
    """Geom of the ground or of a box."""
    link: int
    position: FloatArray
    force: FloatArray
    """(3,) on the robot, in the world, in N."""
    normal_force: float


class MujocoEngine:
    """MuJoCo model with a ground and one robot; see `sim.engine.interface.Engine`."""

    def __init__(self, robot: Robot, cfg: WorldCfg) -> None:
        """Compile the model.

        Raises:
            BadInput: the URDF cannot be used.
            FeatureMissing: a window was requested.
        """
        if cfg.gui:
            self._lacks("window")
        self.robot = robot
        self.cfg = cfg
        try:
            self._m: Any = mujoco.MjModel.from_xml_string(write_mjcf(robot, cfg))
        except ValueError as error:
            raise BadInput(
                f"MuJoCo rejects robot {robot.name!r}: {error}; correct its URDF, or "
                "use --engine pybullet."
            ) from error
        m = self._m
        self._d: Any = mujoco.MjData(m)
        joints = [m.joint(name) for name in robot.joint_names]
        self._q_index = _span([int(joint.qposadr[0]) for joint in joints])
        self._v_index = _span([int(joint.dofadr[0]) for joint in joints])
        self._body = {link.name: m.body(link.name).id for link in robot.links}
        self._body |= {m.body(i).name: i for i in range(1, m.nbody)}
        self._base = self._body[robot.base_link]
        self._ground = m.geom(GROUND).id
        self._obstacles = {
            m.geom(f"obstacle:{box.name}").id: box.name for box in cfg.obstacles
        }
        fixed = {self._ground, *self._obstacles}
        self._shapes = [i for i in range(m.ngeom) if i not in fixed]
        self._touching = [i for i in self._shapes if m.geom_contype[i]]
        self._is_fixed = [i in fixed for i in range(m.ngeom)]
        self._body_of: list[int] = m.geom_bodyid.tolist()
        self._tau, self._wrench = self._d.qfrc_applied, self._d.xfrc_applied
        self._qpos, self._qvel = self._d.qpos, self._d.qvel
        # Time of the state for which poses and loads were last computed.
        self._posed_at = self._loaded_at = NEVER
        self._loads: dict[int, tuple[float, float, float, float]] = {}
        self._saved: dict[int, Any] = {}
        self._next_save = 0
        self._normal = _up(cfg.slope_deg)

    @property
    def ground_normal(self) -> FloatArray:
        """(3,) unit vector upwards from the ground, in the world."""
        return self._normal

    def set_ground(self, friction: float, slope_deg: float) -> None:
        """Change friction and slope of the ground from the next step on.

        Units as in `WorldCfg`. The ground turns about the world's origin; change the
        slope in small steps under a standing robot.
        """
        x, y, z, w = slope_quaternion(slope_deg)
        self._m.geom_friction[self._ground, 0] = friction
        self._m.geom_quat[self._ground] = (w, x, y, z)
        self._normal = _up(slope_deg)
        self.cfg = replace(self.cfg, friction=friction, slope_deg=slope_deg)
        self._posed_at = self._loaded_at = NEVER

    # -- state --------------------------------------------------------------------

    def place(
        self, q: FloatArray, base_position: FloatArray, base_quaternion: FloatArray
    ) -> None:
        """Put the robot at rest in a pose: joint angles in rad, base link frame."""
        x, y, z, w = base_quaternion
        mujoco.mj_resetData(self._m, self._d)
        if self.robot.has_legs:
            self._qpos[:3] = base_position
            self._qpos[3:7] = (w, x, y, z)
        else:
            self._m.body_pos[self._base] = base_position
            self._m.body_quat[self._base] = (w, x, y, z)
        self._qpos[self._q_index] = q
        self._posed_at = self._loaded_at = NEVER

    def _refresh(self) -> None:
        """Update poses and velocities of bodies for the present joint state."""
        now = self._d.time
        if self._posed_at != now:
            mujoco.mj_kinematics(self._m, self._d)
            mujoco.mj_comPos(self._m, self._d)
            mujoco.mj_comVel(self._m, self._d)
            self._posed_at = now

    def clearance(self) -> float:
        """Return the smallest distance of the robot's shapes to the ground, in m.

        It is computed from the support of a shape in the direction -n, with the
        ground's normal n; exact for a plane through the origin. Negative if a shape
        penetrates the ground.
        """
        self._refresh()
        lowest = [self._height(shape) for shape in self._shapes]
        return min(lowest, default=float("inf"))

    def _height(self, shape: int) -> float:
        """Return the smallest distance of a shape to the ground's plane, in m."""
        m, n = self._m, self._normal
        centre = float(self._d.geom_xpos[shape] @ n)
        along = self._d.geom_xmat[shape].reshape(3, 3).T @ n
        size, kind = m.geom_size[shape], m.geom_type[shape]
        if kind == mujoco.mjtGeom.mjGEOM_BOX:
            return centre - float(np.abs(along) @ size)
        if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            return centre - float(size[0])
        if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
            return centre - float(size[0] + size[1] * abs(along[2]))
        if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
            across = np.hypot(along[0], along[1])
            return centre - float(size[0] * across + size[1] * abs(along[2]))
        mesh = m.geom_dataid[shape]
        start, count = m.mesh_vertadr[mesh], m.mesh_vertnum[mesh]
        return centre + float((m.mesh_vert[start : start + count] @ along).min())

    def base_pose(self) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and quaternion (4,) of the base link frame."""
        self._refresh()
        w, x, y, z = self._d.xquat[self._base]
        return self._d.xpos[self._base].copy(), np.array([x, y, z, w])

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) in m and rotation (3, 3) of a link frame."""
        self._refresh()
        body = self._body[link]
        return self._d.xpos[body].copy(), self._d.xmat[body].reshape(3, 3).copy()

    def link_com(self, link: str) -> FloatArray:
        """Return the centre of mass (3,) of a link in the world, in m."""
        self._refresh()
        com: FloatArray = self._d.xipos[self._body[link]].copy()
        return com

    def link_twist(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return linear (3,) velocity of a link's centre of mass, and angular (3,)."""
        self._refresh()
        twist = np.empty(6)
        mujoco.mj_objectVelocity(
            self._m, self._d, mujoco.mjtObj.mjOBJ_BODY, self._body[link], twist, 0
        )
        return twist[3:], twist[:3]

    def _touches(self) -> Iterator[_Touch]:
        """Yield the contacts of the last step, with the forces on the robot."""
        m, d = self._m, self._d
        f = np.empty(6)
        for number in range(d.ncon):
            contact = d.contact[number]
            first, second = contact.geom
            mujoco.mj_contactForce(m, d, number, f)
            frame = contact.frame.reshape(3, 3)  # row 0 from first to second
            force = f[:3] @ frame
            if self._is_fixed[second]:  # the force is on the second geom
                first, second, force = second, first, -force
            yield _Touch(
                int(first),
                int(m.geom_bodyid[second]),
                contact.pos.copy(),
                force,
                float(f[0]),
            )

    def contacts(self) -> list[Contact]:
        """Return the contacts of robot and ground, with the force on the robot."""
        return [
            Contact(self._name(t), _tuple(t.position), t.force, t.normal_force)
            for t in self._touches()
            if t.other == self._ground
        ]

    def obstacle_contacts(self) -> list[ObstacleContact]:
        """Return the contacts of robot and obstacles, with the force on the robot."""
        return [
            ObstacleContact(
                self._obstacles[t.other], self._name(t), _tuple(t.position), t.force
            )
            for t in self._touches()
            if t.other != self._ground
        ]

    def obstacle_forces(self) -> dict[tuple[str, str], float]:
        """Return the contact force in N by pair of obstacle and link."""
        return sum_by_pair(self.obstacle_contacts()) if self._obstacles else {}

    def _name(self, touch: _Touch) -> str:
        name: str = self._m.body(touch.link).name
        return name

    def overlaps(self) -> dict[tuple[str, str], float]:
        """Return the depth of overlap in m by pair of obstacle and link."""
        self._refresh()
        found: dict[tuple[str, str], float] = {}
        for box, name in self._obstacles.items():
            for shape in self._touching:
                between = np.empty(6)
                depth = -mujoco.mj_geomDistance(
                    self._m, self._d, shape, box, 0.01, between
                )
                pair = name, self._m.body(self._m.geom_bodyid[shape]).name
                if depth > found.get(pair, TOUCHING):
                    found[pair] = depth
        return found

    def normal_load(self, link: str) -> tuple[float, FloatArray]:
        """Return the load on a link along the ground's normal.

        An obstacle contributes the component f_i n_i · n along the ground's normal n.

        Returns:
            Sum F of the normal forces in N, and sum of F_i p_i (3,) in N·m with the
            contact points p_i in the world.
        """
        now = self._d.time
        if self._loaded_at != now:
            self._loads = self._find_loads()
            self._loaded_at = now
        force, *moment = self._loads.get(self._body[link], _NO_LOAD)
        return force, np.array(moment)

    def _find_loads(self) -> dict[int, tuple[float, float, float, float]]:
        """Return F in N and the sum of F_i p_i in N·m by body, of the last step.

        The cone is elliptic: the first force of a contact is the normal one.
        """
        contact, forces = self._d.contact, self._d.efc_force.tolist()
        is_fixed, body_of, ground = self._is_fixed, self._body_of, self._ground
        rows, places = contact.efc_address.tolist(), contact.pos.tolist()
        loads: dict[int, tuple[float, float, float, float]] = {}
        # Plain floats: for eight contacts numpy takes three times as long.
        for k, (first, second) in enumerate(contact.geom.tolist()):
            if rows[k] < 0:  # detected, but too distant for a force
                continue
            f = forces[rows[k]]
            is_second = not is_fixed[second]  # the robot's shape is the second
            shape, other = (second, first) if is_second else (first, second)
            if other != ground:
                normal = contact.frame[k, :3] if is_second else -contact.frame[k, :3]
                f *= max(0.0, float(self._normal @ normal))
            total, mx, my, mz = loads.get(body_of[shape], _NO_LOAD)
            x, y, z = places[k]
            loads[body_of[shape]] = total + f, mx + f * x, my + f * y, mz + f * z
        return loads

    def cast(
        self, origin: FloatArray, directions: FloatArray, reach: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return lengths and surface normals of rays; see `Engine.cast`."""
        self._refresh()
        n = len(directions)
        distance, normals = np.empty(n), np.empty((n, 3))
        geoms = np.empty(n, dtype=np.int32)
        mujoco.mj_multiRay(
            self._m,
            self._d,
            origin,
            np.ravel(directions),
            NOT_THE_ROBOT,
            1,
            -1,
            geoms,
            distance,
            normals.ravel(),
            n,
            reach,
        )
        meets_nothing = (geoms < 0) | (distance >= reach)
        distance[meets_nothing], normals[meets_nothing] = reach, 0.0
        return distance, normals

    # -- the loop -----------------------------------------------------------------

    def read_joints(self, q: FloatArray, v: FloatArray) -> None:
        """Write joint angles in rad and velocities in rad/s into q and v."""
        q[:] = self._qpos[self._q_index]
        v[:] = self._qvel[self._v_index]

    def apply_torques(self, tau: Sequence[float] | FloatArray) -> None:
        """Set the joint torques in N·m of the next step only."""
        self._tau[self._v_index] = tau

    def push(self, link: str, force: FloatArray, position: FloatArray) -> None:
        """Push a link with a force (N) at a world position (m) in the next step."""
        arm = position - self.link_com(link)
        wrench = self._wrench[self._body[link]]
        wrench[:3] += force
        wrench[3:] += np.cross(arm, force)

    def step(self) -> None:
        """Advance the physics by one period."""
        mujoco.mj_step(self._m, self._d)
        self._tau[:] = 0.0
        self._wrench[:] = 0.0

    def native_step(self) -> NativeStep:
        """Return `mj_step` itself, without its Python binding.

        The binding turns an error of the engine into an exception; without it an error
        ends the process. The only error of `mj_step` is a full arena; a robot that lies
        on the ground uses a fiftieth of it. Contacts that do not fit are dropped with a
        warning.
        """
        return NativeStep(
            owners=(self._m, self._d),
            function=MJ_STEP,
            model=self._m._address,
            data=self._d._address,
            positions=self._qpos,
            velocities=self._qvel,
            forces=self._tau,
            wrenches=self._wrench,
            q_index=np.arange(self._m.nq)[self._q_index],
            v_index=np.arange(self._m.nv)[self._v_index],
        )

    # -- snapshots, end -----------------------------------------------------------

    def save(self) -> int:
        """Save the engine's state in memory and return its number."""
        self._next_save += 1
        self._saved[self._next_save] = copy.copy(self._d)
        return self._next_save

    def restore(self, number: int) -> None:
        """Return to a saved state."""
        mujoco.mj_copyData(self._d, self._m, self._saved[number])
        self._posed_at = self._loaded_at = NEVER

    def forget(self, number: int) -> None:
        """Delete a saved state."""
        del self._saved[number]

    def close(self) -> None:
        """Delete the saved states; a second call has no effect."""
        self._saved.clear()

    # -- missing features --------------------------------------------------------------

    def _lacks(self, feature: str) -> NoReturn:
        raise FeatureMissing("mujoco", feature, "use --engine pybullet")

    def read_motor_torques(self, tau: FloatArray) -> None:  # noqa: ARG002
        """Raise FeatureMissing: the engine has no motors."""
        self._lacks("position motors of its own (--servo pybullet)")

    def apply_position_targets(
        self,
        target: Sequence[float],  # noqa: ARG002
        velocity: Sequence[float],  # noqa: ARG002
        limit: Sequence[float],  # noqa: ARG002
        position_gain: float,  # noqa: ARG002
        velocity_gain: float,  # noqa: ARG002
    ) -> None:
        """Raise FeatureMissing: the engine has no motors."""
        self._lacks("position motors of its own (--servo pybullet)")

    def render(self, camera: Camera) -> Rendering:  # noqa: ARG002
        """Raise FeatureMissing: the engine draws no pictures."""
        self._lacks("pictures")

    def photograph(self, camera: Camera) -> NDArray[np.uint8]:  # noqa: ARG002
        """Raise FeatureMissing: the engine draws no pictures."""
        self._lacks("pictures")


def _span(places: Sequence[int]) -> slice | NDArray[np.intp]:
    """Return places in an array as a slice (a view) if they have no gap."""
    first = places[0] if places else 0
    if list(places) == list(range(first, first + len(places))):
        return slice(first, first + len(places))
    return np.array(places, dtype=np.intp)


def _up(slope_deg: float) -> FloatArray:
    """Return the ground's normal (3,) in the world."""
    return rotation_from_quaternion(slope_quaternion(slope_deg))[:, 2].copy()


def _tuple(position: FloatArray) -> tuple[float, float, float]:
    x, y, z = position.tolist()
    return x, y, z
