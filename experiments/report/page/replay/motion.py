"""How a recorded robot moved: link angles, base poses and temperatures on a time grid.

Encoders read true angles less their calibration errors; where the run's settings name
these errors they are put back, so that the picture shows the true posture. The base is
where the simulator had it; rows without that give an estimate (`base_pose`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from experiments.recording import BASE_POSITION, BASE_QUATERNION, QUATERNION
from experiments.report.page.replay.base_pose import base_positions, base_rotations
from experiments.report.page.replay.lamps import Lamp, lamps_of
from experiments.report.page.replay.shapes import Body, clothe
from experiments.report.page.replay.tree import Poses, place_links
from experiments.report.page.replay.uprightness import upward
from experiments.report.page.run_source import ArmSource
from experiments.report.page.sound import heard_of, texts_at
from models import BadInput, Robot
from sim.channels import AXES

FloatArray = NDArray[np.float64]

MOST_HEIGHTS = 40
"""Moments at which the robot is measured, for the camera."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Motion:
    """One robot over a run."""

    name: str
    """Its controller."""
    body: Body
    q: FloatArray
    """(n, n_joints) true angles in rad."""
    rotation: FloatArray
    """(n, 3, 3) base to world."""
    position: FloatArray
    """(n, 3) of the base in m."""
    degc: FloatArray
    """(n, n_joints) temperature of the joint's motor in °C."""
    lamps: tuple[Lamp, ...]
    said: tuple[str, ...]
    """(n,) what is said or played, empty in silence."""
    height: float
    """Of its highest point above its lowest one, in m: the most of the run."""


def dress(arm: ArmSource, robot: Robot) -> Body:
    """Return the shapes of a recorded robot, measured as it stood at the start.

    Raises:
        BadInput: the rows hold no joint angles.
    """
    q = _channel(arm, "q", robot.joint_names)[0] + misalignment(arm, robot)
    return clothe(robot, q)


def pose_robot(arm: ArmSource, body: Body, grid_s: FloatArray) -> Motion:
    """Return the motion of a recorded robot.

    Args:
        arm: with rows.
        body: of the robot that was recorded.
        grid_s: (n,) times in s at which it is wanted; each shows the last row before.

    Raises:
        BadInput: a channel that it takes is not in the rows.
    """
    robot = body.robot
    time_s = arm.frame.index.to_numpy(float)
    rows = np.clip(np.searchsorted(time_s, grid_s + 1e-9) - 1, 0, len(time_s) - 1)
    degc = _channel(arm, "true_temperature", robot.motor_names)[rows]
    q = _channel(arm, "q", robot.joint_names)[rows] + misalignment(arm, robot)
    poses = place_links(body.tree, robot.base_link, robot.joint_names, q)
    if has_base_pose(arm):
        quaternion = _channel(arm, BASE_QUATERNION, QUATERNION)[rows]
        rotation: FloatArray = Rotation.from_quat(quaternion).as_matrix()
        position = _channel(arm, BASE_POSITION, AXES)[rows]
    else:
        felt, gyro = _channel(arm, "accelerometer", AXES), _channel(arm, "gyro", AXES)
        up_in_imu = upward(time_s, felt, gyro)[rows]
        up = np.einsum("nij,nj->ni", poses[robot.imu.link][0], up_in_imu)
        rotation = base_rotations(up)
        position = base_positions(rotation, poses, body.shapes, slope_deg(arm))
    return Motion(
        name=arm.name,
        body=body,
        q=q,
        rotation=rotation,
        position=position,
        degc=degc[:, list(robot.motor_of_joint)],
        lamps=lamps_of(arm, body, rows),
        said=tuple(texts_at(heard_of(arm), grid_s)),
        height=_height(body, rotation, poses),
    )


def _height(body: Body, rotation: FloatArray, poses: Poses) -> float:
    """Return the largest of some moments: a robot may stand up."""
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


def has_base_pose(arm: ArmSource) -> bool:
    """Does every row tell where the base was? Older runs did not record it."""
    columns = [f"{BASE_POSITION}.{axis}" for axis in AXES]
    columns += [f"{BASE_QUATERNION}.{part}" for part in QUATERNION]
    known = set(columns) <= set(arm.frame.columns)
    return known and bool(np.isfinite(arm.frame[columns].to_numpy()).all())


def misalignment(arm: ArmSource, robot: Robot) -> FloatArray:
    """Return the calibration errors (n_joints,) in rad that the settings name."""
    errors = _simulation(arm).get("misalignment_deg") or {}
    found = [float(errors.get(name, 0.0)) for name in robot.joint_names]
    radians: FloatArray = np.deg2rad(np.array(found))
    return radians


def slope_deg(arm: ArmSource) -> float:
    """Return the slope of the ground that the settings name, in degrees."""
    world = cast("Mapping[str, Any]", _simulation(arm).get("world") or {})
    return float(world.get("slope_deg", 0.0))


def _simulation(arm: ArmSource) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", arm.run.meta.config.get("simulation") or {})


def _channel(arm: ArmSource, name: str, members: tuple[str, ...]) -> FloatArray:
    columns = [f"{name}.{member}" for member in members]
    values = arm.frame.reindex(columns=columns)
    for column in columns:
        if values[column].isna().all():
            raise BadInput(f"its rows hold no {column}")
    known: FloatArray = np.nan_to_num(values.to_numpy(float))
    return known
