"""The robot's body in its world: engine and servos, stepped together.

In each tick the servos compute torques from the true joint state, and the engine moves
the joints. Nothing here knows sensors, heat or commands.

Before anything moves a posture rests on the ground. The contact candidates of a body
span a convex hull; the body rests on that face of the hull above which its centre of
mass lies. Where several faces qualify, the one whose corners belong to the effectors of
the posture wins, then the more upright one.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull, QhullError

from models import BadInput, Posture, Robot, TestbedError
from sim.engine import make_engine
from sim.engine.interface import Engine, rotation_from_quaternion
from sim.engine.world import WorldCfg
from sim.recording.channels import Channel
from sim.recording.recorder import LastSecond
from sim.servo import Servo, ServoCfg

FloatArray = NDArray[np.float64]

COPLANAR = 2e-3
"""Points this close to a face (m) count as its corners."""


@dataclass(frozen=True, kw_only=True)
class Rest:
    """A resting face, in the base frame."""

    normal: FloatArray
    """(3,) unit vector away from the ground."""
    effectors: frozenset[str]
    """Body parts that touch."""


def resting_faces(robot: Robot, points: FloatArray, com: FloatArray) -> list[Rest]:
    """Return the faces of the candidates' hull on which the body can rest.

    Args:
        robot: whose contact points they are.
        points: (n_contact_points, 3) in the base frame, in m.
        com: (3,) centre of mass in the base frame, in m.
    """
    hull = ConvexHull(points)
    rests = []
    for equation in np.unique(hull.equations.round(9), axis=0):
        outward, offset = equation[:3], equation[3]
        distance = -(points @ outward + offset)
        touching = np.flatnonzero(distance < COPLANAR)
        if _is_above(points[touching], com, outward):
            names = frozenset(robot.contact_points[i].effector for i in touching)
            rests.append(Rest(normal=-outward, effectors=names))
    return rests


def resting_normal(
    robot: Robot, posture: Posture, points: FloatArray, com: FloatArray
) -> FloatArray:
    """Return the ground's normal (3,) in the base frame for a posture at rest.

    Points and com as in `resting_faces`; a posture that can rest on nothing stands
    with its base upright.
    """
    rests = resting_faces(robot, points, com)
    if not rests:
        return np.array([0.0, 0.0, 1.0])
    listed = set(posture.effectors)

    def preference(rest: Rest) -> tuple[int, float]:
        return (-len(listed.symmetric_difference(rest.effectors)), rest.normal[2])

    return max(rests, key=preference).normal


def _is_above(corners: FloatArray, com: FloatArray, outward: FloatArray) -> bool:
    """Is the centre of mass, seen along the face's normal, inside the face?"""
    if len(corners) < 3:
        return False
    u = np.linalg.svd(outward[None, :])[2][1:]  # (2, 3) basis of the plane
    flat = corners @ u.T
    try:
        hull = ConvexHull(flat)
    except QhullError:
        return False
    inside = hull.equations[:, :2] @ (com @ u.T) + hull.equations[:, 2]
    return bool((inside <= 0.0).all())


def rotation_to_normal(normal: FloatArray, ground_normal: FloatArray) -> FloatArray:
    """Return the quaternion x y z w that turns `normal` onto the ground's normal.

    The shortest turn: the robot keeps its heading.
    """
    axis = np.cross(normal, ground_normal)
    quaternion = np.array([*axis, 1.0 + float(normal @ ground_normal)])
    if quaternion[3] < 1e-9:  # upside down: half a turn about x
        return np.array([1.0, 0.0, 0.0, 0.0])
    quaternion /= np.linalg.norm(quaternion)
    return quaternion


def place_at_rest(engine: Engine, robot: Robot, posture: Posture) -> None:
    """Put a robot into a posture, resting on the ground without a gap."""
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
    """Look whether a placed robot stands clear of all obstacles.

    Raises:
        BadInput: a link stands in one; the message names the deepest, of some equally
            deep (to 1 µm) the last by name, as rounding differs between engines.
    """
    overlaps = engine.overlaps()
    if overlaps:
        (obstacle, link), depth = max(
            overlaps.items(), key=lambda item: (round(item[1], 6), item[0])
        )
        raise BadInput(
            f"obstacle {obstacle!r} is where the robot starts: {link} stands "
            f"{1000.0 * depth:.1f} mm deep in it; move it away from the robot by at "
            "least that, or make it smaller."
        )


def check_start(robot: Robot, world: WorldCfg, posture: str) -> None:
    """Look whether a robot in a posture starts clear of what stands in its way.

    Raises:
        BadInput: it does not.
    """
    if not world.obstacles:
        return
    engine = make_engine(robot, replace(world, gui=False))
    try:
        place_at_rest(engine, robot, robot.posture(posture))
        check_clear(engine)
    finally:
        engine.close()


FALL_TILT = np.cos(np.deg2rad(45.0))
"""A robot whose base turned by more than 45 degrees has fallen."""
TOUCH_DOWN_S = 0.1
"""Time before the start in which the placed robot settles on its soles, in s."""
POSITION_GAIN, VELOCITY_GAIN = 0.2, 1.0
"""Gains of PyBullet's own motors, in its units (fraction of the error a step)."""


class SimulationDiverged(TestbedError):
    """A number in the engine is not finite any more."""


class Body:
    """Engine and servos of one robot.

    Use: construct (it rests on the ground in its posture, set-points at its encoder
    readings), then `tick` once a physics step. The arrays `q`, `v` and those of `servo`
    are live.
    """

    def __init__(
        self,
        robot: Robot,
        world: WorldCfg,
        servo: ServoCfg,
        misalignment: FloatArray,
        posture: str,
    ) -> None:
        """Build the world, place the robot, let the ground take its weight.

        Args:
            robot: whose body it is.
            world: where it stands.
            servo: what of its motor boards is modelled.
            misalignment: (n_joints,) true angle less encoder angle, in rad.
            posture: name of the one that it takes.

        Raises:
            BadInput: a value cannot be used.
            SimulationDiverged: a torque is not finite.
        """
        self._robot = robot
        self._misalignment = misalignment
        self._uses_engine_motors = servo.kind == "pybullet"
        self.engine = make_engine(robot, world)
        dt = world.physics_dt
        # Angles, velocities and joint torques side by side: one copy keeps all three.
        self._row = np.zeros(3 * len(robot.joints))
        self.q, self.v, joint_torque = np.split(self._row, 3)
        self.q[:] = robot.posture(posture).angles
        self.servo = Servo(robot, servo, dt, misalignment, joint_torque)
        names = robot.joint_names
        self.last_second = LastSecond(
            (
                Channel(name="q", unit="rad", members=names, stored="float64"),
                Channel(name="v", unit="rad/s", members=names, stored="float64"),
                Channel(name="effort", unit="N·m", members=names, stored="float64"),
            ),
            rows=round(1.0 / dt),
        )
        place_at_rest(self.engine, robot, robot.posture(posture))
        check_clear(self.engine)
        self._start_up = self._up_in_base()
        # As on the robot: without stiffness the set-point follows the encoder.
        self.servo.target[:] = self.q - misalignment
        for _ in range(round(TOUCH_DOWN_S / dt)):
            self.tick(0.0)
        self.servo.square_sum[:] = 0.0

    def tick(self, time_s: float) -> None:
        """Let one physics step pass.

        Args:
            time_s: at its begin, in s.

        Raises:
            SimulationDiverged: a torque is not finite; the state is left as it is.
        """
        if self._uses_engine_motors:
            self._tick_engine_motors(time_s)
            return
        engine, servo, q, v = self.engine, self.servo, self.q, self.v
        finite = servo.step(q, v)
        self.last_second.push_row(time_s, self._row)
        if not finite:
            raise SimulationDiverged(self._divergence(time_s))
        engine.apply_torques(servo.joint_torque.tolist())
        engine.step()
        engine.read_joints(q, v)

    def _tick_engine_motors(self, time_s: float) -> None:
        """One tick with PyBullet's own motors, for comparison.

        Joints on one motor take its leading joint's set-point and share its limit.
        """
        engine, servo = self.engine, self.servo
        lead, sharing = servo.lead_of_joint, servo.sharing
        engine.apply_position_targets(
            (servo.target[lead] + self._misalignment).tolist(),
            servo.velocity[lead].tolist(),
            (servo.limit[lead] / sharing).tolist(),
            POSITION_GAIN,
            VELOCITY_GAIN,
        )
        engine.step()
        engine.read_joints(self.q, self.v)
        engine.read_motor_torques(servo.joint_torque)
        # PyBullet goes on telling the last torque of a motor that it has switched off.
        np.copyto(servo.joint_torque, 0.0, where=servo.limit[lead] == 0.0)
        self.last_second.push_row(time_s, self._row)
        if not np.isfinite(servo.joint_torque.sum() + self.q.sum()):
            raise SimulationDiverged(self._divergence(time_s))
        servo.motor_torque[:] = np.bincount(
            self._robot.motor_of_joint, servo.joint_torque
        )
        servo.square_sum += servo.motor_torque**2

    def has_fallen(self) -> bool:
        """Has the base turned by more than 45 degrees since the start?"""
        return bool(self._up_in_base() @ self._start_up < FALL_TILT)

    def arrays(self) -> tuple[FloatArray, ...]:
        """Return all that changes, live, but for the engine's own state."""
        servo = self.servo
        return (
            self.q,
            self.v,
            servo.target,
            servo.velocity,
            servo.limit,
            servo.presliding,
            servo.joint_torque,
            servo.motor_torque,
            servo.square_sum,
        )

    def _up_in_base(self) -> FloatArray:
        _, quaternion = self.engine.base_pose()
        up: FloatArray = rotation_from_quaternion(quaternion)[2]
        return up

    def _divergence(self, time_s: float) -> str:
        bad = [
            name
            for name, angle, torque in zip(
                self._robot.joint_names, self.q, self.servo.joint_torque, strict=True
            )
            if not (np.isfinite(angle) and np.isfinite(torque))
        ]
        return (
            f"at {time_s:.3f} s the torque of {', '.join(bad)} is not finite; "
            "the last second is kept in the run folder."
        )
