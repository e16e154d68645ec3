"""Light and shadow on a drawn robot and on the ground around it.

A camera in the place of a lamp sees what the lamp lights; all else lies in shadow
(shadow mapping), softened by blurs.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

from sim.camera import Camera, Rendering

FloatArray = NDArray[np.float64]

BACKGROUND = np.array([0.955, 0.96, 0.965])
"""Colour of the ground in full light."""


LEVEL = np.deg2rad(0.1)
"""A ground that rises by less has no lines."""
LINES_APART_M = 0.1
LINE_WIDTH = 2.0
"""Of the lines on a slope, in pixels of the drawing."""
LINE_DARKNESS = 0.14


def lamp(seen: FloatArray, direction: FloatArray) -> Camera:
    """Return a camera far off in the place of a light."""
    low, high = seen.min(axis=0), seen.max(axis=0)
    middle, size = (low + high) / 2.0, float(np.linalg.norm(high - low))
    return Camera(
        eye=vector3(middle + 12.0 * size * direction / np.linalg.norm(direction)),
        target=vector3(middle),
        fov_deg=float(2 * np.rad2deg(np.arctan(0.75 / 12.0))),
        width=420,
        height=420,
        near=10.0 * size,
        far=15.0 * size,
    )


def lit(
    rendering: Rendering, sun: Rendering, sky: Rendering, normal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Put the robot on a ground that catches its shadow; a slope has lines along it.

    Args:
        rendering: the robot in greys.
        sun: the robot from the main lamp.
        sky: the robot from above.
        normal: (3,) unit vector upwards from the ground, a plane through the origin.

    Returns:
        Colours (h, w, 3) of robot and ground, and brightness (h, w) of the robot, both
        from 0 to 1.
    """
    is_robot = rendering.link >= 0
    camera = rendering.camera
    rays = camera.rays()
    with np.errstate(divide="ignore"):
        to_ground = -np.dot(camera.eye, normal) / (rays @ normal)
    is_ground = ~is_robot & (to_ground > 0.0) & (to_ground < 2.0 * camera.far)
    shown = np.where(is_robot, rendering.depth, np.where(is_ground, to_ground, 1.0))
    points = np.array(camera.eye) + rays * shown[..., None]
    size = 0.7 * float(np.linalg.norm(np.ptp(sun.positions()[sun.link >= 0], axis=0)))
    on_body = _hidden(points, sun, 0.03 * size)
    on_ground = _covered(points, sun, 5.0)
    beneath = _covered(points, sky, 12.0)

    grey = rendering.rgb[..., 0] / 255.0
    # A blur within the robot's outline, so that the ground's light stays outside.
    weight = gaussian_filter(is_robot.astype(float), 5.0)
    softened = gaussian_filter(np.where(is_robot, on_body, 0.0), 5.0)
    on_body = softened / np.maximum(weight, 1e-3)
    body = (1.12 * grey * (1.0 - 0.16 * on_body)).clip(0.0, 1.0)
    ground = (1.0 - 0.12 * on_ground) * (1.0 - 0.2 * beneath)
    if normal[2] < np.cos(LEVEL):
        ground *= 1.0 - LINE_DARKNESS * _lines(points, normal)
    ground = 1.0 - (1.0 - ground) * is_ground * _fade(*grey.shape)
    image = np.where(
        is_robot[..., None], body[..., None], ground[..., None] * BACKGROUND
    )
    return image, body


def _lines(points: FloatArray, normal: FloatArray) -> FloatArray:
    """Return (h, w): 1 on a grid of lines on the ground, 0 beside it.

    Args:
        points: (h, w, 3) of the ground in m.
        normal: (3,) of the ground, with nothing along y.
    """
    uphill = np.array([normal[2], 0.0, -normal[0]])
    on_line = np.zeros(points.shape[:2])
    for along in (points @ uphill, points[..., 1]):
        place = along / LINES_APART_M
        pixel = np.maximum(*map(np.abs, np.gradient(place)))
        off = np.abs(place - np.round(place))
        on_line = np.maximum(on_line, (off < 0.5 * LINE_WIDTH * pixel) & (pixel < 0.2))
    return on_line


def _fade(height: int, width: int) -> FloatArray:
    """Return (height, width): 1 in the picture, falling to 0 at its edges."""

    def ramp(n: int, part: float) -> FloatArray:
        place = (np.arange(n) + 0.5) / n
        u = np.minimum(np.minimum(place, 1.0 - place) / part, 1.0)
        smooth: FloatArray = u * u * (3.0 - 2.0 * u)
        return smooth

    return np.outer(ramp(height, 0.04), ramp(width, 0.14))


def _hidden(points: FloatArray, lamp: Rendering, margin: float) -> FloatArray:
    """Return (h, w): 1 where a body stands between the lamp and a point, else 0.

    Args:
        points: (h, w, 3) in m.
        lamp: what the lamp sees.
        margin: a body this close before the point is the point's own, in m.
    """
    pixel, distance = lamp.camera.project(points)
    depth = np.where(np.isfinite(lamp.depth), lamp.depth, lamp.camera.far)
    first = _at(depth, pixel, order=0)
    hidden: FloatArray = (first < distance - margin).astype(float)
    return hidden


def _covered(points: FloatArray, lamp: Rendering, blur: float) -> FloatArray:
    """Return (h, w): how much of the lamp's light a point on the ground lacks, 0 to 1.

    Points and lamp as in `_hidden`; `blur` is a standard deviation in the lamp's
    pixels.
    """
    outline = gaussian_filter((lamp.link >= 0).astype(float), blur)
    return _at(outline, lamp.camera.project(points)[0], order=1)


def _at(image: FloatArray, pixel: FloatArray, order: Literal[0, 1]) -> FloatArray:
    """Return an image (m, n) at pixels (h, w, 2) of column and row."""
    place = np.stack([pixel[..., 1] - 0.5, pixel[..., 0] - 0.5])
    values: FloatArray = map_coordinates(image, place, order=order, mode="nearest")
    return values


def vector3(array: FloatArray) -> tuple[float, float, float]:
    """Return an array (3,) as a tuple."""
    x, y, z = array.tolist()
    return (x, y, z)
