"""Compiled arithmetic: the joint rows at rest (steps 640, 670, 680).

NumPy is slow for so few numbers. A kernel takes plain arrays and is compiled at its
first call. Kernels of other steps are next to the equation that they compute. No kernel
calls a kernel of another file: numba would not detect a change in that file.

Joint rows of the equation of motion at rest. The weight m G acts at the centre of mass,
whose Jacobian is J_com:

    -M̃(q) G = -m J_comᵀ(q) G.

A force f_k along `up` at p_k is the wrench f_k [up; p_k x up]. With J_i = [J_lin;
J_ang] the motion about the base origin that joint i causes, and summing over the points
k that the joint carries before multiplying by J_i,

    [Cᵗ(q) W]_i = J_i · Σ_k f_k [up; p_k x up]
                = (J_lin · up) Σ_k f_k + J_ang · ((Σ_k f_k p_k) x up).
"""

import numba
import numpy as np
from numpy.typing import NDArray

from nao_testbed.models.values import FloatArray

IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b of two (3,) vectors, faster than `numpy.cross`."""
    ax, ay, az = a.tolist()
    bx, by, bz = b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


@numba.njit(cache=True)
def gravity_term(
    J_com: FloatArray, iv: IndexArray, mass: float, G: FloatArray
) -> FloatArray:
    """Compute `Dynamics.gravity_term`; `iv` holds the column of each joint."""
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
    """Compute `Dynamics.contact_term`; J has linear rows first, `carries` is 0 or 1."""
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
    """Compute `Dynamics.contact_matrix`; other arguments as in `contact_term`."""
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
