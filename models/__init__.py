"""Robot descriptions as data, and the loader that validates them."""

from models.devices import Battery, ForceSensor, Imu, LedGroup, SensorRates, Speaker
from models.errors import BadInput, RobotDataError, TestbedError, UnknownName
from models.links import ContactPoint, Joint, Link
from models.loader import default_robot_folder, load_robot
from models.motors import Motor, OneNodeHeating, TwoNodeHeating
from models.resource_node import Device, DeviceKind, ResourceKind, ResourceNode
from models.robot import Posture, Robot

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
