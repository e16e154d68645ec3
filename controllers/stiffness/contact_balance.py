"""A Y = B where a closed form answers it (steps 910 to 930): the part for each tick.

What A, B, Q and R are is told in `contact_forces.py`, which also has the iterative
solver for the rest. The closed forms are the inverse of A for three contacts, and

    Y = R⁻¹ Aᵀ (A R⁻¹ Aᵀ + Q⁻¹)⁻¹ B,

the minimum of ½ ‖A Y - B‖²_Q + ½ ‖Y‖²_R over all Y. Where that pulls nowhere it is also
the minimum over Y >= 0.

Division follows NumPy here: hopeless weights give NaN, which is no answer, and not an
exception in the loop.
"""

from math import sqrt

import numba
import numpy as np
from numpy.typing import NDArray

from controllers.stiffness.flags import StiffnessFlag
from controllers.stiffness.vectors import solve_three

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.intp]

_NO_CONTACT = int(StiffnessFlag.NO_CONTACT)
_ONE_CONTACT = int(StiffnessFlag.ONE_CONTACT)
_TWO_CONTACTS = int(StiffnessFlag.TWO_CONTACTS)
_COLLINEAR_CONTACTS = int(StiffnessFlag.COLLINEAR_CONTACTS)
_COM_OUTSIDE_SUPPORT = int(StiffnessFlag.COM_OUTSIDE_SUPPORT)
_INVERSE_NEGATIVE = int(StiffnessFlag.INVERSE_NEGATIVE)


@numba.njit(cache=True, error_model="numpy")
def plane_axes(up: FloatArray) -> FloatArray:
    """Return two unit vectors that span the virtual plane.

    The first is the base's x axis laid into the plane (its z axis where x is nearly
    vertical), so that it points forward while the robot is upright.

    Args:
        up: (3,) unit normal of the plane.

    Returns:
        (2, 3) rows e_x, e_y with e_x x e_y = up.
    """
    x, y, z = up[0], up[1], up[2]
    if abs(x) < 0.9:
        a, b, c = 1.0 - x * x, -x * y, -x * z  # e_x - (e_x · up) up
    else:
        a, b, c = -z * x, -z * y, 1.0 - z * z
    length = sqrt(a * a + b * b + c * c)
    a, b, c = a / length, b / length, c / length
    return np.array(((a, b, c), (y * c - z * b, z * a - x * c, x * b - y * a)))


@numba.njit(cache=True, error_model="numpy")
def balance_equation(
    points: FloatArray,
    com: FloatArray,
    up: FloatArray,
    weight: float,
    load_points: FloatArray,
    load_forces: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return A, (3, n), and B, (3,); the arguments are `build_contact_problem`'s."""
    axes = plane_axes(up)
    A = np.ones((3, len(points)))
    for k in range(len(points)):
        for row in range(2):
            A[1 + row, k] = _lever(axes[row], points[k], com)
    B = np.array((weight, 0.0, 0.0))
    for k in range(len(load_forces)):
        B[0] -= load_forces[k]
        for row in range(2):
            B[1 + row] -= load_forces[k] * _lever(axes[row], load_points[k], com)
    return A, B


@numba.njit(cache=True, error_model="numpy")
def _lever(axis: FloatArray, point: FloatArray, com: FloatArray) -> float:
    x, y, z = point[0] - com[0], point[1] - com[1], point[2] - com[2]
    return float(axis[0] * x + axis[1] * y + axis[2] * z)


@numba.njit(cache=True, error_model="numpy")
def solve_closed(
    A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, tolerance: float
) -> tuple[FloatArray, int, bool]:
    """Return the forces Y, (n,), their flags, and whether Y is the answer.

    It is not where a force would pull; then the flags are those known so far.
    """
    n = A.shape[1]
    if n == 0 or B[0] <= 0.0:
        return np.zeros(n), _NO_CONTACT, True
    flags = _shape_flags(A, tolerance)
    if n == 3 and flags == 0:
        Y = solve_three(A, B)
        if _pulls_nowhere(Y):
            return Y, flags, True
        flags |= _INVERSE_NEGATIVE
    Y = _solve_unbounded(A, B, Q, R)
    if not _pulls_nowhere(Y):
        return Y, flags, False
    return Y, flags | moment_flag(A, B, Y, tolerance), True


@numba.njit(cache=True, error_model="numpy")
def _pulls_nowhere(Y: FloatArray) -> bool:
    pulls_nowhere = True
    for f in Y:
        pulls_nowhere &= f >= 0.0  # NaN is no answer either
    return pulls_nowhere


@numba.njit(cache=True, error_model="numpy")
def moment_flag(A: FloatArray, B: FloatArray, Y: FloatArray, tolerance: float) -> int:
    """Return the flag of moments that A Y = B leaves over, 0 if they balance."""
    mx, my = -B[1], -B[2]
    for k in range(len(Y)):
        mx += A[1, k] * Y[k]
        my += A[2, k] * Y[k]
    left_over = sqrt(mx * mx + my * my)
    return _COM_OUTSIDE_SUPPORT if left_over > tolerance * B[0] else 0


@numba.njit(cache=True, error_model="numpy")
def _solve_unbounded(
    A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray
) -> FloatArray:
    """Return Y = R⁻¹ Aᵀ (A R⁻¹ Aᵀ + Q⁻¹)⁻¹ B, (n,)."""
    n = A.shape[1]
    S = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(n):
                S[i, j] += A[i, k] * A[j, k] / R[k]
        S[i, i] += 1.0 / Q[i]
    z = solve_three(S, B)
    Y = np.empty(n)
    for k in range(n):
        Y[k] = (A[0, k] * z[0] + A[1, k] * z[1] + A[2, k] * z[2]) / R[k]
    return Y


@numba.njit(cache=True, error_model="numpy")
def _shape_flags(A: FloatArray, tolerance: float) -> int:
    """Return what the arrangement of one or more contacts alone says."""
    n = A.shape[1]
    if n == 1:
        return _ONE_CONTACT
    if n == 2:
        return _TWO_CONTACTS
    mx, my, xx, xy, yy = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(n):
        x, y = A[1, k], A[2, k]
        mx += x / n
        my += y / n
        xx += x * x / n
        xy += x * y / n
        yy += y * y / n
    xx, yy, xy = xx - mx * mx, yy - my * my, xy - mx * my
    # Smaller eigenvalue of the 2 x 2 covariance: the squared width of the support.
    width_squared = 0.5 * (xx + yy - sqrt((xx - yy) ** 2 + 4.0 * xy * xy))
    return _COLLINEAR_CONTACTS if width_squared < tolerance**2 else 0


@numba.njit(cache=True, error_model="numpy")
def balance(
    position: FloatArray,
    allowed: BoolArray,
    com: FloatArray,
    up: FloatArray,
    weight: float,
    load_points: FloatArray,
    load_forces: FloatArray,
    Q: FloatArray,
    regularisation: float,
    tolerance: float,
) -> tuple[IndexArray, FloatArray, int, bool]:
    """Build and solve A Y = B for the allowed points.

    Args:
        position: (n_points, 3) candidates in the base frame, in m.
        allowed: (n_candidates,) which of them are contacts.
        com: as of `build_contact_problem`, like the next four.
        up: (3,).
        weight: in N.
        load_points: (k, 3).
        load_forces: (k,).
        Q: (3,) diagonal of Q.
        regularisation: R of every force.
        tolerance: `ContactForceCfg.tolerance_m`.

    Returns:
        (n,) the contacts, their forces, flags and whether they are the answer, as of
        `solve_closed`.
    """
    n = 0
    for k in range(len(allowed)):
        n += allowed[k]
    contacts, points, R = np.empty(n, np.intp), np.empty((n, 3)), np.empty(n)
    n = 0
    for k in range(len(allowed)):
        if allowed[k]:
            contacts[n], R[n] = k, regularisation
            for x in range(3):
                points[n, x] = position[k, x]
            n += 1
    A, B = balance_equation(points, com, up, weight, load_points, load_forces)
    Y, flags, is_solved = solve_closed(A, B, Q, R, tolerance)
    return contacts, Y, flags, is_solved
