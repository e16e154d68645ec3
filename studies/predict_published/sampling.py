"""Predict the published column *with* from robots that fit the column *without*.

The preset is one robot that fits; many do. With the prior and the tolerances that
`preset_search` minimises (its cost is -2 log of this posterior, without the bounds),

    x ~ N(0, 1°)  five opposed misalignments,    s ~ N(35 °C, 10 K)  ten starts,
    y = c(x) + H s + e,   e ~ N(0, tolerance)    the four targets without the method

the starts are integrated in closed form, since y is affine in them:

    p(y | x) = N(y; c(x) + H s̄, S),   S = 100 K² H Hᵀ + tolerance²

c(x) is full physics, half a second a robot. Adaptive importance sampling finds the x
[cornuet2012]: the first n_0 robots come from the prior; each later round has N points
of the prior, each of which is drawn with the probability

    π_r(x) = min(1, C_r N(y; c̃_r(x) + H s̄, S + diag v_r(x))),

where c̃_r and v_r are mean and variance of a Gaussian process fitted to all robots
simulated before, and C_r sets the expected number of robots. A robot of any round has
the weight

    w = p(y | x) / (n_0 + N Σ_r π_r(x)),

and the effective number of robots is (Σ w)² / Σ w². Robots of small weight are kept at
random, with increased weight (rejection control [liu2001]); the remaining robots are
simulated under `smart` too.

A second engine may screen the robots: they are proposed and simulated on it first, and
kept at random according to their weight there, with S + diag(spread²) in place of S,
where spread is the typical deviation between the engines. The engine of the prediction
simulates only the kept robots, and weighs them by its own p(y | x). A robot that falls
on the screening engine is assumed to fall on the other.

The outcome is predicted under both assumptions on the second run:

    equal   it begins at the starts of the first, s ~ p(s | x, y)
    free    it begins at others, s ~ N(35 °C, 10 K), independent of the first

The column *with* is not used; it only serves for comparison.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.controllers.registry import make_controller
from nao_testbed.experiments.closed_loop.trial_result import LEG_JOINTS
from nao_testbed.experiments.heat.published import POSTURE
from nao_testbed.models import BadInput, Robot, default_robot_folder, load_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine import engine_version
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulationCfg
from studies.predict_published.prediction import (
    MIN_TRAINING,
    WITH,
    Assumption,
    Band,
    Prediction,
    PredictionCfg,
    pooled,
)
from studies.predict_published.robot_cache import RobotCache
from studies.predict_published.surrogate import Surrogate, log_normal
from studies.preset_search import (
    EFFORT_LIMIT,
    LEGS,
    START_SPREAD,
    TARGETS,
    TOLERANCE,
    TYPICAL_START,
    opposed,
    reached_of,
    settled_mean_square,
)

OnRobot = Callable[[int, int, str], None]
"""Callback with the number of finished runs, their total, and their kind."""
Simulated = Callable[[FloatArray, str, EngineName, int, int], FloatArray]
"""Function of misalignments (n, 5), controller, engine, number of finished robots and
their total; returns c(x) (n, 4), NaN where a robot fell."""

MISALIGNMENT_SPREAD_DEG = 1.0
"""Standard deviation of each opposed misalignment, as in the cost of the search."""
POOL = 1_000_000
"""Number of points of the prior from which proposals are drawn."""
STARTS_A_ROBOT = 200
"""Number of start temperatures drawn per robot, for samples of the outcomes."""
ENGINE_SPREAD = np.array([14.0, 11.0, 3.0, 5.0])
"""(4,) assumed deviation in K between the targets of two engines: twice the standard
deviation between MuJoCo and PyBullet in 80 robots of the prior (half of these deviate
by less than 0.9, 0.8, 0.2 and 0.3 K)."""
MIN_SHARE = 0.3
"""Weight below which a robot is kept at random, as a share of 1 / effective robots."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposal:
    """Draw of robots by one surrogate, with the probability min(1, C p̃(y | x))."""

    surrogate: Surrogate
    covariance: FloatArray
    """(4, 4) covariance S."""
    log_scale: float = 0.0
    """Logarithm of C."""

    def log_fit(self, x: FloatArray) -> FloatArray:
        """Return (n,) log p̃(y | x) of the surrogate."""
        mean, variance = self.surrogate(x)
        spread = self.covariance + variance[:, :, np.newaxis] * np.eye(len(TARGETS))
        fit: FloatArray = log_normal(TARGETS - mean, spread)
        return fit

    def log_count(self, x: FloatArray) -> FloatArray:
        """Return (n,) log of the expected number of robots at x, per p(x) dx."""
        chance = np.minimum(self.log_scale + self.log_fit(x), 0.0)
        return np.asarray(np.log(POOL) + chance, np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class StartModel:
    """Model of the ten start temperatures, given the targets without the method."""

    rows: FloatArray
    """(4, 10) matrix H."""

    @property
    def covariance(self) -> FloatArray:
        """(4, 4) S = σ² H Hᵀ + tolerance², of the targets given x."""
        spread: FloatArray = START_SPREAD**2 * self.rows @ self.rows.T
        return spread + np.diag(TOLERANCE**2)

    def log_fit(
        self, constant: FloatArray, spread: FloatArray | None = None
    ) -> FloatArray:
        """Return (n,) log p(y | x) for constants (n, 4); NaN for NaN.

        Args:
            constant: c(x).
            spread: (4,) standard deviation between the targets of two engines.
        """
        covariance = self.covariance
        if spread is not None:
            covariance = covariance + np.diag(spread**2)
        fit: FloatArray = log_normal(TARGETS - self.typical(constant), covariance)
        return fit

    def typical(self, constant: FloatArray) -> FloatArray:
        """Return (n, 4) targets at typical starts for constants (n, 4)."""
        typical: FloatArray = constant + self.rows.sum(axis=1) * TYPICAL_START
        return typical

    def prior(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return (count, 10) starts in °C."""
        noise = rng.standard_normal((count, self.rows.shape[1]))
        return np.asarray(TYPICAL_START + START_SPREAD * noise, np.float64)

    def posterior(
        self, constant: FloatArray, count: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return (count, 10) starts given the targets of one robot, constant (4,).

        Draws of the prior are corrected by the gain K = σ² Hᵀ S⁻¹ times their misfit
        (Matheron's rule), which is exact for a linear Gaussian model.
        """
        s = self.prior(count, rng)
        noise = TOLERANCE * rng.standard_normal((count, len(TOLERANCE)))
        misfit = TARGETS - (constant + s @ self.rows.T + noise)
        gain = START_SPREAD**2 * self.rows.T @ np.linalg.inv(self.covariance)
        moved: FloatArray = s + misfit @ gain.T
        return moved


def document_robot() -> Robot:
    """Return the robot of the published experiment, with legs limited to 3.2 N·m."""
    limits = {side + joint: EFFORT_LIMIT for side in "LR" for joint in LEGS}
    return load_robot(default_robot_folder()).with_effort_limits(limits)


def constants(
    robot: Robot, x: FloatArray, controller: str, engine: EngineName
) -> FloatArray | None:
    """Return (4,) c(x) of one robot under a controller; None if it fell."""
    world = WorldCfg(engine=engine)
    cfg = SimulationCfg(world=world, misalignment_deg=opposed(x))
    square = settled_mean_square(robot, cfg, POSTURE, make_controller(controller))
    return None if square is None else reached_of(robot, cfg, square).constant


def predict(
    cfg: PredictionCfg, on_robot: OnRobot, keep: Path | None = None
) -> Prediction:
    """Draw, simulate and weigh robots; deterministic for a seed.

    Args:
        cfg: numbers of robots, rounds and repeats; engines; seed.
        on_robot: called after each simulated robot.
        keep: file of the simulated robots, as in `RobotCache`.

    Raises:
        BadInput: too few robots stand, an engine is not installed, or the file has
            other contents.
        WriteError: the operating system cannot write the file.
    """
    robot = document_robot()
    for engine in (cfg.engine, cfg.screen or cfg.engine):
        engine_version(engine)  # report a missing engine at the start
    with closing(RobotCache(keep, robot)) as kept:
        repeats = [
            _predict_once(cfg, seed, robot, kept, on_robot)
            for seed in range(cfg.seed, cfg.seed + cfg.repeats)
        ]
    return pooled(cfg, repeats)


def _predict_once(
    cfg: PredictionCfg,
    seed: int,
    robot: Robot,
    robot_cache: RobotCache,
    on_robot: OnRobot,
) -> Prediction:
    rng = np.random.default_rng(seed)
    nothing = np.zeros(len(robot.motors))
    starts = StartModel(rows=reached_of(robot, SimulationCfg(), nothing).rows)
    fell: dict[str, int] = {}

    def simulated(
        x: FloatArray, controller: str, engine: EngineName, done: int, total: int
    ) -> FloatArray:
        """Return (n, 4) c(x), NaN where a robot fell."""
        found = np.full((len(x), len(TARGETS)), np.nan)
        name = controller if engine == cfg.engine else f"{controller} on {engine}"
        for k, one in enumerate(x):
            simulate = partial(constants, robot, one, controller, engine)
            constant = robot_cache.constants(one, controller, engine, simulate)
            if constant is not None:
                found[k] = constant
            on_robot(done + k + 1, total, name)
        fell[name] = fell.get(name, 0) + int(np.isnan(found[:, 0]).sum())
        return found

    x, without, log_share = _proposed(cfg, starts, simulated, rng)
    if cfg.screen is not None:
        near = log_share + starts.log_fit(without, ENGINE_SPREAD)
        kept, log_chance = _thinned(near, rng)
        x, log_share = x[kept], log_share[kept] - log_chance[kept]
        without = simulated(x, "fixed", cfg.engine, 0, len(x))
    robots_fixed = len(x)
    log_weight = log_share + starts.log_fit(without)
    kept, log_chance = _thinned(log_weight, rng)
    x, without = x[kept], without[kept]
    log_weight = log_weight[kept] - log_chance[kept]
    with_method = simulated(x, "smart", cfg.engine, 0, len(x))
    stood = ~np.isnan(with_method[:, 0])
    if not stood.any():
        raise BadInput(f"all {len(x)} robots fell under smart; give more --robots.")
    x, without, with_method = x[stood], without[stood], with_method[stood]
    weights = np.exp(log_weight[stood] - log_weight[stood].max())
    weights /= weights.sum()
    return Prediction(
        cfg=cfg,
        x_deg=x,
        weights=weights,
        bands=_bands(starts, without, with_method, weights, rng),
        robots_fixed=robots_fixed,
        fell=fell,
    )


def _proposed(
    cfg: PredictionCfg,
    starts: StartModel,
    simulated: Simulated,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Propose robots in rounds, and simulate each under `fixed`.

    Returns:
        Misalignments (n, 5) in degrees, targets at starts of 0 °C (n, 4), NaN where one
        fell, and log 1 / (n_0 + N Σ_r π_r) of each, (n,).
    """
    engine, total = cfg.screen or cfg.engine, cfg.robots_each
    x = MISALIGNMENT_SPREAD_DEG * rng.standard_normal((cfg.training, len(LEG_JOINTS)))
    without = simulated(x, "fixed", engine, 0, total)
    proposals: list[Proposal] = []
    for _ in range(cfg.rounds):
        proposal, drawn = propose(starts, x, without, cfg.robots, rng)
        proposals.append(proposal)
        more = simulated(drawn, "fixed", engine, len(x), total)
        x, without = np.vstack([x, drawn]), np.vstack([without, more])
    log_counts = [np.full(len(x), np.log(cfg.training))]
    log_counts += [proposal.log_count(x) for proposal in proposals]
    return x, without, -logsumexp(log_counts, axis=0)


def _thinned(
    log_weight: FloatArray, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Keep robots of small weight at random.

    Args:
        log_weight: (n,) NaN where a robot fell.
        rng: random generator.

    Returns:
        Mask of the kept robots, (n,), and the logarithm of their probabilities, (n,);
        divide the weights by the probabilities.

    Raises:
        BadInput: all robots fell.
    """
    if np.isnan(log_weight).all():
        raise BadInput(f"all {len(log_weight)} robots fell; give more --robots.")
    weight = np.nan_to_num(np.exp(log_weight - np.nanmax(log_weight)))
    effective = weight.sum() ** 2 / (weight @ weight)
    chance = np.minimum(weight / (MIN_SHARE * weight.sum() / effective), 1.0)
    with np.errstate(divide="ignore"):
        return rng.random(len(chance)) < chance, np.log(chance)


def propose(
    starts: StartModel,
    x: FloatArray,
    constant: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> tuple[Proposal, FloatArray]:
    """Fit a proposal to the simulated robots, and draw new robots from it.

    Args:
        starts: model of the start temperatures.
        x: (n, 5) simulated misalignments in degrees.
        constant: (n, 4) their targets at starts of 0 °C, NaN where a robot fell.
        count: number of draws.
        rng: random generator.

    Returns:
        The proposal, and (count, 5) misalignments in degrees.
    """
    stood = ~np.isnan(constant[:, 0])
    if stood.sum() < MIN_TRAINING:
        raise BadInput(
            f"{stood.sum()} training robots did not fall; give more --training robots."
        )
    surrogate = Surrogate.fitted(x[stood], starts.typical(constant[stood]))
    proposal = Proposal(surrogate=surrogate, covariance=starts.covariance)
    pool = MISALIGNMENT_SPREAD_DEG * rng.standard_normal((POOL, len(LEG_JOINTS)))
    log_fit = proposal.log_fit(pool)
    log_scale = _log_scale(log_fit, count)
    chance = np.exp(np.minimum(log_scale + log_fit, 0.0))
    return replace(proposal, log_scale=log_scale), pool[_chosen(chance, count, rng)]


def _chosen(
    chance: FloatArray, count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return `count` indices drawn by Pareto sampling [rosen1997].

    The items with the smallest ratios of odds are drawn. Rounding hardly changes the
    order, so that the number of threads does not change the draw.

    Args:
        chance: (n,) probabilities with sum `count`.
        count: number of draws.
        rng: random generator.
    """
    u = rng.random(len(chance))
    ratio = u * (1.0 - chance) / np.maximum(chance * (1.0 - u), np.finfo(float).tiny)
    return np.sort(np.argpartition(ratio, count - 1)[:count])


def _log_scale(log_fit: FloatArray, count: int) -> float:
    """Return log C such that the probabilities min(1, C fit) sum to `count`."""
    is_sure = np.zeros(len(log_fit), dtype=np.bool_)
    while True:
        left = count - np.count_nonzero(is_sure)
        log_scale = float(np.log(left) - logsumexp(log_fit[~is_sure]))
        now_sure = is_sure | (log_scale + log_fit > 0.0)
        if (now_sure == is_sure).all():
            return log_scale
        is_sure = now_sure


def _bands(
    starts: StartModel,
    without: FloatArray,
    with_method: FloatArray,
    weights: FloatArray,
    rng: np.random.Generator,
) -> dict[Assumption, tuple[Band, ...]]:
    """Return the four outcomes of the second run under both assumptions."""
    drawn: dict[Assumption, list[FloatArray]] = {"equal": [], "free": []}
    for before, after in zip(without, with_method, strict=True):
        equal = starts.posterior(before, STARTS_A_ROBOT, rng)
        free = starts.prior(STARTS_A_ROBOT, rng)
        drawn["equal"].append(after + equal @ starts.rows.T)
        drawn["free"].append(after + free @ starts.rows.T)
    each = np.repeat(weights / STARTS_A_ROBOT, STARTS_A_ROBOT)
    return {
        assumption: tuple(
            Band(values=column, weights=each, published=float(value))
            for column, value in zip(np.vstack(outcomes).T, WITH, strict=True)
        )
        for assumption, outcomes in drawn.items()
    }
