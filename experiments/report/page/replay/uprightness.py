"""Where is up? From the recorded accelerometer and gyroscope, moment by moment.

The vertical turns in the robot's frame as the gyroscope says, and is drawn to what the
accelerometer feels while that is about gravity: at rest it feels +g upward. Heading is
not observable; it is left as it was at the start.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

FloatArray = NDArray[np.float64]

GRAVITY = 9.81
TIME_CONSTANT_S = 0.4
"""With which the accelerometer corrects the gyroscope: noise averages out, and drift
of the gyroscope stays below a tenth of a degree."""
TRUSTED = 0.15
"""Largest relative deviation from g at which the accelerometer tells the vertical."""
LONGEST_STEP_S = 0.1
"""Rows farther apart are of a fast-forward: the robot stands, its past is no help."""


def upward(
    time_s: FloatArray, accelerometer: FloatArray, gyro: FloatArray
) -> FloatArray:
    """Return unit vectors (n, 3) that point up, in the frame of the inertial unit.

    Args:
        time_s: (n,) of the rows, rising.
        accelerometer: (n, 3) in m/s².
        gyro: (n, 3) in rad/s.
    """
    up = np.empty_like(accelerometer)
    size = np.linalg.norm(accelerometer, axis=1)
    felt = accelerometer / np.maximum(size, 1e-9)[:, None]
    is_trusted = np.abs(size / GRAVITY - 1.0) < TRUSTED
    steps = np.diff(time_s, prepend=time_s[:1])
    # A vector at rest in the world turns against the robot's rotation.
    turns = Rotation.from_rotvec(-gyro * steps[:, None]).as_matrix()
    now = felt[0] if size[0] > 1e-9 else np.array([0.0, 0.0, 1.0])
    for i, step in enumerate(steps.tolist()):
        if step > LONGEST_STEP_S:
            now = felt[i] if is_trusted[i] else now
        else:
            now = turns[i] @ now
            if is_trusted[i]:
                now = now + (1.0 - np.exp(-step / TIME_CONSTANT_S)) * (felt[i] - now)
        now = now / np.linalg.norm(now)
        up[i] = now
    return up
