"""Problem of a posture search: joule loss and constraints as functions of angles.

    min_x P(q(x))     x: angles of the movable motors, left and right as one
    such that         both soles lie flat on one plane, and keep their position,
                      the plumb line of the centre of mass meets the support, inside by
                      a margin, no motor exceeds its torque share, no links touch,

P being the minimum joule loss that contact forces allow (`least_loss`) in the posture.
The ranges of the angles are bounds on x. Building and solving the problem are separate,
so that failures can be inspected.
"""

from dataclasses import dataclass
from math import degrees

import numpy as np

from nao_testbed.controllers.heat_minimization.least_loss import (
    LeastLoss,
    solve_least_loss,
)
from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    PostureSearchCfg,
    choose_variables,
)
from nao_testbed.controllers.heat_minimization.posture_search.stance import (
    Clearance,
    Stance,
    StandingBody,
    distances_to_edges,
    hull_order,
)
from nao_testbed.controllers.heat_minimization.standing_problem import (
    build_standing_problem,
    joule_loss,
    sole_points,
)
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray

LOSS_GAP = 1e-9
"""Relative accuracy of the loss: differences over 1e-5 rad are its derivatives."""
PER_M = 100.0
"""Scale of length constraints: cm, so that all constraints have similar size."""
PER_RAD = 10.0
"""Scale of angle constraints: tenths of a radian."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    """Meaning of one row of the constraints."""

    name: str
    unit: str
    """`mm`, `degrees` or `share²`, for display."""

    def violation(self, value: float) -> str:
        """Return a text for a violation by `value`, scaled like the rows."""
        if self.unit == "mm":
            return f"{self.name} (by {1000.0 * abs(value) / PER_M:.1f} mm)"
        if self.unit == "degrees":
            return f"{self.name} (by {degrees(abs(value) / PER_RAD):.1f} degrees)"
        return self.name


@dataclass(frozen=True, kw_only=True, slots=True)
class PostureValue:
    """A posture, its loss and its constraint values."""

    q: FloatArray
    """(n_joints,) in rad."""
    body: StandingBody
    least: LeastLoss
    equal: FloatArray
    """Equality constraints, 0 if satisfied; lengths in cm, angles in 0.1 rad."""
    atleast: FloatArray
    """Inequality constraints, 0 or more if satisfied; same scaling."""
    clearance: FloatArray
    """(n_pairs,) distances of the watched links in m."""


class PostureProblem:
    """Search problem around one posture of one robot; `at(x)` evaluates it."""

    def __init__(self, robot: Robot, wanted: Posture, cfg: PostureSearchCfg) -> None:
        """Choose the variables and the constraints.

        Raises:
            BadInput: no feet, a posture not on feet alone, or no movable joint.
            UnknownName: the robot has no joint of a name in `keep`.
        """
        _check_standing(robot, wanted)
        self.robot = robot
        self.cfg = cfg
        self.wanted = wanted.angles
        self._points = np.arange(len(sole_points(robot)))
        self._dynamics = Dynamics(robot, sole_points(robot))
        self._stance = Stance(robot, self._dynamics, cfg.slope_deg)
        self.variables = choose_variables(robot, self.wanted, cfg)
        counted = [
            name
            for name, is_moved in zip(
                robot.joint_names, self.variables.is_moved, strict=True
            )
            if is_moved or name in robot.leg_joints
        ]
        self._loss = joule_loss(robot, counted)
        self._limit = robot.motor_effort_limit
        self._counts = self._loss > 0.0
        self._clearance = Clearance(robot, self.wanted)
        self._least_clearance = np.minimum(self._clearance.wanted, cfg.clearance_m)
        self._dynamics.update(self.wanted)
        self._reference = self._stance.at()
        self._hull = hull_order(self._reference.corners)
        self.equal_rows = tuple(row for row, _ in self._equalities(self._reference))
        self.atleast_rows = self._name_inequalities()

    @property
    def motor_loss(self) -> FloatArray:
        """(n_motors,) c in W/(N·m)² of the counted motors, 0 for others."""
        return self._loss.copy()

    def angles(self, x: FloatArray) -> FloatArray:
        """Return the (n_joints,) angles in rad of the (n,) variables."""
        return np.asarray(self.wanted + self.variables.map @ x)

    def at(self, x: FloatArray) -> PostureValue:
        """Evaluate the posture of the (n,) variables."""
        q = self.angles(x)
        self._dynamics.update(q)
        body = self._stance.at()
        problem = build_standing_problem(
            self._dynamics,
            self.robot,
            body.up,
            self._points,
            loss=self._loss,
            friction=self.cfg.friction,
            normals=np.tile(body.normal, (len(self._points), 1)),
        )
        least = solve_least_loss(problem, LOSS_GAP)
        clearance = self._clearance.at(q)
        return PostureValue(
            q=q,
            body=body,
            least=least,
            equal=np.array([value for _, value in self._equalities(body)]),
            atleast=self._inequalities(body, least, clearance),
            clearance=clearance,
        )

    def com_margin(self, body: StandingBody) -> float:
        """Return the distance of the centre of mass inside its support, in m."""
        order = hull_order(body.corners)
        return float(distances_to_edges(body.corners, order, body.com).min())

    def torque_share(self, least: LeastLoss) -> float:
        """Return the largest motor torque as a share of its limit."""
        share = np.abs(least.motor_effort) / self._limit
        return float(share[self._counts].max())

    def _equalities(self, body: StandingBody) -> list[tuple[Constraint, float]]:
        rows: list[tuple[Constraint, float]] = []
        feet = self.robot.feet[1:]
        for foot, sole, wanted in zip(
            feet, body.soles, self._reference.soles, strict=False
        ):
            level = Constraint(name=f"sole of {foot} level with the other", unit="mm")
            rows.append((level, PER_M * sole.position[2]))
            flat = Constraint(name=f"sole of {foot} flat", unit="degrees")
            rows += [(flat, PER_RAD * tilt) for tilt in sole.tilt]
            if not self.cfg.feet_may_move:
                place = Constraint(name=f"position of {foot}", unit="mm")
                moved = PER_M * (sole.position - wanted.position)[:2]
                rows += [(place, distance) for distance in moved]
                turn = Constraint(name=f"heading of {foot}", unit="degrees")
                rows.append((turn, PER_RAD * _turn(sole.turn - wanted.turn)))
        return rows

    def _inequalities(
        self, body: StandingBody, least: LeastLoss, clearance: FloatArray
    ) -> FloatArray:
        inside = distances_to_edges(body.corners, self._hull, body.com)
        share = least.motor_effort[self._counts] / self._limit[self._counts]
        return np.concatenate(
            (
                PER_M * (inside - self.cfg.com_margin_m),
                self.cfg.torque_share**2 - share**2,
                PER_M * (clearance - self._least_clearance),
            )
        )

    def _name_inequalities(self) -> tuple[Constraint, ...]:
        cfg = self.cfg
        com = f"centre of mass {1000.0 * cfg.com_margin_m:g} mm inside its support"
        torque = f"torque within {cfg.torque_share:g} of the limit of"
        counted = np.array(self.robot.motor_names)[self._counts]
        return (
            *[Constraint(name=com, unit="mm")] * len(self._hull),
            *(Constraint(name=f"{torque} {motor}", unit="share²") for motor in counted),
            *(
                Constraint(name=f"distance of {pair}", unit="mm")
                for pair in self._clearance.names
            ),
        )


def _turn(angle: float) -> float:
    """Return an angle in (-π, π]."""
    return float(np.arctan2(np.sin(angle), np.cos(angle)))


def _check_standing(robot: Robot, posture: Posture) -> None:
    sole_points(robot)  # raises for a robot without feet
    if not robot.has_legs:
        raise BadInput(f"this body of robot {robot.name!r} has no legs to stand on.")
    others = [name for name in posture.effectors if name not in robot.feet]
    if others:
        raise BadInput(
            f"posture {posture.name!r} also rests on {', '.join(others)}; a search "
            f"needs one that stands on {', '.join(robot.feet)} alone."
        )
