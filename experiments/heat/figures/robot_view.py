"""View of a robot on its ground, rendered once and painted with temperatures.

    view = view_robot(robot, "PoseInit")  # or view_robots, in given poses
    image = view.painted({"LAnklePitch": 80.0, ...})

The robot is smooth and grey with a drum at every joint (`meshes`), in light from the
front left (`DrawnRobot`). Its shadow on the ground is its blurred outline from the
position of the lamp.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import scipy  # its parts, which are slow to import, load at their first use
from numpy.typing import NDArray

from nao_testbed.experiments.heat.figures.posed_robot import (
    FROM,
    FROM_THE_SIDE,
    LIGHT,
    SLOPE_SEEN_DEG,
    Pose,
    aim,
    dressed,
    outline,
    standing_pose,
    vector3,
)
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import Camera, Rendering
from nao_testbed.sim.sensors.drawing.drawing import ground_depth, posing_engine
from nao_testbed.sim.sensors.drawing.meshes import drum_of, read_body

if TYPE_CHECKING:
    from matplotlib.colors import Colormap


BACKGROUND = np.array([0.955, 0.96, 0.965])
"""Colour of the ground in full light."""


LEVEL = np.deg2rad(0.1)
"""Slope below which the ground has no lines."""
LINES_APART_M = 0.1
LINE_WIDTH = 2.0
"""Width of the lines on a slope, in pixels of the drawing."""
LINE_DARKNESS = 0.14


def lamp(bounds: tuple[FloatArray, FloatArray], direction: FloatArray) -> Camera:
    """Return a distant camera at the position of a light; see `DrawnRobot.bounds`."""
    low, high = bounds
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
    """Return the light on ground and robot; a slope has a grid of lines.

    Args:
        rendering: picture of the robot in greys.
        sun: picture from the main lamp.
        sky: picture from above.
        normal: (3,) unit vector upwards from the ground, a plane through the origin.

    Returns:
        Brightness (h, w) of the ground and of the robot, both from 0 to 1.
    """
    is_robot = rendering.link >= 0
    camera = rendering.camera
    # Shadows are blurred: one value per shown pixel is enough.
    n = OVERSAMPLING
    sparse, is_ground = _on_ground(camera, normal, n)
    ground = 1.0 - 0.12 * covered(sparse, sun, 5.0)
    ground *= 1.0 - 0.2 * covered(sparse, sky, 12.0)
    ground = ground.repeat(n, axis=0).repeat(n, axis=1)
    if normal[2] < np.cos(LEVEL):
        lines = ground_lines(_on_ground(camera, normal)[0], normal)
        ground *= 1.0 - LINE_DARKNESS * lines
    is_ground = is_ground.repeat(n, axis=0).repeat(n, axis=1)
    ground = 1.0 - (1.0 - ground) * is_ground * _fade(*is_robot.shape)

    body = (1.12 * rendering.rgb[..., 0] / 255.0).clip(0.0, 1.0)
    return ground, body


def _on_ground(
    camera: Camera, normal: FloatArray, every: int = 1
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return what every n-th pixel sees: points (h, w, 3) in m, and if of the ground.

    Points above the horizon are at depth 1 m.
    """
    depth = ground_depth(camera, normal, every)
    is_ground = np.isfinite(depth)
    depth[~is_ground] = 1.0
    return np.array(camera.eye) + camera.rays(every) * depth[..., None], is_ground


def ground_lines(points: FloatArray, normal: FloatArray) -> FloatArray:
    """Return (h, w): 1 on the lines of a grid on the ground, 0 between them.

    Args:
        points: (h, w, 3) points of the ground in m.
        normal: (3,) normal of the ground, without a component along y.
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
    """Return (height, width): 1 inside the picture, decreasing to 0 at its edges."""

    def ramp(n: int, part: float) -> FloatArray:
        place = (np.arange(n) + 0.5) / n
        u = np.minimum(np.minimum(place, 1.0 - place) / part, 1.0)
        smooth: FloatArray = u * u * (3.0 - 2.0 * u)
        return smooth

    return np.outer(ramp(height, 0.04), ramp(width, 0.14))


def covered(points: FloatArray, lamp: Rendering, blur: float) -> FloatArray:
    """Return (h, w) shaded share of the lamp's light on the ground, from 0 to 1.

    Args:
        points: (h, w, 3) in m.
        lamp: picture from the lamp.
        blur: standard deviation in the lamp's pixels.
    """
    outline = scipy.ndimage.gaussian_filter((lamp.link >= 0).astype(float), blur)
    pixel = lamp.camera.project(points)[0]  # (h, w, 2) column and row
    place = np.stack([pixel[..., 1] - 0.5, pixel[..., 0] - 0.5])
    values: FloatArray = scipy.ndimage.map_coordinates(
        outline, place, order=1, mode="nearest"
    )
    return values


COLDEST_DEGC, HOTTEST_DEGC = 25.0, 80.0
"""Ends of the colour scale."""
OVERSAMPLING = 2
"""Number of drawn pixels per shown pixel, in each direction."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotView:
    """Picture without temperatures, with several pixels per shown pixel."""

    rendering: Rendering
    ground: FloatArray
    """(height, width) brightness of the ground, from 0 to 1."""
    light: FloatArray
    """(height, width) brightness of the grey robot, from 0 to 1."""
    drums: Mapping[str, int]
    """Joint to the number of its drum in the rendering's `link`."""
    centres: Mapping[str, tuple[float, float]]
    """Joint to column and row of its drum in the painted image."""

    def painted(self, temperatures: Mapping[str, float]) -> NDArray[np.uint8]:
        """Return the image (h, w, 3) with the drums in the colours of the scale.

        Args:
            temperatures: joint to °C; joints without one stay grey.
        """
        known = [joint for joint in temperatures if joint in self.drums]
        drums = [self.drums[joint] for joint in known]
        colours = np.full((len(self.rendering.links) + 1, 3), np.nan)
        colours[drums] = colours_of(np.array([temperatures[joint] for joint in known]))
        has_colour = ~np.isnan(colours[:, 0])  # not the last row, link -1
        n = OVERSAMPLING
        height, width = self.ground.shape
        total = np.zeros((-(-height // n), -(-width // n), 3))
        for row, column in np.ndindex(n, n):  # less memory than the whole picture
            part = np.s_[row::n, column::n]
            link, light = self.rendering.link[part], self.light[part]
            image = self.ground[part][..., None] * BACKGROUND
            image[link >= 0] = light[link >= 0][:, None]
            warm = has_colour[link]
            image[warm] = colours[link[warm]] * (0.45 + 0.55 * light[warm][:, None])
            total += image
        pixels: NDArray[np.uint8] = (255.0 / n**2 * total).round().astype(np.uint8)
        return pixels


def colour_of(degc: float) -> tuple[float, float, float]:
    """Return red, green, blue of a temperature on the scale."""
    red, green, blue = colours_of(np.array(degc)).tolist()
    return red, green, blue


def colours_of(degc: FloatArray) -> FloatArray:
    """Return red, green, blue (..., 3) of temperatures (...), each from 0 to 1."""
    scale = (degc - COLDEST_DEGC) / (HOTTEST_DEGC - COLDEST_DEGC)
    colours: FloatArray = np.asarray(colour_map()(np.clip(scale, 0.0, 1.0)))
    return colours[..., :3]


def colour_map() -> "Colormap":
    """Return the colour scale: inferno without its black and nearly white ends."""
    from matplotlib import colormaps  # noqa: PLC0415  # heavy
    from matplotlib.colors import ListedColormap  # noqa: PLC0415  # heavy

    return ListedColormap(colormaps["inferno"](np.linspace(0.14, 0.84, 256)))


HEIGHT = 690
"""Height of a painted image in pixels: that of `robot_picture`, which shows it 1:1."""


def view_robot(robot: Robot, posture: str, height: int = HEIGHT) -> RobotView:
    """Draw a robot in a posture, seen from the front left; see `view_robots`.

    Raises:
        UnknownName: the robot has no such posture.
    """
    (view,) = view_robots(robot, [standing_pose(robot, posture)], height)
    return view


def view_robots(
    robot: Robot, poses: Sequence[Pose], height: int = HEIGHT, slope_deg: float = 0.0
) -> list[RobotView]:
    """Draw a robot in several poses at one scale.

    Args:
        robot: any robot; every joint gets a drum.
        poses: poses to draw.
        height: height of the painted images, in pixels.
        slope_deg: slope of the ground, which rises towards +x and contains the origin.
    """
    slope = np.deg2rad(slope_deg)
    normal = np.array([-np.sin(slope), 0.0, np.cos(slope)])
    towards = FROM_THE_SIDE if abs(slope_deg) > SLOPE_SEEN_DEG else FROM
    body = read_body(robot)
    engine = posing_engine(robot)
    try:
        drawn, outlines = [], []
        for pose in poses:
            drawn.append(dressed(robot, pose, body=body, engine=engine))
            outlines.append(outline(drawn[-1], towards, engine.base_pose()[0]))
        cameras = aim(outlines, height * OVERSAMPLING)
        views = []
        for one, camera in zip(drawn, cameras, strict=True):
            rendering = one.render(camera)
            bounds = one.bounds()
            sun = one.render(lamp(bounds, LIGHT), is_lit=False)
            sky = one.render(lamp(bounds, np.array([1e-3, 0.0, 1.0])), is_lit=False)
            views.append(_view(robot, rendering, sun, sky, normal))
    finally:
        engine.close()
    return views


def _view(
    robot: Robot,
    rendering: Rendering,
    sun: Rendering,
    sky: Rendering,
    normal: FloatArray,
) -> RobotView:
    ground, light = lit(rendering, sun, sky, normal)
    number = {name: i for i, name in enumerate(rendering.links)}
    drums = {name: number[drum_of(name)] for name in robot.joint_names}
    boxes = scipy.ndimage.find_objects(rendering.link + 1)  # of the visible links
    shown = {n: box for n, box in zip(rendering.links, boxes, strict=False) if box}
    return RobotView(
        rendering=rendering,
        ground=ground,
        light=light,
        drums=drums,
        centres={
            name: _centre(rendering.link[box] == drum, *box)
            for name, drum in drums.items()
            if (box := shown.get(drum_of(name)))
        },
    )


def _centre(
    mask: NDArray[np.bool_], rows: slice, columns: slice
) -> tuple[float, float]:
    """Return column and row of the middle of the largest piece of a mask.

    Args:
        mask: (height, width) of its surroundings.
        rows: rows of these in the rendering.
        columns: columns of these in the rendering.
    """
    pieces, _ = scipy.ndimage.label(mask)
    sizes = np.bincount(pieces.ravel())
    sizes[0] = 0  # background, without the drum
    row, column = scipy.ndimage.center_of_mass(pieces == sizes.argmax())
    x, y = columns.start + float(column), rows.start + float(row)
    return x / OVERSAMPLING, y / OVERSAMPLING
