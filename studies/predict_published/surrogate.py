"""Gaussian process in place of the physics; density of a normal distribution.

    y(x) = m + z(x),   cov z(x) z(x') = v (exp(-½ Σ ((x_i - x'_i) / l_i)²) + noise δ)

[rasmussen2006, ch. 2 and 5]: mean and variance at a new x have a closed form; the
lengths l and the noise are fitted by maximum likelihood, and m and v then have a closed
form too.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import Bounds, minimize
from scipy.spatial.distance import cdist

from nao_testbed.models.values import FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Surrogate:
    """Gaussian process from x to the four targets at typical starts.

    It has a squared-exponential kernel with one length per misalignment, a constant
    mean, and a share of noise, fitted by maximum likelihood. Kernel and noise are
    common to the four targets; each target has its own mean and variance.
    """

    x: FloatArray
    """(n, 5) misalignments in degrees."""
    lengths: FloatArray
    """(5,) lengths in degrees."""
    root: FloatArray
    """(n, n) lower Cholesky factor of the correlations."""
    mean: FloatArray
    """(4,) means."""
    solved: FloatArray
    """(n, 4) correlations⁻¹ (y - mean)."""
    variance: FloatArray
    """(4,) variance of each target."""
    noise: float
    """Share of the variance that x does not explain."""

    @classmethod
    def fitted(cls, x: FloatArray, y: FloatArray) -> "Surrogate":
        """Fit a surrogate to x (n, 5) in degrees and y (n, 4)."""
        size = x.shape[1]

        def process(log: FloatArray) -> tuple["Surrogate", float]:
            lengths, noise = np.exp(log[:size]), float(np.exp(log[size]))
            correlation = _correlation(x, x, lengths) + noise * np.eye(len(x))
            root: FloatArray = np.linalg.cholesky(correlation).astype(np.float64)
            ones = cho_solve((root, True), np.ones(len(x)))
            mean = ones @ y / ones.sum()
            solved = cho_solve((root, True), y - mean)
            variance = ((y - mean) * solved).mean(axis=0)
            half_logs = y.shape[1] * np.log(np.diag(root)).sum()
            cost = 0.5 * len(x) * np.log(variance).sum() + half_logs
            made = cls(
                x=x,
                lengths=lengths,
                root=root,
                mean=mean,
                solved=solved,
                variance=variance,
                noise=noise,
            )
            return made, float(cost)

        def cost_of(log: FloatArray) -> float:
            return process(log)[1]

        first: FloatArray = np.log(np.array([1.5] * size + [0.02]))
        low: FloatArray = np.array([-1.5] * size + [-9.0])
        high: FloatArray = np.array([3.0] * size + [1.0])
        best = minimize(
            cost_of,
            first,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            options={"maxiter": 15},
        )
        return process(np.asarray(best.x, np.float64))[0]

    def __call__(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance, each (n, 4), for x (n, 5)."""
        parts = [self._part(piece) for piece in np.array_split(x, 1 + len(x) // 5000)]
        means, variances = zip(*parts, strict=True)
        return np.vstack(means), np.vstack(variances)

    def _part(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        near = _correlation(x, self.x, self.lengths)
        explained = (solve_triangular(self.root, near.T, lower=True) ** 2).sum(axis=0)
        share = np.maximum(1.0 - explained, 0.0) + self.noise
        return self.mean + near @ self.solved, share[:, np.newaxis] * self.variance


def _correlation(a: FloatArray, b: FloatArray, lengths: FloatArray) -> FloatArray:
    """Return (n, m) squared-exponential correlations of a (n, 5) and b (m, 5)."""
    correlation: FloatArray = np.exp(
        -0.5 * cdist(a / lengths, b / lengths, "sqeuclidean")
    )
    return correlation


def log_normal(distance: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return (n,) log N(distance; 0, covariance) for distances (n, 4).

    Args:
        distance: distance from the mean.
        covariance: (4, 4), or (n, 4, 4) with one per distance.
    """
    root = np.broadcast_to(np.linalg.cholesky(covariance), (*distance.shape, 4))
    scaled = np.linalg.solve(root, distance[:, :, np.newaxis])[:, :, 0]
    diagonal = np.diagonal(root, axis1=1, axis2=2)
    constant = np.log(diagonal).sum(axis=1) + 2.0 * np.log(2.0 * np.pi)
    density: FloatArray = -0.5 * (scaled**2).sum(axis=1) - constant
    return density
