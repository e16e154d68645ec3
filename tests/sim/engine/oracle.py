"""Pinocchio on the plain URDF of a robot: the oracle for PyBullet's world.

Nothing here comes from `sim`: the rotor inertias are added to Pinocchio's own bodies.
Velocities are those of Pinocchio: base linear and angular in the base frame, then the
joints; `v_of_joint` says where each joint of `Robot.joints` is.
"""

from collections.abc import Iterable

import numpy as np
import pinocchio as pin

from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import INNER_SHARE


class Oracle:
    """A robot in Pinocchio, with a floating base."""

    def __init__(self, robot: Robot, rotors: bool = False) -> None:
        """Read the URDF; `rotors` puts the rotors into the links as PyBullet has them.

        J N² a aᵀ in each moved body, `INNER_SHARE` of it in its parent.
        """
        self.robot = robot
        self.model = pin.buildModelFromUrdf(str(robot.urdf), pin.JointModelFreeFlyer())
        ids = [self.model.getJointId(name) for name in robot.joint_names]
        self.q_of_joint = np.array([self.model.idx_qs[i] for i in ids])
        self.v_of_joint = np.array([self.model.idx_vs[i] for i in ids])
        self._ids = ids
        self.data = self.model.createData()
        if rotors:
            for i, inertia in zip(ids, self.rotor_tensors(), strict=True):
                R = self.model.jointPlacements[i].rotation
                self._add(i, inertia)
                self._add(self.model.parents[i], INNER_SHARE * R @ inertia @ R.T)
            self.data = self.model.createData()

    def _add(self, body: int, inertia: FloatArray) -> None:
        own = self.model.inertias[body]
        self.model.inertias[body] = pin.Inertia(
            own.mass, own.lever, own.inertia + inertia
        )

    def armature(self) -> FloatArray:
        """Return (n_joints,) rotor inertia of each joint; coupled joints share it."""
        motors = [self.robot.motors[m] for m in self.robot.servo_of_joint]
        return np.array([motor.armature / len(motor.joints) for motor in motors])

    def axis(self, joint: int) -> FloatArray:
        """Return the (3,) axis of a joint in the frame of its link."""
        q = pin.neutral(self.model)
        pin.computeJointJacobians(self.model, self.data, q)
        J = pin.getJointJacobian(self.model, self.data, self._ids[joint], pin.LOCAL)
        axis: FloatArray = J[3:, self.v_of_joint[joint]].copy()
        return axis

    def rotor_tensors(self) -> list[FloatArray]:
        """Return J N² a aᵀ (3, 3) of each joint, in the frame of its link."""
        return [
            armature * np.outer(self.axis(j), self.axis(j))
            for j, armature in enumerate(self.armature())
        ]

    def configuration(
        self, joints: FloatArray, position: FloatArray, quaternion: FloatArray
    ) -> FloatArray:
        """Return Pinocchio's (nq,) configuration."""
        q: FloatArray = pin.neutral(self.model)
        q[:3] = position
        q[3:7] = quaternion
        q[self.q_of_joint] = joints
        return q

    def frame(self, link: str) -> int:
        """Return the number of a link's frame."""
        frame: int = self.model.getFrameId(link, pin.BODY)
        return frame

    def mass_matrix(self, q: FloatArray) -> FloatArray:
        """Return (nv, nv) of the links, with J N² of each joint on the diagonal."""
        upper = np.triu(pin.crba(self.model, self.data, q))
        M: FloatArray = upper + np.triu(upper, 1).T
        M[self.v_of_joint, self.v_of_joint] += self.armature()
        return M

    def velocity(
        self, joints: FloatArray, R_WB: FloatArray, linear: FloatArray, w: FloatArray
    ) -> FloatArray:
        """Return Pinocchio's (nv,) velocity.

        Args:
            joints: (n_joints,) in rad/s.
            R_WB: (3, 3) base to world.
            linear: (3,) velocity of the base's centre of mass, world axes.
            w: (3,) angular velocity of the base, world axes.
        """
        v = np.zeros(self.model.nv)
        v[3:6] = R_WB.T @ w
        com = self.model.inertias[1].lever
        v[:3] = R_WB.T @ linear - np.cross(v[3:6], com)
        v[self.v_of_joint] = joints
        return v

    def energies(self, q: FloatArray, v: FloatArray) -> tuple[float, float]:
        """Return kinetic energy, that of the rotors included, and potential in J."""
        kinetic = pin.computeKineticEnergy(self.model, self.data, q, v)
        kinetic += 0.5 * float(self.armature() @ v[self.v_of_joint] ** 2)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, q)

    def place(self, q: FloatArray) -> None:
        """Compute all frames for `link_pose` and `com`."""
        pin.framesForwardKinematics(self.model, self.data, q)

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) and rotation (3, 3) of a link frame in the world."""
        pose = self.data.oMf[self.frame(link)]
        return pose.translation.copy(), pose.rotation.copy()

    def mass(self, link: str) -> float:
        """Return the mass of a link in kg."""
        return self._body(link).mass

    def inertia(self, link: str) -> FloatArray:
        """Return (3, 3) about the centre of mass, in link axes."""
        return self._body(link).inertia.copy()

    def com(self, link: str) -> FloatArray:
        """Return the (3,) centre of mass of a link in the world."""
        position, R = self.link_pose(link)
        com: FloatArray = position + R @ self._body(link).lever
        return com

    def _body(self, link: str) -> pin.Inertia:
        return self.model.inertias[self.model.frames[self.frame(link)].parentJoint]

    def static_torques(
        self, q: FloatArray, contacts: Iterable[tuple[str, FloatArray, FloatArray]]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the torques of static balance: S τ = g(q) - Σ Jᵀ f.

        Args:
            q: configuration.
            contacts: link, point in the world (3,), force on the robot (3,).

        Returns:
            The (6,) wrench missing at the base (zero at rest), and the (n_joints,)
            torques.
        """
        model, data = self.model, self.data
        gravity = pin.computeGeneralizedGravity(model, data, q)
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        tau = np.array(gravity)
        for link, point, force in contacts:
            frame = self.frame(link)
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            arm = np.asarray(point) - data.oMf[frame].translation
            tau -= J[:3].T @ force + J[3:].T @ np.cross(arm, force)
        return tau[:6], tau[self.v_of_joint]
