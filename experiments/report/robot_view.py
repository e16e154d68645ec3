"""A standing robot seen once, to be painted with temperatures again and again.

    view = view_robot(robot, "PoseInit")
    image = view.painted({"LAnklePitch": 80.0, ...})

The engine draws the robot dressed for it (`sim.picture_urdf`): smooth, grey, a drum at
every joint. Light falls from the front left; what a second camera in the place of the
light does not see lies in shadow, softened by a blur.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import center_of_mass, label

from experiments.report.robot_light import lamp, lit, vector3
from models import Robot
from sim.camera import Camera, Rendering
from sim.engine import Engine
from sim.picture_urdf import drum_of, write_picture_urdf
from sim.simulated_robot import SimulatedRobot
from sim.simulation_cfg import SimulationCfg
from sim.world_cfg import WorldCfg

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

FloatArray = NDArray[np.float64]

COLDEST_DEGC, HOTTEST_DEGC = 25.0, 80.0
"""Ends of the colour scale."""
FROM = np.array([1.0, 0.5, 0.16])
"""Direction from the robot to the camera: ahead, a little to its left and above."""
LIGHT = np.array([0.7, 0.75, 1.5])
"""Direction from the robot to the light."""
OVERSAMPLING = 2
"""Pixels drawn for one shown, in each direction."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotView:
    """The picture without temperatures, at several pixels for each one shown."""

    rendering: Rendering
    brightness: FloatArray
    """(height, width, 3) of the grey robot and the ground, 0 to 1."""
    light: FloatArray
    """(height, width) on a white body, 0 to 1."""
    drums: Mapping[str, NDArray[np.bool_]]
    """Joint to the pixels (height, width) that show its drum."""
    centres: Mapping[str, tuple[float, float]]
    """Joint to column and row of its drum in the painted image."""

    def painted(self, temperatures: Mapping[str, float]) -> NDArray[np.uint8]:
        """Return the image (h, w, 3) with the drums in the colours of the scale.

        Args:
            temperatures: joint to °C; joints without one stay grey.
        """
        image = self.brightness.copy()
        for joint, degc in temperatures.items():
            if joint in self.drums:
                seen = self.drums[joint]
                colour = np.array(colour_of(degc))
                image[seen] = colour * (0.45 + 0.55 * self.light[seen][:, None])
        n = OVERSAMPLING
        height, width, _ = image.shape
        small = image.reshape(height // n, n, width // n, n, 3).mean(axis=(1, 3))
        pixels: NDArray[np.uint8] = (255.0 * small).round().astype(np.uint8)
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
    """Return the scale: inferno without its ends, which are black and nearly white."""
    from matplotlib import colormaps  # noqa: PLC0415  # heavy
    from matplotlib.colors import ListedColormap  # noqa: PLC0415  # heavy

    return ListedColormap(colormaps["inferno"](np.linspace(0.14, 0.84, 256)))


def view_robot(robot: Robot, posture: str, height: int = 760) -> RobotView:
    """Draw a robot in a posture, seen from the front left.

    Args:
        robot: any robot; every joint gets a drum.
        posture: one of its postures.
        height: of the painted images, in pixels.

    Raises:
        UnknownName: the robot has no such posture.
    """
    engine = _dressed(robot, posture)
    try:
        camera = _framed(engine, height * OVERSAMPLING)
        rendering = engine.render(camera)
        seen = rendering.positions()[rendering.link >= 0]
        sun = engine.render(lamp(seen, LIGHT))
        sky = engine.render(lamp(seen, np.array([1e-3, 0.0, 1.0])))
    finally:
        engine.close()
    return _view(robot, rendering, sun, sky)


def _dressed(robot: Robot, posture: str) -> Engine:
    """Return an engine with the dressed robot in its posture, at rest on the ground."""
    sim = SimulatedRobot(robot, SimulationCfg(), posture)
    truth = sim.truth()
    sim.close()
    pose = (truth.q, truth.base_position, truth.base_quaternion)
    plain = Engine(robot, WorldCfg())
    plain.place(*pose)
    frames = {link.name: plain.link_pose(link.name) for link in robot.links}
    plain.close()
    with TemporaryDirectory() as folder:
        dressed = write_picture_urdf(robot, frames, robot.joint_names, Path(folder))
        engine = Engine(dressed, WorldCfg())
    engine.place(*pose)
    return engine


def _framed(engine: Engine, height: int) -> Camera:
    """Return a camera that has the whole robot in its picture, and little else."""
    middle, _ = engine.base_pose()
    out = FROM / np.linalg.norm(FROM)
    wide = Camera(
        eye=vector3(middle + 4.0 * out),
        target=vector3(middle),
        fov_deg=40.0,
        width=240,
        height=240,
    )
    first = engine.render(wide)
    seen = first.positions()[first.link >= 0] - middle
    x, y, towards = wide.rotation() @ seen.T
    distance = 5.0 * max(np.ptp(x), np.ptp(y))
    # As seen from there: what is nearer is larger.
    x, y = np.array([x, y]) * distance / (distance - towards)
    right, up, _ = wide.rotation()
    target = middle + (x.max() + x.min()) / 2.0 * right + (y.max() + y.min()) / 2 * up
    across = 1.16 * np.ptp(x)
    tall = max(1.1 * np.ptp(y), across / 1.8)
    width = int(height * max(across / tall, 0.55)) // OVERSAMPLING * OVERSAMPLING
    return dataclasses.replace(
        wide,
        eye=vector3(target + distance * out),
        target=vector3(target),
        fov_deg=float(2 * np.rad2deg(np.arctan(tall / 2.0 / distance))),
        width=width,
        height=height,
        near=0.3 * distance,
        far=3.0 * distance,
        light=vector3(LIGHT),
        ambient=0.55,
        diffuse=0.42,
        specular=0.03,
    )


def _view(
    robot: Robot, rendering: Rendering, sun: Rendering, sky: Rendering
) -> RobotView:
    image, light = lit(rendering, sun, sky)
    drums = {name: rendering.sees(drum_of(name)) for name in robot.joint_names}
    return RobotView(
        rendering=rendering,
        brightness=image,
        light=light,
        drums=drums,
        centres={n: _centre(mask) for n, mask in drums.items() if mask.any()},
    )


def _centre(mask: NDArray[np.bool_]) -> tuple[float, float]:
    """Return column and row of the middle of the largest piece that shows."""
    pieces, _ = label(mask)
    sizes = np.bincount(pieces.ravel())
    sizes[0] = 0  # where the drum does not show
    row, column = center_of_mass(pieces == sizes.argmax())
    return float(column) / OVERSAMPLING, float(row) / OVERSAMPLING
