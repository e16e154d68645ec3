"""`longest`: the legs bear the robot so that the first hot motor is hot last.

`minheat` makes the least heat, and may let one motor carry most of it: bent knees get
hot while the other motors stay cool. Here the forces at the soles are those under which
the first motor of the legs to reach its limit does so as late as possible.

**When a motor is too hot.** With one thermal node [xu2012], u = T - T_e over the
ambient, a torque M that stays gives

    u(t) = u_0 e + (c M² / λ) (1 - e),    e = exp(-λ t / C),    c = R / K²,

so that the motor stays below u_max until t if, and only if,

    |M| <= b(t),    b² = (u_max - u_0 e) λ / (c (1 - e)),

which falls with t as long as u_0 < u_max.

**As late as possible.** For one t that is a linear programme in the forces f,

    min s    over f in its pyramids, B f = h, |S (g - C f)|_m <= s b_m(t),

and s <= 1 tells that t can be reached: bisection finds the latest t. Of all forces that
reach it those of least joule loss are taken.

The forces are sought anew every minute, one programme at a time, so that no step of the
controller waits for all of them (one takes about 10 ms); in between the set-points
follow them as the robot is. Ambient temperatures are those of the motors'
identification, and copper has its resistance of there. What contact forces do not
change, the arms, is not sought, but `minutes_left` counts it.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from scipy.optimize import linprog

from controllers.heat_minimization.least_loss import (
    BALANCE_WEIGHT,
    RAYS,
    LeastLoss,
    evaluate_forces,
    friction_rays,
    solve_in_cones,
    solve_least_loss,
)
from controllers.heat_minimization.leg_relief import PresentForces
from controllers.heat_minimization.minheat import MinHeat, MinHeatCfg
from controllers.heat_minimization.standing_problem import StandingProblem
from controllers.interface.robot_interface import Observation
from models import Robot
from models.values import FloatArray, Positive

LONGEST_S = 24.0 * 3600.0
"""In s: beyond this nobody asks how long."""
SHORTEST_S = 1.0
"""In s, where the search begins."""
TOLERANCE = 0.01
"""Of the time that is found."""
MARGIN = 0.995
"""Part of b that is used: a hundredth of the heat is left for what is not foreseen, and
"never" is not "in the very end"."""
ROUNDING = 1e-3
"""Of a torque that is kept at its bound."""
MOST_AT_BOUND = 12
"""Rounds in which motors are found that have to be kept there: about as many as legs
have motors."""


class MotorTimes:
    """How long each motor may bear a torque, by the heating of its one node."""

    def __init__(self, robot: Robot, limit_degc: float) -> None:
        """Read the heating of the motors of `robot`, too hot at `limit_degc`."""
        heating = [motor.one_node for motor in robot.motors]
        self._conductance = np.array([h.conductance for h in heating])  # λ
        self._rate = self._conductance / [h.heat_capacity for h in heating]  # λ / C
        self._loss = np.array([h.resistance / h.torque_constant**2 for h in heating])
        self._ambient = np.array([h.ambient_degc for h in heating])
        self._limit_degc = limit_degc

    def bounds(self, time_s: float, temperature: FloatArray) -> FloatArray:
        """Return b(t), the torques (n_motors,) in N·m that may last until t.

        A motor beyond its limit may not get hotter.

        Args:
            time_s: t from now, which may be infinite.
            temperature: (n_motors,) now, in °C.
        """
        u_0, u_max = self._over_ambient(temperature)
        e = np.exp(-self._rate * time_s)
        left = (u_max - u_0 * e) / (1.0 - e)
        left = np.maximum(left, 0.0)
        return np.asarray(np.sqrt(left * self._conductance / self._loss))

    def until_limit(self, torque: FloatArray, temperature: FloatArray) -> FloatArray:
        """Return the time (n_motors,) in s until each motor is too hot.

        That is |M| = b(t) solved for t; infinite where it never is.

        Args:
            torque: (n_motors,) M in N·m on the joint side.
            temperature: (n_motors,) now, in °C.
        """
        u_0, u_max = self._over_ambient(temperature)
        final = self._loss * torque * torque / self._conductance
        is_reached = final > u_max
        above = np.where(is_reached, final - u_max, 1.0)
        time = np.log(np.where(is_reached, final - u_0, 1.0) / above) / self._rate
        return np.where(is_reached, time, np.inf)

    def _over_ambient(self, temperature: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return u_0 and u_max, (n_motors,) in K."""
        limit = np.maximum(self._limit_degc, temperature)
        return temperature - self._ambient, limit - self._ambient


class TimeSearch:
    """Seeks the forces of the longest time; `step` until it returns them."""

    def __init__(
        self, problem: StandingProblem, times: MotorTimes, temperature: FloatArray
    ) -> None:
        """Begin.

        Args:
            problem: the robot on its soles; motors with a loss of 0 are not looked at.
            times: of its motors.
            temperature: (n_motors,) now, in °C.
        """
        self._problem, self._times, self._temperature = problem, times, temperature
        self._counts = problem.loss > 0.0
        self._rays = friction_rays(problem.friction)
        SC = problem.sharing[self._counts] @ problem.contact_map
        self._effort_map = self._on_rays(SC)
        self._effort_at_rest = problem.motor_effort(problem.gravity)[self._counts]
        self._balance = np.pad(self._on_rays(problem.base_map), ((0, 0), (0, 1)))
        self._low, self._high = SHORTEST_S, inf

    def step(self) -> tuple[FloatArray, float] | None:
        """Solve one linear programme.

        Returns:
            At the end forces (n, 3) and the time in s, which is infinite where no motor
            ever gets too hot; None before.
        """
        low, high = self._low, self._high
        if high == inf:
            if self._is_reached(inf):
                return self._coolest(inf), inf
            self._high = LONGEST_S
        elif high > low * (1.0 + TOLERANCE):
            middle = sqrt(low * high)
            if self._is_reached(middle):
                self._low = middle
            else:
                self._high = middle
        else:
            return self._coolest(low), low
        return None

    def _bounds(self, time_s: float) -> FloatArray:
        return MARGIN * self._times.bounds(time_s, self._temperature)

    def _is_reached(self, time_s: float) -> bool:
        """Return whether some forces keep every motor below its limit until then."""
        E, b = self._effort_map, -self._bounds(time_s)[self._counts, None]
        least = linprog(
            np.append(np.zeros(E.shape[1]), 1.0),
            A_ub=np.block([[-E, b], [E, b]]),
            b_ub=np.concatenate((-self._effort_at_rest, self._effort_at_rest)),
            A_eq=self._balance,
            b_eq=self._problem.weight,
            method="highs",
        )
        return least.x is not None and float(least.x[-1]) <= 1.0

    def _coolest(self, time_s: float) -> FloatArray:
        """Return the forces (n, 3) of least loss that reach a time.

        Motors whose torque is beyond its bound are kept on it, round by round.
        """
        problem = self._problem
        bound = self._bounds(time_s)
        kept: dict[int, float] = {}
        least = solve_least_loss(problem)
        for _ in range(MOST_AT_BOUND):
            T = least.motor_effort
            beyond = self._counts & (np.abs(T) > (1.0 + ROUNDING) * bound)
            new = [m for m in np.flatnonzero(beyond).tolist() if m not in kept]
            if not new:
                break
            kept |= {m: float(np.copysign(bound[m], T[m])) for m in new}
            least = solve_least_loss(problem, kept)
        return least.forces

    def _on_rays(self, rows: FloatArray) -> FloatArray:
        """Return rows of forces, (m, 3 n), as rows of strengths of the rays."""
        n = self._problem.n_points * RAYS
        return np.asarray((rows.reshape(-1, 3) @ self._rays.T).reshape(len(rows), n))


@dataclass(frozen=True, kw_only=True)
class LongestCfg(MinHeatCfg):
    """Choices of the controller; too hot is `weights.limit_degc`."""

    name: str = "longest"
    replan_s: Positive = 60.0
    """Time from one search to the next, in s."""


class Longest(MinHeat):
    """Shifts set-points towards the longest time; all else is `MinHeat`'s.

    Until the first search has ended, some two seconds, and wherever no forces are
    found, it goes towards the least heat.
    """

    signal_names = (*MinHeat.signal_names, "minutes_left")
    """`minutes_left` is the time until the first motor, of all, is too hot with the
    torque that it gives now; infinite where none will be."""

    def __init__(self, cfg: LongestCfg | None = None) -> None:
        self._longest_cfg = cfg or LongestCfg()
        super().__init__(self._longest_cfg)

    def reset(self, robot: Robot) -> None:
        """Build everything that depends on `robot` and forget the past.

        Raises:
            BadInput: the robot has no soles, or the configuration does not fit it.
        """
        super().reset(robot)
        self._times = MotorTimes(robot, self.cfg.weights.limit_degc)

    def _forget(self) -> None:
        super()._forget()
        self._minutes_left = np.nan
        self._drop_plan()

    def _drop_plan(self) -> None:
        self._search: TimeSearch | None = None
        self._plan: FloatArray | None = None
        self._next_search = -inf

    @property
    def signals(self) -> tuple[float, ...]:
        """Joule loss and the least possible in W, and the minutes left."""
        return (*super().signals, self._minutes_left)

    def _interrupt(self, why: str) -> None:
        """Another posture wants other forces."""
        super()._interrupt(why)
        self._drop_plan()

    def _aim(self, present: PresentForces, observation: Observation) -> LeastLoss:
        problem, temperature = present.problem, observation.temperature
        left = self._times.until_limit(self._effort.value, temperature)
        self._minutes_left = float(left.min()) / 60.0
        if self._plan is not None and len(self._plan) != problem.n_points:
            self._drop_plan()  # on other feet
        if self._search is None and observation.time_s >= self._next_search:
            self._next_search = observation.time_s + self._longest_cfg.replan_s
            self._search = TimeSearch(problem, self._times, temperature)
        if self._search is not None and (found := self._search.step()):
            self._plan, _ = found
            self._search = None
        if self._plan is None:
            return super()._aim(present, observation)
        return follow_forces(problem, self._plan)


def follow_forces(problem: StandingProblem, wanted: FloatArray) -> LeastLoss:
    """Return the forces nearest to those wanted that carry the robot as it is now."""
    n = 3 * problem.n_points
    A = np.vstack((BALANCE_WEIGHT * problem.base_map, np.eye(n)))
    b = np.concatenate((BALANCE_WEIGHT * problem.weight, wanted.ravel()))
    return evaluate_forces(problem, solve_in_cones(A, b, problem.friction))
