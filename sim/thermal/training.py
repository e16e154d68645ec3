"""Reward terms for training elsewhere: temperature, useless watts, thermal barrier.

    T' = T_f + e^{-λ dt / C} (T - T_f),    T_f = Tₐ + P / λ,    P = c (S τ)²

Two feet on the ground may press against each other by a wrench w on the left one and -w
on the right one, which neither carries nor accelerates the robot. The contacts need

    min_w Σ_m c_m (S (τ - A w))_m²,    the wrenches of both feet ± w in their cones;

the rest of the loss is useless. The cone of a rectangular sole has 16 faces
[caron2015], here with μ / √2, within the round cones at its corners. ADMM solves for w.
Each sole lies flat on the ground, or carries nothing. Arrays are of NumPy or torch,
with any leading axes. The file imports NumPy only.
"""

import sys
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from nao_testbed.models import Robot

Array = Any


@dataclass(frozen=True, kw_only=True)
class HeatConstants:
    """Constants of the motors of a robot."""

    loss: Array
    """(..., n_motors) c = R / K², K at the joint, in W/(N·m)²."""
    conductance: Array
    """(..., n_motors) λ in W/K."""
    capacity: Array
    """(..., n_motors) C in J/K."""
    ambient: Array
    """(n_motors,) Tₐ in °C."""
    sharing: Array
    """(n_motors, n_joints) S: motor torques for joint torques."""
    side: Array
    """(n_joints,) 1 for joints of the left leg, -1 of the right leg, 0 of neither."""
    factors: Array
    """(3,) intervals of c, λ and C, value / factor to value · factor: if published, the
    largest ratios of two values for one type of motor of `nao`; else 2, a guess."""

    @classmethod
    def of(cls, robot: "Robot", joints: tuple[str, ...] = ()) -> Self:
        """Return the constants for joints in this order, by default the robot's."""
        names = [n.removesuffix("_joint") for n in joints or robot.joint_names]
        rows = [motor.one_node for motor in robot.motors]
        left, right = robot.leg("left"), robot.leg("right")
        return cls(
            loss=np.array([row.resistance / row.torque_constant**2 for row in rows]),
            conductance=np.array([row.conductance for row in rows]),
            capacity=np.array([row.heat_capacity for row in rows]),
            ambient=np.array([row.ambient_degc for row in rows]),
            sharing=robot.transmission[:, [robot.joint_index(n) for n in names]],
            side=np.array([float(n in left) - float(n in right) for n in names]),
            factors=np.where(robot.thermal == "published", [1.5, 1.3, 1.7], 2.0),
        )

    def like(self, tensor: Array) -> Self:
        """Return the constants as tensors of the type and device of a tensor."""
        return replace(self, **{k: tensor.new_tensor(v) for k, v in vars(self).items()})

    def drawn(self, rng: np.random.Generator, n: int) -> Self:
        """Return `n` draws of c, λ and C, (n, n_motors), from their intervals."""
        part = self.factors[:, None, None] ** rng.uniform(-1, 1, (3, n, len(self.loss)))
        c, conductance, C = part * [[self.loss], [self.conductance], [self.capacity]]
        return replace(self, loss=c, conductance=conductance, capacity=C)

    def power(self, torque: Array) -> Array:
        """Return losses (..., n_motors) in W for torques (..., n_joints) in N·m."""
        return self.loss * (torque @ self.sharing.T) ** 2

    def heated(self, temperature: Array, power: Array, dt: float) -> Array:
        """Return temperatures (..., n_motors) in °C after `dt` s of constant power."""
        final = self.ambient + power / self.conductance
        decay = _namespace(power).exp(-dt * self.conductance / self.capacity)
        return final + decay * (temperature - final)

    def useless_power(
        self, torque: Array, joints: Array, soles: Array, wrench: Array, cone: Array
    ) -> Array:
        """Return the loss (...,) in W above the least; 0 unless both feet carry.

        Args:
            torque: (..., n_joints) in N·m.
            joints: axes (..., n_joints, 3) in the world, and points on them in m.
            soles: centres (..., 2, 3) of the left and right sole in m, and rotations
                (..., 2, 3, 3), columns x ahead, y left, z up.
            wrench: (..., 2, 6) of the ground in world axes: N, N·m about the centres.
            cone: (16, 6) faces of a sole, from `sole_cone`.
        """
        xp, (axis, point), (centre, rotation) = _namespace(torque), joints, soles
        about = centre.mean(-2)[..., None, :]
        A = xp.concat((xp.linalg.cross(axis, about - point), axis), -1)
        root = self.loss[..., None] ** 0.5 * self.sharing
        M, a = root @ (self.side[:, None] * A), _dot(root, torque)
        R, Gf, Gm = rotation.swapaxes(-1, -2), cone[:, :3], cone[:, 3:]
        turn = xp.linalg.cross(R, (about - centre)[..., None, :])
        own = xp.concat((Gf @ R, Gm @ R), -1)
        b = -_dot(own, wrench).reshape(*wrench.shape[:-2], 2 * len(cone))
        G = xp.concat((Gf @ R + Gm @ turn, Gm @ R), -1)
        G = xp.concat((G[..., 0, :, :], -G[..., 1, :, :]), -2)

        scale = (M**2).sum(-2)[..., None, :] ** 0.5 + 1e-6
        M, G = M / scale, G / scale
        Mt, Gt = M.swapaxes(-1, -2), G.swapaxes(-1, -2)
        rho = 6.0 / (G**2).sum((-1, -2))[..., None]
        inverse = xp.linalg.inv(Mt @ M + rho[..., None] * (Gt @ G))
        u, v, y = 0 * b[..., :6], 0 * b, 0 * b
        for _ in range(60):
            u = _dot(inverse, _dot(Mt, a) + rho * _dot(Gt, v - 2 * y))
            v = y + _dot(G, u)
            y = xp.clip(v - b, 0.0, None)
        above = (a**2).sum(-1) - ((a - _dot(M, u)) ** 2).sum(-1)
        load = (rotation[..., 2] * wrench[..., :3]).sum(-1)
        return xp.clip(above, 0, None) * (load > 0.02 * load.sum(-1)[..., None]).all(-1)


def barrier(temperature: Array, limit: float, margin: float = 10.0) -> Array:
    """Return (...,) Σ s - 1 - ln s over the motors, s = (limit - T) / margin, <= 1."""
    xp, s = _namespace(temperature), (limit - temperature) / margin
    inside, beyond = xp.clip(s, 0.01, 1.0), xp.clip(0.01 - s, 0.0, None)
    return (inside - 1.0 - xp.log(inside) + 99.0 * beyond).sum(-1)


def sole_cone(half_length: float, half_width: float, friction: float) -> Array:
    """Return the faces G (16, 6) of a sole: G (force, moment) <= 0 [caron2015]."""
    X, Y, mu = half_length, half_width, friction / np.sqrt(2.0)
    own, e = ((0, mu), (1, mu), (3, Y), (4, X)), np.eye(6)
    sides = [c * e[i] - bound * e[2] for c in (1.0, -1.0) for i, bound in own]
    # c m_z <= μ (X + Y) f_z - a (Y f_x + c μ m_x) - b (X f_y + c μ m_y)
    yaws = [
        [a * Y, b * X, -mu * (X + Y), a * c * mu, b * c * mu, c]
        for a, b, c in product((1.0, -1.0), repeat=3)
    ]
    return np.vstack((sides, yaws))


def _dot(matrix: Array, x: Array) -> Array:
    return (matrix @ x[..., None])[..., 0]


def _namespace(example: Array) -> Any:
    return sys.modules["torch"] if hasattr(example, "new_tensor") else np
