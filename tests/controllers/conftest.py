"""Robots, observations and PyBullet as an oracle for the tests of controllers."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pybullet as pb
import pytest
from numpy.typing import NDArray

from controllers import Observation
from models import Robot, default_robot_folder, load_robot

TWO_LEG = Path(__file__).parents[1] / "data" / "two_leg"
UP = (0.0, 0.0, 1.0)
Observe = Callable[..., Observation]
FloatArray = NDArray[np.float64]


@pytest.fixture(scope="session")
def nao() -> Robot:
    return load_robot(default_robot_folder())


@pytest.fixture(scope="session")
def two_leg() -> Robot:
    return load_robot(TWO_LEG)


def make_observation(
    robot: Robot,
    posture: str = "PoseInit",
    *,
    time_s: float = 0.0,
    up: Sequence[float] = UP,
    pressed: Sequence[str] | None = None,
    **changes: FloatArray,
) -> Observation:
    """Return what a robot at rest reads.

    `pressed`: beginnings of the names of the force sensors that carry 6 N; all of them
    when None. `up`: the vertical in the base frame.
    """
    q = robot.posture(posture).angles
    n = len(robot.joints)
    load = [
        6.0 if pressed is None or sensor.name.startswith(tuple(pressed)) else 0.0
        for sensor in robot.force_sensors
    ]
    observation = Observation(
        time_s=time_s,
        q=q.copy(),
        v=np.zeros(n),
        target=q.copy(),
        stiffness=np.ones(n),
        current=np.zeros(len(robot.motors)),
        temperature=np.full(len(robot.motors), 30.0),
        gyro=np.zeros(3),
        accelerometer=9.81 * np.asarray(up, dtype=float) / np.linalg.norm(up),
        fsr=np.array(load),
    )
    return dataclasses.replace(observation, **changes)


@pytest.fixture(scope="session")
def observe() -> Observe:
    return make_observation


class PyBulletDynamics:
    """PyBullet's inverse dynamics of the NAO, in joint order, base at rest unturned.

    PyBullet places the base by its inertial frame, whose axes are the principal axes of
    the base's inertia; `to_inertial` turns vectors of the link frame into it. The base
    stays unturned in that frame and gravity is turned instead: with flags=0 a base
    turned about two axes gives wrong answers, with flags=1 accelerations are ignored.
    """

    def __init__(self, robot: Robot) -> None:
        self.client = pb.connect(pb.DIRECT)
        self.body = pb.loadURDF(
            str(robot.urdf),
            flags=pb.URDF_USE_INERTIA_FROM_FILE,
            physicsClientId=self.client,
        )
        names = [
            pb.getJointInfo(self.body, i, physicsClientId=self.client)[1].decode()
            for i in range(pb.getNumJoints(self.body, physicsClientId=self.client))
        ]
        self.order = np.array([robot.joint_index(name) for name in names])
        info = pb.getDynamicsInfo(self.body, -1, physicsClientId=self.client)
        self.com_of_base = np.array(info[3])
        self.to_inertial = np.array(pb.getMatrixFromQuaternion(info[4])).reshape(3, 3).T

    def torques(
        self,
        q: FloatArray,
        v: FloatArray,
        a: FloatArray,
        gravity: FloatArray,
        base_v: FloatArray | None = None,
        base_a: FloatArray | None = None,
    ) -> FloatArray:
        """Return joint torques; gravity and the base's [angular; linear] velocity and
        acceleration of its centre of mass in the axes of the base link.
        """
        turn = self.to_inertial
        base = [
            np.zeros(6) if x is None else np.concatenate((turn @ x[:3], turn @ x[3:]))
            for x in (base_v, base_a)
        ]
        pb.setGravity(*(turn @ gravity), physicsClientId=self.client)
        tau = pb.calculateInverseDynamics(
            self.body,
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *q[self.order]],
            [*base[0], *v[self.order]],
            [*base[1], *a[self.order]],
            flags=0,
            physicsClientId=self.client,
        )
        result = np.empty(len(q))
        result[self.order] = tau[6:]
        return result

    def turned_gravity_torques(
        self, q: FloatArray, rotation: FloatArray, quaternion: Sequence[float]
    ) -> FloatArray:
        """Return gravity torques with the base really turned (flags=1).

        `rotation`, `quaternion`: of the base's inertial frame in the world.
        """
        pb.setGravity(0.0, 0.0, -9.81, physicsClientId=self.client)
        zeros = [0.0] * (7 + len(q))
        tau = pb.calculateInverseDynamics(
            self.body,
            [0.0, 0.0, 0.0, *quaternion, *q[self.order]],
            zeros,
            zeros,
            flags=1,
            physicsClientId=self.client,
        )
        result = np.empty(len(q))
        result[self.order] = tau[7:]
        return result

    def close(self) -> None:
        pb.disconnect(physicsClientId=self.client)


@pytest.fixture(scope="module")
def engine(nao: Robot) -> Iterator[PyBulletDynamics]:
    dynamics = PyBulletDynamics(nao)
    yield dynamics
    dynamics.close()
