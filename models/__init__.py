"""Robot descriptions as data, and the loader that validates them."""

from models.errors import BadInput, RobotDataError, TestbedError, UnknownName
from models.load import default_robot_folder, load_robot
from models.resources import Device, DeviceKind, ResourceKind, ResourceNode
from models.robot import (
    Battery,
    ContactPoint,
    ForceSensor,
    Imu,
    Joint,
    LedGroup,
    Link,
    Motor,
    OneNodeHeating,
    Posture,
    Robot,
    SensorRates,
    Speaker,
    TwoNodeHeating,
)

__all__ = [
    "BadInput",
    "Battery",
    "ContactPoint",
    "Device",
    "DeviceKind",
    "ForceSensor",
    "Imu",
    "Joint",
    "LedGroup",
    "Link",
    "Motor",
    "OneNodeHeating",
    "Posture",
    "ResourceKind",
    "ResourceNode",
    "Robot",
    "RobotDataError",
    "SensorRates",
    "Speaker",
    "TestbedError",
    "TwoNodeHeating",
    "UnknownName",
    "default_robot_folder",
    "load_robot",
]
