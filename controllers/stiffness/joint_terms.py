"""Joint rows of the equation of motion at rest (steps 640, 670 and 680).

The weight m G acts at the centre of mass, whose Jacobian is J_com:

    -M̃(q) G = -m J_comᵀ(q) G.

A force f_k along `up` at p_k is the wrench f_k [up; p_k x up]. With J_i = [J_lin;
J_ang] the motion about the base origin that joint i causes, and the points k that it
carries summed before J_i is multiplied,

    [Cᵗ(q) W]_i = J_i · Σ_k f_k [up; p_k x up]
                = (J_lin · up) Σ_k f_k + J_ang · ((Σ_k f_k p_k) x up).
"""

import numba
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


@numba.njit(cache=True)
def gravity_term(
    J_com: FloatArray, iv: IndexArray, mass: float, G: FloatArray
) -> FloatArray:
    """Return the joint rows of -M̃(q) G, (n_joints,) in N·m.

    Args:
        J_com: (3, nv) Jacobian of the centre of mass.
        iv: (n_joints,) column of each joint.
        mass: of the robot, in kg.
        G: (3,) gravity acceleration in the base frame, in m/s².
    """
    term = np.empty(len(iv))
    for i in range(len(iv)):
        j = J_com[:, iv[i]]
        term[i] = -mass * (j[0] * G[0] + j[1] * G[1] + j[2] * G[2])
    return term


@numba.njit(cache=True)
def contact_term(
    J: FloatArray,
    iv: IndexArray,
    carries: FloatArray,
    position: FloatArray,
    points: IndexArray,
    up: FloatArray,
    forces: FloatArray,
) -> FloatArray:
    """Return the joint rows of Cᵗ(q) W, (n_joints,) in N·m.

    Args:
        J: (6, nv) Jacobians of all joints, linear rows first.
        iv: (n_joints,) column of each joint.
        carries: (n_joints, n_points) 1 where joint i carries point k, else 0.
        position: (n_points, 3) p_k in m.
        points: (n,) the points in contact.
        up: (3,) unit vector.
        forces: (n,) f_k in N.
    """
    ux, uy, uz = up[0], up[1], up[2]
    term = np.empty(len(iv))
    for i in range(len(iv)):
        F, x, y, z = 0.0, 0.0, 0.0, 0.0  # Σ f_k and Σ f_k p_k of the carried points
        for n in range(len(points)):
            k = points[n]
            f = carries[i, k] * forces[n]
            F += f
            x += f * position[k, 0]
            y += f * position[k, 1]
            z += f * position[k, 2]
        j = J[:, iv[i]]
        term[i] = (
            (j[0] * ux + j[1] * uy + j[2] * uz) * F
            + j[3] * (y * uz - z * uy)
            + j[4] * (z * ux - x * uz)
            + j[5] * (x * uy - y * ux)
        )
    return term


@numba.njit(cache=True)
def contact_matrix(
    J: FloatArray,
    iv: IndexArray,
    carries: FloatArray,
    position: FloatArray,
    points: IndexArray,
    along: FloatArray,
) -> FloatArray:
    """Return the columns of Cᵗ(q) for unit forces, (n_joints, n d) in m.

    Args:
        J: as of `contact_term`, like the next four.
        iv: (n_joints,).
        carries: (n_joints, n_points).
        position: (n_points, 3).
        points: (n,).
        along: (n, d, 3) d unit vectors for each of the points.
    """
    per_point = along.shape[1]
    columns = np.empty((len(iv), len(points) * per_point))
    for n in range(len(points)):
        k = points[n]
        x, y, z = position[k, 0], position[k, 1], position[k, 2]
        for a in range(per_point):
            d, e, f = along[n, a, 0], along[n, a, 1], along[n, a, 2]
            u, v, w = y * f - z * e, z * d - x * f, x * e - y * d  # p_k x along
            for i in range(len(iv)):
                j = J[:, iv[i]]
                linear = j[0] * d + j[1] * e + j[2] * f
                angular = j[3] * u + j[4] * v + j[5] * w
                columns[i, n * per_point + a] = carries[i, k] * (linear + angular)
    return columns
