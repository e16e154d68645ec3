"""Last interval of a log in which the robot stood still, as means of its sensors.

The interval extends back from the end as long as every leg joint is within `STILL_RAD`
of its final angle and the soles carry the weight. Its first seconds, in which the soles
settle, are omitted. Heat is the mean of the interval; angles and forces are those of
its end. Noise averages out; the sensor models include the other errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nao_testbed.controllers.interface.robot_interface import AXES
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.controllers.stiffness.kernels import IndexArray
from nao_testbed.experiments.heat.logs.record import Log
from nao_testbed.experiments.heat.xray.sensor_checks import check_sensors
from nao_testbed.models import BadInput, Posture, Robot
from nao_testbed.models.values import FloatArray

STILL_RAD = np.deg2rad(0.4)
"""Largest deviation of a joint from its final angle: four encoder steps."""
LAST_ROWS = 50
"""Number of last rows, whose median is the final angle."""
END_S = 1.0
"""Averaging time of the last temperature, in s."""
SHORTEST_S = 2.0
"""Shortest usable interval in s, because of sensor noise and swings."""
SETTLING_S = 5.0
"""Omitted beginning of the interval in s, at most half of it."""
POSE_S = 30.0
"""Longest time over which angles and forces are averaged."""
MIN_ON_SOLES = 0.5
"""Minimum share of the weight on the force sensors."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Standing:
    """Means over the interval; None for a missing sensor."""

    name: str
    """Name of the log."""
    log_s: float
    """Length of the log in s."""
    still_s: float
    """Length in s of the interval whose heat is averaged."""
    rows: int
    """Number of rows in the interval."""
    q: FloatArray
    """(n_joints,) measured angles in rad."""
    target: FloatArray | None
    """(n_joints,) set-points in rad."""
    effort: FloatArray
    """(n_motors,) torques on the joint's side in N·m; 0 for motors without data."""
    effort_sd: FloatArray
    """(n_motors,) uncertainty of these in N·m: of a current whose sign is unknown."""
    mean_square: FloatArray
    """(n_motors,) mean squared torques in N²m², without the sensor's noise."""
    temperature: FloatArray | None
    """(n_motors,) at the end, in °C."""
    fsr: FloatArray | None
    """(n_force_sensors,) in N."""
    accelerometer: FloatArray | None
    """(3,) in m/s²."""
    remarks: tuple[str, ...]
    """Missing signals and their replacements."""


def find_standing(log: Log, robot: Robot) -> Standing:
    """Return the last interval of a log in which the robot stood still.

    Raises:
        BadInput: as in `check_sensors`; or the robot moves or hangs until the end, or a
            value is missing.
    """
    log = check_sensors(log, robot)
    rows = _still_rows(log, robot)
    time_s = log.time_s[rows]
    settled_s = time_s[0] + min(SETTLING_S, 0.5 * float(np.ptp(time_s)))
    rows = rows[time_s >= settled_s]
    time_s = log.time_s[rows]
    pose = rows[time_s >= time_s[-1] - POSE_S]
    remarks = [repair.what for repair in log.repairs]
    q, filled = _joint_means(log, robot, "q", pose)
    if filled:
        remarks.append(
            f"angles missing: {_listed(filled)}; taken from {_posture(robot).name}"
        )
    target = None
    if all(name in log.signals.get("target", {}) for name in robot.leg_joints):
        target, _ = _joint_means(log, robot, "target", pose)
    effort, _ = _efforts(log, robot, pose)
    is_unsure = np.array([name in log.unsigned for name in robot.motor_names])
    _, mean_square = _efforts(log, robot, rows)
    motors = robot.motor_names
    return Standing(
        name=str(log.path),
        log_s=float(log.time_s[-1] - log.time_s[0]),
        still_s=float(time_s[-1] - time_s[0]),
        rows=len(rows),
        q=q,
        target=target,
        effort=np.where(is_unsure, 0.0, effort),
        effort_sd=np.where(is_unsure, np.abs(effort), 0.0),
        mean_square=mean_square,
        temperature=_all_of(log, "temperature", motors, _last(log, rows)),
        fsr=_all_of(log, "fsr", [s.name for s in robot.force_sensors], pose),
        accelerometer=_all_of(log, "accelerometer", AXES, pose),
        remarks=tuple(remarks),
    )


def _posture(robot: Robot) -> Posture:
    from nao_testbed.experiments.common.robot_setting import RobotSetting  # noqa: PLC0415

    return robot.posture(RobotSetting().posture_of(robot))


def _still_rows(log: Log, robot: Robot) -> IndexArray:
    """Return the rows of the interval, as indices."""
    time_s, angles = log.time_s, log.signals["q"]
    if len(time_s) < 2 or time_s[-1] - time_s[0] < SHORTEST_S:
        raise BadInput(
            f"{log.path} is {np.ptp(time_s):.3g} s long with {len(time_s)} rows; give "
            f"at least {SHORTEST_S:g} s of a standing robot."
        )
    is_last = time_s >= time_s[-1] - SHORTEST_S
    is_still = np.ones(len(time_s), dtype=np.bool_)
    mover, farthest = "", 0.0
    for name in robot.leg_joints:
        values = angles[name]
        known = values[is_last & np.isfinite(values)]
        if not known.size:
            raise BadInput(
                f"{log.path}: q.{name} has no value in the last {SHORTEST_S:g} s; "
                "leave no leg joint empty."
            )
        way = np.abs(values - np.median(known[-LAST_ROWS:]))
        is_still &= ~(way > STILL_RAD)  # NaN does not end the interval
        most = float(np.nanmax(way[is_last]))
        if most > farthest:
            mover, farthest = name, most
    is_lifted = np.zeros(len(time_s), dtype=np.bool_)
    if "fsr" in log.signals:
        load = np.sum(list(log.signals["fsr"].values()), axis=0)
        is_lifted = load < MIN_ON_SOLES * robot.total_mass * GRAVITY
        is_still &= ~is_lifted
    moving = np.flatnonzero(~is_still)
    first = int(moving[-1]) + 1 if moving.size else 0
    rows = np.arange(first, len(time_s))
    if rows.size < 2 or time_s[-1] - time_s[rows[0]] < SHORTEST_S:
        why = f"{mover} moves by {np.rad2deg(farthest):.2f}°"
        if is_lifted[is_last].any():
            why = "its soles do not carry its weight"
        raise BadInput(
            f"{log.path}: in the last {SHORTEST_S:g} s {why}; give a log that ends "
            "with the robot standing still on both feet."
        )
    return rows


def _last(log: Log, rows: IndexArray) -> IndexArray:
    return np.asarray(rows[log.time_s[rows] >= log.time_s[-1] - END_S])


def _mean(values: FloatArray, rows: IndexArray) -> float:
    known = values[rows]
    known = known[np.isfinite(known)]
    return float(known.mean()) if known.size else np.nan


def _joint_means(
    log: Log, robot: Robot, channel: str, rows: IndexArray
) -> tuple[FloatArray, list[str]]:
    """Return means of all joints, and the joints taken from the posture."""
    columns, means, filled = log.signals[channel], [], []
    angles = _posture(robot).angles
    for k, name in enumerate(robot.joint_names):
        mean = _mean(columns[name], rows) if name in columns else np.nan
        if np.isfinite(mean):
            means.append(mean)
            continue
        if name in robot.leg_joints:
            raise BadInput(
                f"{log.path}: {channel}.{name} has no value while the robot stands, "
                f"from {log.time_s[rows[0]]:g} s on; leave no leg joint empty."
            )
        means.append(float(angles[k]))
        filled.append(name)
    return np.array(means), filled


def _efforts(log: Log, robot: Robot, rows: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and mean squared torques of all motors."""
    effort, square = np.zeros(len(robot.motors)), np.zeros(len(robot.motors))
    is_current = "current" in log.signals
    columns = log.signals["current" if is_current else "torque"]
    for m, motor in enumerate(robot.motors):
        if motor.name not in columns:
            continue
        values = columns[motor.name][rows]
        values = values[np.isfinite(values)]
        if not values.size:
            raise BadInput(
                f"{log.path}: motor {motor.name} has no current while the robot "
                f"stands, from {log.time_s[rows[0]]:g} s on; leave none empty."
            )
        constant = motor.one_node.torque_constant if is_current else 1.0
        noise = robot.sensor_rates.current_noise * constant if is_current else 0.0
        effort[m] = constant * values.mean()
        mean = float((values**2).mean())
        square[m] = max(constant**2 * mean - noise**2, effort[m] ** 2)
    return effort, square


def _all_of(
    log: Log, signal: str, members: Sequence[str], rows: IndexArray
) -> FloatArray | None:
    """Return means of a signal; None if a member is missing."""
    columns = log.signals.get(signal, {})
    means = [_mean(columns[n], rows) if n in columns else np.nan for n in members]
    return np.array(means) if means and np.isfinite(means).all() else None


def _listed(names: list[str]) -> str:
    most = 4
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
