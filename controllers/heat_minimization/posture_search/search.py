"""The coolest posture near a wanted one that keeps its balance.

Sequential quadratic programming [kraft1988] from several starting points, with
derivatives by central differences: the joule loss is smooth as long as the same contact
points carry force, and nearly so where that changes. The wanted posture is one of the
candidates, so what is found is never hotter than it, if it may be taken.
`FoundPosture` says what was found, `NoPostureFound` why nothing was.
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
    """No posture in reach keeps all that it must.

    `missed` holds the constraints that the nearest one misses, in words.
    """

    def __init__(self, posture: str, missed: tuple[str, ...]) -> None:
        self.posture = posture
        self.missed = missed
        super().__init__(
            f"no posture near {posture!r} keeps all that it must; nearest to it is one "
            f"that misses: {'; '.join(missed)}. Search farther, ask for smaller "
            "margins, or keep fewer joints."
        )


@dataclass(frozen=True, kw_only=True)
class PostureBalance:
    """What a posture costs and how safely it stands."""

    angles: FloatArray
    """(n_joints,) in rad."""
    least: LeastLoss
    """Contact forces of least joule loss, and the torques with them."""
    com_margin_m: float
    """How far the centre of mass is inside its support."""
    joint_margin_rad: float
    """Of the moved joint that is closest to its stop."""
    at_stop: tuple[str, ...]
    """Joints of the legs, or moved ones, so close to a stop that it may bear a part of
    their load; a search counts on motors alone."""
    torque_share: float
    """Largest torque of a motor over its limit."""
    clearance_m: float | None
    """Distance of the two watched links that are closest; None: none is near."""
    missed: tuple[str, ...]
    """Constraints that it does not keep, in words."""


@dataclass(frozen=True, kw_only=True)
class FoundPosture:
    """The result of a search."""

    wanted: PostureBalance
    found: PostureBalance
    moved: tuple[str, ...]
    """What could move: motors, or pairs of them that mirror each other."""
    motor_loss: FloatArray
    """(n_motors,) c in W/(N·m)² of the motors that count, else 0."""
    starts: int
    """Starting points from which a posture was found that keeps everything."""


STEP_RAD = 1e-5
"""Of the differences: the loss is exact to 1e-9 W, its error then 1e-4 W/rad."""
FULFILLED = 0.01
"""A constraint may be missed by so much: 0.1 mm, 1 mrad, or 1 in 100 of the square of
a torque's limit."""
INDEPENDENT = 0.01
"""Least singular value of the slopes of equalities that count, in their units a rad.
The others hold by themselves: 5 degrees change them by a tenth of `FULFILLED`."""
AT_STOP_RAD = 0.005
"""A servo gives way by so much under some 0.8 N·m: a joint that is closer to its stop
leans on it."""
ITERATIONS = 100
PRECISION = 1e-7
"""Of the loss, in units of the wanted posture's."""


def search_posture(
    robot: Robot, wanted: Posture, cfg: PostureSearchCfg | None = None
) -> FoundPosture:
    """Find the coolest posture near a wanted one.

    Args:
        robot: that is to take it.
        wanted: stands on the feet alone.
        cfg: limits of the search; None: the defaults.

    Raises:
        BadInput: the robot or the posture does not stand, or nothing may move.
        UnknownName: a joint that is to be kept is not of this robot.
        NoPostureFound: no posture in reach keeps all that it must.
    """
    problem = PostureProblem(robot, wanted, cfg or PostureSearchCfg())
    origin = np.zeros(len(problem.variables.names))
    candidates = [x for x in (origin,) if not _missed(problem, problem.at(x))]
    n_found = 0
    for start in _starts(problem):
        x = _descend(problem, start)
        if _missed(problem, problem.at(x)):
            x = _descend(problem, _repair(problem, x))
        if not _missed(problem, problem.at(x)):
            candidates.append(x)
            n_found += 1
    if not candidates:
        nearest = problem.at(_repair(problem, origin))
        raise NoPostureFound(wanted.name, _missed(problem, nearest))
    best = min(candidates, key=lambda x: problem.at(x).least.loss_w)
    return FoundPosture(
        wanted=_balance_of(problem, origin),
        found=_balance_of(problem, best),
        moved=problem.variables.names,
        motor_loss=problem.motor_loss,
        starts=n_found,
    )


def _starts(problem: PostureProblem) -> Iterator[FloatArray]:
    """Yield the wanted posture, then points drawn in the box."""
    rng = np.random.default_rng(problem.cfg.seed)
    yield np.zeros(len(problem.variables.names))
    for _ in range(problem.cfg.starts - 1):
        yield rng.uniform(problem.variables.lower, problem.variables.upper)


def _descend(problem: PostureProblem, start: FloatArray) -> FloatArray:
    """Return where the descent from (n,) `start` ends, within the bounds."""
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
    """Return (r, m) combinations of (m, n) equalities that do not depend on each other.

    In a symmetric posture some hold by themselves, and SLSQP takes none too many.
    """
    if not slopes.size:
        return np.zeros((0, len(slopes)))
    U, s, _ = np.linalg.svd(slopes, full_matrices=False)
    return np.asarray(U[:, s > INDEPENDENT].T)


class _Tangent:
    """Values and derivatives at the last x; SLSQP asks for each by itself."""

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


def _repair(problem: PostureProblem, start: FloatArray) -> FloatArray:
    """Return the point near `start` that misses the constraints least."""

    def missed(x: FloatArray) -> FloatArray:
        value = problem.at(x)
        return np.concatenate((value.equal, np.minimum(value.atleast, 0.0)))

    result = least_squares(
        missed,
        np.clip(start, problem.variables.lower, problem.variables.upper),
        bounds=(problem.variables.lower, problem.variables.upper),
        x_scale=problem.cfg.within_rad,
        max_nfev=50,
    )
    return np.asarray(result.x, dtype=np.float64)


def _missed(problem: PostureProblem, value: PostureValue) -> tuple[str, ...]:
    """Return the constraints that a posture does not keep, each once."""
    worst: dict[Constraint, float] = {}
    for row, x in zip(problem.equal_rows, value.equal.tolist(), strict=True):
        if abs(x) > max(FULFILLED, abs(worst.get(row, 0.0))):
            worst[row] = x
    for row, x in zip(problem.atleast_rows, value.atleast.tolist(), strict=True):
        if x < min(-FULFILLED, worst.get(row, 0.0)):
            worst[row] = x
    com = problem.atleast_rows[0]
    short = PER_M * (problem.com_margin(value.body) - problem.cfg.com_margin_m)
    if short < -FULFILLED:  # the corners of the support may have changed
        worst[com] = min(short, worst.get(com, 0.0))
    missed = tuple(row.missed(x) for row, x in worst.items())
    if value.least.is_balanced:
        return missed
    return (*missed, "contact forces that carry the robot")


def _balance_of(problem: PostureProblem, x: FloatArray) -> PostureBalance:
    value = problem.at(x)
    robot = problem.robot
    room = np.minimum(value.q - robot.lower, robot.upper - value.q)
    distances = value.clearance
    is_counted = problem.motor_loss[robot.motor_of_joint] > 0.0
    at_stop = np.flatnonzero(is_counted & (room < AT_STOP_RAD)).tolist()
    return PostureBalance(
        angles=value.q,
        least=value.least,
        com_margin_m=problem.com_margin(value.body),
        joint_margin_rad=float(room[problem.variables.is_moved].min()),
        at_stop=tuple(robot.joint_names[j] for j in at_stop),
        torque_share=problem.torque_share(value.least),
        clearance_m=float(distances.min()) if len(distances) else None,
        missed=_missed(problem, value),
    )
