"""Fit of a CSV file or a run, and a table with the robot's own constants."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for, count_bar
from nao_testbed.experiments.heat.identification.heat_log import (
    HeatLog,
    HeatLogCfg,
    heat_log_of_file,
    heat_log_of_run,
    motor_of,
)
from nao_testbed.experiments.heat.logs.log import read_log
from nao_testbed.experiments.heat.logs.record import LARGEST_CURRENT_A, largest_current
from nao_testbed.models import BadInput, OneNodeHeating, Robot, load_robot
from nao_testbed.sim.thermal.identification import fit_one_node
from nao_testbed.sim.thermal.one_node_fit import Estimate, KnownResistance, OneNodeFit

AMBIENT_DEGC = (-40.0, 70.0)
"""Air in which a robot can work."""


@dataclass(frozen=True, kw_only=True)
class IdentifyCfg:
    """Options; see `nao-testbed identify --help`."""

    source: Path
    """CSV or Parquet file, or run folder."""
    joints: tuple[str, ...] = ()
    """Joints to fit. For a run, or a file of several motors: at least one, with motors
    of one kind. For a file of one motor: at most one; it selects the torque constant,
    and the constants for comparison."""
    ambient_degc: float | None = None
    """Ambient temperature in °C; None: fit it."""
    resistance: float | None = None
    """R in Ω; None: the joint's, if a joint is given."""
    gap_s: float | None = None
    trusts_units: bool = False
    entries: tuple[str, ...] = ()
    """Map of the columns, as in `read_log`."""


@dataclass(frozen=True, kw_only=True)
class Identified:
    """Fit with its data, and the constants of the robot's tables."""

    logs: tuple[HeatLog, ...]
    fit: OneNodeFit
    known: KnownResistance | None
    """C and λ; None without a known resistance."""
    table: OneNodeHeating | None
    """Constants of the joint's motor; None without a joint."""

    def as_json(self) -> dict[str, Any]:
        """Return the data for `--json`; an infinite value is null."""
        numbers = {name: number for name, number, _ in beside_table(self)}
        numbers["ambient"] = self.fit.ambient
        return {
            "experiment": "identify",
            "sources": [log.name for log in self.logs],
            "fit": {name: _finite(asdict(number)) for name, number in numbers.items()},
            "is_ambient_given": self.fit.is_ambient_given,
            "resistance_ohm": self.known.resistance if self.known else None,
            "rms_k": self.fit.rms_k,
            "resolution_k": self.fit.resolution_k,
            "rows_per_error": self.fit.rows_per_error,
            "remarks": list(self.fit.remarks),
            "repairs": [asdict(r) for log in self.logs for r in log.repairs],
            "table": asdict(self.table) if self.table else None,
        }


def identify(
    cfg: IdentifyCfg,
    robot: Robot,
    on_tried: Callable[[int, int], None] = lambda _done, _of: None,
) -> Identified:
    """Read the source and fit the one-node model to it.

    Args:
        cfg: options of the command.
        robot: robot with the joints of `cfg`.
        on_tried: callback, as in `fit_one_node`.

    Raises:
        BadInput: the source is neither a run nor a valid file, joints are missing or of
            different kinds, or the data are insufficient.
    """
    motors = [motor_of(joint, robot) for joint in cfg.joints]
    tables = {motor.one_node for motor in motors}
    if len(tables) > 1:
        raise BadInput(
            f"{', '.join(cfg.joints)} have motors of different kinds; give joints "
            f"of one kind."
        )
    table = next(iter(tables), None)
    logs = _logs(cfg, robot, table)
    records = [record for log in logs for record in log.records]
    fit = fit_one_node(records, ambient_degc=cfg.ambient_degc, on_tried=on_tried)
    _refuse_unphysical(fit)
    resistance = cfg.resistance
    if resistance is None and table is not None:
        resistance = table.resistance
    is_heated = fit.heating.value > 0.0 and fit.rate.value > 0.0
    known = None
    if resistance is not None and is_heated:
        known = fit.with_resistance(resistance)
    return Identified(logs=tuple(logs), fit=fit, known=known, table=table)


def _refuse_unphysical(fit: OneNodeFit) -> None:
    """Refuse constants that no motor has.

    Raises:
        BadInput: the ambient temperature is impossible, or R/C negative.
    """
    ambient = fit.ambient.value
    low, high = AMBIENT_DEGC
    if not fit.is_ambient_given and not low <= ambient <= high:
        raise BadInput(
            f"the fit has an ambient temperature of {ambient:.4g} °C; air around a "
            f"robot has {low:g} to {high:g} °C. Check the sensor and the units, or "
            "give the temperature of the air by --ambient."
        )
    if fit.heating.high < 0.0:
        raise BadInput(
            f"the fit has R/C = {fit.heating.value:.3g} {fit.heating.unit}; it cannot "
            "be negative: the motor cools while a current flows. Check the ambient "
            "temperature, and that currents and temperatures are of one motor."
        )


def beside_table(found: Identified) -> list[tuple[str, Estimate, float | None]]:
    """Return per constant its name, the estimate, and the robot's own value or None."""
    fit, known = found.fit, found.known
    numbers = {"R/C": fit.heating, "λ/C": fit.rate}
    if fit.rate.value > 0.0:
        numbers["C/λ"] = fit.time_constant
    if not fit.is_ambient_given:
        numbers["ambient"] = fit.ambient
    if known is not None:
        numbers |= {"C": known.heat_capacity, "λ": known.conductance}
    own = {} if found.table is None else _own(found.table)
    return [(name, number, own.get(name)) for name, number in numbers.items()]


def _own(table: OneNodeHeating) -> dict[str, float]:
    capacity, conductance = table.heat_capacity, table.conductance
    return {
        "R/C": table.resistance / capacity,
        "λ/C": conductance / capacity,
        "C/λ": capacity / conductance,
        "ambient": table.ambient_degc,
        "C": capacity,
        "λ": conductance,
    }


def _logs(
    cfg: IdentifyCfg, robot: Robot, table: OneNodeHeating | None
) -> Sequence[HeatLog]:
    log = read_log(cfg.source, robot, cfg.entries)
    is_run = log.run_state is not None
    is_of_all = is_run or "" not in log.signals.get("temperature", {"": None})
    if is_of_all and not cfg.joints:
        raise BadInput(
            f"{cfg.source} is a {'run' if is_run else 'log'} of all joints; give one "
            f"or more of one kind, such as --joint {robot.joint_names[0]}."
        )
    if is_run:
        if cfg.gap_s is not None or cfg.trusts_units:
            raise BadInput(
                f"{cfg.source} is a run; leave out --gap and --trust-units, which are "
                f"for CSV files."
            )
        return [heat_log_of_run(log, joint, robot) for joint in cfg.joints]
    log_cfg = HeatLogCfg(
        torque_constant=table.torque_constant if table else None,
        gap_s=cfg.gap_s,
        largest_a=max(
            (
                largest_current(robot, motor_of(joint, robot).name)
                for joint in cfg.joints
            ),
            default=LARGEST_CURRENT_A,
        ),
        trusts_units=cfg.trusts_units,
    )
    if is_of_all:
        names = (motor_of(joint, robot).name for joint in cfg.joints)
        return [heat_log_of_file(log, log_cfg, name) for name in names]
    if len(cfg.joints) > 1:
        raise BadInput(
            f"the file has one motor; give one joint, not {', '.join(cfg.joints)}."
        )
    return [heat_log_of_file(log, log_cfg)]


def _finite(numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in numbers.items()
    }


def identified_table(found: Identified) -> Table:
    """Return the constants, their 95 % intervals, and those of the robot data."""
    fit = found.fit
    rows = sum(int(r.is_known.sum()) for log in found.logs for r in log.records)
    caption = (
        f"{rows} temperatures; residuals {fit.rms_k:.2f} K rms, correlated over "
        f"{fit.rows_per_error:.0f} rows"
    )
    if fit.is_ambient_given:
        caption += f"; given ambient {fit.ambient.value:g} °C"
    names = "; ".join(log.name for log in found.logs)
    title = f"C dT/dt = R i² - λ (T - Tₑ), {names}"
    table = plain_table(title, caption, " ", ("fitted", "low", "high"))
    table.add_column("unit")
    if found.table is not None:
        table.add_column("robot data", justify="right")
    for name, estimate, own in beside_table(found):
        cells = [name, *(f"{x:.4g}" for x in (estimate.value, estimate.low))]
        cells += [f"{estimate.high:.4g}", estimate.unit]
        if own is not None:
            cells.append(f"{own:.4g}")
        table.add_row(*cells)
    return table


def run_identify(cfg: IdentifyCfg, robot: Path | None, json_file: str | None) -> None:
    """Identify, print the table and the repairs of the log.

    Raises:
        BadInput: an option or the source is invalid, or the file cannot be written.
    """
    check_json_file(json_file)
    with count_bar("reading") as tell:
        found = identify(
            cfg, load_robot(robot), lambda done, of: tell(done, of, "fitting")
        )
    for log in found.logs:
        for repair in log.repairs:
            print(f"{log.name}: {repair.what}", file=sys.stderr)
    for remark in found.fit.remarks:
        print(f"note: {remark}", file=sys.stderr)
    console_for(json_file).print(identified_table(found))
    write_json(json_file, json_text(found.as_json()))
