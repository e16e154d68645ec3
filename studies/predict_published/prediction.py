"""Prediction of the published column *with*: bands, and their presentation.

`sampling` finds the robots. Independent repeats, each with its own surrogate, are
pooled by their effective numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from nao_testbed.experiments.closed_loop.trial_result import LEG_JOINTS
from nao_testbed.experiments.heat.published import PUBLISHED
from nao_testbed.models import BadInput
from nao_testbed.models.values import EngineName, FloatArray

ENGINES: tuple[str, ...] = get_args(EngineName)

OUTCOMES = (
    "left leg rises by",
    "right leg rises by",
    "LAnklePitch ends at",
    "RHipPitch ends at",
)
"""In the order of `TARGETS`."""
UNITS = ("K", "K", "°C", "°C")
WITH = np.array(
    [
        PUBLISHED["smart"].left_leg_rise_k,
        PUBLISHED["smart"].right_leg_rise_k,
        PUBLISHED["smart"].end_degc["LAnklePitch"],
        PUBLISHED["smart"].end_degc["RHipPitch"],
    ]
)
"""(4,) the published column *with*, to compare with."""

GIVEN = "given this model"
"""Bands and shares are those of drawn misalignments and starts alone."""
HELD_FIXED = ("gear friction", "ambient temperature", "heat flow", "heat capacity")
"""Not drawn: no source gives their spread on a NAO."""

MIN_TRAINING = 40
"""Standing robots for the surrogate."""

MAX_ROBOTS = 10_000
"""Of a round: a hundredth of the points that they are drawn from."""

Assumption = Literal["equal", "free"]
ASSUMPTIONS: tuple[Assumption, ...] = get_args(Assumption)


@dataclass(frozen=True, kw_only=True)
class PredictionCfg:
    """Numbers of drawn robots."""

    robots: int = 160
    """Of each round, simulated under `fixed`."""
    rounds: int = 5
    """With a surrogate, renewed each time."""
    training: int = 240
    """Simulated first, drawn from the prior."""
    repeats: int = 1
    """All of it as often, independently: with seed, seed + 1, and so on."""
    seed: int = 0
    engine: EngineName = "pybullet"
    """Of the physics."""
    screen: EngineName | None = None
    """Engine that simulates the proposed robots first; `engine` simulates only robots
    that nearly fit there. None: `engine` simulates all."""

    @property
    def robots_each(self) -> int:
        """Simulated under `fixed` in each repeat."""
        return self.training + self.rounds * self.robots

    def __post_init__(self) -> None:
        """Refuse numbers that give no prediction."""
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
    """Weighted sample of one outcome, and its published value."""

    values: FloatArray
    """(n,) drawn outcomes, in K or °C."""
    weights: FloatArray
    """(n,) of sum 1."""
    published: float

    def quantile(self, share: FloatArray) -> FloatArray:
        """Return the values below which these shares of the weight lie."""
        order = np.argsort(self.values)
        weight = self.weights[order]
        middles = np.cumsum(weight) - 0.5 * weight
        return np.asarray(np.interp(share, middles, self.values[order]), np.float64)

    def within(self, share: float) -> tuple[float, float]:
        """Return the central band that holds a share of the weight."""
        low, high = self.quantile(np.array([0.5 - share / 2, 0.5 + share / 2]))
        return float(low), float(high)

    @property
    def median(self) -> float:
        """The value in the middle."""
        return float(self.quantile(np.array([0.5]))[0])

    @property
    def share_below(self) -> float:
        """Weight of the outcomes at or below the published number, from 0 to 1."""
        return float(self.weights[self.values <= self.published].sum())

    @property
    def holds_published(self) -> bool:
        """True if the published number lies in the 90 % band."""
        low, high = self.within(0.9)
        return low <= self.published <= high


@dataclass(frozen=True, kw_only=True, eq=False)
class Prediction:
    """Weighted robots and the two predictions."""

    cfg: PredictionCfg
    x_deg: FloatArray
    """(n, 5) opposed misalignments."""
    weights: FloatArray
    """(n,) of sum 1."""
    bands: Mapping[Assumption, tuple[Band, ...]]
    """Assumption to the four outcomes in the order of `OUTCOMES`."""
    robots_fixed: int
    """Simulated under `fixed` on the engine of the prediction."""
    fell: Mapping[str, int]
    """Controller, with its engine where that is the screen, to robots that fell; those
    are left out."""

    @property
    def effective(self) -> float:
        """Effective number of robots, (Σ w)² / Σ w²."""
        return float(1.0 / (self.weights @ self.weights))


def pooled(cfg: PredictionCfg, repeats: Sequence[Prediction]) -> Prediction:
    """Return independent predictions as one, each weighing as its effective number.

    The effective number of the whole is then the sum of theirs.

    Args:
        cfg: of the whole.
        repeats: with other seeds.
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
    """Return the contract of `--json`: bands, and each robot with its weight."""
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
