"""The heat experiment: identical robots stand, one a controller, and heat up.

    HeatCfg -> plan_trials -> record_trials -> run_trials -> HeatResult

or all of it at once by `run_heat`. A preset is laid under what is asked for, and all of
it is checked before anything runs.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from controllers.registry import check_controllers
from experiments.closed_loop.fast_forward import FastForwardCfg
from experiments.closed_loop.loop import CONTROL_PERIOD
from experiments.closed_loop.trial import TrialCfg
from experiments.heat.published import HeatResult, load_preset
from experiments.heat.side_by_side import TrialProgress, outcomes_side_by_side
from models import BadInput, Robot, UnknownName, default_robot_folder, load_robot
from sim.engine.world import WorldCfg, check_display, ticks_of
from sim.recording.run_folder import create_run_folder, plain_name
from sim.robot import SimulationCfg, misalignment_of, start_temperatures
from sim.servo import ServoCfg
from sim.thermal import COPPER_COEFFICIENT, HeatingCfg
from sim.thermal.motor_heat import HEAT_PERIOD
from sim.thermal.protection import make_protection


@dataclass(frozen=True, kw_only=True)
class HeatCfg:
    """What a person asks for; see `nao-testbed heat --help`."""

    minutes: float | None = None
    """Simulated time; None: the preset's, or 15."""
    posture: str | None = None
    """Stored posture to hold; None: the preset's, or PoseInit, or the robot's first."""
    controllers: tuple[str, ...] = ("fixed", "smart")
    preset: str | None = None
    misalignment_deg: Mapping[str, float] = field(default_factory=dict)
    """Joint to degrees; adds to the preset's, and replaces its value of a joint."""
    start_degc: Mapping[str, float] = field(default_factory=dict)
    """Joint to °C; likewise."""
    slope_deg: float = 0.0
    servo: str = "torque"
    gear_friction: float = 1.0
    """Factor on every joint's gear friction."""
    heating: str = "one-node"
    copper: bool = False
    """Let the winding's resistance grow with its temperature."""
    ambient_degc: float | None = None
    protection: str = "none"
    seed: int = 0
    robot: Path = field(default_factory=default_robot_folder)
    full: bool = False
    """Step the physics all the time, without fast-forward."""
    control_period: float = CONTROL_PERIOD
    physics_dt: float = 1e-3
    gui: bool = False
    exact: bool = False
    """Record every digit of what the controllers see, for a replay."""
    command: tuple[str, ...] = ()
    """The command line, for the record."""


@dataclass(frozen=True, kw_only=True)
class HeatSetting:
    """The experiment after the preset was laid under what was asked for."""

    minutes: float
    posture: str | None
    """None leaves it to the robot."""
    misalignment_deg: dict[str, float]
    start_degc: dict[str, float]
    other_start_degc: float
    effort_limits: dict[str, float]


def with_preset(cfg: HeatCfg) -> HeatSetting:
    """Return preset and request as one.

    Raises:
        UnknownName: there is no such preset.
    """
    if cfg.preset is None:
        return HeatSetting(
            minutes=15.0 if cfg.minutes is None else cfg.minutes,
            posture=cfg.posture,
            misalignment_deg=dict(cfg.misalignment_deg),
            start_degc=dict(cfg.start_degc),
            other_start_degc=30.0,
            effort_limits={},
        )
    preset = load_preset(cfg.preset)
    return HeatSetting(
        minutes=preset.minutes if cfg.minutes is None else cfg.minutes,
        posture=preset.posture if cfg.posture is None else cfg.posture,
        misalignment_deg=preset.misalignment_deg | dict(cfg.misalignment_deg),
        start_degc=preset.start_degc | dict(cfg.start_degc),
        other_start_degc=preset.other_start_degc,
        effort_limits=dict(preset.effort_limits),
    )


def simulation_cfg(cfg: HeatCfg, setting: HeatSetting) -> SimulationCfg:
    """Return the simulated robot's configuration, the same for every arm."""
    return SimulationCfg(
        world=WorldCfg(physics_dt=cfg.physics_dt, slope_deg=cfg.slope_deg, gui=cfg.gui),
        servo=ServoCfg(kind=cfg.servo, friction_scale=cfg.gear_friction),
        heating=HeatingCfg(
            model=cfg.heating,  # type: ignore[arg-type]  # checked by HeatingCfg
            copper_coefficient=COPPER_COEFFICIENT if cfg.copper else 0.0,
            ambient_degc=cfg.ambient_degc,
        ),
        protection=cfg.protection,
        misalignment_deg=setting.misalignment_deg,
        start_degc=setting.start_degc,
        other_start_degc=setting.other_start_degc,
        seed=cfg.seed,
    )


LONGEST_MINUTES = 24.0 * 60.0
DEFAULT_POSTURE = "PoseInit"
"""That of ES2659053; a robot without it takes its first one."""


def plan_trials(cfg: HeatCfg) -> list[TrialCfg]:
    """Check everything that was asked for and return one arm a controller.

    Raises:
        BadInput: a value cannot be used; nothing has been started or written yet.
    """
    if cfg.seed < 0:
        raise BadInput(f"seed is {cfg.seed}; give a whole number from 0 up.")
    check_controllers(cfg.controllers)
    if cfg.gui and len(cfg.controllers) > 1:
        raise BadInput(
            "--gui shows one robot; give one controller, as in "
            f"--controllers {cfg.controllers[-1]}."
        )
    if cfg.gui:
        check_display()
    setting = with_preset(cfg)
    _check_minutes(setting.minutes, cfg.control_period)
    simulation = simulation_cfg(cfg, setting)
    robot = _with_effort_limits(load_robot(cfg.robot), cfg.preset, setting)
    _check_physics_step(robot, cfg.physics_dt)
    ticks_of("control period", cfg.control_period, cfg.physics_dt)
    posture = robot.posture(_posture_name(robot, setting.posture)).name
    misalignment_of(robot, setting.misalignment_deg)
    start_temperatures(robot, setting.start_degc, setting.other_start_degc)
    make_protection(cfg.protection, robot)
    return [
        TrialCfg(
            controller=controller,
            robot_folder=Path(cfg.robot),
            effort_limits=setting.effort_limits,
            posture=posture,
            duration_s=60.0 * setting.minutes,
            simulation=simulation,
            fast_forward=None if cfg.full else FastForwardCfg(),
            control_period=cfg.control_period,
            command=cfg.command,
            exact=cfg.exact,
        )
        for controller in cfg.controllers
    ]


def _posture_name(robot: Robot, asked: str | None) -> str:
    if asked is not None:
        return asked
    return (
        DEFAULT_POSTURE
        if DEFAULT_POSTURE in robot.postures
        else next(iter(robot.postures))
    )


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


def _with_effort_limits(
    robot: Robot, preset: str | None, setting: HeatSetting
) -> Robot:
    """Return the robot under a preset's limits, which must know its joints."""
    try:
        return robot.with_effort_limits(setting.effort_limits)
    except UnknownName as error:
        raise BadInput(
            f"preset {preset!r} is made for another robot: {error} Give --misalign and "
            "--start instead of --preset."
        ) from error


def _check_physics_step(robot: Robot, physics_dt: float) -> None:
    """Refuse a step that does not divide the periods which a user cannot choose."""
    rates = robot.sensor_rates
    periods = {
        "heating": HEAT_PERIOD,
        "encoder": rates.encoder_period,
        "current": rates.current_period,
        "IMU": rates.imu_period,
        "FSR": rates.fsr_period,
        "temperature": rates.temperature_period,
    }
    for name, period in periods.items():
        try:
            ticks_of(f"{name} period", period, physics_dt)
        except BadInput as error:
            raise BadInput(
                f"physics step is {physics_dt:g} s, which does not divide the {name} "
                f"period of {period:g} s; give one that does, such as 0.001."
            ) from error


def record_trials(arms: Sequence[TrialCfg], out: Path) -> tuple[Path, list[TrialCfg]]:
    """Make the run folder, with one for each arm in it, and send the arms there.

    Args:
        arms: from `plan_trials`.
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


def run_trials(
    cfg: HeatCfg, arms: Sequence[TrialCfg], on_progress: TrialProgress
) -> HeatResult:
    """Run the planned arms and put their results together.

    Args:
        cfg: what was asked for.
        arms: from `plan_trials`, or `record_trials` where they shall be recorded.
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
        out: run folder, as in `record_trials`; None records nothing.

    Returns:
        The result; each of its arms names its run folder. A robot whose controller
        raised is no arm of it: `failed` says why.

    Raises:
        BadInput: a value cannot be used, or the folder not be made.
        TestbedError: no robot has a result.
    """
    arms = plan_trials(cfg)
    if out is not None:
        _, arms = record_trials(arms, out)
    return run_trials(cfg, arms, lambda _number, _time_s: None)


def failures(result: HeatResult) -> dict[str, str]:
    """Return why robots ended early, by controller; empty when none did."""
    early = {
        name: arm.failure
        for name, arm in result.arms.items()
        if arm.failure is not None
    }
    return early | dict(result.failed)


def settings_of_run(cfg: HeatCfg, arm: TrialCfg) -> dict[str, Any]:
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
