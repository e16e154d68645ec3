"""Hypotheses on misaligned joints, floor and load, weighted by their evidence.

Prior: each leg joint is misaligned with probability `P_OFF`, independently, with a
normal error of standard deviation `SPREAD_RAD`. The same holds for the slope of the
floor in pitch and in roll, and the robot carries a load with the same probability. A
hypothesis is a set of up to `MAX_OFF` joints, with or without slope and load. Gear
friction is that of the model times a log-normal factor; every hypothesis is weighted
under each factor of `FRICTIONS`.

The evidence of a hypothesis is Laplace's approximation, with wide priors for its
causes. The hypothesis without causes is fitted first. The evidence of the others
follows to first order from the most likely fit; the most likely of them are then
fitted, in at most `ROUNDS` rounds.

Equal errors of both ankles look like a sloping floor, so this hypothesis is counted as
that of the floor (`FLOOR_CAUSES`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.experiments.heat.xray.standing_model import (
    FLOOR,
    LOAD,
    N_OTHER,
    N_SHARED,
    StandingFit,
    StandingModel,
)
from nao_testbed.models.values import FloatArray

P_OFF = 0.1
"""Prior probability that a joint is misaligned by more than its sensor's step."""
SPREAD_RAD = np.deg2rad(1.5)
"""Standard deviation of such an error, and of a floor's slope, in rad."""
LOAD_N, LOAD_M = 3.0, 0.005
"""Standard deviations of a load's weight, and of its displacement of the centre of
mass."""
MAX_OFF = 3
"""Largest number of joints of a hypothesis; a log cannot identify more of twelve."""
LEAST = 1e-5
"""Probability below which a hypothesis is not reported."""
FRICTIONS = np.array([0.35, 0.6, 1.0, 1.7, 3.0])
"""Factors on the model's gear friction, which is an estimate."""
FRICTION_SD = np.log(2.0)
"""Prior standard deviation of the factor's logarithm."""
ROUNDS, FITS_A_ROUND = 4, 4
"""Largest number of rounds, and of fits in each."""
INTERVAL_SDS = 1.96
"""Half width of a 95 % interval, in standard deviations."""
FLOOR_OF_SD_RAD = np.deg2rad(0.03)
"""Smallest standard deviation of an interval, since soles sink in and links bend."""
SLOPE_SHARE = 0.1
"""Share of a slope that corresponds to the gain error of the accelerometer."""
RIVAL = 0.05
"""Share of the best explanation's probability from which another one is a rival."""
FLOOR_CAUSES = ("both ankles or floor, pitch", "both ankles or floor, roll")
"""Causes of a sloping floor, which a standing robot cannot distinguish from equal
errors of both ankles."""
LOAD_CAUSE = "load"

Off = tuple[int, ...]
"""Indices of causes, ascending."""


@dataclass(frozen=True, kw_only=True)
class JointError:
    """Error of a joint, or slope of the floor, given that it is a cause."""

    joint: str
    """Name of the cause: a leg joint, or one of `FLOOR_CAUSES`."""
    degrees: float
    """True minus measured angle; for the floor the equivalent error of both ankles."""
    low_deg: float
    high_deg: float
    """Upper end of the 95 % interval."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """Set of causes."""

    errors: tuple[JointError, ...]
    """Errors of joints and floor; empty: no misalignment."""
    load_kg: float | None = None
    """Load in kg: mass of the robot minus that of its model; None: no load."""
    probability: float
    misfit: float
    """Sum of squared residuals at the most likely friction."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the misaligned joints and slopes, in their order."""
        return tuple(error.joint for error in self.errors)

    @property
    def causes(self) -> tuple[str, ...]:
        """Names of all causes, including the load."""
        return self.joints + (LOAD_CAUSE,) * (self.load_kg is not None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Suspects:
    """Explanations of one log."""

    explanations: tuple[Explanation, ...]
    """Explanations, most likely first; those below `LEAST` are omitted."""
    causes: dict[str, float]
    """Cause to its probability, most likely first."""
    by_joint: dict[str, Explanation]
    """Leg joint to the explanation with this joint as the only cause."""
    ankles: Mapping[str, tuple[str, ...]]
    """Floor cause to the equivalent joints, one of each leg."""
    friction: float
    """Mean factor on the gear friction."""
    log_evidence: float
    """Logarithm of the probability density of the log, up to a constant."""
    fit: StandingFit
    """State under the best explanation."""

    @property
    def best(self) -> Explanation:
        """Most likely explanation."""
        return self.explanations[0]

    @property
    def rivals(self) -> tuple[Explanation, ...]:
        """Other explanations that the log does not exclude."""
        return tuple(e for e in self.explanations[1:] if e.probability >= RIVAL)

    @property
    def probability_of_none(self) -> float:
        """Return the probability of no misalignment, slope or load."""
        return sum(e.probability for e in self.explanations if not e.causes)

    def probability_of(self, cause: str) -> float:
        """Return the probability of a cause."""
        return self.causes[cause]

    def likeliest_with(self, cause: str) -> Explanation:
        """Return the most likely explanation that has a cause."""
        return next(e for e in self.explanations if cause in e.causes)

    def error_of(self, cause: str) -> JointError:
        """Return the error of a joint or the slope of the floor, given this cause.

        The value is that of the most likely explanation with the cause; the interval
        covers all explanations with it.
        """
        having = [
            (one.probability, error)
            for one in self.explanations
            for error in one.errors
            if error.joint == cause
        ]
        weight = np.array([probability for probability, _ in having])
        weight = weight / weight.sum()
        size = np.array([error.degrees for _, error in having])
        half = np.array([error.high_deg - error.degrees for _, error in having])
        mean = float(weight @ size)
        apart = INTERVAL_SDS * (size - mean)
        spread = float(np.sqrt(weight @ (half**2 + apart**2)))
        likeliest = float(size[weight.argmax()])
        return JointError(
            joint=cause,
            degrees=likeliest,
            low_deg=min(mean - spread, likeliest),
            high_deg=max(mean + spread, likeliest),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Weighed:
    """Hypothesis under all factors of friction, to first order about a fit."""

    score: FloatArray
    """(n_frictions,) sum of squared residuals. log evidence."""
    misfit: FloatArray
    """(n_frictions,)"""
    values: FloatArray
    """(n_frictions, n_widths) values of the causes."""
    covariance: FloatArray
    """(n_frictions, n_widths, n_widths) covariance of `values`."""


class _Linear:
    """Least squares linearised about a fit, for each factor of friction.

    Other residuals in the same state, with the same Jacobian, share its costs.
    Minimises |r + J (x - x_0)|² + Σ (x_k / width_k)², with the motors' rows weighted
    for each friction. Log evidence is -½ (misfit + log |H| + Σ log width²) - Σ log σ.
    If few widths differ from those of the sensors, H differs in equally few diagonal
    elements, and Woodbury's identity gives its inverse and determinant.
    """

    def __init__(
        self, model: StandingModel, fit: StandingFit, others: Sequence[FloatArray] = ()
    ) -> None:
        n = len(model.width)
        scale = np.concatenate((np.ones(N_SHARED), fit.width))
        jacobian, x0 = fit.jacobian[:-n] / scale, fit.z * scale
        left = np.column_stack([r[:-n] for r in (fit.residual, *others)])
        left -= (jacobian @ x0)[:, np.newaxis]
        self._narrow = model.width
        self._parts = []
        for factor in FRICTIONS.tolist():
            sd = model.torque_sd(factor)
            weight = np.ones((len(left), 1))
            weight[: len(sd), 0] = model.torque_sd(fit.friction) / sd
            rows, rest = weight * jacobian, weight * left
            constant = np.log(sd).sum() + 0.5 * (np.log(factor) / FRICTION_SD) ** 2
            self._parts.append(
                (rows.T @ rows, rows.T @ rest, (rest**2).sum(0), float(constant))
            )

    def _with(self, hessian: FloatArray, width: FloatArray) -> FloatArray:
        whole = hessian.copy()
        places = np.arange(N_SHARED, len(whole))
        whole[places, places] += width**-2.0
        return whole

    def scores(self, widths: FloatArray, wide: NDArray[np.intp]) -> FloatArray:
        """Return (n_hypotheses, 1 + n_others, n_frictions) log evidences.

        Args:
            widths: (n_hypotheses, n_widths).
            wide: (n_hypotheses, n) indices of widths that differ from those of the
                sensors, filled up with other indices.
        """
        size_of_prior = 2.0 * np.log(widths).sum(1)
        narrow = self._narrow[wide]
        cut = np.sqrt(narrow**-2.0 - np.take_along_axis(widths, wide, 1) ** -2.0)
        places = N_SHARED + wide
        found = []
        for hessian, slope, rest, constant in self._parts:
            whole = self._with(hessian, self._narrow)
            inverse = np.linalg.inv(whole)
            x = -inverse @ slope
            block = inverse[places[:, :, np.newaxis], places[:, np.newaxis, :]]
            small = np.eye(wide.shape[1]) - block * (
                cut[:, :, np.newaxis] * cut[:, np.newaxis, :]
            )
            y = cut[..., np.newaxis] * x[places]
            misfit = rest + (slope * x).sum(0) - (y * np.linalg.solve(small, y)).sum(1)
            size = np.linalg.slogdet(whole)[1] + np.linalg.slogdet(small)[1]
            size = (size + size_of_prior)[:, np.newaxis]
            found.append(-0.5 * (misfit + size) - constant)
        return np.stack(found, axis=-1)

    def weigh(self, width: FloatArray) -> _Weighed:
        """Return the complete evaluation of one hypothesis.

        Args:
            width: (n_widths,) prior standard deviations.
        """
        whole = np.array([self._with(hessian, width) for hessian, *_ in self._parts])
        slope = np.array([one[:, 0] for _, one, _, _ in self._parts])
        rest = np.array([one[0] for *_, one, _ in self._parts])
        constant = np.array([one for *_, one in self._parts])
        inverse = np.linalg.inv(whole)
        x = -(inverse @ slope[..., np.newaxis])[..., 0]
        misfit = rest + (slope * x).sum(1)
        size = np.linalg.slogdet(whole)[1] + 2.0 * np.log(width).sum()
        return _Weighed(
            score=-0.5 * (misfit + size) - constant,
            misfit=misfit,
            values=x[:, N_SHARED:],
            covariance=inverse[:, N_SHARED:, N_SHARED:],
        )


class _Search:
    """Search over all hypotheses of one log, fitted or approximated."""

    def __init__(self, model: StandingModel) -> None:
        self.model = model
        joints = model.robot.leg_joints
        n = len(joints)
        self.names = (*joints, *FLOOR_CAUSES, LOAD_CAUSE)
        self.places = [[N_OTHER + k] for k in range(n)]
        self.places += [[FLOOR.start], [FLOOR.start + 1]]
        self.places.append(list(range(LOAD.start, LOAD.stop)))
        self.ankles = {
            n + kind: tuple(joints.index(name) for name in pair)
            for kind, pair in enumerate(model.ankles)
            if pair
        }
        others = range(n, len(self.names))
        self.hypotheses: list[Off] = [
            (*off, *beside)
            for many in range(MAX_OFF + 1)
            for off in combinations(range(n), many)
            for more in range(len(others) + 1)
            for beside in combinations(others, more)
            if not self._twice((*off, *beside))
        ]
        self.place = {off: h for h, off in enumerate(self.hypotheses)}
        self._wide_sd = np.full(len(model.width), SPREAD_RAD)
        self._wide_sd[LOAD] = LOAD_N, LOAD_M, LOAD_M
        self.widths = np.array([self._width(off) for off in self.hypotheses])
        count = np.array([len(off) for off in self.hypotheses])
        self._log_prior = count * np.log(P_OFF / (1.0 - P_OFF))
        most = MAX_OFF + N_OTHER
        self._wide = np.argsort(-self.widths / model.width, axis=1)[:, :most]
        self.fits: dict[Off, StandingFit] = {}
        self.own: dict[Off, _Weighed] = {}
        self._nearest: _Linear | None = None

    def _twice(self, off: Off) -> bool:
        """Return True if a slope is combined with both ankles that look like it."""
        return any(k in off and {*pair} <= {*off} for k, pair in self.ankles.items())

    def _width(self, off: Off) -> FloatArray:
        width = self.model.width.copy()
        places = [place for k in off for place in self.places[k]]
        width[places] = np.hypot(width[places], self._wide_sd[places])
        return width

    def fit(self, off: Off, friction: float = 1.0) -> None:
        """Fit one hypothesis, starting from its largest fitted subset."""
        parts = [one for one in self.fits if {*one} <= {*off}]
        start = None
        if parts:
            nearest = max(parts, key=lambda p: (len(p), self.own[p].score.max()))
            start = self.fits[nearest]
        fit = self.model.fit(self._width(off), start, friction)
        self.fits[off] = fit
        self.own[off] = _Linear(self.model, fit).weigh(self._width(off))

    def scores(self) -> FloatArray:
        """Return (n_hypotheses, n_frictions) log posteriors, up to a constant.

        Fitted hypotheses use their own fit; the others are expanded about the most
        likely fit.
        """

        def score(off: Off) -> float:
            prior = self._log_prior[self.place[off]]
            return float(self.own[off].score.max() + prior)

        self._nearest = _Linear(self.model, self.fits[max(self.own, key=score)])
        found = self.scores_about(self._nearest)[:, 0]
        for off, own in self.own.items():
            found[self.place[off]] = own.score + self._log_prior[self.place[off]]
        return found

    def scores_about(self, point: _Linear) -> FloatArray:
        """Return log posteriors to first order, in the shape of `_Linear.scores`."""
        found = point.scores(self.widths, self._wide)
        return np.asarray(found + self._log_prior[:, np.newaxis, np.newaxis])

    def weighed(self, off: Off) -> _Weighed:
        """Return the complete evaluation of one hypothesis."""
        if off not in self.own:
            assert self._nearest is not None
            self.own[off] = self._nearest.weigh(self._width(off))
        return self.own[off]


def find_suspects(
    model: StandingModel, on_fit: Callable[[int, int], None] = lambda _done, _of: None
) -> Suspects:
    """Evaluate all hypotheses of up to three causes.

    Args:
        model: model of the log.
        on_fit: function called with the number of finished fits, and the total.
    """
    search, score = _searched(model, on_fit)
    log_evidence = float(logsumexp(score))
    return _told(search, np.exp(score - log_evidence), log_evidence)


def evidence_of(model: StandingModel, least: float = -np.inf) -> float:
    """Return `Suspects.log_evidence` of a model, without its explanations.

    Args:
        model: model of the log.
        least: evidence below which the search ends early; refinements gain 1 or less.
    """
    return float(logsumexp(_searched(model, least=least)[1]))


def _searched(
    model: StandingModel,
    on_fit: Callable[[int, int], None] = lambda _done, _of: None,
    least: float = -np.inf,
) -> tuple[_Search, FloatArray]:
    """Return the search, and its log posteriors as in `_Search.scores`."""
    search = _Search(model)
    search.fit(())
    score = search.scores()
    for done in range(ROUNDS if logsumexp(score) > least else 0):
        before = len(search.fits)
        for k, h in enumerate(np.argsort(-score.max(1))[:FITS_A_ROUND].tolist()):
            off, factor = search.hypotheses[h], float(FRICTIONS[score[h].argmax()])
            if off not in search.fits or search.fits[off].friction != factor:
                search.fit(off, factor)
            on_fit(done * FITS_A_ROUND + k + 1, ROUNDS * FITS_A_ROUND)
        score = search.scores()
        if len(search.fits) == before:
            break
    return search, score


def evidence_about(
    model: StandingModel, suspects: Suspects, others: Sequence[StandingModel]
) -> FloatArray:
    """Return the gain in log evidence of similar models, to first order.

    Args:
        model: model of the log.
        suspects: explanations of the log; their best one is the point of expansion.
        others: models with other means.
    """
    fit = suspects.fit
    about = _Linear(model, fit, [other.residual_at(fit) for other in others])
    found = logsumexp(_Search(model).scores_about(about), axis=(0, 2))
    return np.asarray(found[1:] - found[0])


def _told(search: _Search, chance: FloatArray, log_evidence: float) -> Suspects:
    """Summarise the weighted hypotheses; equal ankle errors count as the floor.

    Args:
        search: search over all hypotheses.
        chance: (n_hypotheses, n_frictions) probabilities of sum 1.
        log_evidence: as in `Suspects`.
    """
    of_friction, of_each = chance.sum(0), chance.sum(1)
    singles = [search.place[k,] for k in range(len(search.names))]
    has = {k: [k in off for off in search.hypotheses] for k in range(len(singles))}
    likeliest = [int((of_each * has[k]).argmax()) for k in has]
    told = {*np.flatnonzero(of_each >= LEAST).tolist(), *singles, *likeliest}
    members: dict[Off, list[int]] = {}
    for h in sorted(told):
        off = _as_floor(search, search.hypotheses[h], int(of_friction.argmax()))
        members.setdefault(off, []).append(h)
    firsts = {off: max(hs, key=lambda h: of_each[h]) for off, hs in members.items()}
    found = {
        off: _explanation(search, off, firsts[off], chance, members[off])
        for off in members
    }
    ordered = sorted(found, key=lambda off: -found[off].probability)
    best = search.hypotheses[firsts[ordered[0]]]
    if best not in search.fits:
        search.fit(best, float(FRICTIONS[of_friction.argmax()]))
    causes = {
        name: sum(one.probability for one in found.values() if name in one.causes)
        for name in search.names
    }
    n = len(search.model.robot.leg_joints)
    return Suspects(
        explanations=tuple(found[off] for off in ordered),
        causes=dict(sorted(causes.items(), key=lambda item: -item[1])),
        by_joint={search.names[k]: found[k,] for k in range(n)},
        ankles=dict(zip(FLOOR_CAUSES, search.model.ankles, strict=True)),
        friction=float(np.exp(of_friction @ np.log(FRICTIONS))),
        log_evidence=log_evidence,
        fit=search.fits[best],
    )


def _as_floor(search: _Search, off: Off, m: int) -> Off:
    """Return the hypothesis with a slope in place of equal errors of both ankles.

    Args:
        search: search over all hypotheses.
        off: causes of a hypothesis.
        m: index of the friction factor.
    """
    for k, pair in search.ankles.items():
        if not {*pair} <= {*off}:
            continue
        one = search.weighed(off)
        apart = np.zeros(one.values.shape[1])
        apart[[search.places[j][0] for j in pair]] = 1.0, -1.0
        variance = apart @ one.covariance[m] @ apart + 2.0 * FLOOR_OF_SD_RAD**2
        if abs(apart @ one.values[m]) < INTERVAL_SDS * np.sqrt(variance):
            return tuple(sorted({*off} - {*pair} | {k}))
    return off


def _explanation(
    search: _Search, off: Off, h: int, chance: FloatArray, members: list[int]
) -> Explanation:
    """Return the reported explanation of a group of hypotheses.

    Args:
        search: search over all hypotheses.
        off: reported causes of the group.
        h: index of the most likely hypothesis of the group.
        chance: (n_hypotheses, n_frictions) probabilities of sum 1.
        members: indices of all hypotheses of the group.
    """
    one = search.weighed(search.hypotheses[h])
    share = np.exp(one.score - one.score.max())
    share /= share.sum()
    errors = []
    load = None
    for k in off:
        if search.names[k] == LOAD_CAUSE:
            load = float(share @ one.values[:, LOAD.start]) / GRAVITY
            continue
        columns = [search.places[k][0]]
        if k not in search.hypotheses[h]:  # both ankles represent the floor
            columns = [search.places[j][0] for j in search.ankles[k]]
        values = one.values[:, columns].mean(1)
        variance = one.covariance[:, columns][:, :, columns].mean((1, 2))
        mean = float(share @ values)
        spread = float(share @ (variance + (values - mean) ** 2))
        if search.names[k] in FLOOR_CAUSES:
            spread += (SLOPE_SHARE * mean) ** 2
        half = INTERVAL_SDS * np.hypot(np.sqrt(spread), FLOOR_OF_SD_RAD)
        low, here, high = np.rad2deg(mean + np.array([-half, 0.0, half])).tolist()
        errors.append(
            JointError(joint=search.names[k], degrees=here, low_deg=low, high_deg=high)
        )
    return Explanation(
        errors=tuple(errors),
        load_kg=load,
        probability=float(chance[members].sum()),
        misfit=float(one.misfit[chance.sum(0).argmax()]),
    )
