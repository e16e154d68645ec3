"""Heat experiment: identical standing robots heat up, one per controller.

    HeatCfg -> plan_trials -> record_trials -> run_trials -> HeatResult

`run_heat` runs all steps. Options override the preset, and everything is validated
before the first run.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nao_testbed.controllers.policies.text import short_names
from nao_testbed.controllers.registry import check_controllers
from nao_testbed.experiments.closed_loop.fast_forward import FastForwardCfg
from nao_testbed.experiments.closed_loop.trial import TrialCfg
from nao_testbed.experiments.common.ranges import LONGEST_MINUTES
from nao_testbed.experiments.common.robot_setting import RobotSetting
from nao_testbed.experiments.heat.published import PRESET, HeatResult, load_preset
from nao_testbed.experiments.heat.side_by_side import (
    TrialProgress,
    outcomes_side_by_side,
)
from nao_testbed.models import (
    BadInput,
    Robot,
    UnknownName,
    default_robot_folder,
    load_robot,
)
from nao_testbed.sim.engine.world import check_display
from nao_testbed.sim.recording.run_folder import create_run_folder, plain_name


@dataclass(frozen=True, kw_only=True)
class HeatCfg(RobotSetting):
    """Settings of a heat experiment: robots, controllers, duration, preset, seed.

    Its fields are the options of `nao-testbed heat --help`.
    """

    minutes: float | None = None
    """Simulated time in min; None: the preset's, or 15."""
    controllers: tuple[str, ...] = ("fixed", "smart")
    preset: str | None = None
    """Base settings. Joints given in this configuration override those of the
    preset."""
    full: bool = False
    """True: continuous physics, without fast-forward."""
    gui: bool = False
    exact: bool = False
    """True: record every digit of the controllers' observations, for a replay."""
    command: tuple[str, ...] = ()
    """Command line, stored in the run folder."""


def with_preset(cfg: HeatCfg) -> HeatCfg:
    """Merge the preset into a configuration.

    Raises:
        UnknownName: no preset has this name.
    """
    if cfg.preset is None:
        return cfg
    preset = load_preset(cfg.preset)
    minutes = preset.minutes if cfg.minutes is None else cfg.minutes
    return dataclasses.replace(cfg.with_defaults(preset.setting), minutes=minutes)


def plan_trials(cfg: HeatCfg) -> list[TrialCfg]:
    """Validate the configuration, and return one trial per controller.

    Raises:
        BadInput: a value is invalid; nothing has been started or written.
    """
    check_controllers(cfg.controllers)
    if cfg.gui and len(cfg.controllers) > 1:
        raise BadInput(
            "--gui shows one robot; give one controller, as in "
            f"--controllers {cfg.controllers[-1]}."
        )
    if cfg.gui:
        check_display()
    setting = with_preset(cfg)
    minutes = 15.0 if setting.minutes is None else setting.minutes
    _check_minutes(minutes, cfg.control_period)
    robot = load_robot(cfg.robot)
    if cfg.preset is not None:
        _check_preset(cfg.preset, setting, robot)
    setting.check(robot)
    check_controllers(cfg.controllers, robot)
    return [
        TrialCfg.of(
            setting,
            gui=cfg.gui,
            posture=setting.posture_of(robot),
            controller=controller,
            label=label,
            duration_s=60.0 * minutes,
            fast_forward=None if cfg.full else FastForwardCfg(),
            command=cfg.command,
            preset=cfg.preset,
            exact=cfg.exact,
        )
        for controller, label in zip(
            cfg.controllers, short_names(cfg.controllers), strict=True
        )
    ]


def _check_minutes(minutes: float, control_period: float) -> None:
    if not (np.isfinite(minutes) and 0.0 < minutes <= LONGEST_MINUTES):
        raise BadInput(
            f"minutes is {minutes}; give a number above 0, at most {LONGEST_MINUTES:g}."
        )
    if 60.0 * minutes < control_period:
        raise BadInput(
            f"minutes is {minutes:g}, which is shorter than one control period of "
            f"{control_period:g} s; give at least {control_period / 60.0:.2g}."
        )


def default_preset(robot: Robot) -> str | None:
    """Return the default preset if it fits a robot, otherwise None."""
    setting = load_preset(PRESET).setting
    try:
        setting.check(robot)
    except BadInput:
        return None
    return PRESET


def _check_preset(preset: str, setting: HeatCfg, robot: Robot) -> None:
    """Raise if the limits of a preset name joints that the robot lacks."""
    try:
        robot.with_effort_limits(setting.effort_limits)
    except UnknownName as error:
        raise BadInput(
            f"preset {preset!r} is made for another robot: {error} Give --misalign and "
            "--start instead of --preset."
        ) from error


def record_trials(trials: Sequence[TrialCfg], out: Path) -> tuple[Path, list[TrialCfg]]:
    """Create the run folder with a subfolder per trial; return both.

    Args:
        trials: trials from `plan_trials`.
        out: run folder; if it exists, `out-2` and so on.

    Raises:
        BadInput: the folder cannot be created.
    """
    folder = create_run_folder(out.parent, out.name)
    names = [plain_name(trial.name) for trial in trials]
    return folder, [
        dataclasses.replace(trial, folder=create_run_folder(folder, name))
        for trial, name in zip(trials, names, strict=True)
    ]


def run_trials(
    cfg: HeatCfg,
    trials: Sequence[TrialCfg],
    on_progress: TrialProgress,
    on_free_core: Callable[[], None] = lambda: None,
) -> HeatResult:
    """Run the planned trials and combine their results.

    Args:
        cfg: configuration of the experiment.
        trials: trials from `plan_trials`, or from `record_trials` to record them.
        on_progress: function called with the number and simulated time of a trial.
        on_free_core: as of `outcomes_side_by_side`.

    Raises:
        BadInput: no trial has a result, and the first rejected its configuration.
        TestbedError: no trial has a result, and the first failed.
    """
    outcomes = outcomes_side_by_side(trials, on_progress, on_free_core)
    ended = {
        trial.name: outcome.result
        for trial, outcome in zip(trials, outcomes, strict=True)
        if outcome.result is not None
    }
    if not ended:
        outcomes[0].needed()
    return HeatResult(
        minutes=trials[0].duration_s / 60.0,
        posture=trials[0].posture,
        seed=cfg.seed,
        misalignment_deg=dict(trials[0].simulation.misalignment_deg),
        trials=ended,
        failed={
            trial.name: outcome.error
            for trial, outcome in zip(trials, outcomes, strict=True)
            if outcome.error is not None
        },
        settings=settings_of_run(cfg, trials[0]),
    )


def run_heat(cfg: HeatCfg, out: Path | None = None) -> HeatResult:
    """Run a heat experiment from Python: plan, record, run.

    Args:
        cfg: configuration of the experiment.
        out: run folder, as in `record_trials`; None: no recording.

    Returns:
        The result; each trial has its run folder. A robot whose controller raised is in
        `failed`.

    Raises:
        BadInput: a value is invalid, or the folder cannot be created.
        TestbedError: no robot has a result.
    """
    trials = plan_trials(cfg)
    if out is not None:
        _, trials = record_trials(trials, out)
    return run_trials(cfg, trials, lambda _number, _time_s: None)


def failures(result: HeatResult) -> dict[str, str]:
    """Return controller to the reason for an early end; empty without one."""
    early = {
        name: trial.failure
        for name, trial in result.trials.items()
        if trial.failure is not None
    }
    return early | dict(result.failed)


def settings_of_run(cfg: HeatCfg, trial: TrialCfg) -> dict[str, Any]:
    """Return `HeatResult.settings` of a run from one of its trials."""
    robot = trial.load_robot()
    return {
        "robot": robot.name,
        **({"thermal": robot.thermal} if robot.thermal == "estimate" else {}),
        "robot_folder": (
            None if trial.robot_folder == default_robot_folder() else str(cfg.robot)
        ),
        "preset": cfg.preset,
        "full": cfg.full,
        **with_preset(cfg).result_settings(),
        "other_start_degc": trial.simulation.other_start_degc,
    }
