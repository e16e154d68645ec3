"""Where the labels of a chart stand, so that neither text nor curve is covered."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def free_height(
    wanted: float, taken: Sequence[tuple[float, float]], half: float
) -> float:
    """Return the height nearest to the wanted one that is `half` off all intervals.

    Touching counts as free: just above the highest interval there is always room.
    """
    walls = [(low - half, high + half) for low, high in taken]
    heights = [wanted, *(height for wall in walls for height in wall)]
    free = [h for h in heights if not any(low < h < high for low, high in walls)]
    return min(free, key=lambda h: abs(h - wanted))


def spread(values: Sequence[float], gap: float) -> FloatArray:
    """Return heights for labels: near their values, at least `gap` apart.

    With the values sorted, h_i - i·gap must not fall: the nearest such heights in the
    least-squares sense are an isotonic regression.
    """
    from scipy.optimize import isotonic_regression  # noqa: PLC0415  # heavy

    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(order))
    heights = np.empty(len(order))
    if len(order):
        heights[order] = isotonic_regression(np.array(values)[order] - steps).x + steps
    return heights
