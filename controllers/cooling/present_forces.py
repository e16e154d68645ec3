"""The forces at the soles now, from what the motors give.

The controller's model of the robot is off: an ankle that is two degrees off moves the
centre of mass by a centimetre, which is as much torque as the whole posture needs. The
motors, though, tell what is really there. So the present forces are those that explain
their torques best,

    min_f  ‖(T - S (g - C f)) / σ_T‖² + ‖(B f - h) / σ_B‖²,   f in its friction cones,

with σ_B wide for moments, where the model is off, and narrow for the weight, which is
known. What is sought then is a *change* of these forces that carries the same,

    T' = T + S C (f - f'),    B f' = B f,

and of the model only the geometry of the legs enters, to first order right.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controllers.cooling.cone_least_squares import solve_in_cones
from controllers.cooling.standing_problem import StandingProblem

FloatArray = NDArray[np.float64]

TORQUE_SIGMA = 0.05
"""σ_T in N·m: half the gear friction of a leg joint."""
BASE_SIGMA = np.array((1.0, 1.0, 0.5, 0.3, 0.3, 0.3))
"""σ_B in N and N·m: 2 % of the weight along the level axes and 1 % upward; moments as
of a centre of mass that is 6 mm off."""
EVEN = 1e-3
"""In 1/N: which of the forces at the corners of a sole that explain the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PresentForces:
    """Forces at the soles, and the problem whose present state they are."""

    forces: FloatArray
    """(n, 3) in N, along two tangents and the normal of each sole."""
    problem: StandingProblem
    """With g and h as the motors tell them: `problem.effort(forces)` are the present
    torques, motor by motor, and the forces balance the robot."""


def find_present_forces(
    problem: StandingProblem, motor_effort: FloatArray
) -> PresentForces:
    """Explain the torques of the motors by forces at the soles.

    Args:
        problem: of the model, at the measured angles.
        motor_effort: (n_motors,) T as measured, in N·m on the joint side.
    """
    counts = problem.loss > 0.0
    SC = problem.sharing[counts] @ problem.contact_map
    model = problem.motor_effort(problem.gravity)  # S g
    n = problem.n_points
    A = np.vstack(
        (
            SC / TORQUE_SIGMA,
            problem.base_map / BASE_SIGMA[:, None],
            EVEN * np.eye(3 * n),
        )
    )
    b = np.concatenate(
        (
            (model - motor_effort)[counts] / TORQUE_SIGMA,
            problem.weight / BASE_SIGMA,
            np.zeros(3 * n),
        )
    )
    forces = solve_in_cones(A, b, problem.friction)
    return PresentForces(
        forces=forces, problem=_corrected(problem, forces, motor_effort)
    )


def _corrected(
    problem: StandingProblem, forces: FloatArray, motor_effort: FloatArray
) -> StandingProblem:
    """Return the problem with g and h such that `forces` and the torques agree."""
    S = problem.sharing
    error = motor_effort - problem.motor_effort(problem.effort(forces))
    return replace(
        problem,
        gravity=problem.gravity + (error / S.sum(axis=1)) @ S,
        weight=problem.base_map @ forces.ravel(),
    )
