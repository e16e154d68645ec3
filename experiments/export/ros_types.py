"""Definitions of the ROS 2 messages of an export, as an MCAP file carries them.

Fields and order are those of common_interfaces, geometry2 and rcl_interfaces [ros2]; a
definition is followed by those of the types that it uses.
"""

from collections.abc import Mapping

_FIELDS: Mapping[str, str] = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "std_msgs/String": "string data",
    "std_msgs/MultiArrayDimension": "string label\nuint32 size\nuint32 stride",
    "std_msgs/MultiArrayLayout": (
        "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset"
    ),
    "std_msgs/Float64MultiArray": "std_msgs/MultiArrayLayout layout\nfloat64[] data",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\n"
        "geometry_msgs/Transform transform"
    ),
    "tf2_msgs/TFMessage": "geometry_msgs/TransformStamped[] transforms",
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\n"
        "float64[] velocity\nfloat64[] effort"
    ),
    "sensor_msgs/Temperature": (
        "std_msgs/Header header\nfloat64 temperature\nfloat64 variance"
    ),
    "diagnostic_msgs/KeyValue": "string key\nstring value",
    "diagnostic_msgs/DiagnosticStatus": (
        "byte level\nstring name\nstring message\nstring hardware_id\n"
        "diagnostic_msgs/KeyValue[] values"
    ),
    "diagnostic_msgs/DiagnosticArray": (
        "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status"
    ),
    "rcl_interfaces/Log": (
        "builtin_interfaces/Time stamp\nuint8 level\nstring name\nstring msg\n"
        "string file\nstring function\nuint32 line"
    ),
}
"""Type to its fields, a line each."""


def definition(name: str) -> str:
    """Return the whole definition of a type, such as `sensor_msgs/JointState`."""
    text = _FIELDS[name]
    for used in _used_by(name):
        text += f"\n{'=' * 80}\nMSG: {used}\n{_FIELDS[used]}"
    return text


def _used_by(name: str) -> list[str]:
    """Return the types that one uses, and those that these use."""
    found: list[str] = []
    for line in _FIELDS[name].splitlines():
        kind = line.partition(" ")[0].removesuffix("[]")
        if kind in _FIELDS:
            found += [kind, *_used_by(kind)]
    return list(dict.fromkeys(found))
