"""Robot in a pose, prepared for a picture, and a camera that frames it.

drawn = dressed(robot, standing_pose(robot, "PoseInit"))
(camera,) = aim([outline(drawn, FROM, middle)], height=760)
rendering = drawn.render(camera)
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.experiments.closed_loop.recording import base_pose_of, recorded_channel
from nao_testbed.models import Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.interface import Engine
from nao_testbed.sim.engine.world import Camera, WorldCfg
from nao_testbed.sim.robot import SimulatedRobot, SimulationCfg, misalignment_of
from nao_testbed.sim.sensors.drawing.drawing import DrawnRobot, posing_engine
from nao_testbed.sim.sensors.drawing.meshes import BodyShapes, drums, read_body

if TYPE_CHECKING:
    import pandas as pd


FROM = np.array([1.0, 0.5, 0.16])
"""Direction from the robot to the camera: in front, slightly to its left and above."""
FROM_THE_SIDE = np.array([0.15, 1.0, 0.22])
"""Direction to the camera on a slope: from the left, so that the slope is visible."""
SLOPE_SEEN_DEG = 2.0
"""Slope in degrees above which the camera is at the side."""
LIGHT = np.array([0.7, 0.75, 1.5])
"""Direction from the robot to the light."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pose:
    """Pose of the base, and joint angles."""

    q: FloatArray
    """(n_joints,) true angles in rad."""
    base_position: FloatArray
    """(3,) position in the world in m."""
    base_quaternion: FloatArray
    """Quaternion x y z w."""


def standing_pose(robot: Robot, posture: str) -> Pose:
    """Return the pose of a robot standing in a posture on level ground.

    Raises:
        UnknownName: the robot lacks the posture.
    """
    sim = SimulatedRobot(robot, SimulationCfg(), posture)
    truth = sim.truth()
    sim.close()
    return Pose(
        q=truth.q,
        base_position=truth.base_position,
        base_quaternion=truth.base_quaternion,
    )


def last_pose(
    frame: "pd.DataFrame", robot: Robot, misalignment_deg: Mapping[str, float]
) -> Pose | None:
    """Return the true pose in the last row of a run; None if it was not recorded.

    Args:
        frame: rows of the run.
        robot: robot of the run.
        misalignment_deg: joint to calibration error: true angle minus encoder angle.
    """
    last = frame.iloc[-1:]
    q, base = recorded_channel(last, "q", robot.joint_names), base_pose_of(last)
    if last.empty or q is None or base is None or not np.isfinite(q).all():
        return None
    (position,), (quaternion,) = base
    return Pose(
        q=q[0] + misalignment_of(robot, misalignment_deg),
        base_position=position,
        base_quaternion=quaternion,
    )


def dressed(
    robot: Robot,
    pose: Pose,
    world: WorldCfg | None = None,
    body: BodyShapes | None = None,
    engine: Engine | None = None,
) -> DrawnRobot:
    """Return a drawable robot at rest in a pose; the caller closes it.

    Args:
        robot: any robot; every joint gets a drum.
        pose: pose, in which the drums are measured.
        world: world with the drawn obstacles; None: no obstacles.
        body: shapes of the robot, read before; None: read them.
        engine: source of poses, which later robots may use after the first picture of
            this one; None: a new one.
    """
    body = body or read_body(robot)
    engine = engine or posing_engine(robot)
    engine.place(pose.q, pose.base_position, pose.base_quaternion)
    frames = {link.name: engine.link_pose(link.name) for link in robot.links}
    shapes = (*body.shapes, *drums(robot, body, frames))
    return DrawnRobot(robot, engine, shapes, world)


@dataclass(frozen=True, kw_only=True, eq=False)
class Outline:
    """Outline of a robot seen from a distance, to find a camera that frames it."""

    wide: Camera
    cloud: FloatArray
    """(3, n) points relative to the middle of the picture, in m: right, up, towards the
    camera."""


def outline(drawn: DrawnRobot, towards: FloatArray, middle: FloatArray) -> Outline:
    """Return the outline of a robot for a camera direction.

    Args:
        drawn: drawable robot.
        towards: (3,) direction from the robot to the camera.
        middle: (3,) centre of the picture, in m.
    """
    wide = Camera(
        eye=vector3(middle + 4.0 * towards / np.linalg.norm(towards)),
        target=vector3(middle),
        fov_deg=40.0,
        width=240,
        height=240,
    )
    first = drawn.render(wide)
    seen = first.positions(first.link >= 0) - middle
    return Outline(wide=wide, cloud=wide.rotation() @ seen.T)


def aim(
    outlines: Sequence[Outline], height: int, width: int | None = None
) -> list[Camera]:
    """Return cameras that frame each robot tightly.

    Their distance and field of view are equal, so that sizes can be compared.

    Args:
        outlines: outlines of the robots, from one direction.
        height: height of the pictures, in pixels.
        width: width of the pictures, in pixels; None: that of the robots.
    """
    clouds = [one.cloud for one in outlines]
    distance = 5.0 * max(np.ptp(cloud[:2], axis=1).max() for cloud in clouds)
    # Perspective: nearer points appear larger.
    flat = [cloud[:2] * distance / (distance - cloud[2]) for cloud in clouds]
    wanted = np.max([np.ptp(xy, axis=1) for xy in flat], axis=0)
    across = 1.16 * wanted[0]
    tall = max(1.1 * wanted[1], across / 1.8)
    if width is None:
        width = int(height * max(across / tall, 0.55)) // 2 * 2
    else:
        tall = max(1.1 * wanted[1], across * height / width)
    cameras = []
    for one, xy in zip(outlines, flat, strict=True):
        right, up, backward = one.wide.rotation()
        x, y = (xy.max(axis=1) + xy.min(axis=1)) / 2.0
        target = np.array(one.wide.target) + x * right + y * up
        cameras.append(
            dataclasses.replace(
                one.wide,
                eye=vector3(target + distance * backward),
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
        )
    return cameras


def vector3(array: FloatArray) -> tuple[float, float, float]:
    """Return an array (3,) as a tuple."""
    x, y, z = array.tolist()
    return (x, y, z)
