"""The engine itself; no other module imports it.

from sim.engine.bullet import p
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sim.output_guards import dropped_output

with dropped_output():  # it greets on stdout
    import pybullet as p

FloatArray = NDArray[np.float64]

ENGINE_VERSION = f"pybullet 3.2.7 (API {p.getAPIVersion()})"


def rotation_from_quaternion(quaternion: Sequence[float] | FloatArray) -> FloatArray:
    """Return the (3, 3) rotation matrix of a quaternion x y z w."""
    return np.array(p.getMatrixFromQuaternion(quaternion)).reshape(3, 3)


__all__ = ["ENGINE_VERSION", "p", "rotation_from_quaternion"]
