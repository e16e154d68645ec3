"""Cameras of the robot: pictures on request.

A camera is a pinhole with square pixels. A point at (x, y, z) of its frame, x forward,
y to the left, z up, appears at

    column = w / 2 - f y / x,    row = h / 2 - f z / x,    f = h / (2 tan(θ / 2)),

with the size w x h of the picture and the vertical field of view θ. A picture costs
tens of milliseconds and is not part of an observation: the loop never takes one. The
robot, obstacles and ground are drawn by PyBullet, or by `sim.sensors.drawing`, in grey,
if the engine draws no pictures or must step on meanwhile.

Assumptions: no lens distortion, noise, blur or rolling shutter; points nearer than 3 cm
are invisible, which hides the head's own shell.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Picture
from nao_testbed.models import BadInput, Robot, UnknownName, VideoCamera
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.engine.interface import Engine, FeatureMissing
from nao_testbed.sim.engine.world import Camera

if TYPE_CHECKING:
    from nao_testbed.sim.sensors.drawing.meshes import Shape

NEAREST_M, FARTHEST_M = 0.03, 20.0


def take_picture(
    robot: Robot, engine: Engine, time_s: float, camera: str, width: int
) -> Picture:
    """Return the present picture of a camera of the robot.

    Args:
        robot: robot with this camera.
        engine: engine of the world in the picture.
        time_s: present time in s.
        camera: name of the camera.
        width: width of the picture in pixels.

    Raises:
        UnknownName: the robot has no such camera.
        BadInput: the width is not between 16 and the camera's own.
    """
    pinhole = _present_pinhole(robot, engine, camera, width)
    try:
        rgb = engine.photograph(pinhole)
    except FeatureMissing:
        return prepare_picture(robot, engine, time_s, camera, width)()
    return Picture(time_s=time_s, camera=camera, rgb=rgb)


def prepare_picture(
    robot: Robot, engine: Engine, time_s: float, camera: str, width: int
) -> Callable[[], Picture]:
    """Return a function that draws the present picture, also while the engine steps.

    Arguments and errors are those of `take_picture`.
    """
    # First use: numba is heavy.
    from nao_testbed.sim.sensors.drawing.drawing import DrawnRobot  # noqa: PLC0415

    pinhole = _present_pinhole(robot, engine, camera, width)
    still = cast("Engine", _StillWorld(robot, engine))

    def draw() -> Picture:
        drawn = DrawnRobot(
            robot, still, _shapes_in_view(robot, still, pinhole), still.cfg
        )
        rgb = drawn.photograph_scene(pinhole)
        return Picture(time_s=time_s, camera=camera, rgb=rgb)

    return draw


class _StillWorld:
    """Poses of the links at one moment: the part of an engine that drawing uses."""

    def __init__(self, robot: Robot, engine: Engine) -> None:
        self.cfg = engine.cfg
        self._poses = {one.name: engine.link_pose(one.name) for one in robot.links}

    def link_pose(self, link: str) -> tuple[FloatArray, FloatArray]:
        return self._poses[link]


@lru_cache(maxsize=4)
def _bounded_shapes(robot: Robot) -> "tuple[tuple[Shape, FloatArray, float], ...]":
    """Return the shapes with centre and radius of a sphere around each, in m."""
    from nao_testbed.sim.sensors.drawing.meshes import read_body  # noqa: PLC0415

    found = []
    for shape in read_body(robot).shapes:
        low, high = shape.points.min(axis=0), shape.points.max(axis=0)
        radius = float(np.linalg.norm(high - low)) / 2.0
        found.append((shape, (low + high) / 2.0, radius))
    return tuple(found)


def _shapes_in_view(robot: Robot, poses: Engine, camera: Camera) -> "list[Shape]":
    """Return the shapes whose spheres meet the cone around the picture."""
    slope = np.tan(np.deg2rad(camera.fov_deg) / 2.0)
    slope *= np.hypot(1.0, camera.width / camera.height)
    found, shapes, rotation = [], _bounded_shapes(robot), camera.rotation()
    for shape, centre, radius in shapes:
        p, R = poses.link_pose(shape.link)
        x, y, back = rotation @ (R @ centre + p - camera.eye)
        if np.hypot(x, y) <= -back * slope + radius * np.hypot(1.0, slope):
            found.append(shape)
    return found or [shapes[0][0]]


def _present_pinhole(robot: Robot, engine: Engine, camera: str, width: int) -> Camera:
    known = {one.name: one for one in robot.cameras}
    if camera not in known:
        raise UnknownName("Camera", camera, known, f"robot {robot.name!r}")
    one = known[camera]
    if not 16 <= width <= one.width:
        raise BadInput(
            f"picture of {camera} is {width} pixels wide; accepted: 16 to {one.width}."
        )
    return pinhole_of(one, *engine.link_pose(one.link), width)


def pinhole_of(
    camera: VideoCamera, position: FloatArray, rotation: FloatArray, width: int
) -> Camera:
    """Return the pinhole in the world.

    Args:
        camera: camera of the robot.
        position: (3,) of its link frame, in m.
        rotation: (3, 3) link to world.
        width: width of the picture in pixels.
    """
    R = rotation @ rotation_from_rpy(np.array(camera.rpy))
    eye = position + rotation @ np.array(camera.position)
    x, y, z = eye.tolist()
    ahead_x, ahead_y, ahead_z = (eye + R[:, 0]).tolist()
    up_x, up_y, up_z = R[:, 2].tolist()
    return Camera(
        eye=(x, y, z),
        target=(ahead_x, ahead_y, ahead_z),
        up=(up_x, up_y, up_z),
        fov_deg=float(np.rad2deg(camera.vertical_fov)),
        width=width,
        height=max(round(width * camera.height / camera.width), 1),
        near=NEAREST_M,
        far=FARTHEST_M,
    )
