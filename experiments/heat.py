"""The heat experiment: identical robots stand, one a controller, and heat up.

HeatCfg -> plan_arms -> run_side_by_side -> HeatResult -> table, figures, JSON
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from controllers.registry import make_controller
from experiments.arm import ArmCfg
from experiments.fast_forward import FastForwardCfg
from experiments.loop import CONTROL_PERIOD
from experiments.presets import load_preset
from experiments.results import ArmResult, HeatResult
from experiments.side_by_side import Progress, run_side_by_side
from models import BadInput, Robot, UnknownName, default_robot_folder, load_robot
from sim.heating import COPPER_COEFFICIENT, HeatingCfg
from sim.protection import make_protection
from sim.run_folder import create_run_folder
from sim.servo import ServoCfg
from sim.simulated_robot import HEAT_PERIOD
from sim.simulation_cfg import SimulationCfg, misalignment_of, start_temperatures
from sim.ticks import ticks_of
from sim.world_cfg import WorldCfg, check_display

LONGEST_MINUTES = 24.0 * 60.0


@dataclass(frozen=True, kw_only=True)
class HeatCfg:
    """What a person asks for; see `nao-testbed heat --help`."""

    minutes: float = 15.0
    posture: str = "PoseInit"
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
    command: tuple[str, ...] = ()
    """The command line, for the record."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The experiment after the preset was laid under what was asked for."""

    misalignment_deg: dict[str, float]
    start_degc: dict[str, float]
    other_start_degc: float
    effort_limits: dict[str, float]


def settle_setting(cfg: HeatCfg) -> Setting:
    """Return preset and request as one.

    Raises:
        UnknownName: there is no such preset.
    """
    if cfg.preset is None:
        return Setting(
            misalignment_deg=dict(cfg.misalignment_deg),
            start_degc=dict(cfg.start_degc),
            other_start_degc=30.0,
            effort_limits={},
        )
    preset = load_preset(cfg.preset)
    return Setting(
        misalignment_deg=preset.misalignment_deg | dict(cfg.misalignment_deg),
        start_degc=preset.start_degc | dict(cfg.start_degc),
        other_start_degc=preset.other_start_degc,
        effort_limits=dict(preset.effort_limits),
    )


def simulation_cfg(cfg: HeatCfg, setting: Setting) -> SimulationCfg:
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


def plan_arms(cfg: HeatCfg) -> list[ArmCfg]:
    """Check everything that was asked for and return one arm a controller.

    Raises:
        BadInput: a value cannot be used; nothing has been started or written yet.
    """
    if not (np.isfinite(cfg.minutes) and 0.0 < cfg.minutes <= LONGEST_MINUTES):
        raise BadInput(
            f"minutes is {cfg.minutes}; give a number above 0, at most "
            f"{LONGEST_MINUTES:g}."
        )
    if cfg.seed < 0:
        raise BadInput(f"seed is {cfg.seed}; give a whole number from 0 up.")
    if len(set(cfg.controllers)) != len(cfg.controllers) or not cfg.controllers:
        raise BadInput(
            f"controllers are {', '.join(cfg.controllers) or 'none'}; name each "
            "controller once."
        )
    if cfg.gui and len(cfg.controllers) > 1:
        raise BadInput(
            "--gui shows one robot; give one controller, as in "
            f"--controllers {cfg.controllers[-1]}."
        )
    if cfg.gui:
        check_display()
    for controller in cfg.controllers:
        make_controller(controller)
    setting = settle_setting(cfg)
    simulation = simulation_cfg(cfg, setting)
    robot = _with_effort_limits(load_robot(cfg.robot), cfg.preset, setting)
    _check_physics_step(robot, cfg.physics_dt)
    ticks_of("control period", cfg.control_period, cfg.physics_dt)
    if 60.0 * cfg.minutes < cfg.control_period:
        raise BadInput(
            f"minutes is {cfg.minutes:g}, which is shorter than one control period of "
            f"{cfg.control_period:g} s; give at least {cfg.control_period / 60.0:.2g}."
        )
    robot.posture(cfg.posture)
    misalignment_of(robot, setting.misalignment_deg)
    start_temperatures(robot, setting.start_degc, setting.other_start_degc)
    make_protection(cfg.protection, robot)
    return [
        ArmCfg(
            controller=controller,
            robot_folder=Path(cfg.robot),
            effort_limits=setting.effort_limits,
            posture=cfg.posture,
            duration_s=60.0 * cfg.minutes,
            simulation=simulation,
            fast_forward=None if cfg.full else FastForwardCfg(),
            control_period=cfg.control_period,
            command=cfg.command,
        )
        for controller in cfg.controllers
    ]


def record_arms(arms: Sequence[ArmCfg], out: Path) -> tuple[Path, list[ArmCfg]]:
    """Make the run folder, with one for each arm in it, and send the arms there.

    Args:
        arms: from `plan_arms`.
        out: the run folder; where it exists, `out-2` and so on.

    Raises:
        BadInput: the folder cannot be made.
    """
    folder = create_run_folder(out.parent, out.name)
    return folder, [
        dataclasses.replace(arm, folder=create_run_folder(folder, _plain(arm)))
        for arm in arms
    ]


def run_arms(cfg: HeatCfg, arms: Sequence[ArmCfg], on_progress: Progress) -> HeatResult:
    """Run the planned arms and put their results together.

    Args:
        cfg: what was asked for.
        arms: from `plan_arms`, or `record_arms` where they shall be recorded.
        on_progress: told the number and simulated time of an arm, now and then.
    """
    results = run_side_by_side(arms, on_progress)
    return HeatResult(
        minutes=cfg.minutes,
        posture=cfg.posture,
        seed=cfg.seed,
        misalignment_deg=dict(arms[0].simulation.misalignment_deg),
        arms={a.controller: result for a, result in zip(arms, results, strict=True)},
        settings=_settings(cfg, arms[0]),
    )


def run_heat(cfg: HeatCfg, out: Path | None = None) -> HeatResult:
    """Run a heat experiment from Python: plan, record, run.

    Args:
        cfg: what is asked for.
        out: run folder, as in `record_arms`; None records nothing.

    Returns:
        The result; each of its arms names its run folder.

    Raises:
        BadInput: a value cannot be used, or the folder not be made.
    """
    arms = plan_arms(cfg)
    if out is not None:
        _, arms = record_arms(arms, out)
    return run_arms(cfg, arms, lambda _number, _time_s: None)


def failures(result: HeatResult) -> dict[str, str]:
    """Return why arms ended early, by controller; empty when none did."""
    return {
        name: arm.failure
        for name, arm in result.arms.items()
        if arm.failure is not None
    }


def hottest(arm: ArmResult) -> str:
    """Return the joint with the highest temperature at the end."""
    return max(arm.joints, key=lambda name: arm.joints[name].end_degc)


def _with_effort_limits(robot: Robot, preset: str | None, setting: Setting) -> Robot:
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


def _plain(arm: ArmCfg) -> str:
    return arm.controller.replace(":", "-").replace("/", "-")


def _settings(cfg: HeatCfg, arm: ArmCfg) -> dict[str, Any]:
    return {
        "robot": arm.load_robot().name,
        "preset": cfg.preset,
        "slope_deg": cfg.slope_deg,
        "servo": cfg.servo,
        "gear_friction": cfg.gear_friction,
        "heating": cfg.heating,
        "copper": cfg.copper,
        "protection": cfg.protection,
        "full": cfg.full,
        "control_period_s": cfg.control_period,
        "physics_dt_s": cfg.physics_dt,
        "effort_limits_nm": dict(arm.effort_limits),
    }
