"""The heat experiment: identical robots stand, one a controller, and heat up.

    HeatCfg -> plan_arms -> record_arms -> run_arms -> HeatResult

or all of it at once by `run_heat`.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.heat.cfg import HeatCfg
from experiments.heat.plan import plan_arms
from experiments.heat.side_by_side import Progress, outcomes_side_by_side
from experiments.standing.arm import ArmCfg
from experiments.standing.results import HeatResult
from models import default_robot_folder
from sim.recording.run_folder import create_run_folder, plain_name


def record_arms(arms: Sequence[ArmCfg], out: Path) -> tuple[Path, list[ArmCfg]]:
    """Make the run folder, with one for each arm in it, and send the arms there.

    Args:
        arms: from `plan_arms`.
        out: the run folder; where it exists, `out-2` and so on.

    Raises:
        BadInput: the folder cannot be made.
    """
    folder = create_run_folder(out.parent, out.name)
    names = [plain_name(arm.controller) for arm in arms]
    return folder, [
        dataclasses.replace(arm, folder=create_run_folder(folder, name))
        for arm, name in zip(arms, names, strict=True)
    ]


def run_arms(cfg: HeatCfg, arms: Sequence[ArmCfg], on_progress: Progress) -> HeatResult:
    """Run the planned arms and put their results together.

    Args:
        cfg: what was asked for.
        arms: from `plan_arms`, or `record_arms` where they shall be recorded.
        on_progress: told the number and simulated time of an arm, now and then.

    Raises:
        BadInput: none of them has a result, and the first refused its configuration.
        TestbedError: likewise, and the first could not go on.
    """
    outcomes = outcomes_side_by_side(arms, on_progress)
    ended = {
        arm.controller: outcome.result
        for arm, outcome in zip(arms, outcomes, strict=True)
        if outcome.result is not None
    }
    if not ended:
        outcomes[0].needed()
    return HeatResult(
        minutes=arms[0].duration_s / 60.0,
        posture=arms[0].posture,
        seed=cfg.seed,
        misalignment_deg=dict(arms[0].simulation.misalignment_deg),
        arms=ended,
        failed={
            arm.controller: outcome.error
            for arm, outcome in zip(arms, outcomes, strict=True)
            if outcome.error is not None
        },
        settings=settings_of_run(cfg, arms[0]),
    )


def run_heat(cfg: HeatCfg, out: Path | None = None) -> HeatResult:
    """Run a heat experiment from Python: plan, record, run.

    Args:
        cfg: what is asked for.
        out: run folder, as in `record_arms`; None records nothing.

    Returns:
        The result; each of its arms names its run folder. A robot whose controller
        raised is no arm of it: `failed` says why.

    Raises:
        BadInput: a value cannot be used, or the folder not be made.
        TestbedError: no robot has a result.
    """
    arms = plan_arms(cfg)
    if out is not None:
        _, arms = record_arms(arms, out)
    return run_arms(cfg, arms, lambda _number, _time_s: None)


def failures(result: HeatResult) -> dict[str, str]:
    """Return why robots ended early, by controller; empty when none did."""
    early = {
        name: arm.failure
        for name, arm in result.arms.items()
        if arm.failure is not None
    }
    return early | dict(result.failed)


def settings_of_run(cfg: HeatCfg, arm: ArmCfg) -> dict[str, Any]:
    """Return what `HeatResult.settings` says of a run, from one of its arms."""
    return {
        "robot": arm.load_robot().name,
        "robot_folder": (
            None if arm.robot_folder == default_robot_folder() else str(cfg.robot)
        ),
        "preset": cfg.preset,
        "slope_deg": cfg.slope_deg,
        "servo": cfg.servo,
        "gear_friction": cfg.gear_friction,
        "heating": cfg.heating,
        "copper": cfg.copper,
        "ambient_degc": cfg.ambient_degc,
        "protection": cfg.protection,
        "full": cfg.full,
        "control_period_s": cfg.control_period,
        "physics_dt_s": cfg.physics_dt,
        "effort_limits_nm": dict(arm.effort_limits),
        "start_degc": dict(arm.simulation.start_degc),
        "other_start_degc": arm.simulation.other_start_degc,
    }
