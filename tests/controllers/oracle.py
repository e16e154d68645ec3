"""PyBullet's inverse dynamics as an oracle."""

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

import numpy as np

with suppress(ModuleNotFoundError):  # the fixture reports it if missing
    import pybullet as pb

from nao_testbed.models import Robot
from tests.controllers.helpers import FloatArray


class PyBulletDynamics:
    """PyBullet's inverse dynamics of the NAO, in joint order, base fixed and upright.

    PyBullet places the base by its inertial frame, whose axes are the principal axes of
    the base's inertia; `to_inertial` rotates vectors of the link frame into it. The
    base is not rotated in that frame; gravity is rotated instead. With flags=0 a base
    rotated about two axes gives wrong results; flags=1 ignores accelerations.
    """

    def __init__(self, robot: Robot) -> None:
        import_module("pybullet")
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
        x, y, z = turn @ gravity
        pb.setGravity(x, y, z, physicsClientId=self.client)
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
        """Return gravity torques with the base itself rotated (flags=1).

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
