"""What the legs of a standing robot turn into heat, and the least that they must.

The joule loss of a motor is c T², c = R / K² with the winding's resistance as it was
identified, whatever heating model runs: powers of different runs can be compared.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from controllers.heat_minimization.least_loss import (
    gear_friction,
    least_power_with_gears,
    solve_least_loss,
)
from controllers.heat_minimization.standing_problem import (
    build_standing_problem,
    joule_loss,
    sole_normals,
    sole_points,
)
from controllers.stiffness.dynamics import Dynamics
from models import Robot
from sim.engine.bullet import rotation_from_quaternion
from sim.robot import SimulatedRobot

FloatArray = NDArray[np.float64]
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
    """When stuck gears bear what they can, and the stops of joints at the end of their
    range whatever they like: nobody gets below. None: not found."""


def least_powers(
    sim: SimulatedRobot, friction: float | None = None
) -> LeastPowers | None:
    """Return the least joule loss of the legs that the true posture allows.

    From the engine's own angles and base, with both soles on the ground: no contact
    forces within the friction cones cost less.

    Args:
        sim: the robot, standing.
        friction: coefficient of the ground; None: that of its world.

    Returns:
        The powers; None where no forces at the soles balance the robot.
    """
    robot, truth = sim.robot, sim.truth()
    points = sole_points(robot)
    dynamics = Dynamics(robot, points)
    dynamics.update(truth.q)
    up = rotation_from_quaternion(truth.base_quaternion)[2]
    foot = np.array([robot.feet.index(point.effector) for point in points])
    problem = build_standing_problem(
        dynamics,
        robot,
        up,
        np.arange(len(points)),
        loss=joule_loss(robot),
        normals=sole_normals(dynamics.point_positions, foot, up),
        friction=sim.engine.cfg.friction if friction is None else friction,
    )
    least = solve_least_loss(problem)
    if not least.is_balanced:
        return None
    stuck = sim.cfg.servo.friction_scale if sim.cfg.servo.kind == "torque" else 0.0
    help_nm = stuck * gear_friction(robot)
    help_nm[robot.motor_of_joint[are_at_stops(robot, truth.q)]] = np.inf
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
            time_s: in s.
            mean_square: (n_motors,) mean squared torques over it, in N²m².
        """
        self._times.append(time_s)
        self._powers.append(float(self._loss @ mean_square))

    def hold(self, time_s: float) -> None:
        """Let the last power go on until `time_s`, in s: no physics since."""
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
