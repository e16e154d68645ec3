"""Joule loss of a standing robot's legs, and its avoidable part.

The joule loss of a motor is c T², with c = R / K² and the identified resistance of the
winding, for every heating model, so that powers of different runs are comparable.

Both legs, the pelvis and the ground form a closed chain. Contact forces f that carry
the weight obey B f = h. All other forces on one foot are equal and opposite to those on
the other, and cost torque without carrying weight. For two flat feet, such internal
forces reach the motors in **six** patterns, the columns of S C N, with N the null space
of B (letters as in `controllers.heat_minimization.standing_problem`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.heat_minimization.least_loss import (
    LeastLoss,
    least_power_with_gears,
    solve_least_loss,
)
from nao_testbed.controllers.heat_minimization.standing_problem import (
    StandingProblem,
    build_standing_problem,
    joule_loss,
    sole_normals,
    sole_points,
)
from nao_testbed.controllers.stiffness.dynamics import Dynamics
from nao_testbed.controllers.stiffness.ground_plane import (
    GroundPlaneCfg,
    fit_sole_plane,
)
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import rotation_from_quaternion
from nao_testbed.sim.robot import SimulatedRobot

BoolArray = NDArray[np.bool_]

AT_STOP_RAD = 2e-3
"""Distance from the end of its range within which a joint may lean on its stop:
0.1°."""
SETTLED_SHARE = 0.05
"""Relative distance from its final value within which a power has settled."""
SETTLED_W = 0.05
"""The same distance in W; the larger one applies."""
STAYS_S = 3.0
"""Minimum time in s for which a power must stay settled, since the end of a run alone
is no evidence."""


@dataclass(frozen=True, kw_only=True)
class LeastPowers:
    """Minimum joule losses of the legs that the true posture allows, in W."""

    without_gears_w: float
    """Minimum over the contact forces, without joint stops; used to compare
    postures."""
    with_gears_w: float | None
    """Lower bound with as much load as possible carried by gear friction and joint
    stops. None: not found."""
    motors_w: FloatArray
    """(n_motors,) loss of each motor at the first minimum."""


class StandingLoss:
    """Minimum Joule loss of the legs of one robot, for repeated evaluation."""

    def __init__(self, sim: SimulatedRobot) -> None:
        """Prepare the evaluation for a robot with feet, and its payload."""
        self._sim, robot = sim, sim.robot
        points = sole_points(robot)
        self._dynamics = Dynamics(robot, points)
        for load in sim.cfg.world.payloads:
            self._dynamics.carry(load.link, load.mass_kg, load.place_on(robot))
        self._foot = np.array([robot.feet.index(point.effector) for point in points])
        self.loss = joule_loss(robot)
        """(n_motors,) W/(N·m)², 0 for motors outside the legs."""

    def solve(
        self, friction: float | None = None
    ) -> tuple[StandingProblem, LeastLoss] | None:
        """Return the minimum joule loss that the true posture allows.

        It is computed from the engine's angles and base pose, with both soles on the
        ground: no contact forces within the friction cones cost less.

        Args:
            friction: friction coefficient of the ground; None: that of the world.

        Returns:
            The problem and its forces; None if no forces at the soles balance the
            robot, or an obstacle carries a part of its weight.
        """
        sim, dynamics = self._sim, self._dynamics
        truth = sim.truth()
        if truth.obstacle_contacts:
            return None
        dynamics.update(truth.q)
        up = rotation_from_quaternion(truth.base_quaternion)[2]
        problem = build_standing_problem(
            dynamics,
            sim.robot,
            up,
            np.arange(len(self._foot)),
            loss=self.loss,
            normals=sole_normals(dynamics.point_positions, self._foot, up),
            friction=sim.engine.cfg.friction if friction is None else friction,
        )
        least = solve_least_loss(problem)
        return (problem, least) if least.is_balanced else None

    def least_w(self) -> FloatArray:
        """Return the loss of each motor at the minimum total loss of the legs.

        Returns:
            (n_motors,) c τ*² in W with the torques τ* of minimum loss; 0 for motors
            outside the legs, NaN if no forces at the soles balance the robot.
        """
        found = self.solve()
        if found is None:
            return np.full_like(self.loss, np.nan)
        least: FloatArray = self.loss * found[1].motor_effort ** 2
        return least


def least_powers(
    sim: SimulatedRobot, friction: float | None = None
) -> LeastPowers | None:
    """Return the minimum joule losses of the legs that the true posture allows.

    Args:
        sim: standing robot.
        friction: friction coefficient of the ground; None: that of the world.

    Returns:
        The powers; None as in `StandingLoss.solve`.
    """
    robot, found = sim.robot, StandingLoss(sim).solve(friction)
    if found is None:
        return None
    problem, least = found
    stuck = sim.cfg.servo.friction_scale if sim.cfg.servo.kind == "torque" else 0.0
    help_nm = stuck * robot.motor_friction
    at_stop = robot.transmission[:, are_at_stops(robot, sim.truth().q)] != 0.0
    help_nm[at_stop.any(axis=1)] = np.inf
    return LeastPowers(
        without_gears_w=least.loss_w,
        with_gears_w=least_power_with_gears(problem, help_nm),
        motors_w=problem.loss * least.motor_effort**2,
    )


def are_at_stops(robot: Robot, q: FloatArray) -> BoolArray:
    """Return a mask of the joints at an end of their range, (n_joints,).

    Args:
        robot: robot with the ranges.
        q: (n_joints,) true angles in rad.
    """
    return (q <= robot.lower + AT_STOP_RAD) | (q >= robot.upper - AT_STOP_RAD)


class LegsPower:
    """Joule loss of the legs over a run; call `add` after every interval of physics.

    Call `hold` after an interval without physics, in which torques were constant.
    """

    def __init__(self, robot: Robot) -> None:
        """Start a meter for the legs of `robot`."""
        self._loss = joule_loss(robot)
        self._times: list[float] = []
        self._powers: list[float] = []

    def add(self, time_s: float, mean_square: FloatArray) -> None:
        """Add an interval that ended at `time_s`.

        Args:
            time_s: time in s.
            mean_square: (n_motors,) mean squared torques over the interval, in N²m².
        """
        self._times.append(time_s)
        self._powers.append(float(self._loss @ mean_square))

    def hold(self, time_s: float) -> None:
        """Extend the last power without physics until `time_s` in s."""
        if self._powers:
            self._times.append(time_s)
            self._powers.append(self._powers[-1])

    @property
    def last_w(self) -> float | None:
        """Joule loss of the last interval in W; None before the first."""
        return self._powers[-1] if self._powers else None

    def settled_s(self) -> float | None:
        """Return the time from which it stayed near its last value; None: never."""
        if len(self._powers) < 2:
            return None
        powers = np.array(self._powers)
        bound = max(SETTLED_SHARE * powers[-1], SETTLED_W)
        (outside,) = np.nonzero(np.abs(powers - powers[-1]) > bound)
        first = int(outside[-1]) + 1 if len(outside) else 0
        stayed_s = self._times[-1] - self._times[first]
        return self._times[first] if stayed_s >= STAYS_S - 1e-9 else None


BOTH_SOLES = GroundPlaneCfg(roughest_m=0.1)
"""Limits that also accept the common plane of soles tilted against each other."""
SMALLEST_SHARE = 1e-6
"""Share of the largest singular value below which a pattern is a rounding error."""


@dataclass(frozen=True, kw_only=True, eq=False)
class InternalForces:
    """Torques of the leg motors, and their part that is due to internal forces."""

    motors: tuple[str, ...]
    """Names of the leg motors."""
    is_right: BoolArray
    """(n,) True for a motor of the role's right leg."""
    measured: FloatArray
    """(n,) measured torques in N·m, without gear friction."""
    least: FloatArray
    """(n,) torques in N·m of the contact forces of minimum joule loss."""
    patterns: FloatArray
    """(n, n_patterns) orthonormal basis of the torques that internal forces can
    cause."""
    loss: FloatArray
    """(n,) joule loss per squared torque in W/(N·m)²."""
    least_loss: LeastLoss
    """Forces and torques of minimum joule loss."""

    @property
    def internal(self) -> FloatArray:
        """(n,) part of the torques above the minimum that patterns explain, in N·m."""
        return np.asarray(self.patterns @ (self.patterns.T @ self._above))

    @property
    def unexplained(self) -> FloatArray:
        """(n,) remaining torques in N·m: contacts that are not flat, and noise."""
        return np.asarray(self._above - self.internal)

    @property
    def measured_w(self) -> float:
        """Joule loss of the measured torques in W."""
        return float(self.loss @ self.measured**2)

    @property
    def least_w(self) -> float:
        """Minimum joule loss over all contact forces in this posture, in W."""
        return float(self.loss @ self.least**2)

    @property
    def _above(self) -> FloatArray:
        return self.measured - self.least


def find_internal_forces(
    robot: Robot, q: FloatArray, effort: FloatArray
) -> InternalForces:
    """Split the torques of a robot that stands on both soles.

    The upward direction is the normal of the plane through the corners of its soles.

    Args:
        robot: robot with feet, and without payload.
        q: (n_joints,) true angles in rad: encoder angles plus their errors.
        effort: (n_joints,) torques on the links in N·m.

    Raises:
        BadInput: the robot has no feet, or no forces on its feet balance it.
    """
    points = sole_points(robot)
    dynamics = Dynamics(robot, points)
    dynamics.update(q)
    loss = joule_loss(robot)
    corners = dynamics.point_positions
    up = fit_sole_plane(corners, dynamics.com, BOTH_SOLES)
    if up is None:
        raise BadInput(
            "the sole corners are not in one plane at these angles; choose a time at "
            "which the robot stands on both feet."
        )
    problem = build_standing_problem(
        dynamics, robot, up, np.arange(len(points)), loss=loss
    )
    least = solve_least_loss(problem)
    if not least.is_balanced:
        raise BadInput(
            "no forces at the soles balance the robot at these angles; choose a time "
            "at which it stands on both feet."
        )
    legs = np.flatnonzero(loss > 0.0)
    _, strength, null = np.linalg.svd(problem.base_map)
    internal = null[int((strength > SMALLEST_SHARE * strength[0]).sum()) :]
    reached = problem.sharing[legs] @ problem.contact_map @ internal.T
    directions, size, _ = np.linalg.svd(reached, full_matrices=False)
    return InternalForces(
        motors=tuple(robot.motor_names[i] for i in legs),
        is_right=np.array(
            [bool({*robot.motors[i].joints} & {*robot.leg("right")}) for i in legs]
        ),
        measured=problem.motor_effort(effort)[legs],
        least=least.motor_effort[legs],
        patterns=directions[:, size > SMALLEST_SHARE * size[0]],
        loss=loss[legs],
        least_loss=least,
    )
