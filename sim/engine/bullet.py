"""Import of PyBullet, its window, and pictures drawn without a display.

    from nao_testbed.sim.engine.bullet import p

This is the only module that imports PyBullet. The library prints at import and while
it loads files; this module keeps these lines out of the output of commands.
"""

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import EngineMissing
from nao_testbed.sim.engine.world import Camera, Rendering


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Redirect C output on descriptor 1 to descriptor 2 within the context.

    PyBullet prints its build time at import, and its loader prints while it reads a
    URDF. Both would break `--json -`.
    """
    sys.stdout.flush()
    saved = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)


@contextlib.contextmanager
def dropped_output() -> Iterator[None]:
    """Drop C output on descriptors 1 and 2 within the context."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved[0], 1)
        os.dup2(saved[1], 2)
        for descriptor in (*saved, null):
            os.close(descriptor)


try:
    with dropped_output():  # PyBullet prints its build time
        import pybullet as p
except ImportError as error:
    raise EngineMissing(
        "engine 'pybullet' needs the library PyBullet, which is not installed; use "
        "engine mujoco, or run: pip install pybullet-arm64 (has wheels for Python 3.11 "
        "to 3.13, but not for Linux on ARM)."
    ) from error


def _release() -> str:
    """Return name and version of the imported package."""
    for name in ("pybullet-arm64", "pybullet"):  # a fork, and the original
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return f"{name} {importlib.metadata.version(name)}"
    return "pybullet"


ENGINE_VERSION = f"{_release()} (API {p.getAPIVersion()})"

__all__ = ["ENGINE_VERSION", "p"]


YAW_DEG, PITCH_DEG = 117.0, -10.0
"""View from the front, slightly from the robot's left and above; yaw 90 is the
front."""
DISTANCE = 1.0
"""Distance of the camera divided by the extent of the links' centres. The robot fills
more than half of the window's height, whose field of view is about 90 degrees."""
PANELS = (
    p.COV_ENABLE_GUI,
    p.COV_ENABLE_RGB_BUFFER_PREVIEW,
    p.COV_ENABLE_DEPTH_BUFFER_PREVIEW,
    p.COV_ENABLE_SEGMENTATION_MARK_PREVIEW,
)
"""Panels of the window that stay empty, because the testbed uses none."""


def hide_panels(client: int) -> None:
    """Hide the unused panels of the window."""
    for panel in PANELS:
        p.configureDebugVisualizer(panel, 0, physicsClientId=client)


def aim_window(client: int, points: FloatArray) -> None:
    """Move the camera to a distance at which the body fills the window.

    Args:
        client: client of PyBullet, with a window.
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


def draw(
    client: int, body: int, link_name: Mapping[int, str], camera: Camera
) -> Rendering:
    """Return a camera's picture of a robot.

    Args:
        client: client of PyBullet.
        body: number of the robot's body.
        link_name: link number to name; -1 is the base.
        camera: position, direction and light.
    """
    rgb, depth, seen = _draw(client, camera)
    # Body in the lower 24 bits, link + 1 above; -1 for the background.
    is_robot = (seen >= 0) & ((seen & 0xFFFFFF) == body)
    link = np.where(is_robot, seen >> 24, -1).astype(np.int32)
    return Rendering(
        camera=camera,
        rgb=rgb,
        depth=np.where(is_robot, depth, np.inf),
        link=link,
        links=tuple(link_name[i] for i in sorted(link_name)),
    )


SKY = (214, 224, 232)
"""Colour of the background."""


def photograph(client: int, camera: Camera) -> NDArray[np.uint8]:
    """Return a camera's picture of the whole scene, (height, width, 3).

    Args:
        client: client of PyBullet.
        camera: position, direction and light.
    """
    rgb, _, seen = _draw(client, camera)
    rgb[seen < 0] = SKY
    return rgb


def _draw(
    client: int, camera: Camera
) -> tuple[NDArray[np.uint8], FloatArray, NDArray[np.intp]]:
    """Return colours (height, width, 3), depths in m, and object numbers."""
    height, width = camera.height, camera.width
    image = p.getCameraImage(
        width,
        height,
        viewMatrix=camera.view_matrix().T.ravel().tolist(),
        projectionMatrix=camera.projection_matrix().T.ravel().tolist(),
        lightDirection=camera.light,
        lightColor=(1.0, 1.0, 1.0),
        lightDistance=2.0,
        shadow=0,
        lightAmbientCoeff=camera.ambient,
        lightDiffuseCoeff=camera.diffuse,
        lightSpecularCoeff=camera.specular,
        renderer=p.ER_TINY_RENDERER,
        flags=p.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
        physicsClientId=client,
    )
    rgba = np.reshape(image[2], (height, width, 4))
    buffer = np.reshape(image[3], (height, width)).astype(np.float64)
    near, far = camera.near, camera.far
    depth = far * near / (far - (far - near) * buffer)
    seen = np.reshape(image[4], (height, width)).astype(np.intp)
    return rgba[..., :3].astype(np.uint8), depth, seen
