"""From the torques of the motors to those that carry the same at the least heat.

    currents -> present forces at the soles -> forces of least joule loss

Hot motors weigh more, so that they are relieved first (`temperature_weights`).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from controllers.cooling.least_loss import LeastLoss, solve_least_loss
from controllers.cooling.present_forces import PresentForces, find_present_forces
from controllers.cooling.soles import sole_normals, sole_points
from controllers.cooling.standing_problem import build_standing_problem, joule_loss
from controllers.stiffness.dynamics import GRAVITY, Dynamics
from models import Robot

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Relief:
    """How the legs bear the robot, and how they could."""

    present: PresentForces
    """As the motors tell it."""
    target: LeastLoss
    """With the least loss of weighted motors."""


class LegRelief:
    """Finds the relief of one robot; keeps its model, and nothing of the past."""

    def __init__(self, robot: Robot, friction: float) -> None:
        """Build the model.

        Args:
            robot: that stands.
            friction: μ of the ground that is counted on.

        Raises:
            BadInput: it has no soles.
        """
        points = sole_points(robot)
        self._robot = robot
        self._friction = friction
        self._dynamics = Dynamics(robot, points)
        self._foot_of_point = np.array([robot.feet.index(p.effector) for p in points])
        self._loss = joule_loss(robot)
        self.counts: BoolArray = self._loss > 0.0
        """(n_motors,) those of the legs."""
        self.weight = self._dynamics.mass * GRAVITY
        """Of the whole robot, in N."""

    def find(
        self,
        q: FloatArray,
        effort: FloatArray,
        *,
        is_pressed: BoolArray,
        up: FloatArray,
        weights: FloatArray,
    ) -> Relief:
        """Solve at one moment.

        Args:
            q: (n_joints,) measured angles in rad.
            effort: (n_motors,) torques that the motors give, in N·m on the joint side.
            is_pressed: (n_feet,) the feet that carry.
            up: (3,) unit vector against gravity, in the base frame.
            weights: (n_motors,) as of `temperature_weights`.
        """
        self._dynamics.update(q)
        (points,) = np.nonzero(is_pressed[self._foot_of_point])
        corners = self._dynamics.point_positions[points]
        model = build_standing_problem(
            self._dynamics,
            self._robot,
            up,
            points,
            loss=self._loss,
            friction=self._friction,
            normals=sole_normals(corners, self._foot_of_point[points], up),
        )
        present = find_present_forces(model, effort)
        weighted = replace(present.problem, loss=self._loss * weights)
        return Relief(present=present, target=solve_least_loss(weighted))
