"""Search for the coolest posture near a desired one that stays balanced.

Sequential quadratic programming [kraft1988] from several starting points, with
derivatives by central differences: the joule loss is smooth as long as the same contact
points carry force, and nearly so where that changes. The desired posture is one of the
candidates. If it is feasible, the result is therefore never hotter than the desired
posture. `FoundPosture` is the result; `NoPostureFound` reports the violated
constraints.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, least_squares, minimize

from nao_testbed.controllers.heat_minimization.least_loss import LeastLoss
from nao_testbed.controllers.heat_minimization.posture_search.posture_problem import (
    PER_M,
    Constraint,
    PostureProblem,
    PostureValue,
)
from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    PostureSearchCfg,
)
from nao_testbed.models import Posture, Robot, TestbedError
from nao_testbed.models.values import FloatArray


class NoPostureFound(TestbedError):
    """No reachable posture satisfies all constraints.

    `violations` holds texts for the constraints that the nearest posture violates.
    """

    def __init__(self, posture: str, violations: tuple[str, ...]) -> None:
        self.posture = posture
        self.violations = violations
        super().__init__(
            f"no posture near {posture!r} satisfies all constraints; the nearest "
            f"violates: {'; '.join(violations)}. Search farther, give smaller margins, "
            "or keep fewer joints."
        )


@dataclass(frozen=True, kw_only=True)
class PostureBalance:
    """Loss and stability margins of a posture."""

    angles: FloatArray
    """(n_joints,) in rad."""
    least: LeastLoss
    """Contact forces of minimum joule loss, and the resulting torques."""
    com_margin_m: float
    """Distance of the centre of mass inside its support, in m."""
    joint_margin_rad: float
    """Margin of the moved joint closest to its stop, in rad."""
    at_stop: tuple[str, ...]
    """Leg or moved joints so close to a stop that it may carry part of their load; a
    search assumes motors only."""
    torque_share: float
    """Largest torque of a motor, as a fraction of its limit."""
    clearance_m: float | None
    """Distance of the closest watched pair of links, in m; None: no pair is near."""
    violations: tuple[str, ...]
    """Texts for the violated constraints."""


@dataclass(frozen=True, kw_only=True)
class FoundPosture:
    """Result of a search."""

    wanted: PostureBalance
    found: PostureBalance
    moved: tuple[str, ...]
    """Movable motors, or mirrored pairs of them."""
    motor_loss: FloatArray
    """(n_motors,) c in W/(N·m)² of the counted motors, 0 for others."""
    starts: int
    """Number of starting points that gave a feasible posture."""


STEP_RAD = 1e-5
"""Step of the differences: the loss is exact to 1e-9 W, so its slope to 1e-4 W/rad."""
TOLERANCE = 0.01
"""Tolerance of a constraint: 0.1 mm, 1 mrad, or 1 in 100 of the square of a torque's
limit."""
INDEPENDENT = 0.01
"""Minimum singular value of the equality derivatives in use, in their units per rad.
The others hold by symmetry: 5 degrees change them by a tenth of `TOLERANCE`."""
AT_STOP_RAD = 0.005
"""Deflection of a servo under about 0.8 N·m: a joint closer to its stop leans on it."""
ITERATIONS = 100
PRECISION = 1e-7
"""Tolerance of the loss, in units of the desired posture's loss."""


def search_posture(
    robot: Robot, wanted: Posture, cfg: PostureSearchCfg | None = None
) -> FoundPosture:
    """Find the coolest posture near a desired one.

    Args:
        robot: robot that takes the posture.
        wanted: desired posture, on the feet alone.
        cfg: limits of the search; None: the defaults.

    Raises:
        BadInput: no feet, a posture not on feet alone, or no movable joint.
        UnknownName: the robot has no joint of a name in `keep`.
        NoPostureFound: no reachable posture satisfies all constraints.
    """
    problem = PostureProblem(robot, wanted, cfg or PostureSearchCfg())
    origin = np.zeros(len(problem.variables.names))
    candidates = [x for x in (origin,) if not _violations(problem, problem.at(x))]
    n_found = 0
    for start in _starting_points(problem):
        x = _descend(problem, start)
        if _violations(problem, problem.at(x)):
            x = _descend(problem, repair(problem, x))
        if not _violations(problem, problem.at(x)):
            candidates.append(x)
            n_found += 1
    if not candidates:
        nearest = problem.at(repair(problem, origin))
        raise NoPostureFound(wanted.name, _violations(problem, nearest))
    best = min(candidates, key=lambda x: problem.at(x).least.loss_w)
    return FoundPosture(
        wanted=_balance_of(problem, origin),
        found=_balance_of(problem, best),
        moved=problem.variables.names,
        motor_loss=problem.motor_loss,
        starts=n_found,
    )


def _starting_points(problem: PostureProblem) -> Iterator[FloatArray]:
    """Yield the desired posture, then random points in the box."""
    rng = np.random.default_rng(problem.cfg.seed)
    yield np.zeros(len(problem.variables.names))
    for _ in range(problem.cfg.starts - 1):
        yield rng.uniform(problem.variables.lower, problem.variables.upper)


def _descend(problem: PostureProblem, start: FloatArray) -> FloatArray:
    """Return the end point of the descent from (n,) `start`, within the bounds."""
    tangent = _Tangent(problem)
    scale = max(problem.at(np.zeros(len(start))).least.loss_w, 0.01)  # W
    constraints: list[Any] = [
        {
            "type": "ineq",
            "fun": lambda x: tangent.value(x).atleast,
            "jac": lambda x: tangent.slopes(x)[2],
        }
    ]
    rows = _independent_rows(tangent.slopes(start)[1])  # (r, n_equal)
    if len(rows):
        constraints.append(
            {
                "type": "eq",
                "fun": lambda x: rows @ tangent.value(x).equal,
                "jac": lambda x: rows @ tangent.slopes(x)[1],
            }
        )

    def cost(x: FloatArray) -> float:
        return tangent.value(x).least.loss_w / scale

    how: dict[str, Any] = {
        "jac": lambda x: tangent.slopes(x)[0] / scale,
        "bounds": Bounds(problem.variables.lower, problem.variables.upper),
        "constraints": constraints,
        "method": "SLSQP",
        "options": {"maxiter": ITERATIONS, "ftol": PRECISION},
    }
    result = minimize(cost, start, **how)
    x: FloatArray = np.nan_to_num(np.asarray(result.x, dtype=np.float64))
    return np.clip(x, problem.variables.lower, problem.variables.upper)


def _independent_rows(slopes: FloatArray) -> FloatArray:
    """Return (r, m) linearly independent combinations of (m, n) equalities.

    SLSQP rejects redundant equalities, which symmetric postures have.
    """
    if not slopes.size:
        return np.zeros((0, len(slopes)))
    U, s, _ = np.linalg.svd(slopes, full_matrices=False)
    return np.asarray(U[:, s > INDEPENDENT].T)


class _Tangent:
    """Values and derivatives at the last x; SLSQP requests them separately."""

    def __init__(self, problem: PostureProblem) -> None:
        self._problem = problem
        self._x = np.full(len(problem.variables.names), np.nan)
        self._at = np.full(len(problem.variables.names), np.nan)

    def value(self, x: FloatArray) -> PostureValue:
        if not np.array_equal(x, self._x):
            self._x = x.copy()
            self._value = self._problem.at(x)
        return self._value

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return derivatives of loss (n,), equalities and inequalities (m, n)."""
        if not np.array_equal(x, self._at):
            self._at = x.copy()
            columns = []
            for step in STEP_RAD * np.eye(len(x)):
                more, less = self._problem.at(x + step), self._problem.at(x - step)
                columns.append(_stack(more) - _stack(less))
            slopes = np.array(columns).T / (2.0 * STEP_RAD)
            n_equal = len(self._problem.equal_rows)
            self._slopes = slopes[0], slopes[1 : 1 + n_equal], slopes[1 + n_equal :]
        return self._slopes


def _stack(value: PostureValue) -> FloatArray:
    return np.concatenate(([value.least.loss_w], value.equal, value.atleast))


def repair(problem: PostureProblem, start: FloatArray) -> FloatArray:
    """Return the point near `start` with the smallest constraint violation."""

    def violations(x: FloatArray) -> FloatArray:
        value = problem.at(x)
        return np.concatenate((value.equal, np.minimum(value.atleast, 0.0)))

    result = least_squares(
        violations,
        np.clip(start, problem.variables.lower, problem.variables.upper),
        bounds=(problem.variables.lower, problem.variables.upper),
        x_scale=problem.cfg.within_rad,
        max_nfev=50,
    )
    return np.asarray(result.x, dtype=np.float64)


def _violations(problem: PostureProblem, value: PostureValue) -> tuple[str, ...]:
    """Return texts for the constraints that a posture violates, each once."""
    worst: dict[Constraint, float] = {}
    for row, x in zip(problem.equal_rows, value.equal.tolist(), strict=True):
        if abs(x) > max(TOLERANCE, abs(worst.get(row, 0.0))):
            worst[row] = x
    for row, x in zip(problem.atleast_rows, value.atleast.tolist(), strict=True):
        if x < min(-TOLERANCE, worst.get(row, 0.0)):
            worst[row] = x
    com = problem.atleast_rows[0]
    short = PER_M * (problem.com_margin(value.body) - problem.cfg.com_margin_m)
    if short < -TOLERANCE:  # the corners of the support may have changed
        worst[com] = min(short, worst.get(com, 0.0))
    violations = tuple(row.violation(x) for row, x in worst.items())
    if value.least.is_balanced:
        return violations
    return (*violations, "contact forces that carry the robot")


def _balance_of(problem: PostureProblem, x: FloatArray) -> PostureBalance:
    value = problem.at(x)
    robot = problem.robot
    room = np.minimum(value.q - robot.lower, robot.upper - value.q)
    distances = value.clearance
    is_counted = robot.largest_of_joint(problem.motor_loss) > 0.0
    at_stop = np.flatnonzero(is_counted & (room < AT_STOP_RAD)).tolist()
    return PostureBalance(
        angles=value.q,
        least=value.least,
        com_margin_m=problem.com_margin(value.body),
        joint_margin_rad=float(room[problem.variables.is_moved].min()),
        at_stop=tuple(robot.joint_names[j] for j in at_stop),
        torque_share=problem.torque_share(value.least),
        clearance_m=float(distances.min()) if len(distances) else None,
        violations=_violations(problem, value),
    )
