"""Cameras of the robot: pictures on request.

A camera is a pinhole with square pixels. A point at (x, y, z) of its frame, x forward,
y to the left, z up, appears at

    column = w / 2 - f y / x,    row = h / 2 - f z / x,    f = h / (2 tan(θ / 2)),

with the size w x h of the picture and the vertical field of view θ. A picture costs
tens of milliseconds and is not part of an observation: the loop never takes one. The
robot, obstacles and ground are drawn by PyBullet, or by `sim.sensors.drawing`, in grey,
if the engine draws no pictures.

Assumptions: no lens distortion, noise, blur or rolling shutter; points nearer than 3 cm
are invisible, which hides the head's own shell.
"""

import numpy as np

from nao_testbed.controllers.interface.robot_interface import Picture
from nao_testbed.models import BadInput, Robot, UnknownName, VideoCamera
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.engine_urdf import rotation_from_rpy
from nao_testbed.sim.engine.interface import Engine, FeatureMissing
from nao_testbed.sim.engine.world import Camera

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
    known = {one.name: one for one in robot.cameras}
    if camera not in known:
        raise UnknownName("Camera", camera, known, f"robot {robot.name!r}")
    one = known[camera]
    if not 16 <= width <= one.width:
        raise BadInput(
            f"picture of {camera} is {width} pixels wide; accepted: 16 to {one.width}."
        )
    pinhole = pinhole_of(one, *engine.link_pose(one.link), width)
    try:
        rgb = engine.photograph(pinhole)
    except FeatureMissing:
        # First use: numba is heavy.
        from nao_testbed.sim.sensors.drawing.drawing import DrawnRobot  # noqa: PLC0415
        from nao_testbed.sim.sensors.drawing.meshes import read_body  # noqa: PLC0415

        drawn = DrawnRobot(robot, engine, read_body(robot).shapes, engine.cfg)
        rgb = drawn.photograph_scene(pinhole)
    return Picture(time_s=time_s, camera=camera, rgb=rgb)


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
