"""Check what is asked of a heat experiment, and plan its arms, before anything runs."""

from pathlib import Path

import numpy as np

from controllers.registry import check_controllers
from experiments.heat.cfg import HeatCfg, Setting, settle_setting, simulation_cfg
from experiments.standing.arm import ArmCfg
from experiments.standing.fast_forward import FastForwardCfg
from models import BadInput, Robot, UnknownName, load_robot
from sim.engine.world import check_display, ticks_of
from sim.robot import misalignment_of, start_temperatures
from sim.thermal.motor_heat import HEAT_PERIOD
from sim.thermal.protection import make_protection

LONGEST_MINUTES = 24.0 * 60.0
DEFAULT_POSTURE = "PoseInit"
"""That of the document; a robot without it takes its first one."""


def plan_arms(cfg: HeatCfg) -> list[ArmCfg]:
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
    setting = settle_setting(cfg)
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
        ArmCfg(
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
