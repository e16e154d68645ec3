"""Rotor inertia for PyBullet that resists joint motion, not rotation of the whole body.

A motor's reflected inertia A = J N² resists the motion of its joint only:

    M a + nle + diag(A) v̇_joints = τ + Jᵀ f                                     (1)

("armature" in MuJoCo and Pinocchio). PyBullet has no armature. An explicit torque -A v̇
is unstable if A exceeds the inertia of the link, so the links carry the rotor inertia
(`sim.engine.engine_urdf`). The link that the joint moves carries A; its angular
velocity about the joint's axis a is w. The inner link holds the joint and carries c A;
s = w - v. PyBullet then has the kinetic energy ½ vᵀ M v + ½ Σ A (w² + c s²) instead of
½ vᵀ M v + ½ Σ A v². With the angular velocity ω of the link, the difference is

    A (a ẇ + w ω × a)      on the moved link,
    c A (a ṡ + s ω × a)    on the inner link,
    -A v̇                   in the joint.

`Rotors` computes it by one pass outwards and one inwards, from a predicted acceleration
â. The prediction uses the accelerations of the previous steps,
a_n = (v_n - v_n-1) / dt, with their trend r:

    e = a_n - â_n,    r_n+1 = r_n + β e,    â_n+1 = â_n + α e + r_n+1,           (2)
    α = 1 - θ²,       β = (1 - θ)²,         θ = e^(-1/n)

Stability. With the mass matrices M_link of PyBullet and M_want of (1), a step gives
M_link a = M_want a_want + (M_link - M_want) â. In each common direction, where
M_want = κ M_link, this is a = κ a_want + (1 - κ) â, and an error of (2) changes as

    z² - (2 - (α + β) κ) z + 1 - α κ = 0,   |z| < 1 for 0 < κ < 4 / (2 α + β)

The bound is 5.8 with n = 5 steps. M_want > 0 gives κ > 0;
v² = (w - s)² <= (1 + 1/c) (w² + c s²) gives κ <= 1 + 1/c = 5, for every robot and
posture. Contacts only restrict the directions and keep the bound. This holds without
servos. Their damping acts one step late and uses up the margin; therefore n is greater
for long steps (`prediction_steps`). Without c, where the moved link alone carries A, κ
would reach 4.6 on the NAO and grow with lighter trunks. A greater c puts more weight on
the prediction, and lightly loaded feet rattle more.

Delay. (2) is exact for an acceleration that is constant or grows linearly. Changes
within 10 ms are followed late: a motion of 20 to 100 Hz loses damping where the links
are heavier than they should be, and gains some where they are lighter.
"""

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from nao_testbed.models import Robot
from nao_testbed.models.load.plain_urdf import plain_urdf
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import INNER_SHARE, rotor_joints
from nao_testbed.sim.engine.interface import rotation_from_quaternion


def prediction_steps(dt: float) -> float:
    """Return n of (2) for steps of `dt` in s: 5, and more from 1.25 ms on."""
    return max(5.0, dt / 0.25e-3)


class Rotors:
    """Torques that remove the rotor inertia from the rotation of the whole body.

    Use: `restart` when the robot is placed; before each step write `base` and the
    joints' `q` and `v`, then call `update` and apply `torque` and `base_torque`.
    """

    def __init__(
        self, robot: Robot, dt: float, base_from_inertial: Sequence[float]
    ) -> None:
        """Build the tree of joints.

        Args:
            robot: robot with these rotors.
            dt: physics period in s.
            base_from_inertial: (4,) quaternion x y z w of the base link in the frame
                whose orientation `base` holds.
        """
        n = len(robot.joints)
        joints = rotor_joints(robot, plain_urdf(robot.urdf))
        parents = [joint.parent for joint in joints]
        order = sorted(range(n), key=lambda joint: len(_ancestors(parents, joint)))
        self._tree = np.array([(k, parents[k]) for k in order], dtype=np.intp)
        self._constants = np.empty((n, 14))
        R_base = rotation_from_quaternion(base_from_inertial)
        for row, joint in zip(self._constants, joints, strict=True):
            origin = joint.origin if joint.parent >= 0 else R_base @ joint.origin
            row[:9], row[9:12] = origin.ravel(), joint.axis
            row[12:] = joint.armature, INNER_SHARE * joint.armature
        theta = float(np.exp(-1.0 / prediction_steps(dt)))
        self._prediction = np.array([dt, 1.0 - theta**2, (1.0 - theta) ** 2])
        self.base = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        """(7,) quaternion x y z w and angular velocity in rad/s of the base, world."""
        self.q, self.v = np.zeros(n), np.zeros(n)
        """(n,) joint angles in rad and velocities in rad/s."""
        self.state = np.zeros((3, 3 + n))
        """Three rows: velocities before the last step (NaN without one); â; trend of â
        per step. Columns: base in the world (angular), then joints."""
        self._torques = np.zeros(3 + n)
        self.base_torque, self.torque = np.split(self._torques, [3])
        """(3,) N·m on the base in the world, and (n,) in the joints."""
        self._work = np.zeros((1 + n, 21))
        self.restart()

    def restart(self) -> None:
        """Clear the motion history; call it after placing the robot at rest."""
        self.state[0], self.state[1:] = np.nan, 0.0

    def update(self) -> None:
        """Compute the torques of the coming step."""
        rotor_torques(
            self.q,
            self.v,
            self.base,
            self._tree,
            self._constants,
            self.state,
            self._torques,
            self._work,
            self._prediction,
        )


def _ancestors(parents: list[int], joint: int) -> list[int]:
    """Return the joints between a joint and the base."""
    up = parents[joint]
    return [] if up < 0 else [up, *_ancestors(parents, up)]


@numba.njit(cache=True)
def rotor_torques(
    q: FloatArray,
    v: FloatArray,
    base: FloatArray,
    tree: NDArray[np.intp],
    constants: FloatArray,
    state: FloatArray,
    torques: FloatArray,
    work: FloatArray,
    prediction: FloatArray,
) -> None:
    """Update â and write the torques; see `Rotors`.

    Args:
        q: (n,) joint angles.
        v: (n,) joint velocities.
        base: (7,) as `Rotors.base`.
        tree: (n, 2) joint and its parent joint or -1, from the base outwards.
        constants: (n, 14) origin (9), axis (3), A and c A of each joint.
        state: (3, 3 + n) as `Rotors.state`; changed.
        torques: (3 + n,) of base and joints; written.
        work: (1 + n, 21) scratch, of the base and each moved link in the world:
            rotation (9), axis (3), ω (3), ω̇ (3), torque of the rotors from there
            outwards (3).
        prediction: period dt in s, α and β of (2).
    """
    n = q.size
    dt, alpha, beta = prediction[0], prediction[1], prediction[2]
    begins = np.isnan(state[0, 0])
    for i in range(3 + n):
        now = base[4 + i] if i < 3 else v[i - 3]
        if not begins:
            error = (now - state[0, i]) / dt - state[1, i]
            state[2, i] += beta * error
            state[1, i] += alpha * error + state[2, i]
        state[0, i] = now
    x, y, z, w = base[0], base[1], base[2], base[3]
    trunk = work[0]
    trunk[0], trunk[4] = 1.0 - 2.0 * (y * y + z * z), 1.0 - 2.0 * (x * x + z * z)
    trunk[1], trunk[3] = 2.0 * (x * y - z * w), 2.0 * (x * y + z * w)
    trunk[2], trunk[6] = 2.0 * (x * z + y * w), 2.0 * (x * z - y * w)
    trunk[5], trunk[7] = 2.0 * (y * z - x * w), 2.0 * (y * z + x * w)
    trunk[8] = 1.0 - 2.0 * (x * x + y * y)
    for i in range(3):
        trunk[12 + i], trunk[15 + i], trunk[18 + i] = base[4 + i], state[1, i], 0.0
    for m in range(n):  # outwards
        k = tree[m, 0]
        link, inner, fixed = work[1 + k], work[1 + tree[m, 1]], constants[k]
        b0, b1, b2, A = fixed[9], fixed[10], fixed[11], fixed[12]
        cos, sin = np.cos(q[k]), np.sin(q[k])
        for i in range(3):
            r0, r1, r2 = inner[3 * i], inner[3 * i + 1], inner[3 * i + 2]
            p0 = r0 * fixed[0] + r1 * fixed[3] + r2 * fixed[6]
            p1 = r0 * fixed[1] + r1 * fixed[4] + r2 * fixed[7]
            p2 = r0 * fixed[2] + r1 * fixed[5] + r2 * fixed[8]
            along = p0 * b0 + p1 * b1 + p2 * b2
            link[9 + i] = along
            rest = (1.0 - cos) * along
            link[3 * i] = cos * p0 + sin * (p1 * b2 - p2 * b1) + rest * b0
            link[3 * i + 1] = cos * p1 + sin * (p2 * b0 - p0 * b2) + rest * b1
            link[3 * i + 2] = cos * p2 + sin * (p0 * b1 - p1 * b0) + rest * b2
        s = s_dot = 0.0
        for i in range(3):
            s += link[9 + i] * inner[12 + i]
            s_dot += link[9 + i] * inner[15 + i]
        v_dot = state[1, 3 + k]
        for i in range(3):
            j, h = (i + 1) % 3, (i + 2) % 3
            a = link[9 + i]
            turn = inner[12 + j] * link[9 + h] - inner[12 + h] * link[9 + j]  # ω × a
            link[12 + i] = inner[12 + i] + a * v[k]
            link[15 + i] = inner[15 + i] + a * v_dot + turn * v[k]
            link[18 + i] = A * (a * (s_dot + v_dot) + (s + v[k]) * turn)
            inner[18 + i] += fixed[13] * (a * s_dot + s * turn)
    for m in range(n - 1, -1, -1):  # inwards
        k = tree[m, 0]
        link, inner = work[1 + k], work[1 + tree[m, 1]]
        torques[3 + k] = -constants[k, 12] * state[1, 3 + k]
        for i in range(3):
            torques[3 + k] += link[9 + i] * link[18 + i]
            inner[18 + i] += link[18 + i]
    for i in range(3):
        torques[i] = trunk[18 + i]
