"""Forces at the contact points (step 660, fig. 9: 910, 920, 930).

The robot is a point mass, its contacts lie in the virtual plane, nothing moves and the
tangential forces are zero [ES2659053T3 ¶660]. For the normal forces Y = (f_1 ... f_n):

    A Y = B,    A = [1 ... 1; x_i - x_G; y_i - y_G],    B = [m g; 0; 0],    Y >= 0.

Other vertical forces (a load in a hand, an updraught) enter B with their lever about
the centre of mass: B = [m g - Σ u_j; -Σ u_j (x_j - x_G); -Σ u_j (y_j - y_G)].

Three contacts with det A ≠ 0 have one solution (930). More contacts have many
solutions; ES2659053 takes the minimiser of

    ½ ‖A Y - B‖²_Q + ½ ‖Y‖²_R,    Y >= 0.

Without the bound, the minimiser is the closed form

    Y = R⁻¹ Aᵀ (A R⁻¹ Aᵀ + Q⁻¹)⁻¹ B,

which is also the answer with the bound if no force is negative. The kernels below
compute it at each tick. Division follows NumPy: degenerate weights give NaN, which is
rejected as an answer, and raise no exception in the loop.

With a negative force, and with Q and R diagonal, the problem is the nonnegative least
squares problem of the stacked matrix [√Q A; √R] against [√Q B; 0], solved by the method
of Lawson and Hanson [lawson1974]. The same problem also covers an A Y = B without a
solution. The force row has the largest weight, so the forces sum to the weight; the
moments are matched as closely as the contacts allow, and a flag is raised. `build_*`
and `solve_*` are separate functions, so that the problem can be inspected. With a small
R the forces are weakly determined: compare A Y and the objective of two solvers, not Y.
"""

from dataclasses import dataclass
from math import sqrt

import numba
import numpy as np
import scipy  # its parts, which are slow to import, load at their first use

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness.flags import StiffnessFlag
from nao_testbed.controllers.stiffness.kernels import BoolArray, IndexArray
from nao_testbed.models.values import FloatArray, Positive

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
def sole_axes(normals: FloatArray) -> FloatArray:
    """Return (n, 3, 3): two tangents of each sole and its normal, as rows.

    Args:
        normals: (n, 3) unit vectors in the base frame.
    """
    axes = np.empty((len(normals), 3, 3))
    for k in range(len(normals)):
        tangents = plane_axes(normals[k])
        for x in range(
            3
        ):  # numba compiles the message of a slice's assignment: seconds
            axes[k, 0, x], axes[k, 1, x] = tangents[0, x], tangents[1, x]
            axes[k, 2, x] = normals[k, x]
    return axes


@numba.njit(cache=True, error_model="numpy")
def balance_equation(
    points: FloatArray,
    com: FloatArray,
    up: FloatArray,
    weight: float,
    load_points: FloatArray,
    load_forces: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return A, (3, n), and B, (3,), for the arguments of `build_contact_problem`."""
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
    """Return the forces Y, (n,), their flags, and True if Y is valid.

    Y is invalid where a force would be negative; the flags are then incomplete.
    """
    n = A.shape[1]
    if n == 0 or B[0] <= 0.0:
        return np.zeros(n), _NO_CONTACT, True
    flags = _geometry_flags(A, tolerance)
    if n == 3 and flags == 0:
        Y = solve_three(A, B)
        if _all_nonnegative(Y):
            return Y, flags, True
        flags |= _INVERSE_NEGATIVE
    Y = _solve_unbounded(A, B, Q, R)
    if not _all_nonnegative(Y):
        return Y, flags, False
    return Y, flags | moment_flag(A, B, Y, tolerance), True


@numba.njit(cache=True, error_model="numpy")
def _all_nonnegative(Y: FloatArray) -> bool:
    nonnegative = True
    for f in Y:
        nonnegative &= f >= 0.0  # False for NaN too
    return nonnegative


@numba.njit(cache=True, error_model="numpy")
def moment_flag(A: FloatArray, B: FloatArray, Y: FloatArray, tolerance: float) -> int:
    """Return the flag for a residual moment in A Y = B, 0 if the moments balance."""
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


@numba.njit(cache=True, error_model="numpy")
def _geometry_flags(A: FloatArray, tolerance: float) -> int:
    """Return the flags for the arrangement of one or more contacts."""
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
    """Build and solve A Y = B for the allowed points of (n_points, 3) positions.

    The arguments are those of `build_contact_problem`, with the same R for every force.

    Returns:
        (n,) the contacts, their forces, the flags and True if the forces are valid, as
        in `solve_closed`.
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


@dataclass(frozen=True, kw_only=True)
class ContactForceCfg(Checked):
    """Weights of the QP and the tolerances of its flags."""

    force_weight: Positive = 1000.0
    """Q of the force row in 1/N². Much larger than the moment weight, so that the
    weight is carried even where the moments cannot be balanced."""
    moment_weight: Positive = 1.0
    """Q of the two moment rows in 1/(N·m)²; equal for both, so that the solution
    does not depend on the heading."""
    regularisation: Positive = 1e-6
    """R of every force in 1/N²: selects one of the exact solutions. At a foot's
    lever it changes the moments by less than 1 mN·m."""
    tolerance_m: Positive = 1e-3
    """Distance from the support, in m, beyond which the centre of mass counts as
    outside; also the minimum width of contacts that are not collinear."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContactProblem:
    """A Y = B with weights: the input of step 930."""

    A: FloatArray
    """(3, n): ones; x_i - x_G and y_i - y_G in m."""
    B: FloatArray
    """(3,): N, N·m, N·m."""
    Q: FloatArray
    """(3,) diagonal of Q."""
    R: FloatArray
    """(n,) diagonal of R."""
    tolerance_m: float
    """See `ContactForceCfg`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ContactSolution:
    """Normal forces at the contacts, with flags for their validity."""

    forces: FloatArray
    """(n,) Y in N, none negative."""
    flags: int
    """`StiffnessFlag` bits; 0 when the forces balance the robot."""


def build_contact_problem(
    points: FloatArray,
    com: FloatArray,
    up: FloatArray,
    *,
    weight: float,
    cfg: ContactForceCfg,
    load_points: FloatArray | None = None,
    load_forces: FloatArray | None = None,
) -> ContactProblem:
    """Build A, B, Q, R (steps 910 and 920).

    Args:
        points: (n, 3) contact points in the base frame, in m.
        com: (3,) centre of mass in the base frame, in m. For a moving robot, the point
            about which its required moments vanish in the plane.
        up: (3,) unit normal of the virtual plane.
        weight: m g in N.
        cfg: weights and tolerances.
        load_points: (k, 3) points of other vertical forces, or None.
        load_forces: (k,) those forces in N, positive upward.
    """
    if load_points is None or load_forces is None:
        load_points, load_forces = np.zeros((0, 3)), np.zeros(0)
    A, B = balance_equation(points, com, up, weight, load_points, load_forces)
    return ContactProblem(
        A=A,
        B=B,
        Q=np.array((cfg.force_weight, cfg.moment_weight, cfg.moment_weight)),
        R=np.full(len(points), cfg.regularisation),
        tolerance_m=cfg.tolerance_m,
    )


def solve_contact_problem(problem: ContactProblem) -> ContactSolution:
    """Solve for the contact forces (step 930); never raises on finite input.

    Three contacts: from the inverse of A if it exists and no force is negative. Other
    numbers: from the QP. Without a contact or a downward weight: zero.
    """
    A, B = problem.A, problem.B
    Y, flags, is_solved = solve_closed(A, B, problem.Q, problem.R, problem.tolerance_m)
    if not is_solved:
        Y = _solve_qp(problem)
        flags |= moment_flag(A, B, Y, problem.tolerance_m)
    return ContactSolution(forces=Y, flags=flags)


def _solve_qp(problem: ContactProblem) -> FloatArray:
    """Minimise ½ ‖A Y - B‖²_Q + ½ ‖Y‖²_R over Y >= 0."""
    A, B = problem.A, problem.B
    n = A.shape[1]
    root_Q = np.sqrt(problem.Q)
    stacked = np.zeros((3 + n, n))
    stacked[:3] = root_Q[:, None] * A
    stacked[3:].flat[:: n + 1] = np.sqrt(problem.R)
    right = np.zeros(3 + n)
    right[:3] = root_Q * B
    try:
        Y, _ = scipy.optimize.nnls(stacked, right)
    except RuntimeError:  # iteration limit: use equal forces, with a flag
        Y = np.full(n, B[0] / n)
    return np.asarray(Y)
