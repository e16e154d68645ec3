"""Stage of a viser scene: ground, lamps, camera, and the text above a robot."""

from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.report.replay.actor import sloped
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray

if TYPE_CHECKING:
    from viser import ViserServer


FLOOR_RGB, FLOOR_OPACITY = (222, 226, 230), 0.55
"""Colour and opacity of the ground: forces below it are visible through it."""
APART = 0.8
"""Distance between two robots, in heights of the tallest one."""
FOV = np.deg2rad(40.0)
"""Vertical field of view of the camera."""
ARM = 0.38
"""Lateral reach of a robot as a fraction of its height."""
AMBIENT = 1.2
"""Strength of the ambient light, besides viser's two lamps."""


def hottest_text(name: str, robot: Robot, degc: FloatArray) -> str:
    """Return a text with the hottest joint of a robot; `degc` is (n_joints,)."""
    hottest = int(degc.argmax())
    return f"{name}: {robot.joint_names[hottest]} {degc[hottest]:.0f} °C"


def lay_stage(
    server: "ViserServer",
    n: int,
    height: float,
    slope_deg: float,
    aspect: float = 1.6,
) -> None:
    """Add the ground, and set the camera so that all robots are seen from the front.

    Args:
        server: server of the scene.
        n: number of robots side by side.
        height: height of the tallest robot in m.
        slope_deg: slope of the ground in degrees.
        aspect: width of the view divided by its height.
    """
    # No environment map and no shadows: without a graphics card each of them slows the
    # drawing down several times.
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(cast_shadow=False)
    server.scene.add_light_ambient("/light", intensity=AMBIENT)
    width = height * APART * n
    server.scene.add_grid(
        "/ground",
        width=round(2.0 * height, 1),
        height=round(width + height, 1),
        cell_size=0.1,
        section_size=0.5,
        plane_color=FLOOR_RGB,
        plane_opacity=FLOOR_OPACITY,
        wxyz=sloped(slope_deg),
    )
    middle = np.array([0.0, 0.0, 0.5 * height])
    half = 0.5 * FOV
    aside = 0.5 * APART * height * (n - 1) + ARM * height
    far = max(
        2.2 * height,
        0.8 * width + 0.9 * height,
        aside / (aspect * np.tan(half)),
    )
    eye = middle + far * np.array([0.95, -0.25, 0.16])
    server.initial_camera.position = tuple(eye.tolist())
    server.initial_camera.look_at = tuple(middle.tolist())
    server.initial_camera.fov = float(FOV)
