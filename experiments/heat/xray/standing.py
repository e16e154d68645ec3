"""Last interval of a log in which the robot stood still, as means of its sensors.

The interval extends back from the end as long as every leg joint is within `STILL_RAD`
of its final angle and the soles carry the weight. Its first seconds, in which the soles
settle, are omitted. Heat is the mean of the interval; angles and forces are those of
its end.

A mean x̄ of n independent readings has the standard error σ / √n, σ the larger of the
measured and the stated noise. Rows that repeat the reading before are not independent:
held values of a slow sensor, and fast-forwarded rows, which repeat the last reading of
the physics. They are left out; if fewer than `MIN_READINGS` remain, earlier readings of
the interval are included.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nao_testbed.controllers.interface.robot_interface import AXES
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.controllers.stiffness.kernels import BoolArray, IndexArray
from nao_testbed.experiments.heat.logs.record import COPY, COPY_RAD, Columns, Log
from nao_testbed.experiments.heat.logs.sensor_checks import check_sensors
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
SERVO_ERROR, ANGLE_RAD = 0.1, 2e-4
"""Relative error of a servo's law, and smallest error of an angle in rad."""
DOUBTFUL = 25.0
"""Sum of squared errors, in standard deviations, at which torques contradict angles."""
MIN_READINGS = 50
"""Number of readings that are averaged, if the interval has as many."""
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
    """(n_motors,) standard error of these in N·m; |T| if the sign is unknown."""
    is_signed: BoolArray
    """(n_motors,) False: the sign of the current is unknown."""
    mean_square: FloatArray
    """(n_motors,) mean squared torques in N²m², without the sensor's noise."""
    temperature: FloatArray | None
    """(n_motors,) at the end, in °C."""
    fsr: FloatArray | None
    """(n_force_sensors,) in N."""
    accelerometer: FloatArray | None
    """(3,) in m/s²."""
    fsr_sd: float
    """Largest standard error of a force in N."""
    accelerometer_sd: float
    """Largest standard error of an axis in m/s²."""
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
    still, rows = rows, rows[time_s >= settled_s]
    pose = rows[log.time_s[rows] >= log.time_s[-1] - POSE_S]
    remarks = [repair.what for repair in log.repairs]
    q, filled = _joint_means(log, robot, "q", pose)
    if filled:
        remarks.append(
            f"angles missing: {_listed(filled)}; taken from {_posture(robot).name}"
        )
    target = None
    if all(name in log.signals.get("target", {}) for name in robot.leg_joints):
        target, _ = _joint_means(log, robot, "target", pose)
    effort, effort_sd, _ = _efforts(log, robot, pose, still)
    is_signed = np.array([name not in log.unsigned for name in robot.motor_names])
    _, _, mean_square = _efforts(log, robot, rows, still)
    motors = robot.motor_names
    sensors = robot.force_sensors
    noise = max((sensor.noise_newton for sensor in sensors), default=0.0)
    names = [sensor.name for sensor in sensors]
    fsr, fsr_sd = _all_of(log, "fsr", names, pose, still, noise)
    noise = robot.imu.accelerometer_noise
    gravity, gravity_sd = _all_of(log, "accelerometer", AXES, pose, still, noise)
    temperature, _ = _all_of(log, "temperature", motors, _last(log, rows))
    standing = Standing(
        name=str(log.path),
        log_s=float(log.time_s[-1] - log.time_s[0]),
        still_s=float(log.time_s[-1] - log.time_s[rows[0]]),
        rows=len(rows),
        q=q,
        target=target,
        effort=np.where(is_signed, effort, 0.0),
        effort_sd=np.where(is_signed, effort_sd, np.abs(effort)),
        is_signed=is_signed,
        mean_square=mean_square,
        temperature=temperature,
        fsr=fsr,
        accelerometer=gravity,
        fsr_sd=fsr_sd,
        accelerometer_sd=gravity_sd,
        remarks=tuple(remarks),
    )
    if any(repair.kind == COPY for repair in log.repairs):
        _refuse_copy(log, robot, effort)
    if log.run_state is None and is_signed.all():
        _check_servos(log, robot, standing)
    return standing


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


def _readings(columns: Columns, rows: IndexArray, still: IndexArray) -> Columns:
    """Return the independent readings of a sensor, one array per member.

    Args:
        columns: member to its values in all rows.
        rows: rows of the window.
        still: rows of the whole interval, which end with those of the window.
    """
    is_known, is_new = np.zeros((2, still.size), dtype=np.bool_)
    is_new[:1] = True
    for values in columns.values():  # without copies of all columns of a long log
        part = values[still]
        is_known |= np.isfinite(part)
        is_new[1:] |= np.diff(part) != 0.0
    is_new &= is_known
    fresh = still[is_new]
    begin = int(np.searchsorted(fresh, rows[0]))
    if fresh.size - begin < rows.size:  # some rows repeat a reading
        begin = min(begin, max(fresh.size - MIN_READINGS, 0))
    fresh = fresh[begin:]
    used: slice | IndexArray = fresh
    if fresh.size and fresh.size == fresh[-1] - fresh[0] + 1:
        used = slice(int(fresh[0]), int(fresh[-1]) + 1)  # a view
    kept = {name: values[used] for name, values in columns.items()}
    return {
        n: v if np.isfinite(v).all() else v[np.isfinite(v)] for n, v in kept.items()
    }


def _error(values: FloatArray, noise: float) -> float:
    """Return the standard error of the mean of independent readings.

    Args:
        values: (n,) readings.
        noise: stated standard deviation of their noise.
    """
    return max(noise, float(values.std())) / float(np.sqrt(values.size))


def _efforts(
    log: Log, robot: Robot, rows: IndexArray, still: IndexArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean torques of all motors, their standard errors, and mean squares."""
    effort, error, square = np.zeros((3, len(robot.motors)))
    is_current = "current" in log.signals
    columns = log.signals["current" if is_current else "torque"]
    readings = _readings(columns, rows, still)
    legs = robot.motors_of(robot.leg_joints)
    for m, motor in enumerate(robot.motors):
        if motor.name not in columns:
            continue
        values = readings[motor.name]
        if not values.size and m not in legs:
            continue
        if not values.size:
            raise BadInput(
                f"{log.path}: motor {motor.name} has no current while the robot "
                f"stands, from {log.time_s[rows[0]]:g} s on; leave none empty."
            )
        constant = motor.one_node.torque_constant if is_current else 1.0
        noise = robot.sensor_rates.current_noise * constant if is_current else 0.0
        values = constant * values
        effort[m], error[m] = values.mean(), _error(values, noise)
        square[m] = max(float((values**2).mean()) - noise**2, effort[m] ** 2)
    return effort, error, square


def servo_misfit(standing: Standing, robot: Robot) -> float:
    """Return the deviation of the legs from the servo's law, in squared errors.

    A servo holds a torque in proportion to set-point minus angle, within the steps of
    the encoder and its gain. 0 for a log without set-points.
    """
    if standing.target is None:
        return 0.0
    return _servo_misfit(robot, *_servos(standing, robot))


def _servos(standing: Standing, robot: Robot) -> tuple[FloatArray, FloatArray]:
    """Return (n_legs,) torques of set-points and angles, and of currents, in N·m."""
    assert standing.target is not None
    legs = [robot.joint_index(name) for name in robot.leg_joints]
    kp = np.array([robot.joints[k].kp for k in legs])
    servo = kp * (standing.target - standing.q)[legs]
    return servo, (robot.servo_torques @ standing.effort)[robot.servo_of_joint[legs]]


def _servo_misfit(robot: Robot, servo: FloatArray, torque: FloatArray) -> float:
    joints = [robot.joints[robot.joint_index(name)] for name in robot.leg_joints]
    sd = np.array([j.kp * max(0.5 * j.encoder_step, ANGLE_RAD) for j in joints])
    gain = max(float(servo @ torque) / float(torque @ torque + 1e-12), 0.5)
    off = servo - gain * torque
    return float(((off / np.hypot(sd, SERVO_ERROR * servo)) ** 2).sum())


def _refuse_copy(log: Log, robot: Robot, effort: FloatArray) -> None:
    """Reject angles that equal the set-points where torques need a difference.

    Args:
        log: log of a file, reported as a copy.
        robot: robot of the log.
        effort: (n_motors,) mean torques in N·m; signs may be unknown.

    Raises:
        BadInput: the differences would be seen.
    """
    joints = [robot.joints[robot.joint_index(name)] for name in robot.leg_joints]
    torque = np.abs(robot.servo_torques @ effort)[robot.servo_of_joint]
    torque = torque[[robot.joint_index(name) for name in robot.leg_joints]]
    wind_up = torque / np.array([joint.kp for joint in joints])
    if ((wind_up / COPY_RAD) ** 2).sum() > DOUBTFUL:
        k = int(wind_up.argmax())
        raise BadInput(
            f"{log.path}: the angles q of all leg joints equal the set-points, but "
            f"{joints[k].name} holds {torque[k]:.2g} N·m, for which its set-point must "
            f"differ by {np.rad2deg(wind_up[k]):.2f}°: q probably holds commands. "
            "Record measured angles; if q is measured, leave out the set-points."
        )


def _check_servos(log: Log, robot: Robot, standing: Standing) -> None:
    """Reject torques that belong to the other leg, or have the opposite sign.

    The fault may be in the angles or in the torques.

    Raises:
        BadInput: torques and angles contradict each other.
    """
    if standing.target is None:
        return
    servo, given = _servos(standing, robot)
    own = _servo_misfit(robot, servo, given)
    swapped = _servo_misfit(robot, servo, np.roll(given, len(given) // 2))
    if own > DOUBTFUL and swapped < own / 4.0:
        raise BadInput(
            f"{log.path}: the currents of each leg fit the angles and set-points of "
            "the other leg; exchange the names of the legs in one of them."
        )
    for k in np.flatnonzero(servo * given < 0.0).tolist():
        turned = np.where(np.arange(len(given)) == k, -given, given)
        misfit = _servo_misfit(robot, servo, turned)
        name = robot.leg_joints[k]
        if own - misfit > DOUBTFUL and misfit < own / 2.0:
            raise BadInput(
                f"{log.path}: the current of {name} means {given[k]:+.2g} N·m, but its "
                f"set-point and angle {servo[k]:+.2g} N·m; multiply the column with "
                "the wrong sign by -1."
            )


def _all_of(
    log: Log,
    signal: str,
    members: Sequence[str],
    rows: IndexArray,
    still: IndexArray | None = None,
    noise: float = 0.0,
) -> tuple[FloatArray | None, float]:
    """Return means of a signal and their largest standard error; None if incomplete."""
    columns = log.signals.get(signal, {})
    if not members or not set(members) <= columns.keys():
        return None, 0.0
    readings = _readings(columns, rows, rows if still is None else still)
    values = [readings[name] for name in members]
    if not all(one.size for one in values):
        return None, 0.0
    means = np.array([one.mean() for one in values])
    return means, max(_error(one, noise) for one in values)


def _listed(names: list[str]) -> str:
    most = 4
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
