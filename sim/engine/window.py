"""PyBullet's window: the robot large in it, nothing else."""

import numpy as np
from numpy.typing import NDArray

from sim.engine.bullet import p

FloatArray = NDArray[np.float64]

YAW_DEG, PITCH_DEG = 117.0, -10.0
"""From ahead, a little from the robot's left and above; yaw 90 is straight ahead."""
DISTANCE = 1.0
"""Of the camera, in the extent of the links' centres: the robot fills more than half of
the window's height, whose field of view is about 90 degrees."""
PANELS = (
    p.COV_ENABLE_GUI,
    p.COV_ENABLE_RGB_BUFFER_PREVIEW,
    p.COV_ENABLE_DEPTH_BUFFER_PREVIEW,
    p.COV_ENABLE_SEGMENTATION_MARK_PREVIEW,
)
"""Of which the testbed uses none: they would stand empty around the robot."""


def clear(client: int) -> None:
    """Put the panels away."""
    for panel in PANELS:
        p.configureDebugVisualizer(panel, 0, physicsClientId=client)


def look_at(client: int, points: FloatArray) -> None:
    """Bring the camera so near that the whole body is seen, and large.

    Args:
        client: of PyBullet, with a window.
        points: (n, 3) centres of the robot's links in the world, in m.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    p.resetDebugVisualizerCamera(
        cameraDistance=DISTANCE * float(np.max(high - low)),
        cameraYaw=YAW_DEG,
        cameraPitch=PITCH_DEG,
        cameraTargetPosition=((low + high) / 2.0).tolist(),
        physicsClientId=client,
    )
