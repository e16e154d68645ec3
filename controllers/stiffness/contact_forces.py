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

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from controllers.stiffness.contact_balance import (
    balance_equation,
    moment_flag,
    solve_closed,
)
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

    Returns:
        The forces. Three contacts: the inverse where it exists and pulls nowhere. Other
        numbers: the QP. No contact, or a robot that nothing presses down: no force.
    """
    A, B = problem.A, problem.B
    Y, flags, is_solved = solve_closed(A, B, problem.Q, problem.R, problem.tolerance_m)
    if not is_solved:
        Y = _solve_qp(problem)
        flags |= moment_flag(A, B, Y, problem.tolerance_m)
    return ContactSolution(forces=Y, residual=A @ Y - B, flags=flags)


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
        Y, _ = nnls(stacked, right)
    except RuntimeError:  # iteration limit: an equal share is sound, and flagged
        Y = np.full(n, B[0] / n)
    return np.asarray(Y)
