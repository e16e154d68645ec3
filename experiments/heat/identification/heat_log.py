"""Measured rows of one motor, repaired where that is sure, as records without gaps.

Rows come from a CSV file (`csv_log`) or from a run folder: temperatures and currents
of a joint's motor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from nao_testbed.models import BadInput, Motor, Robot, UnknownName
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.recording.run_folder import Run, read_run
from nao_testbed.sim.thermal.one_node_fit import FEWEST_TEMPERATURES, HeatRecord

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

    def note(kind: str, n: int, what: str) -> None:
        if n:
            done.append(Repair(kind=kind, rows=int(n), what=what.format(_rows(n))))

    rows = pd.DataFrame({"degc": degc, "current": current}, index=time_s)
    is_timed = np.isfinite(time_s)
    note("missing", int(np.sum(~is_timed)), "{} without a time: left out")
    rows = rows[is_timed]
    falls = int(np.sum(np.diff(time_s[is_timed]) < 0.0))
    note("order", falls, "time falls back at {}: sorted by time")
    n_timed = len(rows)
    rows = rows.groupby(level=0).mean()
    what = "{} at a time that is there already: the mean is taken"
    note("duplicate", n_timed - len(rows), what)
    if len(rows) < FEWEST_TEMPERATURES:
        raise BadInput(
            f"{name} has {len(rows)} rows with a time; give at least "
            f"{FEWEST_TEMPERATURES}."
        )
    what = "{} without a temperature: only the current is used"
    note("missing", rows["degc"].isna().sum(), what)
    if gap_s is None:
        gap_s = max(GAP_ROWS * float(np.median(np.diff(rows.index))), SHORTEST_GAP_S)
    lacks = rows["current"].isna()
    times = rows.index.to_series()
    apart = times.mask(lacks).bfill() - times.mask(lacks).ffill()
    between = lacks & (apart <= gap_s)
    note("missing", between.sum(), "{} without a current: taken between neighbours")
    what = f"{{}} without a current for longer than {gap_s:g} s: left out"
    note("missing", (lacks & ~between).sum(), what)
    rows = rows.assign(current=rows["current"].interpolate("index"))[~lacks | between]
    records = _records(rows, gap_s, note)
    if not records:
        raise BadInput(
            f"{name} has no stretch with {FEWEST_TEMPERATURES} temperatures whose "
            f"rows are at most {gap_s:g} s apart; give a longer one, or a longer gap."
        )
    return HeatLog(name=name, records=tuple(records), repairs=tuple(done))


def _records(
    rows: pd.DataFrame, gap_s: float, note: Callable[[str, int, str], None]
) -> list[HeatRecord]:
    """Begin a new record after each gap; leave out those that are too short."""
    time_s = rows.index.to_numpy(np.float64)
    cuts = np.flatnonzero(np.diff(time_s) > gap_s) + 1
    for before, after in zip(time_s[cuts - 1], time_s[cuts], strict=True):
        what = (
            f"a gap of {after - before:.0f} s after {before:g} s: what heated in it is "
            "unknown, so a new record begins after it"
        )
        note("gap", 1, what)
    records = []
    for part in np.split(np.arange(len(rows)), cuts):
        degc, current = rows.iloc[part].to_numpy(np.float64).T
        if np.isfinite(degc).sum() >= FEWEST_TEMPERATURES:
            records.append(HeatRecord.from_currents(time_s[part], degc, current))
        elif len(part):
            what = (
                f"fewer than {FEWEST_TEMPERATURES} temperatures from "
                f"{time_s[part[0]]:g} s to the next gap: left out"
            )
            note("short", len(part), what)
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
