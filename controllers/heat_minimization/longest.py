"""`longest`: the legs bear the robot so that the first hot motor is hot last.

`minheat` makes the least heat, and may let one motor carry most of it: bent knees get
hot while the other motors stay cool. Here the forces at the soles are those under which
the first motor of the legs to reach its limit does so as late as possible.

**When a motor is too hot.** With one thermal node [xu2012], u = T - T_e over the
ambient, a torque M that stays gives

    u(t) = u_0 e + (c M² / λ) (1 - e),    e = exp(-λ t / C),    c = R / K²,

so that the motor stays below u_max until t if, and only if,

    |M| <= b(t),    b² = (u_max - u_0 e) λ / (c (1 - e)),

which falls with t as long as u_0 < u_max. Nor may it exceed the torque limit in force:
a set-point that asks for more goes astray.

**As late as possible.** For one t that is a linear programme in the forces f,

    min s    over f in its pyramids, B f = h, |S (g - C f)|_m <= s b_m(t),

and s <= 1 tells that t can be reached: bisection finds the latest t.

**Never.** Where s <= 1 at t = ∞, bounds are lowered to max(s, r) b(∞): no motor ends
near its limit that need not. r < 1 is for what is not seen, such as gears that carry a
load when the forces are sought and let go of it later.

**Weights.** What is found is followed as weights w of the motors' losses, not as
forces: of the forces with the least Σ w c T², T of every motor is within its bound. In
the optimum of the programme the multipliers λ of the rules that hold with equality play
the part that w c |T| plays there [boyd2004, ch. 5], so that

    w_m = max(1, k λ_m / (c_m b_m)),    scaled to a largest of k,

with the least k = 1, 2, 4... that is enough.

As in `minheat`, the least is then sought anew ten times a second, with the torques as
the motors give them: forces that are held for a minute would miss what stuck gears
carry by then.

**Only where it helps.** The first minute is `minheat`'s, and weights are followed only
if they promise GAIN times the time that the legs' torques leave as they are. All get
warm together under a plan; where gears or stops come to bear so much that nothing gets
hot, that is heat for nothing.

The search is made anew every minute, one programme at a time, so that no step of the
controller waits for all of it (one takes about 10 ms). Ambient temperatures are those
of the motors' identification, and copper has its resistance of there. What contact
forces do not change, the arms, is not sought, but `minutes_left` counts it.
"""

from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from scipy.optimize import linprog

from nao_testbed.controllers.heat_minimization.friction_cones import friction_rays
from nao_testbed.controllers.heat_minimization.least_loss import (
    LeastLoss,
    solve_least_loss,
)
from nao_testbed.controllers.heat_minimization.leg_relief import PresentForces
from nao_testbed.controllers.heat_minimization.minheat import MinHeat, MinHeatCfg
from nao_testbed.controllers.heat_minimization.standing_problem import StandingProblem
from nao_testbed.controllers.interface.robot_interface import Observation
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray, Positive

LONGEST_S = 24.0 * 3600.0
"""In s: beyond this nobody asks how long."""
SHORTEST_S = 1.0
"""In s, where the search begins."""
TOLERANCE = 0.01
"""Of the time that is found."""
MARGIN = 0.985
"""Part of b that is sought within: 3 % of the heat are left for what is not foreseen,
and "never" is not "in the very end"."""
RESERVE = 0.8
"""r: a motor at its bound then ends at 61 °C instead of 80 °C, in a room of 27 °C."""
SLACK = 1.02
"""Of s: forces within the very least bounds would be hard to find."""
LEAST_BOUND = 1e-9
"""Of a motor that gets no room, in N·m."""
CLOSE = 1.01
"""Torque over its bound that is near enough."""
MOST_WEIGHT = 128.0
"""The last k: there a crouching NAO is within 0.5 % of all bounds."""


RAYS = 32
"""Of the pyramid that stands for a friction cone: s is at most 0.5 % above that of
round cones at μ = 0.15 (of 8 rays 10 %)."""
GAIN = 1.1
"""A plan has to promise this much more time than the present torques leave."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Longevity:
    """What a search found."""

    time_s: float
    """Until the first motor is too hot; infinite: none ever is."""
    weights: FloatArray
    """(n_motors,) w >= 1 of the motors' losses."""
    least: LeastLoss
    """The forces and torques of least loss with them."""


class TimeSearch:
    """Seeks the weights of the longest time; `step` until it returns them."""

    def __init__(
        self,
        problem: StandingProblem,
        times: MotorTimes,
        temperature: FloatArray,
        limit: FloatArray | float = inf,
    ) -> None:
        """Begin.

        Args:
            problem: the robot on its soles; motors with a loss of 0 are not looked at.
            times: of its motors.
            temperature: (n_motors,) now, in °C.
            limit: (n_motors,) of their torques, in N·m.
        """
        self._problem, self._times, self._temperature = problem, times, temperature
        self._limit = limit
        self._counts = problem.loss > 0.0
        self._rays = friction_rays(problem.friction, RAYS)
        SC = problem.sharing[self._counts] @ problem.contact_map
        self._effort_map = self._on_rays(SC)
        self._effort_at_rest = problem.motor_effort(problem.gravity)[self._counts]
        self._balance = np.pad(self._on_rays(problem.base_map), ((0, 0), (0, 1)))
        self._low, self._high = SHORTEST_S, inf
        self._bound: FloatArray | None = None
        """(n_motors,) b of the time that was found; None before."""
        self._multipliers = np.zeros(int(self._counts.sum()))
        """λ of the last linear programme."""
        self._weight = 1.0  # k

    def step(self) -> Longevity | None:
        """Solve one programme: a linear one, or one of least squares.

        Returns:
            What was found, at the end; None before.
        """
        if self._bound is not None:
            return self._weigh(self._bound)
        low, high = self._low, self._high
        if high == inf:
            s = self._stretch(inf)
            if s <= 1.0:
                self._low = inf
                self._bound = min(max(SLACK * s, RESERVE), 1.0) * self._bounds(inf)
            self._high = LONGEST_S
        elif high > low * (1.0 + TOLERANCE):
            middle = sqrt(low * high)
            if self._stretch(middle) <= 1.0:
                self._low = middle
            else:
                self._high = middle
        else:
            self._bound = self._bounds(low)
        return None

    def _weigh(self, bound: FloatArray) -> Longevity | None:
        """Try one k; None where a larger one is needed."""
        loss, counts = self._problem.loss, self._counts
        heaviest = self._multipliers / (loss * np.maximum(bound, LEAST_BOUND))[counts]
        weights = np.ones(len(loss))
        largest = max(float(heaviest.max(initial=0.0)), LEAST_BOUND)
        weights[counts] = np.maximum(self._weight / largest * heaviest, 1.0)
        least = solve_least_loss(replace(self._problem, loss=loss * weights))
        is_within = (np.abs(least.motor_effort) <= CLOSE * bound)[counts].all()
        if is_within or self._weight >= MOST_WEIGHT:
            return Longevity(time_s=self._low, weights=weights, least=least)
        self._weight *= 2.0
        return None

    def _bounds(self, time_s: float) -> FloatArray:
        bounds = self._times.bounds(time_s, self._temperature)
        return np.asarray(MARGIN * np.minimum(bounds, self._limit))

    def _stretch(self, time_s: float) -> float:
        """Return s; at most 1 where some forces keep all motors below their limits."""
        E, b = self._effort_map, -self._bounds(time_s)[self._counts, None]
        least = linprog(
            np.append(np.zeros(E.shape[1]), 1.0),
            A_ub=np.block([[-E, b], [E, b]]),
            b_ub=np.concatenate((-self._effort_at_rest, self._effort_at_rest)),
            A_eq=self._balance,
            b_eq=self._problem.weight,
            method="highs",
        )
        if least.x is None:
            return inf
        up, down = np.split(-least.ineqlin.marginals, 2)
        self._multipliers = up + down
        return float(least.x[-1])

    def _on_rays(self, rows: FloatArray) -> FloatArray:
        """Return rows of forces, (m, 3 n), as rows of strengths of the rays."""
        n = self._problem.n_points * RAYS
        return np.asarray((rows.reshape(-1, 3) @ self._rays.T).reshape(len(rows), n))


@dataclass(frozen=True, kw_only=True)
class LongestCfg(MinHeatCfg):
    """Choices of the controller; too hot is `weights.limit_degc`."""

    name: str = "longest"
    replan_s: Positive = 60.0
    """Time to the first search, and from one to the next, in s."""


class Longest(MinHeat):
    """Shifts set-points towards the longest time; all else is `MinHeat`'s.

    Until a search has found weights that promise more, it does what `MinHeat` does.
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
        self._limit_of_joint = robot.effort_limit
        first = [robot.joint_index(motor.joints[0]) for motor in robot.motors]
        self._joint_of_motor = np.array(first)

    def _forget(self) -> None:
        super()._forget()
        self._minutes_left = np.nan
        self._drop_plan()

    def _drop_plan(self) -> None:
        self._search: TimeSearch | None = None
        self._weights: FloatArray | None = None
        self._n_points = 0
        """Of the contacts for which these were sought."""
        self._next_search: float | None = None

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
        of_legs = float(left[problem.loss > 0.0].min())
        if problem.n_points != self._n_points:  # on other feet
            self._drop_plan()
            self._n_points = problem.n_points
        if self._next_search is None:
            self._next_search = observation.time_s + self._longest_cfg.replan_s
        if self._search is None and observation.time_s >= self._next_search:
            self._next_search = observation.time_s + self._longest_cfg.replan_s
            limit = self._limit_of_joint * observation.stiffness
            self._search = TimeSearch(
                problem, self._times, temperature, limit[self._joint_of_motor]
            )
        if self._search is not None and (found := self._search.step()):
            if found.time_s > GAIN * of_legs:
                self._weights = found.weights
            self._search = None
        if self._weights is None:
            return super()._aim(present, observation)
        return solve_least_loss(replace(problem, loss=problem.loss * self._weights))
