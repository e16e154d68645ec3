"""Exact steps of linear equations: the functions φ₁ and φ₂.

The solution of dx/dt = s x + g with constant s and g is

    x(t)          = x₀ e^{st} + g t φ₁(st),          φ₁(z) = (e^z - 1) / z
    ∫₀ᵗ x(t') dt' = x₀ t φ₁(st) + g t² φ₂(st),       φ₂(z) = (φ₁(z) - 1) / z

Both functions are smooth, also at z = 0 and for z > 0 (thermal runaway).
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

LARGEST_EXPONENT = 300.0
"""Exponents are cut here, far beyond any temperature that a motor survives."""

_SERIES_BELOW = 0.02
"""Below this |z| the difference φ₁(z) - 1 cancels; six terms leave 1e-15."""


def exponential(z: FloatArray) -> FloatArray:
    """Return e^z, cut at `LARGEST_EXPONENT` so that nothing overflows."""
    return np.exp(np.minimum(z, LARGEST_EXPONENT))


def phi1(z: FloatArray) -> FloatArray:
    """Return (e^z - 1) / z, and 1 where z is 0."""
    z = np.minimum(z, LARGEST_EXPONENT)
    safe = np.where(z == 0.0, 1.0, z)
    return np.where(z == 0.0, 1.0, np.expm1(safe) / safe)


def phi2(z: FloatArray) -> FloatArray:
    """Return (φ₁(z) - 1) / z, and ½ where z is 0."""
    z = np.minimum(z, LARGEST_EXPONENT)
    is_small = np.abs(z) < _SERIES_BELOW
    series = 0.5 + z * (1 / 6 + z * (1 / 24 + z * (1 / 120 + z * (1 / 720 + z / 5040))))
    safe = np.where(is_small, 1.0, z)
    return np.where(is_small, series, (np.expm1(safe) / safe - 1.0) / safe)
