"""Motion of a recorded robot: joints, base, temperatures, LEDs on a time grid.

Encoders read true angles minus their calibration errors; errors in the run's settings
are added again, so that the picture shows the true posture. The pose of the base is the
simulator's. Rows of older recordings lack it, and it is estimated (`upward`,
`base_rotations`, `base_positions`):

- The vertical turns in the robot's frame with the gyroscope, and is corrected by the
  accelerometer while that measures about gravity: at rest +g upward. Heading is not
  observable and keeps its initial value.
- The base is rotated so that the estimated vertical is vertical, without rotation about
  it. Its height is that at which the lowest point of the body touches the ground.
  Touching points do not slide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import scipy  # its parts, which are slow to import, load at their first use
from numpy.typing import NDArray

from nao_testbed.experiments.closed_loop.recording import base_pose_of
from nao_testbed.experiments.report.replay.rig import (
    Poses,
    Rig,
    clothe,
    lamp_colours,
    lamp_places,
    place_links,
)
from nao_testbed.experiments.report.run_contents import (
    heard_of,
    recorded_boxes,
    texts_at,
)
from nao_testbed.experiments.report.run_source import RecordedTrial
from nao_testbed.models import BadInput, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.effectors import colour_names
from nao_testbed.sim.engine.obstacles import Obstacle, obstacles_of
from nao_testbed.sim.recording.channels import AXES
from nao_testbed.sim.sensors.drawing.meshes import Shape

GRAVITY = 9.81
TIME_CONSTANT_S = 0.4
"""Time constant in s of the accelerometer's correction: noise averages out, and drift
of the gyroscope stays below a tenth of a degree."""
TRUSTED = 0.15
"""Largest relative deviation from g at which the accelerometer is used."""
LONGEST_STEP_S = 0.1
"""Longest time between rows with physics, in s; longer ones are fast-forward."""


def upward(
    time_s: FloatArray, accelerometer: FloatArray, gyro: FloatArray
) -> FloatArray:
    """Return unit vectors (n, 3) that point up, in the frame of the inertial unit.

    Args:
        time_s: (n,) times of the rows, ascending.
        accelerometer: (n, 3) in m/s².
        gyro: (n, 3) in rad/s.
    """
    up = np.empty_like(accelerometer)
    size = np.linalg.norm(accelerometer, axis=1)
    felt = accelerometer / np.maximum(size, 1e-9)[:, None]
    is_trusted = np.abs(size / GRAVITY - 1.0) < TRUSTED
    steps = np.diff(time_s, prepend=time_s[:1])
    # A vector at rest in the world turns against the robot's rotation.
    turns = _matrices(-gyro * steps[:, None])
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


TOUCHES_M = 0.004
"""Height in m up to which a point counts as touching the ground."""
MOST_POINTS = 60
"""Number of directions whose outermost points of a link are checked."""


def _matrices(vectors: FloatArray) -> FloatArray:
    """Return the matrices (..., 3, 3) of rotation vectors (..., 3) in rad."""
    made: FloatArray = scipy.spatial.transform.Rotation.from_rotvec(vectors).as_matrix()
    return made


def base_rotations(up: FloatArray) -> FloatArray:
    """Return rotations (n, 3, 3) from base to world that bring `up` to the z axis.

    Args:
        up: (n, 3) unit vectors in the base frame.
    """
    rotation = np.empty((len(up), 3, 3))
    previous = np.eye(3)
    vertical = np.array([0.0, 0.0, 1.0])
    for i, u in enumerate(up):
        seen = previous @ u
        axis = np.cross(seen, vertical)
        sine, cosine = float(np.linalg.norm(axis)), float(seen[2])
        if sine > 1e-12:
            angle = np.arctan2(sine, cosine)
            previous = _matrices(angle / sine * axis) @ previous
        elif cosine < 0.0:  # upside down: about any level axis
            previous = np.diag([1.0, -1.0, -1.0]) @ previous
        rotation[i] = previous
    return rotation


def base_positions(
    rotation: FloatArray,
    poses: Poses,
    shapes: Sequence[Shape],
    slope_deg: float = 0.0,
) -> FloatArray:
    """Return positions (n, 3) of the base in the world, in m.

    Args:
        rotation: (n, 3, 3) from `base_rotations`.
        poses: poses of the links in the base frame.
        shapes: shapes of the body; drums are ignored.
        slope_deg: slope of the ground, which rises towards +x and contains the origin.
    """
    slope = np.deg2rad(slope_deg)
    normal = np.array([-np.sin(slope), 0.0, np.cos(slope)])
    body = np.concatenate(
        [
            (
                points @ np.swapaxes(poses[link][0], 1, 2) + poses[link][1][:, None, :]
            ).astype(np.float32)  # accurate to 1 µm, with half the memory
            for link, points in _outermost(shapes).items()
        ],
        axis=1,
    )  # (n, n_points, 3) in the base frame
    world = body @ np.swapaxes(rotation, 1, 2).astype(np.float32)
    p = np.empty((len(rotation), 3))
    touching = np.zeros(body.shape[1], dtype=bool)
    for i, points in enumerate(world):
        if i == 0:
            level = points @ normal
            touching = level < level.min() + TOUCHES_M
            p[0, :2] = -points[touching, :2].mean(axis=0)
        else:
            moved = (points - world[i - 1])[touching, :2].mean(axis=0)
            p[i, :2] = p[i - 1, :2] - moved
        above = points @ normal + p[i, :2] @ normal[:2]
        p[i, 2] = -above.min() / normal[2]
        touching = above < above.min() + TOUCHES_M
    return p


def _outermost(shapes: Sequence[Shape]) -> dict[str, FloatArray]:
    """Return link to points (k, 3) that span its shapes."""
    golden = np.pi * (3.0 - np.sqrt(5.0))
    z = np.linspace(-1.0, 1.0, MOST_POINTS)
    angle, radius = golden * np.arange(MOST_POINTS), np.sqrt(1.0 - z**2)
    ways = np.stack([radius * np.cos(angle), radius * np.sin(angle), z], axis=1)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    ways = np.vstack([ways, corners, np.eye(3), -np.eye(3)])
    found: dict[str, list[FloatArray]] = {}
    for shape in shapes:
        if shape.joint is None:
            found.setdefault(shape.link, []).append(shape.points)
    everything = {link: np.vstack(points) for link, points in found.items()}
    return {
        link: points[np.unique((ways @ points.T).argmax(axis=1))]
        for link, points in everything.items()
    }


@dataclass(frozen=True, kw_only=True, eq=False)
class Lamp:
    """LED group over a run."""

    name: str
    link: str
    position: FloatArray
    """(3,) position in the link frame, in m."""
    rgb: NDArray[np.intp]
    """(n, 3) colours from 0 to 255."""


def lamps_of(
    trial: RecordedTrial, body: Rig, rows: NDArray[np.intp]
) -> tuple[Lamp, ...]:
    """Return the lamps of a recorded robot.

    Args:
        trial: trial with rows; a group missing in the rows has no lamp.
        body: body of the robot.
        rows: (n,) indices of the shown rows.
    """
    lamps = []
    for group, position in lamp_places(body):
        columns = [f"leds.{name}" for name in colour_names((group,))]
        if not set(columns) <= set(trial.frame.columns):
            continue
        seen = trial.frame[columns].to_numpy(float)[rows]
        lamps.append(
            Lamp(
                name=group.name,
                link=group.link,
                position=position,
                rgb=lamp_colours(group, np.clip(np.nan_to_num(seen), 0.0, 1.0)),
            )
        )
    return tuple(lamps)


MOST_HEIGHTS = 40
"""Largest number of times at which the robot's height is measured."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RobotTrack:
    """Motion of one robot over a run."""

    name: str
    """Name of its controller."""
    body: Rig
    q: FloatArray
    """(n, n_joints) true angles in rad."""
    rotation: FloatArray
    """(n, 3, 3) rotation from base to world."""
    position: FloatArray
    """(n, 3) position of the base in m."""
    degc: FloatArray
    """(n, n_joints) temperature of the joint's motor in °C."""
    lamps: tuple[Lamp, ...]
    said: tuple[str, ...]
    """(n,) spoken or played text, empty in silence."""
    height: float
    """Largest height in m of its highest point above its lowest one."""
    obstacles: tuple[Obstacle, ...]


def dress(trial: RecordedTrial, robot: Robot) -> Rig:
    """Return the shapes of a recorded robot, with drums measured at its start.

    Raises:
        BadInput: the rows have no joint angles.
    """
    q = _channel(trial, "q", robot.joint_names)[0] + misalignment(trial, robot)
    return clothe(robot, q)


def pose_robot(trial: RecordedTrial, body: Rig, grid_s: FloatArray) -> RobotTrack:
    """Return the motion of a recorded robot.

    Args:
        trial: trial with rows.
        body: body of the recorded robot.
        grid_s: (n,) times in s; each shows the last row before it.

    Raises:
        BadInput: a required channel is missing in the rows.
    """
    robot = body.robot
    time_s = trial.frame.index.to_numpy(float)
    rows = np.clip(np.searchsorted(time_s, grid_s + 1e-9) - 1, 0, len(time_s) - 1)
    degc = _temperature(trial, robot.motor_names)[rows]
    q = _channel(trial, "q", robot.joint_names)[rows] + misalignment(trial, robot)
    poses = place_links(body.tree, robot.base_link, robot.joint_names, q)
    base = base_pose_of(trial.frame)
    if base is not None:
        rotation: FloatArray = scipy.spatial.transform.Rotation.from_quat(
            base[1][rows]
        ).as_matrix()
        position = base[0][rows]
    else:
        felt, gyro = (
            _channel(trial, "accelerometer", AXES),
            _channel(trial, "gyro", AXES),
        )
        up_in_imu = upward(time_s, felt, gyro)[rows]
        up = np.einsum("nij,nj->ni", poses[robot.imu.link][0], up_in_imu)
        rotation = base_rotations(up)
        position = base_positions(rotation, poses, body.shapes, slope_deg(trial))
    return RobotTrack(
        name=trial.name,
        body=body,
        q=q,
        rotation=rotation,
        position=position,
        degc=degc[:, robot.motors_of_joint].max(axis=2),
        lamps=lamps_of(trial, body, rows),
        said=tuple(texts_at(heard_of(trial), grid_s)),
        height=_height(body, rotation, poses),
        obstacles=obstacles_of(recorded_boxes(_world(trial).get("obstacles"))),
    )


def _height(body: Rig, rotation: FloatArray, poses: Poses) -> float:
    """Return the largest height over some times, since a robot may stand up."""
    n = len(rotation)
    some = np.unique(np.linspace(0, n - 1, MOST_HEIGHTS).astype(int))
    z = [
        np.einsum(
            "nk,nkp->np",
            rotation[some, 2],
            poses[shape.link][0][some] @ shape.points.T
            + poses[shape.link][1][some][:, :, None],
        )
        for shape in body.shapes
    ]
    highest = np.max([part.max(axis=1) for part in z], axis=0)
    lowest = np.min([part.min(axis=1) for part in z], axis=0)
    return float((highest - lowest).max())


def misalignment(trial: RecordedTrial, robot: Robot) -> FloatArray:
    """Return the calibration errors (n_joints,) in rad of the settings."""
    errors = _simulation(trial).get("misalignment_deg") or {}
    found = [float(errors.get(name, 0.0)) for name in robot.joint_names]
    return np.deg2rad(np.array(found, dtype=np.float64))


def slope_deg(trial: RecordedTrial) -> float:
    """Return the slope of the ground of the settings, in degrees."""
    return float(_world(trial).get("slope_deg", 0.0))


def _world(trial: RecordedTrial) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", _simulation(trial).get("world") or {})


def _simulation(trial: RecordedTrial) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", trial.run.meta.config.get("simulation") or {})


def _temperature(trial: RecordedTrial, motors: tuple[str, ...]) -> FloatArray:
    """Return the temperatures of the heating model, or else the reported ones."""
    is_known = f"true_temperature.{motors[0]}" in trial.frame.columns
    return _channel(trial, "true_temperature" if is_known else "temperature", motors)


def _channel(trial: RecordedTrial, name: str, members: tuple[str, ...]) -> FloatArray:
    columns = [f"{name}.{member}" for member in members]
    values = trial.frame.reindex(columns=columns)
    for column in columns:
        if values[column].isna().all():
            raise BadInput(f"its rows have no column {column}")
    known: FloatArray = np.nan_to_num(values.to_numpy(float))
    return known
