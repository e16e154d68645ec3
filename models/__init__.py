"""Robot descriptions as data, and the loader that validates them."""

from nao_testbed.models.errors import (
    BadInput,
    ExtraMissing,
    RobotDataError,
    TestbedError,
    UnknownName,
)
from nao_testbed.models.load import default_robot_folder, load_robot
from nao_testbed.models.resources import Device, DeviceKind, ResourceKind, ResourceNode
from nao_testbed.models.robot import (
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
    Sonar,
    Speaker,
    TwoNodeHeating,
    VideoCamera,
)

__all__ = [
    "BadInput",
    "Battery",
    "ContactPoint",
    "Device",
    "DeviceKind",
    "ExtraMissing",
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
    "Sonar",
    "Speaker",
    "TestbedError",
    "TwoNodeHeating",
    "UnknownName",
    "VideoCamera",
    "default_robot_folder",
    "load_robot",
]
