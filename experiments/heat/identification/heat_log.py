"""Temperatures and currents of one motor of a log, as records for the fit.

    log = heat_log_of_file(read_log(Path("knee.csv")))

Rows are repaired if the repair is unambiguous, and split where the heating current is
unknown. Impossible values, or values in another unit, are rejected.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from nao_testbed.controllers.interface.checked import Checked
from nao_testbed.experiments.heat.logs.record import (
    COLDEST_DEGC,
    HOTTEST_DEGC,
    LARGEST_CURRENT_A,
    Log,
    Repair,
)
from nao_testbed.models import BadInput, Motor, Robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.thermal.one_node_fit import MIN_TEMPERATURES, HeatRecord

GAP_ROWS, SHORTEST_GAP_S = 10.0, 5.0
"""A gap is longer than this number of usual steps, and longer than this time in s."""
WARM_DEGC = 60.0
"""If a hot motor was never colder than this, its temperatures are probably in °F."""
HOT_DEGC = 90.0
ROW_STEP_S = 1.0
"""Time between stored rows in s, that of the temperature sensors."""


@dataclass(frozen=True, kw_only=True, eq=False)
class HeatLog:
    """Records of one motor, and the repairs of its log."""

    name: str
    """Source of the records."""
    records: tuple[HeatRecord, ...]
    """Records in the order of time; a new record begins after each gap."""
    repairs: tuple[Repair, ...] = ()


def _build(
    log: Log, motor: str, degc: FloatArray, current: FloatArray, gap_s: float | None
) -> HeatLog:
    """Sort rows, and split them where the heating current is unknown."""
    name, time_s = f"{log.path}, {motor}" if motor else str(log.path), log.time_s
    done = list(log.repairs)

    def note(kind: str, n: int, what: str) -> None:
        if n:
            done.append(Repair(kind=kind, rows=int(n), what=what.format(_rows(n))))

    rows = pd.DataFrame({"degc": degc, "current": current}, index=time_s)
    is_timed = np.isfinite(time_s)
    note("missing", int(np.sum(~is_timed)), "{} without a time: left out")
    rows = rows[is_timed]
    n_timed = len(rows)
    rows = rows.groupby(level=0).mean()
    what = "{} with a duplicate time: averaged"
    note("duplicate", n_timed - len(rows), what)
    if len(rows) < MIN_TEMPERATURES:
        raise BadInput(
            f"{name} has {len(rows)} rows with a time; give at least "
            f"{MIN_TEMPERATURES}."
        )
    what = "{} without a temperature: only the current is used"
    note("missing", rows["degc"].isna().sum(), what)
    if gap_s is None:
        gap_s = max(GAP_ROWS * float(np.median(np.diff(rows.index))), SHORTEST_GAP_S)
    lacks = rows["current"].isna()
    times = rows.index.to_series()
    apart = times.mask(lacks).bfill() - times.mask(lacks).ffill()
    between = lacks & (apart <= gap_s)
    note("missing", between.sum(), "{} without a current: interpolated")
    what = f"{{}} without a current for more than {gap_s:g} s: left out"
    note("missing", (lacks & ~between).sum(), what)
    rows = rows.assign(current=rows["current"].interpolate("index"))[~lacks | between]
    records = _records(rows, gap_s, note)
    if not records:
        raise BadInput(
            f"{name} has no section with {MIN_TEMPERATURES} temperatures and "
            f"rows at most {gap_s:g} s apart; give a longer log, or a longer --gap."
        )
    return HeatLog(name=name, records=tuple(records), repairs=tuple(done))


def _records(
    rows: pd.DataFrame, gap_s: float, note: Callable[[str, int, str], None]
) -> list[HeatRecord]:
    """Return one record per interval between gaps; omit too short ones."""
    time_s = rows.index.to_numpy(np.float64)
    cuts = np.flatnonzero(np.diff(time_s) > gap_s) + 1
    for before, after in zip(time_s[cuts - 1], time_s[cuts], strict=True):
        what = (
            f"a gap of {after - before:.0f} s after {before:g} s: its heating is "
            "unknown, so a new record begins after it"
        )
        note("gap", 1, what)
    records = []
    for part in np.split(np.arange(len(rows)), cuts):
        degc, current = rows.iloc[part].to_numpy(np.float64).T
        if np.isfinite(degc).sum() >= MIN_TEMPERATURES:
            records.append(HeatRecord.from_currents(time_s[part], degc, current))
        elif len(part):
            what = (
                f"fewer than {MIN_TEMPERATURES} temperatures from "
                f"{time_s[part[0]]:g} s to the next gap: left out"
            )
            note("short", len(part), what)
    return records


def _rows(number: int) -> str:
    return f"{number} row{'' if number == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class HeatLogCfg(Checked):
    """Settings that a file does not contain."""

    torque_constant: (
        Annotated[float, Field(gt=0.0, title="torque constant in N·m/A")] | None
    ) = None
    """K in N·m/A, joint side, to convert torques to currents."""
    gap_s: Annotated[float, Field(gt=0.0, title="gap")] | None = None
    """Time between rows from which the heating between them is unknown; None: ten times
    the usual step, and at least 5 s. A current that is missing for a shorter time is
    interpolated."""
    largest_a: float = LARGEST_CURRENT_A
    """Largest plausible current in A."""
    trusts_units: bool = False
    """True: accept the units of the header even for unlikely temperatures."""


def heat_log_of_file(
    log: Log, cfg: HeatLogCfg | None = None, motor: str = ""
) -> HeatLog:
    """Return the records of a motor in a file.

    Unsorted, duplicate or incomplete rows are repaired and listed in `repairs`;
    ambiguous data are rejected.

    Args:
        log: log of a CSV or a Parquet file.
        cfg: settings that the file does not contain; None: the defaults.
        motor: motor whose columns are used; empty for a log of one motor.

    Raises:
        BadInput: a column is missing or duplicated, a value is impossible in its unit,
            or too few rows remain.
    """
    cfg = cfg or HeatLogCfg()
    degree_name = log.column(motor, "temperature")
    drive_name = log.column(motor, "current", "torque")
    degc = log.signals["temperature"][motor]
    if motor in log.signals.get("current", {}):
        current = log.signals["current"][motor]
    elif cfg.torque_constant is not None:
        current = log.signals["torque"][motor] / cfg.torque_constant
    else:
        raise BadInput(
            f"{log.path} has torques ({drive_name}) but no currents; give the torque "
            f"constant too, or a joint of the robot."
        )
    if np.isfinite(degc).any() and not cfg.trusts_units:
        _reject_impossible(log, degree_name, degc)
    largest = np.nanmax(np.abs(current), initial=0.0)
    if largest > cfg.largest_a and not cfg.trusts_units:
        raise BadInput(
            f"{log.path}: a current in {drive_name} is {largest:g} A, more than the "
            f"joint draws ({cfg.largest_a:g} A); if it is in mA, name the column "
            f"current_ma; otherwise give --trust-units."
        )
    built = _build(log, motor, degc, current, cfg.gap_s)
    if not motor:
        return built
    return replace(built, records=tuple(r.thinned(ROW_STEP_S) for r in built.records))


def _reject_impossible(log: Log, name: str, degc: FloatArray) -> None:
    """Reject temperatures that are impossible, or probably in another unit."""
    known = degc[np.isfinite(degc)]
    low, high = known.min(), known.max()
    sure = "If they are correct, set trusts_units (--trust-units)."
    if low > 250.0 and high < HOTTEST_DEGC + 273.15:
        why = f"; if they are in K, name the column temperature_k. {sure}"
    elif low >= WARM_DEGC and high >= HOT_DEGC:
        why = f"; if they are in °F, name the column temperature_degf. {sure}"
    elif low < COLDEST_DEGC or high > HOTTEST_DEGC:
        bounds = f"{COLDEST_DEGC:g} to {HOTTEST_DEGC:g} °C"
        why = f"; a motor has {bounds}. Leave missing values empty."
    else:
        return
    raise BadInput(
        f"{log.path}: temperatures in {name} range from {low:g} to {high:g} °C{why}"
    )


def heat_log_of_run(
    run: Log,
    joint: str,
    robot: Robot,
    *,
    seen: Literal["sensor", "truth"] = "sensor",
    step_s: float = ROW_STEP_S,
) -> HeatLog:
    """Return the temperature log of the motor of a joint in a run.

    Currents are the motor torques of the run / the torque constant of the one-node
    model, so that a fit recovers R/C and λ/C of `robot.motors`. Rows of fast-forward
    have the torque that heated the motors, so exact temperatures recover the constants
    to 1e-4.

    Args:
        run: run; that of a crashed process may be incomplete.
        joint: name of the joint; its motor may drive others too.
        robot: robot with the torque constants.
        seen: `sensor`: the quantised sensor value; `truth`: the temperature of the
            heating model.
        step_s: time between rows; the mean of i² includes the rows in between.

    Raises:
        BadInput: the joint is unknown, the run lacks a column, or has too few rows.
    """
    motor = motor_of(joint, robot)
    channel = "temperature" if seen == "sensor" else "true_temperature"
    for signal in (channel, "motor_torque"):
        if motor.name not in run.signals.get(signal, {}):
            raise BadInput(
                f"run {run.path} has no column '{signal}.{motor.name}'; give a run of "
                f"a heat experiment or a scenario with this robot."
            )
    if len(run.time_s) < 2:
        raise BadInput(
            f"run {run.path} ({run.run_state}) has {len(run.time_s)} rows; give a "
            f"run with more."
        )
    degc = run.signals[channel][motor.name]
    torque = run.signals["motor_torque"][motor.name]
    current = torque / motor.one_node.torque_constant
    record = HeatRecord.from_currents(run.time_s, degc, current)
    name = f"{run.path.name}, {motor.name}"
    return HeatLog(name=name, records=(record.thinned(step_s),))


def motor_of(joint: str, robot: Robot) -> Motor:
    """Return the motor that drives a joint, or that has this name.

    Raises:
        UnknownName: the robot has no such joint.
        BadInput: several motors drive it.
    """
    if joint in robot.motor_names:
        return robot.motors[robot.motor_index(joint)]
    first, *others = (robot.motor_names[m] for m in robot.motors_of([joint]))
    if others:
        names = ", ".join((first, *others))
        raise BadInput(f"several motors drive {joint!r}; give one of them: {names}.")
    return robot.motors[robot.motor_index(first)]
