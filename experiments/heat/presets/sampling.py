"""Predict the published column *with* from robots that fit the column *without*.

The preset is one robot that fits; many do. With the prior and the tolerances that
`search` minimises (its cost is -2 log of this posterior, without the bounds),

    x ~ N(0, 1°)  five opposed misalignments,    s ~ N(35 °C, 10 K)  ten starts,
    y = c(x) + H s + e,   e ~ N(0, tolerance)    the four targets without the method

the starts are integrated in closed form, since y is affine in them:

    p(y | x) = N(y; c(x) + H s̄, S),   S = 100 K² H Hᵀ + tolerance²

c(x) is full physics, half a second a robot. Adaptive importance sampling finds the x
[cornuet2012]: the first robots come from the prior, those of each later round from

    q_r(x) ∝ p(x) N(y; c̃_r(x) + H s̄, S + diag v_r(x)),

c̃_r and v_r mean and variance of a Gaussian process through all robots simulated before.
A robot of any round has the weight w = p(x) p(y | x) / Σ_r n_r q_r(x), and the
effective number of robots is (Σ w)² / Σ w². Robots of small weight are kept by chance
only, and then with more weight (rejection control [liu2001]), before each that is left
is simulated under `smart` too. Its outcome is predicted with either assumption on the
second run:

    equal   it begins at the starts of the first, s ~ p(s | x, y)
    free    it begins at others, s ~ N(35 °C, 10 K), independent of the first

The column *with* enters nowhere; it is only compared with.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from controllers.registry import make_controller
from experiments.closed_loop.trial_result import LEG_JOINTS
from experiments.heat.presets.prediction import (
    FEWEST_TRAINING,
    WITH,
    Assumption,
    Band,
    Prediction,
    PredictionCfg,
    pooled,
)
from experiments.heat.presets.search import (
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
from experiments.heat.presets.surrogate import Surrogate, log_normal
from experiments.heat.published import POSTURE
from models import BadInput, Robot, default_robot_folder, load_robot
from models.values import EngineName
from sim.engine.world import WorldCfg
from sim.robot import SimulationCfg

FloatArray = NDArray[np.float64]
OnRobot = Callable[[int, int, str], None]
"""Told how many runs are done, of how many, and which kind."""

MISALIGNMENT_SPREAD_DEG = 1.0
"""Standard deviation of each opposed misalignment, as in the cost of the search."""
POOL = 100_000
"""Points of the prior from which proposals are drawn."""
STARTS_A_ROBOT = 200
"""Drawn for each robot, to turn weights into samples of outcomes."""
LEAST_SHARE = 0.3
"""Weight below which a robot is kept by chance, as a share of 1 / effective robots."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposal:
    """p(x) p̃(y | x) / Z of one surrogate."""

    surrogate: Surrogate
    covariance: FloatArray
    """(4, 4) S."""
    log_z: float = 0.0
    """log Z, the mean of p̃(y | x) over the prior."""

    def log_ratio(self, x: FloatArray) -> FloatArray:
        """Return (n,) log q(x) / p(x)."""
        mean, variance = self.surrogate(x)
        spread = self.covariance + variance[:, :, np.newaxis] * np.eye(len(TARGETS))
        ratio: FloatArray = log_normal(TARGETS - mean, spread) - self.log_z
        return ratio


@dataclass(frozen=True, kw_only=True, eq=False)
class StartModel:
    """What the four targets without the method tell of the ten starts."""

    rows: FloatArray
    """(4, 10) H."""

    @property
    def covariance(self) -> FloatArray:
        """(4, 4) S = σ² H Hᵀ + tolerance², of the targets given x."""
        spread: FloatArray = START_SPREAD**2 * self.rows @ self.rows.T
        return spread + np.diag(TOLERANCE**2)

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

        Prior draws moved by the gain K = σ² Hᵀ S⁻¹ on their own misfit (Matheron's
        rule), which are exact draws of a linear Gaussian model.
        """
        s = self.prior(count, rng)
        noise = TOLERANCE * rng.standard_normal((count, len(TOLERANCE)))
        misfit = TARGETS - (constant + s @ self.rows.T + noise)
        gain = START_SPREAD**2 * self.rows.T @ np.linalg.inv(self.covariance)
        moved: FloatArray = s + misfit @ gain.T
        return moved


def document_robot() -> Robot:
    """Return the robot of the published experiment: legs limited to 3.2 N·m."""
    limits = {side + joint: EFFORT_LIMIT for side in "LR" for joint in LEGS}
    return load_robot(default_robot_folder()).with_effort_limits(limits)


def constants(
    robot: Robot, x: FloatArray, controller: str, engine: EngineName
) -> FloatArray | None:
    """Return (4,) c(x) of one robot under a controller; None where it fell."""
    world = WorldCfg(engine=engine)
    cfg = SimulationCfg(world=world, misalignment_deg=opposed(x))
    square = settled_mean_square(robot, cfg, POSTURE, make_controller(controller))
    return None if square is None else reached_of(robot, cfg, square).constant


def predict(cfg: PredictionCfg, on_robot: OnRobot) -> Prediction:
    """Draw, simulate and weigh the robots; the same seed finds the same.

    Raises:
        BadInput: too few robots stand.
    """
    repeats = [
        _predict_once(cfg, seed, on_robot)
        for seed in range(cfg.seed, cfg.seed + cfg.repeats)
    ]
    return pooled(cfg, repeats)


def _predict_once(cfg: PredictionCfg, seed: int, on_robot: OnRobot) -> Prediction:
    robot = document_robot()
    rng = np.random.default_rng(seed)
    nothing = np.zeros(len(robot.motors))
    starts = StartModel(rows=reached_of(robot, SimulationCfg(), nothing).rows)
    total = cfg.robots_each

    def simulated(x: FloatArray, controller: str, done: int) -> FloatArray:
        """Return (n, 4) c(x), NaN where a robot fell."""
        found = np.full((len(x), len(TARGETS)), np.nan)
        for k, one in enumerate(x):
            constant = constants(robot, one, controller, cfg.engine)
            if constant is not None:
                found[k] = constant
            on_robot(done + k + 1, total, controller)
        return found

    x = MISALIGNMENT_SPREAD_DEG * rng.standard_normal((cfg.training, len(LEG_JOINTS)))
    without = simulated(x, "fixed", 0)
    proposals: list[Proposal] = []
    for _ in range(cfg.rounds):
        proposal, drawn = propose(starts, x, without, cfg.robots, rng)
        proposals.append(proposal)
        without = np.vstack([without, simulated(drawn, "fixed", len(x))])
        x = np.vstack([x, drawn])
    log_fit = log_normal(TARGETS - starts.typical(without), starts.covariance)
    counts = np.log([cfg.training, *(cfg.robots for _ in proposals)])
    ratios = np.vstack([np.zeros(len(x)), *(q.log_ratio(x) for q in proposals)])
    log_weight = log_fit - logsumexp(ratios + counts[:, np.newaxis], axis=0)
    stood = ~np.isnan(log_weight)
    fell = {"fixed": int((~stood).sum())}
    weights = np.where(stood, np.exp(log_weight - np.nanmax(log_weight)), 0.0)

    effective = weights.sum() ** 2 / (weights @ weights)
    least = LEAST_SHARE * weights.sum() / effective
    kept = rng.random(len(x)) < weights / least
    x, without = x[kept], without[kept]
    weights = np.maximum(weights[kept], least)
    total = len(x)
    with_method = simulated(x, "smart", 0)
    stood = ~np.isnan(with_method[:, 0])
    fell["smart"] = int((~stood).sum())
    x, without, with_method = x[stood], without[stood], with_method[stood]
    weights = weights[stood] / weights[stood].sum()
    return Prediction(
        cfg=cfg,
        x_deg=x,
        weights=weights,
        bands=_bands(starts, without, with_method, weights, rng),
        fell=fell,
    )


def propose(
    starts: StartModel,
    x: FloatArray,
    constant: FloatArray,
    count: int,
    rng: np.random.Generator,
) -> tuple[Proposal, FloatArray]:
    """Return the proposal that the robots simulated so far give, and draws of it.

    Args:
        starts: what is known of them.
        x: (n, 5) misalignments in degrees that were simulated.
        constant: (n, 4) their targets at starts of 0 °C, NaN where one fell.
        count: of the draws.
        rng: that draws.

    Returns:
        The proposal, and (count, 5) misalignments in degrees.
    """
    stood = ~np.isnan(constant[:, 0])
    if stood.sum() < FEWEST_TRAINING:
        raise BadInput(
            f"{stood.sum()} training robots stand; give more --training robots."
        )
    surrogate = Surrogate.fitted(x[stood], starts.typical(constant[stood]))
    proposal = Proposal(surrogate=surrogate, covariance=starts.covariance)
    pool = MISALIGNMENT_SPREAD_DEG * rng.standard_normal((POOL, len(LEG_JOINTS)))
    ratio = proposal.log_ratio(pool)
    log_z = float(logsumexp(ratio) - np.log(POOL))
    share = np.exp(ratio - ratio.max())
    chosen = rng.choice(POOL, count, replace=False, p=share / share.sum())
    return replace(proposal, log_z=log_z), pool[chosen]


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
