"""Forces at the contact points (step 660, fig. 9: 910, 920, 930).

The robot is a point mass, its contacts lie in the virtual plane, nothing moves and the
tangential parts are zero [ES2659053T3 ¶660]. For the normal forces Y = (f_1 ... f_n):

    A Y = B,    A = [1 ... 1; x_i - x_G; y_i - y_G],    B = [m g; 0; 0],    Y >= 0.

Other vertical forces (a load in a hand, an updraught) enter B with their lever, seen
from the centre of mass: B = [m g - Σ u_j; -Σ u_j (x_j - x_G); -Σ u_j (y_j - y_G)].

Three contacts with det A ≠ 0 have one solution (930). More have many, and the document
takes the one that makes

    ½ ‖A Y - B‖²_Q + ½ ‖Y‖²_R,    Y >= 0,

least. With Q and R diagonal that is the nonnegative least squares problem of the
stacked matrix [√Q A; √R] against [√Q B; 0], solved by the method of Lawson and Hanson
[lawson1974]. The same problem answers soundly where A Y = B cannot hold: the force row
weighs most, so the forces still sum to the weight while the moments are only as good as
the contacts allow, and a flag says so. `build_*` and `solve_*` are two functions, so
that a doubtful case can be looked at.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from controllers.stiffness.flags import StiffnessFlag
from models import BadInput

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ContactForceCfg:
    """Weights of the QP and the tolerances of its flags."""

    force_weight: float = 1000.0
    """Q of the force row in 1/N². Well above that of the moments, so that the weight
    is carried even where the moments cannot be balanced."""
    moment_weight: float = 1.0
    """Q of the two moment rows in 1/(N·m)²; the same for both, so that the answer does
    not depend on the heading."""
    regularisation: float = 1e-6
    """R of every force in 1/N²: chooses among the exact solutions, and at a foot's
    lever disturbs them by less than 1 mN·m."""
    tolerance_m: float = 1e-3
    """Distance between centre of mass and support from which the centre of mass counts
    as outside; also the least width of contacts that are not collinear."""

    def __post_init__(self) -> None:
        """Refuse weights that make the problem meaningless."""
        for name in (
            "force_weight",
            "moment_weight",
            "regularisation",
            "tolerance_m",
        ):
            value = getattr(self, name)
            if not (value > 0.0 and np.isfinite(value)):
                raise BadInput(f"{name} = {value}; give a finite number above 0.")


@dataclass(frozen=True, kw_only=True, slots=True)
class ContactProblem:
    """A Y = B with weights: all that step 930 needs."""

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
    """Normal forces at the contacts, and how far they can be trusted."""

    forces: FloatArray
    """(n,) Y in N, none negative."""
    residual: FloatArray
    """(3,) A Y - B in N, N·m, N·m."""
    flags: int
    """`StiffnessFlag` bits; 0 when the forces balance the robot."""


def plane_axes(up: FloatArray) -> FloatArray:
    """Return two unit vectors that span the virtual plane.

    The first is the base's x axis laid into the plane (its z axis where x is nearly
    vertical), so that it points forward while the robot is upright.

    Args:
        up: (3,) unit normal of the plane.

    Returns:
        (2, 3) rows e_x, e_y with e_x x e_y = up.
    """
    x, y, z = up.tolist()
    if abs(x) < 0.9:
        a, b, c = 1.0 - x * x, -x * y, -x * z  # e_x - (e_x · up) up
    else:
        a, b, c = -z * x, -z * y, 1.0 - z * z
    length = sqrt(a * a + b * b + c * c)
    a, b, c = a / length, b / length, c / length
    return np.array(((a, b, c), (y * c - z * b, z * a - x * c, x * b - y * a)))


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
        com: (3,) centre of mass in the base frame, in m. With a moving robot, the point
            about which its required moments vanish in the plane.
        up: (3,) unit normal of the virtual plane.
        weight: m g in N.
        cfg: weights and tolerances.
        load_points: (k, 3) where other vertical forces act, or None.
        load_forces: (k,) those forces in N, positive upward.
    """
    axes = plane_axes(up)
    A = np.ones((3, len(points)))
    A[1:] = axes @ (points - com).T
    B = np.array((weight, 0.0, 0.0))
    if load_points is not None and load_forces is not None:
        B[0] -= load_forces.sum()
        B[1:] -= axes @ (load_points - com).T @ load_forces
    return ContactProblem(
        A=A,
        B=B,
        Q=np.array((cfg.force_weight, cfg.moment_weight, cfg.moment_weight)),
        R=np.full(len(points), cfg.regularisation),
        tolerance_m=cfg.tolerance_m,
    )


def solve_contact_problem(problem: ContactProblem) -> ContactSolution:
    """Solve for the contact forces (step 930); never raises on finite input.

    Returns:
        The forces. Three contacts: the inverse where it exists and pulls nowhere. Other
        numbers: the QP. No contact, or a robot that nothing presses down: no force.
    """
    A, B = problem.A, problem.B
    n = A.shape[1]
    if n == 0 or B[0] <= 0.0:
        flag = int(StiffnessFlag.NO_CONTACT)
        return ContactSolution(forces=np.zeros(n), residual=-B, flags=flag)
    flags = _shape_flags(problem)
    if n == 3 and not flags:
        Y = np.asarray(np.linalg.solve(A, B), dtype=np.float64)
        if Y.min() >= 0.0:
            return ContactSolution(forces=Y, residual=A @ Y - B, flags=0)
        flags |= int(StiffnessFlag.INVERSE_NEGATIVE)
    Y = _solve_qp(problem)
    residual = A @ Y - B
    moment = sqrt(residual[1] ** 2 + residual[2] ** 2)
    if moment > problem.tolerance_m * B[0]:
        flags |= int(StiffnessFlag.COM_OUTSIDE_SUPPORT)
    return ContactSolution(forces=Y, residual=residual, flags=flags)


def _solve_qp(problem: ContactProblem) -> FloatArray:
    """Minimise ½ ‖A Y - B‖²_Q + ½ ‖Y‖²_R over Y >= 0.

    Without the bounds the minimum has a closed form, and where that pulls nowhere it is
    also the minimum with them.
    """
    A, B = problem.A, problem.B
    n = A.shape[1]
    Y = _solve_unbounded(problem)
    if Y.min() >= 0.0:
        return Y
    root_Q = np.sqrt(problem.Q)
    stacked = np.zeros((3 + n, n))
    stacked[:3] = root_Q[:, None] * A
    stacked[3:].flat[:: n + 1] = np.sqrt(problem.R)
    right = np.zeros(3 + n)
    right[:3] = root_Q * B
    try:
        Y, _ = nnls(stacked, right)
    except RuntimeError:  # iteration limit: an equal share is sound, and flagged
        Y = np.full(n, B[0] / n)
    return np.asarray(Y)


def _solve_unbounded(problem: ContactProblem) -> FloatArray:
    """Return Y = R⁻¹ Aᵀ (A R⁻¹ Aᵀ + Q⁻¹)⁻¹ B, the minimum over all Y."""
    A_over_R = problem.A / problem.R
    S = A_over_R @ problem.A.T
    S.flat[::4] += 1.0 / problem.Q
    return np.asarray(np.linalg.solve(S, problem.B) @ A_over_R, dtype=np.float64)


def _shape_flags(problem: ContactProblem) -> int:
    """Return what the arrangement of the contacts alone says."""
    n = problem.A.shape[1]
    if n == 1:
        return int(StiffnessFlag.ONE_CONTACT)
    if n == 2:
        return int(StiffnessFlag.TWO_CONTACTS)
    # Mean and second moments of x and y at once, as the first row of A is all ones.
    (_, mx, my), (_, xx, xy), (_, _, yy) = (problem.A @ problem.A.T / n).tolist()
    xx, yy, xy = xx - mx * mx, yy - my * my, xy - mx * my
    # Smaller eigenvalue of the 2 x 2 covariance: the squared width of the support.
    width_squared = 0.5 * (xx + yy - sqrt((xx - yy) ** 2 + 4.0 * xy * xy))
    if width_squared < problem.tolerance_m**2:
        return int(StiffnessFlag.COLLINEAR_CONTACTS)
    return 0
