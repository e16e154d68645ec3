"""Joule loss of a standing robot's legs, and its avoidable part.

The joule loss of a motor is c T², c = R / K² with the winding's resistance as it was
identified, whatever heating model runs: powers of different runs can be compared.

Both legs, the pelvis and the ground are one closed chain. Contact forces f that carry
the weight obey B f = h; all other forces on one foot are equal and opposite to those on
the other, and cost torques without carrying anything. Whatever two flat
feet do, such forces reach the motors in **six** patterns: S C N, N the null space of B
(letters as in `controllers.cooling.standing_problem`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nao_testbed.controllers.heat_minimization.least_loss import (
    LeastLoss,
    gear_friction,
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
"""A joint so near to the end of its range may lean on its stop: 0.1°."""
SETTLED_SHARE = 0.05
"""Share of its final value within which a power has settled."""
SETTLED_W = 0.05
"""And in W, whichever is larger."""
STAYS_S = 3.0
"""For so long at the least, in s: the end of a run says nothing yet."""


@dataclass(frozen=True, kw_only=True)
class LeastPowers:
    """The least joule loss of the legs that a true posture allows, in W."""

    without_gears_w: float
    """Of the contact forces alone, as if no joint had stops: what postures are compared
    by."""
    with_gears_w: float | None
    """Lower bound with gear friction and joint stops bearing as much as possible. None:
    not found."""


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
        """Return what the true posture allows at the least.

        From the engine's own angles and base, with both soles on the ground: no contact
        forces within the friction cones cost less.

        Args:
            friction: coefficient of the ground; None: that of its world.

        Returns:
            The problem and its forces; None where no forces at the soles balance the
            robot, or an obstacle bears a part of it.
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
        """Return what each motor loses where all legs together lose the least.

        Returns:
            (n_motors,) c τ*² in W, τ* the torques of the least loss; 0 for motors that
            are not of the legs, NaN where no forces at the soles balance the robot.
        """
        found = self.solve()
        if found is None:
            return np.full_like(self.loss, np.nan)
        least: FloatArray = self.loss * found[1].motor_effort ** 2
        return least


def least_powers(
    sim: SimulatedRobot, friction: float | None = None
) -> LeastPowers | None:
    """Return the least joule loss of the legs that the true posture allows.

    Args:
        sim: the robot, standing.
        friction: coefficient of the ground; None: that of its world.

    Returns:
        The powers; None as of `StandingLoss.solve`.
    """
    robot, found = sim.robot, StandingLoss(sim).solve(friction)
    if found is None:
        return None
    problem, least = found
    stuck = sim.cfg.servo.friction_scale if sim.cfg.servo.kind == "torque" else 0.0
    help_nm = stuck * gear_friction(robot)
    help_nm[robot.motor_of_joint[are_at_stops(robot, sim.truth().q)]] = np.inf
    return LeastPowers(
        without_gears_w=least.loss_w,
        with_gears_w=least_power_with_gears(problem, help_nm),
    )


def are_at_stops(robot: Robot, q: FloatArray) -> BoolArray:
    """Return which joints are at an end of their range, (n_joints,).

    Args:
        robot: whose ranges.
        q: (n_joints,) true angles in rad.
    """
    return (q <= robot.lower + AT_STOP_RAD) | (q >= robot.upper - AT_STOP_RAD)


class LegsPower:
    """The legs' joule loss over a run; `add` after every stretch of physics.

    `hold` after a time without: torques were steady then.
    """

    def __init__(self, robot: Robot) -> None:
        """Take the motors of `robot`."""
        self._loss = joule_loss(robot)
        self._times: list[float] = []
        self._powers: list[float] = []

    def add(self, time_s: float, mean_square: FloatArray) -> None:
        """Take a stretch that ended at `time_s`.

        Args:
            time_s: time in s.
            mean_square: (n_motors,) mean squared torques over it, in N²m².
        """
        self._times.append(time_s)
        self._powers.append(float(self._loss @ mean_square))

    def hold(self, time_s: float) -> None:
        """Extend the last power until `time_s`, in s, without physics."""
        if self._powers:
            self._times.append(time_s)
            self._powers.append(self._powers[-1])

    @property
    def last_w(self) -> float | None:
        """That of the last stretch in W; None before the first."""
        return self._powers[-1] if self._powers else None

    def settled_s(self) -> float | None:
        """Return from when on it stayed near its last value; None: it never did."""
        if len(self._powers) < 2:
            return None
        powers = np.array(self._powers)
        bound = max(SETTLED_SHARE * powers[-1], SETTLED_W)
        (outside,) = np.nonzero(np.abs(powers - powers[-1]) > bound)
        first = int(outside[-1]) + 1 if len(outside) else 0
        stayed_s = self._times[-1] - self._times[first]
        return self._times[first] if stayed_s >= STAYS_S - 1e-9 else None


BOTH_SOLES = GroundPlaneCfg(roughest_m=0.1)
"""Soles that are turned against each other have a common plane too."""
SMALLEST_SHARE = 1e-6
"""Of the largest singular value: patterns weaker than this are rounding."""


@dataclass(frozen=True, kw_only=True, eq=False)
class InternalForces:
    """Torques of the leg motors, and what of them the legs do to each other."""

    motors: tuple[str, ...]
    """Names of the motors of the legs."""
    measured: FloatArray
    """(n,) N·m, without gear friction."""
    least: FloatArray
    """(n,) N·m of the contact forces that cost the least joule loss."""
    patterns: FloatArray
    """(n, n_patterns) orthonormal: all that internal forces can do to the motors."""
    loss: FloatArray
    """(n,) W/(N·m)², what a squared torque costs in each motor."""
    least_loss: LeastLoss
    """Forces and torques of least joule loss."""

    @property
    def internal(self) -> FloatArray:
        """(n,) N·m, that part of the torques above the least that patterns explain."""
        return np.asarray(self.patterns @ (self.patterns.T @ self._above))

    @property
    def unexplained(self) -> FloatArray:
        """(n,) N·m, the rest: contacts that are not quite flat, and noise."""
        return np.asarray(self._above - self.internal)

    @property
    def measured_w(self) -> float:
        """Joule loss of the measured torques in W."""
        return float(self.loss @ self.measured**2)

    @property
    def least_w(self) -> float:
        """The least that any contact forces cost in this posture, in W."""
        return float(self.loss @ self.least**2)

    @property
    def _above(self) -> FloatArray:
        return self.measured - self.least


def find_internal_forces(
    robot: Robot, q: FloatArray, effort: FloatArray
) -> InternalForces:
    """Split the torques of a robot that stands on both soles.

    Up is the normal of the plane through the corners of its soles.

    Args:
        robot: robot with feet, and without payload.
        q: (n_joints,) true angles in rad: the encoders' plus their errors.
        effort: (n_joints,) torques on the links in N·m.

    Raises:
        BadInput: the robot has no feet, or no forces on them balance it.
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
        measured=problem.motor_effort(effort)[legs],
        least=least.motor_effort[legs],
        patterns=directions[:, size > SMALLEST_SHARE * size[0]],
        loss=loss[legs],
        least_loss=least,
    )
