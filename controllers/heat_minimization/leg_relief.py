"""Conversion of motor torques to torques of minimum heat for the same load.

    currents -> present forces at the soles -> forces of minimum joule loss

**Present forces.** The controller's model of the robot is inaccurate: an ankle error of
two degrees moves the centre of mass by a centimetre, which is as much torque as the
whole posture needs. The motor torques, however, reflect the real forces. So the present
forces are the best fit to these torques,

    min_f  ‖(T - S (g - C f)) / σ_T‖² + ‖(B f - h) / σ_B‖²,   f in its friction cones,

with σ_B wide for moments, where the model is inaccurate, and narrow for the weight,
which is known. The optimisation then finds a *change* of these forces that carries the
same load,

    T' = T + S C (f - f'),    B f' = B f,

which uses only the geometry of the legs, correct to first order.

**Hot motors** are relieved before cool ones: each loss is weighted by

    w_m = (T_max - T_0) / (T_max - T_m),    1 <= w_m <= w_max,

so that a watt in a motor with half the margin of a motor at T_0 counts twice.
"""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from nao_testbed.controllers.heat_minimization.friction_cones import solve_in_cones
from nao_testbed.controllers.heat_minimization.standing_problem import (
    StandingProblem,
    build_standing_problem,
    joule_loss,
    sole_normals,
    sole_points,
)
from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.controllers.stiffness.dynamics import GRAVITY, Dynamics
from nao_testbed.controllers.stiffness.kernels import BoolArray
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True)
class TemperatureWeightsCfg(Checked):
    """Parameters of the weights."""

    limit_degc: float = 80.0
    """T_max in °C: shut-down temperature of the robot of [ES2659053T3]."""
    reference_degc: float = 40.0
    """T_0 in °C: up to here all motors have weight 1. The legs of a NAO stay below
    it in a low-heat posture."""
    largest: Annotated[float, Field(ge=1.0, le=1000.0)] = 10.0
    """w_max, reached 4 K below the limit; 1 ignores temperatures."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reference_degc < self.limit_degc < np.inf:
            raise BadInput(
                f"reference_degc = {self.reference_degc}, limit_degc = "
                f"{self.limit_degc}; give a reference below a finite limit."
            )


def temperature_weights(
    temperature: FloatArray, cfg: TemperatureWeightsCfg
) -> FloatArray:
    """Return w, (n_motors,), for temperatures (n_motors,) in °C."""
    span = cfg.limit_degc - cfg.reference_degc
    left = np.maximum(cfg.limit_degc - temperature, span / cfg.largest)
    return np.maximum(span / left, 1.0)


TORQUE_SIGMA = 0.05
"""σ_T in N·m: half the gear friction of a leg joint."""
BASE_SIGMA = np.array((1.0, 1.0, 0.5, 0.3, 0.3, 0.3))
"""σ_B in N and N·m: 2 % of the weight along the level axes and 1 % upward; for moments,
those of a 6 mm error of the centre of mass."""
PRESENT_REGULARISATION = 1e-3
"""Regularisation in 1/N: selects among equivalent forces at the corners of a sole."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PresentForces:
    """Forces at the soles, and the matching standing problem."""

    forces: FloatArray
    """(n, 3) in N, along two tangents and the normal of each sole."""
    problem: StandingProblem
    """Problem with g and h from the motors: `problem.effort(forces)` are the present
    torques, motor by motor, and the forces balance the robot."""


def find_present_forces(
    problem: StandingProblem, motor_effort: FloatArray
) -> PresentForces:
    """Estimate the forces at the soles from the torques of the motors.

    Args:
        problem: problem of the model, at the measured angles.
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
            PRESENT_REGULARISATION * np.eye(3 * n),
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
    error = motor_effort - problem.motor_effort(problem.effort(forces))
    return replace(
        problem,
        gravity=problem.gravity + error @ problem.inverse_sharing,
        weight=problem.base_map @ forces.ravel(),
    )


class LegRelief:
    """Estimator of the leg forces of one robot; stores its model but no past values."""

    def __init__(self, robot: Robot, friction: float) -> None:
        """Build the model.

        Args:
            robot: robot with feet.
            friction: μ assumed for the ground.

        Raises:
            BadInput: it has no soles.
        """
        points = sole_points(robot)
        self._robot = robot
        self._friction = friction
        self._dynamics = Dynamics(robot, points)
        self.foot_of_point = np.array([robot.feet.index(p.effector) for p in points])
        """(n_points,) the foot of each corner of a sole."""
        self._loss = joule_loss(robot)
        self.counts: BoolArray = self._loss > 0.0
        """(n_motors,) mask of the leg motors."""
        self.weight = self._dynamics.mass * GRAVITY
        """Weight of the whole robot, in N."""

    def find(
        self,
        q: FloatArray,
        effort: FloatArray,
        *,
        is_pressed: BoolArray,
        up: FloatArray,
    ) -> PresentForces:
        """Return the present forces of the legs, estimated from the motors.

        Args:
            q: (n_joints,) measured angles in rad.
            effort: (n_motors,) motor torques, in N·m on the joint side.
            is_pressed: (n_feet,) mask of the loaded feet.
            up: (3,) unit vector against gravity, in the base frame.
        """
        self._dynamics.update(q)
        (points,) = np.nonzero(is_pressed[self.foot_of_point])
        corners = self._dynamics.point_positions[points]
        model = build_standing_problem(
            self._dynamics,
            self._robot,
            up,
            points,
            loss=self._loss,
            friction=self._friction,
            normals=sole_normals(corners, self.foot_of_point[points], up),
        )
        return find_present_forces(model, effort)
