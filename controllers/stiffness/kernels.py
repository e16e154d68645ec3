"""Compiled arithmetic: three numbers, and the joint rows at rest (640, 670, 680).

NumPy's own is slow for so few numbers. A kernel takes plain arrays and is compiled at
its first call; those of a single step stand beside the equation that they compute.

Joint rows of the equation of motion at rest. The weight m G acts at the centre of mass,
whose Jacobian is J_com:

    -M̃(q) G = -m J_comᵀ(q) G.

A force f_k along `up` at p_k is the wrench f_k [up; p_k x up]. With J_i = [J_lin;
J_ang] the motion about the base origin that joint i causes, and the points k that it
carries summed before J_i is multiplied,

    [Cᵗ(q) W]_i = J_i · Σ_k f_k [up; p_k x up]
                = (J_lin · up) Σ_k f_k + J_ang · ((Σ_k f_k p_k) x up).
"""

from math import acos, cos, pi, sqrt

import numba
import numpy as np
from numpy.typing import NDArray

from models.values import FloatArray

IndexArray = NDArray[np.intp]
BoolArray = NDArray[np.bool_]


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b of two (3,) vectors, ten times as fast as `numpy.cross`."""
    ax, ay, az = a.tolist()
    bx, by, bz = b.tolist()
    return np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))


@numba.njit(cache=True, error_model="numpy")
def solve_three(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return Y with A Y = B, (3,), by elimination with row exchanges.

    Args:
        A: (3, 3), not singular.
        B: (3,).
    """
    M = np.empty((3, 4))
    for i in range(3):
        for j in range(3):
            M[i, j] = A[i, j]
        M[i, 3] = B[i]
    for k in range(3):
        pivot = k
        for i in range(k + 1, 3):
            if abs(M[i, k]) > abs(M[pivot, k]):
                pivot = i
        for j in range(k, 4):
            M[k, j], M[pivot, j] = M[pivot, j], M[k, j]
        for i in range(k + 1, 3):
            factor = M[i, k] / M[k, k]
            for j in range(k + 1, 4):
                M[i, j] -= factor * M[k, j]
    Y = np.empty(3)
    for i in range(2, -1, -1):
        left = M[i, 3]
        for j in range(i + 1, 3):
            left -= M[i, j] * Y[j]
        Y[i] = left / M[i, i]
    return Y


@numba.njit(cache=True)
def least_direction(C: FloatArray) -> tuple[float, float, FloatArray]:
    """Return the direction in which a symmetric matrix is least.

    The eigenvalues are the closed form of [smith1961]: with m = tr C / 3,
    p² = ‖C - m I‖² / 6 and cos 3φ = det((C - m I) / p) / 2,

        λ_2 = m + 2 p cos φ,    λ_0 = m + 2 p cos(φ + 2π/3),    λ_1 = 3 m - λ_0 - λ_2.

    The eigenvector of λ_0 is at right angles to the rows of C - λ_0 I; of the three
    products of two rows the longest is used. It means something only while λ_0 and λ_1
    differ.

    Args:
        C: (3, 3) symmetric.

    Returns:
        λ_0, λ_1 (the smallest eigenvalue and the next), and (3,) the unit eigenvector
        of λ_0.
    """
    m = (C[0, 0] + C[1, 1] + C[2, 2]) / 3.0
    xx, yy, zz = C[0, 0] - m, C[1, 1] - m, C[2, 2] - m
    xy, xz, yz = C[0, 1], C[0, 2], C[1, 2]
    p = sqrt((xx * xx + yy * yy + zz * zz + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    n = np.array((0.0, 0.0, 1.0))
    if p == 0.0:
        return m, m, n
    det = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    phi = acos(min(1.0, max(-1.0, 0.5 * det / (p * p * p)))) / 3.0
    least = m + 2.0 * p * cos(phi + 2.0 * pi / 3.0)
    middle = 3.0 * m - least - (m + 2.0 * p * cos(phi))
    longest = 0.0
    for i, j in ((0, 1), (0, 2), (1, 2)):
        ax, ay, az = C[i, 0], C[i, 1], C[i, 2]
        bx, by, bz = C[j, 0], C[j, 1], C[j, 2]
        if i == 0:
            ax -= least
        else:
            ay -= least
        if j == 1:
            by -= least
        else:
            bz -= least
        x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        length = sqrt(x * x + y * y + z * z)
        if length > longest:
            longest = length
            n[0], n[1], n[2] = x / length, y / length, z / length
    return least, middle, n


@numba.njit(cache=True)
def gravity_term(
    J_com: FloatArray, iv: IndexArray, mass: float, G: FloatArray
) -> FloatArray:
    """See `Dynamics.gravity_term`; `iv` holds the column of each joint."""
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
    """See `Dynamics.contact_term`; J has linear rows first, `carries` 1 for carried."""
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
    """See `Dynamics.contact_matrix`; the others as of `contact_term`."""
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
