"""A log of a robot's sensors as columns in SI units, from any of three kinds of source.

A run folder of ours; a CSV file; a Parquet file. Columns are called as in a run folder,
`CHANNEL.MEMBER`, such as `q.LKneePitch`. Files may have other units, which then stand
in the channel's name:

    time_s | time_ms | time_min       current.MOTOR | current_ma | torque  A, mA, N·m
    q.JOINT | q_deg        rad, °     temperature.MOTOR                    °C
    target.JOINT | target_deg         fsr.SENSOR | fsr_kg                  N, kg
                                      accelerometer.x, .y, .z | _g         m/s², g

`torque` is the motor's on the joint's side, before gear friction. Columns of other
channels are left alone. What looks like another unit is refused, not guessed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nao_testbed.controllers.interface.robot_interface import READINGS
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.controllers.stiffness.kernels import IndexArray
from nao_testbed.experiments.heat.identification.csv_log import (
    LARGEST_CURRENT_A,
    TIMES,
    read_column,
    read_rows,
)
from nao_testbed.models import BadInput, Robot, UnknownName
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN
from nao_testbed.sim.recording.run_folder import Run, read_run

if TYPE_CHECKING:
    import pandas as pd

CHANNELS: Mapping[str, Mapping[str, float]] = {
    "q": {"q": 1.0, "q_deg": np.pi / 180.0},
    "target": {"target": 1.0, "target_deg": np.pi / 180.0},
    "current": {"current": 1.0, "current_ma": 1e-3},
    "torque": {"torque": 1.0},
    "temperature": {"temperature": 1.0},
    "fsr": {"fsr": 1.0, "fsr_kg": GRAVITY},
    "accelerometer": {"accelerometer": 1.0, "accelerometer_g": GRAVITY},
}
"""Channel to what it may be called in a file, and the factor to SI units."""
BEYOND_RANGE_RAD = 0.35
"""No joint reads an angle so far beyond its stops: 20°."""
MOST_FSR_WEIGHTS = 4.0
"""Times the robot's weight: more is no sum of forces under its soles."""
FEWEST_FSR_WEIGHTS = 0.2
"""A tenth is what the weight in kg looks like; a lifted robot has less yet."""
HOTTEST_DEGC = 200.0
"""What no motor in use has."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SensorLog:
    """Rows of a log, in SI units."""

    name: str
    """For messages: folder or file."""
    time_s: FloatArray
    """(n,) in s, rising."""
    channels: Mapping[str, Mapping[str, FloatArray]]
    """Channel, as in `CHANNELS`, to member to (n,) values; NaN where one is missing."""
    remarks: tuple[str, ...] = ()
    """What was left out or converted."""


def read_sensor_log(path: Path, robot: Robot) -> SensorLog:
    """Read a run folder, a CSV file, or a Parquet file (`.parquet`).

    Raises:
        BadInput: it is none of these, a column is missing, unknown or in other units
            than its name says, or times do not rise.
    """
    if path.is_dir():
        return log_of_run(read_run(path), robot)
    if not path.exists():
        raise BadInput(
            f"{path} is not there; give a run folder, a CSV file or a Parquet file."
        )
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _log_of_parquet(path, robot)
    header, rows = read_rows(path)
    columns = {
        name: read_column(path, header, rows, name)
        for name in header
        if name in TIMES or _channel_of(name)
    }
    n_infinite = sum(int(np.isinf(values).sum()) for values in columns.values())
    remarks = [f"{n_infinite} infinite numbers: taken as missing"] * (n_infinite > 0)
    return _build(path, columns, robot, lambda k: f"{path}:{rows[k][0]}", remarks)


def log_of_run(run: Run, robot: Robot) -> SensorLog:
    """Return the sensors' columns of a run of ours; what only the simulator knows not.

    Raises:
        BadInput: as `read_sensor_log`.
    """
    frame = run.frame
    columns = {TIME_COLUMN: frame.index.to_numpy(np.float64)}
    for name in frame.columns:
        channel = name.partition(".")[0]
        if channel in CHANNELS and channel in READINGS:
            columns[name] = frame[name].to_numpy(np.float64)
    return _build(run.folder, columns, robot, lambda k: f"{run.folder}, row {k + 1}")


def _log_of_parquet(path: Path, robot: Robot) -> SensorLog:
    frame = _read_parquet(path)
    columns = {}
    if frame.index.name in TIMES:
        frame = frame.reset_index()
    for name in map(str, frame.columns):
        if name not in TIMES and not _channel_of(name):
            continue
        values = frame[name]
        if values.dtype.kind not in "iuf":
            example = values.iloc[0] if len(values) else values.dtype
            raise BadInput(
                f"{path}: column {name!r} holds {example!r} ({values.dtype}); give "
                "numbers."
            )
        columns[name] = values.to_numpy(np.float64, na_value=np.nan)
    return _build(path, columns, robot, lambda k: f"{path}, row {k + 1}")


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd  # noqa: PLC0415  # slow
    import pyarrow as pa  # noqa: PLC0415  # slow

    try:
        return pd.read_parquet(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise BadInput(
            f"{path} cannot be read as Parquet: {str(error).splitlines()[0]} Give a "
            "Parquet file, a CSV file (.csv) or a run folder."
        ) from error


def _channel_of(column: str) -> tuple[str, str, float] | None:
    """Return channel, member and factor of a column; None: it is none of ours."""
    prefix, dot, member = column.partition(".")
    for channel, names in CHANNELS.items():
        if dot and prefix in names:
            return channel, member, names[prefix]
    return None


def _build(
    path: Path,
    columns: Mapping[str, FloatArray],
    robot: Robot,
    place: Callable[[int], str],
    remarks: Sequence[str] = (),
) -> SensorLog:
    """Sort columns into channels, and check them.

    Args:
        path: for messages.
        columns: name in the source to (n,) values.
        robot: whose members the columns name.
        place: says where a row is.
        remarks: made before.
    """
    said = list(remarks)
    time_s = _times(path, columns)
    known = np.isfinite(time_s)
    if not known.all():
        said.append(f"{int((~known).sum())} rows without a time: left out")
    rows = np.flatnonzero(known)
    time_s = time_s[rows]
    _refuse_falling(time_s, rows, place)
    channels: dict[str, dict[str, FloatArray]] = {}
    for name, values in columns.items():
        found = _channel_of(name)
        if found is None:
            continue
        channel, member, factor = found
        members = channels.setdefault(channel, {})
        if member not in _members(channel, robot):
            raise UnknownName(
                f"{path}: {channel} of", member, _members(channel, robot), robot.name
            )
        if member in members:
            raise BadInput(
                f"{path} has {channel} of {member} twice, in different units; keep one."
            )
        members[member] = factor * np.where(np.isfinite(values), values, np.nan)[rows]
    for members in channels.values():  # a column without a value is none
        for member in [m for m, v in members.items() if np.isnan(v).all()]:
            said.append(f"{member} has a column without a value: left out")
            del members[member]
    log = SensorLog(
        name=str(path), time_s=time_s, channels=channels, remarks=tuple(said)
    )
    _require(log, robot)
    _refuse_units(log, robot)
    return log


def _times(path: Path, columns: Mapping[str, FloatArray]) -> FloatArray:
    names = [name for name in TIMES if name in columns]
    if len(names) != 1:
        has = f"has {' and '.join(names)}" if names else "has no time"
        raise BadInput(f"{path} {has}; give one column of {', '.join(TIMES)}.")
    return TIMES[names[0]] * columns[names[0]]


def _refuse_falling(
    time_s: FloatArray, rows: IndexArray, place: Callable[[int], str]
) -> None:
    (bad,) = np.nonzero(np.diff(time_s) <= 0.0)
    if bad.size:
        k = int(bad[0])
        raise BadInput(
            f"{place(int(rows[k + 1]))}: the time is {time_s[k + 1]:g} s after "
            f"{time_s[k]:g} s in the row before; give rows in the order of time, each "
            "time once."
        )


def _members(channel: str, robot: Robot) -> tuple[str, ...]:
    reading = READINGS["current" if channel == "torque" else channel]
    return reading.members(robot)


def _require(log: SensorLog, robot: Robot) -> None:
    """Refuse a log without angles or currents of every leg joint.

    Raises:
        BadInput: one is missing; the message names what is there.
    """
    legs = robot.leg_joints
    has = log.channels
    motors = dict.fromkeys(robot.joints[robot.joint_index(n)].motor for n in legs)
    drives = has.get("current") or has.get("torque") or {}
    for what, column, wanted, given in (
        ("angle", "q", legs, has.get("q", {})),
        ("current", "current", motors, drives),
    ):
        missing = [name for name in wanted if name not in given]
        if missing:
            units = ", ".join(f"{name}.NAME" for name in CHANNELS[column])
            other = ", torque.NAME" if column == "current" else ""
            raise BadInput(
                f"{log.name} has no {what} of {', '.join(missing)}; the heat of the "
                f"legs needs it. Name the columns {units}{other}."
            )


def _refuse_units(log: SensorLog, robot: Robot) -> None:
    """Refuse values that cannot be in the unit of their column.

    Raises:
        BadInput: the message names the column, the value, and what it looks like.
    """
    for channel in ("q", "target"):
        for name, values in log.channels.get(channel, {}).items():
            joint = robot.joints[robot.joint_index(name)]
            low, high = joint.lower - BEYOND_RANGE_RAD, joint.upper + BEYOND_RANGE_RAD
            _refuse(
                log,
                f"{channel}.{name}",
                values,
                (low, high),
                "rad",
                f"the joint goes from {joint.lower:.2f} to {joint.upper:.2f} rad; "
                f"degrees belong into {channel}_deg.{name}",
            )
    for name, values in log.channels.get("current", {}).items():
        bounds = (-LARGEST_CURRENT_A, LARGEST_CURRENT_A)
        hint = f"no joint draws more; mA belong into current_ma.{name}"
        _refuse(log, f"current.{name}", values, bounds, "A", hint)
    for name, values in log.channels.get("torque", {}).items():
        limit = max(
            robot.joints[robot.joint_index(joint)].effort_limit
            for joint in robot.motors[robot.motor_index(name)].joints
        )
        hint = "the motor gives no more, on the joint's side"
        bounds = (-2.0 * limit, 2.0 * limit)
        _refuse(log, f"torque.{name}", values, bounds, "N·m", hint)
    for name, values in log.channels.get("temperature", {}).items():
        hint = f"a motor has -40 to {HOTTEST_DEGC:g} °C; give °C"
        _refuse(log, f"temperature.{name}", values, (-40.0, HOTTEST_DEGC), "°C", hint)
    _refuse_loads(log, robot)
    _refuse_gravity(log)


def _refuse(
    log: SensorLog,
    column: str,
    values: FloatArray,
    bounds: tuple[float, float],
    unit: str,
    hint: str,
) -> None:
    beyond = (values < bounds[0]) | (values > bounds[1])
    if beyond.any():
        k = int(np.argmax(beyond))
        raise BadInput(
            f"{log.name}: {column} is {values[k]:g} {unit} at {log.time_s[k]:g} s; "
            f"{hint}."
        )


def _refuse_loads(log: SensorLog, robot: Robot) -> None:
    sensors = log.channels.get("fsr", {})
    if not sensors:
        return
    total = np.nansum(list(sensors.values()), axis=0)
    typical, weight = float(np.median(total)), robot.total_mass * GRAVITY
    in_kg = 0.05 < typical / weight < FEWEST_FSR_WEIGHTS
    if typical > MOST_FSR_WEIGHTS * weight or in_kg:
        raise BadInput(
            f"{log.name}: the force sensors add up to {typical:.3g} N, and the robot "
            f"weighs {weight:.3g} N; kg belong into fsr_kg.NAME."
        )


def _refuse_gravity(log: SensorLog) -> None:
    axes = log.channels.get("accelerometer", {})
    if not axes:
        return
    if len(axes) < 3:
        raise BadInput(
            f"{log.name} has the accelerometer's {', '.join(axes)} alone; give x, y "
            "and z, or none."
        )
    size = float(np.nanmedian(np.linalg.norm(list(axes.values()), axis=0)))
    if not 0.7 * GRAVITY < size < 1.3 * GRAVITY:
        raise BadInput(
            f"{log.name}: the accelerometer feels {size:.3g} m/s² most of the time, "
            f"and a robot that stands feels {GRAVITY:g}; g belong into "
            "accelerometer_g.x, .y, .z."
        )
