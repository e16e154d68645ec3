"""Measured rows of one motor, repaired where that is sure, as records without gaps.

Rows come from a CSV file (`csv_log`) or from a run folder: temperatures and currents
of a joint's motor.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from models import BadInput, Motor, Robot, UnknownName
from sim.recording.run_folder import Run, read_run
from sim.thermal.one_node_fit import FEWEST_TEMPERATURES, HeatRecord

FloatArray = NDArray[np.float64]

GAP_ROWS, SHORTEST_GAP_S = 10.0, 5.0
"""A gap is longer than this many usual steps, and than this many seconds."""


@dataclass(frozen=True, kw_only=True)
class Repair:
    """Something that was wrong with the data, and what was done about it."""

    kind: str
    """`unit`, `order`, `duplicate`, `missing`, `gap` or `short`."""
    rows: int
    """How many rows it concerns."""
    what: str
    """In words."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatLog:
    """Records of one motor, and what had to be done to get them."""

    name: str
    """Where they are from."""
    records: tuple[HeatRecord, ...]
    """In the order of time; a new one begins after each gap."""
    repairs: tuple[Repair, ...] = ()


def build_heat_log(
    name: str,
    time_s: FloatArray,
    degc: FloatArray,
    current: FloatArray,
    *,
    gap_s: float | None = None,
    repairs: tuple[Repair, ...] = (),
) -> HeatLog:
    """Put rows in order, and cut them where nobody knows what heated.

    Args:
        name: where the rows are from.
        time_s: (n,) in s, in any order; NaN rows are left out.
        degc: (n,) in °C; NaN where it was not measured.
        current: (n,) in A; one that is missing within a gap's length is taken between
            its neighbours.
        gap_s: time between rows from which on the heating between them is unknown;
            None: ten times the usual step, and at least 5 s.
        repairs: what was done before.

    Raises:
        BadInput: too few rows are left.
    """
    done = list(repairs)
    time_s, degc, current = _without_lost_times(time_s, degc, current, done)
    time_s, degc, current = _in_order(time_s, degc, current, done)
    time_s, degc, current = _once_each(time_s, degc, current, done)
    if time_s.size < FEWEST_TEMPERATURES:
        raise BadInput(
            f"{name} has {time_s.size} rows with a time; give at least "
            f"{FEWEST_TEMPERATURES}."
        )
    n_missing = int(np.isnan(degc).sum())
    if n_missing:
        what = f"{_rows(n_missing)} without a temperature: only the current is used"
        done.append(Repair(kind="missing", rows=n_missing, what=what))
    if gap_s is None:
        gap_s = max(GAP_ROWS * float(np.median(np.diff(time_s))), SHORTEST_GAP_S)
    time_s, degc, current = _with_currents(time_s, degc, current, gap_s, done)
    records = _records(time_s, degc, current, gap_s, done)
    if not records:
        raise BadInput(
            f"{name} has no stretch with {FEWEST_TEMPERATURES} temperatures whose "
            f"rows are at most {gap_s:g} s apart; give a longer one, or a longer gap."
        )
    return HeatLog(name=name, records=tuple(records), repairs=tuple(done))


_Rows = tuple[FloatArray, FloatArray, FloatArray]


def _without_lost_times(
    time_s: FloatArray, degc: FloatArray, current: FloatArray, done: list[Repair]
) -> _Rows:
    good = np.isfinite(time_s)
    n = int((~good).sum())
    if n:
        what = f"{_rows(n)} without a time: left out"
        done.append(Repair(kind="missing", rows=n, what=what))
    return time_s[good], degc[good], current[good]


def _in_order(
    time_s: FloatArray, degc: FloatArray, current: FloatArray, done: list[Repair]
) -> _Rows:
    n = int((np.diff(time_s) < 0.0).sum())
    if n:
        what = f"time falls back at {_rows(n)}: sorted by time"
        done.append(Repair(kind="order", rows=n, what=what))
    order = np.argsort(time_s, kind="stable")
    return time_s[order], degc[order], current[order]


def _once_each(
    time_s: FloatArray, degc: FloatArray, current: FloatArray, done: list[Repair]
) -> _Rows:
    """Keep one row of each time: the mean of what its rows say."""
    once, place, count = np.unique(time_s, return_inverse=True, return_counts=True)
    n = time_s.size - once.size
    if n == 0:
        return time_s, degc, current
    what = f"{_rows(n)} at a time that is there already: the mean is taken"
    done.append(Repair(kind="duplicate", rows=n, what=what))
    return once, _mean_by(place, degc, count.size), _mean_by(place, current, count.size)


def _mean_by(place: NDArray[np.intp], values: FloatArray, size: int) -> FloatArray:
    known = np.isfinite(values)
    count = np.bincount(place[known], minlength=size)
    total = np.bincount(place[known], values[known], minlength=size)
    mean = np.full(size, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def _with_currents(
    time_s: FloatArray,
    degc: FloatArray,
    current: FloatArray,
    gap_s: float,
    done: list[Repair],
) -> _Rows:
    """Fill currents between near neighbours; leave out the other rows without one."""
    known = np.flatnonzero(np.isfinite(current))
    missing = np.flatnonzero(~np.isfinite(current))
    if missing.size == 0 or known.size == 0:
        return time_s[known], degc[known], current[known]
    right = np.searchsorted(known, missing)
    has_both = (right > 0) & (right < known.size)
    before = time_s[known[np.maximum(right - 1, 0)]]
    after = time_s[known[np.minimum(right, known.size - 1)]]
    fillable = missing[has_both & (after - before <= gap_s)]
    filled = current.copy()
    filled[fillable] = np.interp(time_s[fillable], time_s[known], current[known])
    if fillable.size:
        what = f"{_rows(fillable.size)} without a current: taken between neighbours"
        done.append(Repair(kind="missing", rows=int(fillable.size), what=what))
    lost = missing.size - fillable.size
    if lost:
        what = f"{_rows(lost)} without a current for longer than {gap_s:g} s: left out"
        done.append(Repair(kind="missing", rows=lost, what=what))
    keep = np.isfinite(filled)
    return time_s[keep], degc[keep], filled[keep]


def _records(
    time_s: FloatArray,
    degc: FloatArray,
    current: FloatArray,
    gap_s: float,
    done: list[Repair],
) -> list[HeatRecord]:
    """Begin a new record after each gap; leave out those that are too short."""
    cuts = np.flatnonzero(np.diff(time_s) > gap_s) + 1
    for cut in cuts:
        length = time_s[cut] - time_s[cut - 1]
        what = (
            f"a gap of {length:.0f} s after {time_s[cut - 1]:g} s: what heated in it "
            f"is unknown, so a new record begins after it"
        )
        done.append(Repair(kind="gap", rows=1, what=what))
    records = []
    for rows in np.split(np.arange(time_s.size), cuts):
        if np.isfinite(degc[rows]).sum() < FEWEST_TEMPERATURES:
            if rows.size:
                what = (
                    f"fewer than {FEWEST_TEMPERATURES} temperatures from "
                    f"{time_s[rows[0]]:g} s to the next gap: left out"
                )
                done.append(Repair(kind="short", rows=rows.size, what=what))
            continue
        records.append(
            HeatRecord.from_currents(time_s[rows], degc[rows], current[rows])
        )
    return records


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


Seen = Literal["sensor", "truth"]

ROW_STEP_S = 1.0
"""Between the rows that are kept, in s: the temperature sensors are as slow."""


def heat_log_of_run(
    folder: Path | str | Run,
    joint: str,
    robot: Robot,
    *,
    seen: Seen = "sensor",
    step_s: float = ROW_STEP_S,
) -> HeatLog:
    """Return what a run says about the motor of a joint.

    Currents are the motor torques of the run over the torque constant of the one-node
    model, so that a fit gives back R/C and λ/C of `robot.motors`. Rows of fast-forward
    hold the torque that heated the motors then: from exact temperatures the constants
    come back to 1e-4.

    Args:
        folder: of the run, or the open run; one of a crashed process is read as far as
            it got.
        joint: its motor may drive others too.
        robot: with the torque constants.
        seen: `sensor` takes what the robot's sensor says, in its steps; `truth` the
            temperature of the heating model.
        step_s: between rows; what happened in between stays in the mean of i².

    Raises:
        BadInput: it is no run, the robot has no such joint, the run lacks a column, or
            too few rows.
    """
    motor = motor_of(joint, robot)
    run = folder if isinstance(folder, Run) else read_run(folder)
    channel = "temperature" if seen == "sensor" else "true_temperature"
    columns = [f"{name}.{motor.name}" for name in (channel, "motor_torque")]
    for column in columns:
        if column not in run.frame.columns:
            raise BadInput(
                f"run {run.folder} has no column {column!r}; give a run of a heat "
                f"experiment or of a scenario, of this robot."
            )
    if len(run.frame) < 2:
        raise BadInput(
            f"run {run.folder} ({run.state}) has {len(run.frame)} rows; nothing can be "
            f"learnt from it."
        )
    degc, torque = (run.frame[column].to_numpy(np.float64) for column in columns)
    record = HeatRecord.from_currents(
        run.frame.index.to_numpy(np.float64),
        degc,
        torque / motor.one_node.torque_constant,
    )
    name = f"{run.folder.name}, {motor.name}"
    return HeatLog(name=name, records=(record.thinned(step_s),))


def motor_of(joint: str, robot: Robot) -> Motor:
    """Return the motor that drives a joint.

    Raises:
        UnknownName: the robot has no such joint.
    """
    for motor in robot.motors:
        if joint in motor.joints:
            return motor
    raise UnknownName("Joint", joint, robot.joint_names, f"robot {robot.name}")
