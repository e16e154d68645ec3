"""Prediction of the published column *with*: bands and their presentation.

`sampling` finds the robots. Independent repeats, each with its own surrogate, are
pooled with their effective numbers as weights.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from nao_testbed.controllers.interface.ranges import EngineName
from nao_testbed.experiments.closed_loop.trial_result import LEG_JOINTS
from nao_testbed.experiments.heat.published import PUBLISHED
from nao_testbed.models import BadInput
from nao_testbed.models.values import FloatArray

ENGINES: tuple[str, ...] = get_args(EngineName)

OUTCOMES = (
    "left leg rises by",
    "right leg rises by",
    "LAnklePitch ends at",
    "RHipPitch ends at",
)
"""Outcomes in the order of `TARGETS`."""
UNITS = ("K", "K", "°C", "°C")
WITH = np.array(
    [
        PUBLISHED["smart"].left_leg_rise_k,
        PUBLISHED["smart"].right_leg_rise_k,
        PUBLISHED["smart"].end_degc["LAnklePitch"],
        PUBLISHED["smart"].end_degc["RHipPitch"],
    ]
)
"""(4,) published column *with*, for comparison."""

GIVEN = "given this model"
"""Only misalignments and starts vary in bands and shares."""
HELD_FIXED = ("gear friction", "ambient temperature", "heat flow", "heat capacity")
"""Parameters that do not vary: no source gives their spread for NAOs."""

MIN_TRAINING = 40
"""Smallest number of standing robots for the surrogate."""

MAX_ROBOTS = 10_000
"""Largest number of robots of a round: a hundredth of the points from which they are
drawn."""

Assumption = Literal["equal", "free"]
ASSUMPTIONS: tuple[Assumption, ...] = get_args(Assumption)


@dataclass(frozen=True, kw_only=True)
class PredictionCfg:
    """Numbers of robots and repeats."""

    robots: int = 160
    """Robots per round, simulated under `fixed`."""
    rounds: int = 5
    """Rounds with a surrogate, which is fitted again each time."""
    training: int = 240
    """Robots of the first round, drawn from the prior."""
    repeats: int = 1
    """Number of independent repeats, with seed, seed + 1, and so on."""
    seed: int = 0
    engine: EngineName = "pybullet"
    """Physics engine."""
    screen: EngineName | None = None
    """Engine that simulates the proposed robots first; `engine` then simulates only
    those that nearly fit. None: `engine` simulates all."""

    @property
    def robots_each(self) -> int:
        """Number of robots simulated under `fixed` in each repeat."""
        return self.training + self.rounds * self.robots

    def __post_init__(self) -> None:
        """Reject numbers that allow no prediction."""
        for name in ("robots", "rounds", "repeats"):
            value = getattr(self, name)
            if value < 1:
                raise BadInput(f"{name} is {value}; give a whole number from 1 up.")
        if self.robots > MAX_ROBOTS:
            raise BadInput(
                f"robots is {self.robots}; give at most {MAX_ROBOTS}, or more rounds."
            )
        if self.training < MIN_TRAINING:
            raise BadInput(
                f"training is {self.training} robots; give {MIN_TRAINING} or more."
            )
        if self.seed < 0:
            raise BadInput(f"seed is {self.seed}; give a whole number from 0 up.")
        if self.engine not in ENGINES:
            raise BadInput(
                f"engine is {self.engine!r}; choose one of {', '.join(ENGINES)}."
            )
        if self.screen is not None and self.screen not in ENGINES:
            raise BadInput(
                f"screen is {self.screen!r}; choose one of {', '.join(ENGINES)}, or "
                "leave it out."
            )
        if self.screen == self.engine:
            raise BadInput(
                f"screen and engine are both {self.engine!r}; a screen is another "
                "engine. Leave it out."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """Weighted sample of one outcome, with the published value."""

    values: FloatArray
    """(n,) drawn outcomes, in K or °C."""
    weights: FloatArray
    """(n,) weights with sum 1."""
    published: float

    def quantile(self, share: FloatArray) -> FloatArray:
        """Return the weighted quantiles of these shares."""
        order = np.argsort(self.values)
        weight = self.weights[order]
        middles = np.cumsum(weight) - 0.5 * weight
        return np.asarray(np.interp(share, middles, self.values[order]), np.float64)

    def within(self, share: float) -> tuple[float, float]:
        """Return the central band with a share of the weight."""
        low, high = self.quantile(np.array([0.5 - share / 2, 0.5 + share / 2]))
        return float(low), float(high)

    @property
    def median(self) -> float:
        """Weighted median."""
        return float(self.quantile(np.array([0.5]))[0])

    @property
    def share_below(self) -> float:
        """Weight of the outcomes up to the published value, from 0 to 1."""
        return float(self.weights[self.values <= self.published].sum())

    @property
    def holds_published(self) -> bool:
        """True if the published value is in the 90 % band."""
        low, high = self.within(0.9)
        return low <= self.published <= high


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction:
    """Weighted robots and the two predictions."""

    cfg: PredictionCfg
    x_deg: FloatArray
    """(n, 5) opposed misalignments in degrees."""
    weights: FloatArray
    """(n,) of sum 1."""
    bands: Mapping[Assumption, tuple[Band, ...]]
    """Assumption to the bands of the four outcomes, in the order of `OUTCOMES`."""
    robots_fixed: int
    """Number of robots simulated under `fixed` on the engine of the prediction."""
    fell: Mapping[str, int]
    """Controller (with its engine for the screen) to the number of robots that fell,
    which are excluded."""

    @property
    def effective(self) -> float:
        """Effective number of robots, (Σ w)² / Σ w²."""
        return float(1.0 / (self.weights @ self.weights))


def pooled(cfg: PredictionCfg, repeats: Sequence[Prediction]) -> Prediction:
    """Pool independent predictions, weighted by their effective numbers.

    The effective number of the result is then their sum.

    Args:
        cfg: configuration of the result.
        repeats: predictions with different seeds.
    """
    effective = np.array([found.effective for found in repeats])
    shares = effective / effective.sum()

    def of_all(assumption: Assumption, k: int) -> Band:
        bands = [found.bands[assumption][k] for found in repeats]
        return Band(
            values=np.concatenate([band.values for band in bands]),
            weights=np.concatenate(
                [share * b.weights for share, b in zip(shares, bands, strict=True)]
            ),
            published=bands[0].published,
        )

    return Prediction(
        cfg=cfg,
        x_deg=np.vstack([found.x_deg for found in repeats]),
        weights=np.concatenate(
            [
                share * found.weights
                for share, found in zip(shares, repeats, strict=True)
            ]
        ),
        bands={
            assumption: tuple(of_all(assumption, k) for k in range(len(OUTCOMES)))
            for assumption in ASSUMPTIONS
        },
        robots_fixed=sum(found.robots_fixed for found in repeats),
        fell={
            name: sum(found.fell[name] for found in repeats) for name in repeats[0].fell
        },
    )


def as_json(found: Prediction) -> dict[str, object]:
    """Return the contract of `--json`: bands, and all robots with weights."""
    return {
        "experiment": "predict-published",
        "engine": found.cfg.engine,
        "seed": found.cfg.seed,
        "repeats": found.cfg.repeats,
        "screen": found.cfg.screen,
        "robots_proposed": found.cfg.repeats * found.cfg.robots_each,
        "robots_fixed": found.robots_fixed,
        "robots_smart": len(found.weights),
        "effective_robots": found.effective,
        "fell": dict(found.fell),
        "held_fixed": list(HELD_FIXED),
        "outcomes": {
            assumption: {
                f"{name}, {unit}": {
                    "published": band.published,
                    "bands_hold": GIVEN,
                    "median": band.median,
                    "band_50": band.within(0.5),
                    "band_90": band.within(0.9),
                    "share_at_or_below_published": band.share_below,
                }
                for name, unit, band in zip(OUTCOMES, UNITS, bands, strict=True)
            }
            for assumption, bands in found.bands.items()
        },
        "joints": list(LEG_JOINTS),
        "opposed_misalignment_deg": found.x_deg.tolist(),
        "weights": found.weights.tolist(),
    }
