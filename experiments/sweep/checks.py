"""Whether a value of a parameter can be used: the rules are those of the simulator."""

from collections.abc import Callable, Mapping
from typing import Any

from controllers.registry import make_controller
from experiments.heat.plan import LONGEST_MINUTES
from experiments.sweep.trial import EFFORT_LIMIT, MISALIGNMENT, START, Value
from models import BadInput, Robot
from sim.heating import HeatingCfg
from sim.protection import make_protection
from sim.servo import ServoCfg
from sim.simulation_cfg import misalignment_of, start_temperatures
from sim.ticks import ticks_of
from sim.world_cfg import WorldCfg

PHYSICS_DT = WorldCfg().physics_dt
SHORTEST_MINUTES = 0.01
"""Shorter ones hold no block of physics."""


def _minutes(_robot: Robot, value: Any) -> None:
    if not SHORTEST_MINUTES <= value <= LONGEST_MINUTES:
        raise BadInput(
            f"minutes is {value:g}; give a number from {SHORTEST_MINUTES:g} to "
            f"{LONGEST_MINUTES:g}."
        )


def _control_period(_robot: Robot, value: Any) -> None:
    ticks_of("control period", value, PHYSICS_DT)


_CHECKS: Mapping[str, Callable[[Robot, Any], object]] = {
    "controller": lambda _robot, value: make_controller(value),
    "minutes": _minutes,
    "posture": lambda robot, value: robot.posture(value),
    "slope_deg": lambda _robot, value: WorldCfg(slope_deg=value),
    "friction": lambda _robot, value: WorldCfg(friction=value),
    "gear_friction": lambda _robot, value: ServoCfg(friction_scale=value),
    "servo": lambda _robot, value: ServoCfg(kind=value),
    "heating": lambda _robot, value: HeatingCfg(model=value),
    "ambient_degc": lambda _robot, value: HeatingCfg(ambient_degc=value),
    "protection": lambda robot, value: make_protection(value, robot),
    "other_start_degc": lambda robot, value: start_temperatures(robot, {}, value),
    "control_period": _control_period,
    MISALIGNMENT: misalignment_of,
    START: lambda robot, value: start_temperatures(robot, value, 30.0),
    EFFORT_LIMIT: lambda robot, value: robot.with_effort_limits(value),
}


def check_value(robot: Robot, column: str, value: Value) -> None:
    """Look whether a trial could have this value.

    Args:
        robot: who stands.
        column: of the parameter.
        value: of it.

    Raises:
        BadInput: it could not.
    """
    name, dot, joint = column.partition(".")
    _CHECKS[name](robot, {joint: value} if dot else value)
