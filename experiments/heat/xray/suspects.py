"""Which joint is off: hypotheses about the angle sensors, weighed by their evidence.

Each leg joint is off with probability `P_OFF`, independently, and then by a normal
error of `SPREAD_RAD`. A hypothesis is the set of joints that are off: none, one, or
two. Its evidence is that of the fit with these joints' priors wide (Laplace); those of
one joint are fitted, those of two follow to first order from the best fit of one. The
posterior of a hypothesis is prior times evidence, over the sum of all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from experiments.heat.xray.standing_model import StandingFit, StandingModel
from models.values import FloatArray

P_OFF = 0.1
"""That a joint is off by more than its sensor's step, before the log is read."""
SPREAD_RAD = np.deg2rad(1.5)
"""Of such an error."""
INTERVAL_SDS = 1.96
"""Of an interval of 95 %."""
FLOOR_OF_SD_RAD = np.deg2rad(0.03)
"""Soles sink in, links give: no interval is narrower than that of this deviation."""
RIVAL = 0.05
"""Share of the probability from which on an explanation is a rival of the best."""


@dataclass(frozen=True, kw_only=True)
class JointError:
    """How far a joint is off, if it is."""

    joint: str
    degrees: float
    """True angle minus measured angle."""
    low_deg: float
    high_deg: float
    """Interval of 95 %."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """A set of joints that are off together."""

    errors: tuple[JointError, ...]
    """Empty: none is off."""
    probability: float
    misfit: float
    """Sum of squared residuals; below some forty the log is explained."""
    fit: StandingFit

    @property
    def joints(self) -> tuple[str, ...]:
        """Names, in joint order."""
        return tuple(error.joint for error in self.errors)


@dataclass(frozen=True, kw_only=True, eq=False)
class Suspects:
    """Explanations of one log."""

    explanations: tuple[Explanation, ...]
    """Of all hypotheses, the most likely first."""
    by_joint: dict[str, Explanation]
    """Each leg joint as the only one that is off."""

    @property
    def best(self) -> Explanation:
        """The most likely one."""
        return self.explanations[0]

    @property
    def rivals(self) -> tuple[Explanation, ...]:
        """The others that the log does not rule out."""
        return tuple(e for e in self.explanations[1:] if e.probability >= RIVAL)

    @property
    def single(self) -> Explanation:
        """The most likely one of those with one joint off."""
        return max(self.by_joint.values(), key=lambda e: e.probability)

    def probability_of(self, joint: str) -> float:
        """Return the probability that a joint is off."""
        return sum(e.probability for e in self.explanations if joint in e.joints)


def find_suspects(
    model: StandingModel, on_fit: Callable[[int, int], None] = lambda _done, _of: None
) -> Suspects:
    """Weigh all hypotheses of none, one and two joints off.

    Args:
        model: of the log.
        on_fit: told how many fits are done, and of how many.
    """
    names = model.robot.leg_joints
    n = len(names)
    none = model.fit()
    on_fit(1, n + 1)
    fits: dict[tuple[int, ...], StandingFit] = {(): none}
    for k in range(n):
        fits[k,] = model.fit(_widths(model, (k,)), start=none)
        on_fit(k + 2, n + 1)
    best = max((fits[k,] for k in range(n)), key=lambda fit: fit.log_evidence)
    for pair in combinations(range(n), 2):
        fits[pair] = best.with_widths(_widths(model, pair))
    scores = {
        off: fit.log_evidence + len(off) * np.log(P_OFF / (1.0 - P_OFF))
        for off, fit in fits.items()
    }
    most = max(scores.values())
    total = sum(np.exp(score - most) for score in scores.values())
    found = {
        off: Explanation(
            errors=tuple(_error(names[k], k, fit) for k in off),
            probability=float(np.exp(scores[off] - most) / total),
            misfit=fit.misfit,
            fit=fit,
        )
        for off, fit in fits.items()
    }
    ordered = sorted(found.values(), key=lambda e: -e.probability)
    return Suspects(
        explanations=tuple(ordered), by_joint={names[k]: found[k,] for k in range(n)}
    )


def _widths(model: StandingModel, off: tuple[int, ...]) -> FloatArray:
    width = model.width.copy()
    width[list(off)] = np.hypot(width[list(off)], SPREAD_RAD)
    return width


def _error(joint: str, k: int, fit: StandingFit) -> JointError:
    sd = np.hypot(np.sqrt(fit.covariance[k, k]), FLOOR_OF_SD_RAD)
    half = INTERVAL_SDS * sd
    low, here, high = np.rad2deg(fit.error[k] + np.array([-half, 0.0, half]))
    return JointError(
        joint=joint, degrees=float(here), low_deg=float(low), high_deg=float(high)
    )
