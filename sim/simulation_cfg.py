"""All that defines a simulated robot beside the robot itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from models import BadInput, Robot
from sim.heating import HeatingCfg
from sim.sensors import SensorCfg
from sim.servo import ServoCfg
from sim.world_cfg import WorldCfg

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SimulationCfg:
    """World, motor boards, sensors, heat, and what is wrong with this robot."""

    world: WorldCfg = field(default_factory=WorldCfg)
    servo: ServoCfg = field(default_factory=ServoCfg)
    sensors: SensorCfg = field(default_factory=SensorCfg)
    heating: HeatingCfg = field(default_factory=HeatingCfg)
    protection: str = "none"
    """`none`, `nao` or `document`: what a temperature does to the stiffness."""
    misalignment_deg: Mapping[str, float] = field(default_factory=dict)
    """Joint to calibration error in degrees: true angle minus measured angle."""
    start_degc: Mapping[str, float] = field(default_factory=dict)
    """Joint to temperature of its motor at the start, in °C."""
    other_start_degc: float = 30.0
    """Start temperature of all other motors, in °C."""
    seed: int = 0
    """Seed of all noise."""


def misalignment_of(robot: Robot, degrees: Mapping[str, float]) -> FloatArray:
    """Return calibration errors (n_joints,) in rad from joint names and degrees.

    Raises:
        BadInput: an unknown joint, or an error beyond the joint's range.
    """
    errors = np.zeros(len(robot.joints))
    for name, value in degrees.items():
        joint = robot.joints[robot.joint_index(name)]
        span = np.rad2deg(joint.upper - joint.lower)
        if not (np.isfinite(value) and abs(value) <= span):
            raise BadInput(
                f"misalignment of {name} is {value} degrees; its range from "
                f"{np.rad2deg(joint.lower):.1f} to {np.rad2deg(joint.upper):.1f} "
                f"allows at most ±{span:.1f} degrees."
            )
        errors[robot.joint_index(name)] = np.deg2rad(value)
    return errors


def start_temperatures(
    robot: Robot, start_degc: Mapping[str, float], other_degc: float
) -> FloatArray:
    """Return start temperatures (n_motors,) in °C.

    Raises:
        BadInput: an unknown joint, or a temperature outside [-20, 150] °C.
    """
    temperatures = np.full(len(robot.motors), other_degc)
    for name, value in start_degc.items():
        temperatures[robot.motor_of_joint[robot.joint_index(name)]] = value
    for name, value in zip(robot.motor_names, temperatures, strict=True):
        if not (np.isfinite(value) and -20.0 <= value <= 150.0):
            raise BadInput(
                f"start temperature of {name} is {value} °C; give one in [-20, 150]."
            )
    return temperatures
