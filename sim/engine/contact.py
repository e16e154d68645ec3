"""Where a robot touches the ground, and with what force."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Contact:
    """One point at which a link touches the ground."""

    link: str
    position: tuple[float, float, float]
    """In the world, in m."""
    force: FloatArray
    """(3,) force of the ground on the robot, in the world, in N."""
    normal_force: float
    """Part of it along the ground's normal, in N."""
