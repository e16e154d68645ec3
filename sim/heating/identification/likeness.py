"""How many rows make one independent error."""

from collections.abc import Sequence

import numpy as np

from sim.heating.exponentials import FloatArray


def rows_per_error(residuals: Sequence[FloatArray]) -> float:
    """Return over how many rows residuals stay alike, at least 1.

    A sensor that counts in whole degrees errs the same way for many rows. With ρ_k the
    autocorrelation at a lag of k rows, a mean over n rows varies as one over n / s
    independent ones, s = 1 + 2 Σ ρ_k. The sum ends where ρ_k is first not above 0, as
    what follows is noise [geyer1992], which makes s rather too large than too small.

    Args:
        residuals: by record; NaN, a row without a measurement, counts as 0.
    """
    filled = [np.where(np.isfinite(r), r, 0.0) for r in residuals]
    power = sum(float(r @ r) for r in filled)
    if power == 0.0:
        return 1.0
    products = np.zeros(max(r.size for r in filled))
    for r in filled:
        n = 1 << (2 * r.size - 1).bit_length()
        spectrum = np.fft.rfft(r, n)
        products[: r.size] += np.fft.irfft(np.abs(spectrum) ** 2, n)[: r.size]
    rho = products / power
    ends = np.flatnonzero(rho <= 0.0)
    last = int(ends[0]) if ends.size else rho.size
    return float(max(1.0, 1.0 + 2.0 * rho[1:last].sum()))
