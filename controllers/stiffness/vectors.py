"""Arithmetic of three numbers, where NumPy's own is slow for so few.

What numba compiles is called by the kernels of the steps. A kernel stands beside the
equation it computes, takes plain arrays, and is compiled at its first call.
"""

from math import acos, cos, pi, sqrt

import numba
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


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
