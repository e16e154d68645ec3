"""Checks of a log for X-ray and replay: names, leg angles, currents, SI units.

Values that look like another unit are rejected.
"""

from dataclasses import replace

import numpy as np

from nao_testbed.controllers.interface.robot_interface import READINGS
from nao_testbed.controllers.stiffness.dynamics import GRAVITY
from nao_testbed.controllers.stiffness.kernels import IndexArray
from nao_testbed.experiments.heat.logs.columns import listed
from nao_testbed.experiments.heat.logs.record import (
    BEYOND_STOP_RAD,
    COLDEST_DEGC,
    HOTTEST_DEGC,
    Columns,
    Log,
    Repair,
    largest_current,
    largest_torque,
)
from nao_testbed.experiments.heat.logs.signals import column_names, find_signal
from nao_testbed.models import BadInput, Motor, Robot, UnknownName
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.channels import TIME_COLUMN

READ = (
    *("q", "target", "current", "torque", "temperature", "fsr", "accelerometer"),
    *("v", "stiffness", "gyro"),
)
"""Signals used by the X-ray; the last three only by replays."""
GAP_STEPS, GAP_S = 10.0, 5.0
"""A gap is longer than this many usual steps, and than this many seconds."""
SLOW_S = 2.0
"""Sensors are rarely recorded at longer steps."""
MAX_FSR_WEIGHTS = 4.0
"""Largest plausible sum of sole forces, as a multiple of the weight."""
MIN_FSR_WEIGHTS = 0.2
"""Share of the weight; a sum near a tenth of the weight is probably in kg, and below
that the robot is lifted."""


def check_sensors(log: Log, robot: Robot, *, needs_current: bool = True) -> Log:
    """Return the rows with a time, and the columns of `READ` with a value.

    Args:
        log: log of any format.
        robot: robot of the log.
        needs_current: True: currents of the legs are required.

    Raises:
        BadInput: a column is missing, unknown or in another unit than its name states,
            or times do not increase.
    """
    repairs = list(log.repairs)
    is_known = np.isfinite(log.time_s)
    if n := int((~is_known).sum()):
        what = f"{n} rows without a time: left out"
        repairs.append(Repair(kind="missing", rows=n, what=what))
    rows = np.flatnonzero(is_known)
    time_s = log.time_s[rows]
    if not rows.size:
        raise BadInput(f"{log.path}: no row has a readable time; give it in s.")
    is_new = np.diff(time_s, prepend=-np.inf) > 0.0
    if n := int((~is_new).sum()):
        where = log.place(int(rows[int((~is_new).argmax())]))
        what = f"{n} rows with the time of the row before, first {where}: left out"
        repairs.append(Repair(kind="duplicate", rows=n, what=what))
    rows, time_s = rows[is_new], time_s[is_new]
    steps = np.diff(time_s)
    if steps.size and float(np.median(steps)) > SLOW_S:
        what = (
            f"rows are {np.median(steps):.3g} s apart; if the time is in ms, give "
            "--map time_ms=COLUMN"
        )
        repairs.append(Repair(kind="unit", rows=rows.size, what=what))
    longest = max(GAP_STEPS * float(np.median(steps)), GAP_S) if steps.size else GAP_S
    (gaps,) = np.nonzero(steps > longest)
    if gaps.size and log.run_state is None:
        k = int(gaps[-1]) + 1
        what = (
            f"a gap of {steps[k - 1]:.3g} s before {time_s[k]:g} s "
            f"({log.place(int(rows[k]))}): only the record after it is used"
        )
        repairs.append(Repair(kind="gap", rows=k, what=what))
        rows, time_s = rows[k:], time_s[k:]
    used = slice(None) if rows.size == log.time_s.size else rows  # a slice is no copy
    signals: dict[str, Columns] = {TIME_COLUMN: {"": time_s}}
    for signal in READ:
        shared = _parallel(robot) if signal == "torque" else []
        known, repair = _known(log, robot, signal, used, shared)
        repairs += repair
        if signal in {"q", "target", "v", "stiffness"}:
            known = _with_coupled(known, robot)
        known = _of_motors(known, shared)
        if known:
            signals[signal] = known
    checked = replace(log, signals=signals, repairs=tuple(repairs))
    _require(checked, robot, needs_current=needs_current)
    _refuse_units(checked, robot)
    return checked


def _known(
    log: Log, robot: Robot, signal: str, rows: IndexArray | slice, shared: list[Motor]
) -> tuple[dict[str, FloatArray], list[Repair]]:
    """Return the columns of a signal that have a value, and a report of the others.

    Raises:
        UnknownName: the robot has no such member.
    """
    reading = READINGS["current" if signal == "torque" else signal]
    members = (*reading.members(robot), *(j for m in shared for j in m.joints))
    known: dict[str, FloatArray] = {}
    empty: list[str] = []
    for member, values in log.signals.get(signal, {}).items():
        if not member:
            continue  # column of a log of one motor
        if member not in members and member in robot.motor_names:
            motor = robot.motors[robot.motor_index(member)]
            raise BadInput(
                f"{log.path}: {signal} of {member!r} is that of a motor; give {signal} "
                f"of its joints {', '.join(motor.joints)}, to which the robot's own "
                "program converts it."
            )
        if member not in members:
            what = f"{log.path}: {signal} of"
            raise UnknownName(what, member, members, robot.name)
        if np.isfinite(values[rows]).any():
            known[member] = values[rows]
        else:
            empty.append(member)
    if not empty:
        return known, []
    others = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
    what = f"{signal} of {empty[0]}{others} without a value: left out"
    return known, [Repair(kind="missing", rows=log.time_s.size, what=what)]


def _with_coupled(known: Columns, robot: Robot) -> dict[str, FloatArray]:
    """Return columns of joints, with those that move with the motor of a known one."""
    by_motor = {robot.joints[robot.joint_index(n)].motor: n for n in known}
    coupled = {
        joint.name: known[by_motor[joint.motor]]
        for joint in robot.joints
        if joint.motor in by_motor
    }
    return {**coupled, **known}


def _parallel(robot: Robot) -> list[Motor]:
    return [m for m, p in zip(robot.motors, robot.is_parallel, strict=True) if p]


def _of_motors(known: Columns, shared: list[Motor]) -> dict[str, FloatArray]:
    """Return torques of motors; those of joints with parallel motors are converted."""
    joints = {joint for motor in shared for joint in motor.joints}
    found = {n: values for n, values in known.items() if n not in joints}
    for motor in shared:
        if motor.name not in known and set(motor.joints) <= known.keys():
            ratios = zip(motor.joints, motor.ratios, strict=True)
            found[motor.name] = np.sum([r * known[j] for j, r in ratios], axis=0)
    return found


def _require(log: Log, robot: Robot, *, needs_current: bool) -> None:
    """Check that a log has angles and, if needed, currents of every leg joint.

    Raises:
        BadInput: a column is missing; the message names the present ones.
    """
    legs = robot.leg_joints
    motors = [robot.motor_names[m] for m in robot.motors_of(legs)]
    drives = log.signals.get("current") or log.signals.get("torque", {})
    for what, column, wanted, given in (
        ("angle", "q", legs, log.signals.get("q", {})),
        ("current", "current", motors if needs_current else [], drives),
    ):
        missing = [name for name in wanted if name not in given]
        if missing:
            units = ", ".join(column_names(column, "NAME"))
            other = ", torque.NAME" if column == "current" else ""
            unknown = [name for name in log.names if not find_signal(name)]
            rest = "" if len(log.names) > 1 else " It has no other columns than times."
            if unknown:
                rest = f" Unknown columns: {listed(unknown, 4)}. Say what they are by "
                rest += f"--map, such as --map '{column}.{{joint}}=PATTERN', or give "
                rest += f"the robot of the log by --robot (now {robot.name!r})."
            raise BadInput(
                f"{log.path} has no {what} of {', '.join(missing)}, which is needed. "
                f"Name the columns {units}{other}.{rest}"
            )


def _refuse_units(log: Log, robot: Robot) -> None:
    """Reject values that cannot be in the unit of their column.

    Raises:
        BadInput: a value is impossible; the message has the column, the value and the
            probable unit.
    """
    for signal in ("q", "target", "current", "torque", "temperature"):
        for name, values in log.signals.get(signal, {}).items():
            low, high, unit, hint = _range_of(signal, name, robot)
            beyond = (values < low) | (values > high)
            if beyond.any():
                k = int(np.argmax(beyond))
                raise BadInput(
                    f"{log.path}: {signal}.{name} is {values[k]:g} {unit} at "
                    f"{log.time_s[k]:g} s; {hint}."
                )
    _refuse_loads(log, robot)
    _refuse_gravity(log)


def _range_of(signal: str, name: str, robot: Robot) -> tuple[float, float, str, str]:
    """Return the range of a signal, its unit, and the likely other unit."""
    match signal:
        case "current":
            hint = (
                f"no joint draws more; name a column in mA current_ma.{name}, and "
                "leave cells without a value empty"
            )
            most = largest_current(robot, name)
            return -most, most, "A", hint
        case "torque":
            most = 2.0 * largest_torque(robot, name)
            hint = "the motor's maximum at the joint is lower; give N·m"
            return -most, most, "N·m", hint
        case "temperature":
            hint = f"a motor has {COLDEST_DEGC:g} to {HOTTEST_DEGC:g} °C; give °C"
            return COLDEST_DEGC, HOTTEST_DEGC, "°C", hint
    joint = robot.joints[robot.joint_index(name)]
    low, high = joint.lower - BEYOND_STOP_RAD, joint.upper + BEYOND_STOP_RAD
    hint = (
        f"the joint goes from {joint.lower:.2f} to {joint.upper:.2f} rad; degrees "
        f"need the column name {signal}_deg.{name}"
    )
    return low, high, "rad", hint


def _refuse_loads(log: Log, robot: Robot) -> None:
    sensors = log.signals.get("fsr")
    if sensors is None:
        return
    total = np.sum(list(sensors.values()), axis=0)
    if not np.isfinite(total).any():
        return
    typical, weight = float(np.nanmedian(total)), robot.total_mass * GRAVITY
    in_kg = 0.05 < typical / weight < MIN_FSR_WEIGHTS
    if typical > MAX_FSR_WEIGHTS * weight or in_kg:
        raise BadInput(
            f"{log.path}: the force sensors add up to {typical:.3g} N, and the robot "
            f"weighs {weight:.3g} N; name a column in kg fsr_kg.NAME."
        )


def _refuse_gravity(log: Log) -> None:
    axes = log.signals.get("accelerometer")
    if axes is None:
        return
    if len(axes) < 3:
        raise BadInput(
            f"{log.path} has only {', '.join(axes)} of the accelerometer; give x, y "
            "and z, or none."
        )
    size = float(np.nanmedian(np.linalg.norm(list(axes.values()), axis=0)))
    if not 0.7 * GRAVITY < size < 1.3 * GRAVITY:
        raise BadInput(
            f"{log.path}: the accelerometer measures {size:.3g} m/s² most of the time, "
            f"but a standing robot measures {GRAVITY:g}; name columns in g "
            "accelerometer_g.x, .y, .z."
        )
