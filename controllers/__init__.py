"""Engine-free control: the robot interface and the controllers behind it."""

from controllers.errors import SensorError
from controllers.plain import ConstantStiffness, FixedStiffness
from controllers.registry import (
    ENTRY_POINT_GROUP,
    controller_names,
    make_controller,
)
from controllers.robot_interface import (
    Command,
    Controller,
    Limits,
    Observation,
    RobotInterface,
)
from controllers.stiffness import (
    SmartStiffness,
    SmartStiffnessCfg,
    StiffnessFlag,
    StiffnessReport,
    flag_names,
)

__all__ = [
    "ENTRY_POINT_GROUP",
    "Command",
    "ConstantStiffness",
    "Controller",
    "FixedStiffness",
    "Limits",
    "Observation",
    "RobotInterface",
    "SensorError",
    "SmartStiffness",
    "SmartStiffnessCfg",
    "StiffnessFlag",
    "StiffnessReport",
    "controller_names",
    "flag_names",
    "make_controller",
]
