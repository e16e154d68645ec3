"""What a posture search found, as tables and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table

from controllers.heat_minimization.posture_search.search import (
    FoundPosture,
    PostureBalance,
)
from controllers.heat_minimization.posture_search.search_space import PostureSearchCfg
from controllers.heat_minimization.standing_problem import joule_loss
from experiments.common.drawing.plain_table import plain_table
from experiments.posture_search.robot_folder import posture_angles
from experiments.posture_search.trial import PostureTrial
from models import Robot

FloatArray = NDArray[np.float64]

NOTHING = "–"


def legs_power(robot: Robot, balance: PostureBalance) -> float:
    """Return the foretold joule loss of the legs alone, in W."""
    return float(joule_loss(robot) @ balance.least.motor_effort**2)


def found_tables(robot: Robot, found: FoundPosture, cfg: PostureSearchCfg) -> Group:
    """Return one table of motors and one of margins."""
    return Group(_motor_table(robot, found), _margin_table(robot, found, cfg))


def _motor_table(robot: Robot, found: FoundPosture) -> Table:
    table = plain_table("\nMotors")
    table.add_column("joint")
    for column in ("wanted °", "found °", "change °"):
        table.add_column(column, justify="right")
    for column in ("wanted N·m", "found N·m", "wanted W", "found W"):
        table.add_column(column, justify="right")
    before, after = found.wanted, found.found
    for m in np.flatnonzero(found.motor_loss):
        lead = robot.joint_index(robot.motors[m].name)
        start, end = np.rad2deg((before.angles[lead], after.angles[lead]))
        torques = before.least.motor_effort[m], after.least.motor_effort[m]
        c = found.motor_loss[m]
        table.add_row(
            " ".join(robot.motors[m].joints),
            f"{start:z.2f}",
            f"{end:z.2f}",
            f"{end - start:+z.2f}",
            *(f"{T:z.3f}" for T in torques),
            *(f"{c * T**2:.4f}" for T in torques),
        )
    return table


def _margin_table(robot: Robot, found: FoundPosture, cfg: PostureSearchCfg) -> Table:
    table = plain_table("\nPosture")
    table.add_column("")
    for column in ("wanted", "found", "asked for"):
        table.add_column(column, justify="right")
    b, a = found.wanted, found.found
    rows: tuple[tuple[str, str, str, str], ...] = (
        (
            "least joule loss, W",
            f"{b.least.loss_w:.3f}",
            f"{a.least.loss_w:.3f}",
            "the least",
        ),
        (
            "of it in the legs, W",
            f"{legs_power(robot, b):.3f}",
            f"{legs_power(robot, a):.3f}",
            "",
        ),
        (
            "centre of mass inside by, mm",
            f"{1e3 * b.com_margin_m:.1f}",
            f"{1e3 * a.com_margin_m:.1f}",
            f"{1e3 * cfg.com_margin_m:.1f}",
        ),
        (
            "nearest stop of a moved joint, °",
            f"{np.rad2deg(b.joint_margin_rad):.1f}",
            f"{np.rad2deg(a.joint_margin_rad):.1f}",
            f"{np.rad2deg(cfg.joint_margin_rad):.1f}",
        ),
        (
            "largest share of a torque limit",
            f"{b.torque_share:.3f}",
            f"{a.torque_share:.3f}",
            f"{cfg.torque_share:.3f}",
        ),
        (
            "nearest links apart by, mm",
            _millimetres(b.clearance_m),
            _millimetres(a.clearance_m),
            _millimetres(cfg.clearance_m),
        ),
    )
    for row in rows:
        table.add_row(*row)
    return table


def trial_table(
    trials: Sequence[PostureTrial], foretold: dict[str, float | None]
) -> Table:
    """Return what the simulation made of the postures.

    Args:
        trials: one row each.
        foretold: by posture, the least joule loss of the legs in W.
    """
    table = plain_table(
        "\nIn the simulation",
        "Gear friction bears a part of the load there; foretold is without it.",
    )
    table.add_column("posture")
    table.add_column("controller")
    for column in ("foretold W", "least there W", "legs W"):
        table.add_column(column, justify="right")
    table.add_column("outcome")
    for trial in trials:
        table.add_row(
            trial.posture,
            trial.controller,
            _watts(foretold.get(trial.posture)),
            _watts(trial.least_power_w),
            _watts(trial.legs_power_w),
            trial.failure or "stands",
        )
    return table


def as_json(
    robot: Robot,
    wanted: str,
    name: str,
    found: FoundPosture,
    trials: Sequence[PostureTrial],
) -> dict[str, Any]:
    """Return the posture and how it was judged, for `--json`."""
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
        "before": _judged(robot, found.wanted),
        "after": _judged(robot, found.found),
        "moved": list(found.moved),
        "starts": found.starts,
        "trials": [asdict(trial) for trial in trials],
    }


def _judged(robot: Robot, balance: PostureBalance) -> dict[str, Any]:
    return {
        "least_loss_w": balance.least.loss_w,
        "legs_least_loss_w": legs_power(robot, balance),
        "com_margin_m": balance.com_margin_m,
        "joint_margin_deg": float(np.rad2deg(balance.joint_margin_rad)),
        "at_stop": list(balance.at_stop),
        "torque_share": balance.torque_share,
        "clearance_m": balance.clearance_m,
        "missed": list(balance.missed),
    }


def _watts(power: float | None) -> str:
    return NOTHING if power is None else f"{power:.3f}"


def _millimetres(length: float | None) -> str:
    return NOTHING if length is None else f"{1e3 * length:.1f}"
