"""What is asked of a heat experiment, with the preset laid under it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from experiments.loop import CONTROL_PERIOD
from experiments.presets import load_preset
from models import default_robot_folder
from sim.engine.world import WorldCfg
from sim.robot import SimulationCfg
from sim.servo import ServoCfg
from sim.thermal import COPPER_COEFFICIENT, HeatingCfg


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
class Setting:
    """The experiment after the preset was laid under what was asked for."""

    minutes: float
    posture: str | None
    """None leaves it to the robot."""
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
            minutes=15.0 if cfg.minutes is None else cfg.minutes,
            posture=cfg.posture,
            misalignment_deg=dict(cfg.misalignment_deg),
            start_degc=dict(cfg.start_degc),
            other_start_degc=30.0,
            effort_limits={},
        )
    preset = load_preset(cfg.preset)
    return Setting(
        minutes=preset.minutes if cfg.minutes is None else cfg.minutes,
        posture=preset.posture if cfg.posture is None else cfg.posture,
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
