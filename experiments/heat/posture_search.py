"""Command `nao-testbed posture-search`: search, robot folder, simulation, tables.

    search -> robot folder with the posture -> stand in both in simulation -> tables

A posture is a row of `postures.csv` and, for a typical posture, an entry of
`robot.yaml`. It is written into a copy of a robot's folder, so that every command
accepts it by `--robot DIR --posture NAME`.
"""

import csv
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from ruamel.yaml import YAML

from nao_testbed.controllers.heat_minimization.posture_search.search import (
    FoundPosture,
    PostureBalance,
    search_posture,
)
from nao_testbed.controllers.heat_minimization.posture_search.search_space import (
    PostureSearchCfg,
)
from nao_testbed.controllers.heat_minimization.standing_problem import joule_loss
from nao_testbed.controllers.registry import check_controllers
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import TrialCfg, run_trial
from nao_testbed.experiments.common.drawing.number_text import NOTHING
from nao_testbed.experiments.common.drawing.plain_table import plain_table
from nao_testbed.experiments.common.drawing.power_unit import PowerUnit, W, power_unit
from nao_testbed.experiments.common.options import (
    check_json_file,
    json_text,
    write_json,
)
from nao_testbed.experiments.common.progress import console_for
from nao_testbed.models import BadInput, Posture, Robot, load_robot
from nao_testbed.models.load import copy_robot
from nao_testbed.models.values import FloatArray
from nao_testbed.sim.engine.world import WorldCfg
from nao_testbed.sim.robot import SimulationCfg

BOTH = ("requested", "found")
"""Compared postures."""
DIGITS = 6
"""Digits of angles in rad, as in the shipped postures."""


def posture_angles(robot: Robot, angles: FloatArray) -> FloatArray:
    """Return (n_joints,) rounded angles in rad, in range, equal for coupled joints."""
    rounded = np.clip(np.round(angles, DIGITS), robot.lower, robot.upper)
    leads = robot.lead_joints[robot.servo_of_joint]
    return np.asarray(rounded[leads])


def check_folder(robot: Robot, name: str, folder: Path | None) -> None:
    """Check before a search that the new posture can be added.

    Raises:
        BadInput: the robot has a posture of this name, or the folder exists.
    """
    if name in robot.postures:
        raise BadInput(
            f"robot {robot.name!r} has a posture {name!r} already; give another --name."
        )
    if not name.isidentifier():
        raise BadInput(
            f"{name!r} is not a valid name; use letters, digits and underscores."
        )
    if folder is not None and folder.exists():
        raise BadInput(f"--out {folder} exists; give a new folder.")


def write_robot_folder(
    robot: Robot, wanted: Posture, name: str, angles: FloatArray, folder: Path
) -> Robot:
    """Write the robot folder, and return its robot.

    Args:
        robot: robot whose folder and URDF are copied.
        wanted: posture with the effectors, offset and state of the new one.
        name: name of the new posture.
        angles: (n_joints,) in rad.
        folder: new folder.

    Raises:
        BadInput: the folder cannot be written.
    """
    try:
        copy_robot(robot.folder, folder)
        _add_row(folder / "postures.csv", robot, wanted.name, name, angles)
        _add_settings(folder / "robot.yaml", wanted, name)
    except OSError as error:
        raise BadInput(
            f"--out {folder} cannot be written: {error.strerror}. Give another folder."
        ) from error
    return load_robot(folder)


def _add_row(
    path: Path, robot: Robot, wanted: str, name: str, angles: FloatArray
) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        columns = next(csv.reader(file))
    cells = dict(
        zip(robot.joint_names, posture_angles(robot, angles).tolist(), strict=True)
    )
    row = {column: str(cells[column]) for column in columns if column in cells}
    row |= {"name": name, "source": "posture-search", "status": "derived"}
    row["note"] = f"coolest posture found near {wanted}"
    text = path.read_text(encoding="utf-8")
    with path.open("a", newline="", encoding="utf-8") as file:
        if not text.endswith("\n"):
            file.write("\n")
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writerow(row)


def _add_settings(path: Path, wanted: Posture, name: str) -> None:
    yaml = YAML()
    yaml.width = 120
    data = yaml.load(path)
    if wanted.effectors:
        settings: dict[str, object] = {
            "effectors": list(wanted.effectors),
            "offset": wanted.offset,
        }
        if wanted.state is not None:
            settings["state"] = wanted.state
        data["typical_postures"][name] = settings
    yaml.dump(data, path)


CONTROLLERS = ("fixed", "smart")
DURATION_S = 20.0
"""Duration in s: two seconds to reach the posture, the rest to settle."""


@dataclass(frozen=True, kw_only=True)
class PostureTrial:
    """Trial of one posture under one controller, without misalignment."""

    posture: str
    controller: str
    legs_power_w: float | None
    """Joule loss of the legs at the end in W, with gear friction."""
    least_power_w: float | None
    """Minimum joule loss in the true posture at the end in W."""
    failure: str | None
    """Reason for an early end, such as a fall."""


def stand_in_postures(
    folder: Path,
    postures: tuple[str, ...],
    slope_deg: float,
    controllers: Sequence[str] = CONTROLLERS,
) -> tuple[PostureTrial, ...]:
    """Simulate a robot in each posture under each controller.

    Args:
        folder: folder of a robot with the postures.
        postures: names of the postures.
        slope_deg: slope of the ground.
        controllers: names of the controllers.
    """
    trials = []
    for posture in postures:
        for controller in controllers:
            result = run_trial(
                TrialCfg(
                    controller=controller,
                    robot_folder=folder,
                    posture=posture,
                    duration_s=DURATION_S,
                    simulation=SimulationCfg(world=WorldCfg(slope_deg=slope_deg)),
                    fast_forward=FastForwardCfg(),
                )
            )
            trials.append(
                PostureTrial(
                    posture=posture,
                    controller=controller,
                    legs_power_w=result.legs_power_w,
                    least_power_w=result.least_power_w,
                    failure=result.failure,
                )
            )
    return tuple(trials)


def legs_power(robot: Robot, balance: PostureBalance) -> float:
    """Return the predicted joule loss of the legs alone, in W."""
    return float(joule_loss(robot) @ balance.least.motor_effort**2)


def found_tables(robot: Robot, found: FoundPosture, cfg: PostureSearchCfg) -> Group:
    """Return one table of motors and one of margins."""
    return Group(_motor_table(robot, found), _margin_table(robot, found, cfg))


def _motor_table(robot: Robot, found: FoundPosture) -> Table:
    before, after = found.wanted, found.found
    unit = _unit(robot, before)
    angles = ("requested °", "found °", "change °")
    pairs = [f"{name} {of}" for of in ("N·m", unit.symbol) for name in BOTH]
    table = plain_table("\nMotors", None, "joint", (*angles, *pairs))
    for m in np.flatnonzero(found.motor_loss):
        turns = robot.inverse_transmission[m]
        start, end = np.rad2deg((turns @ before.angles, turns @ after.angles))
        torques = before.least.motor_effort[m], after.least.motor_effort[m]
        c = found.motor_loss[m]
        table.add_row(
            robot.motor_names[m]
            if robot.is_parallel[m]
            else " ".join(robot.motors[m].joints),
            f"{start:z.2f}",
            f"{end:z.2f}",
            f"{end - start:+z.2f}",
            *(f"{T:z.3f}" for T in torques),
            *(f"{unit.of(c * T**2):.4f}" for T in torques),
        )
    return table


def _margin_table(robot: Robot, found: FoundPosture, cfg: PostureSearchCfg) -> Table:
    both, unit = (found.wanted, found.found), _unit(robot, found.wanted)
    table = plain_table("\nPosture", unit.note, " ", (*BOTH, "limit"))
    losses = (f"{unit.of(one.least.loss_w):.3f}" for one in both)
    table.add_row(f"minimum joule loss, {unit.symbol}", *losses, "")
    losses = (f"{unit.of(legs_power(robot, one)):.3f}" for one in both)
    table.add_row(f"minimum, legs only, {unit.symbol}", *losses, "")
    margins: dict[str, Callable[[PostureBalance | PostureSearchCfg], str]] = {
        "margin of the centre of mass, mm": lambda of: f"{1e3 * of.com_margin_m:.1f}",
        "minimum margin to a joint limit, °": lambda of: (
            f"{np.rad2deg(of.joint_margin_rad):.1f}"
        ),
        "maximum torque / torque limit": lambda of: f"{of.torque_share:.3f}",
        "minimum distance of links, mm": lambda of: (
            NOTHING if of.clearance_m is None else f"{1e3 * of.clearance_m:.1f}"
        ),
    }
    for label, text in margins.items():
        table.add_row(label, *(text(of) for of in (*both, cfg)))
    return table


def _unit(robot: Robot, wanted: PostureBalance) -> PowerUnit:
    """Return W, or multiples of the requested posture's minimum of the legs."""
    whole = "minimum of the legs in the requested posture"
    return power_unit(robot.thermal, whole, legs_power(robot, wanted))


def trial_table(
    trials: Sequence[PostureTrial],
    predicted: dict[str, float | None],
    unit: PowerUnit = W,
) -> Table:
    """Return the results of the simulation of the postures.

    Args:
        trials: trials, one row each.
        predicted: posture to the minimum joule loss of the legs in W.
        unit: unit of the powers.
    """
    note = "Gear friction carries part of the load; predictions ignore friction."
    if unit.is_relative:
        note += f" {unit.note}"
    table = plain_table("\nSimulated", note)
    table.add_column("posture")
    table.add_column("controller")
    for column in ("predicted", "minimum", "legs"):
        table.add_column(f"{column} {unit.symbol}", justify="right")
    table.add_column("outcome")
    for trial in trials:
        table.add_row(
            trial.posture,
            trial.controller,
            _power(unit, predicted.get(trial.posture)),
            _power(unit, trial.least_power_w),
            _power(unit, trial.legs_power_w),
            trial.failure or "stood",
        )
    return table


def posture_search_json(
    robot: Robot,
    wanted: str,
    name: str,
    found: FoundPosture,
    trials: Sequence[PostureTrial],
) -> dict[str, Any]:
    """Return the posture and its evaluation, for `--json`."""
    posture = robot.posture(wanted)
    angles = posture_angles(robot, found.found.angles).tolist()
    return {
        "experiment": "posture-search",
        "robot": robot.name,
        "wanted": wanted,
        "posture": {
            "name": name,
            "angles": dict(zip(robot.joint_names, angles, strict=True)),
            "effectors": list(posture.effectors),
            "offset": posture.offset,
            "state": posture.state,
        },
        "before": _balance_json(robot, found.wanted),
        "after": _balance_json(robot, found.found),
        "moved": list(found.moved),
        "starts": found.starts,
        "trials": [asdict(trial) for trial in trials],
    }


def _balance_json(robot: Robot, balance: PostureBalance) -> dict[str, Any]:
    return {
        "least_loss_w": balance.least.loss_w,
        "legs_least_loss_w": legs_power(robot, balance),
        "com_margin_m": balance.com_margin_m,
        "joint_margin_deg": float(np.rad2deg(balance.joint_margin_rad)),
        "at_stop": list(balance.at_stop),
        "torque_share": balance.torque_share,
        "clearance_m": balance.clearance_m,
        "missed": list(balance.violations),
    }


def _power(unit: PowerUnit, watts: float | None) -> str:
    return NOTHING if watts is None else f"{unit.of(watts):.3f}"


SAME, SAME_W = 1.02, 0.01
"""Relative and absolute (W) difference below which powers count as equal."""


def run_posture_search(
    posture: str,
    cfg: PostureSearchCfg,
    folder: Path | None = None,
    *,
    controllers: tuple[str, ...] = (),
    check: bool = False,
    name: str | None = None,
    out: Path | None = None,
    json_file: str | None = None,
) -> int:
    """Search, print, write; return the exit status.

    Args:
        posture: desired posture.
        cfg: settings of the search.
        folder: folder of the robot; None: the NAO.
        controllers: controllers for `check`; empty: `CONTROLLERS`.
        check: True: simulate both postures.
        name: name of the found posture; None: the desired name and `Cool`.
        out: robot folder to write.
        json_file: path of a JSON file.

    Raises:
        BadInput: an option is invalid.
        NoPostureFound: no reachable posture satisfies all constraints.
    """
    if controllers:
        check_controllers(controllers)
        if not check:
            raise BadInput("--controllers needs --check; give both, or neither.")
    robot = load_robot(folder)
    wanted = robot.posture(posture)
    name = name or f"{posture}Cool"
    check_folder(robot, name, out)
    check_json_file(json_file)
    messages = Console(stderr=True)
    with messages.status("searching"):
        found = search_posture(robot, wanted, cfg)
    console = console_for(json_file, width=110)
    console.print(found_tables(robot, found, cfg))
    if found.wanted.violations:
        print(
            f"{wanted.name} violates: {'; '.join(found.wanted.violations)}.",
            file=sys.stderr,
        )
    for balance, what in ((found.wanted, wanted.name), (found.found, name)):
        if balance.at_stop:
            print(
                f"in {what}, {', '.join(balance.at_stop)} may rest on the joint "
                "stop, which then carries part of the load; the prediction ignores "
                "this.",
                file=sys.stderr,
            )
    trials: tuple[PostureTrial, ...] = ()
    with tempfile.TemporaryDirectory() as scratch:
        made = out or Path(scratch) / "robot"
        if out is not None or check:
            write_robot_folder(robot, wanted, name, found.found.angles, made)
        if check:
            with messages.status("simulating"):
                trials = stand_in_postures(
                    made,
                    (wanted.name, name),
                    cfg.slope_deg,
                    controllers or CONTROLLERS,
                )
            predicted = {
                wanted.name: None
                if found.wanted.violations
                else legs_power(robot, found.wanted),
                name: legs_power(robot, found.found),
            }
            console.print(trial_table(trials, predicted, _unit(robot, found.wanted)))
    data = posture_search_json(robot, wanted.name, name, found, trials)
    write_json(json_file, json_text(data))
    if out is not None:
        print(
            f"{out} has the posture: nao-testbed heat --robot {out} --posture {name}",
            file=sys.stderr,
        )
    failures = [
        f"{t.posture} under {t.controller}: {t.failure}" for t in trials if t.failure
    ]
    unit = _unit(robot, found.wanted)
    failures += hotter_than_requested(trials, wanted.name, name, unit)
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if failures else 0


def hotter_than_requested(
    trials: Sequence[PostureTrial], wanted: str, found: str, unit: PowerUnit = W
) -> list[str]:
    """Return a sentence for each controller with a hotter found posture."""
    power = {(t.posture, t.controller): t.legs_power_w for t in trials}
    words = []
    for controller in dict.fromkeys(trial.controller for trial in trials):
        before, after = power[wanted, controller], power[found, controller]
        if before is not None and after is not None and after > SAME * before + SAME_W:
            words.append(
                f"in simulation, {found} is hotter under {controller} than {wanted}: "
                f"{unit.text(after, 3)} instead of {unit.text(before, 3)}."
            )
    return words
